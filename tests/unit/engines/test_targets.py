"""Every target computes the same, one from outside the package among them."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip import AbstractTarget
from noslip.base.families import isolated, load_plugin
from noslip.engines import trace_program
from noslip.engines.program import CASADI_KINDS
from noslip.engines.targets import compare_targets, known_targets

PLUGIN = Path(__file__).parents[2] / "models" / "own_target.py"
WORDS = ["native", "wide", "thread", "wasm", "sympy", "own_closures"]
EMPTY = ca.SX(0, 1)


@pytest.fixture(scope="module", autouse=True)
def own():
    with isolated():
        yield load_plugin(PLUGIN)


def test_every_target_is_known_by_its_word(own):
    known = known_targets()
    assert [*known] == ["interpreter", *WORDS]
    assert isinstance(known["own_closures"], own.Closures)
    assert all(target.purpose for target in known.values())


@pytest.mark.parametrize("name", [*ns.MODELS, "every-joint", "car", "loop-closed-by-revolute"])
@pytest.mark.slow
def test_all_targets_agree_on_models(system_of, rng, name: str) -> None:
    system = system_of(name)
    kin = system.kinematics
    found = kin.probe.configurations(3)
    t, q = np.array([t for t, _ in found]), np.array([q for _, q in found])
    x = rng.normal(size=(len(t), system.num_states))
    x[:, : kin.num_coordinates] = q
    u = rng.normal(size=(len(t), len(system.inputs)))
    program = system.program("rates", system.rates_expression)
    differences = compare_targets(program, t, x, u, system.parameters())
    assert [*differences] == WORDS
    assert all(d < 1e-9 for d in differences.values()), differences


@pytest.mark.parametrize("kind", sorted(set(CASADI_KINDS.values())))
def test_all_targets_agree_on_an_operation(kind: str) -> None:
    """At numbers where it is finite; `test_llvm` and `test_wide` have the others."""
    code = next(c for c, k in CASADI_KINDS.items() if k == kind)
    x = ca.SX.sym("x", 2)
    program = trace_program(kind, [EMPTY, x, EMPTY, EMPTY], ca.SX.binary(code, x[0], x[1]))
    one = 1.75 if kind == "acosh" else 0.75
    pairs = np.array([[one, 0.4], [one, 2.3], [0.6 + (kind == "acosh"), 0.6]])
    differences = compare_targets(program, np.zeros(3), pairs, np.empty((3, 0)), [])
    assert all(d < 1e-14 for d in differences.values()), differences


def test_a_choice_is_the_same_in_all_targets() -> None:
    x = ca.SX.sym("x", 2)
    value = ca.if_else(ca.logic_and(x[0] < x[1], ca.logic_not(x[1] < 0)), ca.sin(x[0]), x[1] ** 2)
    program = trace_program("choice", [EMPTY, x, EMPTY, EMPTY], value)
    pairs = np.array([[1.0, 2.0], [2.0, 1.0], [-2.0, -1.0], [0.5, 0.5]])
    differences = compare_targets(program, np.zeros(4), pairs, np.empty((4, 0)), [])
    assert all(d < 1e-15 for d in differences.values()), differences


def test_a_wrong_target_is_found() -> None:
    with isolated():

        class Off(AbstractTarget):
            """Wrong by a relative 1e-6."""

            word = "own_off"
            purpose = "to be found"

            def compile(self, program):
                right = known_targets()["interpreter"].compile(program)
                return lambda *given: right(*given) * (1 + 1e-6)

        class Lost(AbstractTarget):
            """Not a number."""

            word = "own_lost"
            purpose = "to be found"

            def compile(self, program):
                return lambda *given: np.full(program.output_size, np.nan)

        x = ca.SX.sym("x")
        program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.vertcat(1 / x, ca.exp(x)))
        found = compare_targets(program, np.zeros(2), [[0.5], [2.0]], np.empty((2, 0)), [])
        assert found["own_off"] == pytest.approx(1e-6, rel=1e-6)
        assert np.isnan(found["own_lost"])
        assert found["native"] < 1e-15
