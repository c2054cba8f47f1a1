"""An engine target that the package does not have: closures over Python's operators and `math`."""

import math
import operator

from noslip import AbstractTarget
from noslip.engines.program import LOOKUPS

#: What `math` does not have under the name of the operation.
PLAIN = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
    "sign": lambda a: (a > 0) - (a < 0),
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "not": operator.not_,
    "and": lambda a, b: a != 0 and b != 0,
    "or": lambda a, b: a != 0 or b != 0,
    "if_else": lambda condition, a, b: a if condition != 0 else b,
    **LOOKUPS,
}


class Closures(AbstractTarget):
    """Closures over Python's operators and `math`."""

    word = "own_closures"
    purpose = "to see that a target is written in a few lines"

    def compile(self, program):
        steps = [(PLAIN.get(kind) or getattr(math, kind), of) for kind, of in program.operations]

        def function(t, x, u, p):
            values = [*map(float, (*t, *x, *u, *p)), *program.constants]
            for one, operands in steps:
                values.append(one(*[values[k] for k in operands]))
            return [float(values[k]) for k in program.outputs]

        return function
