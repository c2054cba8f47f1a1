"""The loop printed for other targets: a GPU's thread, fewer lanes, and other processors."""

from __future__ import annotations

import ctypes
import dataclasses
import re

import numpy as np
import pytest
from llvmlite import binding

import noslip as ns
from noslip.engines.flow import THREAD, Target
from noslip.engines.llvm import print_llvm
from noslip.engines.machine_code import CONTROL_FLOW_PASSES, machine_code
from noslip.engines.optimize import optimize
from noslip.simulation.batches.lanes import Shared, run_lanes, shape_of
from noslip.simulation.loop.loop import print_loop
from noslip.simulation.loop.shape import Shape

STARTS = {
    "rolling-disk": {
        "disk.tilt": (1.2, 1.5),
        "disk.yaw_rate": (0.1, 0.5),
        "disk.spin_rate": (-9, -7),
    },
    "agv": {"wheel1.rate": (-6, -4), "wheel2.rate": (-9, -7), "bracket.angle": (0.2, 0.6)},
    "whipple-bicycle": {"speed": (4.4, 4.8), "frame.wx": (0.1, 0.5)},
}
KEPT = (
    *("codes", "times", "states", "steps_left", "num_steps", "num_rejections"),
    *("num_evaluations", "num_filled", "final"),
)


def plan_of(system, name, monkeypatch, **options):
    """The plan and empty results of a batch, as `simulate_batch` makes them."""
    caught = []

    def catch(plan, results, **_):
        caught.append((plan, results))
        raise KeyboardInterrupt

    rng = np.random.default_rng(2)
    starts = {key: rng.uniform(*span, size=11) for key, span in STARTS[name].items()}
    with monkeypatch.context() as patch:
        patch.setattr("noslip.simulation.batches.motions.run_lanes", catch)
        with pytest.raises(KeyboardInterrupt):
            ns.simulate_batch(system, duration=2.0, starts=starts, lanes=1, **options)
    return caught[0]


def run_text(text: str, record: np.ndarray) -> None:
    """Compile a module for this machine and let its loop do all trajectories."""
    engine = machine_code(text, CONTROL_FLOW_PASSES)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    call(engine.get_function_address("integrate"))(record.ctypes.data, 0)


def with_programs(loop: str, system, shape: Shape, columns: list[str]) -> str:
    """A module with the loop and all functions that it calls by name, as for a GPU."""
    from noslip.simulation.batches.columns import trace_columns

    programs = {"rates": system.program("rates", system.rates_expression)}
    if shape.has_projection:
        programs["project"] = system.program("project", system.projection_expression)
    _, traced = trace_columns(system, columns, None, {})
    programs["columns"] = system.program("columns", traced)
    text = print_llvm([optimize(p) for p in programs.values()])
    text = re.sub(r"define void @program\d+_rows.*?\n}\n", "", text, flags=re.DOTALL)
    for k, name in enumerate(programs):
        text = text.replace(f"@program{k}(", f"@{name}(")
    known = set(re.findall(r"^declare .*?@([\w.]+)\(", text, flags=re.MULTILINE))
    lines = [
        line
        for line in loop.split("\n")
        if not (line.startswith("declare") and re.search(r"@([\w.]+)\(", line)[1] in known)
    ]
    return text + "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_a_threads_loop_does_what_that_of_lanes_does(name, system_of, monkeypatch):
    """That of a GPU's thread calls functions by name and has its arrays on the stack."""
    system = system_of(name)
    columns = [c.name for c in system.coordinates[:3]]
    plan, results = plan_of(system, name, monkeypatch, columns=columns, samples=9, keep=["samples"])
    other = {word: getattr(results, word).copy() for word in KEPT}
    run_lanes(plan, results, threads=1)
    expected = {word: getattr(results, word).copy() for word in KEPT}
    samples = results.samples.copy()
    for word, values in other.items():
        getattr(results, word)[...] = values
    shape = shape_of(plan, results)
    shared = Shared(plan, results)
    thread = dataclasses.replace(shape, target=THREAD)
    run_text(with_programs(print_loop(thread), system, thread, columns), shared.record)
    for word in ("codes", "num_steps", "num_rejections", "num_evaluations"):
        assert np.array_equal(getattr(results, word), expected[word]), word
    # the same operations, which LLVM may fuse otherwise where it writes programs into the loop
    assert results.states == pytest.approx(expected["states"], abs=1e-9)
    assert results.samples == pytest.approx(samples, abs=1e-9)


FULL = {
    "nx": 11,
    "nz": 2,
    "num_health": 2,
    "num_inputs": 3,
    "num_base": 3,
    "num_tables": 1,
    "num_events": 3,
    "num_endings": 1,
    "num_angles": 1,
    "has_generator": True,
    "has_update": True,
    "has_projection": True,
    "has_knots": True,
    "has_samples": True,
}
BATCH = {"is_batch": True, "num_parameters": 6, "num_columns": 2, "keeps": ("minimum", "samples")}
SHAPES = {
    "one": Shape(**FULL),
    "across": Shape(
        **{**FULL, "has_knots": False, "num_tables": 0, "has_update": False}, is_multistep=True
    ),
    "4 lanes": Shape(target=Target(lanes=4), **FULL, **BATCH),
    "8 lanes": Shape(target=Target(lanes=8), **FULL, **BATCH),
    "thread": Shape(target=THREAD, **FULL, **BATCH),
}


X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
PROCESSORS = {"x86-64": X86, "haswell": X86, "cortex-a72": ARM}
#: Every shape for both families of processors; registers of two numbers and of four, for vectors
#: that are as wide as a register and wider. With --long every shape for every processor.
COMPILED = {
    "x86-64": ("one", "thread", "4 lanes"),
    "haswell": ("across", "4 lanes", "8 lanes"),
    "cortex-a72": tuple(SHAPES),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("cpu", PROCESSORS)
def test_it_compiles_for_other_processors(cpu, name, pytestconfig):
    if name not in COMPILED[cpu] and not pytestconfig.getoption("--long"):
        pytest.skip("by make test-all")
    triple = PROCESSORS[cpu]
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=1)
    module = binding.parse_assembly(declared(print_loop(SHAPES[name])))
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    assert len(machine.emit_object(module)) > 10_000


def declared(text: str) -> str:
    """A text with declarations of the functions that a thread calls by name."""
    names = sorted(
        set(re.findall(r"call void @(\w+)\(ptr", text))
        - set(re.findall(r"@(\w+)\(ptr %setup", text))
    )
    return text + "".join(f"\ndeclare void @{n}(ptr, ptr, ptr, ptr, ptr)" for n in names) + "\n"


@pytest.mark.slow
def test_a_threads_loop_compiles_for_a_gpu():
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_80")
    module = binding.parse_assembly(declared(print_loop(SHAPES["thread"])))
    module.triple, module.data_layout = "nvptx64-nvidia-cuda", str(machine.target_data)
    assert ".visible .func integrate" in machine.emit_assembly(module)
