"""The command line: the same words as the Python functions.

`noslip --version --verbose` prints the versions of everything that a report of a fault needs.
Exit codes: 0 done, 1 the model or the run is at fault, 2 the command is, 130 Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import noslip as ns
from noslip.base import is_installed
from noslip.cli.console import EXIT_CODE, INTERRUPTION, adapt_streams, drop_output
from noslip.cli.options import naming_options, option_of, plugin_option


def version_text(*, verbose: bool) -> str:
    """The version; with those of Python, the computer and all packages if `verbose`."""
    first = f"noslip, version {ns.__version__}"
    if not verbose:
        return first
    import platform

    rows = [
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", platform.platform()),
        ("processor", f"{platform.machine()}, {_cores()} cores"),
        ("installed in", sys.prefix),
        *_packages(),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join([first, *(f"  {name:<{width}}  {text}" for name, text in rows)])


def _cores() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def _packages() -> list[tuple[str, str]]:
    """Packages that noslip can use, with their versions."""
    from importlib import metadata

    try:
        wanted = metadata.requires("noslip") or []
    except metadata.PackageNotFoundError:
        wanted = []
    found = {}
    for text in wanted:
        match = re.match(r"[A-Za-z0-9._-]+", text)
        if match and match[0] != "noslip":
            try:
                found[match[0]] = metadata.version(match[0])
            except metadata.PackageNotFoundError:
                found[match[0]] = "not installed"
    return sorted(found.items())


#: Command → module and function, in the order of the help. A module is imported when one of its
#: commands is asked for.
COMMANDS = {
    "new": ("model_commands", "new"),
    "list": ("model_commands", "list_models"),
    "import": ("model_commands", "import_robot"),
    "check": ("model_commands", "check"),
    "expand": ("model_commands", "expand"),
    "schema": ("model_commands", "schema"),
    "derive": ("analysis_commands", "derive"),
    "matrices": ("analysis_commands", "matrices"),
    "joints": ("analysis_commands", "joints"),
    "verify": ("analysis_commands", "verify"),
    "cost": ("analysis_commands", "cost"),
    "evaluate": ("analysis_commands", "evaluate"),
    "geometry": ("analysis_commands", "geometry"),
    "steady": ("analysis_commands", "steady"),
    "linearize": ("analysis_commands", "linearize"),
    "branch": ("analysis_commands", "branch"),
    "periodic": ("analysis_commands", "periodic"),
    "chart": ("analysis_commands", "chart"),
    "lyapunov": ("analysis_commands", "lyapunov"),
    "run": ("run_commands", "run"),
    "track": ("run_commands", "track"),
    "plan": ("run_commands", "plan"),
    "mission": ("study_commands", "mission"),
    "fit": ("study_commands", "fit"),
    "sweep": ("study_commands", "sweep"),
    "plot": ("picture_commands", "plot"),
    "compare": ("picture_commands", "compare"),
    "animate": ("picture_commands", "animate"),
    "share": ("picture_commands", "share"),
    "export": ("model_commands", "export"),
    "papers": ("analysis_commands", "papers"),
    "studio": ("picture_commands", "studio"),
}


#: Command → part of noslip that it is about; without the part it is not listed.
PARTS = {"import": "bridges", "export": "bridges", "sweep": "sweeps", "studio": "studio"}


def listed_commands() -> list[str]:
    """Commands whose part is installed, in the order of the help."""
    return [name for name in COMMANDS if is_complete(name)]


def is_complete(command: str) -> bool:
    """Whether the part of noslip that a command is about is installed."""
    part = PARTS.get(command)
    return part is None or is_installed(f"noslip.{part}")


class _Group(click.Group):
    """Click group that imports commands lazily and prints what / where / fix, no traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return listed_commands()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if not is_complete(cmd_name):
            gone = f"noslip.{PARTS[cmd_name]}"
            raise ModuleNotFoundError(f"No module named '{gone}'", name=gone)
        module, function = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"noslip.cli.{module}"), function)
        if not any(option.name == "plugins" for option in command.params):
            plugin_option(command)
            command.callback = naming_options(command.callback)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands with the first sentence of their help, which is not cut."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            said = (command.help or "") if command is not None else ""
            text = " ".join(said.split("\n\n")[0].split())
            rows.append((name, text.partition(". ")[0].rstrip(".") + "."))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from noslip.base import nearest

            hint = nearest(args[0], listed_commands())
            raise click.UsageError(f"{error.message} {hint[0].upper()}{hint[1:]}", ctx) from None

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        adapt_streams()
        if args is None:  # the command line of this process
            INTERRUPTION.install()
        try:
            return super().main(args, *more, **options)
        finally:
            INTERRUPTION.leave()

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _abort(ctx)
        except click.NoSuchOption as error:
            raise _naming_set(error) from None
        except (click.ClickException, BrokenPipeError):
            raise
        except Exception as error:
            if INTERRUPTION.requested.is_set():
                _abort(ctx)
            message = _message(error)
            if message is None:
                raise
            drop_output()
            click.echo(message, err=True)
            ctx.exit(1)


def _naming_set(error: click.NoSuchOption) -> click.NoSuchOption:
    """An unknown option, with how the values of a model are given, if the command takes them."""
    command = error.ctx.command if error.ctx is not None else None
    known = {word for option in command.params for word in option.opts} if command else set()
    name = error.option_name.lstrip("-")
    if "--timing" in known and name in ("speed", "velocity"):
        said = f"{error.message} Give a timing law, as in --timing constant-speed:0.5."
    elif "--set" in known:
        said = f"{error.message} Values of a model are given by --set, as in --set {name}=1."
    else:
        return error
    return click.NoSuchOption(error.option_name, said, error.possibilities, error.ctx)


def _abort(ctx: click.Context) -> NoReturn:
    INTERRUPTION.is_deferred = True
    click.echo("\nAborted!", err=True)
    ctx.exit(EXIT_CODE)


def _message(error: Exception) -> str | None:
    """Message (what, where, fix) of a fault of the user or the computer; None for a bug."""
    from noslip import Fault, NoslipError

    if isinstance(error, ImportError) and not isinstance(error, NoslipError):
        from noslip.base import missing_package

        context = click.get_current_context(silent=True)
        command = " ".join(sys.argv[1:2]) if context is None else context.invoked_subcommand
        missing = missing_package(error, f"noslip {command or ''}".strip())
        if missing is None:
            return None
        error = missing
    if isinstance(error, NoslipError):
        option = option_of(error)
        if option and len(error.faults) == 1:
            is_said = error.where.endswith(f"'{option.partition(' ')[2]}'")
            where = option if is_said else f"{option}, {error.where}"
            fault = Fault(error.what, where, error.fix)
            return f"{type(error).__name__}: {fault.text()}"
        if option:
            head, _, rest = str(error).partition("\n")
            return f"{type(error).__name__}: {head} with {option}\n{rest}"
        return f"{type(error).__name__}: {Exception.__str__(error)}"
    if isinstance(error, OSError) and error.strerror:
        place = str(error.filename or "what the command writes or reads")[:200]
        fix = "check the name, the permissions and the space that is left"
        return f"OSError: {Fault(error.strerror, place, fix).text()}"
    if isinstance(error, MemoryError):
        fix = "ask for fewer samples or a shorter time"
        return f"MemoryError: {Fault('there is not enough memory', 'this computer', fix).text()}"
    return None


WELCOME = "noslip {version}: exact dynamics of mechanisms that roll, skate and steer\n\n{lines}\n\n"
WELCOME += "`noslip --help` lists all commands, `noslip COMMAND --help` explains one."
#: Where the words after a command begin.
COLUMN = 41
#: First commands → what they do.
FIRST = {
    "new robot.toml": "write a model file of your vehicle",
    "run robot.toml": "simulate it and write a report",
    "studio robot.toml": "drive it in the browser",
    "track robot.toml --path circle:2": "find the torques that follow a path",
    "sweep robot.toml --vary mass=10:30:5 --measure final:base.x": "a parameter study",
    "linearize whipple-bicycle --sweep speed=0:10": "a stability chart",
    "derive rolling-disk": "equations of motion, with -o in LaTeX",
    "import arm.urdf": "a robot from URDF or MJCF",
    "list": "the {count} library models",
}


def _welcome() -> str:
    """First commands, a line each; two where the command is long."""
    lines = []
    for words, does in FIRST.items():
        if is_complete(words.split()[0]):
            line = f"  noslip {words}"
            if len(line) >= COLUMN - 1:
                lines.append(line)
                line = ""
            lines.append(f"{line:<{COLUMN}}{does}")
    shown = "\n".join(lines).format(count=len(ns.MODELS))
    return WELCOME.format(version=ns.__version__, lines=shown)


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option(
    "--verbose",
    is_flag=True,
    help="With --version: also show the versions of Python and all packages.",
)
@plugin_option
@click.pass_context
def main(ctx: click.Context, version: bool, verbose: bool) -> None:
    """Exact dynamics of mechanisms that roll, skate and steer.

    MODEL is a name from `noslip list` or the path of a model file (.toml).
    """
    if version:
        click.echo(version_text(verbose=verbose))
        ctx.exit()
    if verbose:
        raise click.UsageError("--verbose belongs to --version")
    if ctx.invoked_subcommand is None:
        click.echo(_welcome())
