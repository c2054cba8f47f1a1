"""Runs that sensitivities and gradients are tested on, and derivatives of them by other means.

Each has a model, a start, inputs and what derivatives are taken by; those with `state` can also be
started with complex numbers, which differentiates them without a difference.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from complex_step import STEP, angular_velocity, close, integrate, quaternion

import noslip as ns

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
#: Of runs that differences are taken of.
SHARPEST = {"rtol": 1e-13, "atol": 1e-13}


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a model; `number` is what gradients are taken of, `of_state` the same in Python."""

    model: str
    by: tuple[str, ...]
    duration: float = 1.0
    start: dict[str, float] = field(default_factory=dict)
    inputs: Any = field(default_factory=dict)
    definitions: dict[str, Any] = field(default_factory=dict)
    number: str = ""
    of_state: Callable[..., complex] | None = None
    state: Callable[..., Any] | None = None  # (system, start, parameters) → [q; η], complex
    forces: Callable[..., Any] | None = None  # (time, values of inputs and definitions) → inputs
    steps: int = 100

    @property
    def arguments(self) -> dict[str, Any]:
        """What simulate, simulate_sensitivities and gradient take alike."""
        names = ("duration", "start", "inputs", "definitions")
        return {name: getattr(self, name) for name in names}

    def moved(self, system: ns.System, name: str, amount: complex) -> dict[str, Any]:
        """Arguments with one of the names moved, and parameters."""
        start, definitions = dict(self.start), dict(self.definitions)
        inputs = dict(self.inputs) if isinstance(self.inputs, dict) else self.inputs
        parameters: dict[str, Any] = {}
        table, _, place = name.partition("[")
        nominal = system.model.parameter_values()
        if name in nominal:
            parameters[name] = nominal[name] + amount
        elif name in definitions:
            definitions[name] += amount
        elif name in start:
            start[name] += amount
        elif place:
            values = inputs[table].values.copy()
            values[int(place[:-1])] += amount
            inputs[table] = dataclasses.replace(inputs[table], values=values)
        else:
            inputs[name] = inputs.get(name, 0.0) + amount
        moved = {"start": start, "inputs": inputs, "definitions": definitions}
        return {"duration": self.duration, "parameters": parameters, **moved}

    def complex_end(self, system: ns.System, name: str) -> np.ndarray:
        """[q; η] at the end with one of the names moved by an imaginary step."""
        assert self.state is not None
        at = self.moved(system, name, 1j * STEP)
        params = np.array(list({**system.model.parameter_values(), **at["parameters"]}.values()))
        x = np.zeros(system.num_states, dtype=complex)
        begin = self.state(system, at["start"], params)
        x[: len(begin)] = begin
        given = {**at["inputs"], **at["definitions"]}

        def inputs(t: float) -> Any:
            return self.forces(t, given) if self.forces else np.zeros(len(system.inputs))

        end = integrate(system, x, inputs, params, duration=self.duration, steps=self.steps)
        return end[: len(begin)]

    def differences(self, system: ns.System, name: str, samples: Any, step: float) -> np.ndarray:
        """Derivatives (n, nq + nv) at samples by fourth-order differences of simulations."""

        def run(amount: float) -> np.ndarray:
            at = self.moved(system, name, amount)
            result = ns.simulate(system, samples=samples, **at, **SHARPEST)
            return np.hstack([result.q, result.v])

        near, far = run(step) - run(-step), run(2 * step) - run(-2 * step)
        return (8 * near - far) / (12 * step)


def _plain(system: ns.System, start: dict[str, Any], params: np.ndarray) -> np.ndarray:
    """[q; η] where coordinates and independent speeds are given one by one, the others zero."""
    quantities = (*system.coordinates, *system.independent_speeds)
    return np.array([start.get(q.name, 0.0) for q in quantities], dtype=complex)


def _disk(system: ns.System, start: dict[str, Any], params: np.ndarray) -> np.ndarray:
    names = ("disk.yaw", "disk.tilt", "disk.spin")
    sequence = system.model.joints[0].type.angles.sequence
    angles = [start.get(n, 0.0) for n in names]
    rates = [start.get(f"{n}_rate", 0.0) for n in names]
    q = [0.0, 0.0, 0.3, *quaternion(angles, sequence)]
    q = close(system, q, [2], params)
    return np.concatenate([q, angular_velocity(angles, rates, sequence)])


def _linkage(system: ns.System, start: dict[str, Any], params: np.ndarray) -> np.ndarray:
    real = {name: value.real for name, value in start.items()}
    q = ns.complete_start(system, real, parameters=params.real).q.astype(complex)
    q[0] = start["crank.angle"]
    return np.array([*close(system, q, [1, 2], params), start["crank.rate"]])


def _chain(system: ns.System, start: dict[str, Any], params: np.ndarray) -> np.ndarray:
    angles = [start["shoulder.yaw"], start["shoulder.pitch"], 0.0]
    speeds = [start.get(s.name, 0.0) for s in system.independent_speeds]
    return np.array([*quaternion(angles, "zyx"), start["elbow.angle"], *speeds])


RUNS = {
    "pendulum": Run(
        model="pendulum",
        by=("m", "l", "g", "swing.angle", "swing.rate", "torque"),
        start={"swing.angle": 0.5, "swing.rate": 2.0},
        inputs={"torque": 0.3},
        number="swing.angle**2 + m*swing.rate",
        of_state=lambda x, p: x["swing.angle"] ** 2 + p["m"] * x["swing.rate"],
        state=_plain,
        forces=lambda t, given: [given["torque"]],
        duration=0.5,
        steps=200,
    ),
    "rolling disk": Run(
        model="rolling-disk",
        by=("m", "r", "disk.tilt", "disk.yaw_rate", "disk.spin_rate"),
        start={
            "disk.tilt": 1.1,
            "disk.yaw_rate": 0.5,
            "disk.spin_rate": -4.0,
            "disk.tilt_rate": 0.2,
        },
        number="disk.x*disk.y + disk.z",
        of_state=lambda x, p: x["disk.x"] * x["disk.y"] + x["disk.z"],
        state=_disk,
    ),
    "vehicle": Run(
        model="agv",
        by=("m_platform", "r", "wheel1.rate", "bracket.angle", "torque2", "amplitude"),
        start={"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4},
        inputs={"torque1": "amplitude*sin(t)", "torque2": -0.01},
        definitions={"amplitude": 0.02},
        number="platform.x**2 + wheel1.rate",
        of_state=lambda x, p: x["platform.x"] ** 2 + x["wheel1.rate"],
        state=_plain,
        forces=lambda t, given: [given["amplitude"] * np.sin(t), given["torque2"]],
        steps=60,
    ),
    "linkage": Run(
        model="four-bar",
        by=("a", "b", "crank.angle", "crank.rate", "drive"),
        start={"crank.angle": 0.4, "crank.rate": 2.0},
        inputs={"drive": 0.5},
        number="rocker.angle*crank.rate",
        of_state=lambda x, p: x["rocker.angle"] * x["crank.rate"],
        state=_linkage,
        forces=lambda t, given: [given["drive"]],
    ),
    "trailer": Run(
        model="tractor-trailer",
        by=("l1", "c", "m2", "tractor.vx", "hinge.angle", "F_u1", "swing"),
        start={"tractor.vx": 3.0, "steer.angle": 0.1, "hinge.angle": 0.3},
        inputs={"steering_rate": "swing*cos(2*t)", "F_u1": 500.0},
        definitions={"swing": 0.2},
        number="tractor.x*tractor.y + hinge.angle",
        of_state=lambda x, p: x["tractor.x"] * x["tractor.y"] + x["hinge.angle"],
        state=_plain,
        forces=lambda t, given: [
            *(given["F_u1"], 0.0, 0.0),
            *(given["swing"] * np.cos(2 * t), -2 * given["swing"] * np.sin(2 * t)),
        ],
        steps=60,
    ),
    "springs": Run(
        model="spring-chain",
        by=("k", "shoulder.yaw", "shoulder.pitch", "elbow.angle", "shoulder.wx"),
        start={
            "shoulder.yaw": 0.2,
            "shoulder.pitch": 0.3,
            "elbow.angle": 0.3,
            "shoulder.wx": 0.4,
        },
        number="elbow.angle*shoulder.wx",
        of_state=lambda x, p: x["elbow.angle"] * x["shoulder.wx"],
        state=_chain,
        duration=0.25,
        steps=40,
    ),
    "sleigh that changes its speeds": Run(
        model="sleigh-on-slides",
        by=("m", "J", "a", "heading.rate", "x.speed"),
        start={"x.speed": 0.8, "heading.rate": 4.0},
        number="x.position + y.position*heading.angle",
        duration=3.0,
    ),
    "bicycle": Run(
        model="whipple-bicycle",
        by=("c", "frame.lean"),
        start={"frame.lean": 0.1, "steer.angle": 0.05, "speed": 4.6},
        number="frame.x + 3*frame.y + frame.lean",
    ),
    "moving ground": Run(
        model="ball-on-turntable",
        by=("r", "ball.x"),
        start={"ball.x": 0.2, "ball.wx": 0.3},
        number="ball.x*ball.y",
    ),
}

_TIMES = np.linspace(0.0, 1.0, 5)
for _kind in ("hold", "linear", "cubic"):
    RUNS[f"vehicle with {_kind} table"] = Run(
        model="agv",
        by=("torque1", "m_platform"),
        start={"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4},
        inputs={
            "torque1": ns.Table(times=_TIMES, values=0.02 * np.sin(3 * _TIMES), kind=_kind),
            "torque2": -0.01,
        },
        number="platform.x + 0.3*platform.y + torque1*wheel1.rate",
    )
for _kind in ("linear", "cubic"):
    RUNS[f"trailer with {_kind} table"] = Run(
        model="tractor-trailer",
        by=("steering_rate", "l1", "tractor.vx"),
        start={"tractor.vx": 3.0, "steer.angle": 0.1, "hinge.angle": 0.3},
        inputs={"steering_rate": ns.Table(times=_TIMES, values=np.cos(_TIMES), kind=_kind)},
        number="tractor.x*tractor.y + hinge.angle",
    )

#: Those that can be run on complex numbers.
COMPLEX = tuple(name for name, run in RUNS.items() if run.state is not None)
