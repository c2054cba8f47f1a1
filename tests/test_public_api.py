"""The public names: which they are, that they say what they are, and that they cost nothing."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noslip

SOURCE = Path(noslip.__file__).parent

PUBLIC = [
    "AbstractCompositeJoint",
    "AbstractContact",
    "AbstractController",
    "AbstractDistribution",
    "AbstractEquationFormat",
    "AbstractForce",
    "AbstractFormulation",
    "AbstractGround",
    "AbstractInstrument",
    "AbstractJointType",
    "AbstractMeasure",
    "AbstractModelText",
    "AbstractPart",
    "AbstractPath",
    "AbstractRow",
    "AbstractRunFormat",
    "AbstractShape",
    "AbstractSurface",
    "AbstractSystemFormat",
    "AbstractTarget",
    "AbstractTiming",
    "AbstractTransmission",
    "AbstractWork",
    "AccelerationResolved",
    "AckermannAxle",
    "Actuator",
    "AdaptiveTracking",
    "Angles",
    "Arc",
    "Arm",
    "ArmLink",
    "Audit",
    "AuditBatch",
    "Axle",
    "AxleLink",
    "Ball",
    "BallCaster",
    "Base",
    "Batch",
    "Beacon",
    "Belt",
    "Blade",
    "Body",
    "BoltzmannHamel",
    "Box",
    "Brake",
    "BrushTire",
    "CanonicalForm",
    "CartesianModel",
    "CartesianTracking",
    "Caster",
    "Catenary",
    "Certificate",
    "CheckReport",
    "Circle",
    "Clothoid",
    "CompileError",
    "Composite",
    "ComputedTorque",
    "ConeSurface",
    "ConstantEnergy",
    "ConstantSpeed",
    "ControlLoop",
    "Cost",
    "CostGrowth",
    "CustomController",
    "Cylinder",
    "CylinderGround",
    "CylinderSurface",
    "DeSantis",
    "Definition",
    "Derivatives",
    "DeviceError",
    "Differential",
    "DifferentialAxle",
    "Disk",
    "DrivenWheel",
    "DynamicsHistory",
    "EigenvalueSweep",
    "ElasticContact",
    "Ellipse",
    "Ellipsoid",
    "Ending",
    "Equations",
    "Exported",
    "ExpressionMotion",
    "ExtendedKalman",
    "Facets",
    "Fault",
    "FeedForward",
    "FifthWheel",
    "FigureEight",
    "Fit",
    "FitParameter",
    "Fixed",
    "FixedWheel",
    "FlatGround",
    "Flywheel",
    "FollowMotion",
    "Follower",
    "ForceInput",
    "FormulationError",
    "FrameMotion",
    "Free",
    "Gear",
    "GibbsAppell",
    "Gradient",
    "GradientBatch",
    "Graph",
    "GridGround",
    "Gyroscope",
    "HeightGround",
    "Hitch",
    "ImportedModel",
    "IndependentSpeed",
    "Instant",
    "InstantBatch",
    "InverseDynamicsBatch",
    "JOINT_TEMPLATES",
    "Joint",
    "JointDamper",
    "JointFriction",
    "JointSpring",
    "JointTemplate",
    "KinematicHistory",
    "Kinematics",
    "KnifeEdge",
    "LeastTime",
    "Lift",
    "Limits",
    "Line",
    "LinearQuadratic",
    "Linearization",
    "LinearizationBatch",
    "Load",
    "MODELS",
    "MagicTire",
    "Meaning",
    "MeasuredRun",
    "MeasuredTable",
    "Measurements",
    "MecanumWheel",
    "MethodMatrices",
    "MethodObject",
    "MissingPackageError",
    "Mission",
    "MissionLeg",
    "Model",
    "ModelBuilder",
    "ModelError",
    "MotionForce",
    "Motor",
    "Multipliers",
    "NamedMode",
    "NaturalComplement",
    "NoslipError",
    "Nurbs",
    "Odometry",
    "OmniWheel",
    "OperationCount",
    "Parameter",
    "Parametric",
    "ParametricGround",
    "ParametricSurface",
    "PathErrors",
    "PathMotion",
    "PathTracking",
    "Pendulum",
    "PivotingFriction",
    "Placement",
    "Planar",
    "Plane",
    "Planetary",
    "Plant",
    "PlantLaw",
    "Polyline",
    "PoseSensor",
    "PoseTracking",
    "PositionRow",
    "Prismatic",
    "ProgressBar",
    "ProportionalDerivative",
    "Quantity",
    "Quintic",
    "Rack",
    "Reaction",
    "ReferenceMotion",
    "ReferenceSamples",
    "Regulator",
    "Revolute",
    "RevolvedGround",
    "RevolvedSurface",
    "Ring",
    "RollerRolling",
    "Rolling",
    "RollingResistance",
    "RowForce",
    "RunComparison",
    "SCurve",
    "Scenario",
    "Screw",
    "Sensitivities",
    "SensitivitiesBatch",
    "Sensor",
    "SimulationError",
    "Sine",
    "SlidingFriction",
    "SpeedInput",
    "SpeedProfile",
    "SpeedSchedule",
    "Sphere",
    "SphereGround",
    "Spherical",
    "Spline",
    "Spring",
    "StackedMatrices",
    "Start",
    "SteadyBatch",
    "SteadyMotion",
    "SteeredDrivenWheel",
    "SteeredTracking",
    "SteeredWheel",
    "StorageError",
    "Strut",
    "SweepProgress",
    "System",
    "Table",
    "Tank",
    "Tire",
    "Torus",
    "Tracking",
    "Trailer",
    "TrailerMotion",
    "TrailerTracking",
    "Trailers",
    "Trajectory",
    "Translation",
    "Trapezoidal",
    "Turned",
    "Undercarriage",
    "Universal",
    "Vakonomic",
    "VelocityRow",
    "Waist",
    "Wheelset",
    "Wrench",
    "animate",
    "audit",
    "audit_batch",
    "canonical_form",
    "cartesian_model",
    "check",
    "compare",
    "compile",
    "complete_start",
    "control_angle",
    "cost",
    "cost_growth",
    "derivatives",
    "derive",
    "direct_kinematics",
    "dynamics_history",
    "equations_text",
    "evaluate",
    "evaluate_batch",
    "explore",
    "export",
    "fit",
    "follow",
    "gradient",
    "gradient_batch",
    "gym",
    "gyration",
    "import_robot",
    "inverse_dynamics",
    "inverse_dynamics_batch",
    "inverse_kinematics",
    "joint_template",
    "kinematic_history",
    "least_time",
    "linear_quadratic",
    "linearize",
    "linearize_batch",
    "load",
    "load_plugin",
    "matrices",
    "motor_limits",
    "open_sweep",
    "paper_figure",
    "parse_controller",
    "parse_path",
    "parse_timing",
    "path_from_csv",
    "picture",
    "plot",
    "plot_eigenvalues",
    "reactions",
    "read_measured",
    "read_mission",
    "read_run",
    "reference_motion",
    "reversed_path",
    "run_scenario",
    "save_model",
    "simulate",
    "simulate_batch",
    "simulate_jax",
    "simulate_sensitivities",
    "simulate_sensitivities_batch",
    "simulate_torch",
    "stacked_matrices",
    "start_on_motion",
    "steady",
    "steady_batch",
    "sweep",
    "sweep_eigenvalues",
    "to_control",
    "to_jax",
    "to_torch",
    "trace",
    "track",
    "verify",
    "with_control_angles",
    "write_fit_report",
    "write_report",
    "write_run",
]

#: Not a function or a class: described by a comment where it is defined.
CONSTANTS = {"MODELS"}


def test_the_public_names_are_these():
    assert sorted(noslip.__all__) == PUBLIC


def test_public_names_exist_and_have_docstrings():
    for name in PUBLIC:
        thing = getattr(noslip, name)
        if name in CONSTANTS:
            continue
        own = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
        assert own, f"{name} has no docstring"
        # what a data class writes by itself is no description
        assert not own.startswith(f"{name}("), f"{name} has no docstring of its own"
        assert len(own.splitlines()[0]) <= 100


def test_public_members_have_docstrings():
    """Methods and properties that a class itself defines, those of abstract joint types apart."""
    for name in (name for name in PUBLIC if name not in CONSTANTS):
        thing = getattr(noslip, name)
        if not inspect.isclass(thing):
            continue
        inherited = {word for base in thing.__mro__[1:] for word in vars(base)}
        for word, member in vars(thing).items():
            if word.startswith("_") or word in inherited:
                continue
            if inspect.isfunction(member) or isinstance(member, property | classmethod):
                assert getattr(member, "__doc__", None), f"{name}.{word} has no docstring"


def test_names_are_those_of_the_stub_and_misspelled_ones_are_refused():
    for name in noslip.__all__:
        assert name in dir(noslip)
    with pytest.raises(AttributeError, match="simulat"):
        _ = noslip.simulat


def test_importing_it_imports_nothing_heavy():
    heavy = ("casadi", "numba", "llvmlite", "scipy", "matplotlib", "sympy", "xarray", "pandas")
    code = f"import noslip, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_asking_for_help_imports_nothing_heavy():
    heavy = ("casadi", "numba", "llvmlite", "scipy", "matplotlib", "sympy", "xarray", "pandas")
    code = (
        "import sys; sys.argv = ['noslip', '--help']\n"
        "from noslip.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize(("wrong", "right"), [("simulte", "simulate"), ("tabel", "Table")])
def test_a_wrong_name_is_told_with_its_nearest(wrong, right):
    with pytest.raises(AttributeError, match=f"noslip has no name '{wrong}'; did you .*'{right}'"):
        getattr(noslip, wrong)
    assert not hasattr(noslip, "__no_such_protocol__")


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert noslip.__version__ == version("noslip")


def test_no_text_is_ever_run_as_code():
    """Model files and expressions are data: nothing evaluates them as Python, SymPy or pickles."""
    words = {"eval", "exec", "sympify", "parse_expr", "__import__"}
    all_modules = {"pickle", "marshal", "shelve", "dill", "joblib", "subprocess"}
    any_of_them = re.compile("|".join(words | all_modules))
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if not any_of_them.search(text):
            continue
        modules = set(all_modules)
        # ffmpeg, with our own arguments, reads pictures and no text; a C compiler reads code that
        # is printed from operations, with texts of the model in comments alone
        if path.relative_to(SOURCE).as_posix() in ("scene/film.py", "bridges/fmu.py"):
            modules.remove("subprocess")
        for node in ast.walk(ast.parse(text, str(path))):
            place = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Name):
                assert node.id not in words, place
            elif isinstance(node, ast.Attribute):
                assert node.attr not in words, place
            elif isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & modules, place
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in modules, place
                assert not {alias.name for alias in node.names} & words, place
