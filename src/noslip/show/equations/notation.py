"""Which short symbol stands for what: coordinates, speeds, inputs, parameters, multipliers.

A rule for each kind of name, so that the same model always gets the same symbols:

    joints      the symbols of their types; of a joint with one coordinate, with its name as index
    inputs      F for a force, τ for a torque, unless their name is a letter already
    parameters  their own names

The joint's name joins the index where two things would look alike.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import sympy

from noslip.formulations.base import Equations
from noslip.model.quantities import Quantity
from noslip.show.equations.glyphs import GREEK, Glyph, glyph_of_name


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
        self._alone = {j.name for j in model.joints if len(j.type.coordinates) == 1}
        self._description = {j.name: j.description for j in model.joints}
        self._used: set[str] = set()
        self.time = Entry(self._unique(Glyph("t"), "time"), "time", "s", "time", "time")
        self.parameters = [
            Entry(self._unique(glyph_of_name(p.name), p.name), p.name, p.unit, p.description,
                  "parameter")
            for p in model.parameters
        ]  # fmt: skip
        self.inputs = [
            Entry(self._unique(_input_glyph(i.name, i.unit), i.name), i.name, i.unit,
                  i.description, "force input")
            for i in model.inputs
        ]  # fmt: skip
        units = {s.name: s.unit for s in kin.speeds}
        self.speed_inputs = [
            Entry(self._unique(glyph_of_name(i.name), i.name), i.name, units[i.speed],
                  i.description, "speed input")
            for i in model.speed_inputs
        ]  # fmt: skip
        # a symbol that is needed twice takes the joint's name along
        moving = [self._short(q) for q in (*kin.coordinates, *kin.speeds)]
        self._wanted = Counter(self._used) + Counter(g.text for g in moving)
        self.coordinates = [self._moving(c, "coordinate") for c in kin.coordinates]
        self.speeds = [self._moving(s, "tree speed") for s in kin.speeds]
        known = {entry.name: entry for entry in self.speeds}
        self.independent_speeds = [
            known.get(s.name)
            or Entry(
                self._unique(glyph_of_name(s.name), s.name),
                s.name,
                s.unit,
                "independent speed, as the model defines it",
                "independent speed",
            )
            for s in kin.independent_speeds
        ]
        rows = [kin.rows[k] for k in kin.kept]
        self.multipliers = [
            Entry(
                self._unique(Glyph("λ", str(k + 1)), f"λ{row.name}"),
                row.name,
                row.multiplier_unit,
                "constraint force of the row",
                "multiplier",
            )
            for k, row in enumerate(rows)
        ]
        self.costates = [
            Entry(
                self._unique(Glyph("μ", e.glyph.index), f"μ{e.name}"),
                f"costate.{e.name}",
                f"{e.unit}*s",
                "costate of the row",
                "costate",
            )
            for e in self.multipliers[: equations.costates.shape[0]]
        ]

    def _short(self, quantity: Quantity) -> Glyph:
        joint, _, part = quantity.name.rpartition(".")
        glyph = _glyph_of_symbol(quantity.symbol) if quantity.symbol else glyph_of_name(part)
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
            meaning += f" ({self._description[joint]})"
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
        entries += [*self.speed_inputs, *self.multipliers, *self.costates, *self.parameters]
        return list({e.glyph: e for e in entries}.values())

    def letter(self, wanted: str) -> str:
        """A letter for numbered parts that no symbol of the model begins with."""
        used = {
            e.glyph.base for e in self.legend if not e.glyph.index or e.glyph.index[0].isdigit()
        }
        return next((x for x in (wanted, *"ζκχξ") if x not in used), f"{wanted}*")


def symbol(glyph: Glyph) -> sympy.Symbol:
    """The SymPy symbol that is written as this glyph."""
    return sympy.Symbol(unicodedata.normalize("NFC", glyph.text), real=True)


def _glyph_of_symbol(symbol: str) -> Glyph:
    """``v_x`` is v with the index x, ``θ̇`` is θ with a dot."""
    base, _, index = unicodedata.normalize("NFD", symbol).partition("_")
    dots = base.count("\N{COMBINING DOT ABOVE}")
    return Glyph(base.replace("\N{COMBINING DOT ABOVE}", ""), index, dots=dots)


def _input_glyph(name: str, unit: str) -> Glyph:
    """F and τ for forces and torques that are called by a word; a letter stays itself."""
    letter = re.fullmatch(r"([A-Za-z]|" + "|".join(GREEK) + r")(\d*)(_.*)?", name)
    base = {"N": "F", "N*m": "τ"}.get(unit)
    if letter or base is None:
        return glyph_of_name(name)
    word = re.fullmatch(r"(?:force|torque|moment)_?(.*)", name)
    return Glyph(base, (word[1] if word else name).replace("_", ","))
