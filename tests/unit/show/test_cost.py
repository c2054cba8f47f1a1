"""Operations of formulations, against those of the compiled programs and counts by hand."""

import json

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main
from noslip.show.cost import kane

METHODS = ("complement", "gibbs-appell")


@pytest.fixture(scope="module")
def agv():
    return ns.cost(ns.load("agv"), METHODS, timed=False)


def test_all_that_is_compiled_is_counted(agv):
    system = ns.System(equations=ns.derive(ns.load("agv")))
    # [q̇; η̇] alone: what is run also integrates the work
    program = system.program("rates", system.equations.state_rates)
    signs = program.count().get("neg", 0)
    assert agv.compiled == program.num_operations - signs
    (complement, appell) = agv.counts
    assert [c.method for c in agv.counts] == list(METHODS)
    # two speeds: (I^-1) by LDL' takes three multiplications, additions and divisions
    assert complement.steps["solve"] == {"×": 3, "+": 3, "÷": 3, "√": 0, "trig": 0, "other": 0}
    assert complement.steps["solve"] == appell.steps["solve"]
    # sines and cosines of the platform's and the caster's angle
    assert complement.steps["compiled"]["trig"] == 4
    assert complement.total < appell.total


def test_a_pendulum_by_hand():
    """η̇ = m g c cos θ / I with numbers: a cosine, a product and a quotient."""
    steps = ns.cost_growth((1, 2), ("gibbs-appell",)).costs[1].counts[0].steps
    nothing = dict.fromkeys(("×", "+", "÷", "√", "trig", "other"), 0)
    assert steps["kinematics"] == steps["inertia"] == nothing
    assert steps["bias"] == nothing | {"×": 1, "trig": 1}
    assert steps["solve"] == nothing | {"÷": 1}
    assert steps["compiled"] == nothing | {"×": 1, "÷": 1, "trig": 1}


def test_classical_ways_by_their_formulas(agv):
    """Seven speeds, six rows of rank five, two degrees of freedom; the rest is the same for all."""
    kin = ns.trace(ns.load("agv"))
    m, k, nv, f = len(kin.rows), len(kin.row_basis), kin.num_speeds, kin.num_independent_speeds
    assert (k, nv, f) == (5, 7, 2)
    partition, singular, eigen, kane = agv.classical.values()
    assert singular - eigen == pytest.approx(3 * m * nv**2 - nv**3, abs=1)
    assert singular - partition == pytest.approx(
        4 * m * nv**2 + 8 * nv**3 - 2 * k**3 / 3 - 2 * k**2 * f, abs=1
    )
    assert agv.compiled < kane < partition == sorted(agv.classical.values())[1]
    assert ns.cost(ns.load("manipulator-2r"), METHODS, timed=False).classical == {}


@pytest.mark.parametrize("name", ["agv", "rolling-disk", "tractor-trailer"])
def test_what_is_counted_of_kane_is_the_equations_of_motion(name):
    """Mass matrix and velocity terms from accelerations of all bodies, against the complement's."""
    equations = ns.derive(ns.load(name))
    kin, s = equations.kinematics, equations.kinematics.symbols
    found = [*kane(equations), equations.reduced_mass, equations.reduced_bias]
    columns = [s.t, s.q, kin.eta, s.w, s.params]
    (t, q), *_ = kin.probe.configurations(1)
    eta = 0.3 + 0.2 * np.arange(kin.num_independent_speeds)
    given = (t, q, eta, np.full(s.w.shape[0], 0.1), kin.probe.params)
    mass, bias, own_mass, own_bias = (
        np.array(x) for x in ca.Function("kane", columns, found)(*given)
    )
    assert np.abs(mass - own_mass).max() < 1e-14 * np.abs(mass).max()
    assert np.abs(bias - own_bias).max() < 1e-14 * max(np.abs(bias).max(), np.abs(mass).max())


def test_each_formulation_has_a_count_or_a_reason(agv):
    assert all(
        isinstance(c, ns.results.OperationCount) and bool(c.steps) != bool(c.refusal)
        for c in agv.counts
    )


def test_growth_of_chains(refuses):
    growth = ns.cost_growth((2, 4, 8), ("complement",))
    totals = {n: c.totals for n, c in growth.costs.items()}
    assert totals[2][0] < totals[4][0] < totals[8][0]
    slope = np.log(totals[8][0] / totals[4][0]) / np.log(2)
    assert growth.exponents["compiled"] == pytest.approx(slope)
    with refuses(ns.SimulationError, "no growth", "chains", "2,4,8"):
        ns.cost_growth((4, 2))
    with refuses(ns.SimulationError, "too long", "chains", "at most"):
        ns.cost_growth((4, 10**20))
    with refuses(ns.FormulationError, "no formulation 'kane'", "agv", "complement"):
        ns.cost(ns.load("agv"), ["kane"])


def test_the_command(derive_once):
    runner = CliRunner()
    done = runner.invoke(main, ["cost", "rolling-disk", "--method", "gibbs-appell", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert set(found["methods"]) == set(METHODS) and found["evaluations_in_1_ms"] > 0
    text = runner.invoke(main, ["cost", "--chain", "1,2", "--method", "gibbs-appell"]).output
    assert "exponent" in text
    for wrong in (["cost"], ["cost", "agv", "--chain", "1,2"], ["cost", "--chain", "1,a"]):
        assert runner.invoke(main, wrong).exit_code == 2
