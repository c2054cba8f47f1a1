"""Kernels of the batch loop against the same arithmetic in NumPy, and against `dop853`."""

import ctypes

import numpy as np
import pytest

from noslip.engines.row_kernels import RowKernel, compile_kernels
from noslip.simulation import dop853
from noslip.simulation.batches.kernels import RK4_ROWS, RK4_TIMES, kernels
from noslip.simulation.dop853 import NUM_DENSE_TERMS, NUM_STAGES, NUM_STAGES_DENSE

LANES, NY, ROW = 8, 5, 7
CLOSE = {"rtol": 1e-13, "atol": 1e-13}


def call(address, *arguments):
    """Call a kernel with arrays and whole numbers."""
    words = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(words))(address)(*words)


@pytest.fixture
def step(rng):
    """Everything that belongs to a step, random."""
    return {
        "y": rng.normal(size=(NY, LANES)),
        "h": rng.uniform(0.1, 0.2, LANES),
        "K": rng.normal(size=(NUM_STAGES_DENSE + 1, ROW, LANES)),
        "t": rng.uniform(size=LANES),
        "last": rng.uniform(1.0, 1.1, LANES),
        "absolute": np.tile(rng.uniform(1e-3, 1e-2, NY)[:, None], LANES),
        "settings": np.array([[1e-2] * LANES, [NY] * LANES]),
    }


def named(name, lanes=LANES):
    return kernels(lanes)[0][name]


STAGES = {
    f"dop853_stage{s}": (dop853.A[s], dop853.C[s])
    for s in (*range(1, NUM_STAGES), *range(NUM_STAGES + 1, NUM_STAGES_DENSE))
} | {
    name: (np.array([row.get(j, 0.0) for j in range(NUM_STAGES_DENSE)]), c)
    for name, row, c in zip(
        ("rk4_stage1", "rk4_stage2", "rk4_stage3", "rk4_end"), RK4_ROWS, RK4_TIMES, strict=True
    )
}


@pytest.mark.parametrize("name", STAGES)
def test_stages(step, name):
    weights, c = STAGES[name]
    out, time = np.zeros((NY, LANES)), np.zeros(LANES)
    order = ("y", "h", "K", "t", "last")
    call(named(name), *(step[n] for n in order), out, time, NY, ROW)
    expected = step["y"] + step["h"] * np.einsum("j,jil->il", weights, step["K"][:-1, :NY])
    np.testing.assert_allclose(out, expected, **CLOSE)
    np.testing.assert_allclose(time, np.minimum(step["t"] + c * step["h"], step["last"]), **CLOSE)


def test_end_and_error(step):
    out, error = np.zeros((NY, LANES)), np.zeros(LANES)
    order = ("y", "h", "K", "absolute", "settings")
    call(named("dop853_end"), *(step[n] for n in order), out, error, NY, ROW)
    K = step["K"][:NUM_STAGES, :NY]
    np.testing.assert_allclose(
        out, step["y"] + step["h"] * np.einsum("j,jil->il", dop853.B, K), **CLOSE
    )
    scale = step["absolute"] + 1e-2 * np.maximum(np.abs(step["y"]), np.abs(out))
    e5, e3 = (np.einsum("j,jil->il", e, K) / scale for e in (dop853.E5, dop853.E3))
    s5, s3 = (np.sum(e**2, axis=0) for e in (e5, e3))
    expected = step["h"] * s5 / np.sqrt(NY * (s5 + 0.01 * s3))
    np.testing.assert_allclose(error, expected, rtol=1e-12)
    step["K"][:] = 0.0
    call(named("dop853_end"), *(step[n] for n in order), out, error, NY, ROW)
    assert error.tolist() == [0.0] * LANES


@pytest.mark.parametrize("name", ["dop853_dense", "cubic"])
def test_dense_output(step, rng, name):
    end = rng.normal(size=(NY, LANES))
    F = np.full((NUM_DENSE_TERMS, NY, LANES), np.nan)
    call(named(name), step["y"], end, step["h"], step["K"], F, NY, ROW)
    K = step["K"][:, :NY]
    change = end - step["y"]
    expected = np.zeros_like(F)
    expected[0], expected[1] = change, step["h"] * K[0] - change
    expected[2] = 2 * change - step["h"] * (K[0] + K[NUM_STAGES])
    if name != "cubic":
        expected[3:] = step["h"] * np.einsum("rj,jil->ril", dop853.D, K[:-1])
    np.testing.assert_allclose(F, expected, rtol=1e-12, atol=1e-12)

    theta, out = rng.uniform(size=LANES), np.zeros((NY, LANES))
    call(named("interpolate"), step["y"], F, theta, out, NY, 0)
    total = np.zeros((NY, LANES))
    for r in range(NUM_DENSE_TERMS - 1, -1, -1):
        total = (total + F[r]) * (theta if r % 2 == 0 else 1 - theta)
    np.testing.assert_allclose(out, step["y"] + total, **CLOSE)
    call(named("interpolate"), step["y"], F, np.ones(LANES), out, NY, 0)
    np.testing.assert_allclose(out, end, rtol=1e-12, atol=1e-12)


def test_conditions(step, rng):
    a, b = rng.normal(size=(2, NY, LANES))
    condition = np.array([-1, 0, 0, -1, -1, 0, 0, 0])
    target = b.copy()
    call(named("blend"), condition, a, target, NY, 0)
    assert np.array_equal(target, np.where(condition != 0, a, b))

    out = np.zeros(LANES, np.int64)
    for value in (np.nan, np.inf, -np.inf):
        x = a.copy()
        x[3, 2] = value
        call(named("is_finite"), x, out, NY, 0)
        assert out.tolist() == [-1, -1, 0, -1, -1, -1, -1, -1]

    healthy = np.full(LANES, -1)
    floors = np.full((2, LANES), 0.5)
    health = np.full((2, LANES), 0.6)
    health[1, 4], health[0, 5], healthy[6] = 0.4, np.nan, 0
    # on its own side of zero, on the other, and near it on its own
    health[1, :3], floors[1, :2] = (-0.6, 0.6, -0.6), -0.5
    health[0, 3], floors[0, 3] = -0.4, -0.5
    call(named("is_healthy"), health, floors, healthy, 2, 0)
    assert healthy.tolist() == [-1, 0, 0, 0, 0, 0, 0, -1]


def test_dense_output_is_rough_where_it_misses_the_equation(step, rng):
    F, theta = rng.normal(size=(NUM_DENSE_TERMS, NY, LANES)), rng.uniform(size=LANES)
    end = rng.normal(size=(NY, LANES))
    # the slope of the interpolating polynomial, by complex steps
    tiny, place = 1e-30, theta + 1e-30j
    total = np.zeros((NY, LANES), complex)
    for r in range(NUM_DENSE_TERMS - 1, -1, -1):
        total = (total + F[r]) * (place if r % 2 == 0 else 1 - place)
    slope = total.imag / tiny
    scale = step["absolute"] + 1e-2 * np.maximum(np.abs(step["y"]), np.abs(end))
    # errors of that many times the tolerance in all states but one, where it is the others' norm
    sizes = np.array([0.0, 0.9, 0.999, 1.001, 1.1, 50.0, 0.5, np.nan])
    errors = np.tile(sizes, (NY, 1)) * rng.choice([-1.0, 1.0], (NY, LANES))
    errors[0], errors[1] = 0.0, errors[1] * np.sqrt(2.0)
    rates = (slope - errors * scale / dop853.DEFECT_SHARE) / step["h"]
    out = np.zeros(LANES, np.int64)
    given = (F, theta, step["h"], rates, step["y"], end, step["absolute"], step["settings"])
    call(named("is_rough"), *given, out, NY, 0)
    assert out.tolist() == [0, 0, 0, -1, -1, -1, 0, -1]


def test_norms_of_a_first_step(step):
    sums, second, out = np.zeros((2, LANES)), np.zeros(LANES), np.zeros((NY, LANES))
    tolerances = (step["absolute"], step["settings"])
    call(named("norms"), step["y"], step["K"], *tolerances, sums, NY, 0)
    call(named("second_norm"), step["y"], step["K"], *tolerances, second, NY, ROW)
    call(named("euler"), step["y"], step["h"], step["K"], out, NY, 0)
    scale = step["absolute"] + 1e-2 * np.abs(step["y"])
    K = step["K"][:, :NY]
    np.testing.assert_allclose(sums[0], np.sum((step["y"] / scale) ** 2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(sums[1], np.sum((K[0] / scale) ** 2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(second, np.sum(((K[1] - K[0]) / scale) ** 2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(out, step["y"] + step["h"] * K[0], **CLOSE)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_a_kernel_of_ones_own(lanes, rng):
    kernel = RowKernel("axpy", ("x", "h", "y"), lanes)
    h = kernel.load("h")
    (total,) = kernel.begin_rows(0.0)
    x = kernel.load_row("x")
    kernel.store_row("y", kernel.fma(h, x, kernel.load_row("y")))
    (total,) = kernel.end_rows(total + x)
    kernel.store("h", total)
    addresses, _kept = compile_kernels([kernel])
    x, y, h = rng.normal(size=(4, lanes)), rng.normal(size=(4, lanes)), rng.normal(size=lanes)
    expected = y + h * x
    call(addresses["axpy"], x, h, y, 4, 0)
    np.testing.assert_allclose(y, expected, **CLOSE)
    np.testing.assert_allclose(h, x.sum(axis=0), **CLOSE)
