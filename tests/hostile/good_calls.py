"""A good call of each public function and of each class that users make, to be mutated.

Functions run a skate on a slope (`knife-edge`) or a vehicle (`agv`) for some hundredths of a
second. A class that only means something in a run is used in one.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import noslip as ns

Call = tuple[Callable[..., Any], dict[str, Any]]

START = {"skate.vx": 0.4, "skate.rate": 0.2}
TIMES = np.array([0.0, 0.02, 0.05])
#: Classes that functions give back, or whose members are classes of a file (test_model_fields.py).
NOT_MADE = (
    *("System", "Equations", "Kinematics", "Trajectory", "Batch", "Start", "Instant", "Reaction"),
    *("CartesianModel", "FollowMotion", "ReferenceMotion", "ReferenceSamples", "InstantBatch"),
    *("InverseDynamicsBatch", "MeasuredTable", "DynamicsHistory", "KinematicHistory", "Audit"),
    *("AuditBatch", "Linearization", "LinearizationBatch", "CanonicalForm", "SteadyMotion"),
    *("SteadyBatch", "EigenvalueSweep", "Derivatives", "Sensitivities", "Gradient", "PlantLaw"),
    *("GradientBatch", "SensitivitiesBatch", "LeastTime", "LinearQuadratic", "ImportedModel"),
    *("Order", "OrderLeg", "Exported", "SweepProgress", "Fit", "CheckReport", "Certificate"),
    *("JointTemplate", "MethodMatrices", "RunComparison", "StackedMatrices", "MethodObject"),
    *("PathErrors", "Ending", "Quantity", "Fault", "Meaning", "ProgressBar", "Model", "Trailer"),
    *("Distribution", "Growth", "Integral", "Controllability", "Statement", "Structure"),
    *(
        "Symmetry",
        "InvariantMeasure",
        "FlatOutputs",
        "FlatMap",
        "FlatState",
        "BracketLoop",
        "GeometryPage",
        "FieldFormulas",
        "RelativeEquilibrium",
        "FirstIntegral",
        "MomentumEquation",
        "ChaplyginReduction",
        "Multiplier",
        "VelocityForm",
    ),
    *("DriveChoice", "DriveSamples", "DutyCycle", "LegDuty", "MotorDuty"),
    *("Cost", "CostGrowth", "OperationCount", "Plan", "Branch", "SpecialPoint"),
    *("PeriodicMotion", "StabilityChart", "LyapunovExponents"),
)


def sliding_ball() -> ns.System:
    """A ball on a floor that slides and bounces by Coulomb's law."""
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    wheel = ns.surfaces.Ball(radius=0.2)
    b.contact(
        ns.contacts.Rolling(name="floor", body="ball", wheel=wheel, friction=0.3, restitution=0.5)
    )
    return ns.compile(ns.derive(b.build()))


def pushed_block() -> ns.System:
    """A mass on a slide under a push."""
    b = ns.ModelBuilder(name="block", gravity=(0.0, 0.0, 0.0))
    b.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("s", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    b.input("push", "N")
    b.force(ns.forces.Motor(name="motor", speed="s.speed", input="push"))
    return ns.compile(ns.derive(b.build()))


def _order() -> dict[str, Any]:
    """A transport order of VDA 5050."""
    node = {"nodeId": "a", "sequenceId": 0, "released": True, "actions": []}
    place = {"x": 0.0, "y": 0.0, "mapId": "hall"}
    edge = {"edgeId": "e", "sequenceId": 1, "released": True, "startNodeId": "a", "endNodeId": "b"}
    return {
        "headerId": 1,
        "timestamp": "2026-01-01T00:00:00Z",
        "version": "3.0.0",
        "manufacturer": "m",
        "serialNumber": "1",
        "orderId": "o",
        "orderUpdateId": 0,
        "nodes": [
            {**node, "nodePosition": place},
            {**node, "nodeId": "b", "sequenceId": 2, "nodePosition": {**place, "x": 4.0}},
        ],
        "edges": [{**edge, "actions": []}],
    }


def _used(make: Callable[..., Any], use: Callable[[Any], Any]) -> Callable[..., Any]:
    """A class that is made and then used, with its own signature."""

    def made(*args: Any, **given: Any) -> Any:
        return use(make(*args, **given))

    made.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return made


def good_calls(folder: Path, system_of: Callable[[str], Any]) -> Mapping[str, Call]:
    """Name → function and its arguments; ``*0`` is one that is given by its place."""
    skate, agv, arm = system_of("knife-edge"), system_of("agv"), system_of("manipulator-2r")
    tricycle, bicycle = system_of("tricycle"), system_of("whipple-bicycle")
    model, equations = skate.model, skate.equations
    ball, block = sliding_ball(), pushed_block()
    run = ns.simulate(skate, duration=0.05, start=START, samples=3, reactions=True)
    short = {"duration": 0.05, "samples": 3}
    many = {name: [x, x] for name, x in START.items()}
    circle, quintic = ns.paths.Circle(radius=2.0), ns.timing.Quintic(1.0)
    motion = ns.motions.ExpressionMotion(
        coordinates={"joint1.angle": "0.1*t", "joint2.angle": "0.2*t"}
    )
    history = ns.kinematic_history(arm, motion, duration=0.05, samples=3)
    data = ns.MeasuredRun(times=run.t, columns={"skate.x": run["skate.x"]}, start=START)
    arm_state = {"joint1.angle": 0.3, "joint2.angle": 0.5, "joint1.rate": 0.1}
    rates = {"joint1.rate": 1.0, "joint2.rate": 0.5}
    slopes = {"with_respect_to": ["m", "skate.vx"], "duration": 0.05, "start": START}
    columns = {"with_respect_to": ["m"], "columns": ["skate.x"]}
    weights = {"joint1.angle": 3.0, "joint2.angle": 1.0}
    task = {
        "observation": {"v": "skate.vx", "w": "skate.rate"},
        "actions": {"F_v": (-1.0, 1.0)},
        "reward": "skate.vx",
        "ends": {"fast": "skate.vx - 3"},
        "start": {"skate.vx": (0.0, 1.0), "skate.rate": 0.1},
        "variables": {"goal": (0.0, 1.0)},
        "inputs": {"tau": 0.1},
    }
    (folder / "order.json").write_text(json.dumps(_order()))
    (folder / "drives.toml").write_text("[motors.M]\npeak_torque = 1.0\n")
    (folder / "fetch.mission.toml").write_text('model = "agv"\n[[legs]]\nstop = 1.0\n')
    m, robot = ns.missions, system_of("differential-robot")
    still, motor = m.StopLeg(duration=1.0), m.Gearmotor(name="M", peak_torque=1.0)
    drives = m.Catalog(motors=(motor,), gears=(m.Gearmotor(name="no gear"),))
    rest = m.Mission(legs=(still,), motors={"left.torque": motor})
    duty = m.drive_mission(rest, robot)
    (folder / "log.csv").write_text("time,skate.x\n0,0\n0.1,0.2\n0.2,0.3\n")
    (folder / "path.csv").write_text("x,y\n0,0\n1,0\n2,1\n3,1\n")
    ns.write_run(run, folder / "run", plots=False)
    ns.sweep(
        model, ["final:skate.x"], folder=folder / "study", vary={"m": [1.0, 2.0]}, duration=0.05
    )
    arm_file = Path(__file__).parents[1] / "unit" / "bridges" / "arm.urdf"
    fitted = ns.fit(skate, data, parameters=["g"])
    linear = ns.linearize(bicycle, {"speed": 4.0})
    regulated = {
        "reference_start": np.zeros(2),
        "duration": 1.0,
        "state_weights": weights,
        "input_weights": {"tau1": 1.0, "tau2": 1.0},
        "samples": 5,
    }

    def gym_step(**given: Any) -> Any:
        env = ns.gym.make_env(**given)
        env.reset(seed=1)
        return env.step(env.action_space.sample())

    def vec_step(**given: Any) -> Any:
        env = ns.gym.make_vec_env(**given)
        env.reset(seed=1)
        return env.step(env.action_space.sample())

    gym_step.__signature__ = inspect.signature(ns.gym.make_env)  # type: ignore[attr-defined]
    vec_step.__signature__ = inspect.signature(ns.gym.make_vec_env)  # type: ignore[attr-defined]

    triangle = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    floor = folder / "floor.png"
    Image.fromarray(np.full((3, 3), 255, np.uint8)).save(floor)

    def driven(of: Any = agv, **more: Any) -> Callable[[Any], Any]:
        return lambda path: ns.track(of, path, **{"timing": quintic, **short, **more})

    def timed(law: Any) -> Any:
        return ns.track(agv, circle, timing=law, **short)

    def held(of: Any, **more: Any) -> Callable[[Any], Any]:
        return lambda feedback: ns.follow(
            of, motion, controller=feedback, **short, start={"joint2.angle": 0.5}, **more
        )

    def steered(feedback: Any) -> Any:
        return ns.track(agv, circle, timing=quintic, controller=feedback, **short)

    def planted(plant: Any) -> Any:
        return ns.track(
            agv,
            circle,
            timing=quintic,
            controller=ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.01),
            plant=plant,
            **short,
        )

    def sensed(sensor: Any) -> Any:
        return planted(ns.Plant(sensors=(sensor,)))

    def estimated(instrument: Any) -> Any:
        return planted(ns.Plant(sensors=(instrument,), estimator=ns.sensors.ExtendedKalman()))

    def filtered(estimator: Any) -> Any:
        pose = ns.sensors.PoseSensor(body="platform")
        return planted(ns.Plant(sensors=(pose,), estimator=estimator))

    def acted(actuator: Any) -> Any:
        return planted(ns.Plant(actuators=(actuator,)))

    def looped(loop: Any) -> Any:
        return ns.track(agv, circle, timing=quintic, controller=loop, **short)

    def followed(follower: Any) -> Any:
        return ns.track(agv, circle, timing=quintic, follower=follower, **short)

    def referred(moved: Any) -> Any:
        return ns.reference_motion(agv, moved).samples(np.array([0.1, 0.2]))

    def of_arm(moved: Any) -> Any:
        return ns.reference_motion(arm, moved, start={"joint2.angle": 0.5})

    def measured(found: Any) -> Any:
        return ns.gradient(skate, **slopes, measurements=found)

    def least(limits: Any) -> Any:
        return ns.timing.least_time(circle, limits, count=50)

    def pushed(table: Any) -> Any:
        return ns.simulate(skate, start=START, inputs={"tau": table}, **short)

    def fitted_to(found: Any) -> Any:
        return ns.fit(skate, found, parameters=["g"])

    def looked_for(found: Any) -> Any:
        return ns.fit(skate, data, parameters=[found])

    def imported(under: Any) -> Any:
        return ns.import_robot(arm_file, under)

    def pictured(**given: Any) -> Any:
        return ns.gym.make_env(skate, ns.gym.GymTask(**given)).reset(seed=0)

    pictured.__signature__ = inspect.signature(ns.gym.GymTask)  # type: ignore[attr-defined]

    def towed(link: Any) -> Any:
        law = {"steering": "steer.angle", "wheelbase": "l1", "links": (link,), "base": 1}
        along = ns.motions.PathMotion(path=circle, timing=quintic, **law)
        return ns.reference_motion(system_of("tractor-trailer"), along)

    def derived(formulation: Any) -> Any:
        return ns.derive(model, formulation)

    follower = ns.Follower(point=(0, "-a", 0), direction=(0, 1, 0))
    points = ((0.0, 0.0), (2.0, 0.0), (3.0, 1.0), (4.0, 3.0))
    of_agv = {"path": circle, "timing": quintic}
    calls: dict[str, Call] = {
        "load": (ns.load, {"source": "knife-edge"}),
        "load_plugin": (ns.load_plugin, {"name": "math"}),
        "check_member": (
            ns.check_member,
            {"member": ns.joints.Revolute(axis=("a", 0.0, 1.0)), "parameters": {"a": 0.2}},
        ),
        "save_model": (
            ns.save_model,
            {"model": model, "path": folder / "m.toml", "overwrite": True},
        ),
        "import_robot": (ns.import_robot, {"path": arm_file}),
        "trace": (ns.trace, {"model": model}),
        "derive": (ns.derive, {"model": model}),
        "verify": (ns.verify, {"model": model, "states": 1}),
        "stacked_matrices": (ns.stacked_matrices, {"kin": equations.kinematics}),
        "compile": (ns.compile, {"equations": equations}),
        "complete_start": (ns.complete_start, {"system": skate, "given": START}),
        "simulate": (ns.simulate, {"system": skate, "start": START, **short}),
        "simulate, a ball that slides": (
            ns.simulate,
            {"system": ball, "start": {"ball.vx": 1.0}, "contact": "coulomb", **short},
        ),
        "run_scenario, a ball that slides": (
            ns.run_scenario,
            {"system": ball, "contact": "coulomb", **short},
        ),
        "plan, a pushed block": (
            ns.plan,
            {
                **{"system": block, "goal": {"s.position": 1.0}, "limits": {"push": 1.0}},
                **{"start": {"s.position": 0.0}, "waypoints": [{"s.position": 0.5}]},
                **{"duration": (0.1, 9.0), "intervals": 4, "time_limit": 2.0},
            },
        ),
        "simulate_batch": (ns.simulate_batch, {"system": skate, "start": many, **short}),
        "evaluate": (
            ns.evaluate,
            {"system": skate, "state": START, "outputs": {"k": "skate.vx^2"}},
        ),
        "evaluate_batch": (ns.evaluate_batch, {"system": skate, "state": many}),
        "distribution": (
            ns.distribution,
            {"model": model, "at": {"skate.angle": 0.5}, "without": ["skate.x"]},
        ),
        "controllability": (ns.controllability, {"model": model}),
        "structure": (ns.structure, {"model": model}),
        "reactions": (ns.reactions, {"system": skate, "run": run}),
        "cartesian_model": (
            ns.cartesian_model,
            {"system": arm, "state": arm_state, "body": "link2", "components": ["vx", "vy"]},
        ),
        "Battery": (m.Battery, {"energy": 100.0, "standby": 1.0, "recuperation": 0.5}),
        "Catalog": (m.Catalog, {"motors": (motor,), "gears": (motor,)}),
        "DriveLeg": (m.DriveLeg, {"path": ns.paths.Circle(radius=2.0), "speed": 1.0}),
        "Mission": (m.Mission, {"legs": (still,), "speed": 1.0, "acceleration": 0.5}),
        "Gearmotor": (m.Gearmotor, {"peak_torque": 1.0, "ratio": 10.0, "efficiency": 0.9}),
        "PlanLeg": (m.PlanLeg, {"goal": {"base.x": 1.0}}),
        "StopLeg": (m.StopLeg, {"duration": 1.0}),
        "TurnLeg": (m.TurnLeg, {"angle": 1.0, "rate": 0.5}),
        "Zone": (m.Zone, {"corners": ((0, 0), (1, 0), (1, 1)), "speed": 0.3}),
        "drive_mission": (m.drive_mission, {"mission": rest, "system": robot}),
        "plot_duty": (m.plot_duty, {"duty": duty}),
        "read_catalog": (m.read_catalog, {"path": folder / "drives.toml"}),
        "read_mission": (m.read_mission, {"path": folder / "fetch.mission.toml"}),
        "size_drives": (m.size_drives, {"duty": duty, "catalog": drives}),
        "plan": (
            ns.plan,
            {
                "system": arm,
                "goal": {"joint1.angle": 0.1, "joint2.angle": 0.2},
                "minimize": "effort",
                "limits": {"tau1": 50.0, "tau2": 20.0},
                "duration": 1.0,
                "intervals": 4,
            },
        ),
        "reference_motion": (ns.reference_motion, {"system": arm, "motion": motion}),
        "start_on_motion": (
            ns.start_on_motion,
            {
                "system": arm,
                "law": ns.motions.FollowMotion(motion=motion, reference_start=np.zeros(2)),
                "start": {},
                "values": arm.parameters(),
            },
        ),
        "run_scenario": (ns.run_scenario, {"system": skate, **short}),
        "direct_kinematics": (
            ns.direct_kinematics,
            {"system": arm, "state": arm_state, "accelerations_of": rates},
        ),
        "inverse_kinematics": (
            ns.inverse_kinematics,
            {
                "system": arm,
                "configuration": arm_state,
                "body": "link2",
                "velocity": [0.1, 0.2],
                "components": ["vx", "vy"],
            },
        ),
        "inverse_dynamics": (
            ns.inverse_dynamics,
            {"system": arm, "state": arm_state, "accelerations_of": rates},
        ),
        "inverse_dynamics_batch": (
            ns.inverse_dynamics_batch,
            {"system": arm, "state": {"joint1.angle": [0.1, 0.2]}, "accelerations_of": rates},
        ),
        "kinematic_history": (ns.kinematic_history, {"system": arm, "motion": motion, **short}),
        "dynamics_history": (ns.dynamics_history, {"system": arm, "history": history}),
        "audit": (ns.audit, {"system": skate, "run": run, "friction": 0.5}),
        "audit_batch": (ns.audit_batch, {"system": skate, "state": many, "friction": 0.5}),
        "linearize": (ns.linearize, {"system": bicycle, "about": {"speed": 4.0}}),
        "linearize_batch": (
            ns.linearize_batch,
            {"system": bicycle, "about": {"speed": [4.0, 5.0]}},
        ),
        "canonical_form": (
            ns.canonical_form,
            {"system": bicycle, "speed": "speed", "gravity": "g"},
        ),
        "steady": (ns.steady, {"system": bicycle, "given": {"speed": 4.0}}),
        "steady_batch": (ns.steady_batch, {"system": bicycle, "given": {"speed": [4.0, 5.0]}}),
        "stability_chart": (
            ns.stability_chart,
            {"system": bicycle, "vary": {"speed": (3.0, 6.0, 3), "c": (0.05, 0.1, 2)}},
        ),
        "lyapunov_exponents": (
            ns.lyapunov_exponents,
            {"system": skate, "start": START, "duration": 0.05, "spans": 3},
        ),
        "periodic": (
            ns.periodic,
            {
                "system": block,
                "start": {"s.speed": 0.0},
                "period": 3.1,
                "given": {"s.position": 1.0},
                "inputs": {"push": "-4*s.position"},
            },
        ),
        "branch": (
            ns.branch,
            {
                "system": block,
                "vary": {"push": (0.0, 1.0)},
                "given": {"s.speed": 1.0},
                "inputs": {},
                "step": 0.1,
            },
        ),
        "sweep_eigenvalues": (
            ns.sweep_eigenvalues,
            {"system": bicycle, "name": "speed", "values": [3.0, 4.0]},
        ),
        "derivatives": (ns.derivatives, {"system": skate, "outputs": {"k": "skate.vx^2"}}),
        "simulate_sensitivities": (
            ns.simulate_sensitivities,
            {"system": skate, **slopes, "samples": 3},
        ),
        "simulate_sensitivities_batch": (
            ns.simulate_sensitivities_batch,
            {"system": skate, **slopes, "samples": 3, "count": 2},
        ),
        "gradient": (ns.gradient, {"system": skate, **slopes, "terminal": "skate.x"}),
        "gradient_batch": (
            ns.gradient_batch,
            {"system": skate, **slopes, "terminal": "skate.x", "count": 2},
        ),
        "least_time": (
            ns.timing.least_time,
            {"path": circle, "limits": ns.timing.Limits(speed=1.0, acceleration=1.0), "count": 50},
        ),
        "linear_quadratic": (
            ns.controllers.linear_quadratic,
            {"system": arm, "motion": motion, **regulated},
        ),
        "motor_limits": (
            ns.timing.motor_limits,
            {
                "system": agv,
                "path": circle,
                "limits": {"torque1": 1.0},
                "count": 20,
                "follower": follower,
            },
        ),
        "parse_controller": (ns.controllers.parse_controller, {"text": "pose:kx=2"}),
        "parse_path": (ns.paths.parse_path, {"text": "circle:radius=2"}),
        "parse_timing": (ns.timing.parse_timing, {"text": "quintic:1"}),
        "path_from_csv": (ns.paths.path_from_csv, {"file": folder / "path.csv"}),
        "reversed_path": (ns.paths.reversed_path, {"path": circle}),
        "control_angle": (
            ns.timing.control_angle,
            {"radius": 1.0, "curvature": np.array([0.1, 0.2])},
        ),
        "gyration": (ns.timing.gyration, {"system": system_of("chaplygin-sleigh")}),
        "with_control_angles": (
            ns.timing.with_control_angles,
            {
                "system": system_of("chaplygin-sleigh"),
                "run": ns.run_scenario(system_of("chaplygin-sleigh"), **short),
            },
        ),
        "follow": (ns.follow, {"system": arm, "motion": motion, **short}),
        "track": (ns.track, {"system": agv, "path": circle, "timing": quintic, **short}),
        "read_measured": (
            ns.read_measured,
            {"path": folder / "log.csv", "units": {"skate.x": "m"}},
        ),
        "read_order": (ns.read_order, {"path": folder / "order.json"}),
        "read_run": (ns.read_run, {"folder": folder / "run"}),
        "open_sweep": (ns.open_sweep, {"folder": folder / "study"}),
        "export": (ns.export, {"thing": run, "path": folder / "run.csv", "overwrite": True}),
        "simulate_jax": (ns.simulate_jax, {"system": skate, **columns, **short}),
        "simulate_torch": (ns.simulate_torch, {"system": skate, **columns, **short}),
        "to_jax": (ns.to_jax, {"system": skate}),
        "to_torch": (ns.to_torch, {"system": skate}),
        "to_control": (ns.to_control, {"thing": linear}),
        "sweep": (
            ns.sweep,
            {
                "model": model,
                "measures": ["final:skate.x"],
                "folder": folder / "new",
                "vary": {"m": [1.0, 2.0]},
                "duration": 0.05,
            },
        ),
        "fit": (ns.fit, {"system": skate, "data": data, "parameters": ["g"]}),
        "check": (ns.check, {"model": model}),
        "equations_text": (ns.equations_text, {"equations": equations}),
        "joint_template": (ns.joints.joint_template, {"word": "knife"}),
        "matrices": (ns.matrices, {"source": skate, "state": START}),
        "paper_figure": (ns.paper_figure, {"paper": "saha1991", "number": 1}),
        "plot": (ns.plot, {"run": run, "what": ["skate.x"]}),
        "plot_eigenvalues": (
            ns.plot_eigenvalues,
            {
                "values": [1.0, 2.0],
                "eigenvalues": [[1.0, 2.0], [1.0, 2.0]],
                "parameter": "v",
                "unit": "m/s",
            },
        ),
        "write_report": (
            ns.write_report,
            {"system": skate, "run": run, "path": folder / "report.html"},
        ),
        "write_fit_report": (ns.write_fit_report, {"found": fitted, "path": folder / "fit.html"}),
        "write_run": (
            ns.write_run,
            {"run": run, "folder": folder / "again", "plots": False, "force": True},
        ),
        "cost": (ns.cost, {"*0": ns.load("chaplygin-sleigh"), "methods": ("complement",)}),
        "cost_growth": (ns.cost_growth, {"*0": [1, 2], "methods": ("complement",)}),
        "compare": (ns.compare, {"*0": run, "*1": run}),
        "explore": (ns.explore, {"model": skate, "names": ["m"], "duration": 0.05}),
        "animate": (ns.animate, {"run": run, "path": folder / "film.html"}),
        "picture": (ns.picture, {"run": run, "width": 160, "height": 120}),
        "gym.make_env": (gym_step, {"model": skate, "task": ns.gym.GymTask(**task)}),
        "gym.make_vec_env": (
            vec_step,
            {"model": skate, "task": ns.gym.GymTask(**task), "num_envs": 2},
        ),
        "gym.GymTask": (pictured, task),
        "gym.register_envs": (ns.gym.register_envs, {}),
        # classes
        "Table": (_used(ns.Table, pushed), {"times": TIMES, "values": np.array([0.0, 0.1, 0.2])}),
        "ExpressionMotion": (
            _used(ns.motions.ExpressionMotion, of_arm),
            {"coordinates": {"joint1.angle": "0.1*t", "joint2.angle": "0.2*t"}},
        ),
        "FrameMotion": (
            _used(ns.motions.FrameMotion, of_arm),
            {
                "body": "link2",
                "position": {"x": "0.6 + 0.1*t", "y": "0.2"},
                "point": (0.4, 0.0, 0.0),
                "near": {"joint1.angle": 0.3},
            },
        ),
        "PathMotion": (
            _used(ns.motions.PathMotion, referred),
            {**of_agv, "point": (0.0, 0.0, 0.0), "direction": (0.0, 1.0, 0.0)},
        ),
        "Measurements": (
            _used(ns.Measurements, measured),
            {"times": [0.02, 0.05], "values": {"r": [1.0, 2.0]}, "misfit": "skate.x - r"},
        ),
        "MeasuredRun": (
            _used(ns.MeasuredRun, fitted_to),
            {
                "times": run.t,
                "columns": {"skate.x": run["skate.x"]},
                "start": START,
                "inputs": {"tau": 0.0},
            },
        ),
        "FitParameter": (
            _used(ns.FitParameter, looked_for),
            {"of": "g", "guess": 9.0, "lower": 1.0, "upper": 20.0, "mean": 9.0, "sigma": 1.0},
        ),
        "Limits": (
            _used(ns.timing.Limits, least),
            {"speed": 1.0, "acceleration": 1.0, "lateral_acceleration": 1.0},
        ),
        "Line": (_used(ns.paths.Line, driven()), {"start": (0.0, 0.0), "end": (5.0, 0.0)}),
        "Circle": (_used(ns.paths.Circle, driven()), {"radius": 2.0}),
        "Arc": (
            _used(ns.paths.Arc, driven()),
            {"center": (0.0, 0.0), "radius": 2.0, "start_angle": 0.0, "angle": 1.0},
        ),
        "Ellipse": (_used(ns.paths.Ellipse, driven()), {"half_width": 3.0, "half_height": 2.0}),
        "FigureEight": (
            _used(ns.paths.FigureEight, driven()),
            {"half_width": 3.0, "half_height": 2.0},
        ),
        "Catenary": (_used(ns.paths.Catenary, driven()), {"x0": 1.3, "extent": 4.0}),
        "Sine": (
            _used(ns.paths.Sine, driven()),
            {"amplitude": 0.5, "wave_number": 1.0, "extent": 7.0},
        ),
        "Graph": (_used(ns.paths.Graph, driven()), {"y": "0.5*x^2", "start": 0.0, "end": 2.0}),
        "Parametric": (
            _used(ns.paths.Parametric, driven()),
            {"x": "p", "y": "p^2", "start": 0.0, "end": 1.0},
        ),
        "Clothoid": (
            _used(ns.paths.Clothoid, driven()),
            {"start_curvature": 0.0, "end_curvature": 0.5, "length": 5.0},
        ),
        "Polyline": (_used(ns.paths.Polyline, driven()), {"points": points, "radius": 0.2}),
        "Spline": (_used(ns.paths.Spline, driven()), {"points": points}),
        "Dubins": (
            _used(ns.paths.Dubins, lambda path: path.breaks),
            {"end": (3.0, 1.0), "end_heading": 1.0, "radius": 0.5},
        ),
        "ReedsShepp": (
            _used(ns.paths.ReedsShepp, lambda path: path.parts),
            {"end": (0.0, 1.0), "end_heading": 0.5, "radius": 0.5},
        ),
        "Disc": (
            _used(ns.obstacles.Disc, lambda it: it.pieces()),
            {"center": (1.0, 0.0), "radius": 0.3, "moves": ("0.1*t", "0")},
        ),
        "Polygon": (_used(ns.obstacles.Polygon, lambda it: it.pieces()), {"points": triangle}),
        "OccupancyGrid": (
            _used(ns.obstacles.OccupancyGrid, lambda it: it.pieces()),
            {"cells": np.eye(3, dtype=bool), "resolution": 0.1, "origin": (0.0, 0.0)},
        ),
        "Map": (
            _used(ns.obstacles.Map, lambda it: it.pieces()),
            {"file": str(floor), "resolution": 0.1, "origin": (0.0, 0.0), "darker": 0.5},
        ),
        "Nurbs": (
            _used(ns.paths.Nurbs, driven()),
            {"points": points, "weights": (1.0, 1.0, 1.0, 1.0), "degree": 3},
        ),
        "Composite": (
            _used(ns.paths.Composite, driven()),
            {
                "paths": (
                    ns.paths.Line((0.0, 0.0), (2.0, 0.0)),
                    ns.paths.Line((2.0, 0.0), (4.0, 0.0)),
                )
            },
        ),
        "Quintic": (_used(ns.timing.Quintic, timed), {"duration": 5.0}),
        "ConstantSpeed": (_used(ns.timing.ConstantSpeed, timed), {"speed": 0.5}),
        "ConstantEnergy": (
            _used(ns.timing.ConstantEnergy, timed),
            {"total_speed": 0.5, "radius_of_gyration": 0.3},
        ),
        "Trapezoidal": (_used(ns.timing.Trapezoidal, timed), {"speed": 1.0, "acceleration": 1.0}),
        "SCurve": (
            _used(ns.timing.SCurve, timed),
            {"speed": 1.0, "acceleration": 1.0, "jerk": 2.0},
        ),
        "SpeedSchedule": (
            _used(ns.timing.SpeedSchedule, timed),
            {"times": (0.0, 1.0, 2.0), "speeds": (0.0, 1.0, 0.0)},
        ),
        "SpeedProfile": (
            _used(ns.timing.SpeedProfile, timed),
            {"arc_lengths": (0.0, 1.0, 3.0), "speeds": (0.0, 1.0, 0.0)},
        ),
        "LeastTime": (_used(ns.timing.LeastTime, timed), {"speed": 1.0, "acceleration": 1.0}),
        "Follower": (_used(ns.Follower, followed), {}),
        "share": (
            ns.share,
            {
                **{"thing": skate, "path": folder / "live.html", "knobs": {"m": (1.0, 2.0)}},
                **{"plots": ["skate.x"], "duration": 0.05, "overwrite": True},
            },
        ),
        "AxleLink": (
            _used(ns.AxleLink, towed),
            {"coordinate": "hinge.angle", "near": (1.0, 0.0), "sign": -1.0},
        ),
        "ControlLoop": (
            _used(ns.ControlLoop, looped),
            {"controller": "pose:kx=2", "limits": {"torque1": 5.0}, "period": 0.01},
        ),
        "Plant": (
            _used(ns.Plant, planted),
            {
                "parameters": {"m_platform": 22.0},
                "start": {"platform.x": 0.1},
                "actuators": (ns.Actuator(of="torque1", largest=5.0),),
                "sensors": (ns.Sensor(of="platform.x", sigma=0.01),),
            },
        ),
        "Sensor": (_used(ns.Sensor, sensed), {"of": "platform.x", "sigma": 0.01}),
        "Actuator": (_used(ns.Actuator, acted), {"of": "torque1", "largest": 5.0}),
        "Odometry": (_used(ns.sensors.Odometry, estimated), {"wheels": ("wheel1", "wheel2")}),
        "Gyroscope": (_used(ns.sensors.Gyroscope, estimated), {"body": "platform"}),
        "PoseSensor": (_used(ns.sensors.PoseSensor, estimated), {"body": "platform"}),
        "Beacon": (
            _used(ns.sensors.Beacon, estimated),
            {"body": "platform", "at": (3.0, 2.0, 0.0)},
        ),
        "ExtendedKalman": (
            _used(ns.sensors.ExtendedKalman, filtered),
            {"start_sigma": {"platform.x": 0.1}},
        ),
        "Tracking": (
            _used(ns.controllers.Tracking, lambda law: ns.simulate(arm, inputs=law, **short)),
            {
                "motion": motion,
                "controller": ns.controllers.ComputedTorque(),
                "reference_start": np.zeros(2),
                "limits": {"tau1": 5.0},
            },
        ),
        "TrailerMotion": (
            _used(
                ns.motions.TrailerMotion,
                lambda moved: ns.reference_motion(system_of("tractor-trailer"), moved),
            ),
            {
                "path": circle,
                "timing": quintic,
                **{"steering": "steer.angle", "hinge": "hinge.angle"},
                **{"wheelbase": "l1", "hitch": 0.0, "trailer": 1.0, "reverse": False},
            },
        ),
        "FeedForward": (_used(ns.controllers.FeedForward, held(arm)), {}),
        "Predictive": (
            _used(
                ns.controllers.Predictive,
                lambda law: held(arm)(ns.ControlLoop(controller=law, period=0.05)),
            ),
            {
                "horizon": 0.4,
                "steps": 4,
                "limits": {"tau1": 40.0},
                "weights": {"joint1.angle": 2.0},
            },
        ),
        "ComputedTorque": (_used(ns.controllers.ComputedTorque, held(arm)), {}),
        "ProportionalDerivative": (
            _used(ns.controllers.ProportionalDerivative, held(arm)),
            {"kp": (9.0, 9.0), "kd": (6.0, 6.0)},
        ),
        "CartesianTracking": (
            _used(ns.controllers.CartesianTracking, held(arm)),
            {"body": "link2", "components": ("vx", "vy"), "point": (0.4, 0.0, 0.0)},
        ),
        "AccelerationResolved": (_used(ns.controllers.AccelerationResolved, steered), {}),
        "PathTracking": (_used(ns.controllers.PathTracking, steered), {"reach": 0.3}),
        "PoseTracking": (_used(ns.controllers.PoseTracking, steered), {}),
        "AdaptiveTracking": (
            _used(ns.controllers.AdaptiveTracking, held(arm)),
            {"unknown": ("m2",), "rates": (1.0,)},
        ),
        "MotionForce": (
            _used(ns.controllers.MotionForce, steered),
            {"motion": ns.controllers.PoseTracking(), "reactions": {}},
        ),
        "SteeredTracking": (
            _used(
                ns.controllers.SteeredTracking,
                lambda c: ns.track(tricycle, circle, timing=quintic, controller=c, **short),
            ),
            {"steering": "steer.angle", "wheelbase": 1.1},
        ),
        "TrailerTracking": (
            _used(
                ns.controllers.TrailerTracking,
                lambda c: ns.track(
                    system_of("tractor-trailer"), circle, timing=quintic, controller=c, **short
                ),
            ),
            {"steering": "steer.angle", "hinge": "hinge.angle", "hitch": 0.0, "trailer": 1.0},
        ),
        "Regulator": (
            _used(ns.controllers.Regulator, held(arm)),
            {"weights": {**weights, "tau1": 1.0, "tau2": 1.0}, "samples": 5},
        ),
        "CustomController": (
            _used(ns.controllers.CustomController, held(arm)),
            {"law": lambda t, q, v, x, u: u},
        ),
        "Undercarriage": (_used(ns.Undercarriage, imported), {}),
        "NaturalComplement": (_used(ns.NaturalComplement, derived), {}),
    }
    return calls
