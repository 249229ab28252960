"""From one description of a consortium to a folder for each party, with all that it needs to start."""
