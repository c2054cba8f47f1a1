"""Commands about equations, states and families of motions.

**Commands about equations and states: derive, verify, evaluate, steady, linearize, papers.**

**`noslip derive`, `matrices` and `verify`: equations of motion, shown and compared.**

**`noslip evaluate`, `steady` and `linearize`: a model at a state and about steady motions.**

**`noslip papers`: the five papers, result by result, and their figures.**

**Commands about families of motions.**

**`noslip branch`: motions over a value that is varied, and where they change.**

**`noslip periodic`: a motion that repeats, and its Floquet multipliers.**

**`noslip chart`: stability over two values. `noslip lyapunov`: how fast neighbors part.**
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

import noslip as ns
from noslip.cli.console import fitted
from noslip.cli.options import (
    NUMBER,
    FamilyWord,
    check_target,
    column_option,
    force_option,
    guess_option,
    json_option,
    named_values,
    read_changes,
    read_columns,
    read_constants,
    set_option,
    time_option,
    tolerance_option,
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
    from noslip.base import known_formats
    from noslip.formats import AbstractEquationFormat

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
    from noslip.base import check_folder, format_of
    from noslip.formats import AbstractEquationFormat

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
        loaded = ns.load(model)
        certificate = ns.verify(loaded, states=states, seed=seed, progress=bar)
    checked = ns.check(loaded)
    if as_json:
        known = {"velocity_rows": checked.velocity_rows, "integrals": checked.integrals}
        click.echo(json_text(certificate.to_json() | known))
    else:
        said = checked.integrated()
        click.echo(fitted(certificate.text() + (f"\n  note {said}" if said else "")))
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


#: Values of a sweep, if the range does not say how many, and at most.
COUNT, MOST = 101, 100_000


@click.command()
@click.argument("model")
@set_option
@guess_option
@column_option
@time_option
@json_option
def evaluate(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    columns: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Show accelerations, mass matrix, energies and reactions at a state.

    Values that are not set follow from the constraints, starting from the joints' rest positions.
    """
    from noslip.show import json_text

    system = ns.System(equations=ns.derive(ns.load(model)))
    state, inputs, parameters = named_values(system, changes)
    instant = ns.evaluate(
        system,
        state,
        inputs=inputs,
        parameters=parameters,
        guess=read_constants(system.model, guesses, "--guess"),
        outputs=read_columns(columns),
        time=time,
    )
    click.echo(json_text(instant.to_json()) if as_json else fitted(instant.text()))


@click.command()
@click.argument("model")
@set_option
@click.option(
    "--at",
    multiple=True,
    metavar="NAME=VALUE",
    help="A coordinate of a configuration to look at beside random ones. Repeatable.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="A coordinate to leave out, or a joint, such as a wheel's. Repeatable.",
)
@click.option(
    "--format",
    "format_",
    type=FamilyWord("format", lambda: [*formats(), "json"]),
    help="A page in this format; by default the statements alone, or with -o that of the file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of the terminal: .txt, .tex, .html, .md or .json.",
)
@force_option
@json_option
def geometry(
    model: str,
    changes: tuple[str, ...],
    at: tuple[str, ...],
    without: tuple[str, ...],
    format_: str | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Say what of the constraints integrates, what brackets reach, and what symmetries give.

    Ranks are those of random configurations; with --at, those of one configuration, too.
    """
    from noslip.show import json_text

    if as_json or (format_ is None and output is not None and output.suffix.lower() == ".json"):
        if format_ not in (None, "json"):
            raise click.UsageError(f"--json contradicts --format {format_}: give one of them")
        format_ = "json"
    target = _Target(output, format_, force)
    loaded = ns.load(model)
    with ns.ProgressBar() as bar:
        page = ns.results.GeometryPage.of(
            loaded,
            at=read_constants(loaded, at, "--at") or None,
            without=without,
            parameters=read_constants(loaded, changes),
            progress=bar,
        )
    if format_ == "json":
        target.emit_text(json_text(page.to_json()))
    elif format_ is None and output is None:
        parts = (page.distribution, page.controllability, page.structure)
        texts = [part.text() for part in parts if part is not None]
        if formulas := page.formula_lines():
            texts.append("\n".join([f"{page.model.name}: formulas", *formulas]))
        click.echo(fitted("\n\n".join(texts)))
    else:
        target.emit(page.document())


@click.command()
@click.argument("model")
@set_option
@guess_option
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="An input to solve for, so that it maintains the motion. Repeatable.",
)
@time_option
@json_option
def steady(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    find: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Find a steady motion: an equilibrium, straight running, a turn.

    Use --set for the values that the motion must have, inputs and parameters.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    loaded = ns.load(model)
    with ns.ProgressBar() as bar:
        system = ns.System(equations=ns.derive(loaded))
        split = split_changes(system, read_constants(loaded, changes))
        bar("searching")
        motion = ns.steady(
            system,
            split.start,
            guess=read_constants(loaded, guesses, "--guess"),
            find=find,
            inputs=split.inputs,
            parameters=split.parameters,
            time=time,
        )
    click.echo(json_text(motion.to_json()) if as_json else fitted(motion.text()))


@click.command()
@click.argument("model")
@set_option
@guess_option
@click.option(
    "--steady",
    "search",
    is_flag=True,
    help=(
        "Search for a steady motion with the given values; otherwise they must describe one "
        "already."
    ),
)
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="With --steady: an input to solve for, so that it maintains the motion. Repeatable.",
)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="NAME=LOW:HIGH[:COUNT]",
    help="Plot eigenvalues over a range of a speed, coordinate, angle, input or parameter.",
)
@click.option(
    "--tie",
    "ties",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help="Another value that changes with the swept one, as an expression of it. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Figure of the sweep: .png, .svg or .pdf; in runs/ by default.",
)
@force_option
@click.option(
    "--style",
    type=click.Choice(["screen", "paper", "slide"]),
    default="screen",
    show_default=True,
    help="Size and fonts of the figure.",
)
@time_option
@json_option
def linearize(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    search: bool,
    find: tuple[str, ...],
    sweeps: tuple[str, ...],
    ties: tuple[str, ...],
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Linearize a model about an equilibrium or a steady motion.

    Use --set for coordinates, speeds, angles, inputs and parameters of the motion; the others
    follow from the constraints. An input that is an expression of coordinates and speeds is
    feedback. Shows states, eigenvalues and their meaning.
    """
    from noslip.show import json_text

    if len(sweeps) > 1:
        raise click.UsageError("--sweep is given twice: one value is swept at a time")
    if output is not None and not sweeps:
        raise click.UsageError("-o names the figure of a sweep: add --sweep NAME=LOW:HIGH")
    if find and not search:
        raise click.UsageError("--find needs --steady")
    if ties and not sweeps:
        raise click.UsageError("--tie names what changes with a sweep: add --sweep NAME=LOW:HIGH")
    loaded = ns.load(model)
    guess = read_constants(loaded, guesses, "--guess")
    if not sweeps:
        with ns.ProgressBar() as bar:
            system = ns.System(equations=ns.derive(loaded))
            bar("linearizing")
            result = _linearize(system, changes, guess, search, find, time)
        click.echo(json_text(result.to_json()) if as_json else fitted(result.text()))
        return
    name, points = _range(sweeps[0])
    target = figure_target(loaded.name, name, output, force, as_json)
    with ns.ProgressBar("linearizing") as bar:
        system = ns.System(equations=ns.derive(loaded))
        about, inputs, parameters = named_values(system, changes)
        swept = ns.sweep_eigenvalues(
            system,
            name,
            points,
            about=about,
            inputs=inputs,
            parameters=parameters,
            tied=dict(_tie(text) for text in ties),
            guess=guess,
            search=search,
            find=find,
            progress=bar,
            time=time,
        )
        if target is not None:
            from noslip.base import made_parents

            with made_parents(target):
                ns.plot(swept, title=swept.model, style=style, save=target)
    click.echo(json_text(swept.to_json()) if as_json else fitted(swept.text()))
    if target is not None and not as_json:
        click.echo(f"  figure  {target}")


def _linearize(
    system: ns.System,
    changes: tuple[str, ...],
    guess: dict[str, float],
    search: bool,
    find: tuple[str, ...],
    time: float,
) -> ns.results.Linearization:
    about, inputs, parameters = named_values(system, changes)
    if not search:
        return ns.linearize(
            system, about, inputs=inputs, parameters=parameters, guess=guess, time=time
        )
    numbers = {name: x for name, x in inputs.items() if not isinstance(x, str)}
    if len(numbers) < len(inputs):
        raise click.UsageError("--steady takes inputs that are numbers; leave it out for feedback")
    motion = ns.steady(
        system, about, guess=guess, find=find, inputs=numbers, parameters=parameters, time=time
    )
    return ns.linearize(system, motion.start, inputs=motion.inputs, parameters=parameters)


def _tie(text: str) -> tuple[str, str]:
    """NAME and EXPRESSION."""
    name, equals, expression = (part.strip() for part in text.partition("="))
    if not (name and equals and expression):
        raise click.UsageError(f"--tie {text!r}: write NAME=EXPRESSION, such as m2=2*m1")
    return name, expression


def _range(text: str) -> tuple[str, list[float]]:
    """Name and values of NAME=LOW:HIGH[:COUNT]."""
    name, _, ends = (part.strip() for part in text.partition("="))
    parts = ends.split(":")
    try:
        low, high = float(parts[0]), float(parts[1])
        count = int(parts[2]) if len(parts) == 3 else COUNT
    except (ValueError, IndexError):
        low, high, count = 0.0, 0.0, 0
    is_range = low < high and math.isfinite(high - low)
    if not (name and 2 <= len(parts) <= 3 and is_range and 2 <= count <= MOST):
        raise click.UsageError(
            f"--sweep {text!r}: write NAME=LOW:HIGH or NAME=LOW:HIGH:COUNT with numbers LOW below "
            f"HIGH and COUNT from 2 to {MOST}, such as speed=0:10 or speed=0:10:21"
        )
    return name, [low + (high - low) * k / (count - 1) for k in range(count)]


def figure_target(
    model: str, name: str, output: Path | None, force: bool, as_json: bool
) -> Path | None:
    """Path of the figure; None with --json or without Matplotlib, unless --output asks for one."""
    from noslip.base import install_command, is_installed

    if output is not None:
        from noslip.show import FigureFile

        FigureFile(output)
        check_target(output, force)
        return output
    if as_json:
        return None
    if not is_installed("matplotlib"):
        click.echo(f"note: a chart needs more packages: {install_command('show')}", err=True)
        return None
    folder = Path("runs")
    stem, number = f"{model}-{name}", 2
    target = folder / f"{stem}.png"
    while os.path.exists(target):
        target, number = folder / f"{stem}-{number}.png", number + 1
    return target


@click.command()
@click.argument("words", nargs=-1, metavar="[PAPER] | figure PAPER NUMBER")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File of the figure: .png, .svg or .pdf.",
)
@force_option
def papers(words: tuple[str, ...], output: Path | None, force: bool) -> None:
    """List the reproduced results of the five papers, show one paper, or draw one of its figures.

    PAPER is saha1991, saha1989, desantis1994, cameron1993 or antunes2010.
    """
    from noslip.show import papers_text

    if words and words[0] == "figure":
        if len(words) != 3 or not words[2].isdigit():
            raise click.UsageError("write noslip papers figure PAPER NUMBER, such as saha1989 4")
        _draw(words[1], int(words[2]), output, force)
        return
    if len(words) > 1:
        raise click.UsageError("one paper at a time; a figure is drawn by: figure PAPER NUMBER")
    if output is not None:
        raise click.UsageError("-o names the file of a figure")
    click.echo(papers_text(words[0] if words else None))


def _draw(paper: str, number: int, output: Path | None, force: bool) -> None:
    from noslip import paper_figure
    from noslip.base import made_parents
    from noslip.show import FigureFile

    if output is not None:
        FigureFile(output)
    target = output or Path("runs") / f"{paper}-figure-{number}.png"
    check_target(target, force)
    with ns.ProgressBar() as bar:
        bar("simulating and drawing")
        figure = paper_figure(paper, number)
        with made_parents(target):
            written = FigureFile(target).save(figure)
    click.echo(written)


style_option = click.option(
    "--style",
    type=click.Choice(["screen", "paper", "slide"]),
    default="screen",
    show_default=True,
    help="Size and fonts of the figure.",
)


@click.command()
@click.argument("model")
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="NAME=LOW:HIGH",
    help="The speed, coordinate, angle, input or parameter that is varied, and its range.",
)
@set_option
@click.option(
    "--at",
    type=NUMBER,
    help="Value at which the first motion is looked for; the lower end of the range by default.",
)
@guess_option
@click.option(
    "--period",
    metavar="TIME",
    help="Follow motions that repeat after about this time in s; an expression of parameters if "
    "inputs depend on time, as in 2*pi/w.",
)
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="An input to solve for, so that it maintains the motion. Repeatable.",
)
@click.option(
    "--crossing/--no-crossing",
    default=True,
    show_default=True,
    help="Also follow the curves that cross at branch points.",
)
@click.option(
    "--step",
    type=NUMBER,
    default=0.02,
    show_default=True,
    help="Longest step between two points, as a part of the range.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Figure of the branch: .png, .svg or .pdf; in runs/ by default.",
)
@force_option
@style_option
@time_option
@json_option
def branch(
    model: str,
    vary: tuple[str, ...],
    changes: tuple[str, ...],
    at: float | None,
    guesses: tuple[str, ...],
    period: str | None,
    find: tuple[str, ...],
    crossing: bool,
    step: float,
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Follow a family of motions over a value, around folds, and say where it changes.

    Use --set for values that all these motions have, inputs and parameters. They are steady, or
    with --period repeat; then --guess says where the first begins. Folds, branch points, Hopf
    points, period doublings and limits of stability are located.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    name, low, high = _varied(vary)
    loaded = ns.load(model)
    target = figure_target(loaded.name, name, output, force, as_json)
    with ns.ProgressBar("following") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, _changes(loaded, changes, period))
        found = ns.branch(
            system,
            {name: (low, high)},
            given=split.start,
            at=at,
            guess=read_constants(loaded, guesses, "--guess") or None,
            period=None if period is None else _period(period),
            find=find,
            inputs=split.inputs,
            parameters=split.parameters,
            crossing=crossing,
            step=step,
            time=time,
            progress=bar,
        )
        if target is not None:
            from noslip.base import made_parents

            with made_parents(target):
                ns.plot(found, title=found.model, style=style, save=target)
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))
    if target is not None and not as_json:
        click.echo(f"  figure  {target}")


@click.command()
@click.argument("model")
@click.option(
    "--period",
    required=True,
    metavar="TIME",
    help="Where to look first, in s; what it is if inputs depend on time, an expression of "
    "parameters, as in 2*pi/w.",
)
@set_option
@guess_option
@time_option
@json_option
def periodic(
    model: str,
    period: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Find a motion that repeats, up to a place and a heading, and its Floquet multipliers.

    Use --set for values that its start must have, inputs and parameters, --guess for where the
    search begins.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    loaded = ns.load(model)
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_changes(loaded, changes))
        bar("searching")
        found = ns.periodic(
            system,
            read_constants(loaded, guesses, "--guess"),
            period=_period(period),
            given=split.start,
            inputs=split.inputs,
            parameters=split.parameters,
            start_time=time,
        )
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))


@click.command()
@click.argument("model")
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="NAME=LOW:HIGH[:COUNT]",
    help="A speed, coordinate, angle, input or parameter, and its range. Given twice.",
)
@set_option
@click.option(
    "--steady",
    "search",
    is_flag=True,
    help="Search for a steady motion at each point; otherwise the values must describe one.",
)
@guess_option
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="With --steady: an input to solve for, so that it maintains the motion. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Figure of the chart: .png, .svg or .pdf; in runs/ by default.",
)
@force_option
@style_option
@time_option
@json_option
def chart(
    model: str,
    vary: tuple[str, ...],
    changes: tuple[str, ...],
    search: bool,
    guesses: tuple[str, ...],
    find: tuple[str, ...],
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Draw where steady motions are stable over two values.

    Use --set for further values of the motions, inputs and parameters.
    """
    from noslip.analysis import split_changes
    from noslip.base import made_parents
    from noslip.show import json_text

    sides = dict(_side(text) for text in vary)
    if len(sides) != 2 or len(vary) != 2:
        raise click.UsageError("--vary is given twice, with two names")
    if (find or guesses) and not search:
        raise click.UsageError("--find and --guess need --steady")
    loaded = ns.load(model)
    target = figure_target(loaded.name, "-".join(sides), output, force, as_json)
    with ns.ProgressBar("charting") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_constants(loaded, changes))
        found = ns.stability_chart(
            system,
            sides,
            about=split.start,
            search=search,
            guess=read_constants(loaded, guesses, "--guess") or None,
            find=find,
            inputs=split.inputs,
            parameters=split.parameters,
            time=time,
            progress=bar,
        )
        if target is not None:
            with made_parents(target):
                ns.plot(found, title=found.model, style=style, save=target)
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))
    if target is not None and not as_json:
        click.echo(f"  figure  {target}")


def _side(text: str) -> tuple[str, tuple[float, ...]]:
    """Name and range of NAME=LOW:HIGH[:COUNT]."""
    name, _, ends = (part.strip() for part in text.partition("="))
    try:
        numbers = tuple(float(part) for part in ends.split(":"))
    except ValueError:
        numbers = ()
    is_range = len(numbers) in (2, 3) and numbers[0] < numbers[1]
    if not (name and is_range and all(math.isfinite(x) for x in numbers)):
        raise click.UsageError(
            f"--vary {text!r}: write NAME=LOW:HIGH or NAME=LOW:HIGH:COUNT with numbers LOW below "
            "HIGH, such as speed=0:10 or speed=0:10:41"
        )
    return name, numbers


@click.command()
@click.argument("model")
@click.option("--duration", type=NUMBER, required=True, help="Time that is averaged over, s.")
@click.option(
    "--settle", type=NUMBER, default=0.0, show_default=True, help="Time to settle before it, s."
)
@click.option(
    "--spans",
    type=click.IntRange(2, 1_000_000),
    default=200,
    show_default=True,
    help="Number of times that neighbors are made orthonormal again.",
)
@set_option
@tolerance_option
@time_option
@json_option
def lyapunov(
    model: str,
    duration: float,
    settle: float,
    spans: int,
    changes: tuple[str, ...],
    tolerance: float,
    time: float,
    as_json: bool,
) -> None:
    """Compute the Lyapunov exponents of a motion: how fast its neighbors part.

    Use --set for its start, inputs and parameters.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    loaded = ns.load(model)
    with ns.ProgressBar("averaging") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_changes(loaded, changes))
        found = ns.lyapunov_exponents(
            system,
            split.start,
            duration=duration,
            settle=settle,
            spans=spans,
            inputs=split.inputs,
            parameters=split.parameters,
            start_time=time,
            rtol=tolerance,
            progress=bar,
        )
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))


def _changes(
    model: ns.Model, changes: tuple[str, ...], period: str | None
) -> dict[str, float] | dict[str, float | str]:
    """Values of --set; inputs of motions that repeat may be expressions."""
    return read_constants(model, changes) if period is None else read_changes(model, changes)


def _period(text: str) -> float | str:
    """A number in s, or an expression."""
    try:
        return float(text)
    except ValueError:
        return text


def _varied(texts: tuple[str, ...]) -> tuple[str, float, float]:
    """Name, low and high of NAME=LOW:HIGH."""
    if len(texts) > 1:
        raise click.UsageError("--vary is given twice: one value is varied at a time")
    name, _, ends = (part.strip() for part in texts[0].partition("="))
    try:
        low, high = (float(part) for part in ends.split(":"))
    except ValueError:
        low, high = math.nan, math.nan
    if not (name and low < high and math.isfinite(high - low)):
        raise click.UsageError(
            f"--vary {texts[0]!r}: write NAME=LOW:HIGH with numbers LOW below HIGH, such as "
            "speed=0:10"
        )
    return name, low, high
