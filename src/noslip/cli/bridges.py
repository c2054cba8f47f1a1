"""`noslip import` and `noslip export`: robot descriptions in, runs and models out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import noslip as ns
from noslip.cli.options import FamilyWord, check_target, force_option

if TYPE_CHECKING:
    from noslip.formats import AbstractFormat

_LINK = "LINK[=RADIUS]"


def _written_formats() -> dict[str, AbstractFormat]:
    """Formats that runs and models are written in, by word."""
    from noslip.formats import known_formats
    from noslip.model.files import AbstractModelFormat
    from noslip.simulation.run_files import AbstractRunFormat

    known = {**known_formats(AbstractModelFormat), **known_formats(AbstractRunFormat)}
    return {word: format for word, format in known.items() if format.can("write")}


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
@click.argument("source")
@click.option(
    "--to",
    "word",
    required=True,
    type=FamilyWord("format", lambda: list(_written_formats())),
    help="What to write: of a run a table or a ROS 2 bag, of a model another format of robots.",
)
@click.option("-o", "--output", help="File to write; by default named as the source.")
@force_option
def export_file(source: str, word: str, output: str | None, force: bool) -> None:
    """Write a run or a model for other programs.

    A run is the folder that `noslip run` or `noslip track` made; a model a name of the library, a
    file, or that of such a folder. What a format cannot say of a model is listed.
    """
    from noslip.formats import write_file
    from noslip.simulation.run_files import AbstractRunFormat

    format = _written_formats()[word]
    path = Path(source)
    name = path.resolve().name if path.exists() else source
    stem = name if path.is_dir() or not path.exists() else name.partition(".")[0]
    target = Path(output) if output is not None else Path((stem or "run") + format.suffixes[0])
    check_target(target, force)
    if isinstance(format, AbstractRunFormat):
        write_file(format, ns.read_run(path), target)
        notes: tuple[str, ...] = ()
    else:
        model = ns.load(path / "model.toml" if path.is_dir() else source)
        write_file(format, model, target)
        notes = format.losses(model)  # type: ignore[attr-defined]
    for note in notes:
        click.echo(f"note: {note}")
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
