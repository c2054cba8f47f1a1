"""Every field of every class of a model file with a bad value: read and written, or refused.

``make test`` tries the same 400 of 37 000 each time, ``pytest --long`` always others.
"""

import random
import time
import warnings

import pytest
from mutated_models import MISSING, cases, classes, hosts, some_cases

import noslip as ns
from noslip.model import model_to_toml, parse_model
from noslip.model.schema import keys_of

#: Cases in a usual run and in a long one, each of about 7 ms.
USUAL, LONG = 400, 9000


@pytest.mark.slow
def test_every_class_of_a_model_file_has_a_host():
    """A new member of a family is put in a file of ``models/`` if the library has none."""
    assert {case.part for case in cases()} == {part for part in classes() if keys_of(part)}


@pytest.mark.slow
def test_hosts_are_good():
    import tomli_w

    for table in hosts().values():
        model, _ = parse_model(tomli_w.dumps(table))
        assert parse_model(model_to_toml(model))[0] == model


@pytest.mark.slow
def test_a_bad_value_in_any_field_is_read_or_refused(pytestconfig):
    is_long = pytestconfig.getoption("--long")
    count, seed = (LONG, time.time_ns()) if is_long else (USUAL, 38)
    wrong = []
    for case in some_cases(count, random.Random(seed)):
        said = "left out" if case.value is MISSING else f"{case.value!r:.60}"
        what = f"{case.part.__name__}: {'.'.join(map(str, case.path))} = {said} in {case.host}"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                model, _ = parse_model(case.text())
                assert parse_model(model_to_toml(model))[0] == model, "it comes back as another"
            except ns.NoslipError as error:
                assert all(fault.what and fault.where and fault.fix for fault in error.faults)
            except Exception as error:
                wrong.append(f"{what}: {error!r:.200}")
    assert not wrong, "\n".join(wrong[:20])


# numbers that no expression may stand for, and fields of which others compute


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("contacts.at_pea.ground.origin", ["a", 0], 'origin[0] is "a", expected a number'),
        ("contacts.at_marble.ground.u_range", ["-a", 2], "expected a number"),
        ("contacts.at_egg.wheel.v_range", ["1/0", 2], "expected a number"),
        ("contacts.at_egg.wheel.v_range", [2, -2], "v_range = [2.0, -2.0]"),
        ("contacts.at_bead.ground.extent", "nosuch", "'nosuch', a name that is not declared"),
        ("contacts.at_bead.ground.inner", "1/0", "no finite value"),
        ("contacts.at_bead.ground.z", "1/0", "no finite value"),
        ("contacts.at_bead.ground.extent", 10**400, "a whole number above 1e308"),
    ],
)
def test_grounds_say_what_is_wrong_with_their_numbers(path, value, what):
    import tomli_w

    table = dict(hosts()["marbles"])
    case = next(c for c in cases() if c.host == "marbles")
    text = case._replace(path=tuple(path.split(".")), value=value).text()
    with pytest.raises(ns.ModelError) as caught:
        parse_model(text)
    assert what in caught.value.what and path in caught.value.where, caught.value
    assert parse_model(tomli_w.dumps(table))


@pytest.mark.parametrize("field", ["radius", "width", "roller_angle", "mass", "roller_mass"])
@pytest.mark.parametrize("value", ["nosuch", "1/0", "(", 10**400])
def test_roller_wheels_say_what_is_wrong_with_their_numbers(field, value):
    case = next(c for c in cases() if c.part is ns.parts.MecanumWheel)
    with pytest.raises(ns.ModelError) as caught:
        parse_model(case._replace(path=("parts", "left", field), value=value).text())
    assert f"parts.left.{field}" in caught.value.where


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        (
            {"type": "facets", "points": [0, 0, 0, 1], "faces": [0, 0, 0]},
            "4 numbers for its",
        ),
        ({"type": "facets", "points": [0, 0, 0], "faces": [0, 0, 1]}, "at point 1, which there is"),
        ({"type": "facets", "points": [0, 0, 0], "faces": [0, 0, 0.5]}, "at point 0.5"),
        ({"type": "turned", "radii": [0, 1, 2], "heights": [0, 1]}, "3 radii and 2 heights"),
    ],
)
def test_shapes_have_as_many_numbers_as_they_need(shape, what):
    case = next(c for c in cases() if c.host == "machine")
    path = ("bodies", "pinion", "shapes")
    with pytest.raises(ns.ModelError, match=what):
        parse_model(case._replace(path=path, value=[shape]).text())
