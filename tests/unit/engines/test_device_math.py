"""Functions without a C library: how far they are off, and their values at the limits."""

import ctypes
import math

import mpmath as mp
import numpy as np
import pytest

from noslip.engines.elementary_functions import OTHERS, RECIPROCALS, device_functions
from noslip.engines.machine_code import host, machine_code

D = ctypes.c_double
#: As the head of `elementary_functions` promises, in units in the last place.
OFF, SAME_AS_NEAR = 3.0, 1.0
LIMITS = [
    *(0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, 1e300, -1e300),
    *(1e-310, 5e-324, math.inf, -math.inf, math.nan),
]


class Both(ctypes.Structure):
    _fields_ = [("sin", D), ("cos", D)]


@pytest.fixture(scope="module")
def functions():
    host()
    names = ["sincos", "tan", *OTHERS, "fmod", "remainder"]
    lines = device_functions(names, is_single=False, is_inline=False)
    engine = machine_code("\n".join(lines).replace("define internal", "define"))

    def function(name, count=1, result=D):
        kind = ctypes.CFUNCTYPE(result, *[D] * count)
        return kind(engine.get_function_address(f"lanes_{name}"))

    return function


def ulps(value: float, exact) -> float:
    return float(abs(mp.mpf(value) - exact) / mp.mpf(math.ulp(float(exact))))


def test_far_angles_are_reduced_exactly(functions, rng):
    """The last but one is the double nearest to a multiple of π/2."""
    x = np.exp(rng.uniform(math.log(2.0**40), math.log(1e308), 200)) * rng.choice([-1, 1], 200)
    both, tan = functions("sincos", result=Both), functions("tan")
    with mp.workdps(400):
        for angle in [*x.tolist(), 6381956970095103.0 * 2.0**797, 1.7e308]:
            found = both(angle)
            assert ulps(found.sin, mp.sin(mp.mpf(angle))) < SAME_AS_NEAR
            assert ulps(found.cos, mp.cos(mp.mpf(angle))) < SAME_AS_NEAR
            assert ulps(tan(angle), mp.tan(mp.mpf(angle))) < SAME_AS_NEAR


@pytest.mark.parametrize(
    ("name", "low", "high", "shift"),
    [
        ("log1p", -40.0, 300.0, 0.0),
        ("asinh", -40.0, 300.0, 0.0),
        ("acosh", -20.0, 300.0, 1.0),
        ("atanh", -40.0, -1e-9, 0.0),
        ("erf", -20.0, 1.8, 0.0),
    ],
)
def test_functions_of_one_number(functions, rng, name, low, high, shift):
    function, exact = functions(name), getattr(mp, name)
    with mp.workdps(60):
        for x in (shift + np.exp(rng.uniform(low, high, 1000))).tolist():
            assert ulps(function(x), exact(mp.mpf(x))) < OFF, x
            if name in ("asinh", "atanh", "erf"):
                assert function(-x) == -function(x)


def test_powers_and_hypotenuses(functions, rng):
    power, hypot = functions("pow", 2), functions("hypot", 2)
    with mp.workdps(60):
        for a, b in zip(
            np.exp(rng.uniform(-20, 20, 2000)), rng.uniform(-30, 30, 2000), strict=True
        ):
            exact = mp.power(mp.mpf(float(a)), mp.mpf(float(b)))
            assert ulps(power(a, b), exact) < OFF
            assert ulps(hypot(a, b), mp.hypot(mp.mpf(float(a)), mp.mpf(float(b)))) < OFF


def test_remainders_are_exact(functions, rng):
    fmod, remainder = functions("fmod", 2), functions("remainder", 2)
    a = rng.normal(size=2000) * np.exp(rng.uniform(-700, 700, 2000))
    b = rng.normal(size=2000) * np.exp(rng.uniform(-700, 700, 2000))
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        assert fmod(x, y) == math.fmod(x, y)
        assert remainder(x, y) == math.remainder(x, y)


@pytest.mark.parametrize("name", ["pow", "fmod", "remainder", "hypot"])
def test_limits_are_those_of_the_c_library(functions, name):
    function, of_c = functions(name, 2), getattr(ctypes.CDLL(None), name)
    of_c.restype, of_c.argtypes = D, [D, D]
    for a in LIMITS:
        for b in LIMITS:
            found, expected = function(a, b), of_c(a, b)
            assert found == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True), (a, b)
            if not math.isnan(expected):
                assert math.copysign(1.0, found) == math.copysign(1.0, expected), (a, b)


def test_sine_and_cosine_of_single_precision(rng):
    """To 2 ulp, near multiples of π/2 and beyond the reach of the short reduction too."""
    text = "\n".join(device_functions(["sincos"], is_single=True, is_inline=False))
    loop = """
define void @all(i64 %n, ptr %x, ptr %s, ptr %c) {
start:
  br label %row
row:
  %k = phi i64 [ 0, %start ], [ %next, %row ]
  %xk = getelementptr float, ptr %x, i64 %k
  %v = load float, ptr %xk
  %both = call { float, float } @single_sincos(float %v)
  %a = extractvalue { float, float } %both, 0
  %b = extractvalue { float, float } %both, 1
  %sk = getelementptr float, ptr %s, i64 %k
  %ck = getelementptr float, ptr %c, i64 %k
  store float %a, ptr %sk
  store float %b, ptr %ck
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %done
done:
  ret void
}
"""
    host()
    engine = machine_code(text + loop)
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)
    x = np.concatenate(
        [
            *(
                rng.uniform(-10, 10, 20000),
                rng.uniform(-5e4, 5e4, 20000),
                rng.normal(size=99) * 1e9,
            ),
            np.arange(1, 3000) * np.pi / 2,
        ]
    ).astype(np.float32)
    s, c = np.zeros_like(x), np.zeros_like(x)
    function(engine.get_function_address("all"))(len(x), *(a.ctypes.data for a in (x, s, c)))
    exact = x.astype(float)
    for found, expected in ((s, np.sin(exact)), (c, np.cos(exact))):
        unit = np.spacing(np.abs(expected).astype(np.float32)).astype(float)
        assert np.max(np.abs(found - expected) / unit) < 2.0


@pytest.fixture(scope="module")
def quotient():
    """The quotient, whose first reciprocal has the 20 digits that a card's has."""
    name = RECIPROCALS["double"]
    rough = f"""define double @{name.replace("llvm", "rough")}(double %x) {{
  %r = fdiv double 1.0, %x
  %b = bitcast double %r to i64
  %c = and i64 %b, -4294967296
  %d = bitcast i64 %c to double
  ret double %d
}}"""
    host()
    text = "\n".join(device_functions(["div"], is_single=False, is_inline=False))
    text = text.replace(f"declare double @{name}(double)", rough)
    text = text.replace(f"@{name}(", f"@{name.replace('llvm', 'rough')}(")
    engine = machine_code(text.replace("define internal", "define"))
    call = ctypes.CFUNCTYPE(D, D, D)(engine.get_function_address("quotient"))
    call.engine = engine
    return call


def test_quotients_are_below_2_ulp(quotient, rng):
    a, b = (np.exp(rng.uniform(-300, 300, 2000)) * rng.choice([-1, 1], 2000) for _ in range(2))
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        assert ulps(quotient(x, y), mp.mpf(x) / mp.mpf(y)) < 2.0, (x, y)


@pytest.mark.parametrize("a", [0.0, 1.0, -2.5, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("b", [0.0, -0.0, 3.0, math.inf, -math.inf, math.nan])
def test_quotients_at_the_limits(quotient, a, b):
    with np.errstate(all="ignore"):
        expected = float(np.float64(a) / np.float64(b))
    found = quotient(a, b)
    assert found == pytest.approx(expected, rel=3e-16, nan_ok=True)
    assert math.isnan(expected) or math.copysign(1.0, found) == math.copysign(1.0, expected)
