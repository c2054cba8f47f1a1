"""Short symbols of coordinates, speeds, inputs, parameters and multipliers.

A rule for each kind of name, so that the same model always gets the same symbols:

    what the model gives a symbol    that symbol; the rate of a coordinate has a dot
    joints      the symbols of their types; of a joint with one coordinate, with its name as index
    inputs      F for a force, τ for a torque, unless their name is a letter already
    parameters  their own names

The joint's name joins the index where two things would look alike. A letter of the method, such as
I of the inertia matrix, that the model uses for something else has a hat: Î.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from noslip import Equations, ForceInput, Model, Parameter, Quantity
from noslip.expressions import GREEK, read_symbol
from noslip.show.equations.glyphs import Glyph, glyph_of_name, glyph_of_symbol

if TYPE_CHECKING:
    import sympy


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
