"""Subject of a derivation: coordinates, speeds and symbols of equations, and states to check them.

**Short symbols of coordinates, speeds, inputs, parameters and multipliers.**

A rule for each kind of name, so that the same model always gets the same symbols:

    what the model gives a symbol    that symbol; the rate of a coordinate has a dot
    joints      the symbols of their types; of a joint with one coordinate, with its name as index
    inputs      F for a force, τ for a torque, unless their name is a letter already
    parameters  their own names

The joint's name joins the index where two things would look alike. A letter of the method, such as
I of the inertia matrix, that the model uses for something else has a hat: Î.

**Coordinates and speeds that equations are printed in, and their check against compiled ones.**

Equations are compiled in quaternions. Where a joint names angles they are printed in those; speeds
are the rates of the angles where the body is symmetric about the last turn's axis, so that this
angle drops out of the equations, and the model's own otherwise. Both may be chosen.

**Subject of a derivation: the equations, their symbols, and states at which to check them.**
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from noslip import (
    Equations,
    ForceInput,
    IndependentSpeed,
    Joint,
    Kinematics,
    Model,
    NaturalComplement,
    Parameter,
    Quantity,
    SimulationError,
    derive,
    trace,
)
from noslip.algebra import block_solve, quaternion_from_angles, rotation_from_angles
from noslip.base import Array, nearest
from noslip.expressions import (
    GREEK,
    ExpressionError,
    names_of,
    parse,
    read_symbol,
    read_unit,
    unit_text,
)
from noslip.kinematics import Node
from noslip.model import Dependence, angle_joints, dependence, dimension, in_angles, vocabulary
from noslip.show.equations.layout import Glyph, MathRow, formula, glyph_of_name, glyph_of_symbol

if TYPE_CHECKING:
    import sympy

    from noslip.show.equations.writing import Alphabet, Arranger


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the legend: symbol, full name, unit, meaning, and what kind of thing it is."""

    glyph: Glyph
    name: str
    unit: str
    meaning: str
    group: str


class Notation:
    """Symbols of all quantities of a set of equations, and the legend that explains them.

    Every list has the order of its vector: `coordinates` that of q, and so on.
    """

    def __init__(self, equations: Equations) -> None:
        kin, model = equations.kinematics, equations.model
        # the only coordinate of a joint always says which joint it is of
        owners = Counter(q.name.rpartition(".")[0] for q in kin.coordinates)
        self._alone = {name for name, count in owners.items() if count == 1}
        self._description = {j.name: j.description for j in model.joints}
        self._given = _given_symbols(model)
        self._used: set[str] = set()
        self.time = Entry(self._unique(Glyph("t"), "time"), "time", "s", "time", "time")
        own = {_glyph(p.symbol, p.name).text for p in model.parameters}
        own |= {_input_glyph(i).text for i in model.inputs}
        self.parameters = [
            Entry(self._unique(_parameter_glyph(p, own), p.name), p.name, p.unit, p.description,
                  "parameter")
            for p in model.parameters
        ]  # fmt: skip
        self.inputs = [
            Entry(self._unique(_input_glyph(i), i.name), i.name, i.unit,
                  i.description, "force input")
            for i in model.inputs
        ]  # fmt: skip
        units = {s.name: s.unit for s in kin.speeds}
        self.speed_inputs = [
            Entry(self._unique(_glyph(i.symbol, i.name), i.name), i.name, units[i.speed],
                  i.description, "speed input")
            for i in model.speed_inputs
        ]  # fmt: skip
        # a symbol that is needed twice takes the joint's name along
        moving = [self._short(q) for q in (*kin.coordinates, *kin.speeds)]
        self._wanted = Counter(self._used) + Counter(g.text for g in moving)
        self.coordinates = [self._moving(c, "coordinate") for c in kin.coordinates]
        self.speeds = [self._moving(s, "tree speed") for s in kin.speeds]
        known = {entry.name: entry for entry in self.speeds}
        named = {s.name: s.symbol for s in model.independent_speeds}
        self.independent_speeds = [
            known.get(s.name)
            or Entry(
                self._unique(_glyph(named.get(s.name, ""), s.name), s.name),
                s.name,
                s.unit,
                "independent speed, by definition",
                "independent speed",
            )
            for s in kin.independent_speeds
        ]
        rows = [kin.rows[k] for k in kin.row_basis]
        self.multipliers = [
            Entry(
                self._unique(self.method_letter(Glyph("λ", str(k + 1))), f"λ{row.name}"),
                row.name,
                row.multiplier_unit,
                "constraint force of the row",
                "multiplier",
            )
            for k, row in enumerate(rows)
        ]
        self.costates = [
            Entry(
                self._unique(self.method_letter(Glyph("μ", e.glyph.index)), f"μ{e.name}"),
                f"costate.{e.name}",
                f"{e.unit}*s",
                "costate of the row",
                "costate",
            )
            for e in self.multipliers[: equations.costates.shape[0]]
        ]
        self.force_states = [
            Entry(
                self._unique(self.method_letter(Glyph("z", str(k + 1))), z.name),
                z.name,
                z.unit,
                z.description,
                "force state",
            )
            for k, z in enumerate(kin.force_states)
        ]

    def _described(self) -> list[Entry]:
        """Entries that the model itself describes."""
        moving = [*self.coordinates, *self.speeds, *self.independent_speeds]
        return [*moving, *self.inputs, *self.speed_inputs, *self.parameters]

    def method_letter(self, glyph: Glyph) -> Glyph:
        """A letter of a method, with a hat where the model uses it for something else.

        Speeds of the model are entries of v and its coordinates entries of q.
        """
        if glyph.base.startswith("("):
            # a product, which the hat of its first letter tells apart
            first = self.method_letter(Glyph(glyph.base[1:-1].split(" ")[0]))
            return replace(glyph, is_hatted=first.is_hatted)
        speeds = [*self.speeds, *self.independent_speeds]
        own = {"v": speeds, "η": speeds, "q": self.coordinates, "u": self.inputs}
        entries = {e.name for e in own.get(glyph.base, ()) if e.glyph.index}
        others = [e for e in self._described() if e.name not in entries]
        return replace(glyph, is_hatted=any(e.glyph.base == glyph.base for e in others))

    def _short(self, quantity: Quantity) -> Glyph:
        joint, _, part = quantity.name.rpartition(".")
        given = self._given.get(quantity.name)
        if given:
            return glyph_of_symbol(given)
        glyph = glyph_of_symbol(quantity.symbol) if quantity.symbol else glyph_of_name(part)
        return glyph.of(joint) if joint in self._alone else glyph

    def _moving(self, quantity: Quantity, group: str) -> Entry:
        joint, _, part = quantity.name.rpartition(".")
        glyph = self._short(quantity)
        plain = Glyph(glyph.base, glyph.index)
        if max(self._wanted[glyph.text], self._wanted[plain.text]) > 1 and (
            joint not in self._alone
        ):
            glyph = glyph.of(joint)
        glyph = self._unique(glyph, quantity.name)
        meaning = f"{quantity.description or part} of '{joint}'"
        if self._description.get(joint) and group == "coordinate":
            # once for each joint
            meaning += f" ({self._description.pop(joint)})"
        return Entry(glyph, quantity.name, quantity.unit, meaning, group)

    def _unique(self, glyph: Glyph, name: str) -> Glyph:
        """The glyph, or the whole name as a word where something else is already written so."""
        others = (Glyph(name, str(k)) for k in itertools.count(2))
        found = next(
            g for g in itertools.chain((glyph, Glyph(name)), others) if g.text not in self._used
        )
        self._used.add(found.text)
        return found

    @property
    def taken(self) -> frozenset[str]:
        """Texts of all symbols in use."""
        return frozenset(self._used)

    @cached_property
    def legend(self) -> list[Entry]:
        """All entries, coordinates first, each symbol once."""
        entries = [*self.coordinates, *self.speeds, *self.independent_speeds, *self.inputs]
        entries += [*self.speed_inputs, *self.multipliers, *self.costates, *self.force_states]
        entries += self.parameters
        return list({e.glyph: e for e in entries}.values())

    def letter(self, wanted: str) -> str:
        """A letter for numbered parts that no symbol of the model begins with."""
        used = {e.glyph.base for e in self.legend}
        return next((x for x in (wanted, *"ζκχξ") if x not in used), f"{wanted}*")


def symbol(glyph: Glyph) -> sympy.Symbol:
    """The SymPy symbol that is written as this glyph."""
    import sympy  # symbols and their legend are also for texts without it

    return sympy.Symbol(unicodedata.normalize("NFC", glyph.text), real=True)


def _glyph(given: str, name: str) -> Glyph:
    """The symbol that was given, or that of the name."""
    return glyph_of_symbol(given) if given else glyph_of_name(name)


def _given_symbols(model: Model) -> dict[str, str]:
    """Symbols that joints give to their coordinates and speeds, and those of the rates, by name."""
    found: dict[str, str] = {}
    for joint in model.joints:
        given = dict(joint.symbols or {})
        coordinates = [c.name for c in joint.type.coordinates]
        for speed in joint.type.speeds:
            of = {"rate": "angle", "speed": "position"}.get(speed.name, "")
            of = of or speed.name.removesuffix("_rate")
            if of in given and of in coordinates and speed.name not in given:
                given[speed.name] = read_symbol(given[of]).rate.plain
        found |= {f"{joint.name}.{name}": text for name, text in given.items()}
    return found


#: Letters of the quantities that parameters are called by in words.
_QUANTITIES = {"mass": "m", "length": "l", "wheelbase": "L", "radius": "r", "height": "h"}
_QUANTITIES |= {"width": "b", "separation": "b", "inertia": "J", "stiffness": "k", "speed": "v"}


def _parameter_glyph(given: Parameter, taken: set[str]) -> Glyph:
    """m_load for load_mass, unless another quantity is called so already; a letter stays itself."""
    *owner, quantity = given.name.replace(".", "_").split("_")
    glyph = Glyph(_QUANTITIES.get(quantity, ""), ",".join(owner))
    if given.symbol or not glyph.base or glyph.text in taken:
        return _glyph(given.symbol, given.name)
    return glyph


def _input_glyph(given: ForceInput) -> Glyph:
    """F and τ for forces and torques that are called by a word; a letter stays itself."""
    if given.symbol:
        return glyph_of_symbol(given.symbol)
    name, unit = given.name, given.unit
    letter = re.fullmatch(r"([A-Za-z]|" + "|".join(GREEK) + r")(\d*)(_.*)?", name)
    base = {"N": "F", "N*m": "τ"}.get(unit)
    if letter or base is None:
        return glyph_of_name(name)
    word = re.fullmatch(r"(?:force|torque|moment)_?(.*)", name)
    word = word or re.fullmatch(r"(.*)\.(?:force|torque)", name)
    return Glyph(base, (word[1] if word else name).replace("_", ","))


#: Words for the coordinates of orientations.
ANGLES, QUATERNION = "angles", "quaternion"
COORDINATES = (ANGLES, QUATERNION)
#: Parts of a model whose fields may name coordinates and speeds.
_REFERRING = frozenset("contacts definitions forces independent_speeds rows speed_inputs".split())


@dataclass(frozen=True, slots=True, eq=False)
class PrintedEquations:
    """Equations in the coordinates and speeds to print, and those that were given."""

    equations: Equations  #: equations to be printed
    given: Equations  #: the same motion as it is compiled
    coordinates: str  #: `ANGLES` or `QUATERNION`
    #: whether the independent speeds are those of the model, not others of one's choice
    is_usual: bool = True

    @classmethod
    def as_compiled(cls, equations: Equations) -> PrintedEquations:
        """The equations in the coordinates and speeds that they are compiled in."""
        return cls(equations, equations, QUATERNION)

    @property
    def model(self) -> Model:
        """The model as it was described, without the links of chains."""
        return self.given.model

    def difference(self, states: Array) -> float:
        """Largest difference of the compiled accelerations at the same states, relative to them.

        `states` are rows t, q, v, η, μ, …, u, w, ẇ, parameters as of `Subject.columns`.
        """
        if self.equations is self.given:
            return 0.0
        own, other = self.equations.kinematics, self.given.kinematics
        if self.equations.auxiliary_states.shape != self.given.auxiliary_states.shape:
            return math.nan
        q, v, vdot = _given_state(own.tree.nodes, other.tree.nodes, self.equations)
        s, c = own.symbols, other.symbols
        eta = ca.mtimes(other.E, c.v)
        known = [s.t, s.q, own.eta, self.equations.auxiliary_states, s.u, s.w, s.wdot, s.params]
        mapped = ca.Function("mapped", known, [q, v, vdot])
        given = [c.t, c.q, other.eta, self.given.auxiliary_states, c.u, c.w, c.wdot, c.params]
        compiled = ca.Function("compiled", given, [ca.densify(self.given.speed_rates)])
        to_eta = ca.Function("eta", [c.t, c.q, c.v, c.params], [eta])
        sizes = [x.shape[0] for x in (s.t, s.q, s.v, own.eta, self.equations.auxiliary_states)]
        tail = [x.shape[0] for x in (s.u, s.w, s.wdot, s.params)]
        worst = math.nan
        for row in states:
            t, q_, _, eta_, mu = np.split(row[: sum(sizes)], np.cumsum(sizes)[:-1])
            u, w, wdot, params = np.split(row[len(row) - sum(tail) :], np.cumsum(tail)[:-1])
            at, moving, rates = mapped(t, q_, eta_, mu, u, w, wdot, params)
            expected = np.array(
                compiled(t, at, to_eta(t, at, moving, params), mu, u, w, wdot, params)
            ).ravel()
            found = np.array(rates).ravel()
            if not (np.all(np.isfinite(found)) and np.all(np.isfinite(expected))):
                continue
            scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
            largest = float(np.max(np.abs(found - expected), initial=0.0)) / scale
            worst = largest if math.isnan(worst) else max(worst, largest)
        return worst


def printed_equations(
    equations: Equations, coordinates: str | None = None, speeds: Sequence[str] = ()
) -> PrintedEquations:
    """The equations in the coordinates and speeds they are to be printed in.

    Parameters
    ----------
    coordinates : ``"angles"`` or ``"quaternion"``; the angles by default where the model names some
        and refers to no entry of a quaternion.
    speeds : independent speeds, each a name such as ``disk.yaw_rate`` or a definition such as
        ``w3 = disk.spin_rate + disk.yaw_rate*cos(disk.tilt)``; none for the usual ones.

    Raises
    ------
    SimulationError : for coordinates the model does not name, and speeds that it does not have.
    """
    model = equations.model
    where = f"model '{model.name}', coordinates to print"
    if coordinates is not None and coordinates not in COORDINATES:
        raise SimulationError(
            f"there are no coordinates '{coordinates}'", where, nearest(coordinates, COORDINATES)
        )
    joints = angle_joints(model)
    blocked = _entries_used(model, joints)
    if coordinates == ANGLES and (not joints or blocked):
        what = f"the model uses '{blocked}'" if joints else "no joint of the model names angles"
        raise SimulationError(
            f"the equations cannot be written in angles: {what}",
            where,
            "print them with --coordinates quaternion"
            if joints
            else "give a free or spherical "
            'joint angles = {sequence = "zxz", names = ["yaw", "tilt", "spin"]}',
        )
    if not joints or blocked or coordinates == QUATERNION:
        chosen = _with_speeds(model, speeds, equations)
        shown = equations if chosen is model else derive(chosen, equations.formulation)
        return PrintedEquations(shown, equations, QUATERNION, not speeds)
    own = tuple(s.name for s in equations.kinematics.independent_speeds)
    rates = [j.name for j in joints if _is_in_rates(model, j, own, speeds)]
    changed = in_angles(model, rates)
    if not speeds:
        changed = replace(changed, independent_speeds=_speeds_in_rates(equations, joints, rates))
    chosen = _with_speeds(changed, speeds, equations)
    shown = derive(chosen, equations.formulation)
    return PrintedEquations(shown, equations, ANGLES, not speeds)


def _entries_used(model: Model, joints: Sequence[Joint]) -> str:
    """The first entry of a quaternion that the model refers to, empty for none."""
    names = {f"{j.name}.q{k}" for j in joints for k in "wxyz"}
    return next((n for n in _names_used(model) if n in names), "")


def _names_used(model: Model) -> list[str]:
    """Names in the expressions and fields of forces, rows, inputs and independent speeds."""
    found: list[str] = []
    for path, _, _, value in vocabulary(model).fields:
        if path[0] not in _REFERRING:
            continue
        values = value.values() if isinstance(value, dict) else value
        for text in (values,) if isinstance(values, str | float | int) else tuple(values or ()):
            if isinstance(text, str):
                try:
                    found += sorted(names_of(text))
                except ExpressionError:
                    continue
    return found


def _speed_names(joint: Joint) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Speeds of a joint in body axes, and the rates that take their place, as full names."""
    angles = joint.type.named_angles()
    assert angles is not None, "only joints with named angles are asked"
    places = ("x", "y", "z") if len(joint.type.speeds) == 6 else ()
    rates = [f"{joint.name}.{name}_rate" for name in (*angles.names, *places)]
    return joint.speed_names(), tuple(rates)


def _is_in_rates(
    model: Model, joint: Joint, independent: Sequence[str], speeds: Sequence[str]
) -> bool:
    """Whether a joint is written in the rates of its coordinates."""
    body, rates = _speed_names(joint)
    used = {name for name in _names_used(replace(model, independent_speeds=()))}
    if speeds:
        asked = {name for text in speeds for name in _names_in(text)}
        return bool(asked & set(rates)) and not (asked | used) & set(body)
    groups = [set(body[:3]), set(body[3:])]
    named = {s.name for s in model.independent_speeds if not s.expression}
    expressed = set(_names_used(model)) - named
    if (used | expressed) & set(body) or not groups[0] <= set(independent):
        return False
    if groups[1] & set(independent) and not groups[1] <= set(independent):
        return False
    nodes = trace(in_angles(replace(model, independent_speeds=()), [joint.name])).tree.nodes
    return any(node.is_rotor and node.body.name == joint.child for node in nodes)


def _names_in(text: str) -> frozenset[str]:
    try:
        return names_of(text.partition("=")[2] or text)
    except ExpressionError:
        return frozenset()


def _speeds_in_rates(
    equations: Equations, joints: Sequence[Joint], rates: Sequence[str]
) -> tuple[IndependentSpeed, ...]:
    """The independent speeds of the equations, with rates in place of body speeds."""
    instead: dict[str, str] = {}
    for joint in joints:
        if joint.name in rates:
            instead |= dict(zip(*_speed_names(joint), strict=True))
    expressions = {s.name: s for s in equations.model.independent_speeds if s.expression}
    return tuple(
        expressions.get(s.name) or IndependentSpeed(name=instead.get(s.name, s.name))
        for s in equations.kinematics.independent_speeds
    )


def _with_speeds(model: Model, speeds: Sequence[str], equations: Equations) -> Model:
    """The model with these independent speeds, checked by name."""
    if not speeds:
        return model
    where = f"model '{model.name}', speeds to print"
    joints = [j for j in model.joints if len(j.type.speeds)]
    known = {n: q.unit for j in joints for n, q in zip(j.speed_names(), j.type.speeds, strict=True)}
    places = {
        n: q.unit
        for j in joints
        for n, q in zip(j.coordinate_names(), j.type.coordinates, strict=True)
    }
    own = {s.name: s for s in equations.model.independent_speeds if s.expression}
    scope = {n: read_unit(u) for n, u in {**known, **places}.items()}
    scope |= {p.name: read_unit(p.unit) for p in model.parameters}
    chosen = []
    for text in speeds:
        name, is_defined, expression = (part.strip() for part in text.partition("="))
        if not is_defined:
            if name not in known and name not in own:
                raise SimulationError(
                    f"there is no speed '{name}' to write the equations in",
                    where,
                    nearest(name, [*known, *own]),
                )
            chosen.append(own.get(name) or IndependentSpeed(name=name))
            continue
        try:
            used = names_of(expression)
        except ExpressionError as error:
            raise SimulationError(
                f"'{text}' cannot be read: {error}",
                where,
                "write name = expression, such as w3 = disk.spin_rate + disk.yaw_rate",
            ) from None
        unknown = sorted(used - set(scope) - {"pi"})
        if unknown:
            raise SimulationError(
                f"'{text}' contains the unknown name '{unknown[0]}'",
                where,
                nearest(unknown[0], scope),
            )
        if not used & set(known):
            raise SimulationError(f"'{text}' contains no speed", where, nearest(expression, known))
        if (
            dependence(parse(expression), dict.fromkeys(known, Dependence.LINEAR))
            is not Dependence.LINEAR
        ):
            raise SimulationError(
                f"'{text}' is not linear in the speeds",
                where,
                "write a sum of speeds times factors, without a constant term",
            )
        found = dimension(expression, scope)
        unit = unit_text(found) if isinstance(found, tuple) else ""
        unit = {"1/s": "rad/s", "s^-1": "rad/s"}.get(unit, unit)
        chosen.append(IndependentSpeed(name=name, expression=expression, unit=unit))
    return replace(model, independent_speeds=tuple(chosen))


def _given_state(
    own: Sequence[Node], other: Sequence[Node], equations: Equations
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """q, v and v̇ of the given equations as functions of the state of the printed ones.

    With R and p the pose of the joint's frames in the printed coordinates, the body's speeds are
    ω = (RᵀṘ)ˇ and Rᵀṗ; their rates follow by differentiation along q̇ = N v and v̇.
    """
    kin = equations.kinematics
    symbols = kin.symbols
    at = ca.vertcat(symbols.q, symbols.v)
    q_dot = ca.mtimes(kin.N, symbols.v)
    along = ca.vertcat(q_dot, equations.speed_rates)
    spans: dict[str, list[Node]] = {}
    for node in own:
        spans.setdefault(node.joint.name, []).append(node)
    q: list[ca.SX] = []
    v: list[ca.SX] = []
    for node in other:
        nodes = spans[node.joint.name]
        place = symbols.q[nodes[0].coordinates.start : nodes[-1].coordinates.stop]
        speed = symbols.v[nodes[0].speeds.start : nodes[-1].speeds.stop]
        angles = node.joint.type.named_angles()
        if angles is None:
            q.append(place)
            v.append(speed)
            continue
        turns = place[place.shape[0] - 3 :]
        shift = place[: place.shape[0] - 3]
        quaternion = quaternion_from_angles(ca.vertsplit(turns), angles.sequence, ca.cos, ca.sin)
        q += [shift, ca.vertcat(*quaternion)]
        R = rotation_from_angles(turns, angles.sequence)
        R_dot = ca.reshape(ca.jtimes(ca.vec(R), symbols.q, q_dot), 3, 3)
        W = ca.mtimes(R.T, R_dot)
        v.append(ca.vertcat(W[2, 1], W[0, 2], W[1, 0]))
        if shift.shape[0]:
            v.append(ca.mtimes(R.T, ca.jtimes(shift, symbols.q, q_dot)))
    # places of contacts come behind the joints, in both
    q.append(symbols.q[own[-1].coordinates.stop :])
    v.append(symbols.v[own[-1].speeds.stop :])
    speeds = ca.vertcat(*v)
    rates = ca.jtimes(speeds, at, along)
    found = [ca.densify(ca.vertcat(*q)), ca.densify(speeds), ca.densify(rates)]
    q_found, *moving = ca.substitute(found, [symbols.v], [kin.v])
    return q_found, moving[0], moving[1]


#: Units of the parameters that terms are collected by.
_INERTIAS = ("kg", "kg*m^2", "kg*m**2")
NUM_STATES = 4


@dataclass(frozen=True, eq=False)
class Subject:
    """Equations of motion with the notation and test states of their derivation.

    Speeds that are independent go by their η, the others by themselves: `v` and `vdot` are columns
    of such symbols, and `free` is the same kinematics at those v, whatever the constraints say.
    """

    printed: PrintedEquations
    is_stepwise: bool = False

    @cached_property
    def equations(self) -> Equations:
        """The equations to print."""
        return self.printed.equations

    @cached_property
    def bodies(self) -> list[tuple[int, Node, Joint]]:
        """Bodies of the model with their places in the tree and joints, without links of chains."""
        joints = {j.name: j for j in self.printed.model.joints}
        known = {b.name for b in self.printed.model.bodies}
        return [
            (k, node, joints[node.joint.name])
            for k, node in enumerate(self.kin.tree.nodes)
            if node.body.name in known
        ]

    def note(self, name: str, more: str = "", *, of_speeds: bool = False) -> str:
        """Name of an equation, with its number in the model's reference if it has one.

        The numbers of equations that depend on which speeds are independent (`of_speeds`) hold for
        the model's own.
        """
        model = self.printed.model
        number = (model.equation_numbers or {}).get(name)
        if of_speeds and not self.printed.is_usual:
            number = None
        said = [text for text in (more, number and f"{model.references[0]} {number}") if text]
        return ", ".join(said)

    def letter(self, base: str, index: str = "", dots: int = 0) -> Glyph:
        """A letter of the method, with a hat where the model uses it."""
        return self.notation.method_letter(Glyph(base, index, dots))

    def formula(self, line: str) -> MathRow:
        """A line of mathematics in the method's letters."""
        return formula(line, self.notation.method_letter)

    @cached_property
    def kin(self) -> Kinematics:
        """Kinematics."""
        return self.equations.kinematics

    @cached_property
    def notation(self) -> Notation:
        """Symbols of all quantities."""
        return Notation(self.equations)

    @cached_property
    def simplest(self) -> Equations:
        """The same blocks by the shortest route, equal by d'Alembert's principle."""
        if isinstance(self.equations.formulation, NaturalComplement):
            return self.equations
        return NaturalComplement().fill(self.kin)

    @cached_property
    def etadot(self) -> ca.SX:
        """η̇ as symbols."""
        return self.equations.etadot

    @cached_property
    def mu(self) -> ca.SX:
        """Costates as symbols."""
        return self.equations.costates

    @cached_property
    def lam(self) -> ca.SX:
        """Multipliers of the independent rows as symbols."""
        return ca.SX.sym("lam", len(self.kin.row_basis))

    @cached_property
    def _all_vdot(self) -> ca.SX:
        return ca.SX.sym("vdot", self.kin.num_speeds)

    @cached_property
    def independent(self) -> dict[int, int]:
        """Tree speed → independent speed that it is."""
        index = {s.name: k for k, s in enumerate(self.kin.speeds)}
        names = [s.name for s in self.kin.independent_speeds]
        return {index[name]: j for j, name in enumerate(names) if name in index}

    @cached_property
    def v(self) -> ca.SX:
        """Tree speeds as symbols."""
        own = self.kin.symbols.v
        entries = [
            self.kin.eta[self.independent[k]] if k in self.independent else own[k]
            for k in range(self.kin.num_speeds)
        ]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)

    @cached_property
    def vdot(self) -> ca.SX:
        """Rates of the tree speeds as symbols."""
        entries = [
            self.etadot[self.independent[k]] if k in self.independent else self._all_vdot[k]
            for k in range(self.kin.num_speeds)
        ]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)

    @cached_property
    def free(self) -> Kinematics:
        """The kinematics with the tree speeds as symbols."""
        return replace(self.kin, v=self.v)

    def at_v(self, expression: ca.SX) -> ca.SX:
        """An expression of the tree speeds, in the symbols of `v`."""
        return ca.substitute([expression], [self.kin.symbols.v], [self.v])[0]

    @cached_property
    def entries(self) -> list[Entry]:
        """Legend entries of all columns that are written in, in their order."""
        n = self.notation

        def rates(entries: list[Entry]) -> list[Entry]:
            return [replace(e, glyph=e.glyph.rate) for e in entries]

        state = [*n.coordinates, *n.speeds, *n.independent_speeds, *n.costates, *n.force_states]
        state += [*rates(n.independent_speeds), *rates(n.speeds), *n.multipliers]
        inputs = [*n.inputs, *n.speed_inputs, *rates(n.speed_inputs)]
        return [n.time, *state, *inputs, *n.parameters]

    @cached_property
    def columns(self) -> list[ca.SX]:
        """t, everything that moves, inputs and parameters."""
        s = self.kin.symbols
        state = [s.q, s.v, self.kin.eta, self.mu, s.z, self.etadot, self._all_vdot, self.lam]
        return [s.t, ca.vertcat(*state), ca.vertcat(s.u, s.w, s.wdot), s.params]

    def is_zero(self, expression: ca.SX, beside: ca.SX | None = None) -> bool:
        """Whether an expression is zero at all test states; `beside` what its rounding is of."""
        scale = ca.SX(0, 1) if beside is None else ca.vec(beside)
        f = ca.Function("f", self.columns, [ca.densify(expression), ca.densify(scale)])
        edges = np.cumsum([c.shape[0] for c in self.columns])[:-1]
        for row in self.states:
            value, size = (np.array(x) for x in f.call(np.split(row, edges)))
            if np.any(np.abs(value) > 1e-12 * np.max(np.abs(size), initial=1.0)):
                return False
        return True

    @property
    def _num_moving(self) -> int:
        """Number of coordinates, speeds, costates, accelerations and multipliers."""
        return int(self.columns[1].shape[0])

    @cached_property
    def states(self) -> Array:
        """Values of all columns at random states that fulfill the equations of motion."""
        return self._states()

    @property
    def quaternions(self) -> tuple[tuple[int, int, int, int], ...]:
        """Places of the entries of unit quaternions among all columns."""
        return tuple((k + 1, k + 2, k + 3, k + 4) for k in self.kin.probe.quaternions)

    @property
    def positive(self) -> frozenset[tuple[str, int]]:
        """Entries whose sine or cosine is positive, as in `Alphabet`."""
        return frozenset(
            ("sine" if is_euler else "cosine", k + 1) for k, is_euler in self.second_angles
        )

    @cached_property
    def alphabet(self) -> Alphabet:
        """Inputs and symbols of all written expressions."""
        from noslip.show.equations.writing import Alphabet

        units = [e.unit if e.group == "parameter" else "" for e in self.entries]
        return Alphabet(
            columns=self.columns,
            symbols=[symbol(e.glyph) for e in self.entries],
            states=self.states,
            free_states=self._states(break_rows=True),
            leading=frozenset(k for k, unit in enumerate(units) if unit in _INERTIAS),
            quaternions=self.quaternions,
            positive=self.positive,
            speeds=frozenset(range(1 + self.kin.num_coordinates, 1 + self._num_moving)),
            coordinates=frozenset(k for k, e in enumerate(self.entries) if e.group == "coordinate")
            - frozenset(k for q in self.quaternions for k in q),
            letter=self.notation.letter("z"),
        )

    @cached_property
    def arrange(self) -> Arranger:
        """Order of factors: parameters, then coordinates, speeds, inputs, rates."""
        from noslip.show.equations.writing import Arranger

        order = ["parameter", "time", "coordinate", "costate", "force state", "tree speed"]
        order += ["independent speed", "speed input", "force input", "multiplier"]
        ranks: dict[sympy.Symbol, tuple[int, int]] = {}
        for k, entry in enumerate(self.entries):
            group = order.index(entry.group)
            place = 0 if group == 0 else 3 if group < 5 else 4 if group < 8 else 6
            # masses and inertias stand first, other parameters by their names
            rank = (place, k if place else int(entry.unit not in _INERTIAS))
            ranks.setdefault(symbol(entry.glyph), rank)
        for k, entry in enumerate([*self.notation.independent_speeds, *self.notation.speeds]):
            ranks[symbol(entry.glyph.rate)] = (7, k)
        glyphs = {symbol(e.glyph): e.glyph for e in self.entries}
        glyphs |= {symbol(e.glyph.rate): e.glyph.rate for e in self.notation.coordinates}
        return Arranger(glyphs, ranks)

    @cached_property
    def multipliers(self) -> ca.SX:
        """λ of the independent rows in η̇: Kᵀ [y; 0] = M v̇ + c − Q − B u, λ = Pᵀ y."""
        f, num = self.simplest.generalized_reactions, len(self.kin.row_basis)
        f = ca.substitute([f], [self.simplest.etadot], [self.etadot])[0]
        if self.mu.shape[0]:
            from noslip.formulations import curl_force

            f = f - curl_force(self.kin, self.mu)
        inverse, _ = block_solve(self.kin.K, ca.SX.eye(self.kin.num_speeds))
        return ca.mtimes(self.kin.P.T, ca.mtimes(inverse[:, :num].T, f))

    def _states(self, *, break_rows: bool = False) -> Array:
        """Values of all columns at random states: consistent ones, or with any tree speeds."""
        kin, e = self.kin, self.equations
        s = kin.symbols
        rng = np.random.default_rng(1991)
        given = [s.t, s.q, kin.eta, self.equations.auxiliary_states, s.u, s.w, s.wdot, s.params]
        solved = [kin.v, e.accelerations, e.speed_rates]
        solved.append(
            ca.substitute([self.multipliers], [self.etadot], [e.accelerations])[0]
            if kin.row_basis
            else ca.SX(0, 1)
        )
        motion = ca.Function("motion", given, [ca.densify(x) for x in solved])
        E = ca.Function("E", [s.q, s.params, s.v], [ca.mtimes(kin.E, s.v)])
        rows: list[Array] = []
        for t, q in self._configurations():
            draw = {k: rng.uniform(0.3, 1.5, x.shape[0]) for k, x in enumerate(given)}
            draw = {k: x * rng.choice([-1.0, 1.0], x.shape) for k, x in draw.items()}
            params = kin.probe.params * rng.uniform(0.9, 1.1, len(kin.probe.params))
            eta = draw[2]
            v, etadot, vdot, lam = (
                np.array(x).ravel()
                for x in motion(t, q, eta, draw[3], draw[4], draw[5], draw[6], params)
            )
            if break_rows:
                v = rng.normal(size=kin.num_speeds)
                eta = np.array(E(q, params, v)).ravel()
            moving = [np.array([t]), q, v, eta, draw[3], etadot, vdot, lam]
            rows.append(np.concatenate([*moving, draw[4], draw[5], draw[6], params]))
        return np.array(rows).reshape(-1, sum(c.shape[0] for c in self.columns))

    @cached_property
    def second_angles(self) -> list[tuple[int, bool]]:
        """Places of second angles among the coordinates, and whether they lie in (0, π).

        Those of sequences such as zxz do; others lie in (−π/2, π/2). The other angles are defined
        only there.
        """
        if self.printed.coordinates != ANGLES:
            return []
        places = {c.name: k for k, c in enumerate(self.kin.coordinates)}
        found = []
        for joint in angle_joints(self.printed.model):
            angles = joint.type.named_angles()
            assert angles is not None, "these joints have angles"
            is_euler = angles.sequence[0] == angles.sequence[2]
            found.append((places[f"{joint.name}.{angles.names[1]}"], is_euler))
        return found

    def _configurations(self) -> list[tuple[float, Array]]:
        """Generic configurations, those farthest from where something degenerates."""
        kin = self.kin
        found = [
            (t, q)
            for t, q in kin.probe.configurations(3 * NUM_STATES)
            if all((np.sin if s else np.cos)(q[k]) > 0 for k, s in self.second_angles)
        ]
        if not kin.singularity_measures:
            return found[:NUM_STATES]
        symbols = kin.symbols
        health = ca.Function(
            "health",
            [symbols.t, symbols.q, symbols.params],
            [ca.vertcat(*[h.value for h in kin.singularity_measures])],
        )
        values = [float(np.min(np.abs(health(t, q, kin.probe.params).full()))) for t, q in found]
        best = sorted(range(len(found)), key=lambda k: -values[k])[:NUM_STATES]
        return [found[k] for k in sorted(best)]
