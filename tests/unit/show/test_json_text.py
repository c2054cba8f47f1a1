"""JSON that every program can read."""

import json
import math

from noslip.show import json_text


def strict(text):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_are_none_become_null():
    data = {"a": math.nan, "b": [1.5, -math.inf, {"c": math.inf}], "d": "nan", "e": (2, True, None)}
    assert strict(json_text(data)) == {
        "a": None,
        "b": [1.5, None, {"c": None}],
        "d": "nan",
        "e": [2, True, None],
    }
