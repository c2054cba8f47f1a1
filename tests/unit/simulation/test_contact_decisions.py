"""Contact states, forces and impulses against their laws, and against trying all sets of states."""

import itertools

import numpy as np
import pytest

import noslip as ns
from noslip.simulation.contacts.automaton import (
    ClosedContact,
    consistent,
    decide,
    energy,
    gains,
    strike,
)
from noslip.simulation.contacts.states import Contact, ContactNumbers

#: Relative size of what is rounding in a decision.
ROUNDING = 1e-7


def random_problem(rng, count):
    """Contacts of a random mechanism: G = J M⁻¹ Jᵀ, some of them slide already."""
    J = rng.normal(size=(3 * count, 3 * count + 2))
    G, w0 = J @ J.T / 10, rng.normal(size=3 * count)
    items = []
    for _ in range(count):
        angle, mu = rng.uniform(0, 2 * np.pi), rng.uniform(0.0, 0.3)
        slides = rng.random() < 0.4
        d = np.array([np.cos(angle), np.sin(angle)]) if slides else None
        items.append(ClosedContact(mu, (0, 1), d))
    return G, w0, items


def check_laws(G, w0, items, choice):
    """Signorini's and Coulomb's conditions, written as such."""
    w = (G @ choice.x.ravel() + w0).reshape(-1, 3)
    scale_w, scale_x = np.max(np.abs(w0)), np.max(np.abs(choice.x)) + 1e-300
    for item, x, rate in zip(items, choice.x, w, strict=True):
        N, F, slip = x[0], x[1:], rate[1:]
        assert N >= -ROUNDING * scale_x
        assert rate[0] >= -ROUNDING * scale_w
        assert N * rate[0] == pytest.approx(0.0, abs=ROUNDING * scale_w * scale_x)
        assert np.linalg.norm(F) <= item.friction * N + ROUNDING * scale_x
        if item.d is not None:
            np.testing.assert_allclose(F, -item.friction * N * item.d, atol=ROUNDING * scale_x)
        elif N > ROUNDING * scale_x and np.linalg.norm(slip) > ROUNDING * scale_w:
            along = -item.friction * N * slip / np.linalg.norm(slip)
            np.testing.assert_allclose(F, along, atol=1e-5 * scale_x)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_decisions_obey_signorini_and_coulomb(rng, count):
    decided = 0
    for _ in range(40 if count < 7 else 5):
        G, w0, items = random_problem(rng, count)
        first = tuple("slides" if i.d is not None else "rolls" for i in items)
        choice = decide(G, w0, items, first).choice
        if choice is not None:
            check_laws(G, w0, items, choice)
            decided += 1
    assert decided > 0


def test_decisions_are_those_of_trying_all_states(rng):
    """Frictionless contacts have one solution, found here by hand: a linear complementarity."""
    for _ in range(60):
        G, w0, _ = random_problem(rng, 3)
        items = [ClosedContact(0.0, (), None)] * 3
        normal, free = G[::3, ::3], w0[::3]
        found = []
        for closed in itertools.product((True, False), repeat=3):
            on = np.flatnonzero(closed)
            N = np.zeros(3)
            if on.size:
                N[on] = np.linalg.solve(normal[np.ix_(on, on)], -free[on])
            if np.all(N >= 0) and np.all(normal @ N + free >= -1e-12):
                found.append(N)
        assert len(found) == 1
        choice = decide(G, w0, items, ("rolls",) * 3).choice
        np.testing.assert_allclose(choice.x[:, 0], found[0], atol=1e-10)
        assert len(consistent(G, w0, items)) == 1


def struck(rng, e):
    """A random body that strikes the ground with two points, and what that does."""
    A, J, v = rng.normal(size=(6, 6)), rng.normal(size=(6, 6)), rng.normal(size=6)
    if (J @ v)[0] > 0 or (J @ v)[3] > 0:
        return None
    zero = np.zeros(0)
    numbers = ContactNumbers(
        M=A @ A.T + np.eye(6), h=np.zeros(6), J=J, gamma=np.zeros(6), speeds=J @ v,
        A=np.zeros((0, 6)), b=zero, gaps=np.zeros(2), loads=np.zeros(2), slopes=np.zeros((2, 6)),
        carried=np.zeros((6, 2)),
    )  # fmt: skip
    contacts = tuple(Contact(name, (0, 1), True) for name in "ab")
    return numbers, v, strike(numbers, v, contacts, [0, 1], np.array([1.0, 1.0]), np.array(e))


def test_impacts_with_one_restitution_lose_energy(rng):
    """With no restitution Moreau's form never gives energy; the account is that of the speeds."""
    for _ in range(100):
        found = struck(rng, (0.0, 0.0))
        if found is None or found[2] is None:
            continue
        numbers, v, impact = found
        assert not gains(numbers, v, impact)
        assert impact.loss == pytest.approx(energy(numbers, v) - energy(numbers, impact.v))


def test_impacts_that_would_give_energy_are_seen(rng):
    """Newton's law with 0.9 at one contact and 0 at the other may give energy [Kane1984]."""
    found = [struck(rng, (0.9, 0.0)) for _ in range(400)]
    given = [x for x in found if x is not None and x[2] is not None and gains(*x)]
    assert given
    assert all(x[2].loss < 0 for x in given)


@pytest.mark.slow
def test_a_rod_that_friction_jams_is_named():
    """Painlevé's rod: no finite load from μ (3 sin θ cos θ) > 1 + 3 cos² θ on."""
    b = ns.ModelBuilder(name="rod", gravity=(0, 0, -9.81))
    b.body("rod", mass=1.0, inertia=(1 / 3, 1 / 3, 1 / 3))
    upright = ns.Placement(angles=(np.pi / 2, 0, 0))
    b.joint("rod", ns.joints.Planar(), parent="world", child="rod", parent_frame=upright)
    tip = ns.contacts.Rolling(
        name="tip",
        body="rod",
        wheel=ns.surfaces.Ball(radius=1e-9),
        center=(1.0, 0, 0),
        friction=2.0,
    )
    b.contact(tip)
    system = ns.compile(ns.derive(b.build()))
    theta = np.arctan(2.0)
    start = {"rod.angle": -theta, "rod.y": np.sin(theta), "rod.rate": 0.0, "rod.vx": 0.0}
    messages = []
    for speed in (3.0, -3.0):
        # the tip slides along the ground with the rod's own speed
        start |= {"rod.vx": speed * np.cos(theta), "rod.vy": speed * np.sin(theta)}
        try:
            run = ns.simulate(
                system, duration=0.5, start=start, contact="coulomb", on_failure="return"
            )
            messages.append(run.message)
        except ns.SimulationError as error:
            messages.append(str(error))
    assert any("Painlevé" in message for message in messages), messages
