"""Philox4x32-10, a counter-based generator of random numbers, in NumPy and in the loop.

**Philox4x32-10, a counter-based generator of random numbers [SalmonMoraesDrorShaw2011].**

Four words of 32 bits follow from a counter of four words and a key of two, by ten rounds of

    (1)  (c₀, c₁, c₂, c₃) ← (hi(M₁ c₂) ⊕ c₁ ⊕ k₀, lo(M₁ c₂), hi(M₀ c₀) ⊕ c₃ ⊕ k₁, lo(M₀ c₀))

and k ← k + W between them. There is no state: a number is known from where it is used. The key is
the seed, the counter is (sample, channel, run). The loop has the same operations in native code, so
that all targets draw the same integers; this one is for checks and for what Python draws itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from noslip.engines import ElementType, Flow, Value
from noslip.simulation.loop.writer import LoopWriter

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
BUMPS = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF


def words(counter: ArrayLike, key: ArrayLike) -> np.ndarray:
    """(…, 4) words of 32 bits by (1)."""
    c = [np.asarray(part, np.uint64) for part in np.moveaxis(np.asarray(counter), -1, 0)]
    k = [int(part) for part in np.asarray(key)]
    m, low, up = [np.uint64(x) for x in MULTIPLIERS], np.uint64(WORD), np.uint64(32)
    for _ in range(ROUNDS):
        first, second = m[0] * c[0], m[1] * c[2]
        c = [
            (second >> up) ^ c[1] ^ np.uint64(k[0]),
            second & low,
            (first >> up) ^ c[3] ^ np.uint64(k[1]),
            first & low,
        ]
        k = [(x + bump) & WORD for x, bump in zip(k, BUMPS, strict=True)]
    return np.stack(c, axis=-1)


def uniforms(seed: int, run: ArrayLike, channel: ArrayLike, sample: ArrayLike) -> np.ndarray:
    """(…, 2) numbers between 0 and 1, neither of them, of 52 bits.

    Parameters
    ----------
    seed : whole number, 64 bits of which count.
    run, channel, sample : whole numbers from 0 on.
    """
    run, channel, sample = np.broadcast_arrays(
        *(np.asarray(x, np.uint64) for x in (run, channel, sample))
    )
    low, up = np.uint64(WORD), np.uint64(32)
    counter = np.stack([sample & low, channel & low, run & low, run >> up], axis=-1)
    w = words(counter, (seed & WORD, seed >> 32 & WORD))
    high, rest = w[..., 0::2], w[..., 1::2]
    return ((high << np.uint64(20)) + (rest >> np.uint64(12)) + 0.5) * 2.0**-52


def normals(seed: int, run: ArrayLike, channel: ArrayLike, sample: ArrayLike) -> np.ndarray:
    """(…,) numbers of a normal distribution with variance 1, as `uniforms`, by Box and Muller."""
    u = uniforms(seed, run, channel, sample)
    return np.asarray(np.sqrt(-2 * np.log(u[..., 0])) * np.cos(2 * np.pi * u[..., 1]))


def draw_noise(w: LoopWriter) -> None:
    """Two uniform numbers for each channel, behind the base inputs, for the update that is due."""
    f, s = w.f, w.s
    sample = s.updates + f.widen(w.number("first_update"), f.lanes)
    run = s.index + f.widen(w.number("first_run"), f.lanes)
    seed = f.widen(w.number("seed"), f.lanes)
    for k, value in enumerate(written_uniforms(f, seed, run, sample, w.shape.num_noise)):
        w.base[w.shape.num_inputs + k] = value


def written_uniforms(
    f: Flow, seed: Value, run: Value, sample: Value, channels: int
) -> Iterator[Value]:
    """The numbers of :func:`uniforms`, two for each channel, as code writes them."""
    key = _both(f, "and", seed, WORD), _both(f, "lshr", seed, 32)
    run_words = _both(f, "and", run, WORD), _both(f, "lshr", run, 32)
    for channel in range(channels):
        counter = [_both(f, "and", sample, WORD), f.whole(channel), *run_words]
        words = _words(f, counter, key)
        yield from (_uniform(f, *words[2 * k : 2 * k + 2]) for k in range(2))


def _words(f: Flow, c: list[Value], key: tuple[Value, Value]) -> list[Value]:
    """Four words of a counter."""
    k0, k1 = key
    for number in range(ROUNDS):
        first = _both(f, "mul", c[0], MULTIPLIERS[0])
        second = _both(f, "mul", c[2], MULTIPLIERS[1])
        c = [
            _both(f, "xor", _both(f, "xor", _both(f, "lshr", second, 32), c[1]), k0),
            _both(f, "and", second, WORD),
            _both(f, "xor", _both(f, "xor", _both(f, "lshr", first, 32), c[3]), k1),
            _both(f, "and", first, WORD),
        ]
        if number < ROUNDS - 1:
            k0, k1 = (
                _both(f, "and", k + bump, WORD) for k, bump in zip((k0, k1), BUMPS, strict=True)
            )
    return c


def _uniform(f: Flow, high: Value, low: Value) -> Value:
    """A number between 0 and 1 of 52 bits of two words."""
    whole = _both(f, "shl", high, 20) + _both(f, "lshr", low, 12)
    real = f.to_real(whole)
    return (real + 0.5) * 2.0**-52


def _both(f: Flow, operation: str, a: Value, b: Value | int) -> Value:
    """A bitwise or integer operation in every lane."""
    other = f.widen(f.of(b, ElementType.WHOLE), a.width)
    return f.emit(f"{operation} {a.typed}, {other.name}", ElementType.WHOLE, a.width)
