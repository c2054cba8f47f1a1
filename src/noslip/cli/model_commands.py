"""`noslip list`, `check`, `expand` and `schema`: models, what one is made of, and their keys."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import noslip as ns
from noslip.cli.console import fitted
from noslip.cli.options import NUMBER, FamilyWord, check_target, force_option, json_option

if TYPE_CHECKING:
    from noslip.library import AskedSize


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the models of the library."""
    from noslip.show import json_text

    models = {name: ns.load(name).description for name in ns.MODELS}
    if as_json:
        click.echo(json_text(models))
        return
    width = max(map(len, models))
    for name, description in models.items():
        click.echo(f"{name:<{width}}  {description}")


@click.command()
@click.argument("model")
@json_option
def check(model: str, as_json: bool) -> None:
    """Check a model; show its bodies, coordinates, constraints, degrees of freedom and inputs."""
    from noslip.show import json_text

    report = ns.check(ns.load(model))
    click.echo(json_text(report.to_json()) if as_json else fitted(report.text()))


@click.command()
@click.argument("model")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def expand(model: str, output: Path | None, force: bool) -> None:
    """Show a model with its parts expanded, as a model file that can be edited."""
    from noslip.model import model_to_toml

    found = ns.load(model)
    if output is None:
        click.echo(model_to_toml(found), nl=False)
    else:
        ns.save_model(found, output, overwrite=force)


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@force_option
def schema(output: Path | None, force: bool) -> None:
    """Show the JSON Schema of model files, for completion and checks in editors.

    Name it in the first line of a model file, #:schema ./noslip.schema.json, for editors with
    Taplo (VS Code: Even Better TOML). It includes the members of plugins.
    """
    from noslip.base import write_atomically
    from noslip.model import model_schema
    from noslip.show import json_text

    text = json_text(model_schema())
    if output is None:
        click.echo(text)
        return
    check_target(output, force)
    write_atomically(output, lambda path: path.write_text(text + "\n", "utf-8"))


#: Sizes in the order in which they are asked for, and their help.
SIZES = {
    "mass": "Mass of the base without wheels, kg.",
    "length": "Length of the base, m.",
    "width": "Width of the base, m.",
    "height": "Height of the base, m.",
    "wheel_radius": "Radius of the wheels, m.",
    "wheel_mass": "Mass of each wheel, kg.",
    "wheel_separation": "Distance between left and right wheel, m.",
    "wheelbase": "Distance between rear and front wheels, m; all kinds but differential.",
}


def _kinds() -> list[str]:
    from noslip.library import KINDS

    return list(KINDS)


def _size_options(command: Any) -> Any:
    for name, said in reversed(SIZES.items()):
        command = click.option(f"--{name.replace('_', '-')}", name, type=NUMBER, help=said)(command)
    return command


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--kind", type=FamilyWord("kind", _kinds), help="Kind of vehicle.")
@_size_options
@click.option(
    "--ask/--no-ask", default=None, help="Ask for missing values; by default on a terminal."
)
@force_option
def new(file: Path, kind: str | None, ask: bool | None, force: bool, **given: float | None) -> None:
    """Write a commented model FILE of a vehicle, ready to run.

    On a terminal it asks for what the options do not give; elsewhere it uses typical values.
    """
    from noslip.base import write_atomically
    from noslip.library import KINDS, template_text

    if file.suffix.lower() != ".toml":
        raise click.UsageError(
            f"FILE is {str(file)!r}: its name must end in .toml, as in {file.stem}.toml"
        )
    check_target(file, force, other="choose another name")
    asks = (sys.stdin.isatty() and sys.stderr.isatty()) if ask is None else ask
    if kind is None and asks:
        for word, facts in KINDS.items():
            click.echo(f"  {word:<14}{facts.description}", err=True)
        choice = click.Choice(list(KINDS))
        kind = click.prompt("kind", type=choice, default=next(iter(KINDS)), err=True)
    kind = kind or next(iter(KINDS))
    sizes = {name: value for name, value in given.items() if value is not None}
    if asks:
        for name, size in KINDS[kind].sizes.items():
            if name not in sizes:
                sizes[name] = _ask(size)
    text = template_text(kind, re.sub(r"[^\w .-]", "-", file.stem), sizes)
    write_atomically(file, lambda path: path.write_text(text, "utf-8"))
    _echo_next(file)


def _ask(size: AskedSize) -> float:
    """The answer to the question for a size, asked until it is in its range."""

    def read(answer: str | float) -> float:
        value = NUMBER.convert(answer, None, None)
        if not size.least <= value <= size.most:
            raise click.UsageError(f"{value:g} {size.unit} is out of range, give {size.bounds}.")
        return value

    label = f"{size.description} ({size.unit})"
    answer: float = click.prompt(label, default=size.usual, value_proc=read, err=True)
    return answer


def _echo_next(file: Path) -> None:
    """Print what was written and which commands come next."""
    import noslip as ns
    from noslip.base import counted, is_installed

    report = ns.check(ns.load(file))
    name = shlex.quote(str(file))
    degrees = counted(report.degrees_of_freedom, "degree of freedom", "degrees of freedom")
    click.echo(f"wrote {file}: {degrees}; edit it, then")
    click.echo(f"  noslip run {name}      simulate it and write a report")
    if is_installed("noslip.studio"):
        click.echo(f"  noslip studio {name}   drive it in the browser")
    click.echo(f"  noslip derive {name}   its equations of motion")
