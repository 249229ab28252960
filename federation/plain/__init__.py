"""The plain sum."""
