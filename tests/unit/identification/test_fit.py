"""`fit`: closed forms, coverage of intervals, priors, bounds, starts, rank of the data."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from small_mechanisms import cart

import noslip as ns

TIMES = np.linspace(0.0, 3.0, 31)
FORCE = 4.0
TRUE = {"m": 2.7, "d": 0.9}


@pytest.fixture(scope="module")
def system():
    return ns.compile(ns.derive(cart()))


def position(m, d, t=TIMES, x0=0.0, v0=0.0):
    """m ẍ + d ẋ = F from a start."""
    end = FORCE / d
    return x0 + end * t + (v0 - end) * m / d * (1 - np.exp(-d * t / m))


def noisy(seed, sigma=0.02, **start):
    noise = np.random.default_rng(seed).normal(0.0, sigma, TIMES.size)
    return {"time": TIMES, "cart.position": position(**TRUE, **start) + noise}


def pushed(system, data, **options):
    options = {"parameters": ["m", "d"], "inputs": {"F": FORCE}} | options
    return ns.fit(system, data, **options)


def slopes(m, d, names=("m", "d")):
    """∂x/∂θ of the closed form by complex steps."""
    h = 1e-30
    values = {"m": m, "d": d, "x0": 0.0, "v0": 0.0}
    return np.column_stack([position(**values | {n: values[n] + 1j * h}).imag / h for n in names])


def test_values_and_covariance_are_those_of_the_closed_form(system):
    """Normal equations hold at the minimum, C = σ² (JᵀJ)⁻¹, intervals are those of the normal."""
    sigma = 0.02
    data = noisy(3)
    found = pushed(system, data, sigma={"cart.position": sigma}, rtol=1e-12, atol=1e-12)
    m, d = found["m"], found["d"]
    J = slopes(m, d)
    miss = data["cart.position"] - position(m, d)
    assert np.abs(J.T @ miss).max() < 1e-8 * np.linalg.norm(J) * np.linalg.norm(miss)
    C = sigma**2 * np.linalg.inv(J.T @ J)
    assert np.allclose(found.covariance, C, rtol=1e-7)
    value = found.found("m")
    assert value.high - m == pytest.approx(1.959963984540054 * math.sqrt(C[0, 0]), rel=1e-7)
    assert found.chi_square == pytest.approx(miss @ miss / sigma**2, rel=1e-9)
    assert found.degrees_of_freedom == 29
    assert np.allclose(found.curves[0].residuals, miss, atol=1e-10)


def test_a_sigma_that_is_not_given_is_that_of_the_residuals(system):
    data = noisy(5)
    found = pushed(system, data)
    miss = data["cart.position"] - position(found["m"], found["d"])
    column = found.columns[0]
    assert column.is_sigma_found
    assert column.sigma == pytest.approx(math.sqrt(miss @ miss / 29), rel=1e-4)
    value = found.found("d")
    # Student's quantile with 29 degrees of freedom
    assert (value.high - value.value) / value.error == pytest.approx(2.045229642, rel=1e-8)


@pytest.mark.parametrize("is_given", [True, False])
def test_intervals_cover_the_truth_as_often_as_they_say(system, is_given, request):
    """Each of two intervals misses the truth in 5 % of fits; bounds of the binomial at 1e-3.

    Errors over their standard deviation have mean 0 and variance 1, within 4 standard errors.
    """
    count, errors = 400 if request.config.getoption("--long") else 50, []
    hits = np.zeros(2)
    sigma = {"cart.position": 0.02} if is_given else None
    for k in range(count):
        found = pushed(system, noisy([1, k]), sigma=sigma)
        hits += [v.low <= TRUE[v.name] <= v.high for v in found.values]
        errors.append([(v.value - TRUE[v.name]) / v.error for v in found.values])
    low, high = binom.ppf([5e-4, 1 - 5e-4], count, 0.95)
    assert np.all((low <= hits) & (hits <= high)), hits
    table = np.array(errors)
    assert np.abs(table.mean(axis=0)).max() < 4 / math.sqrt(count)
    assert np.abs((table**2).mean(axis=0) - 1).max() < 4 * math.sqrt(2 / count)


def test_intervals_of_correlated_noise_cover_the_truth(system, request):
    """Noise x_k = 0.9 x_k−1 + e_k, whose values are worth 1/19 of independent ones.

    Intervals of independent noise miss by 4.4 standard deviations; those of the fit cover about as
    often as they say (90 %: autocorrelation times of 19 values, from 300, are 20 % off), and every
    fit says so.
    """
    count, times, errors = 100 if request.config.getoption("--long") else 25, [], []
    t, hits, plain = np.linspace(0.0, 3.0, 300), 0, []
    for k in range(count):
        e = np.random.default_rng([7, k]).normal(0.0, 0.02, t.size + 100)
        for j in range(1, e.size):
            e[j] += 0.9 * e[j - 1]
        data = {"time": t, "cart.position": position(**TRUE, t=t) + e[100:]}
        found = pushed(system, data)
        assert not found.is_explained
        times.append(found.columns[0].time)
        value = found.found("m")
        hits += value.low <= TRUE["m"] <= value.high
        errors.append((value.value - TRUE["m"]) / value.error)
        plain.append(errors[-1] * found.widened)
    assert hits >= binom.ppf(5e-4, count, 0.9)
    assert 10 < np.mean(times) < 25
    assert np.mean(np.square(errors)) < 2.5 < 8 < np.mean(np.square(plain))


@pytest.mark.parametrize("sigma", [None, {"cart.position": 0.01}], ids=["found", "given"])
@pytest.mark.parametrize("fault", ["late", "wave", "offset"])
def test_what_is_not_modeled_is_said_everywhere_and_widens_intervals(system, fault, sigma):
    """Terminal, report, JSON and Python have one verdict; with noise alone they have the other."""
    from noslip.show.report.study_reports import fit_html

    t = np.linspace(0.0, 3.0, 200)
    x = position(**TRUE, t=t)
    wrong = {
        "late": position(**TRUE, t=np.maximum(t - 0.1, 0.0)),
        "wave": x + 0.03 * np.sin(5 * t),
        "offset": x + 0.1,
    }[fault]
    noise = np.random.default_rng(3).normal(0.0, 0.01, t.size)
    fine = pushed(system, {"time": t, "cart.position": x + noise}, sigma=sigma)
    bad = pushed(system, {"time": t, "cart.position": wrong + noise}, sigma=sigma)
    for found, is_right in ((fine, True), (bad, False)):
        assert found.is_explained == is_right == found.to_json()["explained"]
        assert found.verdict == found.to_json()["verdict"]
        assert ("something is not modeled" in found.text()) != is_right
        page = fit_html(found)
        assert ("something is not modeled" in page) != is_right
        assert found.verdict in found.text()
    assert fine.widened == 1.0 and bad.widened > 3
    assert bad.found("m").error > 3 * fine.found("m").error


def test_columns_that_are_left_out_are_named(system):
    """`columns` chooses: what it leaves out is noted, known names among them."""
    data = noisy(2) | {"cart.speed": np.gradient(position(**TRUE), TIMES), "battery": 0 * TIMES}
    found = pushed(system, data, columns={"cart.position": "cart.position"})
    assert any("cart.speed" in note and "battery" in note for note in found.notes)
    assert "cart.speed" in found.text() and found.to_json()["notes"]


def test_forward_and_adjoint_find_the_same(system):
    data = noisy(7)
    both = [
        pushed(system, data, gradients=g, sigma={"cart.position": 0.02})
        for g in ("forward", "adjoint")
    ]
    assert both[0].gradients == "forward" and both[1].gradients == "adjoint"
    for name in TRUE:
        assert both[0][name] == pytest.approx(both[1][name], rel=1e-5)


def test_several_runs_have_starts_of_their_own(system):
    """Exact data: shared parameters and each start are found to the last digits."""
    starts = ({"x0": 0.3, "v0": 1.0}, {"x0": -0.5, "v0": -0.4})
    runs = [
        ns.MeasuredRun(
            times=TIMES,
            columns={"cart.position": position(**TRUE, **one)},
            inputs={"F": FORCE},
            start={"cart.position": 0.0},
            name=name,
        )
        for one, name in zip(starts, ("first", "second"), strict=True)
    ]
    found = ns.fit(
        system,
        runs,
        parameters=["m", "d"],
        unknown_starts=["cart.position", "cart.speed"],
        rtol=1e-12,
        atol=1e-12,
    )
    for name, value in TRUE.items():
        assert found[name] == pytest.approx(value, rel=1e-7)
    for one, start in zip(starts, found.starts, strict=True):
        assert start["cart.position"] == pytest.approx(one["x0"], abs=1e-8)
        assert start["cart.speed"] == pytest.approx(one["v0"], abs=1e-8)
    assert found["cart.speed (second)"] == found.starts[1]["cart.speed"]
    assert found.parameters.keys() == {"m", "d"}


def test_a_prior_is_one_more_measurement(system):
    """The posterior is that of the stacked normal equations."""
    sigma, mean, spread = 0.02, 2.69, 0.01
    data = noisy(9)
    prior = ns.FitParameter(of="m", mean=mean, sigma=spread)
    found = pushed(
        system,
        data,
        parameters=[prior, "d"],
        sigma={"cart.position": sigma},
        rtol=1e-12,
        atol=1e-12,
    )
    J = slopes(found["m"], found["d"]) / sigma
    information = J.T @ J + np.diag([1 / spread**2, 0.0])
    assert np.allclose(found.covariance, np.linalg.inv(information), rtol=1e-6)
    miss = (data["cart.position"] - position(found["m"], found["d"])) / sigma
    slope = J.T @ miss - np.array([(found["m"] - mean) / spread**2, 0.0])
    assert np.abs(slope).max() < 1e-6 * np.abs(J.T @ np.abs(miss)).max()
    assert "prior 2.69" in found.text()
    # a prior that the data contradict is said, and widens what is claimed
    against = ns.FitParameter(of="m", mean=2.5, sigma=spread)
    other = pushed(system, data, parameters=[against, "d"], sigma={"cart.position": sigma})
    assert found.is_explained and not other.is_explained
    assert other.found("d").error > 2 * found.found("d").error


def test_a_bound_holds_a_value_and_it_is_said(system):
    found = pushed(
        system,
        noisy(4),
        parameters=[ns.FitParameter(of="m", upper=2.4), "d"],
        sigma={"cart.position": 0.02},
    )
    value = found.found("m")
    assert value.value == pytest.approx(2.4, rel=1e-5) and value.at_bound
    assert math.isnan(value.low) and "at its bound" in found.text()
    # the rest is what a fit with it fixed finds
    alone = pushed(
        system, noisy(4), parameters=["d"], fixed={"m": value.value}, sigma={"cart.position": 0.02}
    )
    assert found["d"] == pytest.approx(alone["d"], rel=1e-6)
    assert found.found("d").error == pytest.approx(alone.found("d").error, rel=1e-6)


def test_a_bias_of_a_sensor_is_a_number_of_the_definitions(system):
    data = {"time": TIMES, "tape": position(**TRUE) + 0.125}
    found = pushed(
        system,
        data,
        parameters=["m", "d", "offset"],
        columns={"tape": "cart.position + offset"},
        definitions={"offset": 0.0},
    )
    assert found["offset"] == pytest.approx(0.125, abs=1e-6)
    assert found["m"] == pytest.approx(TRUE["m"], rel=1e-6)


def test_a_combination_that_is_not_determined_is_named(system):
    """Without damping x = F t²/2m: only F/m is seen, and dF/dm = F/m keeps it."""
    data = {"time": TIMES, "cart.position": 0.5 * FORCE / 2.0 * TIMES**2}
    with pytest.raises(ns.SimulationError) as told:
        ns.fit(
            system, data, parameters=["m", "F"], inputs={"F": FORCE}, fixed={"d": 0.0},
            sigma={"cart.position": 0.01},
        )  # fmt: skip
    assert "do not tell 'm', 'F' apart" in told.value.what
    assert "m by +1 kg, F by +2 N" in told.value.what
    # a prior on one of them is enough
    found = ns.fit(
        system,
        data,
        parameters=["m", ns.FitParameter(of="F", mean=4.4, sigma=0.1)],
        inputs={"F": FORCE},
        fixed={"d": 0.0},
        sigma={"cart.position": 0.01},
    )
    assert found["F"] == pytest.approx(4.4, rel=1e-6)
    assert found["m"] == pytest.approx(2.2, rel=1e-6)
    assert "which alone determines it" in found.text()


def test_what_has_no_effect_is_named(system):
    with pytest.raises(ns.SimulationError, match="do not depend on 'm', 'd'"):
        ns.fit(
            system,
            {"time": TIMES, "cart.position": np.zeros(31)},
            parameters=["m", "d"],
            inputs={"F": 0.0},
            sigma={"cart.position": 0.01},
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parameters": ["mass"]}, "there is no parameter, constant input or number 'mass'"),
        ({"parameters": "m"}, "is the string 'm'"),
        ({"parameters": ["cart.speed"]}, "which differs from run to run"),
        ({"parameters": []}, "nothing is to be estimated"),
        ({"parameters": ["m", "m"]}, "is estimated twice"),
        ({"columns": {"gps": "cart.position"}}, "there is no column 'gps'"),
        ({"sigma": {"gps": 1.0}}, "which is not compared"),
        ({"sigma": {"cart.position": 0.0}}, "the standard deviation of 'cart.position' is 0.0"),
        ({"unknown_starts": ["cart.velocity"]}, "to start from"),
        ({"level": 1.0}, "the level is 1.0"),
        ({"gradients": "finite"}, "there are no gradients 'finite'"),
        ({"parameters": [ns.FitParameter(of="m", lower=3.0)]}, "is not between its bounds"),
        ({"max_evaluations": 2}, "has not converged after 2 evaluations"),
    ],
)
def test_mistakes_are_told(system, options, said):
    with pytest.raises(ns.SimulationError, match=said):
        pushed(system, noisy(1), **options)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ns.FitParameter(of="m", lower=2.0, upper=1.0), "is not below the upper one"),
        (lambda: ns.FitParameter(of="m", sigma=0.0), "standard deviation of the prior is 0"),
        (lambda: ns.FitParameter(of="m", mean=2.0), "has the mean 2 and no standard deviation"),
        (lambda: ns.FitParameter(of="m", guess=math.nan), "guess is nan"),
    ],
)
def test_parameters_with_mistakes_are_refused(make, said):
    with pytest.raises(ns.SimulationError, match=said):
        make()


def test_a_trial_that_cannot_be_simulated_is_stepped_back_from(system):
    """From far off the first step makes the mass negative; the fit still arrives."""
    found = pushed(
        system,
        {"time": TIMES, "cart.position": position(m=0.02, d=0.9)},
        parameters=[ns.FitParameter(of="m", guess=6.0)],
        fixed={"d": 0.9},
    )
    assert found["m"] == pytest.approx(0.02, rel=1e-4)


def test_the_page_shows_fit_and_data(system, tmp_path):
    found = pushed(system, noisy(2), sigma={"cart.position": 0.02})
    page = ns.write_fit_report(found, tmp_path / "fit.html", command="noslip fit cart data.csv")
    text = page.read_text()
    assert text.count("<svg") == 1 and "noslip fit cart data.csv" in text
    for word in ("Fit and data", "95 % interval", "Correlations", "Residuals"):
        assert word in text
    # it opens with what was found, in as many digits as are known
    opening = text.split('id="values"')[0]
    for value in found.values:
        assert f'<span class="label">{value.name}</span>' in opening
        assert f'<data value="{value.low!r}">{value.low:.{value.digits}g}</data>' in opening
    dots = text.split("<svg")[1].count("<circle")
    assert dots >= 2 * len(TIMES)  # data and residuals
    assert "http" not in text.replace("http://www.w3.org", "")
    with pytest.raises(ns.SimulationError, match="there is no folder"):
        ns.write_fit_report(found, tmp_path / "none" / "fit.html")


def test_a_mean_that_is_zero_but_for_rounding_is_written_as_zero(system):
    (column,) = pushed(system, noisy(2)).columns
    assert column.shown_mean == column.mean != 0
    assert column._replace(mean=1e-16).shown_mean == 0


def test_results_go_to_json_and_xarray(system):
    found = pushed(system, noisy(2))
    table = found.to_xarray()
    assert float(table["value"].sel(name="m")) == found["m"]
    data = found.to_json()
    assert data["values"]["d"]["interval"][0] < found["d"] < data["values"]["d"]["interval"][1]
    assert data["columns"]["cart.position"]["sigma_found"] is True
    with pytest.raises(KeyError, match="was not estimated"):
        found["k"]
