"""`noslip --version --verbose`: versions of everything that a report of a fault needs."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata

import noslip as ns


def version_text(*, verbose: bool) -> str:
    """The version; with those of Python, the computer and all packages if `verbose`."""
    first = f"noslip, version {ns.__version__}"
    if not verbose:
        return first
    rows = [
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", platform.platform()),
        ("processor", f"{platform.machine()}, {_cores()} cores"),
        ("installed in", sys.prefix),
        *_packages(),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join([first, *(f"  {name:<{width}}  {text}" for name, text in rows)])


def _cores() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def _packages() -> list[tuple[str, str]]:
    """Packages that noslip can use, with their versions."""
    try:
        wanted = metadata.requires("noslip") or []
    except metadata.PackageNotFoundError:
        wanted = []
    found = {}
    for text in wanted:
        match = re.match(r"[A-Za-z0-9._-]+", text)
        if match and match[0] != "noslip":
            try:
                found[match[0]] = metadata.version(match[0])
            except metadata.PackageNotFoundError:
                found[match[0]] = "not installed"
    return sorted(found.items())
