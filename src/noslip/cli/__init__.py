"""The command line: the same words as the Python functions."""

try:
    from noslip.cli.main import main as main
except KeyboardInterrupt:  # Ctrl-C before a command has begun
    raise SystemExit(130) from None
