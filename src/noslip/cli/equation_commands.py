"""`noslip derive`, `matrices` and `verify`: equations of motion, shown and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import noslip as ns
from noslip.cli.console import fitted
from noslip.cli.options import (
    FamilyWord,
    check_target,
    force_option,
    json_option,
    set_option,
    time_option,
)

if TYPE_CHECKING:
    from noslip import AbstractFormulation
    from noslip.formats import AbstractEquationFormat
    from noslip.show import EquationDocument


def formulations() -> dict[str, AbstractFormulation]:
    """All formulations by the word that --method takes, those of plugins too."""
    from noslip.formulations import known_formulations

    return known_formulations()


def formats() -> dict[str, AbstractEquationFormat]:
    """All formats of equations by the word that --format takes, those of plugins too."""
    from noslip.formats import AbstractEquationFormat
    from noslip.base import known_formats

    return known_formats(AbstractEquationFormat)


@click.command()
@click.argument("model")
@click.option(
    "--method",
    type=FamilyWord("method", formulations),
    default="complement",
    show_default=True,
    help="Formulation; vakonomic is a different theory.",
)
@click.option(
    "--coordinates",
    metavar="angles|quaternion",
    help="Coordinates of orientations; by default the model's named angles, if any.",
)
@click.option(
    "--speeds",
    multiple=True,
    metavar="NAMES",
    help="Independent speeds to print, such as disk.yaw_rate,disk.tilt_rate,disk.spin_rate, or "
    "defined ones such as w=disk.spin_rate+disk.yaw_rate*cos(disk.tilt). Repeatable.",
)
@click.option(
    "--linear",
    metavar="SPEED",
    help=(
        "Print the linearized equations about straight running at this speed instead, such as "
        "the speed of a bicycle."
    ),
)
@click.option(
    "--format",
    "format_",
    type=FamilyWord("format", formats),
    help="By default text, or with -o the format of the file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of the terminal: .txt, .tex, .html or .md.",
)
@click.option(
    "--jointwise",
    is_flag=True,
    help="With boltzmann-hamel: assemble Hamel's terms from known nonholonomic joints.",
)
@force_option
def derive(
    model: str,
    method: str,
    coordinates: str | None,
    speeds: tuple[str, ...],
    linear: str | None,
    format_: str | None,
    output: Path | None,
    jointwise: bool,
    force: bool,
) -> None:
    """Derive the equations of motion and show them."""
    if jointwise and method != ns.BoltzmannHamel.word:
        raise click.UsageError("--jointwise belongs to --method boltzmann-hamel")
    formulation = ns.BoltzmannHamel(jointwise=True) if jointwise else formulations()[method]
    target = _Target(output, format_, force)
    from noslip.show import equations_document

    chosen = [name.strip() for text in speeds for name in text.split(",")]
    with ns.ProgressBar() as bar:
        bar("deriving")
        equations = ns.derive(ns.load(model), formulation)
        bar("writing equations")
        document = equations_document(
            equations, linear=linear, coordinates=coordinates, speeds=chosen
        )
    target.emit(document)


@click.command()
@click.argument("model")
@click.option(
    "--method",
    type=FamilyWord("method", formulations),
    default="complement",
    show_default=True,
    help="Formulation.",
)
@set_option
@time_option
@click.option(
    "--symbols/--numbers",
    "symbolic",
    default=None,
    help="Expressions, or numbers at the given state; by default numbers if anything is set.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Show only this matrix, such as T, C or A_j.joint.wheel1. Repeatable.",
)
@click.option(
    "--coordinates",
    metavar="angles|quaternion",
    help="Coordinates of orientations in symbols; by default the model's named angles, if any.",
)
@click.option(
    "--axes", metavar="BODY", help="Axes of the vectors of the complement; by default the world's."
)
@click.option(
    "--actuated",
    default="",
    metavar="SPEEDS",
    help=(
        "Actuated speeds for T_a and J_a, separated by commas; by default those driven by an input."
    ),
)
@click.option(
    "--format",
    "format_",
    type=FamilyWord("format", lambda: [*formats(), "json"]),
    help="By default text, or with -o the format of the file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of the terminal: .txt, .tex, .html, .md or .json.",
)
@force_option
def matrices(
    model: str,
    method: str,
    changes: tuple[str, ...],
    time: float,
    symbolic: bool | None,
    only: tuple[str, ...],
    coordinates: str | None,
    axes: str | None,
    actuated: str,
    format_: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Show the matrices of a method under the names of its paper, as numbers or symbols.

    Values that are not set follow from the constraints, starting from the joints' rest positions.
    """
    from noslip.cli.options import named_values
    from noslip.show import json_text

    if format_ is None and output is not None and output.suffix.lower() == ".json":
        format_ = "json"
    target = _Target(output, format_, force)
    loaded = ns.load(model)
    equations = ns.derive(loaded, formulations()[method])
    if symbolic is None:
        symbolic = not changes
    if symbolic and changes:
        raise click.UsageError("--symbols shows expressions for all values: leave out --set")
    state, inputs, parameters = named_values(ns.System(equations=equations), changes)
    with ns.ProgressBar() as bar:
        bar("simplifying" if symbolic else "evaluating")
        found = ns.matrices(
            equations,
            state=None if symbolic else state,
            inputs=inputs,
            parameters=parameters,
            time=time,
            axes=axes,
            coordinates=coordinates,
            actuated=tuple(name.strip() for name in actuated.split(",") if name.strip()),
        )
    if format_ == "json":
        target.emit_text(json_text(found.to_json(only=only)))
    else:
        target.emit(found.document(only))


class _Target:
    """The terminal or a file, checked before anything is computed."""

    def __init__(self, output: Path | None, asked: str | None, force: bool) -> None:
        self._output = output
        self._format: AbstractEquationFormat | None = None
        if asked != "json":
            found = formats()[asked or "text"]
            self._format = found if output is None else _format_of(output, asked)
        elif output is not None:
            _check_json(output)
        if output is not None:
            check_target(output, force)

    def emit(self, document: EquationDocument) -> None:
        """Print a document, or write it, all or nothing."""
        from noslip.base import write_file

        assert self._format is not None, "JSON has no document"
        if self._output is None:
            click.echo(self._format.text(document.title, document.sections))
        else:
            write_file(self._format, document, self._output)
            click.echo(self._output)

    def emit_text(self, text: str) -> None:
        """Print a text, or write it, all or nothing."""
        from noslip.base import write_atomically

        if self._output is None:
            click.echo(text)
        else:
            write_atomically(self._output, lambda path: path.write_text(text + "\n", "utf-8"))
            click.echo(self._output)


def _check_json(target: Path) -> None:
    """Refuse JSON in a file of another name."""
    from noslip.base import check_folder

    if target.suffix.lower() != ".json":
        raise ns.SimulationError(
            f"the file name ends in '{target.suffix or target.name}', but --format json is given",
            str(target),
            "let its name end in .json, or leave --format out",
        )
    check_folder(target, ns.SimulationError)


def _format_of(target: Path, asked: str | None) -> AbstractEquationFormat:
    """The format by the suffix of a file; a suffix that contradicts --format is refused."""
    from noslip.formats import AbstractEquationFormat
    from noslip.base import check_folder, format_of

    found = format_of(AbstractEquationFormat, target, "write")
    if asked is not None and asked != found.word:
        raise ns.SimulationError(
            f"the file name ends in {found.word}, but --format {asked} is given",
            str(target),
            f"let its name end in {formats()[asked].suffixes[0]}, or leave --format out",
        )
    check_folder(target, ns.SimulationError)
    return found


@click.command()
@click.argument("model")
@click.option(
    "--states",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    help="Number of random states.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the states."
)
@json_option
def verify(model: str, states: int, seed: int, as_json: bool) -> None:
    """Compare all formulations at random states and print a certificate."""
    from noslip.show import json_text

    with ns.ProgressBar("verifying") as bar:
        certificate = ns.verify(ns.load(model), states=states, seed=seed, progress=bar)
    click.echo(json_text(certificate.to_json()) if as_json else fitted(certificate.text()))
    if not certificate.holds:
        raise SystemExit(1)


def templates() -> list[str]:
    """Words of the nonholonomic joints that have a template."""
    return list(ns.joints.JOINT_TEMPLATES)


@click.command()
@click.argument("joint", type=FamilyWord("joint", templates), required=False)
@click.option(
    "--format",
    "format_",
    type=FamilyWord("format", formats),
    default="text",
    show_default=True,
    help="Format of the equations.",
)
def joints(joint: str | None, format_: str) -> None:
    """Show a nonholonomic JOINT with its equations, or list all of them."""
    if joint is not None:
        click.echo(ns.joints.joint_template(joint).text(format_))
        return
    width = max(map(len, ns.joints.JOINT_TEMPLATES))
    for word in ns.joints.JOINT_TEMPLATES:
        found = ns.joints.joint_template(word)
        click.echo(f"{word:<{width}}  [{found.equations_in_paper}] {found.meaning}")


@click.command()
@click.argument("model", default="")
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=FamilyWord("method", formulations),
    metavar="METHOD",
    help="Only this formulation, beside the natural orthogonal complement. Repeatable.",
)
@click.option(
    "--chain",
    default="",
    metavar="N,N,…",
    help="Chains of hinges with these numbers of links instead of a model, as in 2,4,8,16.",
)
@json_option
def cost(model: str, methods: tuple[str, ...], chain: str, as_json: bool) -> None:
    """Count the operations of each formulation, step by step, beside classical ways.

    Also prints how many evaluations of the compiled equations fit into a period at 1 kHz here.
    """
    from noslip.show import json_text

    if bool(model) == bool(chain):
        raise click.UsageError("give a model, or --chain")
    found: ns.results.Cost | ns.results.CostGrowth
    if chain:
        try:
            sizes = [int(text) for text in chain.split(",")]
        except ValueError:
            raise click.UsageError(f"--chain {chain}: write whole numbers, as in 2,4,8") from None
        found = ns.cost_growth(sizes, methods)
    else:
        found = ns.cost(ns.load(model), methods)
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))
