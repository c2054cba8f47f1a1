"""Functional mock-up units: a compiled system for co-simulation tools and model exchange.

    version 3   FMI 3.0, model exchange and co-simulation in one file
    version 2   FMI 2.0, co-simulation

Variables have their names, units and start values; states are the coordinates and ``eta[k]``, which
mean other speeds after a change of basis; named speeds are outputs. The code is that of
`c_source.py`, and its sources are part of the file. Without a C compiler it holds sources alone.

What is the same for every model is in `c_code`: types and functions of [FMI 3.0.2] and [FMI 2.0.4]
are declared there as the standards print them, so that the sources need no other files; @name@
stands for what a model fills in. Values are found by their references: the time is 0, then come
states, their derivatives, inputs, outputs, parameters, the number of the basis, and the margin of
the basis (its event indicator).
"""

from __future__ import annotations

import hashlib
import io
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import casadi as ca
import numpy as np

from noslip import CompileError, Quantity, System, __version__
from noslip.bridges.c_source import (
    CSource,
    c_code,
    c_source,
    header_text,
    notes_of,
    source_text,
)
from noslip.bridges.exports import AbstractSystemFormat
from noslip.expressions import rate_unit, read_unit

#: A residual of holonomic rows, m or rad, above which a state is projected in event mode.
LARGEST_RESIDUAL = 1e-9
#: Names that the variables of the unit itself have.
OWN_NAMES = ("time", "basis", "basis_margin")
#: What `fmi_states.c` spells differently in each version.
SPELLINGS = {
    2: {"fmi": "fmi2", "State": "FMUstate", "Deserialize": "DeSerialize", "Byte": "char"},
    3: {"fmi": "fmi3", "State": "FMUState", "Deserialize": "Deserialize", "Byte": "uint8_t"},
}

_COMPILERS = ("cc", "gcc", "clang")
_PLATFORMS = {"Linux": ("linux", ".so"), "Darwin": ("darwin", ".dylib")}


@dataclass(frozen=True, slots=True, kw_only=True)
class FmuVariable:
    """A variable of an FMU."""

    #: name, unit, description: texts for people
    name: str
    reference: int  #: value reference
    #: causality, variability: words of the standard
    causality: str
    variability: str = "continuous"
    unit: str = "1"
    description: str = ""
    start: float | None = None  #: value at the start; None where it is calculated
    derivative: int | None = None  #: value reference of the state that this is the derivative of
    is_whole: bool = False  #: whether it is an integer

    @property
    def initial(self) -> str | None:
        """``exact``, ``calculated``, or none where the standard wants none."""
        if self.causality in ("independent", "input"):
            return None
        return "calculated" if self.start is None else "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fmu(AbstractSystemFormat):
    """A functional mock-up unit."""

    version: int = 3  #: 3 or 2
    #: s, longest internal step of co-simulation, by the classical Runge–Kutta method
    step: float = 1e-3
    #: largest local error of two steps, of 1 + the size of a state; steps are shortened to it
    tolerance: float = 1e-8
    binary: bool = True  #: whether to compile it for this computer, if it has a C compiler
    #: name of its library and prefix of its functions; made of the model's name by default
    identifier: str = ""
    #: values of the state that it starts with; the model's scenario by default
    start: dict[str, float] | None = None
    #: whether the code brings its own sine and cosine instead of calling libm's
    own_sine: bool = False

    word = "fmu"
    name = "FMU"
    suffixes = (".fmu",)

    def files(self, system: System, stem: str) -> tuple[bytes]:
        """The archive."""
        self._check(system)
        source = self._source(system)
        variables = fmu_variables(source)
        check_variables(variables, system.model.name)
        entries = dict(self._entries(source, variables))
        return (archive(entries),)

    def notes(self, system: System) -> tuple[str, ...]:
        """Notes on what the FMU leaves out, and on whether it is compiled."""
        said = list(notes_of(self._source(system)))
        compiler = find_compiler()
        if not self.binary:
            said.append("it contains sources and no binary, as requested")
        elif compiler is None:
            said.append(
                "there is no C compiler here (cc, gcc or clang), so it holds sources and no "
                "binary: build it where it is used, as with fmpy compile"
            )
        else:
            said.append(
                f"compiled for {_platform(3)[0]} by {Path(compiler).name}; sources included"
            )
        return tuple(said)

    def _check(self, system: System) -> None:
        where = self._where(system)
        if self.version not in (2, 3) or isinstance(self.version, bool):
            raise CompileError(f"the version is {self.version!r:.40}", where, "give 2 or 3")
        for word, value, unit in (
            ("step", self.step, "time, s"),
            ("tolerance", self.tolerance, "number, such as 1e-8"),
        ):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and 0 < value < np.inf):
                raise CompileError(f"the {word} is {value!r:.40}", where, f"give a positive {unit}")

    def _where(self, system: System) -> str:
        return f"FMU of model '{system.model.name}'"

    def _source(self, system: System) -> CSource:
        where, prefix = self._where(system), self.identifier
        return c_source(
            system, where=where, prefix=prefix, start=self.start, own_sine=self.own_sine
        )

    def _entries(
        self, source: CSource, variables: list[FmuVariable]
    ) -> Iterator[tuple[str, bytes]]:
        name = source.prefix
        code, header = source_text(source, f"{name}.h"), header_text(source)
        glue = self._glue(source)
        texts = [code, header, glue, repr(variables), __version__]
        token = "{" + hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32] + "}"
        sources = {
            f"{name}.c": code,
            f"{name}.h": header,
            f"{name}_fmu.c": glue.replace("@token@", token),
        }
        files = [f"{name}.c", f"{name}_fmu.c"]
        describe = _description3 if self.version == 3 else _description2
        yield "modelDescription.xml", describe(source, variables, token, files).encode()
        for file, text in sources.items():
            yield f"sources/{file}", text.encode("ascii")
        if self.version == 3:
            yield "sources/buildDescription.xml", _build_description(name, files).encode()
        if self.binary and find_compiler() is not None:
            folder, suffix = _platform(self.version)
            yield f"binaries/{folder}/{name}{suffix}", compile_library(sources, files, name)

    def _glue(self, source: CSource) -> str:
        system = source.system
        ny = len(system.speeds) + len(named_speeds(system))
        values = {
            "header": f"{source.prefix}.h",
            "P": source.prefix,
            "N": source.prefix.upper(),
            "F": f"FMI{self.version}",
            "nx": str(source.num_states),
            "nu": str(len(system.inputs)),
            "nw": str(len(system.model.speed_inputs)),
            "nf": str(len(system.model.inputs)),
            "ny": str(ny),
            "np": str(len(source.members)),
            "ne": "1" if has_margin(source) else "0",
            "residual": source.number(LARGEST_RESIDUAL),
            "step": source.number(float(self.step)),
            "tolerance": source.number(float(self.tolerance)),
            "printed": "\n".join(_printed(source)),
            **SPELLINGS[self.version],
        }
        names = ("fmu", "fmi_export", f"fmi{self.version}", "fmi_states")
        text = "\n".join(map(c_code, names))
        return re.sub(r"@(\w+)@", lambda m: values.get(m[1], m[0]), text)


def named_speeds(system: System) -> list[Quantity]:
    """Independent speeds of the model that are no tree speeds."""
    tree = {s.name for s in system.speeds}
    return [s for s in system.independent_speeds if s.name not in tree]


def has_margin(source: CSource) -> bool:
    """Whether any basis can end."""
    return any(s.basis_measures.shape[0] for s in source.cover.systems)


def fmu_variables(source: CSource) -> list[FmuVariable]:
    """All variables, in the order of their references."""
    system = source.system
    found = [FmuVariable(name="time", reference=0, causality="independent", unit="s")]

    def add(**given: object) -> None:
        found.append(FmuVariable(reference=len(found), **given))  # type: ignore[arg-type]

    states = []
    for c, value in zip(system.coordinates, source.start.q, strict=True):
        states.append((c.name, c.unit, c.description, "output", float(value)))
    for k, value in enumerate(source.start.eta):
        each = [s.independent_speeds[k] for s in source.cover.systems]
        units = {s.unit for s in each}
        said = ", ".join(f"{s.name} [{s.unit}] in basis {b}" for b, s in enumerate(each))
        unit = units.pop() if len(units) == 1 else "1"
        states.append((f"eta[{k + 1}]", unit, f"independent speed: {said}", "local", float(value)))
    for z, value in zip(system.auxiliary_states, source.start.mu, strict=True):
        states.append((z.name, z.unit, z.description, "output", float(value)))
    for name, unit, said, causality, value in states:
        add(name=name, unit=unit, description=said, causality=causality, start=value)
    for k, (name, unit, *_) in enumerate(states):
        add(name=f"der({name})", unit=rate_unit(unit), causality="local", derivative=1 + k)
    for i in system.inputs:
        add(name=i.name, unit=i.unit, description=i.description, causality="input", start=0.0)
    for s in (*system.speeds, *named_speeds(system)):
        add(name=s.name, unit=s.unit, description=s.description, causality="output")
    for k, name in source.members:
        p, value = system.model.parameters[k], float(source.parameters[k])
        add(
            name=name, unit=p.unit, description=p.description, start=value,
            causality="parameter", variability="fixed",
        )  # fmt: skip
    said = "number of the choice of independent speeds"
    add(name="basis", description=said, causality="output", variability="discrete", is_whole=True)
    if has_margin(source):
        said = "how far the independent speeds are from their end"
        add(name="basis_margin", description=said, causality="local")
    return found


def check_variables(variables: list[FmuVariable], model: str) -> None:
    """Refuse names that two variables have.

    Raises
    ------
    CompileError : with the name.
    """
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            own = " of the unit itself" if variable.name in OWN_NAMES else ""
            raise CompileError(
                f"two variables{own} are called '{variable.name}'",
                f"FMU of model '{model}'",
                "rename one of them in the model",
            )
        seen.add(variable.name)


def find_compiler() -> str | None:
    """Path of a C compiler, if there is one and it makes libraries for this system."""
    if platform.system() not in _PLATFORMS:
        return None
    return next((found for c in _COMPILERS if (found := shutil.which(c)) is not None), None)


def compile_library(sources: dict[str, str], files: list[str], name: str) -> bytes:
    """The shared library of C sources.

    Raises
    ------
    CompileError : if the compiler refuses.
    """
    compiler = find_compiler()
    assert compiler is not None
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            (Path(folder) / file).write_text(text, encoding="ascii")
        library = f"{name}{_platform(3)[1]}"
        flags = ["-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
        command = [compiler, *flags, *files, "-o", library, "-lm"]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            raise CompileError(
                f"the C compiler rejects the sources: {done.stderr.strip()[:400]}",
                " ".join(command),
                "write it without a binary: --option binary=false, and report the message",
            )
        return (Path(folder) / library).read_bytes()


def archive(entries: dict[str, bytes]) -> bytes:
    """A ZIP archive, the same bytes for the same entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, contents in entries.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, contents)
    return buffer.getvalue()


def _platform(version: int) -> tuple[str, str]:
    """Folder of binaries, and suffix of libraries, of this computer."""
    system, suffix = _PLATFORMS.get(platform.system(), ("unknown", ".so"))
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    if version == 2:
        return f"{system}64" if machine == "x86_64" else f"{machine}-{system}", suffix
    return f"{machine}-{system}", suffix


def _printed(source: CSource) -> list[str]:
    """Functions for outputs and for directional derivatives, in each basis."""
    nx, nu = source.num_states, len(source.system.inputs)
    first = source.system.kinematics
    named = [s.name for s in source.system.independent_speeds]
    chosen = [named.index(s.name) for s in named_speeds(source.system)]
    given = [first.symbols.q, first.symbols.params]
    selection = ca.Function("E", given, [ca.densify(first.E[chosen, :])])
    lines: list[str] = []
    for b, system in enumerate(source.cover.systems):
        kin, eq = system.kinematics, system.equations
        E = selection(kin.symbols.q, kin.symbols.params)
        outputs = ca.vertcat(kin.v, ca.mtimes(E, kin.v)) if chosen else kin.v
        dx, du = ca.SX.sym("dx", nx), ca.SX.sym("du", nu)
        both = ca.vertcat(eq.state_rates, outputs)
        slope = ca.jtimes(both, ca.vertcat(eq.state, eq.inputs), ca.vertcat(dx, du))
        names = ["t", *(f"x[{k}]" for k in range(nx)), *(f"u[{k}]" for k in range(nu))]
        seeds = [*(f"dx[{k}]" for k in range(nx)), *(f"du[{k}]" for k in range(nu))]
        program = source.program(b, "outputs", outputs)
        lines += source.function(f"outputs_of_{b}", program, "t x u p", names)
        whole = ca.vertcat(eq.inputs, dx, du)
        program = source.program(b, "directional", slope, inputs=whole)
        lines += source.function(f"directional_of_{b}", program, "t x u dx du p", [*names, *seeds])
    lines += source.dispatch("outputs_of", "t x u p")
    lines += source.dispatch("directional_of", "t x u dx du p")
    words = ("outputs_of", "directional_of")
    lines += [f"#define {word} {source.prefix}_{word}" for word in words]
    return [*source.sine(lines), *source.with_tables([*lines, ""])]


# descriptions


def _attributes(**given: object) -> str:
    """Attributes of an element that are not None; XML takes no other characters than these."""
    parts = []
    for name, value in given.items():
        if value is None or value == "":
            continue
        if isinstance(value, bool):
            text = "true" if value else "false"
        else:
            text = repr(value) if isinstance(value, float) else str(value)
        text = "".join(c if _is_xml(c) else "?" for c in text)
        parts.append(f" {name.rstrip('_')}={quoteattr(text)}")
    return "".join(parts)


def _is_xml(character: str) -> bool:
    code = ord(character)
    return 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


def _units(variables: list[FmuVariable]) -> list[str]:
    lines = ["  <UnitDefinitions>"]
    for unit in dict.fromkeys(v.unit for v in variables if v.unit != "1"):
        powers = dict(zip(("kg", "m", "s", "A", "K"), read_unit(unit), strict=True))
        # an angle counts as a pure number here, and as a base unit there
        turned = re.sub(r"\brad\b", "K", unit)
        powers["rad"] = read_unit(turned)[4] - powers["K"]
        whole = {name: int(power) for name, power in powers.items() if power}
        is_whole = all(power == int(power) for power in powers.values())
        base = f"<BaseUnit{_attributes(**whole)}/>" if is_whole else ""
        lines.append(f"    <Unit{_attributes(name=unit)}>{base}</Unit>")
    return [*lines, "  </UnitDefinitions>"] if len(lines) > 1 else []


def _experiment(source: CSource) -> str:
    scenario = source.system.model.scenario
    stop = 1.0 if scenario is None else float(scenario.duration)
    return f"  <DefaultExperiment{_attributes(startTime=float(source.start.time), stopTime=stop)}/>"


def _description3(
    source: CSource, variables: list[FmuVariable], token: str, files: list[str]
) -> str:
    model, name = source.system.model, source.prefix
    able = dict(
        modelIdentifier=name, canGetAndSetFMUState=True, canSerializeFMUState=True,
        providesDirectionalDerivatives=True,
    )  # fmt: skip
    exchange = _attributes(**able, needsCompletedIntegratorStep=source.is_projected)
    together = _attributes(**able, canHandleVariableCommunicationStepSize=True)
    about = _attributes(
        fmiVersion="3.0", modelName=model.name, instantiationToken=token,
        description=model.description, generationTool=f"noslip {__version__}",
        variableNamingConvention="structured",
    )  # fmt: skip
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<fmiModelDescription{about}>",
        f"  <ModelExchange{exchange}/>",
        f"  <CoSimulation{together}/>",
        *_units(variables),
        _experiment(source),
        "  <ModelVariables>",
    ]
    for v in variables:
        unit = None if v.unit == "1" else v.unit
        given = _attributes(
            name=v.name, valueReference=v.reference, causality=v.causality,
            variability=v.variability, initial=v.initial, description=v.description, unit=unit,
            start=v.start, derivative=v.derivative,
        )  # fmt: skip
        lines.append(f"    <{'Int32' if v.is_whole else 'Float64'}{given}/>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for element, references in _structure(variables).items():
        word = {"Derivatives": "ContinuousStateDerivative", "Outputs": "Output"}.get(element)
        word = word or {"InitialUnknowns": "InitialUnknown"}[element]
        lines += [f"    <{word}{_attributes(valueReference=k)}/>" for k in references]
    margin = [v.reference for v in variables if v.name == "basis_margin"]
    lines += [f"    <EventIndicator{_attributes(valueReference=k)}/>" for k in margin]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _structure(variables: list[FmuVariable]) -> dict[str, list[int]]:
    """References of outputs, of derivatives of states, and of what is calculated at the start."""
    derivatives = [v.reference for v in variables if v.derivative is not None]
    outputs = [v.reference for v in variables if v.causality == "output"]
    calculated = [v.reference for v in variables if v.initial == "calculated"]
    unknown = [k for k in calculated if k in derivatives or k in outputs]
    return {"Outputs": outputs, "Derivatives": derivatives, "InitialUnknowns": unknown}


def _description2(
    source: CSource, variables: list[FmuVariable], token: str, files: list[str]
) -> str:
    model = source.system.model
    able = _attributes(
        modelIdentifier=source.prefix, canHandleVariableCommunicationStepSize=True,
        canGetAndSetFMUstate=True, canSerializeFMUstate=True, providesDirectionalDerivative=True,
    )  # fmt: skip
    about = _attributes(
        fmiVersion="2.0", modelName=model.name, guid=token, description=model.description,
        generationTool=f"noslip {__version__}", variableNamingConvention="structured",
        numberOfEventIndicators=0,
    )  # fmt: skip
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<fmiModelDescription{about}>",
        f"  <CoSimulation{able}>",
        "    <SourceFiles>",
        *(f"      <File{_attributes(name=file)}/>" for file in files),
        "    </SourceFiles>",
        "  </CoSimulation>",
        *_units(variables),
        _experiment(source),
        "  <ModelVariables>",
    ]
    for v in variables:
        given = _attributes(
            name=v.name, valueReference=v.reference, causality=v.causality,
            variability=v.variability, initial=v.initial, description=v.description,
        )  # fmt: skip
        # references count from 0 and places from 1
        of = None if v.derivative is None else v.derivative + 1
        unit = None if v.unit == "1" else v.unit
        inner = f"<Integer{_attributes(start=v.start)}/>"
        if not v.is_whole:
            inner = f"<Real{_attributes(unit=unit, start=v.start, derivative=of)}/>"
        lines.append(f"    <ScalarVariable{given}>{inner}</ScalarVariable>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for element, references in _structure(variables).items():
        lines.append(f"    <{element}>")
        lines += [f"      <Unknown{_attributes(index=k + 1)}/>" for k in references]
        lines.append(f"    </{element}>")
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _build_description(name: str, files: list[str]) -> str:
    listed = "\n".join(f"      <SourceFile{_attributes(name=file)}/>" for file in files)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration{_attributes(modelIdentifier=name)}>
    <SourceFileSet language="C99">
{listed}
    </SourceFileSet>
  </BuildConfiguration>
</fmiBuildDescription>
"""
