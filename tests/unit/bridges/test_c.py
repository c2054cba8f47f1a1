"""C code of systems, compiled by gcc and g++ and compared with the functions it was made from."""

import ctypes
import dataclasses
import re
import shutil
import subprocess

import mpmath
import numpy as np
import pytest

import noslip as ns
from noslip.engines import BasisCover, CWriter
from noslip.model import model_to_toml, parse_model

COMPILERS = {"gcc": ["gcc", "-std=c99"], "g++": ["g++", "-x", "c++", "-std=c++11"]}
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc on the path")

OK, BASIS_ENDS, SINGULAR, NOT_FINITE, STEP_TOO_LONG, OFF_CONSTRAINTS, NO_SUCH_BASIS = range(7)


class Code:
    """Exported code, compiled and loaded."""

    def __init__(self, system, folder, *, compiler="gcc", flags=("-O2",), **options):
        self.system = system
        self.files = ns.export(system, folder / "code.c", overwrite=True, **options).files
        library = folder / f"{compiler}.so"
        command = [*COMPILERS[compiler], *flags, *STRICT, "-shared", "-fPIC", self.files[0]]
        done = subprocess.run([*command, "-o", library, "-lm"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        self.library = ctypes.CDLL(str(library))
        single = options.get("precision") == "single"
        self.dtype, self.real = (
            (np.float32, ctypes.c_float) if single else (np.float64, ctypes.c_double)
        )
        header = self.files[1].read_text()
        self.prefix = re.search(r"typedef struct (\w+)_parameters", header)[1]
        self.sizes = {k: int(n) for k, n in re.findall(r"_NUM_(\w+) = (\d+)", header)}
        self.names = [p.name for p in system.model.parameters]

    def call(self, name, *arguments):
        function = getattr(self.library, f"{self.prefix}_{name}")
        given = []
        for a in arguments:
            if isinstance(a, float):
                given.append(self.real(a))
            elif isinstance(a, np.ndarray):
                assert a.dtype == self.dtype or a.dtype == np.int32
                given.append(a.ctypes.data_as(ctypes.c_void_p))
            else:
                given.append(a)
        return function(*given)

    def array(self, values):
        return np.array(values, dtype=self.dtype)

    def parameters(self, values=None):
        return self.array(self.system.parameters(values))

    def evaluate(self, name, size, basis, t, *arguments):
        out = self.array(np.zeros(size))
        code = self.call(name, basis, float(t), *map(self.array, arguments), out)
        return code, out


def states(system, rng, count):
    """Random (t, x, inputs) without the work, at configurations that satisfy the constraints."""
    kin = system.kinematics
    for t, q in kin.probe.configurations(count):
        eta, u = rng.normal(size=kin.num_independent_speeds), rng.normal(size=len(system.inputs))
        yield t, np.concatenate([q, eta]), u


def whole(system, x):
    """The state with the work, where there is one."""
    return np.append(x, 0.0) if system.does_work else x


@needs_gcc
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ["agv", "tractor-trailer", "rolling-disk"])
def test_functions_equal_ours(name, compiler, system_of, tmp_path, rng):
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler} on the path")
    system = system_of(name)
    code = Code(system, tmp_path, compiler=compiler)
    nx, nv = code.sizes["STATES"], code.sizes["SPEEDS"]
    nu, nf = code.sizes["FORCES"], code.sizes["INDEPENDENT_SPEEDS"]
    cover = BasisCover.of(system)
    assert code.sizes["BASES"] == len(cover.systems)
    p = system.parameters()
    for basis, own in enumerate(cover.systems):
        for t, x, u in states(own, rng, 12):
            found, xdot = code.evaluate("rates", nx, basis, t, x, u, p)
            ours = own.rates(t, whole(own, x), u, p)
            health = [abs(h) for h in ours[len(whole(own, x)) :]]
            within = all(
                h >= m.floor for h, m in zip(health, own.singularity_measures, strict=True)
            )
            assert found == (OK if within else BASIS_ENDS)
            # rounding, of sums in another order, over the conditioning of the basis
            close = dict(rtol=1e-11, atol=1e-12 * max(1.0, np.abs(ours).max()))
            np.testing.assert_allclose(xdot, ours[:nx], **close)
            _, v = code.evaluate("speeds", nv, basis, t, x, u, p)
            np.testing.assert_allclose(
                v, own.motion(t, whole(own, x), u, p)[:nv], rtol=1e-11, atol=1e-13
            )
            # inverse dynamics of what the forces do: the same generalized forces
            etadot = xdot[nx - nf :]
            _, needed = code.evaluate("generalized_forces", nf, basis, t, x, etadot, u, p)
            blocks = own.blocks(t, whole(own, x), u, p)
            B = blocks[nf * nf + 2 * nf :].reshape(nf, nu)
            size = np.abs(blocks[: nf * nf]).max() * max(1.0, np.abs(etadot).max())
            np.testing.assert_allclose(needed, B @ u[:nu], rtol=1e-9, atol=1e-12 * size)
            if nu >= nf:
                _, forces = code.evaluate("inverse_dynamics", nu, basis, t, x, etadot, u, p)
                np.testing.assert_allclose(B @ forces, B @ u[:nu], rtol=1e-9, atol=1e-12 * size)
                least = np.linalg.pinv(B) @ (B @ u[:nu])
                np.testing.assert_allclose(forces, least, rtol=1e-8, atol=1e-11 * size)


@needs_gcc
@pytest.mark.parametrize("name", ["agv", "rolling-disk"])
def test_single_precision_agrees_to_its_rounding(name, system_of, tmp_path, rng):
    system = system_of(name)
    code = Code(system, tmp_path, precision="single")
    assert "double" not in code.files[0].read_text()
    for t, x, u in states(system, rng, 5):
        found, xdot = code.evaluate("rates", code.sizes["STATES"], 0, t, x, u, system.parameters())
        ours = system.rates(t, whole(system, x), u, system.parameters())[: len(x)]
        assert found == OK
        np.testing.assert_allclose(xdot, ours, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(ours).max()))


def relaxed_loader():
    """A loader whose tires have a relaxation length: their slips are states."""
    model = ns.load("lhd")
    forces = tuple(
        dataclasses.replace(f, relaxation_length=0.4) if isinstance(f, ns.forces.Tire) else f
        for f in model.forces
    )
    return ns.System(equations=ns.derive(dataclasses.replace(model, forces=forces)))


@needs_gcc
def test_states_of_forces_are_states(tmp_path, rng):
    system = relaxed_loader()
    names = [z.name for z in system.auxiliary_states]
    assert names
    code = Code(system, tmp_path, start={names[0]: 0.25})
    for (t, x, u), z in zip(states(system, rng, 3), rng.normal(size=(3, len(names))), strict=True):
        x = np.concatenate([x, z])
        found, xdot = code.evaluate("rates", len(x), 0, t, x, u, system.parameters())
        ours = system.rates(t, whole(system, x), u, system.parameters())
        np.testing.assert_allclose(xdot, ours[: len(x)], rtol=1e-11, atol=1e-11)
        assert found == OK and np.abs(xdot[-len(names) :]).max() > 0
        f = system.casadi_function(parameters={})
        np.testing.assert_allclose(np.array(f(t, x, u)).ravel(), xdot, rtol=1e-11, atol=1e-11)
    begun, basis = code.array(np.zeros(len(x))), np.array([7], dtype=np.int32)
    code.call("start", basis, begun)
    assert begun[-len(names)] == 0.25 and basis[0] == 0
    place = f"LHD_X_{names[0].replace('.', '_').upper()} = {len(x) - len(names)}"
    assert place in code.files[1].read_text()


def stepped(code, start, inputs, step, count, basis=0):
    """Basis and state after some steps under inputs(t), and all bases on the way."""
    x, basis = code.array(start), np.array([basis], dtype=np.int32)
    p, seen = code.parameters(), [int(basis[0])]
    for k in range(count):
        u = code.array(inputs(k * step))
        assert code.call("step", basis, float(k * step), float(step), x, u, p) == OK, k
        seen.append(int(basis[0]))
    return int(basis[0]), x, seen


@needs_gcc
def test_steps_are_those_of_our_own_fixed_steps(system_of, tmp_path):
    """The rolling disk: quaternion and height are projected after each step."""
    system = system_of("rolling-disk")
    start = {"disk.tilt": 1.2, "disk.tilt_rate": 0.1, "disk.yaw_rate": 0.4, "disk.spin_rate": 5}
    begin = ns.complete_start(system, start)
    code = Code(system, tmp_path)
    count, step = 400, 5e-3
    _, x, _ = stepped(code, [*begin.q, *begin.eta], lambda t: [0.0], step, count)
    run = ns.simulate(system, start=begin, duration=2.0, method="rk4", step=step, samples=2)
    ours = [run[c.name][-1] for c in (*system.coordinates, *system.independent_speeds)]
    np.testing.assert_allclose(x, ours, rtol=0, atol=1e-11)
    quaternion = x[3:7]
    assert abs(np.linalg.norm(quaternion) - 1) < 1e-14


@needs_gcc
def test_a_motion_goes_through_the_end_of_its_basis(system_of, tmp_path):
    """A loader folds its waist: the yaw rate takes over from the waist's rate."""
    system = system_of("lhd-noslip")
    start = {"waist.angle": 1.5, "waist.rate": 0.8, "front.vx": 1.0}
    begin = ns.complete_start(system, start)
    code, x0 = Code(system, tmp_path), [*begin.q, *begin.eta]
    assert code.sizes["BASES"] == 2
    step, count = 2e-3, 1500
    basis, x, seen = stepped(code, x0, lambda t: [0.0] * 3, step, count)
    assert seen[0] == 0 and basis == 1 and sorted(seen) == seen
    run = ns.simulate(system, start=start, duration=3.0, samples=2, rtol=1e-12, atol=1e-12)
    # the error of fixed steps is 2^-4 of that of steps twice as long
    p, u = system.parameters(), np.zeros(3)
    _, v = code.evaluate("speeds", 4, basis, 3.0, x, u, p)
    ours = [run[s.name][-1] for s in (*system.coordinates, *system.speeds)]
    coarse = Code(system, tmp_path)
    _, y, _ = stepped(coarse, x0, lambda t: [0.0] * 3, 2 * step, count // 2)
    error = np.abs(y - x).max() / 15 + 1e-12
    np.testing.assert_allclose([*x[:4], *v], ours, rtol=0, atol=4 * error)
    assert error < 1e-9
    # in the old basis every function says that it ends, and the motion is the same in both
    old = code.array([*x[:4], v[0], v[3]])
    code_of = [code.evaluate("rates", 6, 0, 3.0, old, u, p)[0]]
    code_of.append(code.evaluate("inverse_dynamics", 3, 0, 3.0, old, [0.1, 0.2], u, p)[0])
    code_of.append(code.evaluate("generalized_forces", 2, 0, 3.0, old, [0.1, 0.2], u, p)[0])
    assert code_of == [BASIS_ENDS] * 3
    back = np.array([0], dtype=np.int32)
    assert code.call("change_basis", back, 3.0, old, code.array(u), code.parameters()) == OK
    assert back[0] == 1
    np.testing.assert_allclose(old, x, rtol=1e-11)


@needs_gcc
def test_a_step_that_would_leap_over_the_end_is_refused(system_of, tmp_path):
    """The front wheel of a tractor turns across: its way forward says nothing then."""
    system = system_of("tractor-trailer")
    begin = ns.complete_start(system, {"steer.angle": 1.2, "tractor.vx": 0.2})
    code = Code(system, tmp_path)
    basis, x = np.array([0], dtype=np.int32), code.array([*begin.q, *begin.eta])
    before, u = x.copy(), code.array(np.zeros(len(system.inputs)))
    u[[i.name for i in system.inputs].index("steering_rate")] = 4.0
    p = code.parameters()
    assert code.call("step", basis, 0.0, 0.5, x, u, p) == STEP_TOO_LONG and basis[0] == 0
    np.testing.assert_array_equal(x, before)
    assert code.call("step", basis, 0.0, 0.05, x, u, p) == OK
    other = np.array([7], dtype=np.int32)
    assert code.call("step", other, 0.0, 0.1, x, u, p) == NO_SUCH_BASIS
    assert code.evaluate("rates", len(x), -1, 0.0, x, u, p)[0] == NO_SUCH_BASIS


@needs_gcc
@pytest.mark.slow
def test_where_the_nominal_speeds_are_singular(system_of, tmp_path):
    """A forklift that turns on the spot: right in the basis of its start, refused in the other."""
    system = system_of("forklift")
    start = {"rear.steer.angle": np.pi / 2, "base.rate": 0.5, "forks.speed": 0.1}
    run = ns.simulate(system, start=start, duration=0.1, samples=2)
    code, p = Code(system, tmp_path, start=start), system.parameters()
    nf, nv = code.sizes["INDEPENDENT_SPEEDS"], code.sizes["SPEEDS"]
    x, basis = code.array(np.zeros(code.sizes["STATES"])), np.array([7], dtype=np.int32)
    code.call("start", basis, x)
    u, here = code.array(np.zeros(len(system.inputs))), int(basis[0])
    found, v = code.evaluate("speeds", nv, here, 0.0, x, u, p)
    assert (found, here) == (OK, 1)
    at = ns.evaluate(system, start)
    np.testing.assert_allclose(v, list(at.speeds.values()), atol=1e-14)
    own = (x, u, p)
    assert code.evaluate("rates", len(x), 0, 0.0, *own)[0] == SINGULAR
    assert code.evaluate("speeds", nv, 0, 0.0, *own)[0] == SINGULAR
    asked = (x, np.zeros(nf), u, p)
    assert code.evaluate("generalized_forces", nf, 0, 0.0, *asked)[0] == SINGULAR
    # speeds that do not determine the motion cannot be written in others
    kept, zero = x.copy(), np.array([0], dtype=np.int32)
    for name, step in (("change_basis", ()), ("step", (1e-3,))):
        assert code.call(name, zero, 0.0, *step, x, u, code.parameters()) == SINGULAR
        np.testing.assert_array_equal(x, kept)
        assert zero[0] == 0
    last, x, _ = stepped(code, x, lambda t: u, 1e-3, 100, basis=here)
    assert last == here
    q = [run[c.name][-1] for c in system.coordinates]
    np.testing.assert_allclose(x[: len(q)], q, atol=1e-9)


@needs_gcc
def test_a_speed_input_goes_on_at_its_rate(system_of, tmp_path):
    system = system_of("tractor-trailer")
    start = {"hinge.angle": 0.2, "tractor.vx": 2.0, "steer.angle": 0.1}
    law = {"F_u2": 1500.0, "steering_rate": "0.5*cos(0.8*t)"}
    run = ns.simulate(system, start=start, inputs=law, duration=3.0, samples=2, rtol=1e-12)
    begin = ns.complete_start(system, start, speed_inputs=lambda q: np.array([0.5]))
    code = Code(system, tmp_path)
    names = [i.name for i in system.inputs]

    def inputs(t):
        known = {"F_u2": 1500.0, "steering_rate": 0.5 * np.cos(0.8 * t)}
        known["steering_rate_rate"] = -0.4 * np.sin(0.8 * t)
        return [known.get(name, 0.0) for name in names]

    step, count = 1e-3, 3000
    _, x, _ = stepped(code, [*begin.q, *begin.eta], inputs, step, count)
    ours = [run[s.name][-1] for s in (*system.coordinates, *system.independent_speeds)]
    # within a step the given speed is a line instead of a cosine: 0.5 * 0.64 * step^2 / 12 for 3 s
    np.testing.assert_allclose(x, ours, rtol=0, atol=1e-6)


@needs_gcc
@pytest.mark.parametrize("period", [0.0, 0.02])
def test_a_controller_step_gives_the_inputs_of_the_law(period, system_of, tmp_path):
    system = system_of("agv")
    place = dict(point=("0", "-a", "0"), direction=(0.0, 1.0, 0.0))
    path, timing = ns.paths.Circle(radius=2.0), ns.timing.Quintic(duration=20)
    gains = ns.controllers.PoseTracking(**place)
    run = ns.track(
        system,
        path,
        timing=timing,
        follower=ns.Follower(**place),
        controller=ns.ControlLoop(controller=gains, period=period),
        duration=2.0,
        samples=201,
        start={"platform.x": 0.02},
    )
    motion = ns.motions.PathMotion(path=path, timing=timing, **place)
    begun = ns.reference_motion(system, motion).start.q
    law = ns.controllers.Tracking(
        motion=motion, controller=gains, reference_start=begun, limits={}, period=period
    )
    code = Code(system, tmp_path, controller=law)
    generator = law.generator(system)
    nz, p = len(generator.start), code.parameters()
    assert code.sizes["CONTROLLER_STATES"] == nz
    z = code.array(np.zeros(nz))
    code.call("control_start", z)
    np.testing.assert_array_equal(z, generator.start)
    u, basis = code.array(np.zeros(2)), np.array([0], dtype=np.int32)
    states = [s.name for s in (*system.coordinates, *system.independent_speeds)]
    if not period:
        # at the states of our own run it asks for what that was driven by
        for k in (1, 50, 200):
            x, z = (code.array([run[n][k] for n in names]) for names in (states, generator.names))
            assert code.call("control", 0, float(run.t[k]), 0.0, x, p, z, u) == OK
            torques = [run[i.name][k] for i in system.inputs]
            np.testing.assert_allclose(u, torques, rtol=1e-11, atol=1e-13)
        return
    # the closed loop in C is that of our own run
    x = code.array([run[n][0] for n in states])
    for k in range(round(2.0 / period)):
        t = k * period
        assert code.call("control", 0, t, period, x, p, z, u) == OK
        torques = [run[i.name][2 * k + 1] for i in system.inputs]
        np.testing.assert_allclose(u, torques, rtol=0, atol=1e-8)
        for part in range(10):
            now = t + part * period / 10
            assert code.call("step", basis, now, period / 10, x, u, p) == OK
    np.testing.assert_allclose(x, [run[n][-1] for n in states], rtol=0, atol=1e-8)


def test_what_c_cannot_have_is_refused(system_of, tmp_path, refuses):
    model = ns.load("chaplygin-sleigh")
    old = "I"
    text = model_to_toml(model)
    for word in ("double", "class", "M_PI"):
        renamed, _ = parse_model(re.sub(rf"\b{old}\b", word, text))
        with refuses(ns.CompileError, f"parameter '{word}' is a word of C", "sleigh", "rename it"):
            ns.export(renamed, tmp_path / "a.c")
    hostile = dataclasses.replace(model, name='9; system("rm")')
    with refuses(ns.CompileError, "is not a valid name in C", "C code of", "prefix"):
        ns.export(hostile, tmp_path / "a.c")
    for prefix in ("a b", "int", "x*/", "a__b", "_a", "é"):
        with refuses(ns.CompileError, "the prefix", "C code of", "pass prefix"):
            ns.export(model, tmp_path / "a.c", prefix=prefix)
    with refuses(ns.CompileError, "cannot be used in #include", "C code of", "name the file"):
        ns.export(model, tmp_path / 'a"\nb.c')
    with refuses(ns.CompileError, "the precision is 'half'", "C code of", "'single'"):
        ns.export(model, tmp_path / "a.c", precision="half")
    with refuses(ns.CompileError, "the controller is a str", "C code of", "input law"):
        ns.export(model, tmp_path / "a.c", controller="pose")
    vakonomic = ns.System(equations=ns.derive(model, ns.Vakonomic()))
    with refuses(ns.CompileError, "vakonomic equations have costates", "C code of", "d'Alembert"):
        ns.export(vakonomic, tmp_path / "a.c")
    assert not list(tmp_path.iterdir())


@needs_gcc
def test_descriptions_stay_comments(tmp_path):
    model = ns.load("chaplygin-sleigh")
    evil = '*/ int evil = 1; /* \\\n #error ??/ " \u202e é'
    parameters = tuple(dataclasses.replace(p, description=evil) for p in model.parameters)
    system = ns.System(
        equations=ns.derive(dataclasses.replace(model, parameters=parameters, scenario=None))
    )
    code = Code(system, tmp_path)
    assert not hasattr(code.library, "evil")
    assert code.files[1].read_bytes().isascii()


@needs_gcc
@pytest.mark.parametrize("precision", ["double", "single"])
def test_every_model_of_the_library_compiles(precision, tmp_path, pytestconfig):
    names = list(ns.MODELS) if pytestconfig.getoption("--long") else ["roller-racer"]
    for name in names:
        system = ns.System(equations=ns.derive(ns.load(name)))
        for compiler in COMPILERS:
            if shutil.which(compiler):
                Code(system, tmp_path, compiler=compiler, flags=("-O0",), precision=precision)


@needs_gcc
@pytest.mark.parametrize("flags", [("-O2",), ("-O2", "-std=gnu11", "-ffp-contract=fast")])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_own_sine_is_within_an_ulp_and_needs_no_library(compiler, flags, tmp_path, rng):
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler} on the path")
    if compiler == "g++":
        flags = [f for f in flags if "gnu" not in f]
    text = [
        "#include <math.h>",
        'extern "C"' * (compiler == "g++") + " void both(double x, double *s, double *c);",
        *CWriter(sincos="own").definition_of_sincos(),
        "void both(double x, double *s, double *c) { own(x, s, c); }",
    ]
    path, library = tmp_path / "sine.c", tmp_path / "sine.so"
    path.write_text("\n".join(text) + "\n")
    command = [*COMPILERS[compiler], *flags, *STRICT, "-shared", "-fPIC", path, "-o", library]
    subprocess.run([*command, "-nostdlib", "-Wl,--no-undefined"], check=True)
    function = ctypes.CDLL(str(library)).both
    function.argtypes = [ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]

    def own(x):
        out = np.empty(2)
        function(float(x), out.ctypes.data, out.ctypes.data + 8)
        return out

    angles = np.concatenate(
        [
            rng.uniform(-10.0, 10.0, 1500),
            rng.choice([-1.0, 1.0], 1500) * 2.0 ** rng.uniform(-60.0, 40.0, 1500),
            np.round(2.0 ** rng.uniform(0.0, 39.0, 1500)) * (np.pi / 2),  # zeros of either
        ]
    )
    found = np.array([own(x) for x in angles])
    of_library = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    assert np.abs((found - of_library) / np.spacing(np.abs(of_library))).max() <= 1.0
    with mpmath.workprec(200):
        for x, row in zip(angles[::5], found[::5], strict=True):
            for y, true in zip(row, (mpmath.sin(float(x)), mpmath.cos(float(x))), strict=True):
                assert abs(mpmath.mpf(float(y)) - true) < 0.75 * np.spacing(abs(float(true)))
    assert own(0.0).tolist() == [0.0, 1.0]
    assert not np.signbit(own(0.0)[0]) and np.signbit(own(-0.0)[0])
    assert np.isfinite(own(2.0**40)).all()
    for x in (2.0**40 + 1.0, -np.inf, np.nan):
        assert np.isnan(own(x)).all()


@needs_gcc
@pytest.mark.parametrize("flags", [("-O2",), ("-O2", "-std=gnu11", "-ffp-contract=fast")])
def test_own_sine_of_single_precision_is_within_an_ulp(flags, tmp_path, rng):
    """In single precision itself where angles are moderate; the library has no part in it."""
    text = [
        "#include <math.h>",
        "void both(int n, const float *x, float *s, float *c);",
        *CWriter("float", single=True, sincos="own").definition_of_sincos(),
        "void both(int n, const float *x, float *s, float *c)",
        "{ for (int k = 0; k < n; ++k) own(x[k], s + k, c + k); }",
    ]
    path, library = tmp_path / "sine.c", tmp_path / "sine.so"
    path.write_text("\n".join(text) + "\n")
    command = [*COMPILERS["gcc"], *flags, *STRICT, "-shared", "-fPIC", path, "-o", library]
    subprocess.run([*command, "-nostdlib", "-Wl,--no-undefined"], check=True)
    function = ctypes.CDLL(str(library)).both
    function.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 3]

    def own(x):
        found = np.empty((2, len(x)), np.float32)
        function(len(x), x.ctypes.data, found[0].ctypes.data, found[1].ctypes.data)
        return found

    # every float about the quarter turns, where one of the two is next to zero
    turns = (np.arange(-123, 124)[:, None] * (np.pi / 2)).astype(np.float32)
    near = turns.view(np.int32) + np.arange(-40, 41, dtype=np.int32)
    angles = np.concatenate(
        [
            near.view(np.float32).ravel(),
            rng.uniform(-200.0, 200.0, 500_000).astype(np.float32),
            (rng.choice([-1, 1], 100_000) * 2.0 ** rng.uniform(-60, 39, 100_000)).astype(
                np.float32
            ),
        ]
    )
    angles = angles[np.isfinite(angles)]
    found, exact = (
        own(angles),
        np.stack([np.sin(angles.astype(float)), np.cos(angles.astype(float))]),
    )
    assert np.max(np.abs(found - exact) / np.spacing(np.abs(found))) < 1.0
    few = own(np.array([0.0, -0.0, 2.0**41, np.inf, np.nan], np.float32))
    np.testing.assert_array_equal(few[:, :2], [[0.0, -0.0], [1.0, 1.0]])
    assert np.signbit(few[0, 1]) and np.isnan(few[:, 2:]).all()


@needs_gcc
@pytest.mark.parametrize("precision", ["double", "single"])
def test_code_with_its_own_sine_equals_that_with_the_librarys(precision, system_of, tmp_path, rng):
    system = system_of("tractor-trailer")
    codes = []
    for own_sine in (False, True):
        folder = tmp_path / f"{own_sine}"
        folder.mkdir()
        codes.append(Code(system, folder, precision=precision, own_sine=own_sine))
    calls = [set(re.findall(r"\b(?:sin|cos)f?\(", c.files[0].read_text())) for c in codes]
    assert calls[0] and not calls[1]
    tolerance = 1e-11 if precision == "double" else 1e-3
    for t, x, u in states(system, rng, 6):
        arguments = (codes[0].sizes["STATES"], 0, t, x, u, system.parameters())
        (code, ours), (other, theirs) = (c.evaluate("rates", *arguments) for c in codes)
        assert code == other
        size = np.abs(ours).max()
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance * size)
    x[system.kinematics.num_coordinates :] = 0.0
    # an angle beyond its reach is no result
    angle = [c.name for c in system.coordinates].index("hinge.angle")
    x[angle] = 2.0**41
    assert codes[0].evaluate("rates", *arguments[:3], x, u, system.parameters())[0] != NOT_FINITE
    assert codes[1].evaluate("rates", *arguments[:3], x, u, system.parameters())[0] == NOT_FINITE
