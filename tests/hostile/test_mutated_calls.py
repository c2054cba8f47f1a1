"""Calls of Python with a bad argument end in a NoslipError: every public function and class."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from good_calls import NOT_MADE, good_calls
from mutated_calls import answer, answer_in, in_order, methods_of, one_of_each, public, results_of

import noslip as ns

HERE = Path(__file__).parent
#: Modules whose classes are parts of files: tried by test_model_fields.py.
PARTS = ("noslip.model.", "noslip.formulations.")
#: Cases of the small campaign; the long one takes `MANY`.
FEW, MANY = 150, 6000


def is_a_part(thing):
    return inspect.isclass(thing) and (
        thing.__module__.startswith(PARTS)
        or issubclass(thing, ns.NoslipError)
        or inspect.isabstract(thing)
        or thing.__name__.startswith("Abstract")
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where calls write."""
    return tmp_path_factory.mktemp("calls")


@pytest.fixture(scope="module")
def calls(folder, system_of):
    return good_calls(folder, system_of)


@pytest.mark.slow
def test_every_public_function_and_class_has_a_good_call(calls):
    known = {name for name, thing in public().items() if not is_a_part(thing)}
    tried = {name.partition(",")[0] for name in calls}  # of some there are several
    assert known - {*tried, *NOT_MADE} == set(), "add a good call, or say why there is none"
    assert {*tried, *NOT_MADE} - {*public()} == set()


@pytest.fixture(scope="module")
def answers(calls, tmp_path_factory):
    """What good calls return; the error of one that is not good."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("answers"))
        return results_of(calls)


@pytest.mark.slow
def test_good_calls_are_good(answers):
    bad = {name: repr(x)[:300] for name, x in answers.items() if isinstance(x, Exception)}
    assert bad == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
def test_methods_of_results_refuse_bad_arguments(answers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = one_of_each(answers)
    assert len(results) > 50
    bad = {}
    for case in methods_of(results):
        said = answer(case, limit=1.0)
        if said not in ("accepted", "refused", "stuck"):
            bad[f"{case.name}{case.value!r:.60}"] = said
    assert bad == {}


# the timer that ends a long call may fire within a finalizer, where nothing can be raised
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("only_nonsense", [False, True])
def test_some_bad_calls_end_in_an_error_with_a_fix(calls, folder, only_nonsense, monkeypatch):
    monkeypatch.chdir(folder)
    bad = {}
    for case in [c for c in in_order(calls) if c.is_nonsense or not only_nonsense][:FEW]:
        said = answer_in(folder, case, limit=1.0)
        if said not in ("accepted", "refused", "stuck"):  # long runs are no fault
            bad[f"{case.name}({case.place}={case.value!r:.40})"] = said
    assert bad == {}


@pytest.mark.long
@pytest.mark.slow
def test_bad_calls_end_in_an_error_with_a_fix():
    """In a process of its own, whose memory is limited; long runs are no fault."""
    words = [sys.executable, str(HERE / "mutated_calls.py"), "0", str(MANY)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=7200)
    assert done.returncode == 0, done.stderr[-2000:]
    counted = json.loads(done.stdout.splitlines()[-1])
    assert set(counted) <= {"accepted", "refused", "stuck"}, done.stdout[-4000:]
