"""Every library model by every method: equations, matrices and a run, or a refusal that says why.

What is shown by a shorter route is compared with the method's own at a random state; texts are
confirmed against the compiled functions by `derivation` itself.
"""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.formulations import known_formulations
from noslip.show.equations.derivations import derivation
from noslip.show.equations.documents import LatexFormat, TextFormat

METHODS = tuple(known_formulations())
#: Two routes to the same entries, of order one to a hundred.
ROUNDING = 1e-9


@cache
def derived(name, method):
    return ns.derive(ns.load(name), known_formulations()[method])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ns.MODELS)
def test_matrices_have_numbers_and_agree_with_their_shorter_routes(name, method):
    equations = derived(name, method)
    kin, rng = equations.kinematics, np.random.default_rng(1993)
    objects = [o for o in equations.formulation.objects(equations) if o.shown is not None]
    s = kin.symbols
    given = [s.t, s.q, kin.eta, equations.auxiliary_states, equations.inputs, s.params]
    pairs = [ca.densify(ca.SX(x)) for o in objects for x in (o.value, o.shown)]
    t, q = kin.probe.configurations(1)[0]
    at = [t, q, *(rng.uniform(0.4, 1.2, x.shape[0]) for x in given[2:5]), kin.probe.params]
    found = [np.array(x) for x in ca.Function("pairs", given, pairs).call(list(map(ca.DM, at)))]
    for o, value, shown in zip(objects, found[::2], found[1::2], strict=True):
        scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
        assert np.max(np.abs(value - shown), initial=0.0) < ROUNDING * scale, o.name
    try:
        numbers = ns.matrices(equations, state={}).numbers
    except ns.SimulationError:
        return  # at rest not every wheel has a contact point
    assert all(np.all(np.isfinite(x)) for x in numbers.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ns.MODELS)
def test_a_scenario_runs_by_the_vakonomic_equations_or_is_refused(name):
    run_shortly(name, "vakonomic")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ns.MODELS)
def test_a_scenario_runs_by_every_method_or_is_refused(name, method):
    run_shortly(name, method)


def run_shortly(name, method):
    system = ns.compile(derived(name, method))
    try:
        run = ns.run_scenario(system, duration=0.02, samples=3)
    except ns.NoslipError as refusal:
        # what follows d'Alembert's principle runs everything in the library
        assert method == "vakonomic"
        assert "costates" in str(refusal)
        return
    if system.costates:
        run = ns.timing.with_control_angles(system, run)
    assert run.t[-1] == 0.02 and np.all(np.isfinite(run.q))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ns.MODELS)
def test_equations_are_written_and_confirmed(name, method):
    done = derivation(derived(name, method), seconds=1.0)
    assert done.is_confirmed
    for form in (TextFormat(), LatexFormat()):
        assert form.text(done.title, done.sections)
    shown = ns.matrices(derived(name, method))
    assert shown.text(symbolic=True, seconds=1.0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: ns.simulate(
            s,
            inputs=ns.motions.FollowMotion(
                motion=ns.motions.ExpressionMotion(
                    coordinates={"platform.x": "t", "platform.y": "0*t"}
                ),
                reference_start=np.zeros(len(s.coordinates)),
            ),
            duration=0.1,
        ),
        lambda s: ns.run_scenario(s, duration=0.1),
    ],
    ids=["motion", "path"],
)
def test_inputs_for_a_motion_are_refused_where_they_depend_on_costates(ask):
    system = ns.compile(derived("agv", "vakonomic"))
    with pytest.raises(ns.SimulationError, match="costates"):
        ask(system)
