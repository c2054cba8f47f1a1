"""What `trace` decides and refuses: independent rows and speeds, loops that cannot close."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from mechanisms import ball_on_free_turntable, four_bar, sleigh, sleigh_by_row
from noslip.kinematics import trace

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def puck(**parts):
    """A body in the plane with more parts."""
    b = ns.ModelBuilder(name="puck", gravity=(0.0, 0.0, -9.81))
    b.body("puck", mass=1.0, inertia=(0.1, 0.1, 0.2))
    b.joint("puck", ns.joints.Planar(), parent="world", child="puck")
    return dataclasses.replace(b.build(), **parts)


def rows(*expressions):
    return tuple(
        ns.rows.VelocityRow(name=f"row{k}", expression=e) for k, e in enumerate(expressions, 1)
    )


def speeds(*names):
    return tuple(ns.IndependentSpeed(name=name) for name in names)


class TestRows:
    def test_order_is_contacts_loops_motions_speed_inputs_general_rows(self):
        b = ns.ModelBuilder(name="all", gravity=(0.0, 0.0, -9.81))
        for name in ("cart", "arm", "hand"):
            b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.2))
        b.joint("cart", ns.joints.Planar(), parent="world", child="cart", motion={"y": "0.1*t"})
        b.joint("arm", ns.joints.Revolute(axis=Z), parent="cart", child="arm")
        b.joint("hand", ns.joints.Free(), parent="arm", child="hand")
        b.joint("grip", ns.joints.Spherical(), parent="arm", child="hand")
        b.contact(ns.contacts.KnifeEdge(name="blade", body="cart", direction=X))
        b.speed_input("swing", "arm.rate")
        b.row(ns.rows.VelocityRow(name="extra", expression="hand.wz"))
        kin = trace(b.build())
        assert [(r.name, r.origin, r.unit) for r in kin.rows] == [
            ("blade.lateral", "knife edge", "m/s"),
            ("grip.shift_x", "loop", "m/s"),
            ("grip.shift_y", "loop", "m/s"),
            ("grip.shift_z", "loop", "m/s"),
            ("cart.y", "motion", "m/s"),
            ("swing", "speed input", "rad/s"),
            ("extra", "row", "m/s"),
        ]

    def test_multipliers_are_in_watts_over_the_unit_of_their_row(self):
        model = puck(
            rows=(
                ns.rows.VelocityRow(name="slide", expression="puck.vy"),
                ns.rows.VelocityRow(name="turn", expression="puck.rate", unit="rad/s"),
                ns.rows.VelocityRow(name="odd", expression="2*puck.vx", unit="m^2/s"),
            )
        )
        units = [row.multiplier_unit for row in trace(model).rows]
        assert units == ["N", "N*m", "W/(m^2/s)"]

    def test_redundant_row_names_what_it_follows_from(self):
        kin = trace(puck(rows=rows("puck.vx + puck.vy", "puck.rate", "2*puck.vx + 2*puck.vy")))
        assert kin.row_basis == (0, 1)
        assert [(r.row, r.follows_from) for r in kin.redundant] == [(2, ("row1",))]

    def test_row_that_is_dependent_at_one_place_only_is_kept(self):
        """At heading 0 both say the same; they are judged at several configurations."""
        kin = trace(puck(rows=rows("puck.vy", "puck.vy*cos(puck.angle) + puck.vx*sin(puck.angle)")))
        assert kin.row_basis == (0, 1)

    def test_rows_that_ask_for_different_speeds_contradict(self, refuses):
        model = puck(rows=rows("puck.vx - 1", "puck.vx - 2"))
        with refuses(ns.ModelError, "'row1': they demand different speeds", "row 'row2' (row)"):
            trace(model)

    def test_moving_row_that_constrains_nothing_contradicts_itself(self, refuses):
        model = puck(rows=rows("0*puck.vx - 1"))
        with refuses(ns.ModelError, "row 'row1' contradicts no other row", "row 'row1'", "remove"):
            trace(model)

    @pytest.mark.slow
    def test_loop_that_cannot_close(self, refuses):
        model = dataclasses.replace(four_bar(), name="short")
        parameters = tuple(
            dataclasses.replace(p, value=3.0) if p.name == "c" else p for p in model.parameters
        )
        with refuses(ns.ModelError, "'pin.shift_x', 'pin.shift_y'", "model 'short'", "check link"):
            trace(dataclasses.replace(model, parameters=parameters))

    @pytest.mark.parametrize("distance", [50.0, 1e4])
    def test_ground_far_from_the_origin_is_reached(self, distance):
        b = ns.ModelBuilder(name="far", gravity=(0.0, 0.0, -9.81))
        b.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint("ball", ns.joints.Free(), parent="world", child="ball")
        plane = ns.contacts.Plane(frame=ns.Placement(position=(0.0, 0.0, distance)))
        b.contact(
            ns.contacts.Rolling(
                name="touch", body="ball", wheel=ns.surfaces.Ball(radius=0.2), plane=plane
            )
        )
        for _, q in trace(b.build()).probe.configurations():
            assert q[2] == pytest.approx(distance + 0.2, abs=1e-10)


class TestClosure:
    """A joint that closes a loop is closed only where the joint itself can be."""

    @pytest.mark.slow
    @pytest.mark.parametrize("word", ["fixed", "revolute", "prismatic", "planar", "spherical"])
    def test_all_configurations_are_possible_for_the_joint(self, system_of, word):
        import casadi as ca
        from newton_euler import NewtonEuler

        system = system_of(f"loop-closed-by-{word}")
        model = system.model
        oracle = NewtonEuler(model)
        joint = model.joints[-1]
        R_F, p_F = oracle.placement(joint.parent_frame)
        R_M, p_M = oracle.placement(joint.child_frame)
        pose = oracle.poses[joint.child]
        relative = ca.Function(
            "X", [oracle.q, oracle.params], [R_F.T @ pose.R @ R_M, R_F.T @ (pose.point(p_M) - p_F)]
        )
        axis = np.array(getattr(joint.type, "axis", Z)) / np.linalg.norm(
            getattr(joint.type, "axis", Z)
        )
        for _, q in system.kinematics.probe.configurations():
            R, p = (np.array(e) for e in relative(q, system.parameters()))
            if word in ("fixed", "prismatic"):
                assert R == pytest.approx(np.eye(3), abs=1e-12)
            if word in ("revolute", "planar"):
                assert R @ axis == pytest.approx(axis, abs=1e-12)
            if word in ("fixed", "revolute", "spherical"):
                assert p.ravel() == pytest.approx(np.zeros(3), abs=1e-12)
            if word == "prismatic":
                assert np.cross(axis, p.ravel()) == pytest.approx(np.zeros(3), abs=1e-12)
            if word == "planar":
                assert p[2, 0] == pytest.approx(0.0, abs=1e-12)

    def test_axis_that_depends_on_a_parameter_may_point_along_x(self):
        b = ns.ModelBuilder(name="turned", gravity=(0.0, 0.0, -9.81))
        b.parameter("turn", 0.0, "rad")
        axis = ("cos(turn)", "sin(turn)", 0.0)
        b.body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint("crank", ns.joints.Revolute(axis=axis), parent="world", child="crank")
        at_end = ns.Placement(position=(0.0, 0.0, 1.0))
        ground = ns.Placement(position=(0.0, 1.2, 0.3))
        hinge = ns.joints.Revolute(axis=axis)
        b.joint("rod", hinge, parent="crank", child="rod", parent_frame=at_end)
        b.joint("pin", hinge, parent="world", child="rod", parent_frame=ground, child_frame=at_end)
        kin = trace(b.build())
        assert [kin.rows[k].name for k in kin.row_basis] == ["pin.shift_y", "pin.shift_z"]


class TestIndependentSpeeds:
    def test_named_ones_are_taken_in_their_order(self):
        kin = trace(
            dataclasses.replace(sleigh(), independent_speeds=speeds("sled.rate", "sled.vx"))
        )
        assert [s.name for s in kin.independent_speeds] == ["sled.rate", "sled.vx"]

    def test_none_named_are_chosen(self):
        assert [s.name for s in trace(sleigh()).independent_speeds] == ["sled.vx", "sled.rate"]

    def test_those_chosen_are_good_everywhere(self):
        """Spins and the table's rate give all speeds of the ball, however it is turned."""
        kin = trace(ball_on_free_turntable())
        names = [s.name for s in kin.independent_speeds]
        assert names == ["table.rate", "ball.wx", "ball.wy", "ball.wz"]

    def test_too_few(self, refuses):
        model = dataclasses.replace(sleigh(), independent_speeds=speeds("sled.vx"))
        with refuses(ns.ModelError, "the mechanism has 2 degrees", "'sleigh', independent_speeds"):
            trace(model)

    def test_ones_that_the_constraints_tie_together(self, refuses):
        model = dataclasses.replace(
            sleigh_by_row(), independent_speeds=speeds("sled.vx", "sled.vy")
        )
        with refuses(ns.ModelError, "determine the motion", "'sleigh-by-row', independent_speeds"):
            trace(model)

    def test_a_massless_degree_of_freedom_is_refused_by_name(self, refuses):
        b = ns.ModelBuilder(name="ghost", gravity=(0.0, 0.0, -9.81))
        b.body("slide", mass=0.0, inertia=(0.0, 0.0, 0.0))
        b.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint("block", ns.joints.Prismatic(axis=X), parent="world", child="block")
        b.joint("slide", ns.joints.Prismatic(axis=Y), parent="block", child="slide")
        with refuses(ns.FormulationError, "nothing resists its acceleration", "model 'ghost'"):
            ns.derive(b.build())

    def test_kinematics_say_what_they_hold(self):
        assert repr(trace(four_bar())) == (
            "Kinematics of 'four-bar': 3 coordinates, 3 tree speeds, 2 independent rows (2 "
            "holonomic), 3 redundant, 1 degree of freedom\nnext: noslip.derive(model)"
        )

    @pytest.mark.parametrize("name", ["rolling-disk", "agv", "lhd", "whipple-bicycle"])
    def test_no_expression_of_the_kinematics_depends_on_a_mass(self, name):
        """The tree carries masses for the formulations; motions that are possible know none."""
        model = ns.load(name)
        kin = trace(model)
        carried = ca.vertcat(*[node.mass for node in kin.tree.nodes])
        masses = ca.vertcat(*ca.symvar(carried))
        assert masses.shape[0]
        poses = [ca.vec(x) for node in kin.tree.nodes for x in (node.R_WB, node.p_WB, node.H)]
        rows = [kin.velocities, ca.vec(kin.A), *(m.value for m in kin.singularity_measures)]
        basis = [ca.vec(kin.N), ca.vec(kin.E), ca.vec(kin.S), kin.s, kin.v, kin.vdot0]
        assert not ca.depends_on(ca.vertcat(*poses, *rows, *basis), masses)
