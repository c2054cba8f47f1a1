"""Results: what functions return, with units and names."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.formulations.certificate import (
        Certificate as Certificate,
    )
    from noslip.formulations.base import (
        MethodObject as MethodObject,
    )
    from noslip.show.matrices import (
        MethodMatrices as MethodMatrices,
    )
    from noslip.formulations.couplings import (
        StackedMatrices as StackedMatrices,
    )
    from noslip.simulation.trajectory import (
        PathErrors as PathErrors,
    )
    from noslip.analysis.instant import (
        Instant as Instant,
        InstantBatch as InstantBatch,
    )
    from noslip.analysis.reactions import (
        Reaction as Reaction,
    )
    from noslip.analysis.cartesian import (
        CartesianModel as CartesianModel,
    )
    from noslip.control.reference.reference_motion import (
        ReferenceMotion as ReferenceMotion,
        ReferenceSamples as ReferenceSamples,
    )
    from noslip.analysis.instant_kinematics import (
        InverseDynamicsBatch as InverseDynamicsBatch,
    )
    from noslip.control.reference.history import (
        DynamicsHistory as DynamicsHistory,
        KinematicHistory as KinematicHistory,
    )
    from noslip.analysis.audit import (
        Audit as Audit,
        AuditBatch as AuditBatch,
    )
    from noslip.analysis.linearization import (
        Linearization as Linearization,
        LinearizationBatch as LinearizationBatch,
    )
    from noslip.analysis.canonical import (
        CanonicalForm as CanonicalForm,
    )
    from noslip.analysis.steady_motion import (
        SteadyMotion as SteadyMotion,
        SteadyBatch as SteadyBatch,
    )
    from noslip.analysis.eigenvalue_sweep import (
        EigenvalueSweep as EigenvalueSweep,
    )
    from noslip.simulation.sensitivities.closed_loop import (
        Derivatives as Derivatives,
    )
    from noslip.simulation.sensitivities.forward import (
        Sensitivities as Sensitivities,
    )
    from noslip.simulation.sensitivities.forward import (
        SensitivitiesBatch as SensitivitiesBatch,
    )
    from noslip.simulation.sensitivities.gradient import (
        Gradient as Gradient,
        GradientBatch as GradientBatch,
    )
    from noslip.bridges.description import (
        ImportedModel as ImportedModel,
    )
    from noslip.identification.measured import (
        MeasuredTable as MeasuredTable,
    )
    from noslip.bridges.vda5050 import (
        Mission as Mission,
        MissionLeg as MissionLeg,
    )
    from noslip.bridges.exports import (
        Exported as Exported,
    )
    from noslip.sweeps.execute import (
        SweepProgress as SweepProgress,
    )
    from noslip.identification.result import (
        Fit as Fit,
    )
    from noslip.show.check import (
        CheckReport as CheckReport,
    )
    from noslip.show.comparison import (
        RunComparison as RunComparison,
    )
    from noslip.show.cost import (
        Cost as Cost,
        CostGrowth as CostGrowth,
        OperationCount as OperationCount,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
