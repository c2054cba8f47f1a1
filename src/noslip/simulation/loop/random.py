"""Random numbers in the loop: Philox4x32-10 in integer operations, see above."""

from __future__ import annotations

from noslip.engines import REAL, WHOLE, Flow, Value, vector_type
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.philox import BUMPS, MULTIPLIERS, ROUNDS, WORD


def draw_noise(w: LoopWriter) -> None:
    """Two uniform numbers for each channel, behind the base inputs, for the update that is due."""
    f, s = w.f, w.s
    sample = s.updates + f.widen(w.number("first_update"), f.lanes)
    run = s.index + f.widen(w.number("first_run"), f.lanes)
    seed = f.widen(w.number("seed"), f.lanes)
    key = _both(f, "and", seed, WORD), _both(f, "lshr", seed, 32)
    run_words = _both(f, "and", run, WORD), _both(f, "lshr", run, 32)
    for channel in range(w.shape.num_noise):
        counter = [_both(f, "and", sample, WORD), f.whole(channel), *run_words]
        words = philox_words(f, counter, key)
        for k in range(2):
            w.base[w.shape.num_inputs + 2 * channel + k] = uniform_number(
                f, *words[2 * k : 2 * k + 2]
            )


def philox_words(f: Flow, c: list[Value], key: tuple[Value, Value]) -> list[Value]:
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


def uniform_number(f: Flow, high: Value, low: Value) -> Value:
    """A number between 0 and 1 of 52 bits of two words."""
    whole = _both(f, "shl", high, 20) + _both(f, "lshr", low, 12)
    real = f.emit(f"uitofp {whole.typed} to {vector_type(whole.width, REAL)}", REAL, whole.width)
    return (real + 0.5) * 2.0**-52


def _both(f: Flow, operation: str, a: Value, b: Value | int) -> Value:
    """A bitwise or integer operation in every lane."""
    other = f.widen(f.of(b, WHOLE), a.width)
    return f.emit(f"{operation} {a.typed}, {other.name}", WHOLE, a.width)
