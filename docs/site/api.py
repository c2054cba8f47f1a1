"""Pages of the API: every public name in the order data flows, with its docstring and an example.

Names and groups are those of ``src/noslip/__init__.pyi``; families have a page each, of the names
of their module. An example is the first statement of the
documentation, the examples or the tests that uses the name, so that it is known to run.
"""

import ast
import functools
import importlib
import inspect
import re
from pathlib import Path

import noslip as ns
from noslip.base.public import homes, public_places

ROOT = Path(__file__).parents[2]
STUB = ROOT / "src/noslip/__init__.pyi"
#: Modules of families.
FAMILIES = [name for name, home in homes("noslip").items() if home == "noslip"]
#: Public name → module that hands it out.
PUBLIC = {name: place for name, place in public_places().items() if name not in FAMILIES}
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Group of the stub → title of its page, and what it is about.
TITLES = {
    "errors": ("Errors", "What is raised for what a user can correct: what, where, fix."),
    "describe": ("Describe", "Bodies, joints, wheels, forces and whole models."),
    "trace": ("Trace", "How a mechanism can move: rows and a basis of the admissible speeds."),
    "formulate": ("Formulate", "Equations of motion by a named method, and their verification."),
    "compile": ("Compile", "Native functions of time, state, inputs and parameters."),
    "simulate": ("Simulate", "Runs, batches, events and what they leave."),
    "analyze": ("Analyze", "Instants, steady motions, stability, reactions, sensitivities."),
    "control": ("Control", "Paths, timing, controllers, plants."),
    "to other programs": ("Exchange", "Robots and runs from and for other programs."),
    "sweep": ("Sweep", "Parameter studies that survive."),
    "identify": ("Identify", "Parameters from measured motions, with their intervals."),
    "show": ("Show", "Equations for people, figures, animations, reports."),
}
#: Title of the group of modules in the stub, where their pages stand.
MODULES = "families, each in a module of its own"
LONGEST = 12
#: A mission, driven; and motors and gears for it.
DRIVEN = (
    'mission = ns.missions.read_mission("fetch.mission.toml")\n'
    "duty = ns.missions.drive_mission(mission)  # a DutyCycle\n"
    "print([(leg.name, leg.duration) for leg in duty.legs])  # a LegDuty each"
)
SIZED = (
    f"{DRIVEN}\n"
    'drives = ns.missions.size_drives(duty, ns.missions.read_catalog("drives.toml"))\n'
    "for name, choice in drives.items():  # a DriveChoice at each input\n"
    "    print(name, choice.text())"
)
#: Examples of names that no page uses; tests/test_site.py runs them.
WRITTEN = {
    "SpecialPoint": (
        'bicycle = ns.compile(ns.derive(ns.load("whipple-bicycle")))\n'
        'for point in ns.branch(bicycle, {"speed": (4.0, 7.0)}, crossing=False).special:\n'
        "    print(point.kind, point.value)  # a SpecialPoint each"
    ),
    "Catalog": (
        'motor = ns.missions.Gearmotor(name="M80", peak_torque=0.8, rated_torque=0.27)\n'
        'gear = ns.missions.Gearmotor(name="P20", ratio=20, efficiency=0.9)\n'
        "catalog = ns.missions.Catalog(motors=(motor,), gears=(gear,))"
    ),
    "read_catalog": 'catalog = ns.missions.read_catalog("drives.toml")',
    "read_mission": 'mission = ns.missions.read_mission("fetch.mission.toml")',
    "Zone": "zone = ns.missions.Zone(corners=((0, 0), (2, 0), (2, 1), (0, 1)), speed=0.3)",
    "Battery": "battery = ns.missions.Battery(energy=3.6e6, standby=30, recuperation=0.5)",
    "PlanLeg": 'leg = ns.missions.PlanLeg(goal={"base.x": 1.0, "base.y": 0.0, "base.angle": 0.0})',
    "size_drives": SIZED,
    "DriveChoice": SIZED,
    "DutyCycle": DRIVEN,
    "LegDuty": DRIVEN,
    "plot_duty": f'{DRIVEN}\nns.missions.plot_duty(duty).savefig("motors.png")',
    "OperationCount": (
        'found = ns.cost(ns.load("agv"), timed=False)\n'
        "for count in found.counts:  # an OperationCount of each formulation\n"
        "    print(count.method, count.steps or count.refusal)"
    ),
    "Turned": "bowl = ns.shapes.Turned(radii=(0.0, 0.3, 0.5), heights=(0.0, 0.05, 0.2))",
    "Definition": 'lean = ns.Definition(name="lean", expression="disk.tilt - pi/2", unit="rad")',
    "PlanError": (
        'arm = ns.compile(ns.derive(ns.load("manipulator-2r")))\n'
        "try:\n"
        '    ns.plan(arm, goal={"joint1.angle": 0.2}, limits={"tau1": 0.0, "tau2": 1.0})\n'
        "except ns.PlanError as error:\n"
        "    print(error)"
    ),
    "Growth": (
        'growth = ns.distribution(ns.load("tricycle")).growth  # a Growth\n'
        "print(growth.vector, growth.degree, growth.gap)"
    ),
    "OccupancyGrid": (
        "cells = [[False, True], [False, False]]  # rows along y\n"
        "grid = ns.obstacles.OccupancyGrid(cells=cells, resolution=0.5)\n"
        "print(grid.pieces())"
    ),
    "BracketLoop": (
        'loop = ns.distribution(ns.load("tricycle")).loop(size=0.5)  # a BracketLoop\n'
        "print(loop.legs, loop.displacement, loop.deviation)"
    ),
    "Statement": (
        'found = ns.controllability(ns.load("chaplygin-sleigh")).accessible  # a Statement\n'
        "print(found.answer, found.theorem, found.reason)"
    ),
    "Symmetry": (
        'for symmetry in ns.structure(ns.load("rolling-disk")).symmetries:\n'
        "    print(symmetry.text())"
    ),
    "InvariantMeasure": (
        'measure = ns.structure(ns.load("rolling-disk")).measure  # an InvariantMeasure\n'
        "print(measure.answer, measure.density)"
    ),
    "FieldFormulas": (
        'found = ns.distribution(ns.load("tricycle")).formulas()  # FieldFormulas\n'
        "print(found.fields, found.determinant)"
    ),
    "RelativeEquilibrium": (
        'measure = ns.structure(ns.load("chaplygin-sleigh")).measure\n'
        "print(measure.obstruction.speeds, measure.obstruction.trace)  # a RelativeEquilibrium"
    ),
    "SpeedInput": (
        "from dataclasses import replace\n\n"
        'model = ns.load("tricycle")\n'
        'steered = ns.SpeedInput(name="rate", speed="steer.rate", description="of steering")\n'
        "model = replace(model, speed_inputs=(*model.speed_inputs, steered))"
    ),
    "FirstIntegral": (
        'for integral in ns.structure(ns.load("vertical-disk")).first_integrals:\n'
        "    print(integral.text(), integral.residual)  # a FirstIntegral"
    ),
    "MomentumEquation": (
        'for equation in ns.structure(ns.load("chaplygin-sleigh")).momenta:\n'
        "    print(equation.text(), equation.residual)  # a MomentumEquation"
    ),
    "ChaplyginReduction": (
        'found = ns.structure(ns.load("carriage")).chaplygin  # a ChaplyginReduction\n'
        "print(found.group, found.shape, found.curvature)"
    ),
    "Multiplier": (
        'multiplier = ns.structure(ns.load("carriage")).chaplygin.multiplier  # Multiplier\n'
        "print(multiplier.answer, multiplier.formula)"
    ),
    "VelocityForm": (
        'form = ns.structure(ns.load("chaplygin-sleigh")).voronets  # a VelocityForm\n'
        "print(form.base, form.formulas())"
    ),
    "FlatMap": (
        'flat = ns.structure(ns.load("tricycle")).flat.map  # FlatMap\n'
        "flat.values(flat.configuration([0.0, 0.0, 0.5, 0.2]))"
    ),
    "FlatState": (
        'flat = ns.structure(ns.load("tricycle")).flat.map\n'
        "found = flat.motion([[0, 0], [0.8, 0], [0, 0.2], [0, 0]])  # FlatState\n"
        "found.q, found.inputs"
    ),
    "FlatOutputs": (
        'flat = ns.structure(ns.load("tricycle")).flat  # FlatOutputs\n'
        "print(flat.answer, flat.points, flat.reason)"
    ),
    "OccupancyGrid": (
        "shelves = np.zeros((20, 30), dtype=bool)\n"
        "shelves[8:12, 5:25] = True\n"
        "racks = ns.obstacles.OccupancyGrid(cells=shelves, resolution=0.1, origin=(1.0, 0.0))"
    ),
    "NamedMode": 'weave = ns.NamedMode(name="weave", oscillates=True)',
    "Planetary": (
        'gear = ns.rows.Planetary(\n    name="gear", sun="sun.angle", ring="ring.angle", '
        'carrier="carrier.angle",\n    sun_radius=0.02, ring_radius=0.06,\n)'
    ),
    "Trailer": (
        'trailer = ns.parts.Trailer(\n    name="trailer", parent="base", hitch=(-0.5, 0, 0), length=1.2, '
        "mass=80.0,\n    size=(1.0, 0.6, 0.3), position=(0, 0, 0.3), wheel_separation=0.6,\n"
        "    wheel_radius=0.1, wheel_mass=2.0,\n)"
    ),
    "Parametric": 'loop = ns.paths.Parametric(x="cos(p)", y="sin(2*p)/2", start=0.0, end=6.0)',
    "MethodObject": 'first = next(iter(ns.matrices(ns.derive(ns.load("agv"))).objects))',
    "ReferenceSamples": (
        'arm = ns.compile(ns.derive(ns.load("manipulator-2r")))\n'
        'angles = {"joint1.angle": "sin(t)", "joint2.angle": "t"}\n'
        "motion = ns.motions.ExpressionMotion(coordinates=angles)\n"
        "samples = ns.reference_motion(arm, motion).samples(np.linspace(0.0, 1.0, 5))"
    ),
    "Facets": (
        "wedge = ns.shapes.Facets(\n    points=(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1),\n"
        "    faces=(0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3),\n)"
    ),
    "OrderLeg": 'leg = ns.results.OrderLeg(path=ns.paths.Circle(radius=2.0), nodes=("A", "B"), maximum_speed=0.5)',
    "load_plugin": 'module = ns.load_plugin("my_parts.py")',
}

#: Before a name that becomes a link.
MARK = "\x00"


def public(name):
    """What a public name stands for."""
    return getattr(importlib.import_module(PUBLIC[name]), name)


def called(name):
    """A public name as it is written: ``ns.joints.Revolute``."""
    return f"{PUBLIC[name].replace('noslip', 'ns', 1)}.{name}"


def groups():
    """Title, introduction and names of each group, in the order of the stub."""
    found, names = [], []
    lines = STUB.read_text().splitlines()
    for line in lines:
        head = re.fullmatch(r"# (?:\d )?(.+)", line)
        named = re.fullmatch(r"(?:    |from [\w.]+ import )(\w+) as \1,?", line)
        if head and head[1] == MODULES:
            for family in FAMILIES:
                said = f"`ns.{family}`: {getattr(ns, family).__doc__}"
                found.append((family.capitalize(), said, list(homes(f"noslip.{family}"))))
            names = []
        elif head:
            names = []
            title, said = TITLES.get(head[1], (head[1].capitalize(), ""))
            found.append((title, said, names))
        elif named:
            names.append(named[1])
    return found


@functools.cache
def texts():
    """(where, link, text) of all code that is known to run, the best to read first."""
    texts = []
    pages = [*sorted((ROOT / "docs/learn").glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for text in FENCE.findall(page.read_text()):
            link = f"../../{page.relative_to(ROOT / 'docs')}"
            texts.append((page.stem.replace("-", " "), link, text))
    for folder in (
        "examples",
        "tests",
        "src/noslip/library",
        "src/noslip/sweeps",
        "src/noslip/control",
    ):
        for path in sorted((ROOT / folder).rglob("*.py")):
            texts.append((str(path.relative_to(ROOT)), "", path.read_text()))
    return texts


@functools.cache
def uses():
    """Public name → where ``ns.NAME`` is used first, the link to that, and the statement."""
    return _uses(
        set(PUBLIC),
        re.compile(r"\b(?:ns|noslip)\.(?:[a-z]+\.)?(\w+)"),
        lambda node: (
            node.attr
            if isinstance(node, ast.Attribute)
            and node.attr in PUBLIC
            and ast.unparse(node) in (called(node.attr), f"{PUBLIC[node.attr]}.{node.attr}")
            else None
        ),
    )


@functools.cache
def uses_by_name():
    """The same of other names, imported by themselves."""
    others = set(PUBLIC) - uses().keys()
    named = re.compile(rf"\b({'|'.join(sorted(others))})\b")
    return _uses(others, named, lambda node: node.id if isinstance(node, ast.Name) else None)


def _uses(names, pattern, name_of):
    """The first use of each name; texts that have no name which is still sought are not parsed."""
    found = {}
    for where, link, text in texts():
        if not (set(pattern.findall(text)) & names) - found.keys():
            continue
        lines = text.splitlines()
        for statement in ast.walk(ast.parse(text)):
            if not isinstance(
                statement, ast.Assign | ast.Expr | ast.Return | ast.With | ast.ClassDef
            ):
                continue
            length = statement.end_lineno - statement.lineno + 1
            is_class = isinstance(statement, ast.ClassDef)
            if length > LONGEST and not is_class:
                continue
            places = statement.bases if is_class else [statement]
            for node in (inner for place in places for inner in ast.walk(place)):
                name = name_of(node)
                if name in names and name not in found:
                    end = min(statement.end_lineno, statement.lineno - 1 + LONGEST)
                    code = lines[statement.lineno - 1 : end]
                    code += ["    ..."] if end < statement.end_lineno else []
                    indent = len(code[0]) - len(code[0].lstrip())
                    found[name] = (where, link, "\n".join(x[indent:] for x in code))
    return found


def entry(name):
    """The section of one name."""
    thing = public(name)
    lines = [f"({anchor(name)})=", f"## {name}", ""]
    signature = _signature(name, thing)
    if signature:
        lines += ["```python", signature, "```", ""]
    lines += [markdown(inspect.getdoc(thing) or "") if _has_own_doc(thing) else "", ""]
    if inspect.isclass(thing):
        lines += _members(thing)
    found = example(name)
    if found is not None:
        where, link, code, language = found
        said = f"[{where}]({link})" if link else f"`{where}`"
        is_for_readers = where and not where.startswith("tests")
        head = f"**Example**, from {said}:" if is_for_readers else "**Example**:"
        lines += [head, "", f"```{language}", code, "```", ""]
    return "\n".join(lines)


def example(name):
    """Where, link, code and language of an example of a name; of a near one if it has none."""
    if name in WRITTEN:
        return ("", "", WRITTEN[name], "python")
    own = (*uses()[name], "python") if name in uses() else None
    thing = public(name)
    if own and not own[0].startswith("tests"):
        return own
    # a member of a family stands in model files under its word
    table = tables().get(getattr(thing, "word", None)) if inspect.isclass(thing) else None
    if table is not None:
        return (*table, "toml")
    # a result is what a function returns, an abstract class what its members are
    near_ones = []
    for other in PUBLIC if inspect.isclass(thing) else ():
        near = public(other)
        returned = str(getattr(near, "__annotations__", {}).get("return", ""))
        is_member = inspect.isclass(near) and near is not thing and thing in near.__mro__
        if other in uses() and (is_member or re.search(rf"\b{name}\b", returned)):
            near_ones.append((*uses()[other], "python"))
    near_ones.sort(key=lambda found: found[0].startswith("tests"))
    if own or near_ones:
        return [*near_ones, own][0] if not own or near_ones else own
    return (*uses_by_name()[name], "python") if name in uses_by_name() else None


@functools.cache
def tables():
    """Word of a member → the first line of a model file that has it as its type."""
    found = {}
    texts_ = [
        (page.stem.replace("-", " "), f"../../{page.name}", text)
        for page in sorted((ROOT / "docs").glob("*.md"))
        for text in re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    ]
    for path in sorted((ROOT / "src/noslip/library").glob("*.toml")):
        texts_.append((f"the model {path.stem.replace('_', '-')}", "", path.read_text()))
    for where, link, text in texts_:
        for line in text.splitlines():
            word = re.search(r'type = "(\w+)"', line)
            if word and word[1] not in found:
                found[word[1]] = (where, link, line)
    return found


def anchor(name):
    # ids of headings do not tell Load from load
    return f"api-{'class-' if name[0].isupper() else ''}{name.lower()}"


def _has_own_doc(thing):
    return inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)


def _signature(name, thing):
    if not _has_own_doc(thing):
        return f"{called(name)}: {type(thing).__name__}"
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return called(name) if inspect.ismodule(thing) else ""
    parts, is_keyword = [], False
    for parameter in signature.parameters.values():
        if parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            parts.append("*")
            is_keyword = True
        text = parameter.name
        text = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(
            parameter.kind, ""
        ) + text
        if parameter.default is not parameter.empty:
            shown = repr(parameter.default)
            is_short = len(shown) <= 24 and "<" not in shown
            text += f"={shown if is_short else '...'}"
        parts.append(text)
    whole = f"{called(name)}({', '.join(parts)})"
    if len(whole) <= 100:
        return whole
    return f"{called(name)}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _members(cls):
    """Public methods and properties of a class that have a line of their own."""
    rows = []
    for name, member in inspect.getmembers(cls):
        own = next((c for c in cls.__mro__ if name in vars(c)), object)
        if name.startswith("_") or not own.__module__.startswith("noslip"):
            continue
        if inspect.isroutine(member) or isinstance(member, property) or _is_cached(member):
            said = (inspect.getdoc(member) or "").split("\n")[0]
            call = "()" if inspect.isroutine(member) and not _is_cached(member) else ""
            rows.append(f"| `{name}{call}` | {_linked(_escaped(_marked(said)))} |")
    if not rows:
        return []
    return ["| member | meaning |", "|---|---|", *rows, ""]


def _is_cached(member):
    return isinstance(member, functools.cached_property)


def markdown(doc):
    """A docstring as Markdown: sections as bold words, their entries as lists."""
    blocks, lines = [], _marked(doc).splitlines()
    k, in_list = 0, False
    code = []
    while k < len(lines):
        line = lines[k]
        if k + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[k + 1]) and line.strip():
            blocks += ["", f"**{line.strip()}**", ""]
            in_list, k = True, k + 2
            continue
        entry_ = re.match(r"([\w*][\w*, .]*) : (.*)", line) if in_list else None
        if entry_:
            names = ", ".join(f"`{n}`" for n in entry_[1].split(", "))
            blocks.append(f"- {names}: {_escaped(entry_[2])}")
        elif in_list and line.startswith("    ") and line.strip():
            blocks.append(f"  {_escaped(line.strip())}")
        elif not in_list and line.startswith("    ") and line.strip():
            code.append(line[4:])
            if k + 1 == len(lines) or not lines[k + 1].startswith("    "):
                blocks += ["", "```", *code, "```", ""]
                code = []
        else:
            blocks.append(_escaped(line))
        k += 1
    return _linked("\n".join(blocks))


def _marked(text):
    """Text whose references are code; a mark is before those to public names."""

    def code(reference):
        name = reference[1].rpartition(".")[2]
        return f"`{MARK}{name}`" if name in PUBLIC else f"`{reference[1]}`"

    return re.sub(r":(?:func|class|data|meth|mod|attr):`~?\.?([^`]+)`", code, text).replace(
        "``", "`"
    )


def _linked(text):
    """Text in which what is marked leads to its section."""
    return re.sub(f"`{MARK}(\\w+)`", lambda m: f"[`{m[1]}`](#{anchor(m[1])})", text)


def _escaped(text):
    """Text in which < | and [ mean themselves outside of code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<\[\]|*_])", r"\\\1", p) for p in pieces)


def write(folder):
    """All pages into a folder, and `names.txt` with links to all; names without an example."""
    folder.mkdir(parents=True, exist_ok=True)
    listed, without = [], []
    rows = ["| | names |", "|---|---|"]
    for number, (title, said, names) in enumerate(groups(), 1):
        stem = f"{number:02d}-{title.lower()}"
        listed.append(stem)
        index = ", ".join(f"[{name}](#{anchor(name)})" for name in names)
        body = [f"# {title}", "", said, "", index, "", *(entry(name) for name in names)]
        (folder / f"{stem}.md").write_text("\n".join(body), "utf-8")
        without += [name for name in names if example(name) is None]
        rows.append(f"| [{title}](generated/api/{stem}.md) | {index} |")
    (folder / "names.txt").write_text("\n".join(rows) + "\n", "utf-8")
    return listed, without
