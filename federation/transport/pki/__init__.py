"""The consortium's own authority, and the certificates by which the parties know each other."""
