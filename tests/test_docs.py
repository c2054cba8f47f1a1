"""The documentation is true: its code runs, its names, files, tests, links and citations exist."""

import ast
import dataclasses
import functools
import gc
import importlib
import inspect
import itertools
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base import members_of
from noslip.base.families import isolated, load_plugin
from noslip.base.public import public_places
from noslip.cli import main
from noslip.joints import AbstractCompositeJoint, AbstractJointType

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "noslip"
TUTORIALS = sorted((ROOT / "docs" / "learn").glob("*.md"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *TUTORIALS,
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

#: Arguments of public functions that their docstrings do not name yet.
UNDOCUMENTED: set[tuple[str, str]] = set()


def name_of(path):
    return str(path.relative_to(ROOT))


def blocks(path, language):
    """(line, text) of every fenced block in a language."""
    text = path.read_text()
    return [
        (text.count("\n", 0, match.start()) + 2, match[2])
        for match in FENCE.finditer(text)
        if match[1] == language
    ]


def prose(path):
    """The text of a page without its fenced blocks."""
    return FENCE.sub("", path.read_text())


@functools.cache
def source_trees():
    gc.disable()  # it would take three quarters of the time
    trees = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    gc.enable()
    return trees


# code


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def provide_models(path, folder):
    """Save the complete model of a page under the file names that its code loads."""
    models = [text for _, text in blocks(path, "toml") if is_complete(text)]
    code = "\n".join(text for word in ("python", "sh") for _, text in blocks(path, word))
    for name in re.findall(r"""(?:load\(["']|^noslip \w+ )([\w-]+\.toml)\b""", code, re.MULTILINE):
        if models:
            (folder / name).write_text(models[0])
    for file in (ROOT / "examples").iterdir():
        if file.suffix != ".py" and file.name in code:
            (folder / file.name).write_bytes(file.read_bytes())
            beside = file.with_suffix(".columns.toml")
            if beside.is_file():
                (folder / beside.name).write_bytes(beside.read_bytes())
    provide_modules(path, folder)


def provide_modules(path, folder):
    """Save the blocks of a page that begin with the name of a file as that file."""
    modules = {}
    for _, text in blocks(path, "python"):
        named = re.match(r"# (\w+\.py)\n", text)
        if named:
            modules[named[1]] = modules.get(named[1], "") + text + "\n\n"
    for name, text in modules.items():
        (folder / name).write_text(text)


@pytest.fixture(autouse=True)
def own_families():
    """What a page defines is not known to the next one."""
    with isolated():
        yield


def is_complete(text):
    return re.search(r"^format = 1$", text, re.MULTILINE) is not None


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_blocks_run(path, folder, derive_once):
    """All blocks of a page in one namespace, from top to bottom, in an empty folder."""
    provide_models(path, folder)
    namespace = {"__name__": path.stem}
    code = blocks(path, "python")
    if any("simulate_fmu" in text for _, text in code) and not shutil.which("gcc"):
        pytest.skip("an FMU is simulated, and there is no gcc on the path")
    for line, text in code:
        # lines of a traceback are those of the page
        exec(compile("\n" * (line - 1) + text, str(path), "exec"), namespace)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_run(path, folder, derive_once, pytestconfig):
    """Figures and reports are left out, but for those of two pages; `make test-all` has all."""
    provide_models(path, folder)
    is_whole = path.name in ("README.md", "report.md") or pytestconfig.getoption("--long")
    for line, text in blocks(path, "sh"):
        for offset, command in enumerate(text.replace("\\\n", "").splitlines()):
            if not command.startswith("noslip "):
                continue
            words = shlex.split(command, comments=True)[1:]
            if words[0] in ("run", "track") and not is_whole and "--no-plots" not in words:
                words.append("--no-plots")
            result = CliRunner().invoke(main, words, catch_exceptions=False)
            assert result.exit_code == 0, f"line {line + offset}: {command}\n{result.output}"


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p, "c")], ids=name_of)
def test_c_programs_compile_and_run(path, folder, derive_once):
    """Each program of a page, with the code that the page exports."""
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc on the path")
    for _, text in blocks(path, "sh"):
        for command in text.splitlines():
            if command.startswith("noslip export "):
                assert CliRunner().invoke(main, shlex.split(command)[1:]).exit_code == 0
    for _, text in blocks(path, "c"):
        Path("main.c").write_text(text)
        parts = [f"{name}.c" for name in re.findall(r'#include "(\w+)\.h"', text)]
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run(["gcc", *flags, "main.c", *parts, "-o", "program", "-lm"], check=True)
        subprocess.run(["./program"], check=True)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_model_files_load(path, folder):
    for line, text in blocks(path, "toml"):
        if is_complete(text):
            (folder / "model.toml").write_text(text)
            provide_modules(path, folder)
            for module in sorted(folder.glob("*.py")):
                load_plugin(module)
            model = ns.load("model.toml")
            assert ns.check(model).degrees_of_freedom >= 0, f"line {line}"


def test_every_block_says_its_language_or_is_output():
    known = {"", "python", "sh", "toml", "c"}
    for path in PAGES:
        assert {match[1] for match in FENCE.finditer(path.read_text())} <= known, path.name
        assert path.read_text().count("```") % 2 == 0, path.name


def test_the_commands_of_the_readme_are_in_the_makefile():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make (\w+)`", (ROOT / "README.md").read_text()))
    assert {"run", "test"} <= named <= targets


# names


def table_after(path, heading):
    """Rows of the first table below a heading, as lists of cells."""
    text = path.read_text().split(f"\n{heading}\n")[1]
    lines = [line for line in text.split("\n#")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    first = next(k for k, row in enumerate(rows) if set(row[0]) == {"-"})
    end = next((k for k in range(first + 1, len(lines)) if set(rows[k][0]) == {"-"}), len(rows) + 1)
    return rows[first + 1 : end - 1] if end <= len(rows) else rows[first + 1 :]


def spans(cell):
    return re.findall(r"`([^`]+)`", cell)


def members(thing):
    """Attributes of a public class, data class fields among them, or arguments of a function."""
    if inspect.isclass(thing):
        names = {name for name in dir(thing) if not name.startswith("_")}
        if dataclasses.is_dataclass(thing):
            names |= {field.name for field in dataclasses.fields(thing)}
        return names
    return set(inspect.signature(thing).parameters) if inspect.isfunction(thing) else set()


def public(name):
    """What a public name stands for."""
    return getattr(importlib.import_module(public_places()[name]), name)


@functools.cache
def public_words():
    words = set(public_places())
    for name in public_places():
        words |= members(public(name))
    return frozenset(words)


def resolves(text):
    """Whether ``Class.attribute`` or ``function(argument)`` exists in the public API."""
    called = re.fullmatch(r"(\w+)\((\w+)\)", text)
    owner, _, word = (called[1], "", called[2]) if called else text.partition(".")
    return owner in public_places() and word in members(public(owner))


NOTATION = ROOT / "docs" / "notation.md"


def test_the_symbol_table_has_all_its_columns():
    rows = table_after(NOTATION, "## Symbols")
    assert len(rows) > 20
    assert all(len(row) == 6 for row in rows)


@pytest.mark.parametrize("row", table_after(NOTATION, "## Symbols"), ids=lambda row: row[0])
def test_a_symbol_has_a_public_word_and_a_place(row):
    _, letters, word, size, meaning, where = row
    assert word and size and meaning
    for text in spans(word):
        assert text in public_words(), f"'{text}' is not in the public API"
    assert spans(where)
    for text in spans(where):
        assert resolves(text), f"there is no {text}"
    for letter in spans(letters):
        assert letter in letters_in_bodies(), f"no function uses '{letter}'"


@functools.cache
def letters_in_bodies():
    """Every name that the source gives to a value."""
    names = set()
    for tree in source_trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
    return frozenset(names)


def test_every_joint_is_listed_with_its_coordinates_and_speeds():
    listed = {spans(row[0])[0]: row[1:] for row in table_after(NOTATION, joint_heading())}
    own = [t for t in members_of(AbstractJointType) if t.__module__ == AbstractJointType.__module__]
    own = [t for t in own if not issubclass(t, AbstractCompositeJoint)]  # have those of their parts
    assert set(listed) == {joint.__name__ for joint in own}
    for joint in own:
        coordinates, speeds = listed[joint.__name__]
        assert spans(coordinates) == [q.name for q in joint.coordinates]
        assert spans(speeds) == [v.name for v in joint.speeds]


def joint_heading():
    return "## Names of coordinates and speeds"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_public_names_in_code_spans_exist(path):
    """``Trajectory.q`` and the like, wherever they are written."""
    for text in spans(prose(path)):
        owner, dot, word = text.partition(".")
        if dot and owner in public_places() and owner[0].isupper() and re.fullmatch(r"\w+", word):
            assert resolves(text) or owner == "Ending", f"there is no {text}"


def test_every_ending_is_listed():
    rows = table_after(ROOT / "docs" / "pipeline.md", "### Endings")
    assert [spans(row[0])[0] for row in rows] == [ending.name for ending in ns.Ending]


def test_every_line_of_a_certificate_is_listed():
    rows = table_after(
        ROOT / "docs" / "formulations.md", "## `verify`: five derivations, one answer"
    )
    certificate = ns.verify(ns.load("tricycle"), states=1)
    assert [row[0] for row in rows] == [finding.check for finding in certificate.findings]


# files, links, tests


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_files_that_are_named_exist(path):
    for text in spans(prose(path)):
        if re.fullmatch(r"[\w/]+/[\w.]+\.py(::\w+)?", text):
            file, _, test = text.partition("::")
            place = ROOT / file if (ROOT / file).exists() else SOURCE / file
            assert place.exists(), f"there is no file {file}"
            assert not test or f"def {test}(" in place.read_text(), f"there is no test {test}"
        elif re.fullmatch(r"(\w+/)+", text) and not text.startswith("runs/"):
            assert (ROOT / text).is_dir() or (SOURCE / text).is_dir(), f"there is no folder {text}"


def anchors(path):
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), f"{target}: there is no such file"
        assert place.is_relative_to(ROOT), f"{target} leads out of the repository"
        if anchor:
            assert anchor in anchors(place), f"{target}: there is no such heading"


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "README.md" or f"({path.name})" in index


def test_every_law_and_every_oracle_is_listed():
    text = (ROOT / "docs/checks.md").read_text()
    files = [*ROOT.glob("tests/laws/test_*.py"), *ROOT.glob("tests/oracles/test_*.py")]
    missing = [path.name for path in files if f"`{path.relative_to(ROOT)}`" not in text]
    assert files and not missing


def test_pictures_are_small():
    for path in (ROOT / "docs" / "images").glob("*.png"):
        assert path.stat().st_size < 200_000, path.name


# citations


CITATION = re.compile(r"\[([A-Z][A-Za-z]+\d{4}[a-z]?)\b[^\]]*\]")


@functools.cache
def bibliography():
    text = (ROOT / "docs" / "references.bib").read_text()
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys))
    return frozenset(keys)


def cited():
    """(place, key) of every citation in source, tests, examples and documentation."""
    files = [
        *SOURCE.rglob("*.py"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "examples").rglob("*"),
    ]
    for path in [*files, *PAGES]:
        if path.is_file() and path != Path(__file__) and path.suffix in (".py", ".md", ".toml"):
            for key in CITATION.findall(path.read_text()):
                yield name_of(path), key


def test_every_citation_is_in_the_bibliography():
    found = list(cited())
    assert len(found) > 20
    unknown = {(place, key) for place, key in found if key not in bibliography()}
    assert not unknown


def test_every_model_and_formulation_has_a_known_reference():
    for name in ns.MODELS:
        references = ns.load(name).references
        assert references and set(references) <= bibliography(), name
    for name in public_places():
        reference = getattr(public(name), "reference", None)
        if isinstance(reference, str):
            assert reference in bibliography(), name


def test_the_bibliography_can_be_read():
    """Braces match, and every entry has an author, a title and a year."""
    text = (ROOT / "docs" / "references.bib").read_text()
    entries = re.split(r"^@", text, flags=re.MULTILINE)[1:]
    for entry in entries:
        assert entry.count("{") == entry.count("}"), entry.splitlines()[0]
        for field in ("author", "title", "year"):
            assert re.search(rf"^  {field} +=", entry, re.MULTILINE), entry.splitlines()[0]


# messages


@functools.cache
def messages():
    """Every text of the source with … for what is put into it."""
    texts = set()
    for tree in source_trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "…" for v in node.values]
                texts.add("".join(parts))
    return texts


def quoted_messages():
    page = (ROOT / "docs" / "troubleshooting.md").read_text().split("\n## Questions\n")[0]
    return re.findall(r"^### (.+)$", page, re.MULTILINE)


@pytest.mark.parametrize("heading", quoted_messages())
def test_troubleshooting_quotes_messages_that_exist(heading):
    fragments = [part.strip(" …") for part in heading.split("…")]
    fragments = [part for part in fragments if re.search(r"\w", part)]
    for message in messages():
        at = 0
        for part in fragments:
            at = message.find(part, at)
            if at < 0:
                break
        else:
            return
    pytest.fail(f"no message of the source reads like '{heading}'")


# docstrings


def public_functions():
    return [name for name in public_places() if inspect.isfunction(public(name))]


@pytest.mark.parametrize("name", sorted(public_functions()))
def test_every_argument_is_documented(name):
    function = public(name)
    for argument in inspect.signature(function).parameters:
        named = re.search(rf"\b{argument}\b", function.__doc__) is not None
        if (name, argument) in UNDOCUMENTED:
            assert not named, f"{name}({argument}) is documented now: take it off the list"
        else:
            assert named, f"the docstring of {name} does not say what {argument} is"


def test_documented_arguments_exist():
    """A name in a *Parameters* section is an argument or a field, so that renaming shows."""
    for name in public_places():
        thing = public(name)
        doc = inspect.getdoc(thing) or ""
        section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n|\Z)", doc, re.DOTALL)
        if not section or not (inspect.isfunction(thing) or inspect.isclass(thing)):
            continue
        for line in section[1].splitlines():
            if re.match(r"\w[\w, ]* : ", line):
                for word in line.split(" : ")[0].split(", "):
                    assert word in members(thing), f"{name} has no {word}"


#: Words that begin a clause or a remark about a parameter instead of naming it.
CLAUSES = set(
    "of that which what who whose where when while how why as by in at from to for with without on "
    "its their it they such called is are was may must can not".split()
)


def test_entries_of_parameters_begin_with_a_noun():
    """``max_bytes : largest file accepted, in bytes``, or a statement after "whether".

    Those of functions are in their docstrings, those of fields in ``#:`` comments at the fields.
    """
    total, clauses = 0, []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        for before, line in itertools.pairwise(text.splitlines()):
            entry = re.match(r"(?:    (?P<field>\w+: .*  )| +)#: (?:\w+(?:, \w+)+: )?(\w*)", line)
            if entry and (entry["field"] or not before.lstrip().startswith("#:")):
                total += 1
                if entry[2] in CLAUSES:
                    clauses.append(f"{path.relative_to(SOURCE)}: {line}")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            _, _, section = (ast.get_docstring(node) or "").partition("Parameters\n----------\n")
            for line in section.partition("\n\n")[0].splitlines():
                if entry := re.match(r"(\w[\w, *]*) : (\w+)", line):
                    total += 1
                    if entry[2] in CLAUSES:
                        clauses.append(f"{path.relative_to(SOURCE)}: {node.name}: {line}")
    assert total > 2500
    assert not clauses, "\n".join(clauses)


# the walk of torque1, and the changelog


#: Stages of the page's walk, and the call of `benchmarks/walk.py` in which they are.
STAGES = {"Load": "load", "Derive": "derive", "Compile": "compile", "Run": "run_scenario"}


def walk_of_the_page():
    """Stage → files, as docs/pipeline.md lists them, and how many files and functions it says."""
    page = (ROOT / "docs" / "pipeline.md").read_text()
    _, _, section = page.partition("## One input from a model to its column")
    section, _, _ = section.partition("\n## ")
    stages = re.split(r"^\*\*(.+?)\*\*: .*$", section, flags=re.MULTILINE)[1:]
    said = re.search(r"at most (\d+) files and (\d+) functions", section)
    return {
        stage: re.findall(r"^\d+\. `([\w/.]+)`", text, flags=re.MULTILINE)
        for stage, text in zip(stages[::2], stages[1::2], strict=True)
    }, [int(number) for number in said.groups()]


@pytest.mark.slow
def test_the_walk_of_an_input_is_the_one_that_is_counted():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "walk.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, last = done.stdout.splitlines()
    called, stage = {}, ""
    for line in lines:
        if line.startswith("  "):
            called[line.split()[0]] = stage
        else:
            stage = line.partition(":")[0]
    listed, (most_files, most_functions) = walk_of_the_page()
    assert list(listed) == list(STAGES)
    for stage, files in listed.items():
        assert {file: called.get(file) for file in files} == dict.fromkeys(files, STAGES[stage])
    num_files, num_functions = map(int, re.findall(r"\d+", last))
    assert num_files == len(called) <= most_files
    assert num_functions <= most_functions


def test_a_version_of_the_changelog_is_one_page():
    """Of 60 lines of 140 characters."""
    for version in re.split(r"\n## ", (ROOT / "CHANGELOG.md").read_text())[1:]:
        lines = version.splitlines()
        assert len(lines) <= 60 and max(map(len, lines)) <= 140, lines[0]
