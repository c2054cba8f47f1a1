"""The matrices of the methods, each found a second way: by differences, products and brackets."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
import sympy

import noslip as ns

MODELS = (
    "agv",
    "rolling-disk",
    "tricycle",
    "chaplygin-sleigh",
    "carriage",
    "lhd-noslip",
    "heavy-body",
    "manipulator-3r",
)
#: With a speed that is given as an input: T has a share T_0, and rows of γ hold at w_d = −a alone.
LED = ("tractor-trailer",)
#: Products and sums of entries of order one.
ROUNDING = 1e-11
#: Central differences of eighth order with a step of 0.01: truncation 1e-13, rounding 1e-13.
DIFFERENCES = 1e-10
STEP = 0.01
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


@pytest.fixture(params=[*MODELS, *LED])
def name(request):
    return request.param


@cache
def at_state(name, method):
    """A model by a method at its state, derived once for all tests."""
    return At(name, method, np.random.default_rng(1991))


class At:
    """A model by a method at a random state, and its traced objects anywhere."""

    def __init__(self, name, method, rng):
        self.equations = ns.derive(ns.load(name), method)
        self.kin = self.equations.kinematics
        self.t, self.q = self.kin.probe.configurations(1)[0]
        self.eta = rng.uniform(0.4, 1.2, self.kin.num_independent_speeds)
        self.mu = rng.uniform(-1.0, 1.0, self.equations.costates.shape[0])
        self.inputs = rng.uniform(0.1, 0.9, self.equations.inputs.shape[0])
        self.params = self.kin.probe.params
        method = self.equations.formulation
        self.objects = {o.name: o.value for o in method.objects(self.equations)}
        self.q_dot = self.number(ca.mtimes(self.kin.N, self.kin.v)).ravel()

    def number(self, value, q=None):
        s = self.kin.symbols
        given = [s.t, s.q, self.kin.eta, self.equations.costates, self.equations.inputs, s.params]
        f = ca.Function("f", given, [ca.densify(ca.SX(value))])
        at = [self.t, self.q if q is None else q, self.eta, self.mu, self.inputs, self.params]
        return np.array(f.call([ca.DM(x) for x in at])[0])

    def __getitem__(self, name):
        return self.number(self.objects[name])

    def slope(self, value, direction):
        """The rate of an expression along a direction of the coordinates."""
        size = STEP / max(1.0, float(np.max(np.abs(direction))))
        return sum(
            w / size * sign * self.number(value, self.q + sign * k * size * np.asarray(direction))
            for k, w in WEIGHTS.items()
            for sign in (1, -1)
        )


def same(a, b, tolerance):
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    assert np.shape(a) == np.shape(b)
    assert np.max(np.abs(np.subtract(a, b)), initial=0.0) < tolerance * scale


# the natural orthogonal complement


def test_the_complement_is_one_and_its_rate_is_that_along_the_motion(name):
    at = at_state(name, ns.NaturalComplement())
    T, M, W = at["T"], at["M"], at["W"]
    same(at["A"] @ T, np.zeros((len(at["A"]), T.shape[1])), ROUNDING)
    # the paper's t = T θ̇ has a share of what constraints move, where they do
    moved = at["T_0"] if "T_0" in at.objects else 0.0
    same(T @ at.eta[:, None] + moved, at["t"], ROUNDING)
    same(at["T_dot"], at.slope(at.objects["T"], at.q_dot), DIFFERENCES)
    same(at["I"], T.T @ M @ T, ROUNDING)
    same(at["C"], -T.T @ (M @ at["T_dot"] + W @ M @ T), ROUNDING)


@pytest.mark.parametrize("name", MODELS)
def test_the_convective_matrix_gives_the_compiled_terms_and_the_accelerations(name):
    at = at_state(name, ns.NaturalComplement())
    assert "T_0" not in at.objects
    bias = at.number(at.equations.reduced_bias)
    same(at["C"] @ at.eta[:, None], -bias, ROUNDING)
    forces = sum(at[k] for k in ("tau", "gamma", "delta"))
    same(at["I"] @ at["theta_ddot"], at["C"] @ at.eta[:, None] + forces, ROUNDING)


def test_constraint_wrenches_have_no_power_and_are_in_the_range_of_the_couplings(name):
    at = at_state(name, ns.NaturalComplement())
    T, A, w_N = at["T"], at["A"], at["w_N"]
    # 1e-9: the rank of A is counted at 1e-10 of its largest singular value
    largest = max(1.0, np.abs(at["w_W"]).max(), np.abs(w_N).max())
    assert np.abs(T.T @ w_N).max() < ROUNDING * largest
    same(at["Tt_w_N"], T.T @ w_N, ROUNDING * largest)
    split = np.linalg.lstsq(A.T, w_N, rcond=1e-10)[0] if len(A) else np.zeros((0, 1))
    assert np.abs(A.T @ split - w_N).max() < 1e-9 * largest
    for force, wrench in (("tau", "w_A"), ("gamma", "w_G"), ("delta", "w_D")):
        same(at[force], T.T @ at[wrench], ROUNDING * largest)
    # Newton and Euler, with V̇ along the motion of the solved equations
    etadot = at.number(at.equations.accelerations)
    if "T_0" not in at.objects:
        rate = T @ etadot + at["T_dot"] @ at.eta[:, None]
        wrench = at["M"] @ rate + at["W"] @ at["M"] @ at["t"]
        same(w_N, wrench - at["w_W"], ROUNDING * largest)


def test_couplings_hold_body_by_body(name):
    at = at_state(name, ns.NaturalComplement())
    twist = at["t"].ravel()
    bodies = [node.body.name for node in at.kin.tree.nodes]
    couplings = {}
    for o in at.equations.formulation.objects(at.equations):
        if o.is_part:
            body = 6 * bodies.index(o.columns[0].rpartition(".")[0])
            _, kind, owner = o.name.split(".", 2)
            couplings.setdefault((kind, owner), []).append(at.number(o.value) @ twist[body:][:6])
    assert couplings or name == "rolling-disk"
    moving = {n for s in at.kin.model.speed_inputs for n in (s.name, s.speed.partition(".")[0])}
    for (_, owner), shares in couplings.items():
        if owner not in moving:
            same(sum(shares), np.zeros(len(shares[0])), ROUNDING)


def test_actuated_and_unactuated_joints_of_the_vehicle():
    at = at_state("agv", ns.NaturalComplement())
    closed = at["T_a"] - at["T_u"] @ np.linalg.solve(at["J_u"], at["J_a"])
    same(at["T"], closed, ROUNDING)
    width, r, a, b, d = (at.kin.model.parameter_values()[n] for n in "lrabd")
    psi = at.q[[c.name for c in at.kin.coordinates].index("bracket.angle")]
    e3, f3 = np.array([np.cos(psi), np.sin(psi)]), np.array([-np.sin(psi), np.cos(psi)])
    same(at["J_u"], np.column_stack([r * f3, d * e3]), ROUNDING)
    i, j = np.eye(2)
    columns = [-r / 2 * j + w * (-(a + b) * i + d * e3) for w in (r / width, -r / width)]
    same(at["J_a"], np.column_stack(columns), ROUNDING)
    assert abs(np.linalg.det(at["J_u"]) + r * d) < 1e-17
    # [SahaAngeles1989, eq. 28b]
    K = np.linalg.inv(at["J_u"])
    carried = at["T_u"] @ K @ (at["J_u_dot"] @ K @ at["J_a"] - at["J_a_dot"])
    parts = at["T_a_dot"] - at["T_u_dot"] @ K @ at["J_a"] + carried
    same(at["T_dot"], parts, ROUNDING)
    for part in ("T_a", "T_u", "J_a", "J_u"):
        same(at[f"{part}_dot"], at.slope(at.objects[part], at.q_dot), DIFFERENCES)
    # [eq. 30]: q̇ = P q + Q u of q = [θ; θ̇], without weights on level ground
    at_rest = np.zeros(2)
    states = np.concatenate([at_rest, at.eta])
    rates = at["P"] @ states + at["Q"] @ (at["tau"] + at["delta"]).ravel()
    same(rates, np.concatenate([at.eta, at["theta_ddot"].ravel()]), ROUNDING)


def test_all_objects_are_in_the_actuated_speeds_that_are_named():
    model = ns.load("differential-robot")
    own = ns.matrices(model)
    assert "T_a" not in own.names
    wheels = ["right.rate", "left.rate"]
    m = ns.matrices(model, state={"base.vx": 0.5, "caster.swivel.angle": 0.4}, actuated=wheels)
    assert set(m.objects["T"].columns) == set(wheels)
    assert m.objects["T"].columns == m.objects["T_a"].columns == m.objects["J_a"].columns
    closed = m["T_a"] - m["T_u"] @ np.linalg.solve(m["J_u"], m["J_a"])
    same(m["T"], closed, ROUNDING)


def test_rates_in_the_axes_of_a_body_are_without_its_angle():
    """Ṫ of the caster of the vehicle along the platform's axes: no β in it."""
    m = ns.matrices(ns.load("agv"), axes="platform")
    beta = m.symbols["platform.angle"]
    for name in ("T", "T_dot", "T_a_dot", "T_u_dot"):
        assert beta not in m.to_sympy(name).free_symbols
    # shown as what it is, and confirmed by the numbers of the long expression
    assert m.to_sympy("Tt_w_N") == sympy.zeros(2, 1)


def test_axes_of_a_body_turn_all_vectors():
    state = {"platform.angle": 0.7, "bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}
    equations = ns.derive(ns.load("agv"))
    world = ns.matrices(equations, state=state)
    turned = ns.matrices(equations, state=state, axes="platform")
    c, s = np.cos(0.7), np.sin(0.7)
    R = np.kron(np.eye(10), np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]))
    for name in ("T", "T_dot", "T_a"):
        same(turned[name], R @ world[name], ROUNDING)
    for name in ("M", "W"):
        same(turned[name], R @ world[name] @ R.T, ROUNDING)
    for name in ("I", "C", "J_u"):
        same(turned[name], world[name], ROUNDING)
    same(turned["A"] @ turned["T"], np.zeros((39, 2)), ROUNDING)


# DeSantis' procedure


def test_jacobians_and_matrices_of_the_procedure(name):
    at = at_state(name, ns.DeSantis())
    J, M, W, J_dot = (at[k] for k in ("J", "M", "W", "J_dot"))
    same(at["J_h"] @ at["J_nh"], J, ROUNDING)
    same(J_dot, at.slope(at.objects["J"], at.q_dot), DIFFERENCES)
    same(at["D"], J.T @ M @ J, ROUNDING)
    same(at["C"], J.T @ (M @ J_dot + W @ M @ J), ROUNDING)
    eta = at.eta[:, None]
    same(at["C_skew"] @ eta, at["C"] @ eta, ROUNDING)
    # Ḋ − 2C̃ is skew: Ḋ = C̃ + C̃ᵀ
    same(at["C_skew"] + at["C_skew"].T, at.slope(at.objects["D"], at.q_dot), DIFFERENCES)
    same(at["g_wa"] @ at["D"], np.eye(len(eta)), ROUNDING)
    found = at.number(at.equations.accelerations)
    same(at["g_0"] + at["g_wa"] @ at["tau_a"], found, ROUNDING)


def test_wrenches_of_desantis_are_those_of_the_complement(name):
    """[force; moment] in body axes against [moment; force] in the world's, each by its own way."""
    at, other = at_state(name, ns.DeSantis()), at_state(name, ns.NaturalComplement())
    nodes = at.kin.tree.nodes
    R = [at.number(node.R_WB) for node in nodes]
    scale = max(1.0, np.abs(other["w_N"]).max(), np.abs(other["w_W"]).max())
    for own, theirs in (("w_a", "w_W"), ("w_c", "w_N")):
        found, wanted = (x.reshape(len(nodes), 2, 3) for x in (at[own], other[theirs]))
        for k in range(len(nodes)):
            turned = wanted[k] @ R[k]
            assert np.abs(found[k] - turned[::-1]).max() < ROUNDING * scale
    assert np.abs(at["J"].T @ at["w_c"]).max() < ROUNDING * scale
    assert np.abs(at["J"].T @ at["w_a"] - at["tau_a"]).max() < ROUNDING * scale


def test_shares_of_the_steering_rate_add_up():
    at = at_state("tractor-trailer", ns.DeSantis())
    (rate,) = at.inputs[3:4]
    for whole, first, second in (("J_dot", "A", "B"), ("C", "C_1", "C_2"), ("g_0", "g_01", "g_02")):
        same(at[first] + rate * at[second], at[whole], ROUNDING)
    assert "g_03" not in at.objects


def test_numbers_of_the_tractor_trailer():
    """Independent numbers for the state of the reference."""
    state = {"tractor.angle": 0.3, "hinge.angle": 0.25, "steer.angle": 0.2, "tractor.vx": 2.0}
    inputs = {"F_u2": 1500.0, "steering_rate": 0.05}
    m = ns.matrices(ns.load("tractor-trailer"), "desantis", state=state, inputs=inputs)
    same(m["D"], [[7827.71161012675]], 1e-13)
    same(m["C"], [[202.391823617911]], 1e-13)
    same(m["g_01"], [-0.050233946163615], 1e-13)
    same(m["g_02"], [-0.0295534741301591], 1e-13)


# the Boltzmann–Hamel equations


def test_quasi_velocities_and_their_directions(name):
    at = at_state(name, ns.BoltzmannHamel())
    alpha, beta, w = at["alpha"], at["beta"], at["w"]
    same(alpha.T @ beta, np.eye(len(w)), ROUNDING)
    same(beta @ w, at.q_dot[:, None], ROUNDING)
    same(alpha.T @ at.q_dot[:, None], w, ROUNDING)


@pytest.mark.parametrize("name", MODELS)
def test_gamma_is_the_curl_of_alpha_along_the_motion(name):
    at = at_state(name, ns.BoltzmannHamel())
    # [CameronBook1993, eq. 49]: γ_ij = Σ_k q̇_k (∂α_ij/∂q_k − ∂α_kj/∂q_i)
    along = at.slope(at.objects["alpha"], at.q_dot)
    by = [at.slope(at.objects["alpha"], e) for e in np.eye(len(at.q))]
    across = np.array([at.q_dot @ slope for slope in by])
    same(at["gamma"], along - across, 10 * DIFFERENCES)


@pytest.mark.parametrize("name", MODELS)
def test_hamels_terms_are_brackets_of_the_directions(name):
    """Γ_Ij P_j with the bracket [β_I, β_w]: αᵀ([β w, β_I]) gives the coefficients, times w."""
    at = at_state(name, ns.BoltzmannHamel())
    beta, w = at.objects["beta"], at["w"].ravel()
    columns, alpha = at.number(beta), at["alpha"]
    moving = columns @ w
    expected = []
    for i in range(len(w)):
        # the bracket of two fields on the configurations, with constant coefficients w
        bracket = at.slope(beta, moving)[:, i] - at.slope(beta, columns[:, i]) @ w
        expected.append(-(alpha.T @ bracket))
    same(at["Gamma"], np.array(expected), 10 * DIFFERENCES)


def test_momenta_and_the_collected_equations(name):
    at = at_state(name, ns.BoltzmannHamel())
    energy = at.number(at.equations.kinetic_energy)
    same(at["w"].T @ at["P"] / 2, energy, ROUNDING)
    found = at.number(at.equations.accelerations)
    same(at["M"] @ found + at["h"], at["N"], ROUNDING)


# vakonomic mechanics


def test_reduced_vakonomic_form(name):
    at = at_state(name, ns.Vakonomic())
    right = at["Q"] - at["h"]
    if len(at.mu):
        right = right + at["G"] @ at.mu[:, None]
    same(at["I"] @ at["eta_dot"], right, 10 * ROUNDING)


def test_costates_and_control_angles_of_the_sleigh():
    """λ̇ of [AntunesSigaudMoraes2010, eq. D6] and Ψ̇ = λ_c/(m b), χ̇ = λ/(m b)."""
    state = {"sleigh.angle": 0.2, "sleigh.vx": 0.3, "sleigh.rate": 1.5}
    model = ns.load("chaplygin-sleigh")
    m = ns.matrices(model, "vakonomic", state=state | {"costate.blade.lateral": 0.6})
    mass, a, I = (model.parameter_values()[n] for n in ("m", "a", "I"))  # noqa: E741
    b = np.sqrt(a**2 + I / mass)
    same(m["mu_dot"], [(-mass * (1 - a**2 / b**2) * 1.5 + 0.6 * a / b**2) * 0.3], ROUNDING)
    same(m["v_T"] * np.sin(m["Psi"]), 0.3, ROUNDING)
    same(m["v_T"] * np.cos(m["Psi"]), b * 1.5, ROUNDING)
    same(m["chi"], m["Psi"] - a / b * 0.2, ROUNDING)
    s_dot, phi_dot = m["eta_dot"]
    psi_dot = (s_dot * b * 1.5 - 0.3 * b * phi_dot) / m["v_T"] ** 2
    same(psi_dot, (0.6 + mass * a * 1.5) / (mass * b), ROUNDING)
    same(psi_dot - a / b * 1.5, 0.6 / (mass * b), ROUNDING)


@pytest.mark.parametrize("name", ["vertical-disk", "carriage"])
def test_chaplygin_systems_have_a_control_angle(name):
    m = ns.matrices(ns.load(name), "vakonomic", state={})
    expected = {"vertical-disk": None, "carriage": 0.294505112585661}[name]
    if expected is None:
        p = ns.load(name).parameter_values()
        expected = p["R"] * np.sqrt(p["I2"] / (p["I1"] + p["m"] * p["R"] ** 2))  # [eq. A14]
    same(m["b"], expected, 1e-13)


# symbols


def test_symbols_are_those_of_the_model_and_equal_the_numbers():
    state = {"sled.vx": 1.5, "sled.rate": 0.8, "rotor.rate": -2.0, "sled.angle": 0.3}
    model = ns.load("sled-with-rotor")
    m = ns.matrices(model, "boltzmann-hamel", state=state)
    values = model.parameter_values() | state | {"sled.vy": 0.0, "rotor.angle": 0.0}
    given = {s: values.get(name, 0.0) for name, s in m.symbols.items()}
    for name in ("alpha", "beta", "gamma", "Gamma", "P", "M", "h"):
        found = np.array(m.to_sympy(name).subs(given).tolist(), dtype=float)
        same(found.reshape(m[name].shape), m[name], 1e-13)
    knife = m.to_sympy("Gamma")
    v, turn = m.symbols["sled.vx"], m.symbols["sled.rate"]
    # [CameronBook1993, eqs. 58, 59]: −θ̇ P₂ and +v P₂, with w₂ first in our order
    assert knife[1, 0] == -turn and knife[2, 0] == v


def test_symbols_of_the_guided_vehicle_are_those_of_the_paper():
    """T′_p of [SahaAngeles1989, eq. 6b] and its rate, eq. 7b, in the platform's axes."""
    m = ns.matrices(ns.load("agv"), axes="platform")
    width, r, a = (m.symbols[n] for n in ("l", "r", "a"))
    rows = [m.objects["T"].rows.index(f"platform.{k}") for k in ("wz", "vx", "vy")]
    printed = r / width * sympy.Matrix([[1, -1], [-a, a], [-width / 2, -width / 2]])
    assert sympy.simplify(m.to_sympy("T").extract(rows, [0, 1]) - printed) == sympy.zeros(3, 2)
    turning = m.symbols["wheel1.rate"] - m.symbols["wheel2.rate"]
    half = width / 2
    rate = r**2 / width**2 * turning * sympy.Matrix([[0, 0], [half, half], [-a, a]])
    assert sympy.simplify(m.to_sympy("T_dot").extract(rows, [0, 1]) - rate) == sympy.zeros(3, 2)


# words


def test_text_json_and_latex_name_rows_columns_and_equations():
    state = {"bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}
    m = ns.matrices(ns.load("agv"), state=state)
    text = m.text(only=["J_u", "I"])
    assert "SahaAngeles1989, eq. 25b" in text and "wheel3 along x of platform" in text
    data = m.to_json(only=["I"])["objects"]["I"]
    assert data["equation"] == "eq. 18" and data["rows"] == ["wheel1.rate", "wheel2.rate"]
    same(data["value"], m["I"], 1e-15)
    assert r"\dot{T}" in m.text("latex", only=["T_dot"])
    assert "_html" not in repr(m) and "next:" in repr(m)


def test_what_is_not_there_is_refused(refuses):
    model = ns.load("agv")
    with refuses(ns.FormulationError, "no formulation 'complemnt'", "method", "complement"):
        ns.matrices(model, "complemnt")
    m = ns.matrices(model)
    with refuses(ns.FormulationError, "no object 'Tdot'", "'complement'", "T_dot"):
        m.to_sympy("Tdot")
    with refuses(ns.SimulationError, "no numbers", "agv", "state="):
        m["T"]
    with refuses(ns.FormulationError, "has no option axes", "agv", "complement"):
        ns.matrices(model, "desantis", axes="platform")
    with refuses(ns.FormulationError, "no body 'plattform'", "agv", "platform"):
        ns.matrices(model, axes="plattform")
    with refuses(ns.FormulationError, "no object 'T_a'", "differential-robot", "actuated"):
        ns.matrices(ns.load("differential-robot")).to_sympy("T_a")
    with refuses(ns.FormulationError, "no speed 'wheel9.rate'", "agv", "wheel1.rate"):
        ns.matrices(model, actuated=["wheel9.rate"])
    with refuses(ns.FormulationError, "do not determine", "agv", "degrees of freedom"):
        ns.matrices(model, actuated=["wheel1.rate"])
    with refuses(ns.SimulationError, "without a state", "agv", "state"):
        ns.matrices(model, inputs={"torque1": 1.0})
    with pytest.raises(TypeError, match="Model, Equations or a System"):
        ns.matrices("agv")
