"""Imports go one way, through doors: a package is a stage and imports only from earlier ones.

A package is entered by its door, the names of its ``__init__.pyi``. The same direction holds for
the folders and the modules within a package. No module uses private names of another, and no two
classes have the same name.
"""

import ast
import gc
import importlib
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from noslip.base.public import public_places

SOURCE = Path(__file__).parent.parent / "src" / "noslip"

#: The stages, in the order data flows. A package imports only from earlier ones.
CORE = (
    *("base", "algebra", "expressions", "model", "kinematics", "formulations"),
    *("engines", "simulation", "analysis", "continuation", "geometry", "control", "planning"),
)
#: What stands around the core, on its doors and the public names alone. The same order.
SATELLITES = (
    *("library", "identification", "sweeps", "duty", "scene", "show", "web"),
    *("bridges", "environments", "studio", "cli"),
)
ORDER = (*CORE, *SATELLITES)
#: Modules of public names: what a user meets, and nothing else.
FRONT = {path.stem for path in SOURCE.glob("[a-z]*.py")}

#: Widest that a door may be: names that a package lends to others. Doors only become narrower.
WIDTHS = {
    "base": 60,
    "algebra": 37,
    "expressions": 36,
    "model": 106,
    "kinematics": 25,
    "formulations": 25,
    "engines": 42,
    "simulation": 45,
    "analysis": 30,
    "continuation": 4,
    "control": 26,
    "scene": 20,
    "show": 23,
    "sweeps": 8,
    "web": 2,
    "studio": 3,
    "bridges": 4,
    "library": 5,
    "identification": 4,
    "duty": 7,
}

#: (importer, what) → reason. The package itself holds nothing but its version and the lazy names.
ALLOWED = {
    ("", "base"): "errors of names that do not exist, and of packages that are missing",
    ("", "show"): "in a notebook the import itself lets equations show as mathematics",
    ("simulation", ""): "run.plot() and run.animate() are the public functions of that name",
    ("analysis", ""): "sweep.plot() is the public function of that name",
    ("continuation", ""): "branch.plot() is the public function of that name",
    ("engines", ""): "object code on disk is loaded by the version that stored it",
}

#: The folders of each package, in the order data flows: none imports from a later one.
FOLDERS = {
    "model": ["parts"],
    "simulation": ["loop", "starts", "contacts", "batches", "sensitivities"],
    "show": ["equations", "plots", "report"],
    "studio": ["page"],
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

#: Attributes of modules that are there to be set, and who says so.
HOOKS = {"sys.unraisablehook": "Python: called with exceptions that nobody can catch"}

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
    """The package a file belongs to; "" for the front door itself."""
    first, *rest = path.relative_to(SOURCE).parts
    return first if rest else ""


def imports(path):
    """(line, module below noslip, name or None) of every import, those within functions too."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            if module.split(".")[0] == "noslip":
                home = module.removeprefix("noslip").removeprefix(".")
                yield from ((node.lineno, home, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "noslip":
                    yield node.lineno, alias.name.removeprefix("noslip").removeprefix("."), None


def imports_of_others():
    """(place, importer, package, module, name) of every import of another package."""
    for path in FILES:
        here = package_of(path)
        for line, module, name in imports(path):
            there = module.split(".")[0] or (name if name in ORDER else "")
            there = "" if there in FRONT else there
            if there != here:
                yield f"{path.relative_to(SOURCE)}:{line}", here, there, module, name


@cache
def door_of(package):
    """Names that a package lends: those of its ``__init__.pyi``."""
    stub = ast.parse((SOURCE / package / "__init__.pyi").read_text())
    found = [a for n in ast.walk(stub) if isinstance(n, ast.ImportFrom) for a in n.names]
    assert all(alias.asname == alias.name for alias in found), package
    return [alias.name for alias in found]


def test_every_package_has_a_place():
    assert {package_of(path) for path in FILES} - {""} == set(ORDER)
    assert FRONT == {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("name", sorted(FRONT))
def test_modules_of_public_names_hold_nothing_else(name):
    doc, *body = tree_of(SOURCE / f"{name}.py").body
    assert isinstance(doc, ast.Expr)
    assert [ast.unparse(node) for node in body] == [
        "from noslip.base import lend",
        "__getattr__, __dir__ = lend(__name__)",
    ]
    _, *names = ast.parse((SOURCE / f"{name}.pyi").read_text()).body
    for node in names:
        assert node.level == 1 and node.module.split(".")[0] in ORDER
        assert all(alias.name == alias.asname for alias in node.names)


def test_imports_go_one_way():
    for place, here, there, _, _ in imports_of_others():
        if (here, there) in ALLOWED or (here in SATELLITES and not there):
            continue
        if module_of(SOURCE / place.partition(":")[0]) in FRONT:
            continue
        says = f"{place}: {here or 'noslip'} imports {there or 'noslip'}"
        assert here and there, f"{says}: the core knows no public names"
        assert ORDER.index(there) < ORDER.index(here), f"{says}, which comes after it"


def test_packages_are_entered_by_their_doors():
    for place, here, there, module, name in imports_of_others():
        if there and here:
            assert module == there, f"{place}: {here} goes past the door of {there}: {module}"
            assert name in door_of(there), f"{place}: {there} does not lend '{name}'"


def test_doors_lend_what_somebody_takes():
    taken = {(there, name) for _, _, there, _, name in imports_of_others()}
    public = set(public_places())
    for package in ORDER:
        if (SOURCE / package / "__init__.pyi").exists():
            names = door_of(package)
            assert len(names) == len(set(names)), f"{package} lends a name twice"
            idle = {n for n in names if (package, n) not in taken} - public
            assert not idle, f"nobody takes {', '.join(sorted(idle))} of {package}"


@pytest.mark.parametrize("package", WIDTHS)
def test_doors_are_narrow(package):
    assert len(door_of(package)) <= WIDTHS[package]


def test_doors_open_to_what_they_list():
    for package in ORDER:
        if (SOURCE / package / "__init__.pyi").exists():
            room = importlib.import_module(f"noslip.{package}")
            assert (room.__doc__ or "").strip(), f"{package} does not say what it is for"
            assert all(hasattr(room, name) for name in door_of(package))


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


@pytest.mark.parametrize("package", ORDER)
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


def imported_names(path):
    """Names of modules, classes and functions from outside the package, own aliases of them too."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "noslip":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    found.discard("noslip")
    while True:
        aliases = set()
        for node in nodes_of(path):
            match node:
                case ast.Assign(targets=targets, value=value) if root_of(value) in found:
                    aliases |= {t.id for t in targets if isinstance(t, ast.Name)}
                case ast.AnnAssign(target=ast.Name(id=name), value=value) if (
                    root_of(value) in found
                ):
                    aliases.add(name)
        if aliases <= found:
            return found
        found |= aliases


def root_of(node):
    """The name that attributes are read of: a of a.b.c; None where something is called."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def changes_of_others(path):
    """(line, what) of every attribute of a module or a class of others that is set or deleted."""
    theirs = imported_names(path)
    for node in nodes_of(path):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                changed = node.value
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[changed, *_]):
                pass
            case ast.Call(
                func=ast.Attribute(attr="__setattr__" | "__delattr__"), args=[changed, *_]
            ):
                pass
            case (
                ast.Subscript(
                    value=ast.Attribute(value=changed, attr="__dict__"), ctx=ast.Store() | ast.Del()
                )
                | ast.Subscript(
                    value=ast.Call(func=ast.Name(id="vars"), args=[changed]),
                    ctx=ast.Store() | ast.Del(),
                )
            ):
                pass
            case _:
                continue
        if root_of(changed) in theirs and ast.unparse(node) not in HOOKS:
            yield node.lineno, ast.unparse(node)


def test_nothing_of_somebody_else_is_changed():
    """No attribute of a module or a class that was imported is set, here or through an alias."""
    for path in FILES:
        found = [f"{path}:{line}: {text}" for line, text in changes_of_others(path)]
        assert not found, found[0]


@pytest.mark.parametrize(
    "text",
    [
        "import casadi\ncasadi.SX.__add__ = plus",
        "from casadi import SX\nsetattr(SX, '__add__', plus)",
        "from viser.infra import _infra\nmodule: object = _infra\nmodule.websockets = ours",
        "import viser\ninner = viser.infra._infra\ndel inner.websockets",
        "import viser\nvars(viser)['ViserServer'] = ours",
        "import viser\nviser.__dict__['ViserServer'] = ours",
        "import viser\ntype.__setattr__(viser.ViserServer, 'stop', ours)",
    ],
)
def test_changes_of_others_are_found(tmp_path, text):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert list(changes_of_others(path))


def test_classes_have_different_names():
    homes = defaultdict(list)
    for module, path in MODULES.items():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    shared = {name: where for name, where in homes.items() if len(set(where)) > 1}
    assert not shared


def test_every_exception_is_still_needed():
    assert set(ALLOWED) <= {(here, there) for _, here, there, _, _ in imports_of_others()}


def test_heavy_libraries_stay_in_their_place():
    """What is needed by one stage is imported by that stage: models know no LLVM and no plots."""
    homes = {
        "llvmlite": {"engines"},
        "sympy": {"engines", "geometry", "show"},
        "matplotlib": {"show", "scene"},
        "PIL": {"planning", "scene", "show"},
        "viser": {"scene", "show", "studio"},
        "xarray": {
            "simulation",
            "analysis",
            "continuation",
            "sweeps",
            "identification",
            "show",
            "studio",
        },
        "dask": {"sweeps"},
        "distributed": {"sweeps"},
        "click": {"cli"},
        "rich": {"base", "cli", "scene", "show"},
        "pydantic": {"model"},
        "tomllib": {"model", "simulation", "identification", "sweeps", "duty", "show", "bridges"},
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


#: Files with code of another language that is yet to become a file of its own.
MIXED = {"engines/c_code.py"}


def test_other_languages_are_in_files_of_their_own():
    """C, CSS and JavaScript: no string of many lines that end in braces and semicolons."""
    for path in FILES:
        for node in nodes_of(path):
            match node:
                case ast.Constant(value=str(text)) if text.count("\n") > 4:
                    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
                    code = [line for line in lines if line.endswith(("{", "}", ";"))]
                    place = path.relative_to(SOURCE).as_posix()
                    assert 2 * len(code) < len(lines) or place in MIXED, f"{place}:{node.lineno}"


def test_names_of_test_files_are_unique():
    """Pytest imports test files by their names alone."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names))
