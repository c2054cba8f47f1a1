"""noslip against maximal coordinates on random mechanisms, and on every ready model.

The oracle (`tests/oracles/maximal.py`) knows bodies, twists and constraints, and nothing of trees,
bases or reduced equations. `make test` looks at a few mechanisms of every family, `make test-all`
(`pytest --long`) at thousands. A failure names family and number: `draw(family, number)` makes the
mechanism again.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import pytest
from comparison import Comparison, Impossible
from random_mechanisms import FAMILIES, draw

import noslip as ns

#: Relative to the sizes that cancel. Two ways through up to six bodies, near no singular state.
ROUNDING = 1e-9

#: Mechanisms of a family that are looked at, in the short test and in the long one. 300 and 20 took
#: 26 minutes of CPU; the long one has 10 of the 120 that `make test-all` has on two cores.
STATES = (2, 120)
MOTIONS = (1, 8)
#: Bodies of the largest mechanism whose motion the short test looks at: it is compiled in a second.
SMALL = 2
#: Family → first number of the short test; the oracle takes 9 s for the motion of the one before.
FIRST = {"two hinges": 1}

Look = Callable[[Comparison], dict[str, float]]


@lru_cache(maxsize=100)
def drawn(family: str, number: int) -> tuple[ns.Model, ns.Equations | None]:
    """A mechanism and its equations, derived once for all tests; none where it is refused."""
    model = draw(family, number)
    try:
        return model, ns.derive(model)
    except ns.NoslipError:
        return model, None


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


def disagreements(family: str, chosen: range, count: int, *looks: Look) -> list[str]:
    """What differs by more than rounding in the first mechanisms that can be, with their numbers.

    Those that no state satisfies, or none far from a singular one, are left out.
    """
    found, seen = [], 0
    for number in chosen:
        if seen == count:
            return found
        try:
            model, equations = drawn(family, number)
            comparison = Comparison(model, seed=number, equations=equations)
            differences = {k: x for look in looks for k, x in look(comparison).items()}
        except Impossible:
            continue
        except Exception as error:
            differences = {f"{type(error).__name__}, {error},": float("nan")}
        seen += bool(differences)
        found += [
            f"{family} {number}: {name} by {value:.1e}"
            for name, value in differences.items()
            if not value <= ROUNDING
        ]
    assert seen == count, f"only {seen} of {len(chosen)} mechanisms could be compared"
    return found


def numbers(family: str, is_long: bool) -> range:
    """Numbers to take from; in the short test from the first small mechanism on, if any is."""
    if is_long:
        return range(4 * MOTIONS[1])
    drawn_from = range(FIRST.get(family, 0), 10)
    small = (number for number in drawn_from if len(draw(family, number).bodies) <= SMALL)
    first = next(small, None)
    return range(0) if first is None else range(first, first + 10)


@pytest.mark.parametrize("family", FAMILIES)
def test_freedoms_accelerations_reactions_and_energies(family, is_long):
    count = STATES[is_long]
    assert not disagreements(family, range(2 * count), count, Comparison.at_states)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_joints_hold_and_single_multipliers(family, is_long):
    if chosen := numbers(family, is_long):
        assert not disagreements(family, chosen, MOTIONS[is_long], Comparison.joint_forces)


@pytest.mark.parametrize("family", FAMILIES)
def test_native_code_motions_and_batches(family, is_long):
    looks = Comparison.compiled, Comparison.motion, Comparison.batch
    if chosen := numbers(family, is_long):
        assert not disagreements(family, chosen, MOTIONS[is_long], *looks)


@pytest.mark.parametrize("family", FAMILIES)
def test_verify_holds(family, is_long):
    if chosen := numbers(family, is_long):
        look = partial(Comparison.certificate, afresh=is_long)
        assert not disagreements(family, chosen, MOTIONS[is_long], look)


def test_ready_models_and_maximal_coordinates(equations):
    if any(not contact.is_flat for contact in equations.model.contacts):
        return  # the oracle knows planes; curved ground has closed forms and Newton and Euler
    differences = Comparison(equations.model, seed=11, equations=equations).at_states(3)
    assert differences and all(d <= ROUNDING for d in differences.values()), differences
