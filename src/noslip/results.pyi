"""The public names of `noslip.results`; read at run time too."""

from .formulations.verify import (
    Certificate as Certificate,
)
from .formulations.equations import (
    MethodObject as MethodObject,
)
from .show.geometry_page import (
    GeometryPage as GeometryPage,
)
from .show.matrices import (
    MethodMatrices as MethodMatrices,
)
from .formulations.couplings import (
    StackedMatrices as StackedMatrices,
)
from .simulation.trajectory import (
    PathErrors as PathErrors,
)
from .analysis.instant import (
    Instant as Instant,
    InstantBatch as InstantBatch,
)
from .analysis.reactions import (
    Reaction as Reaction,
)
from .geometry.distributions import (
    Distribution as Distribution,
    Growth as Growth,
    Integral as Integral,
)
from .geometry.distributions import (
    BracketLoop as BracketLoop,
)
from .geometry.reachable import (
    Controllability as Controllability,
    Statement as Statement,
)
from .geometry.flatness import (
    FlatMap as FlatMap,
    FlatState as FlatState,
    FlatOutputs as FlatOutputs,
)
from .geometry.closed_forms import (
    FieldFormulas as FieldFormulas,
)
from .geometry.invariants import (
    InvariantMeasure as InvariantMeasure,
    RelativeEquilibrium as RelativeEquilibrium,
)
from .geometry.momenta import (
    FirstIntegral as FirstIntegral,
    MomentumEquation as MomentumEquation,
)
from .geometry.reduction import (
    ChaplyginReduction as ChaplyginReduction,
    Multiplier as Multiplier,
    VelocityForm as VelocityForm,
)
from .geometry.invariants import (
    Structure as Structure,
    Symmetry as Symmetry,
)
from .analysis.instant_kinematics import (
    CartesianModel as CartesianModel,
)
from .control.reference_motion import (
    ReferenceMotion as ReferenceMotion,
    ReferenceSamples as ReferenceSamples,
    DynamicsHistory as DynamicsHistory,
    KinematicHistory as KinematicHistory,
)
from .analysis.instant_kinematics import (
    InverseDynamicsBatch as InverseDynamicsBatch,
)
from .analysis.audit import (
    Audit as Audit,
    AuditBatch as AuditBatch,
)
from .analysis.linearization import (
    Linearization as Linearization,
    LinearizationBatch as LinearizationBatch,
)
from .analysis.linearization import (
    CanonicalForm as CanonicalForm,
)
from .analysis.steady_motion import (
    SteadyMotion as SteadyMotion,
    SteadyBatch as SteadyBatch,
)
from .analysis.eigenvalue_sweep import (
    EigenvalueSweep as EigenvalueSweep,
)
from .continuation.periodic import (
    PeriodicMotion as PeriodicMotion,
)
from .continuation.branches import (
    Branch as Branch,
    SpecialPoint as SpecialPoint,
)
from .continuation.charts import (
    StabilityChart as StabilityChart,
)
from .continuation.periodic import (
    LyapunovExponents as LyapunovExponents,
)
from .simulation.sensitivities.controlled_loop import (
    Derivatives as Derivatives,
)
from .simulation.sensitivities.forward import (
    Sensitivities as Sensitivities,
    SensitivitiesBatch as SensitivitiesBatch,
)
from .simulation.sensitivities.gradient import (
    Gradient as Gradient,
    GradientBatch as GradientBatch,
)
from .bridges.robots import (
    ImportedModel as ImportedModel,
)
from .identification.measured import (
    MeasuredTable as MeasuredTable,
)
from .bridges.vda5050 import (
    Order as Order,
    OrderLeg as OrderLeg,
)
from .bridges.exports import (
    Exported as Exported,
)
from .sweeps.execute import (
    SweepProgress as SweepProgress,
)
from .identification.fit import (
    Fit as Fit,
)
from .show.check import (
    CheckReport as CheckReport,
)
from .show.comparison import (
    RunComparison as RunComparison,
)
from .show.cost import (
    Cost as Cost,
    CostGrowth as CostGrowth,
    OperationCount as OperationCount,
)
