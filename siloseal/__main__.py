"""`python -m siloseal` is the console script."""

from siloseal.cli.app import main

main()
