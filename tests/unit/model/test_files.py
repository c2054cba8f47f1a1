"""Model files on disk, as text, and on their page of the documentation."""

import re
from pathlib import Path

import pytest
from cart_model import CART, FLYER, RIM, more, swap
from sled_file import SLED, edited, faults

from noslip import Model, ModelError
from noslip.base import base_of
from noslip.expressions import CONSTANTS, FUNCTIONS
from noslip.forces import Motor
from noslip.joints import AbstractJointType, Free
from noslip.model import load_model, model_to_toml, parse_model
from noslip.model.files import read_model, save_model
from noslip.model.schema import keys_of

PAGE = (Path(__file__).parents[3] / "docs" / "model-files.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]

TOML = [
    ("mass = 1..2", "the text 'mass = 1..2' is not TOML: ", "sled.toml, line 5, column 9"),
    ("mass 1", "the text 'mass 1' is not TOML: expected '=' after a key", "sled.toml, line 5, "),
    (
        "mass = heavy",
        "the text 'mass = heavy' is not TOML: unreadable value",
        "sled.toml, line 5, ",
    ),
    (
        "mass = 1\nmass = 2",
        "the text 'mass = 2' is not TOML: cannot overwrite",
        "sled.toml, line 6",
    ),
    (
        "[bodies.sled]",
        "the text '[bodies.sled]' is not TOML: cannot declare bodies.sled twice",
        "s",
    ),
    ('mass = """', "the text", "sled.toml, line 15"),
    ("mass = 1" + "0" * 5000, "the text is not TOML: exceeds the limit", "sled.toml"),
    ("mass = " + "[" * 50, "values are nested deeper than 16 levels", "sled.toml, line 5"),
    ("a." * 50 + "a = 1", "a key has more than 16 parts", "sled.toml, line 5"),
]


@pytest.mark.parametrize("line, what, where", TOML)
def test_a_text_that_is_not_toml(line, what, where):
    (fault,) = faults(edited("mass = 1", line))
    assert fault.what.startswith(what)
    assert "nvalid" not in fault.what
    assert fault.where.startswith(where)
    assert fault.fix.startswith(("write key = value", "no key of a model file is nested"))


def disk_fault(path):
    with pytest.raises(ModelError) as caught:
        load_model(path)
    (fault,) = caught.value.faults
    return fault


@pytest.mark.parametrize("text", ["", "# nothing yet\n\n", " \n"])
def test_a_file_without_anything_is_one_fault(text):
    (fault,) = faults(text)
    assert fault.what == "the file is empty"
    assert fault.where == "sled.toml" and "start with format = 1" in fault.fix


def test_a_name_in_other_letters_belongs_in_quotes():
    (fault,) = faults(SLED.replace("[bodies.sled]", "[bodies.schlitten_ö]"))
    assert fault.where.startswith("sled.toml, line 4")
    assert fault.fix.startswith("name parts with the letters a to z, digits and _")
    (fault,) = faults(SLED.replace('"sled"\n', '"sled', 1) + "# ö")
    assert fault.fix.startswith("write key = value")


def test_a_file_that_is_not_there(tmp_path):
    fault = disk_fault(tmp_path / "x.toml")
    assert fault.what == f"there is no file '{tmp_path / 'x.toml'}'"
    assert fault.where == str(tmp_path / "x.toml")
    assert fault.fix == "check the name and the folder"
    (tmp_path / "xy.toml").write_text(SLED)
    assert disk_fault(tmp_path / "x.toml").fix == "did you mean 'xy.toml'?"


def test_what_is_saved_loads_again(tmp_path):
    save_model(CART, tmp_path / "cart.toml")
    assert load_model(tmp_path / "cart.toml") == CART
    assert read_model(str(tmp_path / "cart.toml")) == (CART, ())
    assert [p.name for p in tmp_path.iterdir()] == ["cart.toml"]


def test_saving_leaves_out_defaults():
    text = model_to_toml(FLYER)
    assert "parent_frame" not in text
    assert 'center_of_mass = [0.0, 0.0, "-l"]' in text
    assert text.count("center_of_mass") == 1
    assert 'angles = {sequence = "zxz", names = ["yaw", "tilt", "spin"]}' in text


def test_saving_asks_before_it_overwrites(tmp_path):
    path = tmp_path / "cart.toml"
    path.write_text("mine")
    with pytest.raises(ModelError) as caught:
        save_model(CART, path)
    assert caught.value.what == f"there is already a file '{path}'"
    assert caught.value.where == str(path)
    assert caught.value.fix == "choose another name, or pass overwrite=True"
    assert path.read_text() == "mine"
    save_model(CART, path, overwrite=True)
    assert load_model(path) == CART


def test_a_model_with_faults_is_not_saved(tmp_path):
    with pytest.raises(ModelError, match="joint 'swing' refers to body 'crat'"):
        save_model(swap(CART, "joints", parent="crat"), tmp_path / "x.toml")
    assert list(tmp_path.iterdir()) == []


def test_the_example_of_the_page_loads_without_a_warning():
    model, warnings = parse_model(EXAMPLE)
    assert warnings == ()
    assert model.name == "two_wheeler"
    assert parse_model(model_to_toml(model))[0] == model


def parts(part, seen):
    """All classes that a model file can describe."""
    if part not in seen:
        seen.add(part)
        for key in keys_of(part):
            for inner in key.parts:
                if inner.__module__.startswith("noslip."):
                    parts(inner, seen)
    return seen


def test_the_page_names_every_key_word_and_function():
    described = parts(Model, set())
    assert Motor in described and Free in described
    for part in described:
        for key in keys_of(part):
            assert f"`{key.name}`" in PAGE, f"{part.__name__}.{key.name}"
    words = [part.word for part in described if base_of(part) is not None]
    assert len(words) > 20
    for word in words:
        assert f'"{word}"' in PAGE
    for name in (*FUNCTIONS, *CONSTANTS):
        assert f"`{name}`" in PAGE


def test_the_page_names_coordinates_and_speeds_of_every_joint_type():
    own = [t for t in parts(Model, set()) if base_of(t) is AbstractJointType]
    assert len(own) == 9
    for joint_type in own:
        (row,) = re.findall(rf'^\| `"{joint_type.word}"` \|.*$', PAGE, re.MULTILINE)
        found = re.findall(r"`NAME\.(\w+)`", row)
        assert found == [q.name for q in (*joint_type.coordinates, *joint_type.speeds)]


def test_library_contacts_round_trip():
    model = more(FLYER, "contacts", RIM)
    assert parse_model(model_to_toml(model))[0] == model
