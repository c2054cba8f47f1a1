"""Eigenvalues in words: what grows, what decays, how fast, and what takes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi

import numpy as np

#: Real parts below this, relative to the largest eigenvalue (at least 1 1/s), are none.
NEUTRAL = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A real eigenvalue, or a pair of complex ones.

    Parameters
    ----------
    eigenvalue : 1/s; of a pair the one with a positive imaginary part.
    word : ``grows``, ``decays`` or ``stays``.
    shares : state → its part in the motion, the largest 1, in the units of the states.
    """

    eigenvalue: complex
    word: str
    shares: dict[str, float]

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
        """What it does, in words."""
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
            "eigenvalue": [self.eigenvalue.real, self.eigenvalue.imag],
            "word": self.word,
            "time_constant": None if self.word == "stays" else self.time_constant,
            "frequency": self.frequency,
            "shares": self.shares,
        }


def modes_of(
    eigenvalues: np.ndarray, vectors: np.ndarray, names: Sequence[str]
) -> tuple[Mode, ...]:
    """A mode for each real eigenvalue and each pair, in the order given.

    What rounding makes of a double zero is a pair close to it; it does not swing.
    """
    modes = []
    least = _least(eigenvalues)
    for k, found in enumerate(eigenvalues):
        value = complex(found) if abs(found) > least else complex(found.real)
        if value.imag < 0:
            continue
        sizes = np.abs(vectors[:, k])
        largest = float(np.max(sizes, initial=0.0)) or 1.0
        modes.append(
            Mode(
                eigenvalue=value,
                word=word_of(value, eigenvalues),
                shares={n: float(x) / largest for n, x in zip(names, sizes, strict=True)},
            )
        )
    return tuple(modes)


def word_of(value: complex, eigenvalues: np.ndarray) -> str:
    """``grows``, ``decays`` or ``stays``, for one of these eigenvalues."""
    if abs(value.real) <= _least(eigenvalues):
        return "stays"
    return "grows" if value.real > 0 else "decays"


def _least(eigenvalues: np.ndarray) -> float:
    """1/s; what is smaller is none."""
    return NEUTRAL * max(1.0, float(np.max(np.abs(eigenvalues), initial=0.0)))


def modes_text(modes: Sequence[Mode]) -> list[str]:
    """A line for each mode: eigenvalue, what it does, and which states take part most."""
    lines = ["  eigenvalues [1/s]"]
    for mode in modes:
        real = 0.0 if mode.word == "stays" else mode.eigenvalue.real
        value = f"{real: .9f}"
        pair = f" ± {mode.eigenvalue.imag:.9f} i" if mode.is_oscillating else ""
        main = sorted(mode.shares, key=lambda n: -mode.shares[n])
        most = ", ".join(n for n in main[:3] if mode.shares[n] > 0.1)
        lines.append(f"    {value + pair:<30} {mode.text()} ({most})")
    if any(mode.is_growing for mode in modes):
        lines.append("  unstable: a small disturbance grows")
    elif any(mode.word == "stays" for mode in modes):
        lines.append("  stable, but for neighboring steady motions: no small disturbance grows")
    else:
        lines.append("  stable: every small disturbance dies out")
    return lines
