"""Contact states at random states of random mechanisms, against trying all of them in NumPy.

A body carries two others on ball joints, each stands on a ball; masses, inertias, places and
friction are parameters, so that any number of such mechanisms is compiled once. The oracle has
Newton's and Euler's equations of its own, in the tree speeds of this tree, and tries all sets of
contact states with Signorini's and Coulomb's conditions.
"""

import itertools

import numpy as np
import pytest
import scipy.optimize
from scipy.spatial.transform import Rotation

import noslip as ns
from noslip.base import SimulationError

BODIES, RADIUS, GRAVITY = 3, 0.1, np.array([0.0, 0.0, -9.81])
#: Relative size of what is rounding, of two ways through 12 speeds; and of what a set of states may
#: violate, in which directions of slip are found by iteration.
ROUNDING, VIOLATED = 1e-8, 1e-7
OFF, SLIDES, ROLLS = 0, 1, 2


def mechanism():
    """Three bodies with all of their numbers as parameters."""
    b, rng = ns.ModelBuilder(name="three-feet", gravity=tuple(GRAVITY)), np.random.default_rng(0)
    triples = {"m": "kg", "mu": "1"} | {f"{k}{x}": "m" for k in "acg" for x in "xyz"}
    triples |= {f"i{x}": "kg*m^2" for x in "xyz"}
    for k in range(BODIES):
        for name, unit in triples.items():
            b.parameter(f"{name}{k}", float(rng.uniform(0.3, 0.6)), unit, name)

        def three(letter, k=k):
            return tuple(f"{letter}{x}{k}" for x in "xyz")

        center = {"mass": f"m{k}", "inertia": three("i"), "center_of_mass": three("g")}
        b.body(f"body{k}", **center)
        if k:
            place = ns.Placement(position=three("a"))
            ball = ns.joints.Spherical()
            b.joint(f"joint{k}", ball, parent="body0", child=f"body{k}", parent_frame=place)
        else:
            b.joint("joint0", ns.joints.Free(), parent="world", child="body0")
        law = {"wheel": ns.surfaces.Ball(radius=RADIUS), "center": three("c")}
        b.contact(ns.contacts.Rolling(name=f"foot{k}", body=f"body{k}", friction=f"mu{k}", **law))
    return ns.compile(ns.derive(b.build()))


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


class Drawn:
    """Random numbers, a random state in which all feet touch, and its equations.

    Tree speeds are ω and v of the first body and ω of the others against it, in their own axes.
    """

    def __init__(self, rng):
        turns = Rotation.random(BODIES, random_state=rng)
        self.R = [turns[0].as_matrix()]
        self.R += [self.R[0] @ turns[k].as_matrix() for k in range(1, BODIES)]
        self.p = np.zeros((BODIES, 3))
        self.p[0] = [*rng.normal(size=2), 0.5]
        a = rng.uniform(-0.5, 0.5, (BODIES, 3))
        g, i = rng.uniform(-0.2, 0.2, (BODIES, 3)), rng.uniform(0.05, 0.1, (BODIES, 3))
        m, self.mu = rng.uniform(0.5, 3.0, BODIES), rng.uniform(0.0, 0.8, BODIES)
        c = np.zeros((BODIES, 3))
        for k in range(BODIES):
            if k:
                self.p[k] = self.p[0] + self.R[0] @ a[k]
            foot = np.array([*(self.p[k, :2] + rng.uniform(-0.5, 0.5, 2)), RADIUS])
            c[k] = self.R[k].T @ (foot - self.p[k])
        given = {"a": a, "g": g, "i": i, "c": c}
        self.parameters = {
            f"{name}{x}{k}": float(table[k, j])
            for name, table in given.items()
            for k in range(BODIES)
            for j, x in enumerate("xyz")
        }
        for k in range(BODIES):
            self.parameters |= {f"m{k}": float(m[k]), f"mu{k}": float(self.mu[k])}
        self.place = {f"joint0.{x}": float(self.p[0, j]) for j, x in enumerate("xyz")}
        for k in range(BODIES):
            x, y, z, w = turns[k].as_quat()
            named = zip(("qw", "qx", "qy", "qz"), (w, x, y, z), strict=True)
            self.place |= {f"joint{k}.{name}": float(value) for name, value in named}
        # twists of the bodies at their origins as functions of the speeds
        n = 6 + 3 * (BODIES - 1)
        self.W, self.V = np.zeros((BODIES, 3, n)), np.zeros((BODIES, 3, n))
        self.W[:, :, :3], self.V[:, :, 3:6] = self.R[0], self.R[0]
        for k in range(1, BODIES):
            self.W[k, :, 3 + 3 * k : 6 + 3 * k] = self.R[k]
            self.V[k, :, :3] = -skew(self.R[0] @ a[k]) @ self.R[0]
        arm = [R @ x for R, x in zip(self.R, c, strict=True)]
        touch = [x - np.array([0, 0, RADIUS]) for x in arm]
        self.J = np.concatenate(
            [self.V[k] - skew(touch[k]) @ self.W[k] for k in range(BODIES)]
        ).reshape(BODIES, 3, n)[:, [2, 0, 1]]
        self.v = self._speeds(rng)
        omega, speed = self.W @ self.v, self.V @ self.v
        # accelerations at constant speeds
        alpha, rate = np.zeros((BODIES, 3)), np.zeros((BODIES, 3))
        rate[:] = np.cross(omega[0], speed[0])
        for k in range(1, BODIES):
            alpha[k] = np.cross(omega[k], omega[k] - omega[0])
            rate[k] += np.cross(omega[0], np.cross(omega[0], self.R[0] @ a[k]))
        M, h = np.zeros((n, n)), np.zeros(n)
        for k in range(BODIES):
            r = self.R[k] @ g[k]
            inertia = self.R[k] @ np.diag(i[k]) @ self.R[k].T
            at = self.V[k] - skew(r) @ self.W[k]
            here = rate[k] + np.cross(alpha[k], r) + np.cross(omega[k], np.cross(omega[k], r))
            M += m[k] * at.T @ at + self.W[k].T @ inertia @ self.W[k]
            h -= m[k] * at.T @ (here - GRAVITY)
            spin = inertia @ alpha[k] + np.cross(omega[k], inertia @ omega[k])
            h -= self.W[k].T @ spin
        gamma = np.array(
            [
                rate[k]
                + np.cross(alpha[k], touch[k])
                + np.cross(omega[k], np.cross(omega[k], arm[k]))
                for k in range(BODIES)
            ]
        )[:, [2, 0, 1]]
        J = self.J.reshape(-1, n)
        self.free, self.response = np.linalg.solve(M, h), np.linalg.solve(M, J.T)
        self.G, self.w0 = J @ self.response, J @ self.free + gamma.ravel()

    def _speeds(self, rng):
        """Speeds at which each foot is at rest, slides or goes up."""
        wanted = np.zeros((BODIES, 3))
        for k, kind in enumerate(rng.integers(0, 5, BODIES)):
            if kind == 4:
                wanted[k] = [rng.uniform(0.1, 1.0), *rng.normal(size=2)]
            elif kind >= 2:
                wanted[k, 1:] = rng.normal(size=2)
        J = self.J.reshape(3 * BODIES, -1)
        others = rng.normal(size=J.shape[1])
        v = others + np.linalg.lstsq(J, wanted.ravel() - J @ others, rcond=None)[0]
        self.wanted = wanted
        return v

    def options(self):
        """States that each foot may be in."""
        for rise, *slip in self.wanted:
            if rise > 0.0:
                yield (OFF,)
            else:
                yield (OFF, SLIDES) if np.any(slip) else (OFF, SLIDES, ROLLS)

    def breaks(self, states, vdot):
        """Violation of Signorini's and Coulomb's laws by accelerations and the forces they need.

        Nine rows act on twelve speeds: forces follow from Newton's and Euler's equations alone.
        """
        x, left, *_ = np.linalg.lstsq(self.response, vdot - self.free, rcond=None)
        w, x = (self.G @ x + self.w0).reshape(-1, 3), x.reshape(-1, 3)
        scale_x, scale_w = np.max(np.abs(x)) + 1.0, np.max(np.abs(self.w0)) + 1.0
        worst = [float(np.sqrt(left.sum())) / scale_w]
        for k, state in enumerate(states):
            slip = self.wanted[k, 1:] if self.wanted[k, 1:].any() else w[k, 1:]
            worst += [-x[k, 0] / scale_x]
            if state == OFF:
                rises = self.wanted[k, 0] > 0.0
                worst += [np.max(np.abs(x[k])) / scale_x, 0.0 if rises else -w[k, 0] / scale_w]
                continue
            worst += [abs(w[k, 0]) / scale_w, self.wanted[k, 0]]
            if state == ROLLS:
                worst += [np.hypot(*w[k, 1:]) / scale_w]
                worst += [(np.hypot(*x[k, 1:]) - self.mu[k] * x[k, 0]) / scale_x]
            else:
                size = np.hypot(*slip)
                off = x[k, 1:] * size + self.mu[k] * x[k, 0] * slip
                worst += [np.max(np.abs(off)) / scale_x / max(size, 1.0)]
        return max(worst)

    def consistent(self):
        """States, x and w of all sets that obey the laws."""
        found = []
        for states in itertools.product(*self.options()):
            begin = [
                k for k, s in enumerate(states) if s == SLIDES and not self.wanted[k, 1:].any()
            ]
            for angles in self._directions(states, begin):
                x, w = self._forces(states, begin, angles)
                if self._is_lawful(states, begin, angles, x, w):
                    found.append((states, x, w))
                    break
        return found

    def _forces(self, states, begin, angles):
        columns, rows = [], []
        for k, state in enumerate(states):
            if state == OFF:
                continue
            push = np.zeros(3 * BODIES)
            push[3 * k] = 1.0
            if state == SLIDES:
                slip = self.wanted[k, 1:]
                if k in begin:
                    slip = np.array([np.cos(a := angles[begin.index(k)]), np.sin(a)])
                push[3 * k + 1 : 3 * k + 3] = -self.mu[k] * slip / np.linalg.norm(slip)
            columns.append(push)
            rows.append(3 * k)
            if state == ROLLS:
                columns += [np.eye(3 * BODIES)[3 * k + 1], np.eye(3 * BODIES)[3 * k + 2]]
                rows += [3 * k + 1, 3 * k + 2]
        x = np.zeros(3 * BODIES)
        if rows:
            P = np.array(columns).T
            x = P @ np.linalg.solve(self.G[rows] @ P, -self.w0[rows])
        return x.reshape(-1, 3), (self.G @ x + self.w0).reshape(-1, 3)

    def _directions(self, states, begin):
        """Directions of slip along which it begins, some ways to begin the search."""
        if not begin:
            return [np.zeros(0)]

        def across(angles):
            w = self._forces(states, begin, angles)[1][begin, 1:]
            return np.cos(angles) * w[:, 1] - np.sin(angles) * w[:, 0]

        starts = [np.arctan2(*self.w0.reshape(-1, 3)[begin, :0:-1].T)]
        starts += list(np.random.default_rng(1).uniform(-np.pi, np.pi, (6, len(begin))))
        found = []
        for start in starts:
            root = scipy.optimize.root(across, start, tol=1e-13)
            if np.max(np.abs(across(root.x))) < 1e-9 * np.max(np.abs(self.w0)):
                found.append(root.x)
        return found

    def _is_lawful(self, states, begin, angles, x, w):
        scale_x, scale_w = np.max(np.abs(x)) + 1e-12, np.max(np.abs(self.w0))
        for k, state in enumerate(states):
            if self.wanted[k, 0] > 0.0:
                continue
            if state == OFF and w[k, 0] < -VIOLATED * scale_w:
                return False
            if state != OFF and x[k, 0] < -VIOLATED * scale_x:
                return False
            if state == ROLLS and np.hypot(*x[k, 1:]) > self.mu[k] * x[k, 0] + VIOLATED * scale_x:
                return False
            if k in begin:
                a = angles[begin.index(k)]
                if w[k, 1] * np.cos(a) + w[k, 2] * np.sin(a) < -VIOLATED * scale_w:
                    return False
        return True


@pytest.fixture(scope="module")
def feet():
    return mechanism()


@pytest.mark.slow
def test_states_and_accelerations_are_those_of_trying_all(feet, request):
    """Contact states, loads and v̇ at the start of a run; where it is refused, none is lawful."""
    is_long = request.config.getoption("--long")
    count = 1000 if is_long else 8  # each set of states is compiled, of 27
    names = [s.name for s in feet.speeds]
    own = [f"joint0.{x}" for x in ("wx", "wy", "wz", "vx", "vy", "vz")]
    own += [f"joint{k}.w{x}" for k in range(1, BODIES) for x in "xyz"]
    seen, missed = {}, 0
    for number in range(count):
        drawn = Drawn(np.random.default_rng([42, number]))
        found = drawn.consistent()
        start = drawn.place | dict(zip(own, drawn.v.tolist(), strict=True))
        given = {"start": start, "parameters": drawn.parameters, "contact": "coulomb"}
        try:
            run = ns.simulate(feet, duration=1e-9, samples=2, **given)
        except SimulationError as fault:
            assert not found, (number, found, str(fault))
            continue
        codes = tuple(int(run[f"foot{k}.contact"][0]) for k in range(BODIES))
        vdot = run.vdot[0, [names.index(name) for name in own]]
        seen[codes] = seen.get(codes, 0) + 1
        assert drawn.breaks(codes, vdot) < ROUNDING, (number, codes)
        matching = [x for states, x, _ in found if states == codes]
        if not matching:  # directions of slip that the search has missed: the laws were seen above
            missed += 1
            continue
        loads = [run[f"foot{k}.load"][0] for k in range(BODIES)]
        scale = np.max(np.abs(matching[0])) + 1.0
        np.testing.assert_allclose(loads, matching[0][:, 0], atol=ROUNDING * scale)
        expected = drawn.free + drawn.response @ matching[0].ravel()
        np.testing.assert_allclose(vdot, expected, atol=ROUNDING * np.max(np.abs(expected)))
    assert len(seen) > (15 if is_long else 3)
    assert missed <= 0.1 * count + 1
