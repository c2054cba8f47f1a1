"""Controllability, symmetries, measures and flat outputs, against the literature and runs."""

import numpy as np
import pytest
from test_constraints_and_brackets import ball, unicycle_with_trailers

import noslip as ns


def planar_body(*inputs):
    """A body in the plane: a force ahead, one across it beside the mass center, a moment."""
    b = ns.ModelBuilder(name="planar body", gravity=(0.0, 0.0, 0.0))
    b.body("body", mass=2.0, inertia=(0.1, 0.1, 0.4))
    b.joint("base", ns.joints.Planar(), parent="world", child="body")
    given = {
        "ahead": {"force": ("ahead", 0.0, 0.0)},
        "across": {"force": (0.0, "across", 0.0), "point": (-0.3, 0.0, 0.0)},
        "turning": {"moment": (0.0, 0.0, "turning")},
    }
    for name in inputs:
        b.input(name, "N*m" if name == "turning" else "N")
        b.force(ns.forces.Wrench(name=f"{name}_force", body="body", axes="body", **given[name]))
    return b.build()


#: Inputs → accessible, controllable from rest, kinematically controllable [LewisMurray1997,
#: BulloLynch2001].
PLANAR_BODY = {
    ("ahead", "across"): ("yes", "yes", "yes"),
    ("ahead", "turning"): ("yes", "yes", "yes"),
    ("across", "turning"): ("yes", "undecided", "undecided"),
    ("ahead",): ("no", "no", "undecided"),
    ("across",): ("yes", "no", "undecided"),
}


@pytest.mark.parametrize("inputs", PLANAR_BODY)
def test_the_planar_body_of_lewis_and_murray(inputs):
    found = ns.controllability(planar_body(*inputs))
    answers = (found.accessible.answer, found.controllable.answer, found.by_decoupling.answer)
    assert answers == PLANAR_BODY[inputs]
    assert found.dimension == 3


def test_a_bad_product_is_named():
    found = ns.controllability(planar_body("across", "turning"))
    assert found.controllable.reason.startswith("⟨across : across⟩ is bad")
    assert found.decoupling == ("turning",)


def test_a_vehicle_is_controllable_on_the_leaves_of_its_integrals():
    found = ns.controllability(ns.load("agv"))
    assert found.controllable and found.dimension == 6
    assert found.decoupling == ("torque1", "torque2")
    assert "1 integral of the constraints cannot change" in found.kinematic.reason
    assert found.kinematic.answer == "no"
    assert ns.controllability(ns.load("chaplygin-sleigh")).kinematic.answer == "yes"


def test_given_speeds_in_constraints_leave_open_what_speeds_reach():
    """A blade on a belt that runs: Chow's theorem is for motions without drift."""
    b = ns.ModelBuilder(name="belt", gravity=(0.0, 0.0, 0.0))
    b.body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
    b.row(ns.rows.VelocityRow(name="belt", expression="cart.vy - 0.5", unit="m/s"))
    found = ns.controllability(b.build())
    assert found.kinematic.answer == "undecided"


def test_what_the_theorems_do_not_say_is_undecided():
    answer = ns.controllability(ns.load("snakeboard")).controllable
    assert answer.answer == "undecided" and "given speeds" in answer.reason
    answer = ns.controllability(ns.load("rattleback")).controllable
    assert answer.answer == "undecided" and "no force input" in answer.reason
    with pytest.raises(ns.FormulationError, match="degree is 0"):
        ns.controllability(ns.load("agv"), degree=0)


#: Model → whether a density of the configuration is kept, and where that is known from: the sleigh
#: gathers at its steady motions; disk and ball keep volume [FedorovGarciaNaranjoMarrero2015].
MEASURES = {"chaplygin-sleigh": "no", "rolling-disk": "yes", "vertical-disk": "yes"}


@pytest.mark.parametrize("name", MEASURES)
def test_invariant_measures(name):
    assert ns.structure(ns.load(name)).measure.answer == MEASURES[name]


def test_volume_is_kept_where_the_density_is_constant(system_of):
    """The divergence of the flow, by differences of the rates themselves."""
    system = system_of("rolling-disk")
    assert ns.structure(system.model).measure.density == "constant"
    start = ns.complete_start(
        system, {"disk.tilt": 1.1, "disk.wx": 0.4, "disk.wy": 2.0, "disk.wz": -0.7}
    )
    x = np.concatenate([start.q, start.eta])
    given = (0.0, np.zeros(len(system.inputs)), system.parameters())
    slopes = [
        (
            system.rates(given[0], x + h, *given[1:])[k]
            - system.rates(given[0], x - h, *given[1:])[k]
        )
        / 2e-6
        for k, h in enumerate(1e-6 * np.eye(len(x)))
    ]
    assert abs(sum(slopes)) < 1e-7


def test_momentum_of_a_symmetry_is_constant_along_a_run(system_of):
    system = system_of("snakeboard")
    found = {s.name: s for s in ns.structure(system.model).symmetries}
    rotor = found["rotor.angle"]
    assert rotor.is_conserved and rotor.inputs == ("rotor.torque",)
    run = ns.simulate(
        system,
        duration=2.0,
        start={"board.vx": 0.5, "rotor.rate": 1.0},
        inputs={"front.steering_rate": "0.3*cos(t)", "back.steering_rate": "-0.3*cos(t)"},
    )
    values = rotor.along(run)
    assert np.ptp(values) < 1e-8 * np.max(np.abs(values))
    assert np.ptp(run["rotor.rate"]) > 1e-3


def test_symmetries_of_a_sleigh_are_the_motions_of_its_plane():
    found = ns.structure(ns.load("chaplygin-sleigh"))
    names = [s.name for s in found.symmetries]
    assert names == ["displacement along x", "displacement along y", "rotation about z"]
    # the connection is not a Chaplygin one: two of the three motions are admissible combinations
    assert found.admissible == 2 and not found.is_chaplygin


def test_gravity_leaves_the_symmetries_about_the_vertical():
    names = {s.name for s in ns.structure(ball(spin=False)).symmetries}
    assert {"displacement along x", "displacement along y", "rotation about z"} <= names
    assert not {"displacement along z", "rotation about x"} & names


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_last_axle_is_the_flat_output(count):
    """[MartinRouchon1994]"""
    flat = ns.structure(unicycle_with_trailers(count)).flat
    assert flat.answer == "yes" and flat.flag == tuple(range(2, count + 4))
    assert flat.points[0] == (f"axle{count}" if count else "axle")
    assert all(f"axle{k}" not in flat.points for k in range(1, count))


def test_two_trailers_have_chaplygin_form():
    found = ns.structure(unicycle_with_trailers(2))
    assert found.is_chaplygin and found.shape == ("hitch1.angle", "hitch2.angle")
    assert found.orbit == 3 and found.freedom == 2


@pytest.mark.parametrize(
    "name, wheels, left_out",
    [
        ("differential-robot", "left and right", "caster.swivel.angle"),
        ("agv", "wheel1 and wheel2", "bracket.angle"),
        ("ackermann-car", "rear.left and rear.right", "rear.left.angle"),
    ],
)
def test_the_middle_of_the_driven_wheels_is_the_flat_output(name, wheels, left_out):
    """Casters follow: their rates depend on their own angles alone."""
    flat = ns.structure(ns.load(name)).flat
    assert flat.answer == "yes" and f"the middle of {wheels}" in flat.points
    assert left_out in flat.without


def test_trailers_that_are_not_flat_are_not_called_flat():
    """Three trailers with hitches behind their axles: not flat, but their truck is."""
    flat = ns.structure(ns.load("truck-trailers")).flat
    assert flat.answer == "no" and "without" in flat.reason and not flat.points


def test_pages_have_statements_certificates_and_a_loop():
    page = ns.results.GeometryPage.of(ns.load("chaplygin-sleigh"))
    html = page.text("html")
    assert "<math" in html and "<svg" in html and "<script" not in html
    assert "(2, 3)" in html and "Chow and Rashevskii" in html
    assert "<svg" not in page.text("markdown") and "tabular" in page.text("latex")
    loop = page.distribution.loop(size=0.5)
    assert f"{loop.displacement[1]:.4g}" in page.text("text")
