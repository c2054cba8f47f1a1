"""Transmissions between joints, against M q̈ + Gᵀλ = Q solved by hand, and against closed forms."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import simpson

import noslip as ns
from noslip.scene.geometry import default_shapes

INERTIA = {"a": 0.02, "b": 0.05, "c": 0.03}
TORQUE = {"a": 0.7, "b": -0.2, "c": 0.4}

PAIR = {"name": "k", "first": "a.angle", "second": "b.angle"}
PAIR |= {"first_radius": "r", "second_radius": 0.1}
PLANET = {"name": "k", "sun": "a.angle", "ring": "b.angle", "carrier": "c.angle"}
PLANET |= {"sun_radius": "r", "ring_radius": 0.1}
#: Transmission → row G on the angles of shafts a, b and c; the third is a slide where it is a rack.
TRANSMISSIONS = {
    "external": (ns.rows.Gear(**PAIR), (0.04, 0.1, 0.0)),
    "internal": (ns.rows.Gear(**PAIR, is_internal=True), (0.04, -0.1, 0.0)),
    "rack": (
        ns.rows.Rack(name="k", gear="a.angle", rack="c.position", radius="r"),
        (0.04, 0.0, -1.0),
    ),
    "belt": (ns.rows.Belt(**PAIR), (0.04, -0.1, 0.0)),
    "crossed belt": (ns.rows.Belt(**PAIR, is_crossed=True), (0.04, 0.1, 0.0)),
    "planetary": (ns.rows.Planetary(**PLANET), (0.04, 0.1, -0.14)),
    "differential": (
        ns.rows.Differential(name="k", drive="a.angle", left="b.angle", right="c.angle", ratio=3.0),
        (-2.0 / 3.0, 1.0, 1.0),
    ),
}


def shafts(
    *rows: ns.rows.AbstractTransmission, slide: bool = False, distance: float = 0.14
) -> ns.Model:
    """Three shafts in a housing, the third a slide if need be, each with its motor."""
    b = ns.ModelBuilder("shafts", gravity=(0.0, 0.0, -9.81))
    b.parameter("r", 0.04, "m")
    for k, name in enumerate("abc"):
        is_slide = slide and name == "c"
        b.body(name, mass=INERTIA[name] if is_slide else 1.0, inertia=(INERTIA[name],) * 3)
        kind = (
            ns.joints.Prismatic(axis=(1, 0, 0)) if is_slide else ns.joints.Revolute(axis=(0, 0, 1))
        )
        place = ns.Placement(position=(distance * k, 0.0, 0.0))
        b.joint(name, kind, parent="world", child=name, parent_frame=place)
        b.input(f"u{name}", "N" if is_slide else "N*m")
        speed = f"{name}.speed" if is_slide else f"{name}.rate"
        b.force(ns.forces.Motor(name=f"m{name}", speed=speed, input=f"u{name}"))
    for row in rows:
        b.row(row)
    return b.build()


@pytest.mark.parametrize("kind", TRANSMISSIONS)
def test_transmissions_against_multipliers_by_hand(kind: str, tmp_path: Path) -> None:
    row, G = TRANSMISSIONS[kind]
    model = shafts(row, slide=kind == "rack", distance=0.06 if kind == "internal" else 0.14)
    found = ns.evaluate(
        ns.System(equations=ns.derive(model)), {}, inputs={f"u{n}": x for n, x in TORQUE.items()}
    )
    M, Q = np.diag(list(INERTIA.values())), np.array(list(TORQUE.values()))
    K = np.block([[M, -np.array([G]).T], [np.array([G]), np.zeros((1, 1))]])
    *rates, multiplier = np.linalg.solve(K, [*Q, 0.0])
    assert list(found.accelerations.values()) == pytest.approx(rates, rel=1e-13)
    assert found.multipliers["k"] == pytest.approx(multiplier, rel=1e-13)
    assert found.units["k"] == ("N*m" if kind == "differential" else "N")
    assert ns.verify(model, states=2).holds
    ns.save_model(model, tmp_path / "shafts.toml")
    assert ns.load(tmp_path / "shafts.toml") == model


#: Blocks [ω; ċ] of a row on its bodies: teeth at the pitch point, couples elsewhere.
BLOCKS = {
    "external": {"i": (0, 0, 0.04, 0, 1, 0), "j": (0, 0, 0.1, 0, -1, 0)},
    "internal": {"i": (0, 0, 0.04, 0, -1, 0), "j": (0, 0, -0.1, 0, 1, 0)},
    "rack": {"i": (0, 0, 0.04, 1, 0, 0), "j": (0, 0, -0.04, -1, 0, 0)},
    "belt": {"i": (0, 0, 0.04, 0, 0, 0), "j": (0, 0, -0.1, 0, 0, 0)},
    "crossed belt": {"i": (0, 0, 0.04, 0, 0, 0), "j": (0, 0, 0.1, 0, 0, 0)},
    "planetary": {
        "i": (0, 0, 0.04, 0, 0, 0),
        "j": (0, 0, 0.1, 0, 0, 0),
        "k": (0, 0, -0.14, 0, 0, 0),
    },
    "differential": {
        "i": (0, 0, -2 / 3, 0, 0, 0),
        "j": (0, 0, 1, 0, 0, 0),
        "k": (0, 0, 1, 0, 0, 0),
    },
}


@pytest.mark.parametrize("kind", TRANSMISSIONS)
def test_coupling_blocks_of_transmissions_by_hand(kind: str) -> None:
    """[SahaAngeles1991, section 3.1]: a transmission is a coupling as any other."""
    model = shafts(
        TRANSMISSIONS[kind][0], slide=kind == "rack", distance=0.06 if kind == "internal" else 0.14
    )
    state = {"a.rate": 0.7} | ({} if kind in ("rack", "belt") else {"c.rate": 0.3})
    m = ns.matrices(model, state=state, inputs={"ua": 0.7, "uc": 0.4})
    found = {name[2]: m[name] for name in m.names if name.endswith(".row.k")}
    assert found.keys() == BLOCKS[kind].keys()
    for body, block in BLOCKS[kind].items():
        assert found[body].ravel() == pytest.approx(block, abs=1e-15)
    # three shafts, one row: two degrees of freedom
    assert np.linalg.matrix_rank(m["A"]) == 18 - 2
    assert np.abs(m["A"] @ m["t"]).max() < 1e-15
    # what the teeth do is in w^N, and w^N in the range of Aᵀ
    split = np.linalg.lstsq(m["A"].T, m["w_N"], rcond=1e-12)[0]
    assert m["A"].T @ split == pytest.approx(m["w_N"], abs=1e-12)
    assert np.abs(m["Tt_w_N"]).max() < 1e-14


def test_a_pair_of_gears_by_its_closed_form() -> None:
    """θ̈₁ = τ/(J₁ + J₂ (r₁/r₂)²), and the teeth carry J₂ θ̈₂/r₂."""
    model = shafts(TRANSMISSIONS["external"][0])
    found = ns.evaluate(ns.System(equations=ns.derive(model)), {}, inputs={"ua": 0.7})
    ratio = 0.04 / 0.1
    expected = 0.7 / (0.02 + 0.05 * ratio**2)
    assert found.accelerations["a.rate"] == pytest.approx(expected, rel=1e-14)
    assert abs(found.multipliers["k"]) == pytest.approx(0.05 * expected * ratio / 0.1, rel=1e-13)


def test_a_planet_of_its_own_on_an_arm() -> None:
    """Sun, ring and a planet on the carrier: two gears are the planetary set, and the planet's."""
    b = ns.ModelBuilder("epicyclic", gravity=(0.0, 0.0, -9.81))
    for name in ("sun", "ring", "arm"):
        b.body(name, mass=1.0, inertia=(0.02, 0.02, 0.02))
        b.joint(name, ns.joints.Revolute(axis=(0, 0, 1)), parent="world", child=name)
    b.body("planet", mass=1e-9, inertia=(1e-12,) * 3)
    place = ns.Placement(position=(0.07, 0.0, 0.0))
    axis = ns.joints.Revolute(axis=(0, 0, 1))
    b.joint("planet", axis, parent="arm", child="planet", parent_frame=place)
    b.input("u", "N*m")
    b.force(ns.forces.Motor(name="m", speed="sun.rate", input="u"))
    mesh = {"second": "planet.angle", "second_radius": 0.03, "carrier": "arm.angle"}
    b.row(ns.rows.Gear(name="in", first="sun.angle", first_radius=0.04, **mesh))
    b.row(ns.rows.Gear(name="out", first="ring.angle", first_radius=0.1, is_internal=True, **mesh))
    found = ns.evaluate(ns.System(equations=ns.derive(b.build())), {}, inputs={"u": 0.3})
    G = np.array([0.04, 0.1, -0.14])
    K = np.block([[0.02 * np.eye(3), -G[:, None]], [G[None], np.zeros((1, 1))]])
    rates = np.linalg.solve(K, [0.3, 0.0, 0.0, 0.0])[:3]
    names = ("sun.rate", "ring.rate", "arm.rate")
    assert [found.accelerations[n] for n in names] == pytest.approx(rates, rel=1e-6)


def test_losses_take_the_energy_they_say() -> None:
    """A gear: c (r ω)² of heat; a differential: c (ω_l − ω_r)²."""
    gear = ns.rows.Gear(
        name="k",
        first="a.angle",
        second="b.angle",
        first_radius="r",
        second_radius=0.1,
        loss=2.0,
    )
    system = ns.compile(ns.derive(shafts(gear)))
    run = ns.simulate(system, start={"a.rate": 5.0}, duration=2.0, rtol=1e-11, atol=1e-11)
    decay = 2.0 * 0.04**2 / (0.02 + 0.05 * 0.4**2)
    np.testing.assert_allclose(run["a.rate"], 5.0 * np.exp(-decay * run.t), rtol=1e-9)
    sides = ns.rows.Differential(
        name="k", drive="a.angle", left="b.angle", right="c.angle", ratio=3.0, loss=0.01
    )
    found = ns.evaluate(
        ns.System(equations=ns.derive(shafts(sides))), {"b.rate": 3.0, "c.rate": -1.0}
    )
    rates = [f"{n}.rate" for n in "abc"]
    power = sum(
        J * found.accelerations[n] * found.speeds[n]
        for n, J in zip(rates, INERTIA.values(), strict=True)
    )
    assert power == pytest.approx(-0.01 * 4.0**2, rel=1e-12)


LOSSY = {"name": "k", "loss": 0.7, "friction": 1.3, "smoothing": 0.02}


@pytest.mark.parametrize(
    ("row", "slip"),
    [
        (ns.rows.Gear(first="a.angle", second="b.angle", first_radius="r", second_radius=0.1,
                      **LOSSY), {"a.rate": 0.04}),
        (ns.rows.Belt(first="a.angle", second="b.angle", first_radius="r", second_radius=0.1,
                      **LOSSY), {"a.rate": 0.04}),
        (ns.rows.Planetary(sun="a.angle", ring="b.angle", carrier="c.angle", sun_radius="r",
                           ring_radius=0.1, **LOSSY), {"a.rate": 0.04, "c.rate": -0.04}),
        (ns.rows.Differential(drive="a.angle", left="b.angle", right="c.angle", **LOSSY),
         {"b.rate": 1.0, "c.rate": -1.0}),
    ],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_dry_and_viscous_losses_are_the_work_of_a_run(row, slip) -> None:
    """The energy lost is ∫ c s² + F s tanh(s/s₀) dt, and all formulations know it."""
    model = shafts(row)
    assert ns.verify(model).holds
    start = {"a.rate": 5.0} if len(row.terms()) == 2 else {"b.rate": 4.0, "c.rate": -3.0}
    times = np.linspace(0.0, 0.4, 4001)
    run = ns.simulate(
        ns.compile(ns.derive(model)),
        start=start,
        duration=0.4,
        samples=4001,
        rtol=1e-11,
        atol=1e-11,
    )
    s = sum(factor * run[name] for name, factor in slip.items())
    power = 0.7 * s**2 + 1.3 * s * np.tanh(s / 0.02)
    # Simpson's rule over 4000 intervals: the error is 1e-11 of the integral
    lost = simpson(power, x=times)
    energy = sum(
        J * run[f"{n}.rate"] ** 2 / 2 for n, J in zip("abc", INERTIA.values(), strict=True)
    )
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-8)
    assert run.work[-1] == pytest.approx(-lost, rel=1e-8)
    assert lost > 0.01 * energy[0]


def test_faults_of_transmissions_come_at_once() -> None:
    with pytest.raises(ns.ModelError) as caught:
        shafts(
            TRANSMISSIONS["external"][0],
            ns.rows.Belt(
                name="other",
                first="a.angle",
                second="b.angle",
                first_radius=0.1,
                second_radius=0.2,
            ),
            ns.rows.Belt(
                name="self", first="a.angle", second="a.angle", first_radius=1, second_radius=2
            ),
            ns.rows.Belt(
                name="near", first="a.angle", second="b.angle", first_radius=0.2, second_radius=0.5
            ),
            ns.rows.Gear(
                name="apart", first="a.angle", second="b.angle", first_radius=0.1, second_radius=0.3
            ),
            ns.rows.Gear(
                name="same",
                first="b.angle",
                second="c.position",
                first_radius=1.0,
                second_radius=1.0,
                is_internal=True,
            ),
            ns.rows.Planetary(
                name="wide",
                sun="a.angle",
                ring="b.angle",
                carrier="d.angle",
                sun_radius=0.3,
                ring_radius=0.1,
            ),
            slide=True,
        )
    said = [fault.what for fault in caught.value.faults]
    for words in (
        "rows 'k' and 'other' couple the same two joints with different ratios",
        "couples 'a.angle' with itself",
        "internal pair of gears with equal radii",
        "couples 'c.position', which is in m, where an angle is expected",
        "a sun of radius 0.3 m in a ring of radius 0.1 m",
        "'d.angle', which is not declared",
        "row 'apart' has gears of radii 0.1 m and 0.3 m, whose axes are 0.14 m apart",
        "row 'near' has a belt on pulleys of radii 0.2 m and 0.5 m, whose axes are 0.14 m apart",
    ):
        assert any(words in what for what in said), words


def test_gears_are_drawn() -> None:
    model = shafts(TRANSMISSIONS["external"][0])
    shapes = default_shapes(model, model.bodies[1], model.parameter_values())
    assert any(isinstance(s, ns.shapes.Cylinder) and s.radius == pytest.approx(0.1) for s in shapes)


def test_a_screw_and_a_gantry_by_their_closed_forms() -> None:
    """A nut spins down with m g p/(J + m p²); a gantry moves as a point."""
    b = ns.ModelBuilder("nut", gravity=(0.0, 0.0, -9.81))
    b.body("nut", mass=0.2, inertia=(5e-5, 5e-5, 5e-5))
    b.joint("nut", ns.joints.Screw(axis=(0, 0, 1), lead=0.01), parent="world", child="nut")
    found = ns.evaluate(ns.System(equations=ns.derive(b.build())), {})
    expected = -0.2 * 9.81 * 0.01 / (5e-5 + 0.2 * 0.01**2)
    assert found.accelerations["nut.rate"] == pytest.approx(expected, rel=1e-14)
    b = ns.ModelBuilder("gantry", gravity=(0.5, -0.2, -9.81))
    b.body("tool", mass=2.0, inertia=(1.0, 1.0, 1.0), center_of_mass=(0.1, 0.2, 0.3))
    b.joint("tool", ns.joints.Translation(), parent="world", child="tool")
    found = ns.evaluate(ns.System(equations=ns.derive(b.build())), {"tool.vx": 1.0})
    assert list(found.accelerations.values()) == pytest.approx([0.5, -0.2, -9.81], rel=1e-14)


def on_pins(places: dict[str, tuple], mass: float, moments: float | dict, g: float = 9.81):
    """A builder of wheels that turn about z in the world at their places (x, y)."""
    b = ns.ModelBuilder("pins", gravity=(0.0, 0.0, -g))
    for name, (x, y) in places.items():
        J = moments[name] if isinstance(moments, dict) else moments
        b.body(name, mass=mass, inertia=(J, J, J))
        place = ns.Placement(position=(x, y, 0.0))
        axis = ns.joints.Revolute(axis=(0, 0, 1))
        b.joint(name, axis, parent="world", child=name, parent_frame=place)
    return b


def test_pins_carry_what_teeth_push() -> None:
    """Two gears 0.14 m apart: the pins hold the tooth force and the weights."""
    b = on_pins({"a": (0.0, 0.0), "b": (0.14, 0.0)}, 1.5, {"a": 0.02, "b": 0.05})
    b.input("u", "N*m")
    b.force(ns.forces.Motor(name="m", speed="a.rate", input="u"))
    radii = {"first_radius": 0.04, "second_radius": 0.1}
    b.row(ns.rows.Gear(name="k", first="a.angle", second="b.angle", **radii))
    system = ns.System(equations=ns.derive(b.build()))
    found = ns.evaluate(system, {"a.angle": 0.7}, inputs={"u": 1.0})
    force = found.multipliers["k"]
    assert abs(force) == pytest.approx(0.05 * abs(found.accelerations["b.rate"]) / 0.1, rel=1e-12)
    pins = found.joint_reactions
    parts = ("x", "y", "z", "moment_z")
    assert [pins["a"][p] for p in parts] == pytest.approx([0, -force, 1.5 * 9.81, 1.0], abs=1e-12)
    assert [pins["b"][p] for p in parts] == pytest.approx([0, force, 1.5 * 9.81, 0.0], abs=1e-12)
    assert not found.notes


def test_pins_of_a_ring_and_a_rack() -> None:
    """A pinion in a ring, and one on a rack that runs beneath it."""
    b = on_pins({"ring": (0.0, 0.0), "pinion": (0.06, 0.0)}, 1.0, 0.03, g=0.0)
    b.body("rack", mass=2.0, inertia=(0.1, 0.1, 0.1))
    below = ns.Placement(position=(0.06, -0.04, 0.0))
    slide = ns.joints.Prismatic(axis=(1, 0, 0))
    b.joint("rack", slide, parent="world", child="rack", parent_frame=below)
    b.input("u", "N*m")
    b.force(ns.forces.Motor(name="m", speed="ring.rate", input="u"))
    meshed = {"first_radius": 0.1, "second_radius": 0.04, "is_internal": True}
    b.row(ns.rows.Gear(name="mesh", first="ring.angle", second="pinion.angle", **meshed))
    b.row(ns.rows.Rack(name="teeth", gear="pinion.angle", rack="rack.position", radius=0.04))
    model = b.build()
    found = ns.evaluate(ns.System(equations=ns.derive(model)), {}, inputs={"u": 1.0})
    mesh, teeth = found.multipliers["mesh"], found.multipliers["teeth"]
    pins = found.joint_reactions
    assert pins["ring"]["y"] == pytest.approx(-mesh, rel=1e-12)
    assert pins["pinion"]["y"] == pytest.approx(mesh, rel=1e-12)
    assert pins["pinion"]["x"] == pytest.approx(-teeth, rel=1e-12)
    assert pins["rack"]["x"] == pytest.approx(0.0, abs=1e-12)
    assert -teeth == pytest.approx(2.0 * found.accelerations["rack.speed"], rel=1e-12)


def test_three_gears_in_a_ring_lock_each_other() -> None:
    """Each pair fits, and the three together cannot turn; a fourth shaft that idles may."""
    height = (0.14**2 - 0.07**2) ** 0.5
    places = {"a": (0.0, 0.0), "b": (0.14, 0.0), "c": (0.07, height)}
    b = on_pins(places, 1.0, 0.1, g=0.0)
    for first, second in ("ab", "bc", "ca"):
        names = {"first": f"{first}.angle", "second": f"{second}.angle"}
        b.row(ns.rows.Gear(name=first + second, first_radius=0.07, second_radius=0.07, **names))
    with pytest.raises(ns.ModelError, match=r"row 'ca' locks what rows 'ab', 'bc' couple"):
        b.build()


@pytest.mark.parametrize("is_crossed", [False, True])
@pytest.mark.parametrize("torque", [0.9, -0.9, 0.05])
@pytest.mark.parametrize("tension", [0.0, 4.0])
def test_pins_of_pulleys_carry_the_pull_of_both_strands(
    is_crossed: bool, torque: float, tension: float
) -> None:
    """Tangents of two circles drawn by hand, with the tensions of a belt at rest and a chain."""
    distance, first, second = 0.5, 0.2, 0.05
    b = on_pins({"a": (0.0, 0.0), "b": (distance, 0.0)}, 1.5, {"a": 0.02, "b": 0.05})
    b.input("u", "N*m")
    b.force(ns.forces.Motor(name="m", speed="a.rate", input="u"))
    radii = {"first_radius": first, "second_radius": second, "is_crossed": is_crossed}
    b.row(ns.rows.Belt(name="k", first="a.angle", second="b.angle", tension=tension, **radii))
    system = ns.System(equations=ns.derive(b.build()))
    found = ns.evaluate(system, {"a.angle": 0.7}, inputs={"u": torque})
    assert not found.notes
    difference = found.multipliers["k"]
    assert abs(difference) == pytest.approx(
        0.05 * abs(found.accelerations["b.rate"]) / second, rel=1e-12
    )
    tensions = sorted([tension + difference / 2, tension - difference / 2])
    if tensions[0] < 0:
        tensions = [0.0, abs(difference)]
    # the lower strand turns the first pulley forward
    lower, upper = tensions[::-1] if difference > 0 else tensions
    slope = np.arcsin((first + second if is_crossed else first - second) / distance)
    pull = (lower + upper) * np.cos(slope), (lower - upper) * np.sin(slope)
    pins = found.joint_reactions
    parts = ("x", "y", "z", "moment_z")
    weight = 1.5 * 9.81
    expected = [-pull[0], -pull[1], weight, torque]
    assert [pins["a"][p] for p in parts] == pytest.approx(expected, abs=1e-12)
    expected = [pull[0], pull[1], weight, 0.0]
    assert [pins["b"][p] for p in parts] == pytest.approx(expected, abs=1e-12)


def test_pins_that_are_not_known_say_what_is_missing() -> None:
    def notes(row: ns.rows.AbstractTransmission, **how: float) -> tuple[str, ...]:
        return ns.evaluate(ns.System(equations=ns.derive(shafts(row, **how))), {}).notes

    (note,) = notes(TRANSMISSIONS["belt"][0])
    assert "joints 'a', 'b'" in note and "row 'k' has no tension" in note
    (note,) = notes(TRANSMISSIONS["differential"][0])
    assert "where the teeth between its drive and its cage are" in note
    (note,) = notes(TRANSMISSIONS["external"][0], distance=0.0)
    assert "row 'k' has radii that do not fit the places of its joints" in note


def test_a_differential_pushes_with_couples() -> None:
    """A cage on one axis with its sides: bearings carry weights alone, and no moment about it."""
    b = ns.ModelBuilder("axle", gravity=(0.0, 0.0, -9.81))
    b.body("housing", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("housing", ns.joints.Revolute(axis=(0, 1, 0)), parent="world", child="housing")
    for name, J in (("cage", 0.02), ("left", 0.05), ("right", 0.03)):
        b.body(name, mass=1.5, inertia=(J, J, J))
        b.joint(name, ns.joints.Revolute(axis=(0, 1, 0)), parent="housing", child=name)
    b.input("u", "N*m")
    b.input("load", "N*m")
    b.force(ns.forces.Motor(name="m", speed="cage.rate", input="u"))
    b.force(ns.forces.Motor(name="l", speed="left.rate", input="load"))
    b.row(
        ns.rows.Differential(name="k", drive="cage.angle", left="left.angle", right="right.angle")
    )
    system = ns.System(equations=ns.derive(b.build()))
    found = ns.evaluate(system, {"left.rate": 2.0}, inputs={"u": 1.0, "load": -0.3})
    assert not found.notes
    pins = found.joint_reactions
    for name, torque in (("cage", 1.0), ("left", -0.3), ("right", 0.0)):
        wrench = [pins[name][p] for p in ("x", "y", "z", "moment_x", "moment_y", "moment_z")]
        assert wrench == pytest.approx([0, 0, 1.5 * 9.81, 0, torque, 0], abs=1e-12)
    # the hinge of the housing is free, and the housing feels motors alone
    assert pins["housing"]["moment_y"] == pytest.approx(0.0, abs=1e-12)
    assert 0.1 * found.accelerations["housing.rate"] == pytest.approx(-0.7, abs=1e-12)


def cam_model(aside=0.01, swings=False):
    """A cam that turns about y, and above it a valve that slides or a rocker that swings."""
    b = ns.ModelBuilder("valve", gravity=(0.0, 0.0, -9.81))
    b.parameter("h", 0.02, unit="m")
    b.body("shaft", mass=1.0, inertia=(2e-3, 3e-3, 2e-3))
    b.body("valve", mass=0.3, inertia=(1e-4, 4e-4, 1e-4))
    b.joint("cam", ns.joints.Revolute(axis=(0, 1, 0)), parent="world", child="shaft")
    law = "h*(1 - cos(cam.angle))/2"
    if swings:
        # a pivot 0.08 m beside the roller, which is 0.05 m above the cam's axis at rest
        place = ns.Placement(position=(-0.08, 0.0, 0.05))
        kind, arm = ns.joints.Revolute(axis=(0, -1, 0)), (0.08, 0.0, 0.0)
        cam = ns.rows.Cam(
            name="tie", cam="cam.angle", follower="v.angle", lift=f"5*{law}", roller=arm, unit="rad"
        )
    else:
        place, kind = ns.Placement(position=(aside, 0.0, 0.05)), ns.joints.Prismatic(axis=(0, 0, 1))
        cam = ns.rows.Cam(name="tie", cam="cam.angle", follower="v.position", lift=law)
    b.joint("v", kind, parent="world", child="valve", parent_frame=place)
    b.row(cam)
    return b.build()


def test_a_cam_pushes_its_follower_along_the_normal():
    """I θ̈ = −m s′(s″θ̇² + g), λ = m (s̈ + g), and tan α = (s′ + e)/d at the roller's center."""
    system = ns.compile(ns.derive(cam_model()))
    state = {"cam.angle": 0.7, "cam.rate": 3.0}
    instant = ns.evaluate(system, state)
    m, inertia, d = 0.3, 3e-3, 0.05 + 0.01 * (1 - np.cos(0.7))
    slope, curve = 0.01 * np.sin(0.7), 0.01 * np.cos(0.7)
    turning = -m * slope * (curve * 9.0 + 9.81) / (inertia + m * slope**2)
    assert instant.accelerations["cam.rate"] == pytest.approx(turning, rel=1e-13)
    lam = m * (slope * turning + curve * 9.0 + 9.81)
    assert instant.multipliers["tie"] == pytest.approx(lam, rel=1e-13)
    run = ns.simulate(system, duration=1e-3, start=state)
    shaft, guide = ns.reactions(system, run)
    assert guide.force[0][0] == pytest.approx(-lam * (slope + 0.01) / d, rel=1e-12)
    assert shaft.force[0][2] == pytest.approx(lam + 9.81, rel=1e-12)
    objects = ns.matrices(system, state=state)
    assert np.linalg.matrix_rank(objects["A"]) == 11
    assert np.abs(objects["A"] @ objects["T"]).max() < 1e-15
    along = np.array([(slope + 0.01) / d, 0.0, 1.0])
    assert np.allclose(objects["A_j.row.tie"][0, 3:], along, atol=1e-14)


def test_a_cam_swings_a_rocker():
    """The force of a rocker does the work of its torque: λ ψ̇ = F · v, along the normal."""
    system = ns.compile(ns.derive(cam_model(swings=True)))
    state = {"cam.angle": 0.7, "cam.rate": 3.0}
    block = ns.matrices(system, state=state)["A_j.row.tie"][0]
    angle, slope = 0.05 * (1 - np.cos(0.7)), 0.05 * np.sin(0.7)
    roller = np.array([-0.08 + 0.08 * np.cos(angle), 0.0, 0.05 + 0.08 * np.sin(angle)])
    f = block[3:]
    on_follower = 0.08 * np.array([-np.sin(angle), 0.0, np.cos(angle)])
    assert f @ on_follower == pytest.approx(1.0, rel=1e-13)
    assert f @ np.cross([0.0, 1.0, 0.0], roller) == pytest.approx(slope, rel=1e-12)

    # the curve of the roller's center on the turning cam, by differences
    def on_cam(theta):
        psi = 0.05 * (1 - np.cos(theta))
        x, z = -0.08 + 0.08 * np.cos(psi), 0.05 + 0.08 * np.sin(psi)
        return np.array(
            [np.cos(theta) * x - np.sin(theta) * z, np.sin(theta) * x + np.cos(theta) * z]
        )

    tangent = (on_cam(0.7 + 1e-6) - on_cam(0.7 - 1e-6)) / 2e-6
    x, z = np.cos(0.7) * f[0] - np.sin(0.7) * f[2], np.sin(0.7) * f[0] + np.cos(0.7) * f[2]
    assert abs(np.array([x, z]) @ tangent) < 1e-8 * np.linalg.norm(f) * np.linalg.norm(tangent)


@pytest.mark.parametrize(
    "wrong",
    [{"lift": "0.1*v.position"}, {"lift": "0.1"}, {"unit": "rad"}, {"cam": "v.position"}],
)
def test_a_cam_that_is_none_is_refused(wrong):
    model = cam_model()
    (cam,) = model.rows
    with pytest.raises(ns.ModelError) as refused:
        ns.check(dataclasses.replace(model, rows=(dataclasses.replace(cam, **wrong),)))
    assert "tie" in str(refused.value)
