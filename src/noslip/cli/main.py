"""The command line: the same words as the Python functions, a file a command.

Exit codes: 0 done, 1 the model or the run is at fault, 2 the command is.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from noslip import __version__
from noslip.cli.interrupt import interruptible

#: Command → the function in the module of that name, in the order of the help. A module is imported
#: when its command is asked for.
COMMANDS = {
    "list": "list_models",
    "check": "check",
    "derive": "derive",
    "verify": "verify",
    "evaluate": "evaluate",
    "steady": "steady",
    "linearize": "linearize",
    "run": "run",
    "track": "track",
    "animate": "animate",
    "studio": "studio",
}


class _Group(click.Group):
    """Finds a command in its file; shows what / where / fix instead of a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"noslip.cli.{cmd_name}")
        command: click.Command = getattr(module, COMMANDS[cmd_name])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from noslip.errors import nearest

            raise click.UsageError(f"{error.message} {nearest(args[0], COMMANDS)}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with interruptible():
                return super().invoke(ctx)
        except (click.ClickException, BrokenPipeError):
            raise
        except Exception as error:
            told = _told(error)
            if told is None:
                raise
            click.echo(told, err=True)
            ctx.exit(1)


def _told(error: Exception) -> str | None:
    """What, where and fix of an error that is not ours to mend; None for one that is."""
    from noslip.errors import Fault, NoslipError

    if isinstance(error, NoslipError):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        place = str(error.filename or "what the command writes or reads")[:200]
        fix = "check the name, the permissions and the space that is left"
        return f"OSError: {Fault(error.strerror, place, fix).text()}"
    if isinstance(error, MemoryError):
        fix = "ask for fewer samples or a shorter time"
        return f"MemoryError: {Fault('there is not enough memory', 'this computer', fix).text()}"
    return None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noslip")
def main() -> None:
    """Exact dynamics of mechanisms that roll, skate and steer.

    MODEL is a name from `noslip list` or the path of a model file (.toml).
    """
