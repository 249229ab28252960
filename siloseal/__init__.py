"""The command line and the Python entry points: wiring, and what a person sees."""
