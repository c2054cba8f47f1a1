"""Every public name, in the order data flows; read at run time too, so it is the only list."""

# errors
from .base.errors import (
    NoslipError as NoslipError,
    ModelError as ModelError,
    FormulationError as FormulationError,
    CompileError as CompileError,
    SimulationError as SimulationError,
    DeviceError as DeviceError,
    StorageError as StorageError,
    MissingPackageError as MissingPackageError,
    Fault as Fault,
)

from .base.families import (
    load_plugin as load_plugin,
)

# 1 describe
from .model.quantities import (
    Meaning as Meaning,
    Parameter as Parameter,
    Quantity as Quantity,
)
from .model.bodies import (
    Body as Body,
    Placement as Placement,
    AbstractShape as AbstractShape,
    Box as Box,
    Cylinder as Cylinder,
    Sphere as Sphere,
    Ring as Ring,
    Turned as Turned,
    Facets as Facets,
)
from .model.joints import (
    AbstractJointType as AbstractJointType,
    Joint as Joint,
    Fixed as Fixed,
    Revolute as Revolute,
    Prismatic as Prismatic,
    Screw as Screw,
    Translation as Translation,
    Planar as Planar,
    Spherical as Spherical,
    Free as Free,
    Angles as Angles,
)
from .model.composite_joints import (
    AbstractCompositeJoint as AbstractCompositeJoint,
    Universal as Universal,
)
from .model.contacts import (
    AbstractContact as AbstractContact,
    Rolling as Rolling,
    KnifeEdge as KnifeEdge,
    Plane as Plane,
)
from .model.surfaces import (
    AbstractSurface as AbstractSurface,
    Disk as Disk,
    Ball as Ball,
    Torus as Torus,
    Ellipsoid as Ellipsoid,
    CylinderSurface as CylinderSurface,
    ConeSurface as ConeSurface,
    RevolvedSurface as RevolvedSurface,
    ParametricSurface as ParametricSurface,
)
from .model.grounds import (
    AbstractGround as AbstractGround,
    FlatGround as FlatGround,
    CylinderGround as CylinderGround,
    SphereGround as SphereGround,
    RevolvedGround as RevolvedGround,
    HeightGround as HeightGround,
    GridGround as GridGround,
    ParametricGround as ParametricGround,
)
from .model.roller_wheels import (
    RollerRolling as RollerRolling,
)
from .model.definitions import (
    Definition as Definition,
)
from .model.rows import (
    AbstractRow as AbstractRow,
    RowForce as RowForce,
    VelocityRow as VelocityRow,
    PositionRow as PositionRow,
)
from .model.transmissions import (
    AbstractTransmission as AbstractTransmission,
    Gear as Gear,
    Rack as Rack,
    Belt as Belt,
    Planetary as Planetary,
    Differential as Differential,
)
from .model.forces import (
    ForceInput as ForceInput,
    SpeedInput as SpeedInput,
    AbstractForce as AbstractForce,
    Motor as Motor,
    Brake as Brake,
    JointSpring as JointSpring,
    JointDamper as JointDamper,
    JointFriction as JointFriction,
    Spring as Spring,
    Tire as Tire,
    Wrench as Wrench,
)
from .model.contact_friction import (
    SlidingFriction as SlidingFriction,
    RollingResistance as RollingResistance,
    PivotingFriction as PivotingFriction,
)
from .model.elastic_contacts import (
    ElasticContact as ElasticContact,
)
from .model.tires import (
    MagicTire as MagicTire,
    BrushTire as BrushTire,
)
from .model.scenario import (
    Scenario as Scenario,
)
from .model.model import (
    Model as Model,
    ModelBuilder as ModelBuilder,
    IndependentSpeed as IndependentSpeed,
    NamedMode as NamedMode,
)
from .model.parts.part import (
    AbstractPart as AbstractPart,
)
from .model.parts.bodies import (
    Base as Base,
    Load as Load,
    Pendulum as Pendulum,
    Tank as Tank,
    Strut as Strut,
    Lift as Lift,
    Flywheel as Flywheel,
)
from .model.parts.wheels import (
    FixedWheel as FixedWheel,
    DrivenWheel as DrivenWheel,
    SteeredWheel as SteeredWheel,
    SteeredDrivenWheel as SteeredDrivenWheel,
    Caster as Caster,
    BallCaster as BallCaster,
    MecanumWheel as MecanumWheel,
    OmniWheel as OmniWheel,
    Blade as Blade,
)
from .model.parts.axles import (
    Axle as Axle,
    Wheelset as Wheelset,
    DifferentialAxle as DifferentialAxle,
    AckermannAxle as AckermannAxle,
)
from .model.parts.hitches import (
    Hitch as Hitch,
    FifthWheel as FifthWheel,
    Waist as Waist,
    Trailer as Trailer,
    Trailers as Trailers,
)
from .model.parts.arms import (
    Arm as Arm,
    ArmLink as ArmLink,
)
from .model.files import (
    AbstractModelText as AbstractModelText,
    save_model as save_model,
)
from .library import (
    load as load,
    MODELS as MODELS,
)
from .bridges.description import (
    ImportedModel as ImportedModel,
    Undercarriage as Undercarriage,
)
from .bridges.robots import (
    import_robot as import_robot,
)

# 2 trace
from .kinematics.kinematics import (
    Kinematics as Kinematics,
    trace as trace,
)

# 3 formulate
from .formulations.base import (
    AbstractFormulation as AbstractFormulation,
    Equations as Equations,
    MethodObject as MethodObject,
)
from .formulations.derivation import (
    derive as derive,
)
from .formulations.complement import (
    NaturalComplement as NaturalComplement,
)
from .formulations.desantis import (
    DeSantis as DeSantis,
)
from .formulations.boltzmann_hamel import (
    BoltzmannHamel as BoltzmannHamel,
)
from .formulations.gibbs_appell import (
    GibbsAppell as GibbsAppell,
)
from .formulations.multipliers import (
    Multipliers as Multipliers,
)
from .formulations.vakonomic import (
    Vakonomic as Vakonomic,
)
from .formulations.certificate import (
    Certificate as Certificate,
)
from .formulations.verify import (
    verify as verify,
)
from .formulations.couplings import (
    StackedMatrices as StackedMatrices,
    stacked_matrices as stacked_matrices,
)

# 4 compile
from .engines.target import (
    AbstractTarget as AbstractTarget,
)
from .engines.system import (
    System as System,
    compile as compile,
)

# 5 simulate
from .simulation.inputs import (
    Table as Table,
)
from .simulation.starts.completion import (
    Start as Start,
    complete_start as complete_start,
)
from .simulation.trajectory import (
    PathErrors as PathErrors,
)
from .simulation.run_files import (
    AbstractRunFormat as AbstractRunFormat,
)
from .simulation.trajectory import (
    Trajectory as Trajectory,
    Ending as Ending,
)
from .simulation.single_run import (
    simulate as simulate,
)
from .simulation.batches.batch import (
    Batch as Batch,
)
from .simulation.batches.batch import (
    simulate_batch as simulate_batch,
)
from .base.progress import (
    ProgressBar as ProgressBar,
)

# analyze
from .analysis.instant import (
    Instant as Instant,
    InstantBatch as InstantBatch,
    evaluate as evaluate,
    evaluate_batch as evaluate_batch,
)
from .analysis.reactions import (
    Reaction as Reaction,
    reactions as reactions,
)
from .analysis.cartesian import (
    CartesianModel as CartesianModel,
    cartesian_model as cartesian_model,
)
from .control.reference.motion import (
    ExpressionMotion as ExpressionMotion,
)
from .control.reference.inverse import (
    FollowMotion as FollowMotion,
)
from .control.reference.reference_motion import (
    ReferenceMotion as ReferenceMotion,
    ReferenceSamples as ReferenceSamples,
    reference_motion as reference_motion,
    start_on_motion as start_on_motion,
)
from .control.scenario import (
    run_scenario as run_scenario,
)
from .analysis.instant_kinematics import (
    InverseDynamicsBatch as InverseDynamicsBatch,
    direct_kinematics as direct_kinematics,
    inverse_dynamics as inverse_dynamics,
    inverse_dynamics_batch as inverse_dynamics_batch,
    inverse_kinematics as inverse_kinematics,
)
from .identification.measured import (
    MeasuredTable as MeasuredTable,
)
from .control.reference.history import (
    DynamicsHistory as DynamicsHistory,
    KinematicHistory as KinematicHistory,
    dynamics_history as dynamics_history,
    kinematic_history as kinematic_history,
)
from .analysis.audit import (
    Audit as Audit,
    AuditBatch as AuditBatch,
    audit as audit,
    audit_batch as audit_batch,
)
from .analysis.linearization import (
    Linearization as Linearization,
    LinearizationBatch as LinearizationBatch,
    linearize as linearize,
    linearize_batch as linearize_batch,
)
from .analysis.canonical import (
    CanonicalForm as CanonicalForm,
    canonical_form as canonical_form,
)
from .analysis.steady_motion import (
    SteadyBatch as SteadyBatch,
    SteadyMotion as SteadyMotion,
    steady as steady,
    steady_batch as steady_batch,
)
from .analysis.eigenvalue_sweep import (
    EigenvalueSweep as EigenvalueSweep,
    sweep_eigenvalues as sweep_eigenvalues,
)
from .simulation.sensitivities.closed_loop import (
    Derivatives as Derivatives,
    derivatives as derivatives,
)
from .simulation.sensitivities.forward import (
    Sensitivities as Sensitivities,
)
from .simulation.sensitivities.forward import (
    simulate_sensitivities as simulate_sensitivities,
)
from .simulation.sensitivities.gradient import (
    Measurements as Measurements,
)
from .simulation.sensitivities.gradient import (
    Gradient as Gradient,
    GradientBatch as GradientBatch,
    gradient as gradient,
    gradient_batch as gradient_batch,
)
from .simulation.sensitivities.forward import (
    SensitivitiesBatch as SensitivitiesBatch,
    simulate_sensitivities_batch as simulate_sensitivities_batch,
)

# 6 control
from .control.paths.base import (
    AbstractPath as AbstractPath,
)
from .control.paths.curves import (
    Arc as Arc,
    Catenary as Catenary,
    Circle as Circle,
    Ellipse as Ellipse,
    FigureEight as FigureEight,
    Graph as Graph,
    Line as Line,
    Parametric as Parametric,
    Sine as Sine,
)
from .control.paths.clothoids import (
    Clothoid as Clothoid,
    Polyline as Polyline,
)
from .control.paths.splines import (
    Nurbs as Nurbs,
    Spline as Spline,
    path_from_csv as path_from_csv,
)
from .control.paths.composite import (
    Composite as Composite,
    reversed_path as reversed_path,
)
from .control.timing.laws import (
    AbstractTiming as AbstractTiming,
    ConstantEnergy as ConstantEnergy,
    ConstantSpeed as ConstantSpeed,
    Quintic as Quintic,
)
from .control.timing.piecewise import (
    SCurve as SCurve,
    SpeedProfile as SpeedProfile,
    SpeedSchedule as SpeedSchedule,
    Trapezoidal as Trapezoidal,
)
from .control.timing.limits import (
    Limits as Limits,
)
from .control.timing.least_time import (
    LeastTime as LeastTime,
    least_time as least_time,
)
from .control.follower import (
    AxleLink as AxleLink,
    Follower as Follower,
)
from .control.estimators import (
    AbstractInstrument as AbstractInstrument,
    Beacon as Beacon,
    ExtendedKalman as ExtendedKalman,
    Gyroscope as Gyroscope,
    Odometry as Odometry,
    PoseSensor as PoseSensor,
)
from .control.plant import (
    Actuator as Actuator,
    Plant as Plant,
    PlantLaw as PlantLaw,
    Sensor as Sensor,
)
from .control.motions.path import (
    PathMotion as PathMotion,
)
from .control.motions.frame import (
    FrameMotion as FrameMotion,
)
from .control.motions.trailer import (
    TrailerMotion as TrailerMotion,
)
from .control.controllers.base import (
    AbstractController as AbstractController,
    CustomController as CustomController,
    FeedForward as FeedForward,
)
from .control.controllers.computed_torque import (
    AccelerationResolved as AccelerationResolved,
    CartesianTracking as CartesianTracking,
    ComputedTorque as ComputedTorque,
    ProportionalDerivative as ProportionalDerivative,
)
from .control.controllers.following import (
    PathTracking as PathTracking,
)
from .control.controllers.pose import (
    PoseTracking as PoseTracking,
)
from .control.controllers.adaptive import (
    AdaptiveTracking as AdaptiveTracking,
    MotionForce as MotionForce,
)
from .control.controllers.tracking import (
    Tracking as Tracking,
)
from .control.controllers.steered import (
    SteeredTracking as SteeredTracking,
)
from .control.controllers.trailer import (
    TrailerTracking as TrailerTracking,
)
from .control.controllers.regulator import (
    LinearQuadratic as LinearQuadratic,
    Regulator as Regulator,
    linear_quadratic as linear_quadratic,
)
from .control.timing.motor_limits import (
    motor_limits as motor_limits,
)
from .control.text import (
    parse_controller as parse_controller,
    parse_path as parse_path,
    parse_timing as parse_timing,
)
from .control.chaplygin import (
    control_angle as control_angle,
    gyration as gyration,
    with_control_angles as with_control_angles,
)
from .control.follow import (
    ControlLoop as ControlLoop,
    follow as follow,
)
from .control.track import (
    track as track,
)

# to other programs
from .identification.measured_files import (
    read_measured as read_measured,
)
from .bridges.vda5050 import (
    Mission as Mission,
    MissionLeg as MissionLeg,
    read_mission as read_mission,
)
from .bridges.exports import (
    AbstractSystemFormat as AbstractSystemFormat,
    Exported as Exported,
    export as export,
)
from .environments import (
    gym as gym,
)
from .bridges.jax_functions import (
    simulate_jax as simulate_jax,
    to_jax as to_jax,
)
from .bridges.torch_functions import (
    simulate_torch as simulate_torch,
    to_torch as to_torch,
)
from .bridges.python_control import (
    to_control as to_control,
)

# sweep
from .sweeps.design import (
    AbstractDistribution as AbstractDistribution,
)
from .sweeps.measures import (
    AbstractMeasure as AbstractMeasure,
)
from .sweeps.work import (
    AbstractWork as AbstractWork,
)
from .sweeps.execute import (
    SweepProgress as SweepProgress,
)
from .sweeps.dataset import (
    open_sweep as open_sweep,
)
from .sweeps.sweep import (
    sweep as sweep,
)

# identify
from .identification.measured_runs import (
    MeasuredRun as MeasuredRun,
)
from .identification.result import (
    Fit as Fit,
)
from .identification.fit import (
    FitParameter as FitParameter,
    fit as fit,
)

# show
from .show.check import (
    CheckReport as CheckReport,
    check as check,
)
from .show.equations.equation_formats import (
    AbstractEquationFormat as AbstractEquationFormat,
)
from .show.equations.equation_formats import (
    equations_text as equations_text,
)
from .show.joint_templates import (
    JOINT_TEMPLATES as JOINT_TEMPLATES,
    JointTemplate as JointTemplate,
    joint_template as joint_template,
)
from .show.matrices import (
    MethodMatrices as MethodMatrices,
    matrices as matrices,
)
from .show.paper_figures import (
    paper_figure as paper_figure,
)
from .show.plots import (
    plot as plot,
    plot_eigenvalues as plot_eigenvalues,
)
from .show.report.report import (
    write_report as write_report,
)
from .show.report.fit_report import (
    write_fit_report as write_fit_report,
)
from .show.run_folder import (
    read_run as read_run,
    write_run as write_run,
)
from .show.cost import (
    Cost as Cost,
    CostGrowth as CostGrowth,
    OperationCount as OperationCount,
    cost as cost,
    cost_growth as cost_growth,
)
from .show.comparison import (
    RunComparison as RunComparison,
    compare as compare,
)
from .show.explore import (
    explore as explore,
)
from .show.animate import (
    animate as animate,
    picture as picture,
)

__version__: str
