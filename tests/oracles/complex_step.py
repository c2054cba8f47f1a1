"""Derivatives by complex steps: a program run on complex numbers, and a Runge–Kutta method for it.

f'(x) = Im f(x + i h) / h with h so small that its square vanishes: no difference is taken, so no
digit is lost. Native code knows no complex numbers; here the list of operations is interpreted.
Operations that ask for an order compare real parts.
"""

import cmath

import numpy as np

from noslip.simulation.loop import dop853

#: Its square is below the rounding of anything.
STEP = 1e-30


def _atan2(y, x):
    real = cmath.atan(y / x).real if x.real else 0.0
    angle = np.arctan2(y.real, x.real)
    assert x.real == 0.0 or abs(np.sin(angle - real)) < 1e-12
    rate = (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
    return complex(angle, rate)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sqrt": cmath.sqrt,
    "exp": cmath.exp,
    "log": cmath.log,
    "pow": lambda a, b: a**b,
    "hypot": lambda a, b: cmath.sqrt(a * a + b * b),
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "tanh": cmath.tanh,
    "atan2": _atan2,
    "abs": lambda a: a if a.real >= 0.0 else -a,
    "sign": lambda a: complex(np.sign(a.real)),
    "min": lambda a, b: a if a.real <= b.real else b,
    "max": lambda a, b: a if a.real >= b.real else b,
    "lt": lambda a, b: complex(a.real < b.real),
    "le": lambda a, b: complex(a.real <= b.real),
    "eq": lambda a, b: complex(a.real == b.real),
    "ne": lambda a, b: complex(a.real != b.real),
    "not": lambda a: complex(a.real == 0.0),
    "and": lambda a, b: complex(bool(a.real) and bool(b.real)),
    "or": lambda a, b: complex(bool(a.real) or bool(b.real)),
    "if_else": lambda c, a, b: a if c.real != 0.0 else b,
}


def run_program(program, t, x, u, p):
    """Outputs of a program for complex inputs."""
    values = [complex(t), *map(complex, x), *map(complex, u), *map(complex, p)]
    assert len(values) == sum(program.input_sizes)
    values += map(complex, program.constants)
    for kind, operands in program.operations:
        values.append(OPERATIONS[kind](*[values[k] for k in operands]))
    return np.array([values[k] for k in program.outputs])


def integrate(system, x, inputs, p, *, duration, steps):
    """State after a time by equal steps of DOP853 on complex numbers, without any projection.

    Parameters
    ----------
    system : compiled system.
    x, p : state at the start and parameters, complex.
    inputs : function of time, complex.
    duration, steps : s, and how many.
    """
    program = system.program("rates", system.rates_expression[: system.num_states])
    x, h = np.array(x, dtype=complex), duration / steps
    for n in range(steps):
        k = np.zeros((dop853.NUM_STAGES, x.size), dtype=complex)
        for s in range(dop853.NUM_STAGES):
            t = (n + dop853.C[s]) * h
            k[s] = run_program(program, t, x + h * (dop853.A[s, :s] @ k[:s]), inputs(t), p)
        x = x + h * (dop853.B @ k)
    return x


def quaternion(angles, sequence):
    """Unit quaternion of R₁(a₁) R₂(a₂) R₃(a₃), complex angles."""
    w, *v = 1.0 + 0j, 0j, 0j, 0j
    for letter, angle in zip(sequence, angles, strict=True):
        c, s = cmath.cos(angle / 2), cmath.sin(angle / 2)
        e = np.array([letter == axis for axis in "xyz"]) * s
        w, v = w * c - np.dot(v, e), w * e + c * np.array(v) + np.cross(v, e)
    return [w, *v]


def angular_velocity(angles, rates, sequence):
    """ω in body axes for the rates of intrinsic angles, complex."""
    omega = np.zeros(3, dtype=complex)
    for letter, angle, rate in zip(sequence, angles, rates, strict=True):
        i = "xyz".index(letter)
        j, k = (i + 1) % 3, (i + 2) % 3
        c, s = cmath.cos(angle), cmath.sin(angle)
        omega[i] += rate
        omega[j], omega[k] = c * omega[j] + s * omega[k], c * omega[k] - s * omega[j]
    return omega


def close(system, q, unknown, p):
    """Coordinates with g(q) = 0, where those in `unknown` may move; complex, real ones close."""
    kin = system.kinematics
    rows = [k for k in kin.probe.holonomic if k in kin.row_basis]
    places = [kin.probe.holonomic.index(k) for k in rows]
    program = system.program("g", kin.g)
    x = np.zeros(system.num_states, dtype=complex)
    u, q = np.zeros(len(system.inputs)), np.array(q, dtype=complex)

    def g(q):
        x[: len(q)] = q
        return run_program(program, 0.0, x, u, p)[places]

    for _ in range(60):
        # a Jacobian by differences is good enough for Newton's method, not for the answer
        J = np.zeros((len(rows), len(unknown)))
        for j, k in enumerate(unknown):
            moved = q.real.copy()
            moved[k] += 1e-7
            J[:, j] = (g(moved).real - g(q.real).real) / 1e-7
        step = np.linalg.solve(J, g(q))
        q[unknown] -= step
    return q
