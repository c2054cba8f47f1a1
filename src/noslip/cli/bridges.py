"""`noslip import` and `noslip export`: robot descriptions in, runs out."""

from __future__ import annotations

from pathlib import Path

import click

import noslip as ns
from noslip.cli.options import FamilyWord, check_target, force_option

_LINK = "LINK[=RADIUS]"


def _run_formats() -> list[str]:
    """Words of the formats that runs are written in."""
    from noslip.formats import known_formats
    from noslip.simulation.run_files import AbstractRunFormat

    return [w for w, format in known_formats(AbstractRunFormat).items() if format.can("write")]


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("-o", "--output", help="Model file to write; by default FILE with .toml.")
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    metavar=_LINK,
    help="A link that rolls without slipping; radius in m, by default that of its geometry. "
    "Repeatable.",
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
    "--drive",
    "driven",
    multiple=True,
    metavar="JOINT",
    help="A joint with a motor; by default the actuated ones, or all but those of casters. "
    "Repeatable.",
)
@click.option(
    "--lock",
    "locked",
    multiple=True,
    metavar="JOINT[=VALUE]",
    help="A joint that is held, at 0 or at a value in rad or m. Repeatable.",
)
@click.option(
    "--base",
    type=click.Choice(["fixed", "planar", "free"]),
    help="How the root is carried: planar with wheels, fixed without, unless given.",
)
@click.option(
    "--undercarriage",
    type=click.Path(dir_okay=False),
    help="A TOML file with these choices; by default FILE with .rolling.toml, if it is there.",
)
@force_option
def import_robot(
    file: str, output: str | None, wheels: tuple[str, ...], casters: tuple[str, ...],
    slides: tuple[str, ...], driven: tuple[str, ...], locked: tuple[str, ...],
    base: str | None, undercarriage: str | None, force: bool,
) -> None:  # fmt: skip
    """Make a model file of a robot: URDF, MJCF or a VDA 5050 factsheet.

    URDF and MJCF say nothing about rolling: name the links that roll.
    """
    from noslip.bridges.description import Undercarriage
    from noslip.bridges.undercarriage import beside, read_undercarriage

    source = Path(file)
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
    click.echo(f"written: {target}\nnext: noslip check {target}; noslip run {target}")


@click.command("export")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--to",
    "word",
    required=True,
    type=FamilyWord("format", _run_formats),
    help="What to write: a table for other programs, or a ROS 2 bag.",
)
@click.option("-o", "--output", help="File to write; by default named as the folder.")
@force_option
def export_run(run: str, word: str, output: str | None, force: bool) -> None:  # fmt: skip
    """Write a run, the folder that `noslip run` or `noslip track` made, for other programs."""
    from noslip.formats import format_called, write_file
    from noslip.simulation.run_files import AbstractRunFormat

    format = format_called(AbstractRunFormat, word, "--to")
    folder = Path(run)
    name = (folder.resolve().name or "run") + format.suffixes[0]
    target = Path(output) if output is not None else Path(name)
    check_target(target, force)
    write_file(format, ns.read_run(folder), target)
    click.echo(f"written: {target}")


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
