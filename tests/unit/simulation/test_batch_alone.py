"""Batches: every trajectory is the run it would be alone."""

import casadi as ca
import numpy as np
import pytest
from batch_runs import COUNT, TIGHT, alone, compare, starts_of_disks, varied

import noslip as ns
from noslip.simulation import AbstractInputLaw, InputGenerator
from noslip.simulation.starts import completion


@pytest.fixture(scope="module")
def disk_starts():
    return starts_of_disks()


class TestSameAsAlone:
    """Second way: `simulate`, trajectory by trajectory, in scalar code."""

    @pytest.mark.parametrize(
        "settings", [TIGHT, {"method": "rk4", "step": 0.01}], ids=["dop853", "rk4"]
    )
    def test_starts_and_parameters(self, disk, disk_starts, rng, settings):
        parameters = {"m": varied(rng, 1.2), "r": 0.4, "I_axial": varied(rng, 0.1)}
        names = [
            *("disk.x", "disk.tilt", "disk.wz", "acceleration.disk.wy", "kinetic_energy"),
            *("potential_energy", "work", "rim.contact_x", "residual.rim.lateral"),
        ]
        common = {"duration": 1.5, "samples": 16, **settings}
        batch = ns.simulate_batch(
            disk,
            start=disk_starts,
            parameters=parameters,
            columns=names,
            keep=["samples"],
            **common,
        )
        runs = [
            alone(disk, k, starts=disk_starts, parameters=parameters, **common)
            for k in range(COUNT)
        ]
        compare(batch, runs, names)
        assert batch.units["disk.wz"] == "rad/s"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name", ["agv", "heavy-body", "tricycle", "four-bar", "car", "steered-arm"]
    )
    def test_expressions_with_numbers_of_each_trajectory(self, system_of, rng, name):
        system = system_of(name)
        numbers = {"phase": rng.uniform(0, 3, COUNT), "size": rng.uniform(0.01, 0.05, COUNT)}
        definitions = {"angle": "2*t + phase"}
        inputs = {u.name: "size*sin(angle)" for u in system.model.inputs}
        inputs |= {w.name: "size*cos(angle)" for w in system.model.speed_inputs}
        starts = {s.name: 0.1 for s in system.independent_speeds}
        starts = {n: varied(rng, v) for n, v in starts.items() if n not in inputs}
        common = {"inputs": inputs, "duration": 1.0, "samples": 6, **TIGHT}
        names = [q.name for q in (*system.coordinates, *system.speeds, *system.inputs)]
        batch = ns.simulate_batch(
            system,
            start=starts,
            definitions={**numbers, **definitions},
            columns=names,
            keep=["samples"],
            **common,
        )
        runs = [
            alone(system, k, starts=starts, numbers=numbers, definitions=definitions, **common)
            for k in range(COUNT)
        ]
        compare(batch, runs, names)

    @pytest.mark.parametrize("kind", ["hold", "linear", "cubic"])
    @pytest.mark.parametrize("is_shared", [True, False])
    def test_tables(self, pendulum, rng, kind, is_shared):
        times = np.array([0.0, 0.2, 0.45, 0.7, 1.3])
        tables = [
            ns.Table(times=times + 0.01 * k, values=rng.normal(size=5), kind=kind)
            for k in range(1 if is_shared else COUNT)
        ]
        starts = {"swing.angle": varied(rng, 0.4)}
        common = {"duration": 1.5, "samples": 7}
        batch = ns.simulate_batch(
            pendulum,
            start=starts,
            inputs={"torque": tables[0] if is_shared else tables},
            keep=["samples"],
            columns=["swing.angle", "torque"],
            **common,
        )
        runs = [
            alone(
                pendulum,
                k,
                starts=starts,
                inputs={"torque": tables[0 if is_shared else k]},
                **common,
            )
            for k in range(COUNT)
        ]
        compare(batch, runs, ["swing.angle", "torque"])

    @pytest.mark.parametrize("period", [0.0, 0.05])
    def test_laws_with_states_of_their_own(self, pendulum, rng, period):
        class Integral(AbstractInputLaw):
            """Torque from the integral of the angle, in steps of a period or all the time."""

            def generator(self, system):
                z, gain = ca.SX.sym("z"), ca.SX.sym("gain")
                angle = system.kinematics.symbols.q[0]
                return InputGenerator(
                    inputs={"torque": -gain * z - 0.2 * angle},
                    states=z,
                    rates=ca.SX(0) if period else angle,
                    start=np.array([0.1]),
                    names=("memory",),
                    units=("rad*s",),
                    parameters=gain,
                    parameter_values=np.array([3.0]),
                    update=z + period * angle if period else None,
                    period=period,
                )

        starts = {"swing.angle": varied(rng, 0.4)}
        common = {"duration": 1.02, "samples": 7, "inputs": Integral()}
        names = ["swing.angle", "memory", "torque"]
        batch = ns.simulate_batch(pendulum, start=starts, keep=["samples"], columns=names, **common)
        runs = [alone(pendulum, k, starts=starts, **common) for k in range(COUNT)]
        compare(batch, runs, names)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("agv", {"wheel1.rate": (-5.0, 5.0), "wheel2.rate": (1.0, 2.0)}),
        ("whipple-bicycle", {"speed": (4.0, 6.0), "frame.lean_rate": (0.1, 0.2)}),
        ("rolling-disk", {"disk.tilt": (1.0, 1.4), "disk.spin_rate": (-8.0, -5.0)}),
    ],
)
def test_a_batch_goes_on_from_where_another_ended(system_of, monkeypatch, name, start):
    """A whole state as the start is completed in lanes, and the motion is that of one long run."""
    system = system_of(name)
    starts = {word: np.linspace(*ends, 20) for word, ends in start.items()}
    whole = ns.simulate_batch(system, duration=0.6, start=starts, **TIGHT)
    first = ns.simulate_batch(system, duration=0.3, start=starts, **TIGHT)
    calls = []
    monkeypatch.setattr(completion, "singular_values", lambda *a: calls.append(1))
    second = ns.simulate_batch(
        system, duration=0.3, start_time=0.3, start=dict(first.final), **TIGHT
    )
    assert not calls  # no start is looked at by itself
    for column, values in whole.final.items():
        assert second[column] == pytest.approx(values, abs=1e-9), column
