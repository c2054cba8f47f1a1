"""Enclosures: intervals that hold a traced value and its rate while what it depends on moves.

Every symbol has an interval of values and one of rates, in time mostly; every operation of a
:class:`Program` makes both for its result:

    (1)  [a] + [b] = [a₋ + b₋, a₊ + b₊]        (a + b)˙ = ȧ + ḃ
    (2)  [a] [b] = hull of the four products    (a b)˙ = [ȧ] [b] + [a] [ḃ]
    (3)  f([a]) from ends and extrema           f(a)˙ = f'([a]) [ȧ]

Enclosures are again traced expressions, of the ends of the symbols' intervals. They are wider than
what a value really does, the more so the wider the intervals are, but never narrower, but for
rounding. A function that jumps within its interval, has a pole there or ends its domain has an
unbounded rate: if a value has a rate of one sign, it crosses zero at most once. Values are enclosed
where they are defined; what is defined nowhere has the interval [∞, ∞].

References
----------
[Moore1966] for intervals, without equation numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from noslip.engines import Operation, Program

INF = float("inf")


class Interval(NamedTuple):
    """Ends of an interval, traced; a number is one whose ends are the same object."""

    lower: ca.SX
    upper: ca.SX

    @property
    def is_number(self) -> bool:
        """Whether it is known to be a single number."""
        return self.lower is self.upper


class Enclosure(NamedTuple):
    """Intervals of a value and of its rate; none where it does not change.

    `whole` holds two truths: whether the value is surely defined and without a pole everywhere, and
    whether it may be defined anywhere; none where both are sure.
    """

    value: Interval
    rate: Interval | None
    whole: Interval | None = None

    def bounds(self) -> ca.SX:
        """[lower, upper, least rate, largest rate], of a value with gaps as said above."""
        value, rate = self.value, self.rate or _ZERO
        if self.whole is not None:
            if not self.whole.upper.is_constant():
                value = _chosen(self.whole.upper, value, Interval(ca.SX(INF), ca.SX(INF)))
            rate = _chosen(self.whole.lower, rate, EVERYTHING)
        return ca.vertcat(*value, *rate)


def number(value: float | ca.SX) -> Interval:
    """The interval of a single number."""
    traced = ca.SX(value)
    return Interval(traced, traced)


EVERYTHING: Interval = Interval(ca.SX(-INF), ca.SX(INF))
UNKNOWN = Enclosure(EVERYTHING, EVERYTHING)
_ZERO, _ONE = number(0.0), number(1.0)
_BOTH = _ONE  # surely, and maybe


def enclose(
    program: Program, given: Sequence[Enclosure], *, goes_on: bool = False
) -> list[Enclosure]:
    """Enclosures of a program's outputs.

    Parameters
    ----------
    program : program that is enclosed.
    given : enclosures of its inputs t, x, u, p, one after the other.
    goes_on : whether atan2 is an angle that goes on after half a turn, whose rate is bounded there.
    """
    values = [*given, *(Enclosure(number(c), None) for c in program.constants)]
    for operation in program.operations:
        values.append(enclose_operation(operation, values, goes_on=goes_on))
    return [values[k] for k in program.outputs]


def enclose_operation(
    operation: Operation, values: Sequence[Enclosure], *, goes_on: bool = False
) -> Enclosure:
    """Enclosure of an operation's result, from those of all values before it."""
    kind, operands = operation
    given = [values[k] for k in operands]
    if all(each.value.is_number and each.rate is None for each in given) and kind in _PLAIN:
        return Enclosure(number(_PLAIN[kind](*(each.value.lower for each in given))), None)
    if kind == "mul" and operands[0] == operands[1]:
        found = _square(given[0])
    elif kind == "atan2":
        found = _atan2(given[0], given[1], goes_on)
    elif kind in _RULES:
        found = _RULES[kind](*given)
    else:
        return UNKNOWN
    return found._replace(whole=_whole(kind, given))


def _whole(kind: str, given: Sequence[Enclosure]) -> Interval | None:
    """Where the result of an operation is defined and without a pole, see :class:`Enclosure`."""
    if kind == "if_else":
        condition, *branches = given
        chosen, other = (branch.whole or _BOTH for branch in branches)
        if condition.whole is None and chosen is other is _BOTH:
            return None
        c = condition.value
        either = Interval(
            ca.logic_and(chosen.lower, other.lower), ca.logic_or(chosen.upper, other.upper)
        )
        branch = _chosen(c.lower > 0, chosen, _chosen(c.upper > 0, either, other))
        return _both(condition.whole, branch)
    whole = None
    for each in given:
        whole = _both(whole, each.whole)
    if kind in _DOMAINS and any(each.rate is not None for each in given):
        whole = _both(whole, _DOMAINS[kind](*given))
    return whole


def _both(a: Interval | None, b: Interval | None) -> Interval | None:
    """Truths of two that must both hold."""
    if a is None or b is None:
        return b if a is None else a
    return Interval(ca.logic_and(a.lower, b.lower), ca.logic_and(a.upper, b.upper))


# intervals


def _holds_zero(a: Interval) -> ca.SX:
    return ca.logic_and(a.lower <= 0, a.upper >= 0)


def hull(*some: Interval) -> Interval:
    """The least interval that holds some others."""
    lower, upper = some[0]
    for each in some[1:]:
        lower, upper = ca.fmin(lower, each.lower), ca.fmax(upper, each.upper)
    return Interval(lower, upper)


def _add(a: Interval, b: Interval) -> Interval:
    if a.is_number and b.is_number:
        return number(a.lower + b.lower)
    return Interval(a.lower + b.lower, a.upper + b.upper)


def _neg(a: Interval) -> Interval:
    return number(-a.lower) if a.is_number else Interval(-a.upper, -a.lower)


def _mul(a: Interval, b: Interval) -> Interval:
    if a.is_number and b.is_number:
        return number(a.lower * b.lower)
    if b.is_number:
        a, b = b, a
    if a.is_number:
        if a.lower.is_constant():
            ends = (a.lower * b.lower, a.lower * b.upper)
            return Interval(*ends) if float(a.lower) >= 0.0 else Interval(*ends[::-1])
        return hull(number(a.lower * b.lower), number(a.lower * b.upper))
    products = [number(x * y) for x in a for y in b]
    return hull(*products)


def _inverse(a: Interval) -> Interval:
    if a.is_number:
        return number(1.0 / a.lower)
    is_open = _holds_zero(a)
    return Interval(
        ca.if_else(is_open, -INF, 1.0 / a.upper), ca.if_else(is_open, INF, 1.0 / a.lower)
    )


def _div(a: Interval, b: Interval) -> Interval:
    if a.is_number and b.is_number:
        return number(a.lower / b.lower)
    return _mul(a, _inverse(b))


def _square_of(a: Interval) -> Interval:
    if a.is_number:
        return number(a.lower * a.lower)
    low, high = a.lower * a.lower, a.upper * a.upper
    return Interval(ca.if_else(_holds_zero(a), 0.0, ca.fmin(low, high)), ca.fmax(low, high))


def _rising(function: Callable[[ca.SX], ca.SX], a: Interval) -> Interval:
    """Enclosure of an increasing function."""
    if a.is_number:
        return number(function(a.lower))
    return Interval(function(a.lower), function(a.upper))


def _clipped(a: Interval, lower: float, upper: float) -> Interval:
    """Intersection of an interval with the domain of a function."""
    return _rising(lambda x: ca.fmin(ca.fmax(x, lower), upper), a)


def _sine(a: Interval, phase: float) -> Interval:
    """Enclosure of sin(a + phase), which is 1 where (a + phase − π/2) / 2π is an integer."""
    if a.is_number:
        return number(ca.sin(a.lower + phase))
    ends = hull(number(ca.sin(a.lower + phase)), number(ca.sin(a.upper + phase)))

    def holds(top: float) -> ca.SX:
        turns = [ca.floor((x + (phase - top)) / (2 * math.pi)) for x in a]
        return turns[1] > turns[0]

    return Interval(
        ca.if_else(holds(-math.pi / 2), -1.0, ends.lower),
        ca.if_else(holds(math.pi / 2), 1.0, ends.upper),
    )


def _chosen(condition: ca.SX, a: Interval, b: Interval) -> Interval:
    return Interval(
        ca.if_else(condition, a.lower, b.lower), ca.if_else(condition, a.upper, b.upper)
    )


# rates


def _sum_of_rates(a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None:
        return b if a is None else a
    return _add(a, b)


def _times(slope: Interval, rate: Interval | None) -> Interval | None:
    return None if rate is None else _mul(slope, rate)


def _jumping(value: Interval, is_steady: ca.SX) -> Enclosure:
    """Enclosure of a function that is constant between its jumps."""
    return Enclosure(value, _chosen(is_steady, _ZERO, EVERYTHING))


# rules


def _sum(a: Enclosure, b: Enclosure) -> Enclosure:
    return Enclosure(_add(a.value, b.value), _sum_of_rates(a.rate, b.rate))


def _negative(a: Enclosure) -> Enclosure:
    return Enclosure(_neg(a.value), None if a.rate is None else _neg(a.rate))


def difference(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclosure of a − b."""
    return _sum(a, _negative(b))._replace(whole=_both(a.whole, b.whole))


def between_wholes(a: Enclosure) -> Enclosure:
    """Enclosure of sin πa, which is zero where a is a whole number."""
    return _RULES["sin"](_product(Enclosure(number(math.pi), None), a))._replace(whole=a.whole)


def _product(a: Enclosure, b: Enclosure) -> Enclosure:
    rate = _sum_of_rates(_times(b.value, a.rate), _times(a.value, b.rate))
    return Enclosure(_mul(a.value, b.value), rate)


def _square(a: Enclosure) -> Enclosure:
    twice = _mul(number(2.0), a.value)
    return Enclosure(_square_of(a.value), _times(twice, a.rate))


def _quotient(a: Enclosure, b: Enclosure) -> Enclosure:
    value = _div(a.value, b.value)
    rate = a.rate
    if b.rate is not None:
        rate = _sum_of_rates(rate, _neg(_mul(value, b.rate)))
    return Enclosure(value, None if rate is None else _div(rate, b.value))


def _smooth(
    value: Callable[[Interval], Interval], slope: Callable[[Interval, Interval], Interval]
) -> Callable[[Enclosure], Enclosure]:
    """Rule (3) of a function, and of its slope from its argument and its own value."""

    def rule(a: Enclosure) -> Enclosure:
        found = value(a.value)
        return Enclosure(found, _times(slope(a.value, found), a.rate))

    return rule


def _exp(a: Interval) -> Interval:
    return _rising(ca.exp, a)


def _sqrt(a: Interval) -> Interval:
    return _rising(ca.sqrt, _clipped(a, 0.0, INF))


def _log(a: Interval) -> Interval:
    return _rising(ca.log, _clipped(a, 0.0, INF))


def _cosh(a: Interval) -> Interval:
    if a.is_number:
        return number(ca.cosh(a.lower))
    low, high = ca.cosh(a.lower), ca.cosh(a.upper)
    return Interval(ca.if_else(_holds_zero(a), 1.0, ca.fmin(low, high)), ca.fmax(low, high))


def _tan(a: Interval) -> Interval:
    if a.is_number:
        return number(ca.tan(a.lower))
    branch = [ca.floor(x / math.pi + 0.5) for x in a]
    return _chosen(
        ca.eq(branch[0], branch[1]), Interval(ca.tan(a.lower), ca.tan(a.upper)), EVERYTHING
    )


def _less_square(a: Interval) -> Interval:
    """1 − a²."""
    return _add(_ONE, _neg(_square_of(a)))


def _plus_square(a: Interval) -> Interval:
    """1 + a²."""
    return _add(_ONE, _square_of(a))


def _power(a: Enclosure, b: Enclosure) -> Enclosure:
    exponent = b.value.lower
    if b.rate is not None or not b.value.is_number:
        return _RULES["exp"](_product(b, _RULES["log"](a)))
    if exponent.is_constant() and float(exponent).is_integer() and abs(float(exponent)) <= 64:
        return _whole_power(a, int(float(exponent)))
    # of what is positive; log refuses the rest by an unbounded interval
    return _RULES["exp"](_product(b, _RULES["log"](a)))


def _whole_power(a: Enclosure, n: int) -> Enclosure:
    if n < 0:
        return _quotient(Enclosure(_ONE, None), _whole_power(a, -n))
    if n < 2:
        return a if n else Enclosure(_ONE, None)
    ends = [number(x**n) for x in a.value]
    value = hull(*ends)
    if n % 2 == 0 and not a.value.is_number:
        value = Interval(ca.if_else(_holds_zero(a.value), 0.0, value.lower), value.upper)
    slope = _mul(number(float(n)), _whole_power(Enclosure(a.value, None), n - 1).value)
    return Enclosure(value, _times(slope, a.rate))


def _atan2(y: Enclosure, x: Enclosure, goes_on: bool) -> Enclosure:
    corners = [number(ca.atan2(b, a)) for b in y.value for a in x.value]
    is_whole = ca.logic_or(x.value.lower > 0, ca.logic_or(y.value.lower > 0, y.value.upper < 0))
    value = _chosen(is_whole, hull(*corners), Interval(ca.SX(-math.pi), ca.SX(math.pi)))
    turning = _sum_of_rates(
        _times(x.value, y.rate), None if x.rate is None else _neg(_mul(y.value, x.rate))
    )
    if turning is None:
        return Enclosure(value, None)
    rate = _div(turning, _add(_square_of(x.value), _square_of(y.value)))
    return Enclosure(value, rate if goes_on else _chosen(is_whole, rate, EVERYTHING))


def _hypot(a: Enclosure, b: Enclosure) -> Enclosure:
    return _RULES["sqrt"](_sum(_square(a), _square(b)))


def _abs(a: Enclosure) -> Enclosure:
    low, high = ca.fabs(a.value.lower), ca.fabs(a.value.upper)
    lower = ca.if_else(_holds_zero(a.value), 0.0, ca.fmin(low, high))
    slope = Interval(ca.sign(a.value.lower), ca.sign(a.value.upper))
    return Enclosure(Interval(lower, ca.fmax(low, high)), _times(slope, a.rate))


def _step_function(function: Callable[[ca.SX], ca.SX]) -> Callable[[Enclosure], Enclosure]:
    """Rule of a function that jumps, and is constant in between."""

    def rule(a: Enclosure) -> Enclosure:
        value = _rising(function, a.value)
        is_steady = ca.eq(value.lower, value.upper)
        return Enclosure(value, None) if a.rate is None else _jumping(value, is_steady)

    return rule


def _least(a: Enclosure, b: Enclosure) -> Enclosure:
    value = Interval(ca.fmin(*(x.value.lower for x in (a, b))), ca.fmin(a.value[1], b.value[1]))
    if a.rate is None and b.rate is None:
        return Enclosure(value, None)
    first, second = a.rate or _ZERO, b.rate or _ZERO
    rate = _chosen(a.value.upper < b.value.lower, first, hull(first, second))
    return Enclosure(value, _chosen(b.value.upper < a.value.lower, second, rate))


def _most(a: Enclosure, b: Enclosure) -> Enclosure:
    return _negative(_least(_negative(a), _negative(b)))


def _truth(surely: ca.SX, maybe: ca.SX, *given: Enclosure) -> Enclosure:
    """Enclosure of a condition: 1, 0, or both."""
    value = Interval(surely, maybe)
    if all(each.rate is None for each in given):
        return Enclosure(value, None)
    return _jumping(value, ca.eq(surely, maybe))


def _less(a: Enclosure, b: Enclosure) -> Enclosure:
    return _truth(a.value.upper < b.value.lower, a.value.lower < b.value.upper, a, b)


def _at_most(a: Enclosure, b: Enclosure) -> Enclosure:
    return _truth(a.value.upper <= b.value.lower, a.value.lower <= b.value.upper, a, b)


def _choice(condition: Enclosure, a: Enclosure, b: Enclosure) -> Enclosure:
    c = condition.value
    value = _chosen(c.lower > 0, a.value, _chosen(c.upper > 0, hull(a.value, b.value), b.value))
    if condition.rate is None and a.rate is None and b.rate is None:
        return Enclosure(value, None)
    first, second = a.rate or _ZERO, b.rate or _ZERO
    either = _chosen(c.upper > 0, EVERYTHING, second)
    return Enclosure(value, _chosen(c.lower > 0, first, either))


# domains


def _within(lower: float, upper: float, *, is_open: bool = False) -> Callable[..., Interval]:
    """Truths of a function that is defined from one number to another."""

    def truths(a: Enclosure) -> Interval:
        low, high = a.value
        if is_open:
            maybe = ca.logic_and(high > lower, low < upper)
            return Interval(ca.logic_and(low > lower, high < upper), maybe)
        maybe = ca.logic_and(high >= lower, low <= upper)
        return Interval(ca.logic_and(low >= lower, high <= upper), maybe)

    return truths


def _denominator(a: Enclosure, b: Enclosure) -> Interval | None:
    """Truths of a quotient: poles where the denominator is zero."""
    if b.rate is None and b.value.is_number:
        return None
    return Interval(ca.logic_not(_holds_zero(b.value)), _ONE.upper)


def _one_branch(a: Enclosure) -> Interval:
    """Truths of a tangent: no pole lies between the ends."""
    return Interval(ca.eq(*(ca.floor(x / math.pi + 0.5) for x in a.value)), _ONE.upper)


def _powers(a: Enclosure, b: Enclosure) -> Interval | None:
    """Truths of a power: whole ones are defined everywhere, others of what is not negative."""
    exponent = b.value.lower
    if b.rate is None and b.value.is_number and exponent.is_constant():
        power = float(exponent)
        if power.is_integer():
            return None if power >= 0.0 else _denominator(_UNIT, a)
        if power > 0.0:
            return _within(0.0, INF)(a)
    elif a.rate is None and a.value.is_number:
        return None
    return _within(0.0, INF, is_open=True)(a)


_UNIT = Enclosure(_ONE, None)

#: Where functions are defined and without a pole: surely everywhere, and maybe anywhere.
_DOMAINS: dict[str, Callable[..., Interval | None]] = {
    "sqrt": _within(0.0, INF),
    "log": _within(0.0, INF, is_open=True),
    "asin": _within(-1.0, 1.0),
    "acos": _within(-1.0, 1.0),
    "acosh": _within(1.0, INF),
    "atanh": _within(-1.0, 1.0, is_open=True),
    "tan": _one_branch,
    "div": _denominator,
    "pow": _powers,
}

#: Functions that numbers alone go through as they are.
_PLAIN: dict[str, Callable[..., ca.SX]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": lambda a, b: a**b,
    "abs": ca.fabs,
    "min": ca.fmin,
    "max": ca.fmax,
    "atan2": ca.atan2,
    "if_else": ca.if_else,
    **{
        word: getattr(ca, word)
        for word in (
            *("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sign", "floor", "ceil"),
        )
    },
}

_RULES: dict[str, Callable[..., Enclosure]] = {
    "add": _sum,
    "sub": difference,
    "mul": _product,
    "div": _quotient,
    "neg": _negative,
    "pow": _power,
    "hypot": _hypot,
    "sqrt": _smooth(_sqrt, lambda a, f: _div(number(0.5), f)),
    "exp": _smooth(_exp, lambda a, f: f),
    "log": _smooth(_log, lambda a, f: _inverse(_clipped(a, 0.0, INF))),
    "sin": _smooth(lambda a: _sine(a, 0.0), lambda a, f: _sine(a, math.pi / 2)),
    "cos": _smooth(lambda a: _sine(a, math.pi / 2), lambda a, f: _sine(a, math.pi)),
    "tan": _smooth(_tan, lambda a, f: _plus_square(f)),
    "asin": _smooth(
        lambda a: _rising(ca.asin, _clipped(a, -1.0, 1.0)),
        lambda a, f: _inverse(_sqrt(_less_square(a))),
    ),
    "acos": _smooth(
        lambda a: _neg(_rising(lambda x: -ca.acos(x), _clipped(a, -1.0, 1.0))),
        lambda a, f: _neg(_inverse(_sqrt(_less_square(a)))),
    ),
    "atan": _smooth(lambda a: _rising(ca.atan, a), lambda a, f: _inverse(_plus_square(a))),
    "sinh": _smooth(lambda a: _rising(ca.sinh, a), lambda a, f: _cosh(a)),
    "cosh": _smooth(_cosh, lambda a, f: _rising(ca.sinh, a)),
    "tanh": _smooth(lambda a: _rising(ca.tanh, a), lambda a, f: _less_square(f)),
    "asinh": _smooth(lambda a: _rising(ca.asinh, a), lambda a, f: _inverse(_sqrt(_plus_square(a)))),
    "acosh": _smooth(
        lambda a: _rising(ca.acosh, _clipped(a, 1.0, INF)),
        lambda a, f: _inverse(_sqrt(_neg(_less_square(_clipped(a, 1.0, INF))))),
    ),
    "atanh": _smooth(
        lambda a: _rising(ca.atanh, _clipped(a, -1.0, 1.0)),
        lambda a, f: _inverse(_less_square(a)),
    ),
    "abs": _abs,
    "sign": _step_function(ca.sign),
    "floor": _step_function(ca.floor),
    "ceil": _step_function(ca.ceil),
    "min": _least,
    "max": _most,
    "lt": _less,
    "le": _at_most,
    "if_else": _choice,
}
