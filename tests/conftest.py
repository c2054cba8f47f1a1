"""What all tests share: the lists everything is run over, one seeded generator, systems made once.

A test that takes `model_name` runs over `ALL_MODELS`, one that takes `joint_type` over
`ALL_JOINTS`; `equations`, `system` and `newton_euler` are those of its `model_name`. Random numbers
come from `rng`; Hypothesis is derandomized. What runs over the whole library takes the models of
`DIFFERENT`, and cases that are marked `long` are left out; ``pytest --long`` takes all, and
thousands of random mechanisms instead of some.
"""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from pathlib import Path

# Matrices are small, and each core has its worker: a second thread of BLAS spins for nothing.
# With it, three files of control took 8.5 to 12.3 s of CPU instead of 7.5.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import noslip as ns

# compiled loops are shared by all workers and processes of the tests, apart from the user's own
CODE = Path(__file__).parent.parent / ".pytest_cache" / "code"
os.environ.setdefault("NOSLIP_CACHE_DIR", str(CODE))

for folder in ("models", "oracles"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

from joint_types import ALL_JOINTS  # noqa: E402
from newton_euler import NewtonEuler  # noqa: E402

from mechanisms import MECHANISMS  # noqa: E402

ALL_MODELS = (*ns.MODELS, *MECHANISMS)
#: Library models that differ in kind: planar and in space, wheels, blades, tires and rollers, trees
#: and chains, curved ground, springs, loads; grids have laws of their own. Each library model is
#: derived by all formulations, run and driven in any case (`ALWAYS`).
DIFFERENT = (
    *("agv", "tractor-trailer", "lhd", "mecanum-base", "tractor-trailer-tires", "chaplygin-sleigh"),
    *("rolling-disk", "whipple-bicycle", "rattleback", "ball-in-bowl"),
    *("manipulator-2r", "heavy-body", "crane"),
)
ALWAYS = ("test_models.py", "test_verify_catches_errors.py", "test_any_vehicle.py")
#: A test that takes this many models takes the library.
MANY = 20

settings.register_profile(
    "noslip", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("noslip")


@cache
def model_of(name: str) -> ns.Model:
    """A library or test model by its name."""
    return MECHANISMS[name]() if name in MECHANISMS else ns.load(name)


@cache
def equations_of(name: str) -> ns.Equations:
    """Equations of a model by the natural orthogonal complement, derived once a session."""
    return ns.derive(model_of(name))


@cache
def system_of(name: str) -> ns.System:
    """The compiled system of a model, compiled once a session."""
    return ns.compile(equations_of(name))


@cache
def newton_euler_of(name: str) -> NewtonEuler:
    """The independent solution of a model, traced once a session."""
    return NewtonEuler(model_of(name))


#: Files that take more than five seconds of CPU, or wait as long, the longest first. A worker takes
#: one file after another (``--dist loadfile``): those at the end are short, and no worker waits for
#: another. In the order of their CPU time in a whole run, of waiting for those in a browser.
LONGEST = (
    "test_studio.py",
    "test_docs.py",
    "test_report_page.py",
    "test_any_vehicle.py",
    "test_animation.py",
    "test_models.py",
    "test_curved_everywhere.py",
    "test_random_mechanisms.py",
    "test_contact_states_at_random.py",
    "test_parts_deleted.py",
    "test_motor_limits_resisted.py",
    "test_least_time_random.py",
    "test_papers_page.py",
    "test_examples.py",
    "test_own_members.py",
    "test_device_batch.py",
    "test_derivations.py",
    "test_ground_contacts.py",
    "test_sensitivities_gradient.py",
    "test_degenerate_models.py",
    "test_sensitivities_forward.py",
    "test_studio_session.py",
    "test_gallery.py",
    "test_sweep_kills.py",
    "test_report.py",
    "test_studio_downloads.py",
    "test_newcomers.py",
    "test_motion_keeps_energy_and_constraints.py",
    "test_track_cli.py",
    "test_kills.py",
    "test_fuzz_readers.py",
    "test_cli.py",
    "test_sweep_works.py",
    "test_rows_and_joint_wrenches.py",
    "test_path_tracking.py",
    "test_parts.py",
    "test_studio_drive.py",
    "test_verify_catches_errors.py",
    "test_studio_callbacks.py",
    "test_estimators.py",
    "test_c.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files; leave models out of what runs over the whole library."""
    rank = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))
    # a test that is asked for by its own name is run
    if config.getoption("--long") or "[" in "".join(config.args):
        return
    models = {id(item): _library_models(item) for item in items}
    taken = Counter((item.path, item.originalname) for item in items if models[id(item)])
    left_out = [
        item
        for item in items
        if item.get_closest_marker("long")
        or (
            models[id(item)]
            and taken[item.path, item.originalname] >= MANY
            and item.path.name not in ALWAYS
            and not models[id(item)] & set(DIFFERENT)
        )
    ]
    if left_out:
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left_out)


def _library_models(item: pytest.Item) -> set[str]:
    """Library models among what a test is parametrized by."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {value for value in given if isinstance(value, str) and value in ns.MODELS}


def pytest_collection_finish() -> None:
    """Take what was collected out of the garbage collector's walks, and make these rarer.

    Its default, a walk for every 700 new objects, took 8 % of test_documents.py; so it takes 5 %.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="thousands of random mechanisms, not some")
    parser.addoption("--fuzz", type=float, default=0.0, help="s of CPU to fuzz the readers")
    parser.addoption(
        "--accept-screenshots", action="store_true", help="put pictures into browser/reference"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "model_name" in metafunc.fixturenames:
        metafunc.parametrize("model_name", ALL_MODELS)
    if "joint_type" in metafunc.fixturenames:
        metafunc.parametrize("joint_type", ALL_JOINTS.values(), ids=ALL_JOINTS.keys())


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1991)


@pytest.fixture
def equations(model_name: str) -> ns.Equations:
    return equations_of(model_name)


@pytest.fixture
def system(model_name: str) -> ns.System:
    return system_of(model_name)


@pytest.fixture
def newton_euler(model_name: str) -> NewtonEuler:
    return newton_euler_of(model_name)


@pytest.fixture(scope="session")
def block() -> ns.System:
    """A mass of 1 kg on a slide under a push, without gravity: steps grow to seconds."""
    b = ns.ModelBuilder(name="block", gravity=(0.0, 0.0, 0.0))
    b.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("s", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    b.input("push", "N")
    b.force(ns.forces.Motor(name="motor", speed="s.speed", input="push"))
    return ns.compile(ns.derive(b.build()))


class _Once:
    """A function whose results are kept: equal arguments get the same object again."""

    def __init__(self, function: object, size: int = 64) -> None:
        self.function, self.size, self.kept = function, size, []
        update_wrapper(self, function)

    def __call__(self, *given: object, **options: object) -> object:
        for known, result in self.kept:
            if known == (given, options):
                return result
        result = self.function(*given, **options)
        self.kept = [((given, options), result), *self.kept[: self.size]]
        return result


_ONCE = {name: _Once(getattr(ns, name)) for name in ("derive", "compile", "verify")}


@pytest.fixture
def derive_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal models are derived, compiled and verified once, for all tests that use this.

    For those of scripts and commands, whose subject is not the derivation.
    """
    for name, function in _ONCE.items():
        monkeypatch.setattr(ns, name, function)


@pytest.fixture(name="system_of", scope="session")
def _system_of() -> object:
    """The function from a model's name to its compiled system."""
    return system_of


@pytest.fixture(scope="session")
def agv() -> ns.System:
    return system_of("agv")


@pytest.fixture(scope="session")
def disk() -> ns.System:
    return system_of("rolling-disk")


@pytest.fixture(scope="session")
def bicycle() -> ns.System:
    return system_of("whipple-bicycle")


@pytest.fixture(scope="session")
def arm() -> ns.System:
    return system_of("manipulator-2r")


@pytest.fixture(scope="session")
def pendulum() -> ns.System:
    return system_of("pendulum")


@pytest.fixture(scope="session")
def refuses() -> object:
    """Expect an error whose three parts contain the given texts, and none of them is empty."""

    @contextmanager
    def expect(
        type: type[ns.NoslipError], what: str, where: str = "", fix: str = ""
    ) -> Iterator[None]:
        with pytest.raises(type) as caught:
            yield
        for part, text in (("what", what), ("where", where), ("fix", fix)):
            assert text in getattr(caught.value, part) and getattr(caught.value, part)

    return expect
