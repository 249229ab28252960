"""Jobs as YAML: what they may say, and errors that name file, line and field."""
