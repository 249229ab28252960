"""Pages of docs/ that are generated: every setting of every file, and every command."""
