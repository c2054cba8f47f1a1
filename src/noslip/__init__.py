"""noslip: exact dynamics and control of mechanisms that roll, skate and steer.

    Model ──► Kinematics ──► Equations ──► System ──► Trajectory
    describe   trace          formulate     compile    simulate

Every public name is listed below in the order data flows, and imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    # errors
    "noslip.errors": (
        "NoslipError", "ModelError", "FormulationError", "CompileError", "SimulationError", "Fault",
    ),
    # 1 describe
    "noslip.model.quantities": ("Parameter", "Quantity"),
    "noslip.model.bodies": ("Body", "Placement", "Box", "Cylinder", "Sphere", "Ring"),
    "noslip.model.joints": (
        "Joint", "Fixed", "Revolute", "Prismatic", "Planar", "Spherical", "Free", "Angles",
    ),
    "noslip.model.contacts": ("Rolling", "KnifeEdge", "Disk", "Ball", "Torus", "Plane"),
    "noslip.model.rows": ("VelocityRow", "PositionRow"),
    "noslip.model.forces": (
        "ForceInput", "SpeedInput", "Motor", "JointSpring", "JointDamper", "JointFriction", "Spring",
        "Wrench",
    ),
    "noslip.model.scenario": ("Scenario",),
    "noslip.model.model": ("Model", "ModelBuilder", "IndependentSpeed"),
    "noslip.model.files": ("save_model",),
    "noslip.library": ("load", "MODELS"),
    # 2 trace
    "noslip.kinematics.kinematics": ("Kinematics", "trace"),
    # 3 formulate
    "noslip.formulations.base": ("Equations", "derive"),
    "noslip.formulations.complement": ("NaturalComplement",),
    "noslip.formulations.couplings": ("StackedMatrices", "stacked_matrices"),
    # 4 compile
    "noslip.engines.system": ("System", "compile"),
    # 5 simulate
    "noslip.simulation.inputs": ("Table",),
    "noslip.simulation.start": ("Start", "complete_start"),
    "noslip.simulation.trajectory": ("Trajectory", "Ending"),
    "noslip.simulation.simulate": ("simulate",),
    # analyze
    "noslip.analysis.instant": ("Instant", "evaluate"),
    "noslip.analysis.inverse": ("FollowMotion",),
    "noslip.analysis.scenario": ("ScenarioRun", "run_scenario"),
    # show
    "noslip.show.check": ("CheckReport", "check"),
    "noslip.show.equations": ("equations_text",),
    "noslip.show.plots": ("plot",),
    "noslip.show.folder": ("write_run",),
}  # fmt: skip

_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'noslip' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from noslip.analysis.instant import Instant, evaluate
    from noslip.analysis.inverse import FollowMotion
    from noslip.analysis.scenario import ScenarioRun, run_scenario
    from noslip.engines.system import System, compile
    from noslip.errors import (
        CompileError,
        Fault,
        FormulationError,
        ModelError,
        NoslipError,
        SimulationError,
    )
    from noslip.formulations.base import Equations, derive
    from noslip.formulations.complement import NaturalComplement
    from noslip.formulations.couplings import StackedMatrices, stacked_matrices
    from noslip.kinematics.kinematics import Kinematics, trace
    from noslip.library import MODELS, load
    from noslip.model.bodies import Body, Box, Cylinder, Placement, Ring, Sphere
    from noslip.model.contacts import Ball, Disk, KnifeEdge, Plane, Rolling, Torus
    from noslip.model.files import save_model
    from noslip.model.forces import (
        ForceInput,
        JointDamper,
        JointFriction,
        JointSpring,
        Motor,
        SpeedInput,
        Spring,
        Wrench,
    )
    from noslip.model.joints import (
        Angles,
        Fixed,
        Free,
        Joint,
        Planar,
        Prismatic,
        Revolute,
        Spherical,
    )
    from noslip.model.model import IndependentSpeed, Model, ModelBuilder
    from noslip.model.quantities import Parameter, Quantity
    from noslip.model.rows import PositionRow, VelocityRow
    from noslip.model.scenario import Scenario
    from noslip.show.check import CheckReport, check
    from noslip.show.equations import equations_text
    from noslip.show.folder import write_run
    from noslip.show.plots import plot
    from noslip.simulation.inputs import Table
    from noslip.simulation.simulate import simulate
    from noslip.simulation.start import Start, complete_start
    from noslip.simulation.trajectory import Ending, Trajectory
