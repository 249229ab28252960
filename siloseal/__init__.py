"""The command line and the Python entry points: wiring, and what a person sees."""

import os

# gRPC's own lines on standard error say what our errors say in words. It reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
