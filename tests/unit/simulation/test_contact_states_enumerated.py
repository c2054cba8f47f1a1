"""Contact states, accelerations and impacts of random mechanisms against an enumeration.

Mass matrix, forces and rows are those of the tests' own Newton–Euler oracle. Every set of states is
tried by the laws as they are written: Signorini's conditions and Coulomb's cone.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from newton_euler import NewtonEuler
from scipy.optimize import root

import noslip as ns
from noslip.simulation.contacts.automaton import Automaton, State, Stuck, strike
from noslip.simulation.contacts.states import ContactMechanism

#: Of conditions and of answers, relative to what is largest: rounding of matrices of ten rows.
ROUNDING, SAME = 1e-9, 1e-7


def chain(rng, count):
    """Balls on a plane that ball joints link: no force along the ground is redundant."""
    b = ns.ModelBuilder(name="chain", gravity=(0, 0, -9.81))
    for k in range(count):
        m, r = rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.3)
        name, size = f"b{k}", m * rng.uniform(0.2, 0.5, 3)
        size[2] = min(size[2], 0.9 * (size[0] + size[1]))
        size[0] = min(size[0], 0.9 * (size[1] + size[2]))
        size[1] = min(size[1], 0.9 * (size[0] + size[2]))
        off = tuple(rng.uniform(-0.05, 0.05, 3))
        b.body(name, mass=m, inertia=tuple(size), center_of_mass=off)
        if k:
            here = ns.Placement(position=tuple(rng.uniform(0.3, 0.6, 3) * [1, 1, 0.2]))
            there = ns.Placement(position=tuple(-rng.uniform(0.3, 0.6, 3) * [1, 1, 0.2]))
            joint = ns.joints.Spherical()
            b.joint(
                name, joint, parent=f"b{k - 1}", child=name, parent_frame=here, child_frame=there
            )
        else:
            b.joint(name, ns.joints.Free(), parent="world", child=name)
        law = {"friction": rng.uniform(0.05, 0.8), "restitution": rng.uniform(0, 0.5)}
        b.contact(
            ns.contacts.Rolling(name=f"c{k}", body=name, wheel=ns.surfaces.Ball(radius=r), **law)
        )
    return b.build()


class Laws:
    """Numbers of a state by the oracle: M, forces, rows of contacts and their rates."""

    def __init__(self, model, oracle, t, q, v, params):
        zero = np.zeros(0)
        given = (t, q, v, zero, zero, zero, params)
        M, c, Q, _, _, A, _, rate = (np.array(e) for e in oracle._function(*given))
        names = [row.name for row in ns.trace(model).rows]
        order = [
            names.index(f"{contact.name}.{part}")
            for contact in model.contacts
            for part in ("normal", "longitudinal", "lateral")
        ]
        self.M, self.free = M, np.linalg.solve(M, (Q - c).ravel())
        self.J, self.rate = A[order], rate.ravel()[order]
        self.G = self.J @ np.linalg.solve(M, self.J.T)

    def consistent(self, w0, slip, mu):
        """All x that obey the laws, w = G x + w0; slip: known direction of each, or None."""
        options = [("slides", "off") if s is not None else ("rolls", "slides", "off") for s in slip]
        found, count = [], len(mu)
        scale = max(1.0, np.abs(w0).max())
        for states in itertools.product(*options):
            begins = [k for k, s in enumerate(states) if s == "slides" and slip[k] is None]
            guesses = itertools.product(np.linspace(0, 2 * np.pi, 7)[:-1], repeat=len(begins))
            for guess in guesses if begins else [()]:
                x = self._solved(w0, states, slip, mu, begins, guess)
                if x is None:
                    continue
                w = (self.G @ x + w0).reshape(-1, 3)
                X = x.reshape(-1, 3)
                ok = True
                for k, s in enumerate(states):
                    N, F = X[k, 0], X[k, 1:]
                    tiny = ROUNDING * max(1.0, np.abs(x).max())
                    if s == "off":
                        ok &= w[k, 0] >= -ROUNDING * scale
                    else:
                        ok &= N >= -tiny and np.linalg.norm(F) <= mu[k] * N + tiny
                        if k in begins:
                            ok &= -F @ w[k, 1:] >= -ROUNDING * scale
                if ok and not any(
                    np.allclose(x, y, atol=1e-6 * max(1, np.abs(y).max())) for _, y in found
                ):
                    found.append((states, x))
        assert count == len(slip)
        return found

    def _solved(self, w0, states, slip, mu, begins, guess):
        n = len(w0)

        def forces(angles):
            E, f = np.zeros((n, n)), np.zeros(n)
            directions = dict(zip(begins, angles, strict=True))
            for k, s in enumerate(states):
                r = 3 * k
                if s == "off":
                    E[r, r] = E[r + 1, r + 1] = E[r + 2, r + 2] = 1.0
                    continue
                E[r], f[r] = self.G[r], -w0[r]
                if s == "rolls":
                    E[r + 1], f[r + 1] = self.G[r + 1], -w0[r + 1]
                    E[r + 2], f[r + 2] = self.G[r + 2], -w0[r + 2]
                else:
                    a = directions.get(k)
                    d = slip[k] if a is None else np.array([np.cos(a), np.sin(a)])
                    E[r + 1, r + 1] = E[r + 2, r + 2] = 1.0
                    E[r + 1, r], E[r + 2, r] = mu[k] * d
            return np.linalg.solve(E, f)

        def across(angles):
            x = forces(angles)
            w = (self.G @ x + w0).reshape(-1, 3)
            return [
                np.cos(a) * w[k, 2] - np.sin(a) * w[k, 1]
                for k, a in zip(begins, angles, strict=True)
            ]

        if not begins:
            return forces(())
        done = root(across, guess, tol=1e-13)
        return (
            forces(done.x) if np.abs(done.fun).max() < 1e-10 * max(1.0, np.abs(w0).max()) else None
        )


def random_states(rng, mechanism, model, count):
    """Configurations in which all balls touch, with speeds that some contacts hold."""
    kin = mechanism.rolling.kinematics
    configurations = kin.probe.configurations(count)
    values = mechanism.values(np.array([p.value for p in model.parameters]))
    for t, q in configurations:
        v = rng.normal(size=len(kin.speeds))
        zero = np.zeros(0)
        probe = mechanism.probe(t, q, v, zero, zero, values)
        rows = []
        for k in range(len(model.contacts)):
            rows += [3 * k]
            if rng.random() < 0.5:
                rows += [3 * k + 1, 3 * k + 2]
        J = probe.J[rows]
        v = v - np.linalg.lstsq(J, J @ v, rcond=None)[0]
        yield t, np.array(q), v, values


def free(states, t, q, v):
    """A state beside another one; there are no inputs."""
    return State(t, q, v, np.zeros(0), np.zeros(0))


def compared(rng, count, states, *, compiles):
    model = chain(rng, count)
    system = ns.compile(ns.derive(model))
    mechanism, oracle = ContactMechanism(system), NewtonEuler(model)
    mu = np.array([c.friction for c in model.contacts])
    e = np.array([c.restitution for c in model.contacts])
    seen, zero = [], np.zeros(0)
    for t, q, v, values in random_states(rng, mechanism, model, states):
        automaton = Automaton(mechanism, values, (1e-9, 1e-9), free)
        laws = Laws(model, oracle, t, q, v, zero)
        speeds = laws.J @ v
        slip = []
        for k in range(count):
            s = speeds[3 * k + 1 : 3 * k + 3]
            slip.append(s / np.linalg.norm(s) if np.linalg.norm(s) > 1e-9 else None)
        found = laws.consistent(laws.J @ laws.free + laws.rate, slip, mu)
        at = State(t, q, v, zero, zero)
        try:
            chosen = automaton.begin(at, ("rolls",) * count).states
        except Stuck:
            assert len(found) != 1
            continue
        same = [x for s, x in found if s == chosen]
        assert same, (chosen, [s for s, _ in found])
        seen.append(chosen)
        if compiles:
            here = mechanism.system(chosen)
            kin = here.kinematics
            eta = kin.independent_values(np.array([t]), q[None], v[None], automaton.values)[0]
            z = np.zeros(kin.symbols.z.shape[0])
            y = np.concatenate([q, eta, z, [0.0] * here.does_work])
            moved = here.motion(t, y, zero, automaton.values)
            vdot = moved[len(v) :]
            expected = [laws.free + np.linalg.solve(laws.M, laws.J.T @ x) for x in same]
            errors = [np.abs(vdot - one).max() / max(1.0, np.abs(one).max()) for one in expected]
            assert min(errors) < SAME
        check_impact(rng, mechanism, laws, t, q, values, mu, e)
    return seen


def check_impact(rng, mechanism, laws, t, q, values, mu, e):
    """All balls fall on the plane at once."""
    zero, count = np.zeros(0), len(mu)
    v = rng.normal(size=len(laws.free))
    down = laws.J[::3]
    v = v - np.linalg.lstsq(down, down @ v + rng.uniform(0.1, 1.0, count), rcond=None)[0]
    probe = mechanism.probe(t, q, v, zero, zero, values)
    found = strike(probe, v, mechanism.contacts, list(range(count)), mu, e)
    w0 = laws.J @ v
    w0[::3] *= 1 + e
    known = laws.consistent(w0, [None] * count, mu)
    if found is None:
        assert len(known) != 1
        return
    errors = [np.abs(found.v - v - np.linalg.solve(laws.M, laws.J.T @ x)).max() for _, x in known]
    assert min(errors) < SAME
    after = (laws.J @ found.v)[::3]
    assert np.all(after >= -e * (laws.J @ v)[::3] - 1e-9)


@pytest.mark.slow
def test_states_and_accelerations_are_those_of_an_enumeration(rng):
    seen = compared(rng, 2, 12, compiles=True)
    assert len({state for states in seen for state in states}) > 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("count", "mechanisms"), [(1, 20), (2, 18), (3, 2)])
def test_states_of_a_thousand_random_states(rng, count, mechanisms):
    for _ in range(mechanisms):
        compared(rng, count, 25, compiles=False)


@pytest.mark.parametrize("count", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_formulations_agree_where_forces_depend_on_several_loads(rng, count):
    """Sliding, rolling resistance and pivoting at every contact, whose loads depend on all."""
    model, forces = chain(rng, count), []
    for c in model.contacts:
        given = {"contact": c.name, "lever": rng.uniform(0, 0.01), "smoothing": 0.1}
        mu = rng.uniform(0.05, 0.5)
        forces += [
            ns.forces.SlidingFriction(name=f"{c.name}.slide", contact=c.name, friction=mu),
            ns.forces.RollingResistance(name=f"{c.name}.roll", **given),
            ns.forces.PivotingFriction(name=f"{c.name}.pivot", **given),
        ]
    sliding = [
        dataclasses.replace(c, longitudinal=False, lateral=False, friction=None)
        for c in model.contacts
    ]
    model = dataclasses.replace(model, contacts=tuple(sliding), forces=tuple(forces))
    assert ns.verify(model).worst < 1e-11
