"""Every example runs as a script, and the number on its last line is right.

Each number is compared with a value that does not come from this code: a closed form written out
here, or numbers computed apart in 40 digits.
"""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
MAX_LINES = 80


def run(name, folder):
    """The lines an example prints, run in a folder of its own with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def number(line):
    """The number after the colon, before the unit."""
    return float(re.search(r": (-?[\d.]+(?:e[+-]\d+)?)", line)[1])


def test_rolling_disk_goes_round_the_circle_of_the_closed_form(tmp_path):
    # the center moves with r |ω_a|, ω_a the rate about the axis that balances moments about f
    m, r, g, axial, transverse, tilt, yaw_rate = 2.0, 0.5, 9.81, 0.25, 0.125, 1.2, 1.0
    w_e = yaw_rate * math.sin(tilt)
    w_a = (transverse * w_e**2 / math.tan(tilt) - m * g * r * math.cos(tilt)) / (
        (axial + m * r**2) * w_e
    )
    assert r * abs(w_a) / yaw_rate == pytest.approx(2.51242190412834, abs=1e-13)
    lines = run("01_rolling_disk.py", tmp_path)
    assert number(lines[-1]) == pytest.approx(2.51242190412834, abs=1e-10)
    spin = next(line for line in lines if line.startswith("spin rate"))
    assert number(spin) == pytest.approx(-5.38720156273335, abs=1e-11)
    force = next(line for line in lines if line.startswith("contact force"))
    x, y, z = (float(part) for part in re.findall(r"[xyz] (-?[\d.]+) N", force))
    # the weight, and the centripetal force m ψ̇² R towards the middle of the circle
    assert (x, z) == (pytest.approx(0.0, abs=1e-6), pytest.approx(m * g, abs=1e-6))
    assert abs(y) == pytest.approx(m * yaw_rate**2 * 2.51242190412834, abs=1e-6)
    assert (tmp_path / "nodding_disk.png").stat().st_size > 0


def test_agv_comes_back_under_its_own_torques(tmp_path):
    lines = run("02_agv_circle.py", tmp_path)
    assert number(lines[-1]) < 1e-9
    table = {}
    for line in lines:
        columns = line.split()
        if len(columns) == 4 and re.fullmatch(r"\d+\.0", columns[0]):
            table[float(columns[0])] = [float(column) for column in columns[1:]]
    # torques and caster angle at R = 2 m, computed apart in 40 digits
    expected = {
        10.0: [-0.01064394328, -0.01707011193, 0.1381710961],
        30.0: [0.0213914288, -0.01749756144, 0.1381710981],
        50.0: [0.01471943258, 0.0137364812, 0.1381710981],
    }
    for time, values in expected.items():
        assert table[time] == pytest.approx(values, abs=1e-8)
    assert (tmp_path / "agv_circle" / "trajectory.nc").exists()


def test_sleigh_straightens_out_as_in_the_closed_form(tmp_path):
    m, J, a, v0, w0, t = 2.0, 0.3, 0.2, 0.1, 2.0, 3.0

    def speed(m):
        k2 = J / m + a**2
        c = math.sqrt(v0**2 + k2 * w0**2)
        return c * math.tanh(a * c * t / k2 + math.atanh(v0 / c))

    lines = run("03_your_own_model.py", tmp_path)
    assert number(lines[-1]) == pytest.approx(speed(m), abs=1e-10)
    heavy = next(line for line in lines if line.startswith("forward speed after 3 s with 4 kg"))
    assert number(heavy) == pytest.approx(speed(4.0), abs=1e-6)
    # the blade holds the mass center's sideways acceleration: m (a ω̇ + v ω), ω̇ = −a v ω / k²
    k2 = J / m + a**2
    force = next(line for line in lines if line.startswith("force of the ice"))
    assert number(force) == pytest.approx(m * v0 * w0 * (1 - a**2 / k2), abs=1e-6)
    assert (tmp_path / "sleigh.toml").exists()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_has_a_data_sheet_cells_and_a_test(path):
    text = path.read_text()
    assert re.fullmatch(r"\d\d_[a-z_]+\.py", path.name)
    assert len(text.splitlines()) <= MAX_LINES
    header = text.split('"""')[1]
    for word in ("Parameters", "Coordinates", "Inputs", "Look for", "Reference"):
        assert re.search(rf"^{word}  +\S", header, re.MULTILINE), f"no line '{word}'"
    assert text.count("\n# %% ") >= 4
    assert text.rstrip().splitlines()[-1].startswith("print(")
    # public names only
    assert not re.search(r"noslip\.\w+\.|from noslip\b|ns\._|\._\w", text)
    assert f'"{path.name}"' in Path(__file__).read_text()
