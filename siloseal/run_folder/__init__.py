"""The run folder: where it lies, which files it holds, and what they say."""
