"""Modes of small motions: what takes part in them, their names, and how they go on over a sweep.

With V the eigenvectors of A as columns and W = V⁻¹, the part of state s in mode m is

    (1)  p_sm = |W_ms V_sm| / Σ_s |W_ms V_sm|

its participation factor: no unit of a state and no length of a vector matters. A coordinate and its
rate count together. A mode is called as the model says (:class:`NamedMode`), where one of its names
fits, else by the coordinates that take part: "lean–steer oscillation".

Over a sweep, a mode at one value of the parameter goes on as that mode at the next which is nearest
after a straight continuation, and whose vectors agree most with its own:

    (2)  m_ij = |W_i V'_j| |W'_j V_i|

is 1 for one mode and 0 for two different ones, with a dash for the next value: the modal assurance
criterion, with left vectors in place of a mass matrix. (Above 1, where two modes are about to
become one, it says nothing, and 1/m is taken.) Costs are √|λ'_j − λ_i| (1.5 − m_ij), or none where
m leaves no doubt, and the pairing with the least sum is taken. On a line, sums of the changes
themselves are the same however two are paired that pass others on the same side; of their roots the
one is least that leaves an eigenvalue where it was, such as a zero that another one crosses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log, pi

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.model import NamedMode

Complex = NDArray[np.complex128]

#: A coordinate takes part in a mode from this participation on.
TAKES_PART = 0.2
#: Names of coordinates that say no more than the joint's own name.
PLAIN = ("angle", "position")

#: Real parts below this, relative to the largest eigenvalue (at least 1 1/s), are zero.
NEUTRAL = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A real eigenvalue, or a pair of complex ones."""

    name: str  #: name in the literature or, without one, the coordinates that take part
    eigenvalue: complex  #: 1/s; of a pair the one with a positive imaginary part
    word: str  #: behavior: ``grows``, ``decays`` or ``stays``
    #: state → its part in the motion, the largest 1, in the units of the states
    shares: dict[str, float]
    #: coordinate, with its rate, or speed → its part in the mode, of 1 in all; in no units
    participation: dict[str, float]

    @property
    def is_growing(self) -> bool:
        """Whether it makes the motion unstable."""
        return self.word == "grows"

    @property
    def is_oscillating(self) -> bool:
        """Whether it is a pair."""
        return self.eigenvalue.imag != 0.0

    @property
    def time_constant(self) -> float:
        """s in which it grows or decays by a factor e; infinite if it stays."""
        return 1.0 / abs(self.eigenvalue.real) if self.word != "stays" else float("inf")

    @property
    def frequency(self) -> float:
        """Hz; 0 if it does not swing."""
        return abs(self.eigenvalue.imag) / (2 * pi)

    def text(self) -> str:
        """Stability, time constant and frequency in words."""
        half = log(2) * self.time_constant
        parts = {
            "grows": f"unstable: doubles in {half:.4g} s",
            "decays": f"stable: halves in {half:.4g} s",
            "stays": "neutral",
        }[self.word]
        if self.is_oscillating:
            parts += f", swings at {self.frequency:.4g} Hz"
        elif self.word == "stays":
            parts += ": a neighboring steady motion"
        return parts

    def to_json(self) -> dict[str, object]:
        """Plain numbers."""
        return {
            "name": self.name,
            "eigenvalue": [self.eigenvalue.real, self.eigenvalue.imag],
            "word": self.word,
            "time_constant": None if self.word == "stays" else self.time_constant,
            "frequency": self.frequency,
            "shares": self.shares,
            "participation": self.participation,
        }


def modes_of(
    eigenvalues: Complex,
    vectors: np.ndarray,
    states: Sequence[str],
    groups: Sequence[str] = (),
    named: Sequence[NamedMode] = (),
) -> tuple[Mode, ...]:
    """A mode for each real eigenvalue and each pair, in the order given.

    What rounding makes of a double zero is a pair close to it; it does not swing.

    `eigenvalues`, `vectors`: (n,) and (n, n), of A. `states`: (n,) names. `groups`: (n,) what each
    state counts to, by :func:`state_groups`; itself by default.
    """
    least = neutral_bound(eigenvalues)
    values = [complex(e) if abs(e) > least else complex(e.real) for e in eigenvalues]
    parts = participations(vectors, groups or states)
    columns = [k for k, value in enumerate(values) if value.imag >= 0]
    names = declared_names(eigenvalues, parts, named)
    general = [
        names[k] or general_name({g: p[k] for g, p in parts.items()}, values[k].imag > 0)
        for k in columns
    ]
    modes = []
    for k, name in zip(columns, numbered(general, [names[k] for k in columns]), strict=True):
        sizes = np.abs(vectors[:, k])
        largest = float(np.max(sizes, initial=0.0)) or 1.0
        modes.append(
            Mode(
                name=name,
                eigenvalue=values[k],
                word=word_of(values[k], eigenvalues),
                shares={n: float(x) / largest for n, x in zip(states, sizes, strict=True)},
                participation={group: float(part[k]) for group, part in parts.items()},
            )
        )
    return tuple(modes)


def word_of(value: complex, eigenvalues: np.ndarray) -> str:
    """``grows``, ``decays`` or ``stays``, for one of these eigenvalues."""
    if abs(value.real) <= neutral_bound(eigenvalues):
        return "stays"
    return "grows" if value.real > 0 else "decays"


def neutral_bound(eigenvalues: np.ndarray) -> float:
    """Tolerance below which an eigenvalue counts as zero, 1/s."""
    return NEUTRAL * max(1.0, float(np.max(np.abs(eigenvalues), initial=0.0)))


def modes_text(modes: Sequence[Mode]) -> list[str]:
    """A line for each mode: eigenvalue, name, what it does, and which states take part most."""
    lines = ["  eigenvalues [1/s]"]
    wide = max((len(mode.name) for mode in modes), default=0)
    for mode in modes:
        real = 0.0 if mode.word == "stays" else mode.eigenvalue.real
        value = f"{real: .9f}"
        pair = f" ± {mode.eigenvalue.imag:.9f} i" if mode.is_oscillating else ""
        main = sorted(mode.shares, key=lambda n: -mode.shares[n])
        most = ", ".join(n for n in main[:3] if mode.shares[n] > 0.1)
        lines.append(f"    {value + pair:<30} {mode.name:<{wide}}  {mode.text()} ({most})")
    if any(mode.is_growing for mode in modes):
        lines.append("  unstable: a small disturbance grows")
    elif any(mode.word == "stays" for mode in modes):
        lines.append("  stable, but for neighboring steady motions: no small disturbance grows")
    else:
        lines.append("  stable: every small disturbance dies out")
    return lines


# who takes part


def state_groups(A: Array, coordinates: Sequence[str], states: Sequence[str]) -> tuple[str, ...]:
    """Group of each state: a coordinate with the speed that is its rate; or the state itself."""
    groups = list(states)
    for k, name in enumerate(coordinates):
        row = np.abs(A[k])
        used = np.flatnonzero(row > 1e-9 * np.max(row, initial=0.0))
        if len(used) == 1 and used[0] >= len(coordinates):
            groups[used[0]] = name
    return tuple(groups)


def participations(vectors: np.ndarray, groups: Sequence[str]) -> dict[str, Array]:
    """(1): group of states → (n,) its part in each mode."""
    if not vectors.size:
        return {}
    try:
        parts = np.abs(np.linalg.inv(vectors).T * vectors)
    except np.linalg.LinAlgError:  # two vectors are one
        parts = np.abs(vectors) ** 2
    parts = parts / np.maximum(parts.sum(axis=0), np.finfo(float).tiny)
    found = {group: np.zeros(vectors.shape[1]) for group in groups}
    for group, part in zip(groups, parts, strict=True):
        found[group] = found[group] + part
    return found


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names as people say them: ``lean`` of ``frame.lean``, ``steer`` of ``steer.angle``.

    A name that would stand for two is kept as it is.
    """
    short = {}
    for name in names:
        owner, _, last = name.rpartition(".")
        short[name] = (owner if owner and last in PLAIN else last).replace("_", " ")
    count = Counter(short.values())
    return {name: said if count[said] == 1 else name for name, said in short.items()}


# names


def declared_names(
    eigenvalues: Complex, parts: Mapping[str, Array], named: Sequence[NamedMode]
) -> np.ndarray:
    """(n,) the name that the model gives to the mode of each eigenvalue, or ``""``.

    Of several that fit a name, that which decays fastest has it. Two real eigenvalues that are left
    over belong to a mode that oscillates elsewhere: its pair has parted.
    """
    least = neutral_bound(eigenvalues)
    names = np.full(len(eigenvalues), "", dtype=object)
    turns, moves = eigenvalues.imag > least, np.abs(eigenvalues) > least
    real = moves & (np.abs(eigenvalues.imag) <= least)
    leads = np.array(list(parts))[np.argmax(list(parts.values()), axis=0)] if parts else names
    parted = []
    for mode in named:
        fits = (turns if mode.oscillates else real) & (names == "")
        if mode.coordinate:
            fits &= leads == mode.coordinate
        if fits.any():
            at = min(np.flatnonzero(fits), key=lambda k: eigenvalues[k].real)
            both = np.abs(eigenvalues - eigenvalues[at].conj()) <= least
            names[both if mode.oscillates else at] = mode.name
            names[at] = mode.name
        elif mode.oscillates:
            parted.append(mode.name)
    left = real & (names == "")
    if len(parted) == 1 and np.count_nonzero(left) == 2:
        names[left] = parted[0]
    return names


def general_name(parts: Mapping[str, float], oscillates: bool) -> str:
    """``lean–steer oscillation`` or ``steer mode``, by what takes part in it."""
    short = short_names(list(parts))
    who = [name for name, part in parts.items() if part >= TAKES_PART]
    who = who or [max(parts, key=lambda name: parts[name])] if parts else []
    word = "oscillation" if oscillates else "mode"
    return f"{'–'.join(short[name] for name in who)} {word}".strip()


def numbered(names: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Names with numbers behind those that are given twice, but for those to be kept."""
    count, seen = Counter(names), Counter[str]()
    found = []
    for name, as_it_is in zip(names, kept, strict=True):
        seen[name] += 1
        alone = count[name] == 1 or as_it_is
        found.append(name if alone else f"{name} {seen[name]}")
    return found


# over a sweep


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SweptMode:
    """A mode over the values of a sweep."""

    name: str  #: name of the mode; empty where no vectors are known
    #: (n, 1) or (n, 2) 1/s; two where it is a pair at some values
    eigenvalues: Complex = field(repr=False)
    #: coordinate or speed → its part in the mode, of 1 in all; the mean over values
    participation: dict[str, float] = field(repr=False)

    @classmethod
    def follow(
        cls,
        values: Array,
        eigenvalues: Complex,
        vectors: np.ndarray,
        groups: Sequence[str],
        named: Sequence[NamedMode] = (),
    ) -> tuple[SweptMode, ...]:
        """Modes followed over the values of a parameter, with names that most of them give.

        Parameters
        ----------
        values : (n,) rising.
        eigenvalues : (n, k) in any order.
        vectors : (n, k, k) columns for each, or empty; then modes have no names.
        groups : (k,) what each state counts to.
        named : names that the model gives.
        """
        order = followed(values, eigenvalues, vectors)
        branches = np.take_along_axis(eigenvalues, order, axis=1)
        found = paired(branches, cls.rounding(branches))
        if not vectors.size:
            return tuple(
                cls(name="", eigenvalues=branches[:, mode], participation={}) for mode in found
            )
        parts = [participations(v, groups) for v in vectors]
        votes: dict[str, Array] = {mode.name: np.zeros(len(found)) for mode in named}
        shares = [dict.fromkeys(parts[0], 0.0) for _ in found]
        for at, part in enumerate(parts):
            names = declared_names(eigenvalues[at], part, named)
            for number, mode in enumerate(found):
                columns = order[at, list(mode)]
                for name in {str(names[k]) for k in columns} - {""}:
                    votes[name][number] += 1.0
                for group, x in part.items():
                    shares[number][group] += float(np.mean(x[columns])) / len(parts)
        given = _elected(votes, len(found))
        bound = cls.rounding(branches)
        called = []
        for number, mode in enumerate(found):
            turns = bool(np.any(np.abs(branches[:, mode].imag) > bound))
            called.append(given.get(number) or general_name(shares[number], turns))
        kept = [given.get(number, "") for number in range(len(found))]
        modes = [
            cls(name=name, eigenvalues=branches[:, mode], participation=share)
            for name, mode, share in zip(numbered(called, kept), found, shares, strict=True)
        ]

        def place(mode: SweptMode) -> tuple[int, bool]:
            """Names of the model in its order, then others, and last what stays."""
            listed = list(votes).index(mode.name) if mode.name in votes else len(votes)
            return listed, not np.any(np.abs(mode.eigenvalues) > bound)

        return tuple(sorted(modes, key=place))

    @staticmethod
    def rounding(eigenvalues: Complex) -> float:
        """Size below which a part of an eigenvalue of a sweep is rounding, 1/s."""
        return NEUTRAL * float(np.max(np.abs(eigenvalues), initial=0.0))

    def words(self, values: Array, limits: Sequence[float], bound: float, unit: str = "") -> str:
        """Name and what it does, such as "weave: oscillates above ≈ 0.65 m/s, grows below …".

        Parameters
        ----------
        values : (n,) of the parameter.
        limits : values at which stability is known to change.
        bound : size below which a part of an eigenvalue is zero.
        unit : unit of the parameter.
        """
        found = behavior(values, self.eigenvalues, limits, bound, unit)
        if not self.name:
            return found
        known = "oscillates, " if self.name.endswith("oscillation") else "monotone, "
        return f"{self.name}: {found.removeprefix('monotone, ').removeprefix(known)}"


def _elected(votes: Mapping[str, Array], count: int) -> dict[int, str]:
    """Number of a mode → its name: each name at most once, with the most votes in all."""
    from scipy.optimize import linear_sum_assignment

    if not votes or not count:
        return {}
    names, table = list(votes), np.array(list(votes.values()))
    rows, columns = linear_sum_assignment(-table)
    return {
        int(column): names[row]
        for row, column in zip(rows, columns, strict=True)
        if table[row, column]
    }


def followed(values: Array, eigenvalues: Complex, vectors: np.ndarray) -> NDArray[np.intp]:
    """(n, k) places in each row of eigenvalues, with each column one branch."""
    from scipy.optimize import linear_sum_assignment

    first = eigenvalues[0]
    order = [np.lexsort((first.imag, first.real))]
    lefts = _left_vectors(vectors)
    for k in range(1, len(values)):
        last, now = eigenvalues[k - 1][order[-1]], eigenvalues[k]
        ahead = last
        if k > 1:
            before = eigenvalues[k - 2][order[-2]]
            step = (values[k] - values[k - 1]) / (values[k - 1] - values[k - 2])
            ahead = last + (last - before) * step
        # a root of a square has no straight continuation: where two met, stay with what was
        apart = np.minimum(np.abs(ahead[:, None] - now), np.abs(last[:, None] - now))
        agree = np.zeros_like(apart)
        if vectors.size and (left := lefts[k - 1]) is not None and (next_ := lefts[k]) is not None:
            there = np.abs(left @ vectors[k]) * np.abs(next_ @ vectors[k - 1]).T  # (2)
            agree = np.minimum(there, 1.0 / np.maximum(there, 1.0))[order[-1]]
        cost = np.where(_is_beyond_doubt(agree), 0.0, np.sqrt(apart) * (1.5 - agree))
        _, pairs = linear_sum_assignment(cost)
        order.append(pairs)
    return np.array(order)


def _is_beyond_doubt(agree: Array) -> np.ndarray:
    """Mask of unambiguous matches: above one half, and twice the next best match."""
    if len(agree) < 2:
        return np.zeros(agree.shape, dtype=bool)
    in_row, in_column = (np.partition(agree, -2, axis=axis) for axis in (1, 0))
    others = np.maximum(
        np.where(agree == in_row[:, -1:], in_row[:, -2:-1], in_row[:, -1:]),
        np.where(agree == in_column[-1], in_column[-2], in_column[-1]),
    )
    return (agree > 0.5) & (agree > 2 * others)


def _left_vectors(vectors: np.ndarray) -> list[np.ndarray | None]:
    """Inverses of matrices of vectors; None for those of which two are one."""
    found: list[np.ndarray | None] = []
    for v in vectors:
        try:
            found.append(np.linalg.inv(v))
        except np.linalg.LinAlgError:
            found.append(None)
    return found


def paired(branches: Complex, bound: float) -> list[list[int]]:
    """Branches in modes: alone, or two that are conjugate at the most values of the parameter."""
    count = branches.shape[1]
    paired: list[tuple[int, int, int]] = []
    for i in range(count):
        for j in range(i + 1, count):
            apart = np.abs(branches[:, i] - branches[:, j].conj())
            both = (apart <= bound) & (np.abs(branches[:, i].imag) > bound)
            if both.any():
                paired.append((-int(both.sum()), i, j))
    partner: dict[int, int] = {}
    for _, i, j in sorted(paired):
        if i not in partner and j not in partner:
            partner[i], partner[j] = j, i
    return [
        [k, partner[k]] if k in partner else [k] for k in range(count) if partner.get(k, k) >= k
    ]


def behavior(
    x: Array, branches: Complex, ends: Sequence[float], bound: float, unit: str = ""
) -> str:
    """Describe a mode, such as "oscillates above ≈ 0.65 m/s, grows below 4.29 m/s"."""
    largest = branches.real.max(axis=1)
    grows, decays = largest > bound, largest < -bound
    turns = np.abs(branches[:, 0].imag) > bound
    if not (grows.any() or decays.any() or turns.any()):
        return "neutral"
    shape = f"oscillates{_where(x, turns, (), unit)}" if turns.any() else "monotone"
    if grows.any():
        return f"{shape}, grows{_where(x, grows, ends, unit)}"
    return (
        f"{shape}, decays{_where(x, decays, ends, unit)}" if decays.any() else f"{shape}, neutral"
    )


def _where(x: Array, holds: NDArray[np.bool_], ends: Sequence[float], unit: str) -> str:
    """Describe where a condition holds; empty if it holds everywhere."""
    changes = np.flatnonzero(holds[1:] != holds[:-1])
    if not changes.size:
        return ""
    after = f" {unit}" if unit not in ("", "1") else ""

    def limit(k: int) -> str:
        known = [end for end in ends if x[k] <= end <= x[k + 1]]
        # of other limits no more is known than the two values between which they are
        return f"{known[0]:.3g}" if known else f"≈ {(x[k] + x[k + 1]) / 2:.2g}"

    if changes.size == 1:
        return f" {'below' if holds[0] else 'above'} {limit(int(changes[0]))}{after}"
    if changes.size == 2 and not holds[0]:
        return f" from {limit(int(changes[0]))} to {limit(int(changes[1]))}{after}"
    return " in part"
