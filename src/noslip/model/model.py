"""`Model`, the frozen description of a mechanism, and `ModelBuilder`, which makes one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import noslip.model.contact_friction
import noslip.model.elastic_contacts
import noslip.model.tires
import noslip.model.transmissions  # noqa: F401  so that files know their words
from noslip.base import ArgumentError, counted
from noslip.expressions import Expression, Scalar, measures_in, names_in, parse
from noslip.model.bodies import AbstractShape, Body, Placement
from noslip.model.contacts import AbstractContact
from noslip.model.definitions import MOVING, Definition
from noslip.model.findings import Finding, Path, owner
from noslip.model.forces import AbstractForce, ForceInput, SpeedInput
from noslip.model.joints import AbstractJointType, Joint, keeps_height
from noslip.model.parameter_dependence import Dependence
from noslip.model.quantities import NOT_NEGATIVE, POSITIVE, ZERO, Meaning, Parameter, Vector3
from noslip.model.rows import AbstractRow, speed_faults
from noslip.model.scenario import Scenario

if TYPE_CHECKING:
    from noslip.model.known_names import Vocabulary
    from noslip.model.parts.part import AbstractPart

_STEP = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentSpeed:
    """A speed to write the equations in: a tree speed by its name, or an expression η = E(q) v.

    Parameters
    ----------
    name : of a tree speed, or a new name if `expression` is given.
    expression : linear in the speeds; empty for a tree speed.
    unit : of a named expression.
    symbol : how equations write a named expression, plain or as LaTeX.
    """

    name: str
    expression: Annotated[str, Meaning(scope=MOVING[:-1])] = ""
    unit: str = ""
    symbol: str = ""

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
    """The name that a mode of small motions has in the literature, and how the mode is recognized.

    Parameters
    ----------
    name : such as ``weave``.
    oscillates : whether its eigenvalues are a complex pair, for some parameters at least.
    coordinate : coordinate or named angle that takes the largest part in it; empty for any.
    description : one line for people.
    """

    name: str
    oscillates: bool = False
    coordinate: Annotated[str, Meaning(names="coordinate or angle", is_optional=True)] = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSign:
    """Sign that a field of an expanded part asks of its values, which parameters may change.

    Parameters
    ----------
    part : name of the part.
    field : of the part, or below it: ``mass``, ``links[0].length``.
    values : of the field; expressions of parameters.
    sign : that each of them has.
    """

    part: str
    field: str
    values: tuple[Scalar, ...]
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

    def parameter_values(self, values: Iterable[float] | None = None) -> dict[str, float]:
        """Values of the parameters by name: nominal, or those of a vector in their order."""
        if values is None:
            return {p.name: p.value for p in self.parameters}
        named = zip(self.parameters, values, strict=True)
        return {p.name: float(value) for p, value in named}


class PartExpansion(NamedTuple):
    """A model with its parts expanded, not checked yet.

    Parameters
    ----------
    model : plain data.
    origins : kind and name of what parts added, as ``("joints", "caster.swivel")`` → given part.
    placed : parts as they were expanded, inner ones too, each after the part that it is given by.
    """

    model: Model
    origins: dict[tuple[str, str], AbstractPart]
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

    def build(self) -> Model:
        """The checked, frozen model, with the parts of universal joints in their place.

        Raises
        ------
        ModelError : with all faults of the model, each as what / where / fix.
        """
        from noslip.model.parts.expansion import checked

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
