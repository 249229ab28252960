"""`python -m siloseal` is the console script."""

import sys
from pathlib import Path

# Python puts the current folder first, where the console script has none. Code of a user's own would be found there,
# whichever folder a party's file names.
if not sys.flags.safe_path and sys.path and Path(sys.path[0] or ".").resolve() == Path.cwd():
    del sys.path[0]

from siloseal.cli.app import main

main()
