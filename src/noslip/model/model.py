"""`Model`, the frozen description of a mechanism, its scenario, and the builder of both.

**The default run of a model: start, inputs, motion or path, controller, plant, duration.**

**`Model`, the frozen description of a mechanism, and `ModelBuilder`, which makes one.**

**Spanning tree: joints that carry it, and joints that close loops.**

**Models whose orientations are written in named angles instead of quaternions.**

Numbers run on quaternions, which have no singularity. People read angles: a free or spherical joint
that names them can be written with them as coordinates, in two ways.

    body speeds    the joint keeps its speeds ω and v in body axes; q̇ = N(q) v has the angles' own N
    rates          the joint becomes a chain of sliders and hinges without mass, one for each
                   coordinate, whose speeds are the rates of the coordinates; q̇ = v

The names of the chain's quantities are those of the joint: ``disk.yaw``, ``disk.yaw_rate``,
``disk.x``, ``disk.x_rate``. Both are for display and for checks, and are singular where the angles
are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

import noslip.model.forces
import noslip.model.transmissions  # noqa: F401  so that files know their words
from noslip.algebra import Traced, angle_rate_map, rotation_from_angles
from noslip.base import ArgumentError, Array, counted
from noslip.expressions import Expression, Scalar, measures_in, names_in, parse, read_symbol
from noslip.model.bodies import WORLD, AbstractShape, Body, Placement
from noslip.model.contacts import AbstractContact
from noslip.model.findings import Finding, Path, hint, owner
from noslip.model.forces import AbstractForce, ForceInput, SpeedInput
from noslip.model.joints import (
    AbstractJointType,
    Angles,
    Free,
    Joint,
    Prismatic,
    Revolute,
    Spherical,
    keeps_height,
)
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    ZERO,
    Direction,
    Meaning,
    NumberReader,
    Parameter,
    Point,
    Quantity,
    Reads,
    Vector3,
    angle,
    rotation_about,
)
from noslip.model.rows import MOVING, AbstractRow, Definition, Dependence, speed_faults

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary
    from noslip.model.parts.part import AbstractPart


#: More samples than this do not fit into memory, for a mechanism of usual size.
MAX_SAMPLES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFollower:
    """Part of a vehicle that follows a scenario's path; found from the constraints by default.

    The words are those of :class:`noslip.Follower`.
    """

    #: name of the body whose axle follows; the base by default
    body: Annotated[str, Meaning(names="body", is_optional=True)] = ""
    point: Point | None = None  #: point of the base that follows the path, in its frame, m
    #: direction of the base that points along the path, in its frame
    direction: Direction | None = None
    reverse: bool = False  #: whether the vehicle drives backwards
    #: heading of a base that can move sideways, rad: a number or an expression of the arc length
    #: ``s``; along the path by default
    heading: Annotated[Scalar, Meaning(own=("s",))] | None = None
    #: name of the steering coordinate
    steering: Annotated[str, Meaning(names="coordinate", is_optional=True)] = ""
    #: distance from the point ahead to the steered wheel, m
    wheelbase: Annotated[Scalar, Meaning(unit="m")] = 0.0
    #: angle that the steering can reach, rad
    largest_steering: Annotated[Scalar, Meaning(unit="rad")] | None = None
    #: rate at which the steering turns while the vehicle stands at a cusp, rad/s
    steering_rate: Annotated[Scalar, Meaning(unit="rad/s")] | None = None
    #: name of the trailer's angle on the base, to let the trailer's axle follow the path
    hinge: Annotated[str, Meaning(names="coordinate", is_optional=True)] = ""
    #: distance from the base's origin back to the hinge, m
    hitch: Annotated[Scalar, Meaning(unit="m")] = 0.0
    #: distance from the hinge back to the trailer's axle, m
    trailer: Annotated[Scalar, Meaning(unit="m")] = 0.0
    #: coordinates that the path leaves open, at the start
    reference: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlant:
    """Plant that is driven, as far as it differs from the model that the controller knows.

    The words are those of :class:`noslip.Plant` and of the command line.
    """

    #: name or file of another model with the same joints: other tires, inputs of its own
    model: str = ""
    #: values that differ from those that the controller knows
    parameters: dict[str, Scalar] = field(default_factory=dict)
    #: coordinates and speeds that differ from the reference's at the start
    start: dict[str, Scalar] = field(default_factory=dict)
    #: forces that act on it beside the model's: pushes, friction, drag
    forces: tuple[AbstractForce, ...] = ()
    #: m/s² in world axes, such as that of a slope; the model's own by default
    gravity: Annotated[Vector3, Meaning(unit="m/s^2")] | None = None
    #: inputs of `model` that are no actuators, as expressions of ``t``
    disturbances: dict[str, Scalar] = field(default_factory=dict)
    #: sensors of the controller, as in ``"platform.x:sigma=0.01,delay=1"`` or
    #: ``"gyroscope:body=platform"``
    sensors: tuple[str, ...] = ()
    #: actuators behind its commands, as in ``"torque1:largest=0.4,lag=0.05"``
    actuators: tuple[str, ...] = ()
    #: ``"ekf"`` for an extended Kalman filter between sensors and controller
    estimator: Annotated[str, Meaning(choices=("", "ekf"))] = ""
    #: start sigma of the estimator: standard deviations of what is believed at the start
    start_sigma: dict[str, Scalar] = field(default_factory=dict)
    #: input sigma of the estimator: standard deviations of the noise of inputs
    input_sigma: dict[str, Scalar] = field(default_factory=dict)
    #: drift of the estimator: densities of what moves coordinates and speeds beyond the model
    drift: dict[str, Scalar] = field(default_factory=dict)
    seed: int = 0  #: seed of the noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A default run of a model.

    Inputs are given directly (`inputs`), or through the motion they must produce (`motion`) or the
    path that a vehicle follows (`path`): then they come from inverse kinematics and inverse
    dynamics, or from a `controller`, and the run is compared with the motion.
    """

    duration: float  #: s
    samples: int = 501  #: number of reported times, both ends included
    #: coordinates, speeds and named angles that are not zero; the rest is completed consistently
    start: dict[str, Scalar] = field(default_factory=dict)
    #: force and speed inputs as expressions of ``t``, parameters and definitions
    inputs: dict[str, Scalar] = field(default_factory=dict)
    #: coordinates as expressions of ``t``, enough of them to fix the motion
    motion: dict[str, Scalar] = field(default_factory=dict)
    #: texts of paths, as in ``"circle:radius=2"``, driven one after the other
    path: tuple[str, ...] = ()
    #: timing law, as in ``"trapezoidal:speed=1,acceleration=0.5"``; from rest to rest within the
    #: duration by default
    timing: str = ""
    #: part of the vehicle that follows the path; found from the constraints by default
    follower: ScenarioFollower | None = None
    #: controller along a motion or a path, as in ``"pose:kx=2"``; the forces of inverse dynamics
    #: alone by default
    controller: str = ""
    #: largest magnitudes of inputs under a controller
    limits: dict[str, Scalar] = field(default_factory=dict)
    #: s between samples of the controller; 0 for a continuous one
    period: Annotated[float, Meaning(unit="s")] = 0.0
    #: plant that is driven, if it is not the model that the controller knows
    plant: ScenarioPlant | None = None
    #: numbers of the task that are not of the mechanism, such as the radius of a path
    parameters: tuple[Parameter, ...] = ()
    #: named expressions of ``t``; each may use those before it
    definitions: dict[str, str] = field(default_factory=dict)
    #: expressions; the run ends where one of them crosses zero
    stop: dict[str, str] = field(default_factory=dict)
    #: expressions of the motion, inputs and accelerations, a further column each
    outputs: dict[str, str] = field(default_factory=dict)
    #: ``coulomb`` for contacts that slide, lift off and land by their `friction` and `restitution`;
    #: by default they hold whatever they need
    contact: Annotated[str, Meaning(choices=("ideal", "coulomb"))] = "ideal"
    description: str = ""

    @property
    def has_reference(self) -> bool:
        """Whether the inputs follow from a motion or a path."""
        return bool(self.motion or self.path)

    @property
    def is_controlled(self) -> bool:
        """Whether it says more than inverse dynamics along a motion."""
        given = (self.path, self.controller, self.limits, self.period)
        return any(given) or self.plant is not None


#: Numbers and the words of ``plan``, such as "-1..3" and "90deg": no expressions of the run.
Amounts: TypeAlias = Annotated[dict[str, Scalar], Meaning(is_plain=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWaypoint:
    """What holds at a moment on the way of a plan."""

    at: Amounts  #: coordinates, speeds or expressions of them


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlan:
    """A task of :func:`noslip.plan` that belongs to a model.

    The words are those of `plan` and of the command line; what a call says comes first.
    """

    #: coordinates, speeds or expressions of them at the end: a number, an expression of parameters,
    #: an angle as ``"90deg"``, or a range as ``"1..2"``
    goal: Amounts
    start: Amounts = field(default_factory=dict)  #: coordinates and speeds at the start
    #: largest magnitude, or a range as ``"-1..3"``, of inputs, states and expressions
    limits: Amounts = field(default_factory=dict)
    minimize: str = "time"  #: ``time``, ``energy``, ``effort``, or an expression that is integrated
    #: coefficient of the ground, for all wheels
    friction: Annotated[float, Meaning(sign="not negative")] | None = None
    least_load: Annotated[float, Meaning(unit="N")] = 0.0  #: smallest load of a wheel, N
    waypoints: tuple[PlanWaypoint, ...] = ()  #: conditions on the way
    periodic: tuple[str, ...] = ()  #: states that end as they began, and may begin anywhere
    rest: bool = True  #: whether speeds that the goal does not name are zero there
    #: s, or a range as ``"1..20"``; open by default
    duration: Annotated[Scalar, Meaning(is_plain=True)] | None = None
    obstacles: tuple[str, ...] = ()  #: texts of obstacles, as in ``"disc:center=1,0;radius=0.3"``
    clearance: Annotated[float, Meaning(unit="m")] = 0.0  #: least distance to obstacles, m
    intervals: int = 40  #: pieces of the motion between waypoints
    description: str = ""


_STEP = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentSpeed:
    """A speed to write the equations in: a tree speed by its name, or an expression η = E(q) v."""

    name: str  #: name of a tree speed, or a new name if `expression` is given
    #: linear in the speeds; empty for a tree speed
    expression: Annotated[str, Meaning(scope=MOVING[:-1])] = ""
    unit: str = ""  #: unit of a named expression
    symbol: str = ""  #: symbol of a named expression in equations, plain or as LaTeX

    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        """Findings about the expression, which can be read and has a value."""
        yield from speed_faults(path, tree, known)
        if known.dependence_on_speeds(tree) is Dependence.AFFINE:
            yield Finding(
                path,
                f"{owner(path)} has an expression with a term that contains no speed",
                "leave that term out: an independent speed is a sum of speeds times factors",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMode:
    """The name of a mode of small motions in the literature, and how the mode is recognized."""

    name: str  #: name such as ``weave``
    #: whether its eigenvalues are a complex pair, for some parameters at least
    oscillates: bool = False
    #: coordinate or named angle that takes the largest part in it; empty for any
    coordinate: Annotated[str, Meaning(names="coordinate or angle", is_optional=True)] = ""
    description: str = ""  #: one line for people


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSign:
    """Sign that a field of an expanded part asks of its values, which parameters may change."""

    part: str  #: name of the part
    field: str  #: field of the part, or below it: ``mass``, ``links[0].length``
    values: tuple[Scalar, ...]  #: values of the field; expressions of parameters
    #: sign that each of them has
    sign: Annotated[str, Meaning(choices=(POSITIVE, NOT_NEGATIVE))] = POSITIVE

    def path(self) -> Path:
        """Path of the field in the file that had the part."""
        steps = (int(s) if s.isdecimal() else s for s in _STEP.findall(self.field))
        return ("parts", self.part, *steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A mechanism as plain data: no state, no expressions, no caches.

    Made by :meth:`ModelBuilder.build` or :func:`noslip.load`, both of which check it as a whole.
    `equation_numbers` says where printed equations stand in the model's reference, by the names
    they are printed with: ``{"sled.vx": "(87)", "blade.lateral": "(56)"}``. `part_signs` is what
    parts, which are expanded, ask of their values.
    """

    name: str
    gravity: Annotated[Vector3, Meaning(unit="m/s^2")]
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    contacts: tuple[AbstractContact, ...] = ()
    definitions: tuple[Definition, ...] = ()
    rows: tuple[AbstractRow, ...] = ()
    forces: tuple[AbstractForce, ...] = ()
    inputs: tuple[ForceInput, ...] = ()
    speed_inputs: tuple[SpeedInput, ...] = ()
    independent_speeds: tuple[IndependentSpeed, ...] = ()
    modes: tuple[NamedMode, ...] = ()
    part_signs: tuple[PartSign, ...] = ()
    scenario: Scenario | None = None
    plan: ModelPlan | None = None
    references: tuple[str, ...] = ()
    equation_numbers: Annotated[dict[str, str], Meaning(is_plain=True)] | None = None

    def __repr__(self) -> str:
        return (
            f"Model '{self.name}': {counted(len(self.bodies), 'body', 'bodies')}, "
            f"{counted(len(self.joints), 'joint')}, {counted(len(self.contacts), 'contact')}, "
            f"{counted(len(self.parameters), 'parameter')}, "
            f"{counted(len(self.inputs) + len(self.speed_inputs), 'input')}\n"
            "next: noslip.derive(model), or noslip.check(model) for coordinates and constraints"
        )

    def measured_speeds(self) -> dict[str, str]:
        """Named speeds whose expressions use measures, named angles or definitions."""
        angles = {
            f"{joint.name}.{name}{rate}"
            for joint in self.joints
            if (named := joint.type.named_angles()) is not None
            for name in named.names
            for rate in ("", "_rate")
        }
        names = angles | {d.name for d in self.definitions}
        return {
            speed.name: speed.expression
            for speed in self.independent_speeds
            if speed.expression
            and (measures_in(tree := parse(speed.expression)) or names & names_in(tree))
        }

    def task(self) -> ModelPlan:
        """The model's own plan, or one with an empty goal."""
        return self.plan or ModelPlan(goal={})

    def parameter_values(self, values: Iterable[float] | None = None) -> dict[str, float]:
        """Values of the parameters by name: nominal, or those of a vector in their order."""
        if values is None:
            return {p.name: p.value for p in self.parameters}
        named = zip(self.parameters, values, strict=True)
        return {p.name: float(value) for p, value in named}


class PartExpansion(NamedTuple):
    """A model with its parts expanded, not checked yet."""

    model: Model  #: plain data
    #: kind and name of what parts added, as ``("joints", "caster.swivel")`` → given part
    origins: dict[tuple[str, str], AbstractPart]
    #: parts as they were expanded, inner ones too, each after the part that it is given by
    placed: tuple[tuple[AbstractPart, AbstractPart], ...]


@dataclass(slots=True)
class ModelBuilder:
    """Collects the elements of a mechanism; `build()` checks them together and freezes them.

    The only mutable class of noslip. Each method adds one element and returns nothing; names tie
    elements together, so their order is free (a joint listed after its bodies are reached closes a
    loop). Parts, such as wheels, are expanded after everything else, in their order.
    """

    name: str
    gravity: Vector3
    description: str = ""
    references: tuple[str, ...] = ()
    equation_numbers: dict[str, str] | None = None
    _elements: dict[str, list[Any]] = field(default_factory=dict)
    _scenario: Scenario | None = None
    _plan: ModelPlan | None = None
    _parts: list[AbstractPart] = field(default_factory=list)
    _origins: dict[tuple[str, str], AbstractPart] = field(default_factory=dict)
    _placed: list[tuple[AbstractPart, AbstractPart]] = field(default_factory=list)
    _expanding: AbstractPart | None = None

    @classmethod
    def from_model(cls, model: Model) -> ModelBuilder:
        """A builder that holds all of a model, to add to it."""
        elements = {
            name: list(value)
            for name in Model.__dataclass_fields__
            if name not in ("gravity", "references")
            and isinstance(value := getattr(model, name), tuple)
        }
        return cls(
            name=model.name,
            gravity=model.gravity,
            description=model.description,
            references=model.references,
            equation_numbers=model.equation_numbers,
            _elements=elements,
            _scenario=model.scenario,
            _plan=model.plan,
        )

    def parameter(
        self, name: str, value: float, unit: str, description: str = "", symbol: str = ""
    ) -> str:
        """Declare a parameter and return its name, for use in expressions."""
        parameter = Parameter(
            name=name, value=value, unit=unit, description=description, symbol=symbol
        )
        self._add("parameters", parameter)
        return name

    def body(
        self,
        name: str,
        *,
        mass: Scalar,
        inertia: tuple[Scalar, ...] | None = None,
        moment: Scalar | None = None,
        center_of_mass: Vector3 = ZERO,
        shapes: tuple[AbstractShape, ...] = (),
    ) -> None:
        """Add a rigid body; see :class:`Body`."""
        self._add(
            "bodies",
            Body(
                name=name,
                mass=mass,
                inertia=_tuple(inertia),
                moment=moment,
                center_of_mass=_tuple(center_of_mass),
                shapes=_tuple(shapes),
            ),
        )

    def joint(
        self,
        name: str,
        type: AbstractJointType,
        *,
        parent: str,
        child: str,
        parent_frame: Placement = Placement(),
        child_frame: Placement = Placement(),
        motion: dict[str, str] | None = None,
        description: str = "",
        symbols: dict[str, str] | None = None,
        armature: Scalar = 0.0,
        limits: tuple[Scalar, Scalar] | None = None,
        restitution: Scalar = 0.0,
    ) -> None:
        """Add a joint; see :class:`Joint`."""
        if not isinstance(type, AbstractJointType):
            raise ArgumentError(
                f"joint '{name}' has the type {type!r}",
                "type, argument of joint",
                "pass an object, such as Planar() or Revolute(axis=(0.0, 0.0, 1.0))",
            )
        for frame in (parent_frame, child_frame):
            if not isinstance(frame, Placement):
                raise ArgumentError(
                    f"joint '{name}' has the frame {frame!r}",
                    "frame, argument of joint",
                    "write Placement(position=(x, y, z))",
                )
        self._add(
            "joints",
            Joint(
                name=name,
                type=type,
                parent=parent,
                child=child,
                parent_frame=parent_frame,
                child_frame=child_frame,
                motion=motion,
                description=description,
                symbols=symbols,
                armature=armature,
                limits=_tuple(limits),
                restitution=restitution,
            ),
        )

    def part(self, part: AbstractPart) -> None:
        """Add a part, such as a wheel or a caster, which expands to elements."""
        from noslip.model.parts.part import AbstractPart

        _expect(part, AbstractPart, "part", "DrivenWheel(…), Caster(…) and so on")
        if self._expanding is None:
            self._parts.append(part)
        else:
            self._placed.append((self._expanding, part))
            part.expand(self)

    def keeps_height(self, body: str) -> bool:
        """Whether the joints that carry a body keep its height over the ground z = 0.

        A planar joint does, and those above it that turn about z. Wheels on such a body need no row
        for their height.
        """
        return keeps_height(self._elements.get("joints", []), body)

    def contact(self, contact: AbstractContact) -> None:
        """Add a rolling contact or a knife edge."""
        _expect(contact, AbstractContact, "contact", "Rolling(…) or KnifeEdge(…)")
        self._add("contacts", contact)

    def definition(self, name: str, expression: str, unit: str = "", description: str = "") -> str:
        """Declare a named expression and return its name; see :class:`Definition`."""
        self._add(
            "definitions",
            Definition(name=name, expression=expression, unit=unit, description=description),
        )
        return name

    def row(self, row: AbstractRow) -> None:
        """Add a general constraint row."""
        _expect(row, AbstractRow, "row", "VelocityRow(…) or PositionRow(…)")
        self._add("rows", row)

    def force(self, force: AbstractForce) -> None:
        """Add a motor, spring, damper, friction or given wrench."""
        _expect(force, AbstractForce, "force", "Motor(…), Spring(…), Wrench(…) and so on")
        self._add("forces", force)

    def input(self, name: str, unit: str, description: str = "", symbol: str = "") -> str:
        """Declare a force input and return its name."""
        self._add(
            "inputs", ForceInput(name=name, unit=unit, description=description, symbol=symbol)
        )
        return name

    def speed_input(self, name: str, speed: str, description: str = "", symbol: str = "") -> str:
        """Declare a speed input that imposes a tree speed, and return its name."""
        self._add(
            "speed_inputs",
            SpeedInput(name=name, speed=speed, description=description, symbol=symbol),
        )
        return name

    def independent_speed(
        self, name: str, expression: str = "", unit: str = "", symbol: str = ""
    ) -> None:
        """Choose a speed to write the equations in; see :class:`IndependentSpeed`."""
        self._add(
            "independent_speeds",
            IndependentSpeed(name=name, expression=expression, unit=unit, symbol=symbol),
        )

    def mode(
        self, name: str, *, oscillates: bool = False, coordinate: str = "", description: str = ""
    ) -> None:
        """Name a mode of small motions; see :class:`NamedMode`."""
        self._add(
            "modes",
            NamedMode(
                name=name, oscillates=oscillates, coordinate=coordinate, description=description
            ),
        )

    def scenario(self, scenario: Scenario) -> None:
        """Set the default run."""
        self._scenario = scenario

    def plan(self, *, goal: Mapping[str, Scalar], **words: Any) -> None:
        """Set the task of :func:`noslip.plan`; see :class:`ModelPlan`.

        Parameters
        ----------
        goal : coordinates, speeds or expressions of them at the end.
        words : other arguments of `plan`; waypoints are mappings as the goal.
        """
        known = {f.name for f in fields(ModelPlan)}
        for word in words:
            if word not in known:
                raise ArgumentError(
                    f"a plan has no '{word}'", "ModelBuilder.plan", hint(word, known)
                )
        marks = tuple(PlanWaypoint(at=dict(mark)) for mark in words.pop("waypoints", ()))
        self._plan = ModelPlan(goal=dict(goal), waypoints=marks, **words)

    def build(self) -> Model:
        """The checked, frozen model, with the parts of universal joints in their place.

        Raises
        ------
        ModelError : with all faults of the model, each as what / where / fix.
        """
        from noslip.model.parts.part import checked

        model, _ = checked(self)
        return model

    def plain(self) -> Model:
        """Model of everything added, without expanding parts and without checks."""
        return Model(
            name=self.name,
            gravity=_tuple(self.gravity),
            description=self.description,
            references=_tuple(self.references),
            equation_numbers=self.equation_numbers,
            scenario=self._scenario,
            plan=self._plan,
            **{kind: tuple(elements) for kind, elements in self._elements.items()},
        )

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        """The parts that were added."""
        return tuple(self._parts)

    def expand(self) -> PartExpansion:
        """The model with its parts expanded, not checked, and where its elements come from."""
        b = ModelBuilder.from_model(self.plain())
        for part in self._parts:
            b._expanding = part
            b.part(part)
        return PartExpansion(model=b.plain(), origins=b._origins, placed=tuple(b._placed))

    def _add(self, kind: str, element: Any) -> None:
        self._elements.setdefault(kind, []).append(element)
        if self._expanding is not None:
            self._origins[kind, element.name] = self._expanding


def _tuple(value: Any) -> Any:
    """A list as the tuple that was meant."""
    return tuple(value) if isinstance(value, list) else value


def _expect(part: Any, kinds: Any, what: str, wanted: str) -> None:
    if not isinstance(part, kinds):
        raise ArgumentError(f"a {what} is {part!r}", "part of a model", f"pass {wanted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The spanning tree of a model."""

    #: joints that carry a body, each after the joint that carries its parent
    tree: tuple[Joint, ...]
    loops: tuple[Joint, ...]  #: joints between two bodies that the tree already holds
    unreached: tuple[str, ...]  #: bodies that no chain of joints ties to the world


def topology(model: Model) -> Topology:
    """Spanning tree by passes over the joints in their order; what is left closes loops."""
    reached = {WORLD}
    waiting = list(model.joints)
    tree: list[Joint] = []
    progress = True
    while progress:
        progress = False
        for joint in list(waiting):
            if joint.parent in reached and joint.child not in reached:
                tree.append(joint)
                reached.add(joint.child)
                waiting.remove(joint)
                progress = True
    loops = tuple(j for j in waiting if j.parent in reached and j.child in reached)
    unreached = tuple(b.name for b in model.bodies if b.name not in reached)
    return Topology(tree=tuple(tree), loops=loops, unreached=unreached)


def rest_poses(model: Model, read: NumberReader) -> dict[str, tuple[Array, Array]]:
    """R and p of every body with all joints at rest, where their two frames coincide."""
    poses = {"world": (np.eye(3), np.zeros(3))}
    for joint in topology(model).tree:
        R, p = poses[joint.parent]
        R_F, p_F = frame_numbers(joint.parent_frame, read)
        R_M, p_M = frame_numbers(joint.child_frame, read)
        R_B = R @ R_F @ R_M.T
        poses[joint.child] = (R_B, p + R @ p_F - R_B @ p_M)
    return poses


def frame_numbers(frame: Placement, read: NumberReader) -> tuple[Array, Array]:
    """R and p of a frame on its body."""
    R = np.eye(3)
    for letter, turn in zip(frame.sequence, read.vector(frame.angles), strict=True):
        R = R @ rotation_about(np.eye(3)["xyz".index(letter)], float(turn))
    return R, read.vector(frame.position)


_AXES: dict[str, Vector3] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
#: How far the second angle stays from where the others are not defined, in random states.
_MARGIN = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalByAngles(Spherical):
    """A spherical joint with its named angles as coordinates."""

    angles: Angles

    quaternion = None  # type: ignore[assignment]
    rest = (0.0,) * 3  # type: ignore[assignment]

    @property
    def coordinates(self) -> tuple[Quantity, ...]:  # type: ignore[override]
        return angle_quantities(self.angles)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_from_angles(q, self.angles.sequence), ca.SX.zeros(3)

    def kinematic_map(self, q: Traced) -> ca.SX:
        return angle_rate_map(q, self.angles.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeByAngles(Free):
    """A free joint with its position and named angles as coordinates."""

    angles: Angles

    quaternion = None  # type: ignore[assignment]
    rest = (0.0,) * 6  # type: ignore[assignment]

    @property
    def coordinates(self) -> tuple[Quantity, ...]:  # type: ignore[override]
        return (*Free.coordinates[:3], *angle_quantities(self.angles))

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_from_angles(q[3:6], self.angles.sequence), q[0:3]

    def kinematic_map(self, q: Traced) -> ca.SX:
        R = rotation_from_angles(q[3:6], self.angles.sequence)
        turning = angle_rate_map(q[3:6], self.angles.sequence)
        return ca.vertcat(
            ca.horzcat(ca.SX(3, 3), R),
            ca.horzcat(turning, ca.SX(3, 3)),
        )


class _Named:
    """The one coordinate and speed of a joint, as its field `quantities` names them."""

    __slots__ = ()

    quantities: tuple[Quantity, Quantity]

    @property
    def coordinates(self) -> tuple[Quantity, ...]:
        return self.quantities[:1]

    @property
    def speeds(self) -> tuple[Quantity, ...]:
        return self.quantities[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedHinge(_Named, Revolute):  # type: ignore[misc, override]
    """One angle of a chain, with the names and symbols of its coordinate and rate."""

    quantities: tuple[Quantity, Quantity]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSlider(_Named, Prismatic):  # type: ignore[misc, override]
    """One displacement of a chain, with the names and symbols of its coordinate and rate."""

    quantities: tuple[Quantity, Quantity]


def angle_joints(model: Model) -> tuple[Joint, ...]:
    """Joints of the tree that can be written in named angles."""
    return tuple(j for j in topology(model).tree if j.type.by_angles() is not None)


def in_angles(model: Model, rates: Collection[str] = ()) -> Model:
    """The model with named angles as coordinates; names of quaternions are gone.

    Parameters
    ----------
    model : checked model.
    rates : names of the joints whose speeds become the rates of their coordinates.
    """
    wanted = {joint.name for joint in angle_joints(model)}
    joints: list[Joint] = []
    bodies = list(model.bodies)
    for joint in model.joints:
        if joint.name not in wanted:
            joints.append(joint)
        elif joint.name in rates:
            chain, links = _chain(joint)
            joints += chain
            bodies += links
        else:
            by_angles = joint.type.by_angles()
            assert by_angles is not None
            joints.append(replace(joint, type=by_angles))
    return replace(model, joints=tuple(joints), bodies=tuple(bodies))


def _chain(joint: Joint) -> tuple[list[Joint], list[Body]]:
    """Joints of one coordinate each in the joint's place, and the massless bodies between them."""
    angles = joint.type.named_angles()
    assert angles is not None
    types: list[NamedSlider | NamedHinge] = []
    for place in joint.type.coordinates[: joint.type.quaternion]:
        types.append(NamedSlider(axis=_AXES[place.name], quantities=(place, _rate(place))))
    for letter, turn in zip(angles.sequence, angle_quantities(angles), strict=True):
        types.append(NamedHinge(axis=_AXES[letter], quantities=(turn, _rate(turn))))
    last = len(types) - 1
    # a name that no model can give to a body
    ends = [joint.parent, *(f"{joint.name}: {t.coordinates[0].name}" for t in types[:last])]
    ends.append(joint.child)
    motion = joint.motion or {}
    joints = []
    for k, joint_type in enumerate(types):
        own = joint_type.coordinates[0].name
        joints.append(
            Joint(
                name=joint.name,
                parent=ends[k],
                child=ends[k + 1],
                type=joint_type,
                parent_frame=joint.parent_frame if k == 0 else Placement(),
                child_frame=joint.child_frame if k == last else Placement(),
                motion={own: motion[own]} if own in motion else None,
                description=joint.description,
                symbols=joint.symbols,
            )
        )
    return joints, [Body(name=name, mass=0.0, inertia=(0.0, 0.0, 0.0)) for name in ends[1:-1]]


def _rate(coordinate: Quantity) -> Quantity:
    return Quantity(
        name=f"{coordinate.name}_rate",
        unit=f"{coordinate.unit}/s",
        description=f"rate of {coordinate.name}",
        symbol=read_symbol(coordinate.symbol).rate.plain,
    )


def angle_quantities(angles: Angles) -> tuple[Quantity, ...]:
    """The three angles as coordinates; the second stays where the others are defined."""
    low, high = -math.pi / 2 + _MARGIN, math.pi / 2 - _MARGIN
    if angles.sequence[0] == angles.sequence[2]:
        low, high = _MARGIN, math.pi - _MARGIN
    about = [f"about {letter}" for letter in angles.sequence]
    symbols = angles.symbols or ("ψ", "θ", "φ")
    first, second, third = (
        angle(name, f"angle {axis}", symbol)
        for name, axis, symbol in zip(angles.names, about, symbols, strict=True)
    )
    return first, replace(second, lower=low, upper=high), third
