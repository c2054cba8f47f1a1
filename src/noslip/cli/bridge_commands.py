"""`noslip import` and `noslip export`: robot descriptions in, runs and models out."""

from __future__ import annotations

from pathlib import Path

import click

import noslip as ns
from noslip.cli.options import FamilyWord, check_target, force_option

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
    from noslip.formats import AbstractRunFormat
    from noslip.base import absolute
    from noslip.bridges import make_target

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
