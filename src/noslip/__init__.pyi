"""The public names used daily, in the order data flows; read at run time too."""

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
    check_member as check_member,
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
)
from .model.joints import (
    Joint as Joint,
)
from .model.rows import (
    Definition as Definition,
)
from .model.forces import (
    ForceInput as ForceInput,
    SpeedInput as SpeedInput,
)
from .model.model import (
    Scenario as Scenario,
    Model as Model,
    ModelBuilder as ModelBuilder,
    IndependentSpeed as IndependentSpeed,
    NamedMode as NamedMode,
)
from .model.files import (
    save_model as save_model,
)
from .model.catalogs import (
    load as load,
)
from .library import (
    MODELS as MODELS,
)
from .bridges.robots import (
    Undercarriage as Undercarriage,
    import_robot as import_robot,
)

# families, each in a module of its own
from . import (
    shapes as shapes,
    joints as joints,
    surfaces as surfaces,
    grounds as grounds,
    contacts as contacts,
    rows as rows,
    forces as forces,
    parts as parts,
    paths as paths,
    timing as timing,
    motions as motions,
    controllers as controllers,
    sensors as sensors,
    obstacles as obstacles,
    missions as missions,
    studies as studies,
    formats as formats,
    results as results,
)

# 2 trace
from .kinematics.kinematics import (
    Kinematics as Kinematics,
    trace as trace,
)

# 3 formulate
from .formulations.equations import (
    AbstractFormulation as AbstractFormulation,
    Equations as Equations,
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
from .formulations.boltzmann_hamel import (
    GibbsAppell as GibbsAppell,
)
from .formulations.multipliers import (
    Multipliers as Multipliers,
)
from .formulations.multipliers import (
    Vakonomic as Vakonomic,
)
from .formulations.verify import (
    verify as verify,
)
from .formulations.couplings import (
    stacked_matrices as stacked_matrices,
)

# 4 compile
from .engines.program import (
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
    Trajectory as Trajectory,
    Ending as Ending,
)
from .simulation.single_run import (
    simulate as simulate,
)
from .simulation.batches.batch import (
    Batch as Batch,
    simulate_batch as simulate_batch,
)
from .base.progress import (
    ProgressBar as ProgressBar,
)

# analyze
from .analysis.instant import (
    evaluate as evaluate,
    evaluate_batch as evaluate_batch,
)
from .analysis.reactions import (
    reactions as reactions,
)
from .geometry.distributions import (
    distribution as distribution,
)
from .geometry.reachable import (
    controllability as controllability,
)
from .geometry.invariants import (
    structure as structure,
)
from .analysis.instant_kinematics import (
    cartesian_model as cartesian_model,
)
from .control.reference_motion import (
    reference_motion as reference_motion,
    start_on_motion as start_on_motion,
    dynamics_history as dynamics_history,
    kinematic_history as kinematic_history,
)
from .control.controlled_runs import (
    run_scenario as run_scenario,
    ControlLoop as ControlLoop,
    follow as follow,
    track as track,
)
from .analysis.instant_kinematics import (
    direct_kinematics as direct_kinematics,
    inverse_dynamics as inverse_dynamics,
    inverse_dynamics_batch as inverse_dynamics_batch,
    inverse_kinematics as inverse_kinematics,
)
from .analysis.audit import (
    audit as audit,
    audit_batch as audit_batch,
)
from .analysis.linearization import (
    linearize as linearize,
    linearize_batch as linearize_batch,
)
from .analysis.linearization import (
    canonical_form as canonical_form,
)
from .analysis.steady_motion import (
    steady as steady,
    steady_batch as steady_batch,
)
from .analysis.eigenvalue_sweep import (
    sweep_eigenvalues as sweep_eigenvalues,
)
from .continuation.periodic import (
    periodic as periodic,
)
from .continuation.branches import (
    branch as branch,
)
from .continuation.charts import (
    stability_chart as stability_chart,
)
from .continuation.periodic import (
    lyapunov_exponents as lyapunov_exponents,
)
from .simulation.sensitivities.controlled_loop import (
    derivatives as derivatives,
)
from .simulation.sensitivities.forward import (
    simulate_sensitivities as simulate_sensitivities,
    simulate_sensitivities_batch as simulate_sensitivities_batch,
)
from .simulation.sensitivities.gradient import (
    Measurements as Measurements,
    gradient as gradient,
    gradient_batch as gradient_batch,
)

# 6 control
from .control.follower import (
    AxleLink as AxleLink,
    Follower as Follower,
)
from .control.true_plant import (
    Actuator as Actuator,
    Plant as Plant,
    PlantLaw as PlantLaw,
    Sensor as Sensor,
)

# 7 plan
from .planning.problem import (
    PlanError as PlanError,
)
from .planning.planned import (
    Plan as Plan,
)
from .planning.optimal import (
    plan as plan,
)

# to other programs
from .identification.measured import (
    read_measured as read_measured,
    MeasuredRun as MeasuredRun,
)
from .bridges.vda5050 import (
    read_order as read_order,
)
from .bridges.exports import (
    export as export,
)
from .environments import (
    gym as gym,
)
from .bridges.differentiable import (
    simulate_jax as simulate_jax,
    to_jax as to_jax,
    simulate_torch as simulate_torch,
    to_torch as to_torch,
)
from .bridges.python_control import (
    to_control as to_control,
)

# sweep
from .sweeps.store import (
    open_sweep as open_sweep,
)
from .sweeps.execute import (
    sweep as sweep,
)

# identify
from .identification.fit import (
    FitParameter as FitParameter,
    fit as fit,
)

# show
from .show.check import (
    check as check,
)
from .show.equations.documents import (
    equations_text as equations_text,
)
from .show.matrices import (
    matrices as matrices,
)
from .show.papers import (
    paper_figure as paper_figure,
)
from .show.plots import (
    plot as plot,
    plot_eigenvalues as plot_eigenvalues,
)
from .show.report.sections import (
    write_report as write_report,
)
from .show.report.study_reports import (
    write_fit_report as write_fit_report,
)
from .show.run_folder import (
    read_run as read_run,
    write_run as write_run,
)
from .show.cost import (
    cost as cost,
    cost_growth as cost_growth,
)
from .show.comparison import (
    compare as compare,
)
from .web.page import (
    share as share,
)
from .show.explore import (
    explore as explore,
)
from .show.animate import (
    animate as animate,
    picture as picture,
)

__version__: str
