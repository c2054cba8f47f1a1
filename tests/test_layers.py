"""Imports go one way: a package is a stage and imports only from earlier ones."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "noslip"

#: Lower ranks never import higher ones. What shares a rank imports nothing of each other.
RANKS = {
    "errors": 0,
    "atomic": 0,
    "spatial": 0,
    "words": 0,
    "numeric": 0,
    "model": 1,
    "kinematics": 2,
    "formulations": 3,
    "engines": 4,
    "simulation": 5,
    "sensitivities": 6,
    "analysis": 7,
    "control": 8,
    "library": 9,
    "show": 10,
    "studio": 11,
    "cli": 12,
}

#: What a package may import beyond or short of its rank, and why.
ONLY = {
    # ready models are descriptions, the same as a user's own
    "library": {"errors", "model"},
}

#: (importer, what) → reason. The package itself holds nothing but its version and the lazy names.
ALLOWED = {
    ("__init__", "errors"): "a name that does not exist is told with its nearest",
    ("__init__", "show"): "in a notebook the import itself lets equations show as mathematics",
    ("cli", ""): "a command is the public function of that name",
    ("engines", "__version__"): "object code on disk is loaded by the version that stored it",
    ("show", "__version__"): "the summary of a run says by which version it was made",
}

#: The folders of the studio, in the order data flows.
STUDIO = ["choosing", "running", "driving", "page", "server"]

FILES = sorted(SOURCE.rglob("*.py"))


def package_of(path):
    """The stage a file belongs to: its folder, or its own name at the top."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """(line, first part below noslip) of every import in a file, those within functions too."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            if module == "noslip":
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif module.startswith("noslip."):
                yield node.lineno, module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "noslip":
                    yield node.lineno, (alias.name.split(".") + [""])[1]


def test_every_package_has_a_rank():
    packages = {package_of(path) for path in FILES} - {"__init__"}
    assert packages == set(RANKS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    here = package_of(path)
    for line, there in imports(path):
        place = f"{path.relative_to(SOURCE)}:{line}: {here} imports {there or 'noslip'}"
        if (here, there) in ALLOWED or here == there:
            continue
        assert there in RANKS, place
        assert here in RANKS, f"{place}, but __init__.py imports nothing of the package"
        assert RANKS[there] < RANKS[here], f"{place}, which comes after it"
        assert there in ONLY.get(here, RANKS), f"{place}, which it must not know"


def test_folders_of_the_studio_go_one_way():
    studio = SOURCE / "studio"
    for path in sorted(studio.rglob("*.py")):
        here = path.relative_to(studio).parts[0].removesuffix(".py")
        if here == "__init__":
            continue
        for line in path.read_text().splitlines():
            found = re.match(r"\s*(?:from|import) noslip\.studio\.(\w+)", line)
            if found:
                assert STUDIO.index(found[1]) <= STUDIO.index(here), f"{path}: {line}"


def test_only_the_command_imports_the_studio():
    importers = {path for path in FILES for _, there in imports(path) if there == "studio"}
    outside = {path for path in importers if package_of(path) != "studio"}
    assert outside == {SOURCE / "cli" / "studio.py"}


def test_every_exception_is_still_needed():
    found = {(package_of(path), there) for path in FILES for _, there in imports(path)}
    assert set(ALLOWED) <= found


def test_heavy_libraries_stay_in_their_place():
    """What is needed by one stage is imported by that stage: models know no LLVM and no plots."""
    homes = {
        "llvmlite": {"engines"},
        "sympy": {"engines", "show"},
        "matplotlib": {"show"},
        "PIL": {"show"},
        "viser": {"show", "studio"},
        "xarray": {"simulation", "sensitivities", "analysis", "show", "studio"},
        "click": {"cli"},
        "rich": {"cli"},
        "pydantic": {"model"},
        "tomllib": {"model"},
        "tomli_w": {"model"},
    }
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                assert package_of(path) in homes.get(top, {package_of(path)}), (
                    f"{path.relative_to(SOURCE)}:{node.lineno} imports {name}"
                )
