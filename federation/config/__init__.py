"""YAML files: strict sections, and errors that name file, line and field."""
