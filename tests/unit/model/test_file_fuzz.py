"""Damaged and random files are read and come back as they were, or raise nothing but ModelError.

Models come back in tests/hostile/test_model_fields.py, with every field changed.
"""

import re
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sled_file import SLED

from noslip import ModelError
from noslip.model import model_to_toml, parse_model

PAGE = (Path(__file__).parents[3] / "docs" / "model-files.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]

# the same examples on every machine, however slow it is
steady = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

lines = st.integers(0, EXAMPLE.count("\n") - 1)
values = ["true", "-1", '"x"', "[]", "{}", "nan", '"1/0"', "1979-05-27", "[[1]]", "", '"', '"é^("']


@steady
@given(st.lists(st.tuples(lines, st.sampled_from(["cut", "twice", *values])), max_size=6))
def test_a_damaged_file_is_read_or_refused(edits):
    text = EXAMPLE.split("\n")
    for line, edit in edits:
        if edit == "cut":
            text[line] = ""
        elif edit == "twice":
            text[line] += "\n" + text[line]
        else:
            text[line] = text[line].split("=")[0] + "= " + edit
    read_or_refused("\n".join(text))


@steady
@given(st.text(max_size=200))
@example("\x00")
@example("[" * 100)
@example(SLED + "'\\ud800' = 1")
def test_any_text_is_read_or_refused(text):
    read_or_refused(text)


def read_or_refused(text):
    try:
        model, _ = parse_model(text)
    except ModelError as error:
        assert error.faults
        for fault in error.faults:
            assert fault.what and fault.where and fault.fix
    else:
        assert parse_model(model_to_toml(model))[0] == model
