"""`python -m noslip.cli`."""

from noslip.cli.main import main

main()
