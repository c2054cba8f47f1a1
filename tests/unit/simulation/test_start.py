"""Consistent starts from what is given: what stays, what is completed, what is refused."""

import dataclasses

import numpy as np
import pytest

import noslip as ns
from mechanisms import four_bar


class TestCompletion:
    def test_given_coordinates_stay_and_the_loop_closes_around_them(self, system_of):
        start = ns.complete_start(system_of("four-bar"), {"crank.angle": 0.7, "crank.rate": 2.0})
        assert start.q[0] == 0.7
        assert start.v[0] == pytest.approx(2.0, abs=1e-14)
        assert start.position_residual < 1e-14
        assert start.speed_residual < 1e-14
        assert set(start.completed) == {
            "coupler.angle", "rocker.angle", "coupler.rate", "rocker.rate",
        }  # fmt: skip

    @pytest.mark.slow
    def test_plane_loop_that_a_free_body_carries(self):
        """Rows that others repeat are rounding alone there, and refuse no speeds."""
        b = ns.ModelBuilder(name="bars", gravity=(0.0, 0.0, -9.81))
        for name in ("base", "left", "top", "right"):
            b.body(name, mass=1.0, inertia=(0.3, 0.4, 0.5))
        b.joint("base", ns.joints.Free(), parent="world", child="base")
        pin = ns.joints.Revolute(axis=(0.0, 1.0, 0.0))
        places = {"left": ("base", (0.2, 0.0, 0.2)), "top": ("left", (0.0, 0.0, 0.4)),
                  "right": ("base", (0.8, 0.0, 0.2))}  # fmt: skip
        for name, (parent, place) in places.items():
            place = ns.Placement(position=place)
            b.joint(name, pin, parent=parent, child=name, parent_frame=place)
        ends = (ns.Placement(position=(0.5, 0.0, 0.0)), ns.Placement(position=(0.0, 0.0, 0.5)))
        b.joint(
            "close", pin, parent="top", child="right", parent_frame=ends[0], child_frame=ends[1]
        )
        system = ns.compile(ns.derive(b.build()))
        names = [c.name for c in (*system.coordinates, *system.independent_speeds)]
        eta = [0.3 * (k + 1) for k in range(len(system.independent_speeds))]
        for _, q in system.kinematics.probe.configurations(3):
            given = [float(x) for x in (*q, *eta)]
            start = ns.complete_start(system, dict(zip(names, given, strict=True)))
            assert start.eta == pytest.approx(eta, abs=1e-14)
            assert start.speed_residual < 1e-14
        # and so does each of many
        starts = {name: np.full(2, value) for name, value in zip(names, given, strict=True)}
        assert ns.simulate_batch(system, duration=0.01, start=starts).success.all()

    @pytest.mark.parametrize("given", ["crank", "rocker", "coupler"])
    def test_any_speed_may_be_the_one_that_is_given(self, system_of, given):
        system = system_of("four-bar")
        first = ns.complete_start(system, {"crank.angle": 0.7, "crank.rate": 2.0})
        speeds = {s.name: v for s, v in zip(system.speeds, first.v, strict=True)}
        places = {c.name: q for c, q in zip(system.coordinates, first.q, strict=True)}
        again = ns.complete_start(system, {**places, f"{given}.rate": speeds[f"{given}.rate"]})
        assert again.v == pytest.approx(first.v, abs=1e-13)

    def test_loop_whose_links_lie_in_line_is_closed(self, system_of):
        """At rest all links point along x and no small turn brings their ends together."""
        system = system_of("four-bar")
        start = ns.complete_start(system, {})
        assert start.position_residual < 1e-14
        assert np.array_equal(ns.complete_start(system, {}).q, start.q)
        turned = ns.complete_start(system, {"crank.angle": 0.0})
        assert turned.q[0] == 0.0
        assert turned.position_residual < 1e-14

    def test_wheel_is_set_on_the_ground(self, system_of):
        start = ns.complete_start(system_of("rolling-disk"), {"disk.tilt": 1.1, "disk.x": 0.3})
        assert start.q[0] == 0.3
        assert start.q[2] == pytest.approx(0.5 * np.sin(1.1), abs=1e-14)

    @pytest.mark.parametrize("distance", [100.0, 1e4])
    def test_wheel_is_set_on_a_slope_far_away(self, system_of, distance):
        system = system_of("lopsided-wheel")
        turned = {"wheel.qw": 0.8, "wheel.qx": 0.6, "wheel.qy": 0.0, "wheel.qz": 0.0}
        start = ns.complete_start(system, {"wheel.x": distance, **turned})
        assert start.q[0] == distance
        assert start.position_residual < 1e-15 * distance * 10

    def test_quaternions_are_brought_to_unit_length(self, system_of):
        start = ns.complete_start(system_of("top"), {"tip.qw": 3.0, "tip.qx": 4.0})
        assert start.q == pytest.approx([0.6, 0.8, 0.0, 0.0], abs=1e-15)

    def test_named_angles_and_their_rates(self, system_of):
        """R = Rz(yaw) Rx(tilt) Rz(spin), and ω in body axes of its rates."""
        rates = {"disk.yaw_rate": 0.3, "disk.tilt_rate": 0.1, "disk.spin_rate": -8.0}
        angles = {"disk.yaw": 0.4, "disk.tilt": 1.2, "disk.spin": 0.5}
        start = ns.complete_start(system_of("rolling-disk"), {**angles, **rates})
        s_t, c_t, s_s, c_s = np.sin(1.2), np.cos(1.2), np.sin(0.5), np.cos(0.5)
        omega = [
            0.3 * s_t * s_s + 0.1 * c_s,
            0.3 * s_t * c_s - 0.1 * s_s,
            0.3 * c_t - 8.0,
        ]
        assert start.v[:3] == pytest.approx(omega, abs=1e-14)

    def test_rates_of_angles_with_the_orientation_as_a_quaternion(self, system_of):
        """The same orientation given in two ways has the same speeds."""
        system = system_of("rolling-disk")
        rates = {"disk.yaw_rate": 0.3, "disk.spin_rate": -8.0}
        first = ns.complete_start(system, {"disk.tilt": 1.4, **rates})
        quaternion = {
            "disk.qw": np.cos(0.7),
            "disk.qx": np.sin(0.7),
            "disk.qy": 0.0,
            "disk.qz": 0.0,
        }
        second = ns.complete_start(system, {**quaternion, **rates})
        assert second.q == pytest.approx(first.q, abs=1e-14)
        assert second.v == pytest.approx(first.v, abs=1e-13)

    def test_prescribed_motion_is_met_at_the_time_of_the_start(self, system_of):
        start = ns.complete_start(system_of("shaken-pendulum"), {}, time=0.1)
        assert start.q[0] == pytest.approx(0.05 * np.sin(0.9), abs=1e-15)
        assert start.v[0] == pytest.approx(0.45 * np.cos(0.9), abs=1e-14)

    def test_prescribed_orientation_is_met(self, system_of):
        """R = Rz Rx Ry of the prescribed angles; no half turn away from it."""
        from scipy.spatial.transform import Rotation

        for time in (0.0, 2.0, 4.0):
            start = ns.complete_start(system_of("led-pendulum"), {}, time=time)
            angles = [0.8 * time, 0.4 * np.sin(time), 0.1 + 0.2 * time]
            expected = Rotation.from_euler("ZXY", angles).as_matrix()
            found = Rotation.from_quat(start.q[:4], scalar_first=True).as_matrix()
            assert found == pytest.approx(expected, abs=1e-12)

    def test_speed_inputs_are_met(self, system_of):
        start = ns.complete_start(system_of("car"), {}, speed_inputs=lambda q: np.array([0.7]))
        speeds = dict(zip([s.name for s in system_of("car").speeds], start.v, strict=True))
        assert speeds["steer.rate"] == pytest.approx(0.7, abs=1e-15)

    def test_parameters_of_the_run_are_used(self, system_of):
        system = system_of("rolling-disk")
        params = system.parameters({"r": 0.2})
        start = ns.complete_start(system, {"disk.tilt": 1.1}, parameters=params)
        assert start.q[2] == pytest.approx(0.2 * np.sin(1.1), abs=1e-14)


class TestRefusals:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [(np.nan, "nan"), (np.float64("inf"), "inf"), ("0.3", "'0.3'"), ([1, 2], "[1, 2]")],
    )
    def test_value_that_is_not_finite(self, system_of, refuses, value, shown):
        with refuses(ns.SimulationError, f"{shown}, which is not", "start of model 'pendulum'"):
            ns.complete_start(system_of("pendulum"), {"swing.angle": value})

    def test_coordinates_that_contradict_the_loop(self, system_of, refuses):
        given = {"crank.angle": 0.0, "coupler.angle": 0.0, "rocker.angle": 0.0}
        with refuses(ns.SimulationError, "row 'pin.shift_x' by 0.45", "coupler.angle = 0, rocker"):
            ns.complete_start(system_of("four-bar"), given)

    def test_place_where_a_row_is_not_defined(self, system_of, refuses):
        with refuses(ns.SimulationError, "for a wheel that lies flat", "of model 'rolling-disk'"):
            ns.complete_start(system_of("rolling-disk"), {"disk.tilt": 0.0})

    def test_speeds_that_contradict_the_constraints(self, system_of, refuses):
        with refuses(ns.SimulationError, "other or the constraints: '", "start of model 'sleigh'"):
            ns.complete_start(system_of("sleigh"), {"sled.vy": 1.0})

    def test_orientation_given_twice(self, system_of, refuses):
        with refuses(ns.SimulationError, "'disk.tilt' and 'disk.qw'", "of model 'rolling-disk'"):
            ns.complete_start(system_of("rolling-disk"), {"disk.tilt": 1.0, "disk.qw": 1.0})


@pytest.fixture(scope="module")
def axle():
    """A cart on two wheels of one axle; a parameter moves one of them off it."""
    b = ns.ModelBuilder(name="axle", gravity=(0.0, 0.0, -9.81))
    b.parameter("shift", 0.0, "m", "of the right wheel, ahead of the left one")
    b.body("cart", mass=1.0, inertia=(0.1, 0.1, 0.2))
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
    for name, x, y in (("left", 0.0, 0.3), ("right", "shift", -0.3)):
        point = (x, y, 0.0)
        b.contact(
            ns.contacts.KnifeEdge(name=name, body="cart", direction=(1.0, 0.0, 0.0), point=point)
        )
    return ns.compile(ns.derive(b.build()))


class TestRedundantRows:
    """A row that is dropped because it follows from others must follow from them in every run."""

    EXPECTED = (
        "row 'right.lateral' followed from 'left.lateral' with the nominal parameters, but",
        "parameters of model 'axle'",
        "restore the geometry (for example wheels on one axle)",
    )

    def test_second_wheel_of_an_axle_is_redundant(self, axle):
        kin = axle.kinematics
        assert [kin.rows[r.row].name for r in kin.redundant] == ["right.lateral"]

    @pytest.mark.parametrize("shift", [1e-3, -0.2])
    def test_run_with_a_wheel_moved_off_the_axle(self, axle, refuses, shift):
        with refuses(ns.SimulationError, *self.EXPECTED):
            ns.simulate(axle, duration=1.0, parameters={"shift": shift})

    def test_evaluation_with_a_wheel_moved_off_the_axle(self, axle, refuses):
        with refuses(ns.SimulationError, *self.EXPECTED):
            ns.evaluate(axle, {}, parameters={"shift": 1e-3})

    @pytest.mark.slow
    def test_loop_that_a_parameter_tilts_out_of_its_plane(self, system_of, refuses):
        with refuses(ns.SimulationError, "parameters, but does not", "of model 'four-bar'"):
            ns.simulate(system_of("four-bar"), duration=1.0, parameters={"tilt": 0.01})

    def test_parameters_that_keep_the_row_redundant_are_fine(self, system_of):
        run = ns.simulate(
            system_of("four-bar"), duration=0.1, parameters={"c": 0.72, "tilt": 0.0}, samples=3
        )
        assert run.success

    def test_model_derived_with_those_numbers_has_the_row(self):
        model = four_bar()
        parameters = tuple(
            dataclasses.replace(p, value=0.72) if p.name == "c" else p for p in model.parameters
        )
        kin = ns.trace(dataclasses.replace(model, parameters=parameters))
        assert len(kin.row_basis) == 2
