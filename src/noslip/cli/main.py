"""The command line: the same words as the Python functions, a file a command.

Exit codes: 0 done, 1 the model or the run is at fault, 2 the command is.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from noslip import __version__

#: Command → the function in the module of that name, in the order of the help. A module is imported
#: when its command is asked for.
COMMANDS = {
    "list": "list_models",
    "check": "check",
    "derive": "derive",
    "verify": "verify",
    "evaluate": "evaluate",
    "run": "run",
    "track": "track",
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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException:
            raise
        except Exception as error:
            from noslip.errors import NoslipError

            if not isinstance(error, NoslipError):
                raise
            click.echo(f"{type(error).__name__}: {error}", err=True)
            ctx.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noslip")
def main() -> None:
    """Exact dynamics of mechanisms that roll, skate and steer.

    MODEL is a name from `noslip list` or the path of a model file (.toml).
    """
