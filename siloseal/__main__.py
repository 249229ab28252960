"""`python -m siloseal` is the console script."""

from siloseal.cli import main

main()
