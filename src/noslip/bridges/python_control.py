"""Systems of python-control: nonlinear, flat and linear ones, with the names of the model.

    System                 control.nlsys, or control.flatsys.FlatSystem with flat=True
    Linearization          control.ss

python-control separates a system from its signals by a point, so ``platform.x`` is ``platform_x``
there. Flat outputs are known for two kinds of mechanisms: the coordinates of one that has a force
for each of them (an arm), and the point of a planar base that cannot move sideways (a skate, a
sleigh):

    (1)  ṗ = s e(ψ),   ω = (ṗ × p̈) / s²,   ω̇ = (ṗ × p⃛) / s² − 2 ω ṡ / s,   ṡ = ṗ · p̈ / s

from which speeds, accelerations and, by inverse dynamics, the inputs follow. Its third derivative
needs s̈, which is no function of state and inputs: at the ends of a plan it is taken for zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from noslip import SimulationError, System
from noslip.base import ArgumentError, Array, require
from noslip.control import find_follower
from noslip.expressions import nominal
from noslip.results import Linearization

#: Speed along the path, m/s, below which a planar base has no heading in (1).
SLOWEST = 1e-9


def to_control(
    thing: System | Linearization,
    *,
    parameters: Mapping[str, float] | None = None,
    flat: bool = False,
    name: str = "",
) -> Any:
    """A system of python-control: nonlinear of a `System`, linear of a `Linearization`.

    States are coordinates and independent speeds, inputs those of the model; outputs are all
    coordinates and speeds, of a linear system its states and what depends on them. Points in names
    become low lines.

    Parameters
    ----------
    thing : compiled system, or what :func:`noslip.linearize` gives.
    parameters : values that differ from the nominal ones; ``params`` of python-control's functions
        change them again, all by the model's names.
    flat : whether to give a flat system, for ``control.flatsys``.
    name : name of the system; made of the model's name by default.

    Returns
    -------
    control.NonlinearIOSystem, control.flatsys.FlatSystem or control.StateSpace

    Raises
    ------
    SimulationError : flatness is asked for and not known, or the independent speeds end on the way.
    """
    if not isinstance(thing, System | Linearization):
        raise ArgumentError(
            f"to_control takes a System or a Linearization, got {type(thing).__name__}",
            "thing, argument of to_control",
            "make one by compile(derive(load('agv')))",
        )
    model = thing.model if isinstance(thing, Linearization) else thing.model.name
    where = f"python-control system of model '{model}'"
    require("control", "to_control", where)
    title = name or re.sub(r"[^A-Za-z0-9]+", "_", model).strip("_") or "model"
    if isinstance(thing, Linearization):
        return _linear(thing, title)
    functions = _ControlFunctions(thing, where)
    values = thing.parameters(parameters)
    given = {
        "inputs": signal_names(i.name for i in thing.inputs),
        "outputs": signal_names(q.name for q in (*thing.coordinates, *functions.speeds)),
        "states": signal_names(q.name for q in functions.states),
        "params": dict(zip(functions.parameter_names, values.tolist(), strict=True)),
        "name": title,
    }
    if flat:
        from control.flatsys import FlatSystem

        forward, reverse = _flatness(thing, functions, values, where)
        return FlatSystem(forward, reverse, functions.rates, functions.outputs, **given)
    from control import nlsys

    return nlsys(functions.rates, functions.outputs, **given)


def signal_names(names: Iterable[str]) -> list[str]:
    """Unique names without points."""
    result: list[str] = []
    for name in names:
        made = name.replace(".", "_")
        candidate, number = made, 2
        while candidate in result:
            candidate, number = f"{made}_{number}", number + 1
        result.append(candidate)
    return result


def _linear(linear: Linearization, name: str) -> Any:
    """(4) of `linearization.py`; dependent coordinates are further outputs."""
    from control import ss

    count, places = len(linear.states), len(linear.coordinates)
    below = np.zeros((len(linear.dependent), count))
    below[:, :places] = linear.coordinate_map
    C = np.vstack([np.eye(count), below])
    return ss(
        linear.A,
        linear.B,
        C,
        np.zeros((len(C), linear.B.shape[1])),
        states=signal_names(s.name for s in linear.states),
        inputs=signal_names(i.name for i in linear.inputs),
        outputs=signal_names(q.name for q in (*linear.states, *linear.dependent)),
        name=name,
    )


class _ControlFunctions:
    """Rates and outputs of a system, as python-control calls them."""

    def __init__(self, system: System, where: str) -> None:
        self.system, self.where = system, where
        kin = system.kinematics
        tree = {s.name for s in system.speeds}
        named = [s for s in system.independent_speeds if s.name not in tree]
        self.speeds = (*system.speeds, *named)
        self.states = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
        self.parameter_names = [p.name for p in system.model.parameters]
        chosen = [system.independent_speeds.index(s) for s in named]
        values = ca.vertcat(kin.symbols.q, kin.v, kin.eta[chosen])
        self._outputs = system.compile_expression("control outputs", values)
        self._vectors: dict[tuple[float, ...], Array] = {}

    def vector(self, params: Mapping[str, float]) -> Array:
        """Parameter vector, checked once for equal values."""
        key = tuple(float(params[name]) for name in self.parameter_names)
        if key not in self._vectors:
            given = dict(zip(self.parameter_names, key, strict=True))
            self._vectors[key] = self.system.parameters(given)
        return self._vectors[key]

    def whole(self, x: Any) -> Array:
        """The state with room for the work."""
        state = np.zeros(self.system.num_states)
        state[: len(self.states)] = x
        return state

    def rates(self, t: float, x: Any, u: Any, params: Mapping[str, float]) -> Array:
        """ẋ; an error where the independent speeds end."""
        system = self.system
        found = system.rates(t, self.whole(x), np.asarray(u, dtype=float), self.vector(params))
        for measure, value in zip(
            system.singularity_measures, found[system.num_states :], strict=True
        ):
            if not abs(value) >= measure.limit:
                raise SimulationError(
                    f"{measure.sentence}, or other independent speeds are needed",
                    f"{self.where}, t = {t:g} s",
                    "use noslip.simulate, which switches independent speeds; or stay away from "
                    "this configuration",
                )
        return found[: len(self.states)]

    def outputs(self, t: float, x: Any, u: Any, params: Mapping[str, float]) -> Array:
        """[q; v]."""
        given = np.asarray(u, dtype=float)
        return self._outputs(t, self.whole(x), given, self.vector(params))

    def inputs_for(self, x: Array, accelerations: Array, params: Array) -> Array:
        """The least forces that give these accelerations of the independent speeds."""
        system, nf = self.system, len(self.system.independent_speeds)
        nu = len(system.model.inputs)
        blocks = system.blocks(0.0, self.whole(x), np.zeros(len(system.inputs)), params)
        mass, rest = blocks[: nf * nf].reshape(nf, nf), blocks[nf * nf :]
        bias, forces, B = rest[:nf], rest[nf : 2 * nf], rest[2 * nf :].reshape(nf, nu)
        needed = mass @ accelerations + bias - forces
        return np.asarray(np.linalg.lstsq(B, needed, rcond=None)[0], dtype=float)


def _flatness(
    system: System, functions: _ControlFunctions, values: Array, where: str
) -> tuple[Any, Any]:
    """Maps from state and inputs to flat outputs with derivatives, and back."""
    num, kin = len(system.model.inputs), system.kinematics
    nf, nq = kin.num_independent_speeds, kin.num_coordinates
    fix = "plan with noslip.track, or with an optimizer: System.casadi_function"
    if num < nf or system.model.speed_inputs or system.auxiliary_states:
        raise SimulationError(
            f"flat outputs are not known: {num} force inputs for {nf} degrees of freedom",
            where,
            fix,
        )
    is_free = nq == nf and not kin.rows and [s.name for s in system.speeds] == [
        s.name for s in system.independent_speeds
    ]  # fmt: skip
    if is_free and ca.simplify(kin.N).is_constant():
        return _arm(system, functions, values)
    tree = [s.name for s in system.speeds]
    is_base = nq == 3 and nf == 2 and [c.unit for c in system.coordinates] == ["m", "m", "rad"]
    if not is_base or any(s.name not in tree for s in system.independent_speeds):
        raise SimulationError(
            "flat outputs are not known for this mechanism: it is neither an arm with a motor in "
            "each joint nor a planar base alone",
            where,
            fix,
        )
    return _base(system, functions, values)


def _arm(system: System, functions: _ControlFunctions, values: Array) -> tuple[Any, Any]:
    nq = len(system.coordinates)
    N = np.array(ca.evalf(ca.densify(system.kinematics.N)))

    def forward(x: Any, u: Any, params: Any = None) -> list[Array]:
        given = functions.vector(params) if params else values
        rates = system.rates(0.0, functions.whole(x), np.asarray(u, float), given)
        return [
            np.array([x[k], rates[k], N[k] @ rates[nq : 2 * nq]]) for k in range(nq)
        ]  # fmt: skip

    def reverse(flag: Any, params: Any = None) -> tuple[Array, Array]:
        given = functions.vector(params) if params else values
        q, qdot, qddot = (np.array([row[k] for row in flag], dtype=float) for k in range(3))
        x = np.concatenate([q, np.linalg.solve(N, qdot)])
        return x, functions.inputs_for(x, np.linalg.solve(N, qddot), given)

    return forward, reverse


def _base(system: System, functions: _ControlFunctions, values: Array) -> tuple[Any, Any]:
    found = find_follower(system, values)
    known = system.model.parameter_values(values)
    point, direction = found.frame
    px, py = (float(nominal(c, known)) for c in point[:2])
    dx, dy = (float(nominal(c, known)) for c in direction[:2])
    size = math.hypot(dx, dy)
    along, turned = np.array([dx, dy]) / size, math.atan2(dy, dx)
    chosen = [[s.name for s in system.speeds].index(s.name) for s in system.independent_speeds]

    def tree(s: float, omega: float) -> Array:
        """Tree speeds, or their rates, of speed and turning rate at the point; linear in both."""
        return np.array([s * along[0] + omega * py, s * along[1] - omega * px, omega])

    basis = np.column_stack([tree(1.0, 0.0), tree(0.0, 1.0)])[chosen]

    def forward(x: Any, u: Any, params: Any = None) -> list[Array]:
        given = functions.vector(params) if params else values
        theta = x[2]
        rates = system.rates(0.0, functions.whole(x), np.asarray(u, float), given)
        s, omega = np.linalg.solve(basis, x[3:5])
        sdot, alpha = np.linalg.solve(basis, rates[3:5])
        psi = theta + turned
        e, n = np.array([math.cos(psi), math.sin(psi)]), np.array([-math.sin(psi), math.cos(psi)])
        place = np.array([x[0], x[1]]) + _rotated(theta, px, py)
        third = -s * omega**2 * e + (2 * sdot * omega + s * alpha) * n
        flag = np.array([place, s * e, sdot * e + s * omega * n, third])
        return [flag[:, 0], flag[:, 1]]

    def reverse(flag: Any, params: Any = None) -> tuple[Array, Array]:
        given = functions.vector(params) if params else values
        place, first, second, third = (np.array([f[k] for f in flag]) for k in range(4))
        s = max(float(np.hypot(*first)), SLOWEST)
        psi = math.atan2(first[1], first[0])
        cross = first[0] * second[1] - first[1] * second[0]
        omega, sdot = cross / s**2, float(first @ second) / s
        alpha = (first[0] * third[1] - first[1] * third[0]) / s**2 - 2 * omega * sdot / s
        theta = psi - turned
        x = np.concatenate(
            [place - _rotated(theta, px, py), [theta], tree(s, omega)[chosen]]
        )  # fmt: skip
        return x, functions.inputs_for(x, tree(sdot, alpha)[chosen], given)

    return forward, reverse


def _rotated(angle: float, x: float, y: float) -> Array:
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([cos * x - sin * y, sin * x + cos * y])
