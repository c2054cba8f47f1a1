"""A model of noslip against the oracle in maximal coordinates: what differs, and by how much.

Every number is relative to the sizes that cancel in it. States are the oracle's own: poses that it
brought onto the holonomic rows, twists that it found admissible.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from maximal import CLEAR, Maximal, NotDecided, Pose

import noslip as ns
from noslip.formulations import joint_wrenches

#: Of a short motion of a mechanism of some decimetres, s; small ones move faster.
DURATION, DECIMETRES, TIMES = 0.2, 0.3, 3


class Impossible(Exception):
    """No state satisfies the rows of a model: noslip refused it, and the oracle finds none."""


@dataclass(frozen=True)
class State:
    """A state that the oracle found admissible, with inputs."""

    t: float
    x: Pose
    V: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    freedoms: int


class Comparison:
    """One model, by noslip and by the oracle.

    Parameters
    ----------
    model : checked model.
    seed : of the states; where it is odd, parameters differ from nominal by some percent.
    equations : of the model, where they are at hand.
    """

    def __init__(
        self, model: ns.Model, seed: int = 0, equations: ns.Equations | None = None
    ) -> None:
        self.model = model
        factors = 1 + 0.05 * np.sin(1 + np.arange(len(model.parameters))) * (seed % 2)
        self.parameters = {
            p.name: p.value * float(f) for p, f in zip(model.parameters, factors, strict=True)
        }
        self.values = np.array(list(self.parameters.values()), dtype=float)
        self.oracle = Maximal(model, self.parameters)
        self.rng = np.random.default_rng(seed)
        try:
            self.equations = equations or ns.derive(model)
        except ns.ModelError:
            if self.can_be():
                raise
            raise Impossible from None
        self.kinematics = self.equations.kinematics

    def can_be(self, tries: int = 60) -> bool:
        """Whether the oracle finds a state that all rows allow."""
        for _ in range(tries):
            try:
                if self._state(self.rng.uniform(0, 1)) is not None:
                    return True
            except (NotDecided, np.linalg.LinAlgError):
                continue
        return False

    # --- states -------------------------------------------------------------------------------

    def states(self, count: int, t: float | None = None) -> list[State]:
        """Admissible states, away from singular ones; fewer if they are hard to find."""
        found: list[State] = []
        for _ in range(8 * count):
            if len(found) == count:
                break
            try:
                state = self._state(self.rng.uniform(0, 1) if t is None else t)
            except (NotDecided, np.linalg.LinAlgError):
                continue
            if state is not None and self._is_told(state):
                found.append(state)
        return found

    def _state(self, t: float) -> State | None:
        oracle, rng = self.oracle, self.rng
        q = rng.uniform(-1, 1, len(oracle.names_q))
        for k, name in enumerate(oracle.names_q):
            if name.endswith(".qw"):
                q[k : k + 4] = rng.normal(size=4)
                q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
            elif name.endswith("angle"):
                q[k] *= np.pi
            elif not name.rpartition(".")[2].startswith("q"):
                q[k] *= oracle.length / DECIMETRES
        u, w, wdot = self.inputs(t)
        closed = oracle.on_rows(oracle.place(q), t, q)
        if closed is None:
            return None
        # coordinates speak for the poses, which then satisfy the joints of the tree to rounding
        q = closed[1]
        x = oracle.place(q)
        V, freedoms = oracle.admissible(x, rng.normal(size=oracle.size), t, w, q)
        return State(t, x, V, q, oracle.speeds(x) @ V, u, w, wdot, freedoms)

    def inputs(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Force inputs, speed inputs and their rates at a time."""
        k = np.arange(len(self.model.inputs))
        j = np.arange(len(self.model.speed_inputs))
        return np.sin(2 * t + k), 0.4 * np.cos(3 * t + j), -1.2 * np.sin(3 * t + j)

    @property
    def input_texts(self) -> dict[str, str]:
        """The same inputs as expressions."""
        forces = {u.name: f"sin(2*t + {k})" for k, u in enumerate(self.model.inputs)}
        speeds = {w.name: f"0.4*cos(3*t + {k})" for k, w in enumerate(self.model.speed_inputs)}
        return forces | speeds

    def _is_told(self, state: State) -> bool:
        """Whether noslip's independent speeds tell the motion here, if it has as many."""
        kin = self.kinematics
        if not kin.num_independent_speeds or kin.num_independent_speeds != state.freedoms:
            return True
        rows = self.oracle.rows(state.x, state.V, state.t, state.w, state.wdot, state.q)
        _, Z, _ = self.oracle._split(rows)
        free = self.oracle.speeds(state.x) @ (self.oracle.metres[:, None] * Z)
        q = np.concatenate([state.q, self.oracle.places(state.x)])
        E = kin.independent_rows(state.t, q, self.values)[:, : len(state.v)]
        turns = [speed.unit == "rad/s" for speed in kin.independent_speeds]
        sizes = np.where(turns, self.oracle.length, 1.0)[:, None] * (E @ free)
        sizes = np.linalg.svd(sizes, compute_uv=False)
        return bool(sizes[-1] > 10 * CLEAR * max(1.0, sizes[0]))

    def _whole(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """q with the places of contacts, and η."""
        q = np.concatenate([state.q, self.oracle.places(state.x)])
        E = self.kinematics.independent_rows(state.t, q, self.values)
        assert not np.any(E[:, len(state.v) :]), "places of contacts are never independent"
        return q, E[:, : len(state.v)] @ state.v

    # --- at a state ---------------------------------------------------------------------------

    def at_states(self, count: int = 2) -> dict[str, float]:
        """Worst differences of what holds at an instant."""
        kin, eq, s = self.kinematics, self.equations, self.kinematics.symbols
        reactions = ca.substitute([eq.generalized_reactions], [eq.etadot], [eq.accelerations])[0]
        expressions = [
            *(kin.v, eq.speed_rates, reactions, ca.mtimes(kin.A.T, eq.multipliers)),
            *(eq.kinetic_energy, eq.forces.potential_energy),
            ca.SX(kin.row_values),
        ]
        arguments = [s.t, s.q, kin.eta, s.u, s.w, s.wdot, s.params]
        function = ca.Function("f", arguments, [ca.densify(ca.SX(e)) for e in expressions])
        worst: dict[str, float] = {}
        for state in self.states(count):
            answer = self.oracle.at(
                state.x, state.V, state.t, state.u, state.w, state.wdot, state.q
            )
            freedoms = abs(answer.freedoms - kin.num_independent_speeds)
            worst["freedoms"] = max(worst.get("freedoms", 0.0), float(freedoms))
            if freedoms:
                return worst
            q, eta = self._whole(state)
            values = function(state.t, q, eta, state.u, state.w, state.wdot, self.values)
            v, vdot, forces, by_rows, K, U, left = (np.array(e).ravel() for e in values)
            num, on_places = len(state.v), [forces, by_rows]
            v, vdot, forces, by_rows = (a[:num] for a in (v, vdot, forces, by_rows))
            speed = max(1.0, float(np.max(np.abs(state.v), initial=0.0)))
            energy = max(1.0, abs(answer.kinetic_energy), abs(answer.potential_energy))
            found = {
                "speeds": _largest(v - state.v) / speed,
                "rows": _largest(left) / speed,
                "accelerations": _largest(vdot - answer.speed_rates) / answer.sizes[0],
                "reactions": _largest(forces - answer.reactions) / answer.sizes[1],
                "multipliers": _largest(by_rows - answer.reactions) / answer.sizes[1],
                "forces on places": max(_largest(a[num:]) for a in on_places) / answer.sizes[1],
                "kinetic energy": abs(K.item() - answer.kinetic_energy) / energy,
                "potential energy": abs(U.item() - answer.potential_energy) / energy,
            }
            for name, value in found.items():
                worst[name] = _worse(worst.get(name, 0.0), value)
        return worst

    def joint_forces(self, count: int = 2) -> dict[str, float]:
        """Worst differences of what joints hold, and of multipliers, where they are determined."""
        kin, eq, s = self.kinematics, self.equations, self.kinematics.symbols
        wrenches = joint_wrenches(eq)
        columns = [ca.vertcat(w.point, w.force, w.moment) for w in wrenches]
        own = [k for k, row in enumerate(kin.rows) if row.origin not in ("loop", "closest points")]
        lam = eq.multipliers[own] if own else ca.SX(0, 1)
        arguments = [s.t, s.q, kin.eta, s.u, s.w, s.wdot, s.params]
        function = ca.Function("f", arguments, [ca.densify(ca.horzcat(*columns)), ca.densify(lam)])
        by_name = {joint.name: joint for joint in self.model.joints}
        worst: dict[str, float] = {}
        for state in self.states(count):
            answer = self.oracle.at(
                state.x, state.V, state.t, state.u, state.w, state.wdot, state.q
            )
            if answer.freedoms != kin.num_independent_speeds:
                return {"freedoms": float(abs(answer.freedoms - kin.num_independent_speeds))}
            q, eta = self._whole(state)
            values = function(state.t, q, eta, state.u, state.w, state.wdot, self.values)
            found, multipliers = np.array(values[0]), np.array(values[1]).ravel()
            for k, wrench in enumerate(wrenches):
                joint = by_name[wrench.joint]
                held = self.oracle.held_part(state.x, joint, found[3:6, k], found[6:9, k])
                off = held - answer.joint_forces[wrench.joint]
                off = _largest(off[np.isfinite(off)]) / answer.force_size
                worst["joint forces"] = _worse(worst.get("joint forces", 0.0), off)
            off = multipliers - answer.multipliers
            off = _largest(off[np.isfinite(answer.multipliers)]) / answer.force_size
            worst["single multipliers"] = _worse(worst.get("single multipliers", 0.0), off)
        return worst

    # --- compiled -----------------------------------------------------------------------------

    @cached_property
    def system(self) -> ns.System:
        return ns.compile(self.equations)

    def compiled(self, count: int = 2) -> dict[str, float]:
        """Worst differences of the native functions: accelerations, energies and power."""
        system, kin = self.system, self.kinematics
        worst: dict[str, float] = {}
        for state in self.states(count):
            answer = self.oracle.at(
                state.x, state.V, state.t, state.u, state.w, state.wdot, state.q
            )
            if answer.freedoms != kin.num_independent_speeds:
                return {"freedoms": float(abs(answer.freedoms - kin.num_independent_speeds))}
            q, eta = self._whole(state)
            x = np.concatenate([q, eta, [0.0] * system.does_work])
            u = np.concatenate([state.u, state.w, state.wdot])
            p = system.parameters(self.parameters)
            motion = system.motion(state.t, x, u, p)
            rates = motion[len(motion) // 2 :][: len(state.v)]
            K, U = system.energies(state.t, x, u, p)
            work = system.rates(state.t, x, u, p)[len(x) - 1] if system.does_work else 0.0
            energy = max(1.0, abs(answer.kinetic_energy), abs(answer.potential_energy))
            found = {
                "compiled accelerations": _largest(rates - answer.speed_rates) / answer.sizes[0],
                "compiled energy": abs(K + U - answer.kinetic_energy - answer.potential_energy)
                / energy,
                "energy rate": abs(work - answer.energy_rate) / answer.power_size,
            }
            for name, value in found.items():
                worst[name] = _worse(worst.get(name, 0.0), float(value))
        return worst

    # --- whole motions ------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """Of a short motion, s."""
        return DURATION * min(1.0, math.sqrt(self.oracle.length / DECIMETRES))

    def start(self) -> tuple[State, dict[str, float]] | None:
        """A start at time zero, and what noslip is told of it."""
        states = self.states(1, t=0.0)
        if not states:
            return None
        state = states[0]
        kin = self.kinematics
        _, eta = self._whole(state)
        told = dict(zip(self.oracle.names_q, state.q.tolist(), strict=True))
        named = (speed.name for speed in kin.independent_speeds)
        return state, told | dict(zip(named, eta.tolist(), strict=True))

    def motion(self) -> dict[str, float]:
        """Worst differences of poses and speeds along a short motion."""
        started = self.start()
        if started is None:
            return {}
        state, told = started
        times = np.linspace(0.0, self.duration, TIMES)
        try:
            path = self.oracle.move(
                state.x, state.V, times, state.q, lambda t: self.inputs(float(np.real(t)))
            )
        except (NotDecided, np.linalg.LinAlgError):
            return {}
        run = self.run(told, times)
        worst = {"poses on the way": 0.0, "speeds on the way": 0.0}
        fastest = max(
            float(np.max(np.abs(self.oracle.speeds(x) @ V), initial=1.0)) for x, V, _ in path
        )
        for k, (x, V, _) in enumerate(path):
            here = self.oracle.place(run.q[k][: len(state.q)])
            moved = max(_largest(here.R - x.R), _largest(here.c - x.c) / max(1.0, _largest(x.c)))
            speeds = _largest(run.v[k][: len(state.v)] - self.oracle.speeds(x) @ V) / fastest
            worst["poses on the way"] = _worse(worst["poses on the way"], moved)
            worst["speeds on the way"] = _worse(worst["speeds on the way"], speeds)
        return worst

    def run(self, told: dict[str, float], times: np.ndarray) -> ns.Trajectory:
        """noslip's own motion."""
        return ns.simulate(
            self.system,
            duration=self.duration,
            start=told,
            inputs=self.input_texts,
            parameters=self.parameters,
            samples=times,
            rtol=1e-12,
            atol=1e-12,
        )

    def batch(self, count: int = 9) -> dict[str, float]:
        """Worst differences of a batch of starts and the same starts one by one."""
        started = self.start()
        if started is None:
            return {}
        _, told = started
        free = [s.name for s in self.kinematics.independent_speeds]
        factors = np.linspace(0.5, 1.0, count)
        starts = {
            name: value * factors if name in free else np.full(count, value)
            for name, value in told.items()
        }
        names = [*self.oracle.names_q, *self.oracle.names_v]
        batch = ns.simulate_batch(
            self.system,
            duration=self.duration,
            start=starts,
            count=count,
            inputs=self.input_texts,
            parameters=self.parameters,
            columns=names,
            rtol=1e-12,
            atol=1e-12,
        )
        assert batch.success.all(), batch.endings
        worst = 0.0
        for k in range(count):
            run = self.run(
                {name: float(v[k]) for name, v in starts.items()}, np.array([self.duration])
            )
            alone = np.concatenate([run.q[-1], run.v[-1]])
            together = np.array([batch.final[name][k] for name in names])
            size = max(1.0, _largest(alone))
            worst = _worse(worst, _largest(alone - together) / size)
        return {"batch": worst}

    def certificate(self, afresh: bool = False) -> dict[str, float]:
        """Disagreements that `verify` finds, from the traced kinematics or from the model alone."""
        traced = {} if afresh else {"kinematics": self.kinematics}
        found = ns.verify(self.model, **traced).findings
        return {f"verify: {finding.check}": finding.disagreement for finding in found}


def _largest(a: np.ndarray) -> float:
    return float(np.max(np.abs(a), initial=0.0)) if np.all(np.isfinite(a)) else np.inf


def _worse(one: float, other: float) -> float:
    return one if other <= one else other
