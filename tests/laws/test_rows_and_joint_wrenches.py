"""Wrenches of joints beside rows written by hand, which do not say where they act.

Each body by itself must obey Newton and Euler under the wrenches that are told. And a row can be
replaced by forces that have its multiplier for their size and do the same work: the joints that
then carry the same, wherever these act, are those whose wrenches are known.
"""

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner
from newton_euler import NewtonEuler
from states import State, admissible_states

import noslip as ns
from mechanisms import FULL_INERTIA, MECHANISMS, Y, Z, builder
from noslip.cli.main import main
from noslip.formulations import unknown_wrenches

NO_ROWS = {
    name: make
    for name, make in MECHANISMS.items()
    if not make().rows
    and not any(
        isinstance(f, ns.forces.Spring | ns.forces.Wrench | ns.forces.Tire) for f in make().forces
    )
}
FORCE = "xyz"
MOMENT, POINT = ([f"{part}_{k}" for k in FORCE] for part in ("moment", "point"))


def vector(parts, names):
    return np.array([parts[name] for name in names])


def instant_at(system, state, **also):
    """The instant of one of the states of `admissible_states`."""
    numbers = np.concatenate([state.u, state.w, state.wdot])
    names = [c.name for c in (*system.coordinates, *system.speeds)]
    values = dict(zip(names, map(float, (*state.q, *state.v)), strict=True))
    inputs = {q.name: float(x) for q, x in zip(system.inputs, numbers, strict=True)}
    return ns.evaluate(system, values, inputs=inputs | also, time=state.t)


def missing(model, state, instant, applied=()):
    """For each body: force and moment about its mass center that Newton and Euler miss.

    Parameters
    ----------
    applied : (body, force, moment) in world axes, the force at the body's origin.
    """
    oracle = NewtonEuler(model)
    along = ca.vertcat(oracle.N @ oracle.v, ca.SX(list(instant.accelerations.values())))
    moving = ca.vertcat(oracle.q, oracle.v)
    gravity = oracle.column(model.gravity)
    result = {}
    for body in model.bodies:
        pose = oracle.poses[body.name]
        center = pose.point(oracle.column(body.center_of_mass))
        mass, inertia = oracle.value(body.mass), pose.R @ oracle._inertia(body) @ pose.R.T
        omega = pose.J_turn @ oracle.v
        force = mass * (ca.jtimes(pose.point_jacobian(center) @ oracle.v, moving, along) - gravity)
        moment = inertia @ ca.jtimes(omega, moving, along) + ca.cross(omega, inertia @ omega)
        f = ca.Function("f", [oracle.q, oracle.v, oracle.params], [force, moment, center, pose.p])
        force, moment, center, origin = (
            np.array(x).ravel() for x in f(state.q, state.v, state.params)
        )

        def push(sign, parts, turns=True, center=center):
            F = sign * vector(parts, FORCE)
            M = sign * vector(parts, MOMENT) if turns else 0.0
            return F, M + np.cross(vector(parts, POINT) - center, F)

        pushes = []
        for joint in model.joints:
            parts = instant.joint_reactions[joint.name]
            pushes += [push(1, parts)] if joint.child == body.name else []
            pushes += [push(-1, parts)] if joint.parent == body.name else []
        for contact in model.contacts:
            parts = instant.reactions[contact.name]
            pushes += [push(1, parts, False)] if contact.body == body.name else []
            pushes += [push(-1, parts, False)] if contact.plane.body == body.name else []
        for name, F, M in applied:
            if name == body.name:
                pushes.append((F, M + np.cross(origin - center, F)))
        result[body.name] = np.concatenate(
            [force - sum(F for F, _ in pushes), moment - sum(M for _, M in pushes)]
        )
    return result


@pytest.mark.parametrize("name", NO_ROWS)
def test_every_body_obeys_newton_and_euler(name, system_of, rng):
    """Contacts, loops, prescribed motions, speed inputs and motors act where they are."""
    system = system_of(name)
    model = system.model
    assert unknown_wrenches(system.kinematics) == {}
    for state in admissible_states(system.equations, rng, count=2):
        instant = instant_at(system, state)
        assert instant.notes == ()
        found = missing(model, state, instant)
        size = max(abs(x) for parts in instant.joint_reactions.values() for x in parts.values())
        for body, rest in found.items():
            assert np.max(np.abs(rest)) < 1e-10 * max(1.0, size), body


# --- gears on a carrier, with and without a row -------------------------------------------------

R1, R2 = 0.2, 0.3


def gears(base, how):
    """Two gears on a carrier, an arm on one of them, a pendulum on the carrier and one beside it.

    Parameters
    ----------
    base : what the carrier moves on.
    how : ``row``, or ``placed`` if it says where it acts; or the force that it stands for, of the
        size of an input: between the ``teeth``, by motors in the ``pins``, or by these and a
        ``rail`` in the world that pushes up.
    """
    b = builder("gears", (0.0, "-g", 0.0))
    for body in ("carrier", "small", "large", "arm", "side", "other"):
        b.body(body, mass=1.1, inertia=FULL_INERTIA, center_of_mass=(0.1, 0.03, 0.02))

    def at(x, y=0.0):
        return ns.Placement(position=(x, y, 0.1))

    hinge = ns.joints.Revolute(axis=Z)
    b.joint("base", base, parent="world", child="carrier")
    b.joint("small", hinge, parent="carrier", child="small", parent_frame=at(0.0))
    b.joint("large", hinge, parent="carrier", child="large", parent_frame=at(R1 + R2))
    b.joint("arm", ns.joints.Revolute(axis=Y), parent="large", child="arm", parent_frame=at(0.1))
    b.joint("side", hinge, parent="carrier", child="side", parent_frame=at(0.1, 0.4))
    b.joint("other", hinge, parent="world", child="other", parent_frame=at(2.0))
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="small.rate", input="torque"))
    if how in ("row", "placed"):
        teeth = ns.rows.RowForce(
            body="small", other_body="large", frame="carrier", point=(R1, 0, 0.1), force=(0, 1, 0)
        )
        acts = (teeth,) if how == "placed" else ()
        mesh = f"{R1}*small.rate + {R2}*large.rate"
        b.row(ns.rows.VelocityRow(name="mesh", expression=mesh, acts=acts))
        return b.build()
    b.input("size", "N")
    if how == "teeth":
        angle = "0" if isinstance(base, ns.joints.Fixed) else "base.angle"
        across = f"size*sin({angle})", f"size*cos({angle})"
        for gear, radius, sign in (("small", R1, ""), ("large", R2, "-")):
            force = (f"-({sign}{across[0]})", f"{sign}{across[1]}", 0.0)
            wrench = {"force": force, "moment": (0.0, 0.0, f"{radius}*size")}
            b.force(ns.forces.Wrench(name=gear, body=gear, **wrench))
    else:
        for gear in ("small", "large"):
            b.input(f"{gear}_torque", "N*m")
            b.force(ns.forces.Motor(name=gear, speed=f"{gear}.rate", input=f"{gear}_torque"))
    if how == "rail":
        b.force(ns.forces.Wrench(name="rail", body="small", force=(0.0, 0.0, "size")))
    return b.build()


STATE = {
    "small.angle": 0.4,
    "large.angle": -0.2,
    "arm.angle": 0.7,
    "side.angle": 1.1,
    "other.angle": 0.3,
    "small.rate": 1.5,
    "large.rate": -1.5 * R1 / R2,
    "arm.rate": 0.8,
    "side.rate": -0.6,
    "other.rate": 0.9,
}


@pytest.mark.parametrize(
    "base",
    [ns.joints.Revolute(axis=Z), ns.joints.Planar(), ns.joints.Fixed()],
    ids=["revolute", "planar", "fixed"],
)
def test_exactly_the_joints_that_depend_on_where_a_row_acts_are_unknown(base):
    """What differs between teeth, motors and a rail of the same work is what is not told."""
    turning = {} if isinstance(base, ns.joints.Fixed) else {"base.angle": 0.5, "base.rate": 0.4}
    system = ns.compile(ns.derive(gears(base, "row")))
    row = ns.evaluate(system, STATE | turning, inputs={"torque": 2.0})
    size = row.multipliers["mesh"]
    assert abs(size) > 1.0
    others = []
    for how in ("teeth", "pins", "rail"):
        acting = ns.compile(ns.derive(gears(base, how)))
        inputs = {"torque": 2.0, "size": size}
        if how != "teeth":
            inputs |= {"small_torque": R1 * size, "large_torque": R2 * size}
        found = ns.evaluate(acting, STATE | turning, inputs=inputs)
        assert found.accelerations == pytest.approx(row.accelerations, abs=1e-10)
        others.append(found.joint_reactions)
    unknown = unknown_wrenches(system.kinematics)
    assert unknown == dict.fromkeys(("base", "small", "large"), ("mesh",))
    for joint, parts in row.joint_reactions.items():
        told = [vector(o[joint], (*FORCE, *MOMENT)) for o in others]
        point = vector(parts, POINT)
        assert point == pytest.approx(vector(others[0][joint], POINT), abs=1e-12)
        wrench = vector(parts, (*FORCE, *MOMENT))
        spread = max(np.max(np.abs(x - told[0])) for x in told)
        if joint not in unknown:
            assert spread < 1e-9
            assert wrench == pytest.approx(told[0], abs=1e-9)
        else:
            assert np.all(np.isnan(wrench)) and spread > 0.1
    # bodies that touch no unknown joint obey Newton and Euler by themselves
    run = ns.simulate(
        system, duration=0.3, start=STATE | turning, inputs={"torque": 2.0}, samples=4
    )
    for k, t in enumerate(run.t):
        none = np.zeros(0)
        given = State(
            float(t), run.q[k], none, run.v[k], np.array([2.0]), none, none, system.parameters()
        )
        found = missing(system.model, given, instant_at(system, given))
        for body in ("arm", "side", "other"):
            assert np.max(np.abs(found[body])) < 1e-10
        assert np.all(np.isnan(found["small"]))


@pytest.mark.parametrize(
    "base", [ns.joints.Revolute(axis=Z), ns.joints.Planar(), ns.joints.Fixed(), ns.joints.Free()]
)
def test_a_row_that_says_where_it_acts_is_the_force_there(base):
    """Wrenches of all joints are those of the teeth's own forces, and every body obeys Newton."""
    turning = {} if isinstance(base, ns.joints.Fixed) else {"base.angle": 0.5, "base.rate": 0.4}
    if isinstance(base, ns.joints.Free):
        turning = {}
    system = ns.compile(ns.derive(gears(base, "placed")))
    row = ns.evaluate(system, STATE | turning, inputs={"torque": 2.0})
    assert row.notes == () and unknown_wrenches(system.kinematics) == {}
    if not isinstance(base, ns.joints.Free):
        teeth = ns.compile(ns.derive(gears(base, "teeth")))
        inputs = {"torque": 2.0, "size": row.multipliers["mesh"]}
        found = ns.evaluate(teeth, STATE | turning, inputs=inputs)
        for joint, parts in found.joint_reactions.items():
            assert row.joint_reactions[joint] == pytest.approx(parts, abs=1e-9)
    run = ns.simulate(
        system, duration=0.3, start=STATE | turning, inputs={"torque": 2.0}, samples=3
    )
    none = np.zeros(0)
    for k, t in enumerate(run.t):
        given = State(
            float(t), run.q[k], none, run.v[k], np.array([2.0]), none, none, system.parameters()
        )
        instant = instant_at(system, given)
        size = instant.multipliers["mesh"]
        axes = rotation(system, given, "carrier")
        point = axes[:, 3] + axes[:, :3] @ [R1, 0, 0.1]
        force = size * axes[:, 1]
        applied = []
        for body, sign in (("small", 1.0), ("large", -1.0)):
            arm = point - rotation(system, given, body)[:, 3]
            applied.append((body, sign * force, np.cross(arm, sign * force)))
        for rest in missing(system.model, given, instant, applied).values():
            assert np.max(np.abs(rest)) < 1e-10


def rotation(system, state, body):
    """(3, 4) axes and origin of a body, by the oracle."""
    oracle = NewtonEuler(system.model)
    pose = oracle.poses[body]
    f = ca.Function("f", [oracle.q, oracle.params], [ca.horzcat(pose.R, pose.p)])
    return np.array(f(state.q, state.params))


def test_a_row_that_would_do_other_work_where_it_says_is_refused(tmp_path):
    """A direction turned by 90°, a moment instead of a force, and a row of positions that fits."""

    def of(**act):
        b = builder("rod")
        b.body("rod", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.02))
        b.joint("pin", ns.joints.Revolute(axis=Y), parent="world", child="rod")
        act = ns.rows.RowForce(body="rod", **act)
        expression = "point(rod, 0.4, 0, 0).z - 0.1*t"
        b.row(ns.rows.PositionRow(name="rail", expression=expression, acts=(act,)))
        return b.build()

    up = {"point": (0.4, 0, 0), "force": ("-sin(pin.angle)", 0, "cos(pin.angle)")}
    for wrong in (
        {**up, "force": ("cos(pin.angle)", 0, "sin(pin.angle)")},
        {**up, "point": (0.3, 0, 0)},
        {"moment": (0, "-0.4", 0)},
    ):
        with pytest.raises(ns.ModelError, match=r"'rail' does not act as declared.*'pin.rate'"):
            ns.derive(of(**wrong))
    model = of(**up)
    ns.save_model(model, tmp_path / "rod.toml")
    assert ns.load(tmp_path / "rod.toml") == model
    found = ns.evaluate(ns.compile(ns.derive(model)), {"pin.rate": -0.25}, time=0.0)
    # the rail pushes up, and the pin carries the rest of the weight and of m a
    rail = found.multipliers["rail"]
    parts, g = found.joint_reactions["pin"], 9.81
    rate = found.accelerations["pin.rate"]
    lift = -0.1 * rate - 0.02 * 0.25**2
    assert parts["z"] == pytest.approx(1.3 * (g + lift) - rail, abs=1e-10)
    with pytest.raises(ns.ModelError) as caught:
        of(other_body="rod")
    assert len(caught.value.faults) == 2
    with pytest.raises(ns.ModelError, match="'shaft'"):
        of(frame="shaft", force=(0, 0, 1))


def test_two_spur_gears_with_2_N_between_their_teeth():
    """The pins carry 2 N and no moment about their axes, which the row does not tell."""
    b = ns.ModelBuilder(name="spur-gears", gravity=(0.0, 0.0, 0.0))
    for gear in ("small", "large"):
        b.body(gear, mass=1.0, inertia=(0.1, 0.1, 0.1))
    hinge = ns.joints.Revolute(axis=Z)
    away = ns.Placement(position=(R1 + R2, 0.0, 0.0))
    b.joint("small", hinge, parent="world", child="small")
    b.joint("large", hinge, parent="world", child="large", parent_frame=away)
    b.row(ns.rows.VelocityRow(name="mesh", expression=f"{R1}*small.rate + {R2}*large.rate"))
    for gear in ("small", "large"):
        b.input(f"{gear}_torque", "N*m")
        b.force(ns.forces.Motor(name=gear, speed=f"{gear}.rate", input=f"{gear}_torque"))
    system = ns.compile(ns.derive(b.build()))
    found = ns.evaluate(system, {}, inputs={"small_torque": -2.0 * R1, "large_torque": -2.0 * R2})
    assert found.multipliers["mesh"] == pytest.approx(2.0, abs=1e-13)
    assert found.accelerations == pytest.approx({"small.rate": 0.0, "large.rate": 0.0}, abs=1e-13)
    for parts in found.joint_reactions.values():
        assert np.all(np.isnan(vector(parts, (*FORCE, *MOMENT))))
    (note,) = found.notes
    assert "joints 'small', 'large'" in note and "row 'mesh' does not declare" in note
    assert note in found.text() and "no weight" not in found.text()
    assert found.to_json()["notes"] == [note]


def test_a_free_base_transmits_nothing_whatever_a_row_does():
    """Six freedoms leave nothing open: not for gears inside, nor for a row on the body itself."""
    system = ns.compile(ns.derive(gears(ns.joints.Free(), "row")))
    assert "base" not in unknown_wrenches(system.kinematics)
    found = ns.evaluate(system, STATE | {"base.vx": 0.3, "base.wy": 0.2}, inputs={"torque": 2.0})
    assert vector(found.joint_reactions["base"], (*FORCE, *MOMENT)) == pytest.approx(0.0, abs=1e-10)
    b = builder("guided")
    b.body("body", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.02))
    b.joint("body", ns.joints.Free(), parent="world", child="body")
    b.row(ns.rows.VelocityRow(name="guide", expression="body.vx + 0.3*body.wz*cos(t)"))
    b.row(ns.rows.PositionRow(name="level", expression="body.z - 0.1*t"))
    guided = ns.compile(ns.derive(b.build()))
    found = ns.evaluate(guided, {"body.wz": 2.0, "body.wx": 0.5, "body.vy": 1.0}, time=0.7)
    assert min(abs(x) for x in found.multipliers.values()) > 0.1
    assert vector(found.joint_reactions["body"], (*FORCE, *MOMENT)) == pytest.approx(0.0, abs=1e-11)
    assert found.notes == ()


def test_rows_that_push_with_nothing_leave_wrenches_known():
    """A row that holds by itself, and one whose speeds cancel."""
    b = builder("idle")
    b.body("rod", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.02))
    b.joint("pin", ns.joints.Revolute(axis=Y), parent="world", child="rod")
    b.parameter("k", 0.0, "1")
    b.row(ns.rows.VelocityRow(name="nothing", expression="0*pin.rate", unit="rad/s"))
    b.row(ns.rows.VelocityRow(name="idle", expression="k*pin.rate", unit="rad/s"))
    system = ns.compile(ns.derive(b.build()))
    found = ns.evaluate(system, {"pin.angle": 0.3, "pin.rate": 1.0})
    assert found.notes == () and np.all(np.isfinite(list(found.joint_reactions["pin"].values())))


def test_notes_on_the_command_line_and_along_a_run(tmp_path):
    model = gears(ns.joints.Planar(), "row")
    system = ns.compile(ns.derive(model))
    run = ns.simulate(system, duration=0.1, start=STATE, samples=3)
    for axes in ("world", "body"):
        for reaction in ns.reactions(system, run, axes=axes):
            is_unknown = reaction.name in ("base", "small", "large")
            assert bool(reaction.note) == is_unknown
            assert np.all(np.isfinite(reaction.point))
            assert np.all(np.isnan(reaction.force)) == is_unknown
            assert np.all(np.isnan(reaction.moment)) == is_unknown
            assert ("'mesh'" in reaction.note) == is_unknown
    path = tmp_path / "gears.toml"
    ns.save_model(model, path)
    told = CliRunner().invoke(main, ["evaluate", str(path)])
    assert told.exit_code == 0 and "row 'mesh' does not declare" in told.output
    told = CliRunner().invoke(main, ["evaluate", str(path), "--json"])
    assert told.exit_code == 0 and '"notes"' in told.output and "NaN" not in told.output
