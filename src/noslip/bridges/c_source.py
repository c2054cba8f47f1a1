"""Equations of motion as self-contained C: what the targets `c` and `fmu` write.

One file and its header, C99 that is also C++, no allocation, no library but libm. All choices of
independent speeds that the coordinates' ranges need are in it (`system.py`); every function
takes the number of the one that a state is in, its *basis*, and returns a code when that ends.

    state x = [q; eta; z], z of forces     inputs = [forces u; given speeds w; their rates]

Names of the model become members of a struct and enumerators. One that would be something else in
C is refused (:func:`check_c_name`); text of the model stands in comments only, of plain letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import casadi as ca
import numpy as np

from noslip import (
    CompileError,
    Quantity,
    SimulationError,
    Start,
    System,
    __version__,
    complete_start,
)
from noslip.analysis import scenario_start
from noslip.base import Array, counted
from noslip.bridges.exports import AbstractSystemFormat
from noslip.control import solve_inputs
from noslip.engines import (
    BasisCover,
    CWriter,
    Program,
)
from noslip.simulation import AbstractInputLaw, InputGenerator, inputs_expression, regular_start

#: Words of C and C++, and macros of <math.h>, that no member of a struct can be called by.
RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq fortran typeof
    NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL HUGE OVERFLOW UNDERFLOW DOMAIN SING PLOSS TLOSS
    FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL
    FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling M_E M_LOG2E M_LOG10E M_LN2
    M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 MAXFLOAT X_TLOSS signgam
    isfinite isnan isinf isnormal signbit fpclassify isgreater isgreaterequal isless islessequal
    islessgreater isunordered linux unix i386 errno NULL
    """.split()
)
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}", re.ASCII)
_FILE_STEM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", re.ASCII)

#: Residual of holonomic rows, m or rad, and of unit quaternions, that rounding leaves.
_ON_CONSTRAINTS = {False: 1e-12, True: 1e-5}
#: Pivots of the mass matrix below which single precision solves nothing.
_SINGLE_LIMIT = 1e-6


def check_c_name(name: str, what: str, where: str, fix: str) -> str:
    """A name that C and C++ can have, or an error."""
    is_reserved = name in RESERVED or name.startswith("_") or "__" in name
    if not _IDENTIFIER.fullmatch(name) or is_reserved:
        reason = "is a word of C or C++" if name in RESERVED else "is not a valid name in C and C++"
        raise CompileError(f"{what} '{c_comment(name)}' {reason}", where, fix)
    return name


def c_prefix(name: str, given: str, where: str) -> str:
    """Prefix of all names in a file: as given, or made from the model's name."""
    fix = "pass prefix=…: a letter, then letters, digits and single underscores"
    if given:
        return check_c_name(given, "the prefix", where, fix)
    made = re.sub(r"[^A-Za-z0-9]+", "_", name, flags=re.ASCII).strip("_")
    return check_c_name(made, "the prefix made of the model's name,", where, fix)


def c_comment(text: str) -> str:
    """A text that may stand in a comment: plain letters, nothing that ends one or begins another.

    Neither a line that goes on in the next, nor trigraphs.
    """
    plain = text.replace("²", "^2").replace("³", "^3").replace("·", "*").replace("°", "deg")
    plain = "".join(c if " " <= c <= "~" else "?" for c in plain).replace("\\", "/")
    return re.sub(r"\?{2,}", "?", plain.replace("*/", "* /").replace("/*", "/ *"))


def enumerators(prefix: str, quantities: Iterable[Quantity]) -> list[str]:
    """Unique names in capitals for the places of quantities in a vector."""
    made: list[str] = []
    for quantity in quantities:
        base = f"{prefix}_{re.sub('[^A-Za-z0-9]+', '_', quantity.name)}".upper()
        name, number = base, 2
        while name in made:
            name, number = f"{base}_{number}", number + 1
        made.append(name)
    return made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CSource:
    """A system as C. Made by :func:`c_source`."""

    prefix: str  #: prefix of all names
    cover: BasisCover  #: choices of independent speeds, in the order of their numbers
    single: bool  #: whether numbers are of single precision
    start: Start  #: state at the start, and its time
    start_basis: int  #: number of the basis that it is in
    #: a controller's law in each basis; none without a controller
    laws: tuple[InputGenerator, ...] = ()
    #: (np,) values of `PREFIX_nominal`
    parameters: Array = field(default_factory=lambda: np.zeros(0))
    own_sine: bool = False  #: whether sine and cosine are functions of the code itself
    _programs: list[Program] = field(default_factory=list, repr=False)

    @property
    def system(self) -> System:
        """In the first basis."""
        return self.cover.systems[0]

    @property
    def writer(self) -> CWriter:
        """What writes its programs."""
        return CWriter(f"{self.prefix}_real", self.single, self.sincos)

    @property
    def num_states(self) -> int:
        """Size of x."""
        return int(self.system.equations.state.shape[0])

    @property
    def is_driven(self) -> bool:
        """Whether there are enough force inputs for inverse dynamics."""
        return len(self.system.model.inputs) >= len(self.system.independent_speeds) > 0

    @property
    def is_projected(self) -> bool:
        """Whether states are projected on constraints."""
        return self.system.has_projection

    @property
    def members(self) -> list[tuple[int, str]]:
        """Place and name of the parameters that are no constants of the code."""
        names = [p.name for p in self.system.model.parameters]
        return [(k, name) for k, name in enumerate(names) if name not in self.system.folded]

    def program(
        self, basis: int, name: str, expression: ca.SX, *, x: ca.SX | None = None,
        inputs: ca.SX | None = None,
    ) -> Program:  # fmt: skip
        """The operations of an expression in the symbols of a basis; x and inputs may be others."""
        system = self.cover.systems[basis]
        s, eq = system.kinematics.symbols, system.equations
        given = (s.t, eq.state if x is None else x, eq.inputs if inputs is None else inputs)
        output = ca.densify(system.fold(expression))
        made = self.writer.program(name, (*given, s.params), output)
        if made.tables:
            self._programs.append(made)
        return made

    def function(
        self, name: str, program: Program, arguments: str, names: Sequence[str]
    ) -> list[str]:
        """Lines of a static function that stores the outputs of a program in `out`."""
        prefix, real = self.prefix, f"{self.prefix}_real"
        params = [f"p->{p.name}" for p in self.system.model.parameters]
        inputs = [*names, *params]
        words = arguments.split()
        declared = ", ".join(_ARGUMENTS[w].format(p=prefix, r=real) for w in words)
        lines = [f"static void {prefix}_{name}({declared}, {real} *out)", "{"]
        read = {re.split(r"[\[-]", inputs[k])[0] for k in program.used_inputs}
        lines += [f"    (void){w};" for w in words if w not in read]
        if not program.output_size:
            lines.append("    (void)out;")
        body = self.writer.statements(program, inputs, lambda k: f"out[{k}]")
        return [*lines, *(f"    {line}" for line in body), "}", ""]

    @property
    def sincos(self) -> str:
        """Name of the code's own sine and cosine, or nothing."""
        return f"{self.prefix}_sincos" if self.own_sine else ""

    def sine(self, lines: list[str]) -> list[str]:
        """Lines that define the code's own sine and cosine, if other lines call it."""
        if not self.own_sine or not any(f"{self.sincos}(" in line for line in lines):
            return []
        return [*self.writer.definition_of_sincos(), ""]

    def dispatch(self, name: str, arguments: str) -> list[str]:
        """Lines of a static function that calls the one of a basis."""
        prefix, real = self.prefix, f"{self.prefix}_real"
        words = arguments.split()
        declared = ", ".join(_ARGUMENTS[w].format(p=prefix, r=real) for w in words)
        given = ", ".join(words)
        lines = [f"static void {prefix}_{name}(int basis, {declared}, {real} *out)", "{"]
        lines.append("    switch (basis) {")
        for b in range(len(self.cover.systems)):
            lines.append(f"    case {b}: {prefix}_{name}_{b}({given}, out); break;")
        return [*lines, "    default: break;", "    }", "}", ""]

    def with_tables(self, lines: list[str]) -> list[str]:
        """Lines of functions, after the tables that they look up."""
        known = {t.symbol: t for p in self._programs for t in p.tables}
        text = "\n".join(lines)
        used = [table for name, table in known.items() if f"{name}[" in text]
        return [*self.writer.tables(used), *lines]

    def number(self, value: float) -> str:
        """A literal."""
        return self.writer.number(value)


_ARGUMENTS = {
    "t": "{r} t",
    "x": "const {r} *x",
    "u": "const {r} *u",
    "v": "const {r} *v",
    "z": "const {r} *z",
    "etadot": "const {r} *etadot",
    "dx": "const {r} *dx",
    "du": "const {r} *du",
    "p": "const {p}_parameters *p",
}


def c_source(
    system: System,
    *,
    where: str,
    prefix: str = "",
    precision: str = "double",
    controller: AbstractInputLaw | None = None,
    start: dict[str, float] | None = None,
    own_sine: bool = False,
) -> CSource:
    """Check a system and what is asked of it, and find the choices of independent speeds.

    Raises
    ------
    CompileError : what C cannot have.
    """
    model = system.model
    if precision not in ("double", "single"):
        raise CompileError(
            f"the precision is {precision!r:.40}", where, "give precision='double' or 'single'"
        )
    if not isinstance(own_sine, bool):
        raise CompileError(f"own_sine is {own_sine!r:.40}", where, "give True or False")
    if system.costates:
        raise CompileError(
            "vakonomic equations have costates, whose meaning changes with the basis",
            where,
            "derive the equations with a formulation that follows d'Alembert's principle",
        )
    for parameter in model.parameters:
        fix = "rename it in the model, or fold it: noslip.compile(…, fold=[…])"
        if parameter.name not in system.folded:
            check_c_name(parameter.name, "parameter", f"model '{c_comment(model.name)}'", fix)
    name = c_prefix(model.name, prefix, where)
    cover = BasisCover.of(system)
    laws = tuple(_law(s, controller, where) for s in cover.systems) if controller else ()
    parameters = system.parameters()
    begin = start_of(system, start)
    here, begin = regular_start(system, begin, parameters, need="speeds")
    if here not in cover.systems:
        raise CompileError(
            "none of the choices of independent speeds in the code determines the motion at the "
            "start",
            where,
            "give another start, or derive the equations in speeds that do: "
            + ", ".join(s.name for s in here.independent_speeds),
        )
    return CSource(
        prefix=name,
        cover=cover,
        single=precision == "single",
        start=begin,
        start_basis=cover.systems.index(here),
        laws=laws,
        parameters=parameters,
        own_sine=own_sine,
    )


def start_of(system: System, given: dict[str, float] | None) -> Start:
    """Start from given values, by default those of the model's scenario, else at rest."""
    if given is not None:
        return complete_start(system, given)
    scenario = system.model.scenario
    if scenario is not None:
        values = scenario_start(scenario, system.model.parameter_values(), motion=True)
        try:
            return complete_start(system, values)
        except SimulationError:  # speeds of it may need speed inputs that move
            places = {c.name for c in system.coordinates}
            return complete_start(system, {n: x for n, x in values.items() if n in places})
    return complete_start(system, {})


def check_stem(stem: str, where: str) -> str:
    """The name of a file without its suffix, if another may include it by that."""
    if not _FILE_STEM.fullmatch(stem):
        raise CompileError(
            f"the name '{c_comment(stem)}' cannot be used in #include",
            where,
            "name the file with letters, digits, dots, hyphens and underscores",
        )
    return stem


def _law(system: System, controller: AbstractInputLaw, where: str) -> InputGenerator:
    if not isinstance(controller, AbstractInputLaw):
        raise CompileError(
            f"the controller is a {type(controller).__name__}",
            where,
            "give an input law: Tracking(motion=…, controller=…, …), or reference_motion(…).law",
        )
    law = controller.generator(system)
    law.require_traced("C code")
    if law.noise.shape[0]:
        raise CompileError(
            "the controller uses random numbers, which the C code does not support",
            where,
            "export the law without sensors",
        )
    return law


# ------------------------------------------------------------------------------------------------


def notes_of(source: CSource) -> tuple[str, ...]:
    """Notes on what the code of a system leaves out."""
    model, system = source.system.model, source.system
    said = []
    if not source.is_driven:
        said.append(
            f"no inverse dynamics: {counted(len(model.inputs), 'force input')} for "
            f"{len(system.independent_speeds)} independent speeds; "
            f"{source.prefix}_generalized_forces is there"
        )
    if source.cover.uncovered:
        said.append(
            f"{source.cover.uncovered:.1%} of the sampled configurations are near the end of every "
            "basis; functions return a code there"
        )
    if system.does_work:
        said.append("the work of inputs and dampers is not integrated")
    said.append("reactions and energies are left out")
    return tuple(said)


def header_text(source: CSource) -> str:
    """The header: types, names of places, and the functions with what they do."""
    p, upper, real = source.prefix, source.prefix.upper(), f"{source.prefix}_real"
    system = source.system
    model = system.model
    first = len(system.coordinates) + len(system.independent_speeds)
    counts = {
        "COORDINATES": len(system.coordinates),
        "INDEPENDENT_SPEEDS": len(system.independent_speeds),
        "STATES": source.num_states,
        "SPEEDS": len(system.speeds),
        "FORCES": len(model.inputs),
        "GIVEN_SPEEDS": len(model.speed_inputs),
        "INPUTS": len(system.inputs),
        "BASES": len(source.cover.systems),
    }
    lines = [
        f"/* Equations of motion of '{c_comment(model.name)}', written by noslip {__version__}.",
        " *",
        " * State x = [coordinates q; independent speeds eta; states of forces]. Inputs = [forces;",
        " * given speeds; their rates]. SI units. eta means other speeds in another basis:",
        " *",
    ]
    for b, other in enumerate(source.cover.systems):
        names = ", ".join(f"{s.name} [{s.unit}]" for s in other.independent_speeds)
        lines += [f" *   basis {b}: {c_comment(names)}"]
    lines += [
        " *",
        " * Functions write their results and return a code. Nothing is allocated, nothing is kept",
        " * between calls, and several threads may call them at once.",
        " */",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"typedef {'float' if source.single else 'double'} {real};",
        "",
        "/* sizes */",
        *_enum([f"{upper}_NUM_{k} = {n}" for k, n in counts.items()]),
        "",
        "/* what functions return */",
        "enum {",
        f"    {upper}_OK = 0,",
        f"    {upper}_BASIS_ENDS = 1,       /* results hold; call {p}_change_basis */",
        f"    {upper}_SINGULAR = 2,         /* the speeds do not determine the motion here */",
        f"    {upper}_NOT_FINITE = 3,       /* a result is nan or infinite */",
        f"    {upper}_STEP_TOO_LONG = 4,    /* the step leaps over the end of its basis */",
        f"    {upper}_OFF_CONSTRAINTS = 5,  /* the state could not be projected */",
        f"    {upper}_NO_SUCH_BASIS = 6",
        "};",
        "",
        *_places("coordinates in x", f"{upper}_Q", system.coordinates, 0),
        *_places("states of forces in x", f"{upper}_X", system.auxiliary_states, first),
        *_places("tree speeds in v", f"{upper}_V", system.speeds, 0),
        *_places("inputs", f"{upper}_U", system.inputs, 0),
        "/* parameters */",
        f"typedef struct {p}_parameters {{",
    ]
    for k, name in source.members:
        parameter = model.parameters[k]
        said = f"{parameter.description}; " if parameter.description else ""
        text = c_comment(f"{said}[{parameter.unit}], {source.parameters[k]:.9g}")
        lines.append(f"    {real} {name}; /* {text} */")
    if not source.members:
        lines.append(f"    {real} none; /* the model has no parameters */")
    lines += [
        f"}} {p}_parameters;",
        "",
        "/* the model's own values */",
        f"extern const {p}_parameters {p}_nominal;",
        "",
        f"/* A start with the model's own values, in basis {source.start_basis}, at "
        f"t = {source.start.time:g} s. */",
        f"void {p}_start(int *basis, {real} *x);",
        "",
        "/* dx/dt. */",
        f"int {p}_rates(int basis, {real} t, const {real} *x, const {real} *inputs,",
        f"    const {p}_parameters *p, {real} *xdot);",
        "",
        "/* All tree speeds v: the names above have the same meaning in every basis. */",
        f"int {p}_speeds(int basis, {real} t, const {real} *x, const {real} *inputs,",
        f"    const {p}_parameters *p, {real} *v);",
        "",
        "/* Generalized forces on the independent speeds that accelerate them by etadot. */",
        f"int {p}_generalized_forces(int basis, {real} t, const {real} *x, const {real} *etadot,",
        f"    const {real} *inputs, const {p}_parameters *p, {real} *generalized);",
        "",
    ]
    if source.is_driven:
        more = counts["FORCES"] > counts["INDEPENDENT_SPEEDS"]
        least = ", the least of them" if more else ""
        lines += [
            f"/* Inverse dynamics: forces that accelerate the independent speeds by etadot{least}.",
            " * Of the inputs, the given speeds and their rates are read. */",
            f"int {p}_inverse_dynamics(int basis, {real} t, const {real} *x,",
            f"    const {real} *etadot, const {real} *inputs, const {p}_parameters *p,",
            f"    {real} *forces);",
            "",
        ]
    lines += [
        "/* Goes to the basis that is best here; x is the same motion in other speeds then. */",
        f"int {p}_change_basis(int *basis, {real} t, {real} *x, const {real} *inputs,",
        f"    const {p}_parameters *p);",
        "",
        "/* How far the basis is from its end: below 0 it is time for another one. */",
        f"{real} {p}_margin(int basis, {real} t, const {real} *x, const {p}_parameters *p);",
        "",
        "/* Largest residual of the holonomic constraints and unit quaternions. */",
        f"{real} {p}_residual(int basis, {real} t, const {real} *x, const {real} *inputs,",
        f"    const {p}_parameters *p);",
        "",
        "/* Moves x onto the holonomic constraints and unit quaternions, if there are any. */",
        f"int {p}_project(int basis, {real} t, {real} *x, const {real} *inputs,",
        f"    const {p}_parameters *p);",
        "",
        "/* One step of the classical Runge-Kutta method, projection and change of basis. Forces",
        " * are held, given speeds go on at their rates. If the code is not OK, x is as before. */",
        f"int {p}_step(int *basis, {real} t, {real} step, {real} *x, const {real} *inputs,",
        f"    const {p}_parameters *p);",
        "",
    ]
    if source.laws:
        lines += _controller_header(source)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _controller_header(source: CSource) -> list[str]:
    p, upper, real = source.prefix, source.prefix.upper(), f"{source.prefix}_real"
    law = source.laws[0]
    size = max(1, len(law.start))
    period = f"every {law.period:.9g} s" if law.update is not None else "as often as you step"
    lines = [f"/* A controller's own state; to be called {period}. */"]
    for k, (name, unit) in enumerate(zip(law.names, law.units, strict=True)):
        lines.append(f"/*   z[{k}]: {c_comment(name)} [{c_comment(unit)}] */")
    return [
        *lines,
        f"typedef struct {p}_controller {{",
        f"    {real} z[{size}];",
        f"}} {p}_controller;",
        "",
        "/* The state of the controller at its start. */",
        f"void {p}_control_start({p}_controller *controller);",
        "",
        "/* Controller step: inputs for the time from t to t + step, from the state x at t; the",
        " * controller's own state goes on to t + step. */",
        f"int {p}_control(int basis, {real} t, {real} step, const {real} *x,",
        f"    const {p}_parameters *p, {p}_controller *controller, {real} *inputs);",
        f"enum {{ {upper}_NUM_CONTROLLER_STATES = {len(law.start)} }};",
        "",
    ]


def _enum(entries: list[str]) -> list[str]:
    ends = [","] * (len(entries) - 1) + [""]
    return [
        "enum {",
        *(f"    {e}{end}" for e, end in zip(entries, ends, strict=True)),
        "};",
    ]


def _places(title: str, prefix: str, quantities: Sequence[Quantity], first: int) -> list[str]:
    """An enumeration of the places of quantities, with units and meanings."""
    if not quantities:
        return []
    lines = [f"/* {title} */", "enum {"]
    names = enumerators(prefix, quantities)
    for k, (name, quantity) in enumerate(zip(names, quantities, strict=True)):
        said = f", {quantity.description}" if quantity.description else ""
        end = "," if k + 1 < len(names) else ""
        text = c_comment(f"{quantity.name} [{quantity.unit}]{said}")
        lines.append(f"    {name} = {first + k}{end} /* {text} */")
    return [*lines, "};", ""]


# ------------------------------------------------------------------------------------------------


def source_text(source: CSource, header: str) -> str:
    """The code."""
    head = [f'#include "{header}"', "", "#include <math.h>", ""]
    lines = _constants(source)
    for b, system in enumerate(source.cover.systems):
        lines += _of_basis(source, b, system)
    lines += source.dispatch("rates_of", "t x u p")
    lines += source.dispatch("speeds_of", "t x u p")
    lines += source.dispatch("eta_of", "t x v p")
    lines += source.dispatch("measures_of", "t x p")
    lines += source.dispatch("generalized_of", "t x etadot u p")
    if source.is_driven:
        lines += source.dispatch("inverse_of", "t x etadot u p")
    if source.is_projected:
        lines += source.dispatch("projected_of", "t x u p")
    lines += _judge(source)
    lines.append(_fill(source, c_code("rates")))
    if source.is_driven:
        lines.append(_fill(source, c_code("inverse")))
    lines.append(_fill(source, c_code("projection" if source.is_projected else "no_projection")))
    lines.append(_fill(source, c_code("step")))
    if source.laws:
        lines += _controller(source)
    return "\n".join([*head, *source.sine(lines), *source.with_tables(lines)])


def _num_measures(source: CSource) -> list[int]:
    """Number of singularity measures in each basis; those of the basis come first."""
    for system in source.cover.systems:
        kinds = [h.kind != "basis" for h in system.singularity_measures]
        assert kinds == sorted(kinds)
    return [len(s.singularity_measures) for s in source.cover.systems]


def _num_basis_measures(source: CSource) -> list[int]:
    return [int(s.basis_measures.shape[0]) for s in source.cover.systems]


def _fill(source: CSource, text: str) -> str:
    """A text of fixed code with the names and numbers of a file."""
    kin = source.system.kinematics
    model, suffix = source.system.model, "f" if source.single else ""
    values = {
        "P": source.prefix,
        "N": source.prefix.upper(),
        "real": f"{source.prefix}_real",
        "f": suffix,
        "nx": str(source.num_states),
        "nq": str(kin.num_coordinates),
        "nf": str(kin.num_independent_speeds),
        "nv": str(max(1, kin.num_speeds)),
        "nu": str(len(model.inputs)),
        "nw": str(len(model.speed_inputs)),
        "ninputs": str(len(source.system.inputs)),
        "some_inputs": str(max(1, len(source.system.inputs))),
        "nout": str(source.num_states + max([1, *_num_measures(source)])),
        "nm": str(max([1, *_num_basis_measures(source)])),
        "nb": str(len(source.cover.systems)),
        "tol": source.number(_ON_CONSTRAINTS[source.single]),
        "nz": str(len(source.laws[0].start)) if source.laws else "0",
        "some_z": str(max(1, len(source.laws[0].start))) if source.laws else "1",
        "zero": source.number(0.0),
        "half": source.number(0.5),
        "one": source.number(1.0),
        "two": source.number(2.0),
        "six": source.number(6.0),
        "counts": ", ".join(str(n) for n in _num_basis_measures(source)),
        "limit": source.number(_bounds(source)[0]),
        "near": source.number(_bounds(source)[1]),
    }
    return re.sub(r"@(\w+)@", lambda m: values[m[1]], text)


def _bounds(source: CSource) -> tuple[float, float]:
    """Limit of the measures of a basis, below which no result holds, and its share of the floor."""
    measures = [h for s in source.cover.systems for h in s.singularity_measures]
    found = [(h.limit, h.limit / h.floor) for h in measures if h.kind == "basis"]
    return max(found, default=(0.0, 0.0))


def _constants(source: CSource) -> list[str]:
    p, real, number = source.prefix, f"{source.prefix}_real", source.number
    given = [number(float(source.parameters[k])) for k, _ in source.members] or [number(0.0)]
    x = [*source.start.q, *source.start.eta, *source.start.mu]
    lines = [
        f"const {p}_parameters {p}_nominal = {{",
        *_wrapped(given),
        "};",
        "",
        f"void {p}_start(int *basis, {real} *x)",
        "{",
        f"    *basis = {source.start_basis};",
        *(f"    x[{k}] = {number(float(value))};" for k, value in enumerate(x)),
        *([] if x else ["    (void)x;"]),
        "}",
        "",
    ]
    return lines


def _wrapped(texts: Sequence[str]) -> list[str]:
    return [f"    {text}{',' if k + 1 < len(texts) else ''}" for k, text in enumerate(texts)]


def _named(letter: str, size: int) -> list[str]:
    return [f"{letter}[{k}]" for k in range(size)]


def _of_basis(source: CSource, b: int, system: System) -> list[str]:
    """Functions of one basis."""
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    nx, nu, nf = source.num_states, len(system.inputs), kin.num_independent_speeds
    names = ["t", *_named("x", nx), *_named("u", nu)]
    health = [h.value for h in system.singularity_measures]
    rates = ca.vertcat(eq.state_rates, *health)
    title = ", ".join(s.name for s in system.independent_speeds)
    lines = [f"/* basis {b}: {c_comment(title)} */", ""]

    def add(
        name: str, expression: ca.SX, arguments: str, given: list[str], **others: ca.SX
    ) -> None:
        program = source.program(b, name, expression, **others)
        lines.extend(source.function(f"{name}_{b}", program, arguments, given))

    add("rates_of", rates, "t x u p", names)
    add("speeds_of", kin.v, "t x u p", names)
    # independent speeds of tree speeds, at coordinates x
    v = ca.SX.sym("v", kin.num_speeds)
    whole = ca.vertcat(symbols.q, v)
    places = _named("x", kin.num_coordinates)
    known = ["t", *places, *_named("v", kin.num_speeds)]
    add("eta_of", ca.mtimes(kin.E, v), "t x v p", known, x=whole, inputs=ca.SX(0, 1))
    at = ["t", *places]
    add("measures_of", system.basis_measures, "t x p", at, x=symbols.q, inputs=ca.SX(0, 1))
    # what accelerates: the generalized forces, and the inputs that supply them
    etadot = ca.SX.sym("etadot", nf)
    needed = ca.mtimes(eq.reduced_mass, etadot) + eq.reduced_bias - eq.reduced_forces
    asked = ["t", *_named("x", nx), *_named("etadot", nf), *_named("u", nu)]
    both = ca.vertcat(etadot, eq.inputs)
    add("generalized_of", needed, "t x etadot u p", asked, inputs=both)
    if source.is_driven:
        forces = solve_inputs(eq.reduced_inputs, needed)
        add("inverse_of", forces, "t x etadot u p", asked, inputs=both)
    if source.is_projected:
        found = system.projection_expression  # [x; perhaps the work; residual]
        both = ca.vertcat(found[: eq.state.numel(), :], found[-1, :])
        add("projected_of", both, "t x u p", names)
    return lines


def _judge(source: CSource) -> list[str]:
    """The code that singularity measures stand for."""
    p, upper, real = source.prefix, source.prefix.upper(), f"{source.prefix}_real"
    fabs = "fabsf" if source.single else "fabs"
    lines = [
        f"static int {p}_judge(int basis, const {real} *h)",
        "{",
        f"    int code = {upper}_OK;",
        "    switch (basis) {",
    ]
    for b, system in enumerate(source.cover.systems):
        lines.append(f"    case {b}:")
        for k, measure in enumerate(system.singularity_measures):
            if measure.kind == "basis":
                bound, limit = source.number(measure.floor), source.number(measure.limit)
                lines.append(f"        if (!({fabs}(h[{k}]) > {limit})) return {upper}_SINGULAR;")
                lines.append(
                    f"        if (!({fabs}(h[{k}]) >= {bound})) code = {upper}_BASIS_ENDS;"
                )
            else:
                least = max(measure.limit, _SINGLE_LIMIT) if source.single else measure.limit
                lines.append(
                    f"        if (!({fabs}(h[{k}]) >= {source.number(least)})) "
                    f"return {upper}_SINGULAR; /* {c_comment(measure.name)} */"
                )
        lines.append("        break;")
    lines += [f"    default: return {upper}_NO_SUCH_BASIS;", "    }", "    (void)h;"]
    return [*lines, "    return code;", "}", ""]


def _controller(source: CSource) -> list[str]:
    """The controller's law, its own rates and its update, in each basis."""
    p, lines = source.prefix, list[str]()
    is_sampled = source.laws[0].update is not None
    for b, (system, law) in enumerate(zip(source.cover.systems, source.laws, strict=True)):
        # inputs that the law does not give are zero
        rest = [
            x
            for i, x in zip(system.inputs, ca.vertsplit(system.equations.inputs), strict=True)
            if i.name not in law.inputs
        ]
        (expression,) = ca.substitute(
            [inputs_expression(system, law)], [ca.vertcat(*rest)], [ca.SX(len(rest), 1)]
        )
        numbers = ca.DM(law.parameter_values)
        parts = [("law_of", expression)]
        if law.update is not None:
            parts.append(("update_of", law.update))
        for name, part in parts:
            if law.parameters.shape[0]:
                part = ca.substitute([part], [law.parameters], [numbers])[0]
            program = source.program(b, name, part, inputs=law.states)
            given = ["t", *_named("x", source.num_states), *_named("z", len(law.start))]
            lines += source.function(f"{name}_{b}", program, "t x z p", given)
    lines += source.dispatch("law_of", "t x z p")
    if is_sampled:
        lines += source.dispatch("update_of", "t x z p")
    start = [source.number(float(z)) for z in source.laws[0].start] or [source.number(0.0)]
    lines += [
        f"void {p}_control_start({p}_controller *controller)",
        "{",
        *(f"    controller->z[{k}] = {z};" for k, z in enumerate(start)),
        "}",
        "",
    ]
    update = c_code("control_update") if is_sampled else ""
    return [*lines, _fill(source, c_code("control").replace("@update@", update))]


@cache
def c_code(name: str) -> str:
    """C code that is the same for every system, in which @name@ stands for what one fills in."""
    return files("noslip.bridges").joinpath("c_code", f"{name}.c").read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class CCode(AbstractSystemFormat):
    """A self-contained file of C99 and its header."""

    precision: str = "double"  #: ``double`` or ``single``
    prefix: str = ""  #: prefix of all names; made of the model's name by default
    #: input law that becomes a controller step, such as `noslip.controllers.Tracking`
    controller: AbstractInputLaw | None = None
    #: values of the state that the code starts with; the model's scenario by default
    start: dict[str, float] | None = None
    #: whether the code brings its own sine and cosine instead of calling libm's
    own_sine: bool = False

    word = "c"
    name = "C"
    suffixes = (".c",)
    companions = (".h",)

    def files(self, system: System, stem: str) -> tuple[bytes, bytes]:
        """The code and its header."""
        source = self._source(system)
        header = check_stem(stem, f"C code of model '{system.model.name}'") + ".h"
        texts = source_text(source, header), header_text(source)
        code, declarations = (text.encode("ascii") for text in texts)
        return code, declarations

    def notes(self, system: System) -> tuple[str, ...]:
        """Notes on what the code leaves out."""
        return notes_of(self._source(system))

    def _source(self, system: System) -> CSource:
        return c_source(
            system,
            where=f"C code of model '{system.model.name}'",
            prefix=self.prefix,
            precision=self.precision,
            controller=self.controller,
            start=self.start,
            own_sine=self.own_sine,
        )
