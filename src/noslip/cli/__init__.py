"""8 the same words as the Python functions, on the command line."""

from noslip.cli.main import main as main
