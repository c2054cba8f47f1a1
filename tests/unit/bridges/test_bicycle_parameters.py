"""Files of BicycleParameters: the benchmark's own values, and another bicycle by hand."""

import numpy as np
import pytest

import noslip as ns
from noslip import ModelError
from oracles.whipple import canonical_matrices


def text(model, changes=None, deviation=" +/- 0.001"):
    values = {**model.parameter_values(), **(changes or {})}
    return "\n".join(f"{name} = {value!r}{deviation}" for name, value in values.items()) + "\n"


@pytest.fixture
def bicycle(system_of):
    return system_of("whipple-bicycle").model


def read(tmp_path, lines, name="BrowserBenchmark.txt"):
    (tmp_path / name).write_text(lines)
    return ns.load(tmp_path / name)


def test_the_benchmark_itself_comes_back(tmp_path, bicycle):
    made = read(tmp_path, text(bicycle) + "v = 5.0\n# a note\n")
    assert made.name == "Browser"
    assert made.parameter_values() == bicycle.parameter_values()


def test_another_bicycle_has_the_linear_equations_of_the_paper(tmp_path, bicycle):
    p = {"w": 1.12, "c": 0.069, "lam": 0.4, "mB": 22.0, "xB": 0.31, "zB": -0.53, "mR": 3.1}
    p = {**bicycle.parameter_values(), **p}
    system = ns.compile(ns.derive(read(tmp_path, text(bicycle, p, ""))))
    form = ns.canonical_form(system, speed="speed", gravity="g")
    ours = (form.M, form.C1, form.K0, form.K2)
    for matrix, expected in zip(ours, canonical_matrices(p), strict=True):
        np.testing.assert_allclose(matrix, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda t: t + "IBxx = 3\n", "'IBxx' is given twice"),
        (lambda t: t.replace("IBxx =", "IBxy ="), "has no parameter 'IBxy'"),
        (lambda t: t.partition("\n")[2], "w is not given"),
        (lambda t: t.replace("= 0.08", "= nothing"), "is not a name with a value"),
        (lambda t: t.replace("= 0.08", "= 1e999"), "is not a name with a value"),
        (lambda t: t + "__import__('os').system('x')\n", "is not a name with a value"),
        (lambda t: t.replace("mB = 85.0", "mB = -85.0"), "mB|mass"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, bicycle, change, what):
    with pytest.raises(ModelError, match=what):
        read(tmp_path, change(text(bicycle)))
