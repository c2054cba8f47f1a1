"""The command line: the same words as the Python functions."""

from noslip.cli.main import main as main
