"""The reduced equations of motion as text or LaTeX.

    M(q) η̇ + h(q, η) = f(q, η, t) + B(q) u,        v = S(q) η + s

Long expressions are written with shared parts z1, z2, … that come first.
"""

from __future__ import annotations

import re

import casadi as ca
import sympy

from noslip.engines.sympy import SympyProgram, to_sympy
from noslip.engines.system import System
from noslip.formulations.base import Equations


def equations_text(equations: Equations, format: str = "text") -> str:
    """The equations for people.

    Parameters
    ----------
    equations : derived equations.
    format : ``"text"`` or ``"latex"``.
    """
    sections = _sections(equations)
    return _latex(equations, *sections) if format == "latex" else _text(equations, *sections)


def _sections(equations: Equations) -> tuple[SympyProgram, list[tuple[str, str]]]:
    """All blocks as one program, and for each output a label in text and LaTeX."""
    kin = equations.kinematics
    nf, nu = kin.num_independent_speeds, len(kin.model.inputs)
    outputs: list[ca.SX] = []
    labels: list[tuple[str, str]] = []

    def add(name: str, latex: str, place: str, expression: ca.SX) -> None:
        if ca.SX(expression).is_zero():
            return
        outputs.append(ca.densify(ca.SX(expression)))
        labels.append((f"{name}[{place}]", f"{latex}_{{{place}}}"))

    for i in range(nf):
        for j in range(i + 1):
            add("M", "M", f"{i + 1},{j + 1}", equations.reduced_mass[i, j])
    for i in range(nf):
        add("h", "h", f"{i + 1}", equations.reduced_bias[i])
    for i in range(nf):
        add("f", "f", f"{i + 1}", equations.reduced_forces[i])
    for i in range(nf):
        for j in range(nu):
            add("B", "B", f"{i + 1},{j + 1}", equations.reduced_inputs[i, j])
    for k, speed in enumerate(kin.speeds):
        if speed.name not in [s.name for s in kin.independent_speeds]:
            outputs.append(ca.densify(kin.v[k]))
            labels.append((speed.name, _latex_name(speed.name)))
    system = System(equations=equations)
    program = system.program("equations", ca.vertcat(*outputs) if outputs else ca.SX(0, 1))
    return to_sympy(program, _symbols(system)), labels


def _symbols(system: System) -> list[sympy.Symbol]:
    """One symbol for each entry of t, x, inputs and parameters, by its own name."""
    names = ["t"] + [q.name for q in system.coordinates]
    names += [s.name for s in system.independent_speeds]
    names += ["work"] * (system.num_states - len(names) + 1)
    names += [q.name for q in system.inputs] + [p.name for p in system.model.parameters]
    return [sympy.Symbol(name, real=True) for name in names]


def _text(equations: Equations, program: SympyProgram, labels: list[tuple[str, str]]) -> str:
    kin = equations.kinematics
    lines = [
        f"Equations of motion of '{kin.model.name}' by the {equations.formulation.name}",
        "",
        "  M eta' + h = f" + (" + B u" if kin.model.inputs else ""),
        "",
        "independent speeds eta:",
        *(f"  {k + 1}. {s.name} [{s.unit}]" for k, s in enumerate(kin.independent_speeds)),
        "",
    ]
    if kin.model.inputs:
        lines += [
            "inputs u:",
            *(f"  {k + 1}. {i.name} [{i.unit}]" for k, i in enumerate(kin.model.inputs)),
        ]
        lines.append("")
    if program.parts:
        lines += ["shared parts:", *(f"  {s} = {_plain(e)}" for s, e in program.parts), ""]
    lines.append("equations (what is not listed is zero, M is symmetric):")
    for (label, _), expression in zip(labels, program.outputs, strict=True):
        lines.append(f"  {label} = {_plain(expression)}")
    return "\n".join(lines)


def _plain(expression: sympy.Expr) -> str:
    return str(expression).replace("**", "^")


def _latex(equations: Equations, program: SympyProgram, labels: list[tuple[str, str]]) -> str:
    kin = equations.kinematics
    symbols = set().union(*(e.free_symbols for e in program.outputs), set())
    symbols |= set().union(*(e.free_symbols for _, e in program.parts), set())
    names = {s: _latex_name(s.name) for s in symbols}

    def tex(expression: sympy.Expr) -> str:
        return sympy.latex(expression, symbol_names=names)

    speeds = r" \\ ".join(_latex_name(s.name) for s in kin.independent_speeds)
    force = " + B u" if kin.model.inputs else ""
    lines = [
        rf"% {kin.model.name}: {equations.formulation.name}",
        r"\begin{align*}",
        rf"M \dot{{\eta}} + h &= f{force}, & \eta &= \begin{{bmatrix}} {speeds} \end{{bmatrix}} \\",
    ]
    lines += [rf"{tex(s)} &= {tex(e)} \\" for s, e in program.parts]
    lines += [
        rf"{label} &= {tex(expression)} \\"
        for (_, label), expression in zip(labels, program.outputs, strict=True)
    ]
    return "\n".join([*lines, r"\end{align*}"])


_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega"
).split()


def _latex_name(name: str) -> str:
    """A name as mathematics: m_wheel → m_{wheel}, wheel1.rate upright, z12 → z_{12}."""
    if re.fullmatch(r"z\d+", name):
        return f"z_{{{name[1:]}}}"
    if "." in name:
        escaped = name.replace("_", r"\_")
        return rf"\mathrm{{{escaped}}}"
    head, _, tail = name.partition("_")
    head = rf"\{head}" if head in _GREEK else head if len(head) == 1 else rf"\mathrm{{{head}}}"
    index = tail.replace("_", ",")
    return head + (rf"_{{\mathrm{{{index}}}}}" if tail else "")
