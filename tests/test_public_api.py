"""The public names: which they are, that they say what they are, and that they cost nothing."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noslip
from noslip.base import base_of
from noslip.base.public import public_places

SOURCE = Path(noslip.__file__).parent

#: Names of the top level, modules of families among them.
TOP = """
    AbstractFormulation AbstractTarget Actuator AxleLink Batch Body BoltzmannHamel CompileError
    ControlLoop DeSantis Definition DeviceError Ending Equations Fault FitParameter Follower
    ForceInput FormulationError GibbsAppell IndependentSpeed Joint Kinematics MODELS Meaning
    MeasuredRun Measurements MissingPackageError Model ModelBuilder ModelError Multipliers NamedMode
    NaturalComplement NoslipError Parameter Placement Plan PlanError Plant PlantLaw ProgressBar
    Quantity Scenario Sensor SimulationError SpeedInput Start StorageError System Table Trajectory
    Undercarriage Vakonomic animate audit audit_batch branch canonical_form cartesian_model check
    check_member compare compile complete_start contacts controllability controllers cost
    cost_growth derivatives derive direct_kinematics distribution dynamics_history equations_text
    evaluate evaluate_batch explore export fit follow forces formats gradient gradient_batch grounds
    gym import_robot inverse_dynamics inverse_dynamics_batch inverse_kinematics joints
    kinematic_history linearize linearize_batch load load_plugin lyapunov_exponents matrices
    missions motions obstacles open_sweep paper_figure parts paths periodic picture plan plot
    plot_eigenvalues reactions read_measured read_order read_run reference_motion results rows
    run_scenario save_model sensors shapes share simulate simulate_batch simulate_jax
    simulate_sensitivities simulate_sensitivities_batch simulate_torch stability_chart
    stacked_matrices start_on_motion steady steady_batch structure studies surfaces sweep
    sweep_eigenvalues timing to_control to_jax to_torch trace track verify write_fit_report
    write_report write_run
""".split()

#: Module of families → its names.
FAMILIES = {
    "shapes": """
        AbstractShape Box Cylinder Facets Ring Sphere Turned
    """.split(),
    "joints": """
        AbstractCompositeJoint AbstractJointType Angles Fixed Free JOINT_TEMPLATES
        JointTemplate Planar Prismatic Revolute Screw Spherical Translation Universal
        joint_template
    """.split(),
    "surfaces": """
        AbstractSurface Ball ConeSurface CylinderSurface Disk Ellipsoid ParametricSurface
        RevolvedSurface Torus
    """.split(),
    "grounds": """
        AbstractGround CylinderGround FlatGround GridGround HeightGround ParametricGround
        RevolvedGround SphereGround
    """.split(),
    "contacts": """
        AbstractContact KnifeEdge Plane RollerRolling Rolling
    """.split(),
    "rows": """
        AbstractRow AbstractTransmission Belt Cam Differential Gear Planetary PositionRow Rack
        RowForce VelocityRow
    """.split(),
    "forces": """
        AbstractForce Brake BrushTire ElasticContact JointDamper JointFriction JointSpring
        MagicTire Motor PivotingFriction RollingResistance SlidingFriction Spring Tire
        Wrench
    """.split(),
    "parts": """
        AbstractPart AckermannAxle Arm ArmLink Axle BallCaster Base Blade Caster
        DifferentialAxle DrivenWheel FifthWheel FixedWheel Flywheel Hitch Lift Load
        MecanumWheel OmniWheel Pendulum SteeredDrivenWheel SteeredWheel Strut Tank Trailer
        Trailers Waist Wheelset
    """.split(),
    "paths": """
        AbstractPath Arc Catenary Circle Clothoid Composite Dubins Ellipse FigureEight Graph
        Line Nurbs Parametric Polyline ReedsShepp Sine Spline parse_path path_from_csv reversed_path
    """.split(),
    "timing": """
        AbstractTiming ConstantEnergy ConstantSpeed LeastTime Limits Quintic SCurve
        SpeedProfile SpeedSchedule Trapezoidal control_angle gyration least_time
        motor_limits parse_timing with_control_angles
    """.split(),
    "motions": """
        ExpressionMotion FollowMotion FrameMotion PathMotion TrailerMotion
    """.split(),
    "controllers": """
        AbstractController AccelerationResolved AdaptiveTracking CartesianTracking
        ComputedTorque CustomController FeedForward LinearQuadratic MotionForce PathTracking
        PoseTracking Predictive ProportionalDerivative Regulator SteeredTracking Tracking
        TrailerTracking linear_quadratic parse_controller
    """.split(),
    "sensors": """
        AbstractInstrument Beacon ExtendedKalman Gyroscope Odometry PoseSensor
    """.split(),
    "missions": """
        Battery Catalog DriveChoice DriveLeg DriveSamples DutyCycle Gearmotor LegDuty Mission
        MotorDuty PlanLeg StopLeg TurnLeg Zone drive_mission plot_duty read_catalog read_mission
        size_drives
    """.split(),
    "obstacles": """
        AbstractObstacle Disc Map OccupancyGrid Polygon
    """.split(),
    "studies": """
        AbstractDistribution AbstractMeasure AbstractWork
    """.split(),
    "formats": """
        AbstractEquationFormat AbstractModelText AbstractRunFormat AbstractSystemFormat
    """.split(),
    "results": """
        Audit AuditBatch BracketLoop Branch CanonicalForm CartesianModel Certificate
        ChaplyginReduction CheckReport Controllability Cost CostGrowth Derivatives
        Distribution DynamicsHistory EigenvalueSweep Exported FieldFormulas FirstIntegral Fit
        FlatMap FlatOutputs FlatState
        GeometryPage Gradient GradientBatch Growth ImportedModel Instant InstantBatch Integral
        InvariantMeasure InverseDynamicsBatch KinematicHistory Linearization LinearizationBatch
        LyapunovExponents MeasuredTable MethodMatrices MethodObject MomentumEquation Multiplier
        OperationCount Order OrderLeg PathErrors PeriodicMotion Reaction ReferenceMotion
        ReferenceSamples RelativeEquilibrium RunComparison Sensitivities SensitivitiesBatch
        SpecialPoint StabilityChart StackedMatrices Statement SteadyBatch SteadyMotion Structure
        SweepProgress
        Symmetry VelocityForm
    """.split(),
}
#: Public name → module that hands it out.
PLACES = {name: "noslip" for name in TOP} | {
    name: f"noslip.{module}" for module, names in FAMILIES.items() for name in names
}

#: Not a function or a class: described by a comment where it is defined.
CONSTANTS = {"MODELS"}


def thing_called(name):
    return getattr(importlib.import_module(PLACES[name]), name)


def test_the_public_names_are_these():
    assert sorted(noslip.__all__) == TOP
    assert len(TOP) <= 150
    assert public_places() == PLACES


@pytest.mark.parametrize("module", FAMILIES)
def test_a_family_module_lists_its_names(module):
    """By tab, and the same ones to a star."""
    found = getattr(noslip, module)
    assert found.__name__ == f"noslip.{module}"
    assert sorted(dir(found)) == sorted(found.__all__) == FAMILIES[module]


def test_a_family_is_in_one_module():
    """Every member of the package that is public stands beside its base class."""
    for name, place in PLACES.items():
        thing = thing_called(name)
        base = base_of(thing) if inspect.isclass(thing) else None
        if base is not None and base.__name__ in PLACES:
            assert PLACES[base.__name__] == place, name


def test_a_name_is_public_in_one_module():
    names = [*TOP, *(name for module in FAMILIES.values() for name in module)]
    assert len(names) == len(set(names))


def test_public_names_exist_and_have_docstrings():
    for name in PLACES:
        thing = thing_called(name)
        if name in CONSTANTS:
            continue
        own = thing.__doc__
        assert own, f"{name} has no docstring"
        # what a data class writes by itself is no description
        assert not own.startswith(f"{name}("), f"{name} has no docstring of its own"
        assert len(own.splitlines()[0]) <= 100


def test_the_docstring_of_a_public_class_lists_comments_at_fields():
    """Behind a field, above several, and those of a base class."""
    lines = inspect.getdoc(noslip.parts.SteeredWheel).splitlines()
    said = [line for line in lines if line.startswith(("parent :", "radius :", "mass :", "fork"))]
    assert said == [
        "parent : body with the axle.",
        "radius : m and kg; the wheel is a uniform cylinder.",
        "mass : m and kg; the wheel is a uniform cylinder.",
        "fork_mass : kg, of what turns with it.",
    ]


def test_public_members_have_docstrings():
    """Methods and properties that a class itself defines, those of abstract joint types apart."""
    for name in (name for name in PLACES if name not in CONSTANTS):
        thing = thing_called(name)
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


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("simulte", "'simulate'"), ("tabel", "'Table'"), ("Revolut", "'noslip.joints.Revolute'")]
    + [("Revolute", "it is noslip.joints.Revolute$")],
)
def test_a_wrong_name_is_told_with_its_nearest(wrong, right):
    with pytest.raises(AttributeError, match=f"noslip has no name '{wrong}'; .*{right}"):
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
