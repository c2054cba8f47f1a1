"""Keys and types of a model file. A case makes one mistake, which is one fault."""

import pytest
from sled_file import SLED, edited, faults

from noslip.model import parse_model


def test_a_file_gives_its_model():
    model, warnings = parse_model(SLED)
    assert warnings == ()
    assert model.gravity == (0.0, 0.0, -9.81)
    assert model.joints[0].coordinate_names() == ("sled.x", "sled.y", "sled.angle")
    assert model.contacts[0].direction == (1.0, 0.0, 0.0)


def test_tables_keep_their_order():
    extra = "[parameters.z]\nvalue = 1\nunit = '1'\n[parameters.a]\nvalue = 1\nunit = '1'\n"
    model, warnings = parse_model(SLED + extra)
    assert [p.name for p in model.parameters] == ["z", "a"]
    assert [w.where for w in warnings] == [
        "model, line 15, parameters.z",
        "model, line 18, parameters.a",
    ]


def test_names_with_dots_are_quoted_or_dotted_keys():
    plain = "[scenario]\nduration = 1\nstart.sled.x = 1\nstart.sled.vx = '2'\n"
    quoted = "[scenario]\nduration = 1\n[scenario.start]\n'sled.x' = 1\n'sled.vx' = '2'\n"
    assert parse_model(SLED + plain)[0] == parse_model(SLED + quoted)[0]
    (fault,) = faults(SLED + plain.replace("sled.vx", "sled.vxx"))
    assert fault.where == 'sled.toml, line 18, scenario.start."sled.vxx"'


KEYS = [
    (edited("format = 1\n", ""), "file does not give its format", "line 1, the top of the model"),
    (edited("format = 1", "format = 2"), "is 2, this version reads 1", "sled.toml, line 1, format"),
    (edited("format = 1", "format = true"), "this version reads 1", "sled.toml, line 1, format"),
    (edited("mass = 1", "mass = 1\ncolour = 3"), "'colour' is not a key of bodies.sled",
     "sled.toml, line 6, bodies.sled.colour",
     "known: 'mass', 'inertia', 'moment', 'center_of_mass', 'shapes'"),
    (edited("mass = 1", "mass = 1\ncentre_of_mass = [0, 0, 1]"),
     "'centre_of_mass' is not a key of bodies.sled",
     "sled.toml, line 6, bodies.sled.centre_of_mass", "did you mean 'center_of_mass'?"),
    (edited("mass = 1", "mass = 1\nname = 'sled'"), "a key of bodies.sled", "6, bodies.sled.name"),
    (edited('type = "planar"', 'type = "planar"\naxis = [0, 0, 1]'),
     "'axis' is not a key of joints.sled", "sled.toml, line 9, joints.sled.axis",
     "known: 'type', 'parent', 'child', 'parent_frame', 'child_frame', 'motion', 'description'"),
    (edited("[contacts.blade]", "[contact.blade]"), "'contact' is not a key of a model file",
     "sled.toml, line 11, contact", "did you mean 'contacts'?"),
    (edited("mass = 1\n", ""), "body 'sled' has no mass", "sled.toml, line 4, bodies.sled.mass"),
    (edited("gravity = [0, 0, -9.81]\n", ""), "the file has no gravity", "line 1, gravity"),
    (edited('name = "sled"\n', ""), "the file has no name", "line 1, name", 'add name = "…"'),
    (edited('parent = "world"\n', ""), "joint 'sled' has no parent", "line 7, joints.sled.parent"),
    (edited("direction = [1, 0, 0]\n", "").replace("knife_edge", "rolling"),
     "contact 'blade' has no wheel", "sled.toml, line 11, contacts.blade.wheel",
     'add wheel = {type = "disk", …}'),
    (edited('type = "planar"\n', ""), "joint 'sled' has no type", "sled.toml, line 7, joints.sled"),
    (
        edited('type = "planar"', 'type = "plannar"'),
        'joint \'sled\' has type "plannar", expected one of "fixed", "revolute", '
        '"prismatic", "screw", "translation", "planar", "spherical", "free", "universal"',
        "sled.toml, line 8, joints.sled.type",
        "did you mean 'planar'?",
    ),
    (edited('type = "knife_edge"', "type = 3"),
     'contact \'blade\' has type 3, expected one of "rolling", "knife_edge", "rollers"',
     "sled.toml, line 12, contacts.blade.type", "known: 'rolling', 'knife_edge', 'rollers'"),
]  # fmt: skip

TYPES = [
    (edited("mass = 1", "mass = true"), "or the text of an expression", "line 5, bodies.sled.mass"),
    (edited("mass = 1", "mass = 1979-05-27"), "text of an expression", "line 5, bodies.sled.mass"),
    (edited("mass = 1", "mass = [1]"), "or the text of an expression", "line 5, bodies.sled.mass"),
    (edited("direction = [1, 0, 0]", "direction = [\n1,\nfalse,\n0]"),
     "contacts.blade.direction[1] is false, expected a number or the text of an expression",
     "sled.toml, line 16, contacts.blade.direction[1]",
     'write 1.5, or an expression in quotes such as "l/2" there'),
    (edited("direction = [1, 0, 0]", "direction = [1, 0]"),
     "contacts.blade.direction has 2 values, expected 3",
     "sled.toml, line 14, contacts.blade.direction",
     "give 3 values, for example direction = [0, 0, 1]"),
    (edited("direction = [1, 0, 0]", 'direction = "x"'),
     'contacts.blade.direction is "x", expected an array of numbers or expressions',
     "sled.toml, line 14, contacts.blade.direction", "write direction = [0, 0, 1]"),
    (edited('name = "sled"', "name = 3"), "name is 3, expected text", "sled.toml, line 2, name"),
    (edited("[bodies.sled]", "references = 3\n[bodies.sled]"),
     "references is 3, expected an array of texts", "sled.toml, line 4, references",
     'write references = ["a", "b", "c"]'),
    (edited('type = "knife_edge"', 'type = "knife_edge"\nplane = 3'),
     "contacts.blade.plane is 3, expected a table", "sled.toml, line 13, contacts.blade.plane",
     "write plane = {…}, a table"),
    (edited("[bodies.sled]", "[[bodies]]"), "tables under their names", "line 4, bodies"),
    (SLED + "[independent_speeds]\nname = 'sled.vx'\n",
     "independent_speeds is a table, expected an array of tables",
     "sled.toml, line 15, independent_speeds", "write [[independent_speeds]] before each"),
    (SLED + "[joints.sled.motion]\nx = 0.5\n", "is 0.5, expected text", "16, joints.sled.motion.x"),
    (edited('child = "sled"', 'child = "sled"\nmotion = "t"'),
     'joints.sled.motion is "t", expected a table of expressions',
     "sled.toml, line 11, joints.sled.motion", 'write motion = {angle = "0.5*t"}'),
    (SLED + "[scenario]\nduration = '1'\n", 'is "1", expected a number', "16, scenario.duration"),
    (SLED + "[scenario]\nduration = 1\nsamples = 10.0\n",
     "scenario.samples is 10.0, expected a whole number", "sled.toml, line 17, scenario.samples",
     "write samples = 501"),
    (SLED + "[scenario]\nduration = 1\nstart = 3\n",
     "scenario.start is 3, expected a table of numbers or expressions",
     "sled.toml, line 17, scenario.start", "write start = {angle = 0.5}"),
    (SLED + "[scenario]\nduration = 1\nstart = {sled.x = 1, 'sled.x' = 2}\n",
     "'sled.x' is given twice", 'sled.toml, line 17, scenario.start."sled.x"', "keep one of them"),
    (
        SLED.replace("knife_edge", "rolling").replace(
            "direction = [1, 0, 0]", 'wheel = {type = "ball", radius = 1}\nnormal = 1'
        ),
        "contacts.blade.normal is 1, expected true or false",
        "sled.toml, line 15, contacts.blade.normal",
        "write normal = true",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", KEYS + TYPES)
def test_a_key_at_fault(case):
    text, what, where, *fix = case
    (fault,) = faults(text)
    assert what in fault.what and fault.where.endswith(where) and fault.fix
    assert all(words in fault.fix for words in fix)


@pytest.mark.parametrize(
    "value, what",
    [
        ("nan", "body 'sled' has mass = nan, expected a finite number"),
        ("-inf", "body 'sled' has mass = -inf, expected a finite number"),
        ("1" + "0" * 400, "body 'sled' has mass = a whole number above 1e308, expected a finite"),
        ('"1e999"', "body 'sled' has mass = \"1e999\", which cannot be read"),
        ('"open(1)"', "body 'sled' has mass = \"open(1)\", which cannot be read"),
    ],
)
def test_numbers_that_are_none(value, what):
    (fault,) = faults(edited("mass = 1", f"mass = {value}"))
    assert fault.what.startswith(what)
    assert fault.where == "sled.toml, line 5, bodies.sled.mass"


def test_faults_of_keys_and_of_meaning_come_together_in_the_order_of_lines():
    text = edited("moment = 2", "momnt = 2").replace('child = "sled"', 'child = "slod"')
    text = text.replace("direction = [1, 0, 0]", "direction = [0, 0, 0]")
    assert [fault.where for fault in faults(text)] == [
        "sled.toml, line 6, bodies.sled.momnt",
        "sled.toml, line 10, joints.sled.child",
        "sled.toml, line 14, contacts.blade.direction",
    ]


def test_one_text_needs_no_brackets():
    model, _ = parse_model(edited("[bodies.sled]", "references = 'A'\n[bodies.sled]"))
    assert model.references == ("A",)
