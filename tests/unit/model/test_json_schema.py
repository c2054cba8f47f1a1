"""The JSON Schema takes every model file there is, and refuses what the reader refuses."""

import copy
import re
import tomllib
from pathlib import Path

import pytest

import noslip as ns
from noslip.base.families import isolated
from noslip.model import model_schema
from noslip.model.files import table_from_model

LIBRARY = Path(ns.__file__).parent / "library"
PAGES = sorted((Path(__file__).parents[3] / "docs").glob("*.md"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def faults(schema, value, root, path=""):
    """What JSON Schema says against a value, for the words that the schema uses."""
    if "$ref" in schema:
        yield from faults(root["$defs"][schema["$ref"].rpartition("/")[2]], value, root, path)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(kind, value) for kind in kinds):
        yield f"{path} is no {' or '.join(kinds)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{path} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is none of {schema['enum']}"
    if "anyOf" in schema and not any(
        not list(faults(s, value, root, path)) for s in schema["anyOf"]
    ):
        yield f"{path} is nothing of what it may be"
    for case in schema.get("allOf", ()):
        if not list(faults(case["if"], value, root, path)):
            yield from faults(case["then"], value, root, path)
    if isinstance(value, dict):
        yield from (f"{path} lacks {k}" for k in schema.get("required", ()) if k not in value)
        rest = schema.get("additionalProperties", True)
        for key, item in value.items():
            if key in schema.get("properties", {}):
                yield from faults(schema["properties"][key], item, root, f"{path}.{key}")
            elif rest is False:
                yield f"{path} has no {key}"
            elif isinstance(rest, dict):
                yield from faults(rest, item, root, f"{path}.{key}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path} has {len(value)} entries"
        for k, item in enumerate(value):
            yield from faults(schema.get("items", {}), item, root, f"{path}[{k}]")


def is_a(kind, value):
    if kind in ("number", "integer"):
        numbers = (int, float) if kind == "number" else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


@pytest.fixture(scope="module")
def schema():
    return model_schema()


@pytest.mark.parametrize("name", ns.MODELS)
def test_every_ready_model_fulfills_it(name, schema):
    table = table_from_model(ns.load(name))
    assert not list(faults(schema, table, schema))


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.toml")), ids=lambda p: p.stem)
def test_every_file_of_parts_fulfills_it(path, schema):
    assert not list(faults(schema, tomllib.loads(path.read_text()), schema))


def test_complete_files_of_the_documentation_fulfill_it(schema):
    count = 0
    for page in PAGES:
        for text in re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.M | re.S):
            if "format = 1" in text and page.name != "extending.md":
                assert not list(faults(schema, tomllib.loads(text), schema)), page.name
                count += 1
    assert count > 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("format"), "lacks format"),
        (lambda t: t["parts"]["left"].update(radios=1), "has no radios"),
        (lambda t: t["parts"]["left"].update(radius=True), "is no number or string"),
        (lambda t: t["parts"]["left"].update(type="wheel"), "is none of"),
        (lambda t: t["parts"]["left"].update(position=[0, 0]), "has 2 entries"),
        (lambda t: t["scenario"].update(samples="many"), "is no integer"),
    ],
    ids=["format", "key", "truth", "word", "size", "whole"],
)
def test_what_the_reader_refuses_is_refused(change, said, schema, tmp_path):
    table = tomllib.loads((LIBRARY / "differential_robot.toml").read_text())
    broken = copy.deepcopy(table)
    change(broken)
    assert any(said in text for text in faults(schema, broken, schema))


def test_a_member_of_ones_own_is_known():
    with isolated():
        from dataclasses import dataclass

        @dataclass(frozen=True, kw_only=True)
        class Sail(ns.parts.AbstractPart):
            """A sail."""

            word = "sail"
            name: str
            area: float

            def expand(self, b):
                pass

        words = model_schema()["$defs"]["AbstractPart"]["properties"]["type"]["enum"]
        assert "sail" in words
