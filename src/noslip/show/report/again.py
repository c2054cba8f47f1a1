"""Sections on the means: integrator, tolerances, versions; and how to do it again."""

from __future__ import annotations

import platform
from importlib.metadata import version

from noslip import __version__
from noslip.model.files import model_to_toml
from noslip.show.report.elements import (
    Html,
    PageSection,
    code,
    facts,
    folded,
    joined,
    listing,
    paragraph,
    table,
    text,
)
from noslip.show.report.subject import ReportSubject
from noslip.show.report.values import number

METHODS = {"dop853": "dop853, adaptive, order 8", "rk4": "rk4, fixed step, order 4"}

#: Libraries that take part in the numbers.
LIBRARIES = ("casadi", "numpy", "scipy", "llvmlite")


def means(subject: ReportSubject) -> PageSection:
    """Integrator, tolerances, effort and versions."""
    run, formulation = subject.run, subject.system.equations.formulation
    told = [
        ("equations", text(f"{formulation.name} [{formulation.reference}], native code")),
        ("integrator", text(METHODS.get(run.method, run.method))),
        ("relative tolerance", number(run.rtol)),
        ("absolute tolerance", number(run.atol)),
        ("steps", Html(f"{number(run.steps)} taken, {number(run.rejections)} rejected")),
        ("evaluations", number(run.nfev)),
    ]
    told += [("note", text(note)) for note in run.notes]
    versions = [("noslip", __version__), ("Python", platform.python_version())]
    versions += [(name, version(name)) for name in LIBRARIES]
    versions.append(("machine", f"{platform.system()} {platform.machine()}"))
    parts = [
        facts(told),
        table("Versions", ("software", "version"), ((text(a), text(b)) for a, b in versions)),
    ]
    return PageSection(key="means", title="With what", body=joined(parts))


def again(subject: ReportSubject) -> PageSection:
    """The command, and the model it ran."""
    parts = []
    if subject.command:
        parts.append(paragraph(text(f"With noslip {__version__}:")))
        parts.append(listing(subject.command))
    else:
        parts.append(
            paragraph(
                text(
                    "The run was made from Python, by no command. The model is below; the "
                    "parameters, the start and the inputs are those shown above."
                ),
            )
        )
    parts.append(
        paragraph(
            text("This is the model that ran, as a file. Saved as "),
            code(f"{subject.model.name}.toml"),
            text(", it can be given in place of the model's name."),
        )
    )
    parts.append(folded("Model file", listing(model_to_toml(subject.model))))
    return PageSection(key="again", title="How to do it again", body=joined(parts))
