"""Runs the command line by `python -m publisher`."""

from publisher.cli import main

main()
