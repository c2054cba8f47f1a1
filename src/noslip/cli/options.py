"""Options that several commands share: how their texts are read, and which one an error is about.

**Options that several commands share, and how their texts are read.**

**Find the command-line option that an error is about.**
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from noslip import NoslipError

if TYPE_CHECKING:
    from noslip import Model, Plant, System
    from noslip.sensors import ExtendedKalman


#: The model of `noslip run` and `noslip studio` without a name.
FLAGSHIP = "differential-robot"


class FamilyWord(click.ParamType):
    """Click parameter type: the word of a member of a family, looked up lazily."""

    def __init__(self, name: str, words: Callable[[], Iterable[str]]) -> None:
        self.name = name
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The words, for help."""
        return f"[{'|'.join(self.words())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself, if there is such a member."""
        words = list(self.words())
        if value not in words:
            self.fail(f"'{value}' is not one of {', '.join(words)}.", param, ctx)
        return value


class NumberType(click.ParamType):
    """Click parameter type: a number, with a word about units where one was written."""

    name = "number"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        try:
            return float(value)
        except ValueError:
            has_unit = re.match(r"[-+.\d]*\d\.?(e[-+]?\d+)?\s*[^\W\d]", str(value))
            hint = ": give it in SI units, without the unit" if has_unit else ""
            self.fail(f"'{value}' is not a number{hint}.", param, ctx)


NUMBER = NumberType()

set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, start value or input; VALUE is a number or an expression of parameters, "
    "and of t for an input, as in torque1=0.1*sin(t). Repeatable.",
)
tolerance_option = click.option(
    "--tolerance", type=NUMBER, default=1e-9, show_default=True, help="Integration tolerance."
)
guess_option = click.option(
    "--guess",
    "guesses",
    multiple=True,
    metavar="NAME=VALUE",
    help="Initial guess of an unknown value. Repeatable.",
)
stop_option = click.option(
    "--stop",
    "stops",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help="End the run where an expression crosses zero, as in fell=frame.lean^2-1. Repeatable.",
)
column_option = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help=(
        "An additional output, as in lift=point(fork,0.1,0,0).z or thrust=rate(speed). Repeatable."
    ),
)


class EstimatorTexts(NamedTuple):
    """Options of an estimator as they were written; the word is ``none`` for none."""

    word: str
    start_sigmas: tuple[str, ...]
    input_sigmas: tuple[str, ...]
    drifts: tuple[str, ...]

    def estimator(self, model: Model) -> ExtendedKalman | None:
        """The estimator; None for none."""
        import noslip as ns

        given = [text for texts in self[1:] for text in texts]
        if self.word == "none":
            if given:
                raise click.UsageError(f"{given[0]!r} is for an estimator: add --estimator ekf")
            return None
        return ns.sensors.ExtendedKalman(
            start_sigma=read_numbers(model, "--start-sigma", self.start_sigmas),
            input_sigma=read_numbers(model, "--input-sigma", self.input_sigmas),
            drift=read_numbers(model, "--drift", self.drifts),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantWords:
    """Options of a plant that differs from the model that the controller knows."""

    values: tuple[str, ...]  #: NAME=VALUE of parameters and start values
    model: str  #: name or file of another model with the same joints
    gravity: str  #: X,Y,Z
    #: forces, disturbances: tables of forces, and NAME=EXPRESSION of inputs that are no actuators
    forces: tuple[str, ...]
    disturbances: tuple[str, ...]
    #: sensors, actuators: texts of signals
    sensors: tuple[str, ...]
    actuators: tuple[str, ...]
    estimator: EstimatorTexts  #: estimator between sensors and controller
    seed: int  #: seed of noise

    @property
    def is_empty(self) -> bool:
        """Whether the plant is the model."""
        given = (self.values, self.model, self.gravity, self.forces, self.disturbances)
        is_estimated = any((self.estimator.word != "none", *self.estimator[1:]))
        return not any((*given, self.sensors, self.actuators, is_estimated))

    def plant(self, model: Model, system: System) -> Plant | None:
        """Plant that the options describe; None if it is the model."""
        import noslip as ns
        from noslip.analysis import split_changes
        from noslip.control import parse_sensor, parse_signal
        from noslip.model import parse_force

        if self.is_empty:
            return None
        other = ns.compile(ns.derive(ns.load(self.model))) if self.model else None
        driven = model if other is None else other.model
        values = read_changes(driven, self.values, "--plant")
        parameters, start = split_changes(
            system if other is None else other, values
        ).parameters_and_start()
        gravity = read_triple("--plant-gravity", self.gravity) if self.gravity else None
        return ns.Plant(
            system=other,
            parameters=parameters,
            start=start,
            gravity=gravity,
            forces=tuple(parse_force(driven, x, k) for k, x in enumerate(self.forces, start=1)),
            disturbances=read_expressions("--disturbance", self.disturbances, "wind=5*sin(t)"),
            sensors=tuple(parse_sensor(text) for text in self.sensors),
            estimator=self.estimator.estimator(model),
            actuators=tuple(parse_signal(ns.Actuator, text) for text in self.actuators),
            seed=self.seed,
        )


_PLANT = (
    click.option(
        "--plant",
        "plant_values",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter or start value of the plant that differs from the controller's model. "
        "Repeatable.",
    ),
    click.option(
        "--plant-model",
        default="",
        metavar="MODEL",
        help="Model of the plant, with the same joints but other tires, friction or inputs.",
    ),
    click.option(
        "--plant-gravity",
        default="",
        metavar="X,Y,Z",
        help="Gravity of the plant, m/s^2; on a slope, for example, 0.5,0,-9.8.",
    ),
    click.option(
        "--plant-force",
        "--push",
        "pushes",
        multiple=True,
        metavar="KEY=VALUE,…",
        help="An additional force on the plant, with the keys of model files: "
        "type='wrench', body='platform', force=['5*sin(t)', 0, 0]. Repeatable.",
    ),
    click.option(
        "--disturbance",
        "disturbances",
        multiple=True,
        metavar="INPUT=EXPRESSION",
        help="A disturbance: an input of the --plant-model that the controller does not use, as a "
        "function of t. Repeatable.",
    ),
    click.option(
        "--sensor",
        "sensors",
        multiple=True,
        metavar="NAME:KEY=VALUE,…",
        help=(
            "A measurement of the controller: platform.x:sigma=0.01,delay=1; keys sigma, "
            "density, bias, bias_sigma, quantum, every, delay. For an estimator also "
            "odometry:wheels=wheel1,wheel2;sigma=0.01, gyroscope:body=…, pose:body=… and "
            "beacon:body=…;at=3,2,0. Repeatable."
        ),
    ),
    click.option(
        "--actuator",
        "actuators",
        multiple=True,
        metavar="INPUT:KEY=VALUE,…",
        help="An actuator: torque1:largest=0.4,lag=0.05; keys backlash, dead_zone, "
        "largest, lag, fastest, sigma. Repeatable.",
    ),
    click.option(
        "--estimator",
        type=click.Choice(["none", "ekf"]),
        default="none",
        help="State estimator between sensors and controller: ekf is an extended Kalman filter.",
    ),
    click.option(
        "--start-sigma",
        "start_sigmas",
        multiple=True,
        metavar="NAME=VALUE",
        help="Initial standard deviation of the estimate of a value. Repeatable.",
    ),
    click.option(
        "--input-sigma",
        "input_sigmas",
        multiple=True,
        metavar="INPUT=VALUE",
        help="Standard deviation of input noise that the estimator assumes; that of the "
        "actuator by default. Repeatable.",
    ),
    click.option(
        "--drift",
        "drifts",
        multiple=True,
        metavar="NAME=VALUE",
        help="Density of process noise on a coordinate or speed, per sqrt(s). Repeatable.",
    ),
    click.option("--seed", type=int, default=0, help="Seed of the noise of sensors and actuators."),
)


def plant_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a plant for a command, which gets them as one `plant`."""

    @functools.wraps(command)
    def packed(
        *arguments: Any,
        plant_values: tuple[str, ...],
        plant_model: str,
        plant_gravity: str,
        pushes: tuple[str, ...],
        disturbances: tuple[str, ...],
        sensors: tuple[str, ...],
        actuators: tuple[str, ...],
        estimator: str,
        start_sigmas: tuple[str, ...],
        input_sigmas: tuple[str, ...],
        drifts: tuple[str, ...],
        seed: int,
        **others: Any,
    ) -> None:
        asked = PlantWords(
            values=plant_values,
            model=plant_model,
            gravity=plant_gravity,
            forces=pushes,
            disturbances=disturbances,
            sensors=sensors,
            actuators=actuators,
            estimator=EstimatorTexts(estimator, start_sigmas, input_sigmas, drifts),
            seed=seed,
        )
        command(*arguments, plant=asked, **others)

    for option in reversed(_PLANT):
        packed = option(packed)
    return packed


period_option = click.option(
    "--period", type=NUMBER, default=0.0, help="Sampling period in s; 0: continuous."
)
contact_option = click.option(
    "--contact",
    type=click.Choice(["ideal", "coulomb"]),
    help="Law of contacts: ideal, they hold whatever they need, or coulomb, they slide, lift off "
    "and land by their friction and restitution; by default that of the model's scenario.",
)
friction_option = click.option(
    "--friction",
    type=click.FloatRange(min=0.0),
    help=(
        "Friction coefficient of the ground: reports whether and where a wheel would slip or lift; "
        "the exit code is 1 if so."
    ),
)
time_option = click.option(
    "--time",
    type=NUMBER,
    default=0.0,
    show_default=True,
    help="Time in s, for forces, motions and rows that depend on t.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")


#: Place in a command's context of the plugins that its user named.
PLUGINS = "noslip.plugins"


def _load_plugins(ctx: click.Context, option: click.Parameter, names: tuple[str, ...]) -> None:
    from noslip import NoslipError, load_plugin

    # a shell that completes a command runs nothing
    for name in () if ctx.resilient_parsing else names:
        try:
            load_plugin(name)
        except NoslipError as error:
            click.echo(f"{type(error).__name__}: {error}", err=True)
            ctx.exit(1)
        ctx.meta.setdefault(PLUGINS, []).append(name)


#: Of the program and of every command; read before other options, which may need what it brings.
plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE",
    is_eager=True,
    expose_value=False,
    callback=_load_plugins,
    help="A module, or the path of a .py file, that defines joints, surfaces, forces, shapes, "
    "formulations or file formats of your own; its code is executed. Repeatable.",
)


def check_target(target: Path, force: bool, *, other: str = "choose another file with -o") -> None:
    """Refuse to replace a file, unless `force` says so, and a folder in any case.

    What to do instead of replacing it is `other`.
    """
    from noslip import SimulationError

    if os.path.exists(target) and (os.path.isdir(target) or not force):
        raise SimulationError(
            "it already exists and is not replaced",
            str(target),
            other + ("" if os.path.isdir(target) else ", or replace it with --force"),
        )


def read_triple(option: str, text: str) -> tuple[float | str, float | str, float | str]:
    """Three numbers or expressions of parameters, separated by commas."""
    parts = [p.strip() for p in text.split(",")]
    if len(parts) != 3 or not all(parts):
        raise click.UsageError(f"{option} {text!r}: write three values, such as 0,-a,0")
    return parts[0], parts[1], parts[2]


def read_numbers(model: Model, option: str, texts: tuple[str, ...]) -> dict[str, float]:
    """Read NAME=VALUE pairs as numbers; a value is an expression of the model's parameters.

    A sign for both directions is left out: ``torque1=±5`` is ``torque1=5``.
    """
    from noslip.expressions import ExpressionError, nominal

    known = model.parameter_values()
    values: dict[str, float] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise click.UsageError(f"{option} {text!r}: write NAME=VALUE")
        _refuse_second(f"{option} {text!r}", name, values)
        try:
            values[name] = float(nominal(value.removeprefix("±"), known))
        except (ExpressionError, KeyError):
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise click.UsageError(
                f"{option} {text!r}: the value is not a number or an expression of parameters"
            )
    return values


def _refuse_second(said: str, name: str, before: Container[str]) -> None:
    """Refuse a second value of a name, which would silently replace the first."""
    if name in before:
        raise click.UsageError(f"{said}: '{name}' is given twice; leave one of them out")


def read_expressions(option: str, texts: tuple[str, ...], example: str) -> dict[str, str]:
    """Read NAME=EXPRESSION pairs of an option."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, expression = (part.strip() for part in text.partition("="))
        if not (equals and name and expression):
            raise click.UsageError(
                f"{option} {text!r:.60}: write NAME=EXPRESSION, such as {option} {example}"
            )
        _refuse_second(f"{option} {text!r:.60}", name, found)
        found[name] = expression
    return found


def read_stops(texts: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=EXPRESSION pairs of --stop."""
    return read_expressions("--stop", texts, "late=t-5")


def read_columns(texts: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=EXPRESSION pairs of --column."""
    return read_expressions("--column", texts, "height=point(arm,0.5,0,0).z")


def read_changes(
    model: Model, changes: tuple[str, ...], option: str = "--set"
) -> dict[str, float | str]:
    """Read NAME=VALUE pairs of --set; a value is an expression of the model's parameters.

    An input may also depend on t, coordinates and speeds; it then stays a text.
    """
    from noslip.expressions import CONSTANTS, ExpressionError, names_of, nominal

    known = model.parameter_values()
    if model.scenario is not None:
        known |= {p.name: p.value for p in model.scenario.parameters}
    inputs = {i.name for i in model.inputs} | {w.name for w in model.speed_inputs}
    values: dict[str, float | str] = {}
    for change in changes:
        name, equals, text = (part.strip() for part in change.partition("="))
        said = f"{option} {change!r}" if len(change) <= 60 else f"{option} {change[:57]!r}…"
        if not equals or not name:
            raise click.UsageError(f"{said}: write NAME=VALUE, such as {option} r=0.1")
        _refuse_second(said, name, values)
        try:
            unknown = sorted(names_of(text) - set(known) - set(CONSTANTS))
        except ExpressionError as error:
            raise click.UsageError(
                f"{said}: the value cannot be read: {error}; give a number in SI units without "
                "its unit (m, rad, s, kg, N), or an expression such as 2*r or 5*pi/180"
            ) from None
        if unknown and name in inputs:
            values[name] = text
            continue
        if unknown:
            raise click.UsageError(
                f"{said}: there is no parameter '{unknown[0]}' to compute the value "
                "from; inputs alone may depend on t, coordinates and speeds"
            )
        value = nominal(text, known)
        if value != value:
            raise click.UsageError(f"{said}: the value is not a finite number")
        values[name] = value
        known[name] = value
    return values


def read_constants(
    model: Model, changes: tuple[str, ...], option: str = "--set"
) -> dict[str, float]:
    """NAME=VALUE pairs as numbers, for what cannot change with time."""
    values: dict[str, float] = {}
    for name, value in read_changes(model, changes, option).items():
        if isinstance(value, str):
            raise click.UsageError(
                f"{option} {name}={value}: this takes constant inputs and values; give a number or "
                "an expression of parameters"
            )
        values[name] = float(value)
    return values


def named_values(
    system: System, changes: tuple[str, ...]
) -> tuple[dict[str, float], dict[str, float | str], dict[str, float]]:
    """Values of --set at one state: start values, inputs, parameters; other names are refused."""
    from noslip.simulation import units_by_name

    values = read_changes(system.model, changes)
    parameters = [p.name for p in system.model.parameters]
    inputs = [q.name for q in system.inputs]
    for name in values:
        _check_name(system.model, name, [*parameters, *inputs, *units_by_name(system)])
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    return (
        {n: x for n, x in numbers.items() if n not in (*parameters, *inputs)},
        {n: x for n, x in values.items() if n in inputs},
        {n: x for n, x in numbers.items() if n in parameters},
    )


def _check_name(model: Model, name: str, known: list[str]) -> None:
    """Refuse what is neither a parameter nor a start value nor an input."""
    from noslip import SimulationError
    from noslip.base import nearest

    if name in known:
        return
    what = f"there is no parameter, start value or input '{name}'"
    fix = nearest(name, known, more="`noslip check` lists them")
    if model.scenario and name in {p.name for p in model.scenario.parameters}:
        what = f"'{name}' is a number of the scenario, which this command does not follow"
        fix = "leave it out, or use `noslip run`"
    raise SimulationError(what, f"model '{model.name}'", fix)


#: Options whose word in sentences is another one.
_WORDS = {"changes": "start", "stops": "stop", "columns": "output", "output": "the folder"}

#: First words of places in a model that has been read; a file's have its name first.
_ELEMENTS = ("bodies", "joints", "contacts", "rows", "forces")


def naming_options(callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A command whose errors carry the option that they are about, as a note."""
    if callback is None:
        return None

    @functools.wraps(callback)
    def invoke(*arguments: Any, **options: Any) -> Any:
        try:
            return callback(*arguments, **options)
        except NoslipError as error:
            option = _faulty_option(error, click.get_current_context())
            if option:
                error.add_note(option)
            raise

    return invoke


def option_of(error: NoslipError) -> str:
    """The option that an error was found to be about, as it was written; else nothing."""
    return next(iter(getattr(error, "__notes__", ())), "")


def _faulty_option(error: NoslipError, ctx: click.Context) -> str:
    """The option whose word, or the name in whose value, the error mentions."""
    said = f"{error.what} {error.where}"
    given = list(_given(ctx))
    for option, _, value in given:
        name = re.split(r"[=:]", value)[0].strip()
        if name and f"'{name}'" in error.what and name != value:
            return _written(option, value)
    for option, word, value in given:
        name = re.split(r"[=:]", value)[0].strip()
        if (
            re.search(rf"\b{'[ _]'.join(map(re.escape, word.split()))}", said)
            and option not in said
        ):
            return _written(option, value)
        if name != value and error.where.casefold() == name.casefold():
            return _written(option, value)
    for option, _, value in given:  # a value that the model does not bear, with its name
        name, is_pair, number = (part.strip() for part in value.partition("="))
        if is_pair and re.search(rf"\b{re.escape(name)}\b.* {re.escape(number)}\b", str(error)):
            return _written(option, value)
    # a model that was read without faults has those of the one value that was set
    values = [_written(option, value) for option, _, value in given if option == "--set"]
    is_read = all(fault.where.partition(".")[0] in _ELEMENTS for fault in error.faults)
    if len(values) == 1 and is_read:
        return values[0]
    return ""


def _given(ctx: click.Context) -> Iterator[tuple[str, str, str]]:
    """Option as it is written, its word in sentences, and its value, for all that were given."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if not isinstance(parameter, click.Option) or parameter.is_flag:
            continue
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        option = max(parameter.opts, key=len)
        word = _WORDS.get(name, option.lstrip("-").replace("-", " "))
        values = ctx.params.get(name)
        for value in values if isinstance(values, tuple) else (values,):
            yield option, word, str(value)


def _written(option: str, value: str) -> str:
    return f"{option} {value if len(value) <= 40 else value[:37] + '…'}"
