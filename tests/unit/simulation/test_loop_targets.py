"""The loop printed for other targets: fewer lanes, and other processors."""

import pytest
from llvmlite import binding

from noslip.engines import Target
from noslip.simulation.loop.loop import print_loop
from noslip.simulation.loop.writer import Shape

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
}


X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
PROCESSORS = {"x86-64": X86, "haswell": X86, "cortex-a72": ARM}
#: Every shape for a processor that is not this one; registers of two numbers and of four, for
#: vectors that are as wide as a register and wider. With --long every shape for every processor.
COMPILED = {"x86-64": ("4 lanes",), "haswell": ("8 lanes",), "cortex-a72": tuple(SHAPES)}


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
    module = binding.parse_assembly(print_loop(SHAPES[name]))
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    assert len(machine.emit_object(module)) > 10_000
