"""Commands about models: list, check, expand, schema, import and export.

**`noslip list`, `check`, `expand` and `schema`: models, what one is made of, and their keys.**

**`noslip import` and `noslip export`: robot descriptions in, runs and models out.**
"""

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


_LINK = "LINK[=RADIUS]"


def _targets() -> list[str]:
    """Words of the targets of exports."""
    from noslip.bridges import export_targets

    return list(export_targets())


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("-o", "--output", help="Model file to write; by default FILE with .toml.")
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    metavar=_LINK,
    help=(
        "A link that rolls without slipping; radius in m, by default from its geometry. Repeatable."
    ),
)
@click.option(
    "--caster",
    "casters",
    multiple=True,
    metavar=_LINK,
    help="A caster: its wheel, or the fork that carries it. It rolls and is not driven. "
    "Repeatable.",
)
@click.option(
    "--slides",
    multiple=True,
    metavar="LINK",
    help="A wheel that rolls forward and may slide sideways. Repeatable.",
)
@click.option(
    "--rollers",
    multiple=True,
    metavar="LINK=ANGLE",
    help="A wheel with rollers: the angle from its axle to the roller on the ground, rad; 1.5708 "
    "for an omni wheel, 0.7854 or -0.7854 for a mecanum one. Repeatable.",
)
@click.option(
    "--drive",
    "driven",
    multiple=True,
    metavar="JOINT",
    help=(
        "A joint with a motor; by default the actuated joints, or all but those of casters. "
        "Repeatable."
    ),
)
@click.option(
    "--lock",
    "locked",
    multiple=True,
    metavar="JOINT[=VALUE]",
    help="A locked joint, at 0 or at a value in rad or m. Repeatable.",
)
@click.option(
    "--base",
    type=click.Choice(["fixed", "planar", "free"]),
    help="Joint of the root with the world; by default planar with wheels and fixed without.",
)
@click.option(
    "--undercarriage",
    type=click.Path(dir_okay=False),
    help="A TOML file with these choices; by default FILE with .rolling.toml, if it exists.",
)
@force_option
def import_robot(
    file: str, output: str | None, wheels: tuple[str, ...], casters: tuple[str, ...],
    slides: tuple[str, ...], rollers: tuple[str, ...], driven: tuple[str, ...],
    locked: tuple[str, ...], base: str | None, undercarriage: str | None, force: bool,
) -> None:  # fmt: skip
    """Convert a robot to a model file: URDF, MJCF, a VDA 5050 factsheet or a DH table (.dh.csv).

    URDF and MJCF do not describe rolling: name the links that roll.
    """
    from noslip import Undercarriage
    from noslip.bridges import beside, read_undercarriage

    source = Path(file)
    if not source.name:
        raise click.UsageError(f"FILE {file!r:.60} is a folder; give a robot description")
    target = Path(output) if output is not None else source.with_suffix(".toml")
    check_target(target, force)
    if undercarriage is not None:
        under = read_undercarriage(undercarriage)
    else:
        under = beside(source) or Undercarriage()
    under = Undercarriage(
        wheels={**under.wheels, **_values("--wheel", wheels)},
        casters={**under.casters, **_values("--caster", casters)},
        slides=(*under.slides, *slides),
        rollers={
            **under.rollers,
            **{name: value or 0.0 for name, value in _values("--rollers", rollers).items()},
        },
        driven=driven or under.driven,
        locked={
            **under.locked,
            **{name: value or 0.0 for name, value in _values("--lock", locked).items()},
        },
        base=base or under.base,
    )
    model, notes = ns.import_robot(source, under if under != Undercarriage() else None)
    ns.save_model(model, target, overwrite=force)
    click.echo(repr(model).partition("\n")[0])
    for note in notes:
        click.echo(f"note: {note}")
    if not model.contacts:
        click.echo("note: no link rolls; for a vehicle, name them with --wheel LINK, --caster LINK")
        then = f"noslip run {target} --duration 5"
    else:
        then = f"noslip track {target} --path circle:2"
    click.echo(f"written: {target}\nnext: noslip check {target}; {then}")


@click.command("export")
@click.argument("thing", metavar="RUN|MODEL")
@click.option(
    "--to",
    "word",
    required=True,
    type=FamilyWord("target", _targets),
    help="Format: a table or a ROS 2 bag of a run; code or a description of a model.",
)
@click.option("-o", "--output", help="File to write; by default named after the run or the model.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the target, as in precision=single. Repeatable.",
)
@click.option(
    "--own-sine",
    is_flag=True,
    help="Generate C code or an FMU with its own sine and cosine instead of libm's.",
)
@force_option
def export(
    thing: str,
    word: str,
    output: str | None,
    options: tuple[str, ...],
    own_sine: bool,
    force: bool,
) -> None:
    """Write a run or a model for other programs.

    A run is a folder written by `noslip run` or `noslip track`; a model is a name or a file.
    """
    from noslip.base import absolute
    from noslip.bridges import make_target
    from noslip.formats import AbstractRunFormat

    chosen = dict(_option(text) for text in options)
    if own_sine:
        chosen["own_sine"] = True
    target = make_target(word, chosen, f"noslip export --to {word}")
    given: ns.Trajectory | ns.Model
    if isinstance(target, AbstractRunFormat):
        given = ns.read_run(Path(thing))
        name = absolute(thing).name or "run"
    else:
        given = ns.load(thing)
        name = given.name
    path = Path(output) if output is not None else Path(name + target.suffixes[0])
    check_target(path, force)
    with ns.ProgressBar() as bar:
        bar("writing")
        done = ns.export(given, path, to=word, overwrite=force, **chosen)
    for note in done.notes:
        click.echo(f"note: {note}")
    for file in done.files:
        click.echo(f"written: {file}")


def _option(text: str) -> tuple[str, float | bool | str]:
    """Read NAME=VALUE; a value is a number, true, false or a word."""
    name, is_given, value = (part.strip() for part in text.partition("="))
    if not is_given or not name.isidentifier():
        raise click.UsageError(f"--option {text!r}: write NAME=VALUE, as in precision=single")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, int(value)
    except ValueError:
        pass
    try:
        return name, float(value)
    except ValueError:
        return name, value


def _values(option: str, texts: tuple[str, ...]) -> dict[str, float | None]:
    """Read NAME or NAME=NUMBER."""
    result: dict[str, float | None] = {}
    for text in texts:
        name, is_given, number = text.partition("=")
        try:
            result[name.strip()] = float(number) if is_given else None
        except ValueError:
            raise click.UsageError(f"{option} {text!r}: write {name}=0.1, in m or rad") from None
    return result
