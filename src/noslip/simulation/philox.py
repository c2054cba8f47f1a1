"""Philox4x32-10, a counter-based generator of random numbers [SalmonMoraesDrorShaw2011].

Four words of 32 bits follow from a counter of four words and a key of two, by ten rounds of

    (1)  (c₀, c₁, c₂, c₃) ← (hi(M₁ c₂) ⊕ c₁ ⊕ k₀, lo(M₁ c₂), hi(M₀ c₀) ⊕ c₃ ⊕ k₁, lo(M₀ c₀))

and k ← k + W between them. There is no state: a number is known from where it is used. The key is
the seed, the counter is (sample, channel, run). The loop has the same operations in native code, so
that all targets draw the same integers; this one is for checks and for what Python draws itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
BUMPS = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF


def words(counter: ArrayLike, key: ArrayLike) -> np.ndarray:
    """(…, 4) words of 32 bits by (1).

    Parameters
    ----------
    counter : (…, 4) words.
    key : (2,) words.
    """
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
