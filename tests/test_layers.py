"""Imports go one way: a package is a stage and imports only from earlier ones.

The same holds for the folders and the modules within a package. No module uses private names of
another, and no two classes have the same name.
"""

import ast
import gc
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "noslip"

#: Lower ranks never import higher ones. What shares a rank imports nothing of each other.
RANKS = {
    "errors": -3,
    "reading": -2,
    "memory_limits": -2,
    "atomic": -2,
    "extras": -2,
    "progress": -1,
    "families": -1,
    "interrupts": -1,
    "formats": 0,
    "spatial": -1,
    "lookup_tables": -1,
    "grid_spline": 0,
    "step_table": 0,
    "words": 0,
    "numeric": 0,
    "model": 1,
    "kinematics": 2,
    "library": 2,
    "formulations": 3,
    "engines": 4,
    "simulation": 5,
    "sensitivities": 6,
    "analysis": 7,
    "control": 8,
    "sweeps": 9,
    "identification": 9,
    "show": 10,
    "bridges": 11,
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
    ("__init__", "extras"): "a name whose package is missing is told with the extra to install",
    ("__init__", "errors"): "a name that does not exist is told with its nearest",
    ("__init__", "show"): "in a notebook the import itself lets equations show as mathematics",
    ("cli", ""): "a command is the public function of that name",
    ("simulation", ""): "run.plot() and run.animate() are the public functions of that name",
    ("analysis", ""): "sweep.plot() is the public function of that name",
    ("bridges", "__version__"): "code that is written says by which version it was",
    ("engines", "__version__"): "object code on disk is loaded by the version that stored it",
    ("show", "__version__"): "the summary of a run says by which version it was made",
}

#: The folders of each package, in the order data flows: none imports from a later one.
FOLDERS = {
    "model": ["parts"],
    "simulation": ["loop", "starts", "batches"],
    "control": ["paths", "timing", "motions", "controllers", "driving"],
    "show": ["scene", "equations", "plots", "report"],
    "sweeps": ["works"],
    "studio": ["choosing", "running", "page"],
}

#: Packages in which imports within functions may close a cycle, and why.
LAZY = {
    "model": "ModelBuilder.build() runs the checks of the whole model",
}

#: Private attributes of other modules that are used, and why.
PRIVATE = {
    "_exit": "os: ends a process whose threads are stuck",
    "_live_connections": "websockets: open pages of the studio",
    "_impl": "viser: the address of a control on the page",
    "_websock_connection": "viser: the connection of a page",
    "_websock_interface": "viser: the connection of a control",
    "_websock_server": "viser: the server of the pages",
    "_rim": "contact points of a wheel",
    "_repr_mimebundle_": "ipywidgets: what a notebook shows of a widget",
    # those of every named tuple
    "_asdict": "",
    "_fields": "",
    "_replace": "",
}

FILES = sorted(SOURCE.rglob("*.py"))


@pytest.fixture(scope="module", autouse=True)
def trees():
    """Parse all files at once; the garbage collector would take three quarters of the time."""
    gc.disable()
    for path in FILES:
        nodes_of(path)
    gc.enable()


@cache
def tree_of(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


@cache
def nodes_of(path):
    """All nodes of the syntax tree of a file."""
    return list(ast.walk(tree_of(path)))


def package_of(path):
    """The stage a file belongs to: its folder, or its own name at the top."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """(line, first part below noslip) of every import in a file, those within functions too."""
    for node in nodes_of(path):
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


def test_imports_go_one_way():
    for path in FILES:
        here = package_of(path)
        for line, there in imports(path):
            place = f"{path.relative_to(SOURCE)}:{line}: {here} imports {there or 'noslip'}"
            if (here, there) in ALLOWED or here == there:
                continue
            assert there in RANKS, place
            assert here in RANKS, f"{place}, but __init__.py imports nothing of the package"
            assert RANKS[there] < RANKS[here], f"{place}, which comes after it"
            assert there in ONLY.get(here, RANKS), f"{place}, which it must not know"


def module_of(path):
    """Dotted name of a file below noslip."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES} | {"": SOURCE / "__init__.py"}


def imported_modules(path, *, is_lazy_counted=True):
    """Modules below noslip that a file imports when it runs, not for its annotations alone."""

    def visit(node):
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    for other in child.orelse:
                        yield from visit(other)
                case ast.FunctionDef() if not is_lazy_counted:
                    continue
                case ast.ImportFrom(module=module) if (module or "").split(".")[0] == "noslip":
                    home = module.removeprefix("noslip").removeprefix(".")
                    for alias in child.names:
                        inner = f"{home}.{alias.name}".removeprefix(".")
                        yield inner if inner in MODULES else home
                case ast.Import():
                    for alias in child.names:
                        if alias.name.split(".")[0] == "noslip":
                            yield alias.name.removeprefix("noslip").removeprefix(".")
                case _:
                    yield from visit(child)

    return set(visit(tree_of(path))) - {""}


@pytest.mark.parametrize("package", RANKS)
def test_modules_of_a_package_do_not_import_each_other_in_a_circle(package):
    own = [path for path in FILES if package_of(path) == package]
    graph = {
        module_of(path): imported_modules(path, is_lazy_counted=package not in LAZY) for path in own
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("package", LAZY)
def test_every_package_with_a_lazy_circle_still_has_one(package):
    own = [path for path in FILES if package_of(path) == package]
    try:
        TopologicalSorter({module_of(path): imported_modules(path) for path in own}).prepare()
    except CycleError:
        return
    pytest.fail(f"'{package}' needs no exception any more: take it out of LAZY")


def folder_of(module):
    """Package and folder of a module; the folder is None for a module of the package itself."""
    package, *rest = module.split(".")
    is_folder = len(rest) > 1 or MODULES[module].name == "__init__.py"
    return package, rest[0] if rest and is_folder else None


def test_every_folder_has_a_place():
    found = defaultdict(set)
    for module in MODULES:
        package, folder = folder_of(module)
        if folder is not None:
            found[package].add(folder)
    assert {package: set(folders) for package, folders in FOLDERS.items()} == found


def test_folders_of_a_package_go_one_way():
    for module, path in MODULES.items():
        package, here = folder_of(module)
        for other in imported_modules(path):
            its_package, there = folder_of(other)
            if package == its_package and None not in (here, there):
                order = FOLDERS[package]
                assert order.index(there) <= order.index(here), f"{module} imports {other}"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_private_names_are_used_in_their_own_module():
    for path in FILES:
        nodes, defined = nodes_of(path), set()
        for node in nodes:
            match node:
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    defined.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    defined.add(name)
                case ast.Call(func=ast.Attribute(attr="update"), keywords=keywords):
                    defined |= {keyword.arg for keyword in keywords}
                case ast.Constant(value=str(name)):  # slots
                    defined.add(name)
        for node in nodes:
            match node:
                case ast.ImportFrom(module=str(home), names=names) if home.startswith("noslip"):
                    used = {alias.name for alias in names}
                case ast.Attribute(attr=name):
                    used = {name} - defined
                case ast.Call(keywords=keywords):
                    used = {keyword.arg or "" for keyword in keywords} - defined
                case _:
                    continue
            private = {name for name in used if is_private(name)} - set(PRIVATE)
            place = f"{path}:{getattr(node, 'lineno', 0)}"
            assert not private, f"{place} uses {', '.join(private)} of another module"


def test_classes_have_different_names():
    homes = defaultdict(list)
    for module, path in MODULES.items():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    shared = {name: where for name, where in homes.items() if len(set(where)) > 1}
    assert not shared


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
        "xarray": {
            "simulation",
            "sensitivities",
            "analysis",
            "sweeps",
            "identification",
            "show",
            "studio",
        },
        "dask": {"sweeps"},
        "distributed": {"sweeps"},
        "click": {"cli"},
        "rich": {"cli", "progress", "show"},
        "pydantic": {"model"},
        "tomllib": {"model", "simulation", "sweeps", "show", "bridges"},
        "tomli_w": {"model"},
    }
    for path in FILES:
        for node in nodes_of(path):
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


def test_names_of_test_files_are_unique():
    """Pytest imports test files by their names alone."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names))
