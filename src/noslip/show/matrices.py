"""`matrices`: the objects of a method, named as in its paper, as numbers or as symbols.

    complement       A, T, Ṫ, t, M, W, w^A, w^G, w^D, w^W, w^N, I, C, τ, γ, δ, θ̈, P, Q;
                     T_a, T_u, J_a, J_u and their rates; A_i, A_j by coupling
    desantis         J_h, J_nh, J, J̇, M, W, D, C, C̃, τ_a, g_0, g_wa, g_u; shares of speed inputs
    boltzmann-hamel  w, α, β, γ, Γ, P, M, h, N
    vakonomic        A, μ, I, h, Q, G, η̇, μ̇; b, v_T, Ψ, χ of a Chaplygin system

What they are, with the numbers of the equations, is with each formulation (`objects`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy

from noslip import (
    AbstractFormulation,
    Equations,
    FormulationError,
    Model,
    SimulationError,
    System,
    complete_start,
    derive,
)
from noslip.analysis import check_time, input_vector
from noslip.base import ArgumentError, Array, format_called, nearest
from noslip.engines import to_sympy, trace_program
from noslip.formulations import formulation_of
from noslip.kinematics import trace
from noslip.results import MethodObject
from noslip.show.equations.derivation_document import (
    Draft,
    Matrix,
    Scalars,
    finished,
    items_of,
    with_few_parts,
)
from noslip.show.equations.documents import AbstractEquationFormat, EquationDocument
from noslip.show.equations.layout import (
    Block,
    Document,
    EquationLine,
    Lines,
    MathGrid,
    MathNumber,
    MatrixBlock,
    Node,
    Section,
    Word,
    words,
)
from noslip.show.equations.polynomials import SECONDS
from noslip.show.equations.subject import (
    ANGLES,
    PrintedEquations,
    Subject,
    printed_equations,
    symbol,
)
from noslip.show.equations.writing import Arranger, Item, write
from noslip.simulation import check_named

#: Objects that are there for actuated joints alone.
OF_ACTUATED = ("T_a", "T_u", "J_a", "J_u", "T_a_dot", "T_u_dot", "J_a_dot", "J_u_dot")


@dataclass(frozen=True, kw_only=True, eq=False)
class MethodMatrices:
    """The objects of a method: numbers at a state, or expressions in the model's symbols.

    ``m["T"]`` is an array, ``m.to_sympy("T")`` a SymPy matrix, ``m.objects["T"]`` says what it is.
    """

    equations: Equations  #: equations of the method
    objects: dict[str, MethodObject]  #: matrices by name, in the order of the paper
    #: values of all of them by name, at the state; None if no state was given
    numbers: dict[str, Array] | None
    #: coordinates of orientations in symbols, ``"angles"`` or ``"quaternion"``; the angles by
    #: default where the model names some
    coordinates: str | None = None
    #: options with which the objects were made
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all objects; those of single couplings too."""
        return tuple(self.objects)

    def __getitem__(self, name: str) -> Array:
        """The numbers of an object: (m, n), (n,) of a column, () of a single number."""
        found = self._object(name)
        if self.numbers is None:
            raise SimulationError(
                f"'{name}' has no numbers, because no state is given",
                f"matrices of model '{self.equations.model.name}'",
                f"give matrices(…, state={{…}}), or take .to_sympy('{name}')",
            )
        return self.numbers[found.name]

    def to_sympy(self, name: str, *, seconds: float = SECONDS) -> sympy.Matrix:
        """An object as a SymPy matrix in the symbols of the model, as `noslip derive` writes them.

        Parameters
        ----------
        name : name of the object.
        seconds : time limit of the simplification; what is not done by then stays as it is.
        """
        o = self._written[self._object(name).name]
        return sympy.Matrix(*o.value.shape, self._expressions(_items(o), seconds))

    @property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """Full name of a coordinate, speed, input or parameter → its symbol."""
        return {e.name: symbol(e.glyph) for e in self._subject.notation.legend}

    def text(
        self,
        format: str = "text",
        *,
        only: Sequence[str] = (),
        symbolic: bool = False,
        seconds: float = SECONDS,
    ) -> str:
        """The objects for people.

        Parameters
        ----------
        format : ``"text"``, ``"latex"``, ``"html"``, ``"markdown"``, or the word of your own.
        only : names of the objects to show; all but blocks of couplings by default.
        symbolic : expressions even where there are numbers.
        seconds : time limit of the simplification.
        """
        used = format_called(AbstractEquationFormat, format, "matrices, format")
        return used.text(self.title, self.sections(only, symbolic=symbolic, seconds=seconds))

    @property
    def title(self) -> str:
        """Heading: the objects and their method."""
        formulation = self.equations.formulation
        name = self.equations.model.name
        return f"Matrices of '{name}': {formulation.name} [{formulation.reference}]"

    def sections(
        self, only: Sequence[str] = (), *, symbolic: bool = False, seconds: float = SECONDS
    ) -> list[Section]:
        """The objects as sections of a document; arguments as in `text`."""
        shown = [self._object(name) for name in only] or [
            o for o in self.objects.values() if not o.is_part and o.value.numel()
        ]
        for o in shown:
            if not o.value.numel():
                raise FormulationError(
                    f"'{o.name}' is empty: {o.value.shape[0]} rows and {o.value.shape[1]} columns",
                    f"matrices of model '{self.equations.model.name}'",
                    "request another object",
                )
        if self.numbers is not None and not symbolic:
            return [self._numeric_section(o) for o in shown]
        return self._symbolic_sections(shown, seconds)

    def document(self, only: Sequence[str] = ()) -> EquationDocument:
        """The objects as a document for a file; `only` as in `text`."""
        return Document(self.title, self.sections(only))

    def to_json(self, *, only: Sequence[str] = ()) -> dict[str, Any]:
        """Plain data: numbers at the state, or expressions as text, with rows, columns, equations.

        Parameters
        ----------
        only : names of the objects; all but blocks of couplings by default.
        """
        chosen = [self._object(n) for n in only] or [
            o for o in self.objects.values() if not o.is_part
        ]
        data: dict[str, Any] = {}
        for o in chosen:
            value: Any
            if self.numbers is not None:
                value = self.numbers[o.name].tolist()
            else:
                value = [[str(e) for e in row] for row in self.to_sympy(o.name).tolist()]
            data[o.name] = {
                "value": value,
                "meaning": o.meaning,
                "equation": o.equation,
                "rows": list(o.rows),
                "columns": list(o.columns),
            }
        formulation = self.equations.formulation
        return {
            "model": self.equations.model.name,
            "method": formulation.word,
            "reference": formulation.reference,
            "objects": data,
        }

    def __repr__(self) -> str:
        kind = "symbols" if self.numbers is None else "numbers"
        names = ", ".join(n for n, o in self.objects.items() if not o.is_part)
        return (
            f"Matrices of '{self.equations.model.name}' by {self.equations.formulation.name}, "
            f"{kind}: {names}\nnext: m['{next(iter(self.objects))}'], .to_sympy(name), .text()"
        )

    def _object(self, name: str) -> MethodObject:
        if name not in self.objects:
            fix = nearest(name, self.objects)
            if name in OF_ACTUATED and "actuated" in self.equations.formulation.object_options:
                fix = (
                    "name speeds that determine all others, actuated=[…] or --actuated; by default "
                    "T_a is there where inputs drive the independent speeds, one each"
                )
            raise FormulationError(
                f"there is no object '{name}'",
                f"method '{self.equations.formulation.word}' of model "
                f"'{self.equations.model.name}'",
                fix,
            )
        return self.objects[name]

    @cached_property
    def _subject(self) -> Subject:
        # the speeds stay those of the numbers
        own = [s.name for s in self.equations.kinematics.independent_speeds]
        printed = printed_equations(self.equations, self.coordinates, own)
        if printed.coordinates != ANGLES:
            printed = PrintedEquations.as_compiled(self.equations)
        return Subject(printed)

    @cached_property
    def _written(self) -> dict[str, MethodObject]:
        """The objects in the coordinates that symbols are written in, by the shortest route."""
        subject, formulation = self._subject, self.equations.formulation
        found = {o.name: o for o in self.objects.values()}
        if subject.printed.coordinates == ANGLES:
            found = {o.name: o for o in formulation.objects(subject.equations, **self.options)}
        if type(formulation).objects is AbstractFormulation.objects and formulation.is_dalembert:
            simplest = AbstractFormulation.objects(formulation, subject.simplest)
            shorter = {o.name: o.value for o in simplest}
            found = {n: dataclasses.replace(o, shown=shorter[n]) for n, o in found.items()}
        return found

    def _expressions(self, items: list[Item], seconds: float) -> list[sympy.Expr]:
        """Scalars in the model's symbols, simplified and confirmed, without shared parts."""
        alphabet = self._subject.alphabet
        written = write(items, alphabet, seconds=seconds)
        if any(e.is_Dummy for e in written.expressions) or not written.is_confirmed:
            whole = ca.vertcat(*[item.shown for item in items]) if items else ca.SX(0, 1)
            program = trace_program("objects", alphabet.columns, whole)
            plain = to_sympy(program, alphabet.symbols, letter=alphabet.letter)
            return _written_out(plain.outputs, dict(plain.parts))
        return _written_out(written.expressions, dict(p for new in written.parts for p in new))

    def _numeric_section(self, o: MethodObject) -> Section:
        assert self.numbers is not None
        glyph, (m, n) = self._subject.letter(o.letter, o.index, o.dots), o.value.shape
        numbers = self.numbers[o.name].reshape(m, n)
        cells = [[_number(x) for x in row] for row in numbers]
        block: Block = MatrixBlock(
            glyph,
            MathGrid(tuple(tuple(row) for row in cells)),
            tuple(Word(name) for name in o.rows),
            tuple(Word(name) for name in o.columns),
        )
        if not numbers.any():
            block = Lines((EquationLine(glyph, MathNumber("0")),))
        elif (m, n) == (1, 1):
            block = Lines((EquationLine(glyph, cells[0][0]),))
        return Section(o.name, (words(_caption(o)), block))

    def _symbolic_sections(self, shown: list[MethodObject], seconds: float) -> list[Section]:
        """All objects written together, so that parts of one are known in the next."""
        subject = self._subject
        drafted: list[tuple[str, list[Draft]]] = []
        for o in (self._written[o.name] for o in shown):
            glyph = subject.letter(o.letter, o.index, o.dots)
            if o.value.numel() == 1:
                label = None if glyph.text in subject.notation.taken else symbol(glyph)
                item = dataclasses.replace(_items(o)[0], label=label)
                line = Scalars(((glyph, item, ", ".join(o.rows)),))
                drafted.append((o.name, [words(_caption(o)), line]))
                continue
            matrix = Matrix(
                name=glyph,
                letter=glyph,
                shown=ca.densify(o.value if o.shown is None else o.shown),
                compiled=ca.densify(o.value),
                row_names=tuple(Word(name) for name in o.rows),
                column_names=tuple(Word(name) for name in o.columns),
                is_column=not o.columns,
                taken=subject.notation.taken,
            )
            drafted.append((o.name, [words(_caption(o)), matrix]))
        items = [item for _, blocks in drafted for block in blocks for item in items_of(block)]
        written = write(items, subject.alphabet, seconds=seconds)
        found = finished(drafted, written, subject.arrange)
        return with_few_parts(found, drafted, subject.arrange).sections


def _items(o: MethodObject) -> list[Item]:
    """All entries, row by row, as they are shown and as they are compiled."""
    compiled = ca.densify(o.value)
    shown = compiled if o.shown is None else ca.densify(o.shown)
    m, n = compiled.shape
    return [Item(shown[i, j], compiled[i, j]) for i in range(m) for j in range(n)]


def _caption(o: MethodObject) -> str:
    m, n = o.value.shape
    size = f"{m} × {n}" if n != 1 else f"{m} entries" if m != 1 else "a number"
    # a formula keeps its letters
    is_word = o.meaning.split(" ")[0].isalpha() and not o.meaning[1:2].isspace()
    said = f"{o.meaning[0].upper()}{o.meaning[1:]}" if is_word else o.meaning
    said += f" [{o.equation}]" if o.equation else ""
    said += f"; {size}"
    return f"{said}; columns: {', '.join(o.columns)}." if 1 < n <= 12 and o.columns else f"{said}."


def _number(x: float) -> Node:
    """A number with the digits of equations."""
    return Arranger({}, {})(sympy.Float(float(x)) if x else sympy.Integer(0))


def _written_out(
    expressions: list[sympy.Expr], parts: dict[sympy.Symbol, sympy.Expr]
) -> list[sympy.Expr]:
    """Expressions with their shared parts put in place."""
    placed: dict[sympy.Symbol, sympy.Expr] = {}
    for s, meaning in parts.items():
        placed[s] = meaning.xreplace(placed)
    return [e.xreplace(placed) for e in expressions]


def matrices(
    source: Model | Equations | System,
    method: str | AbstractFormulation | None = None,
    *,
    state: Mapping[str, float] | None = None,
    inputs: Mapping[str, float | str] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
    axes: str | None = None,
    actuated: Sequence[str] = (),
    coordinates: str | None = None,
) -> MethodMatrices:
    """The objects of a method by the names of its paper, as numbers at a state or as symbols.

    Parameters
    ----------
    source : model, equations or compiled system.
    method : formulation or its word: ``complement``, ``desantis``, ``boltzmann-hamel``,
        ``vakonomic``, …; that of the source by default.
    state : coordinates, speeds, named angles and costates; the rest is completed consistently.
        Without one there are symbols alone.
    inputs : force and speed inputs, zero by default; numbers.
    parameters : values that differ from the nominal ones.
    time : s.
    axes : axes of the complement's vectors: a body's name, or ``"world"``, the default.
    actuated : speeds of T_a and J_a of the complement, in which all its objects then are; by
        default the independent ones, if each is driven by an input alone.
    coordinates : coordinates of orientations in symbols, ``"angles"`` or ``"quaternion"``; the
        angles by default where the model names some. Numbers are those of the compiled quaternions.

    Raises
    ------
    FormulationError : for an unknown method, body or speed.
    SimulationError : for a state, input or parameter that is not there or not possible.
    """
    equations = _equations(source, method)
    formulation = equations.formulation
    asked: dict[str, Any] = {}
    if axes is not None:
        asked["axes"] = axes
    if actuated:
        asked["actuated"] = tuple(actuated)
    for option in asked:
        if option not in formulation.object_options:
            raise FormulationError(
                f"method '{formulation.word}' has no option {option}",
                f"matrices of model '{equations.model.name}'",
                f"leave out {option}, or take method 'complement'",
            )
    objects = {o.name: o for o in formulation.objects(equations, **asked)}
    if actuated and {s.name for s in equations.kinematics.independent_speeds} != set(actuated):
        # T and T_a of one call have the same columns
        equations = formulation.fill(trace(equations.model, independent=tuple(actuated)))
        objects = {o.name: o for o in formulation.objects(equations, **asked)}
    if state is None:
        for what, given in (("inputs", inputs), ("parameters", parameters)):
            if given:
                raise SimulationError(
                    f"{what} are given without a state",
                    f"matrices of model '{equations.model.name}'",
                    "give a state too, state={} for rest, or leave them out",
                )
        numbers = None
    else:
        numbers = _numbers(equations, objects, state, inputs, parameters, time)
    return MethodMatrices(
        equations=equations,
        objects=objects,
        numbers=numbers,
        coordinates=coordinates,
        options=asked,
    )


def _equations(
    source: Model | Equations | System, method: str | AbstractFormulation | None
) -> Equations:
    """Equations of the source by the method that is asked for."""
    formulation = formulation_of(method) if isinstance(method, str) else method
    if isinstance(source, Model):
        return derive(source, formulation)
    if isinstance(source, System):
        source = source.equations
    if not isinstance(source, Equations):
        raise ArgumentError(
            f"matrices takes a Model, Equations or a System, got {type(source).__name__}",
            "source, argument of matrices",
            "write matrices(load('agv'))",
        )
    if formulation is None or formulation == source.formulation:
        return source
    return formulation.fill(source.kinematics)


def _numbers(
    equations: Equations,
    objects: dict[str, MethodObject],
    state: Mapping[str, float],
    inputs: Mapping[str, float | str] | None,
    parameters: Mapping[str, float] | None,
    time: float,
) -> dict[str, Array]:
    """Values of all objects at a completed state."""
    system = System(equations=equations)
    kin, s = equations.kinematics, equations.kinematics.symbols
    check_time(system, time)
    check_named(inputs=inputs, parameters=parameters)
    params = system.parameters(parameters)
    given = input_vector(system, inputs or {})
    num_u, num_w = len(kin.model.inputs), len(kin.model.speed_inputs)
    w = given[num_u : num_u + num_w]
    start = complete_start(system, state, time=time, speed_inputs=lambda q: w, parameters=params)
    _check_regular(equations, start.time, start.q, params)
    columns = [s.t, s.q, kin.eta, equations.auxiliary_states, equations.inputs, s.params]
    values: list[float | Array] = [time, start.q, start.eta, start.mu, given, params]
    whole = ca.Function("objects", columns, [ca.densify(o.value) for o in objects.values()])
    found = whole.call([ca.DM(x) for x in values])
    result: dict[str, Array] = {}
    for o, value in zip(objects.values(), found, strict=True):
        number = np.array(value).reshape(o.value.shape)
        if not np.all(np.isfinite(number)):
            raise SimulationError(
                f"'{o.name}' has no finite value here",
                f"model '{kin.model.name}' at the given state",
                "give another configuration, or independent speeds that are regular there",
            )
        m, n = o.value.shape
        is_column = n == 1 and not o.columns
        shape = () if m == 1 and is_column and not o.rows else (m,) if is_column else (m, n)
        result[o.name] = number.reshape(shape)
    return result


def _check_regular(equations: Equations, t: float, q: Array, params: Array) -> None:
    """Refuse a state at which the speeds that the objects are written in are singular."""
    kin, s = equations.kinematics, equations.kinematics.symbols
    measures = [m for m in kin.singularity_measures if m.kind == "basis"]
    if not measures:
        return
    values = ca.Function("h", [s.t, s.q, s.params], [ca.vertcat(*[m.value for m in measures])])
    found = np.abs(np.array(values(t, q, params)).ravel())
    if not np.all(found > np.array([m.limit for m in measures])):
        names = ", ".join(x.name for x in kin.independent_speeds)
        raise SimulationError(
            f"the independent speeds {names} do not determine the motion at this state",
            f"matrices of model '{kin.model.name}'",
            "give another configuration, or other independent speeds in the model",
        )
