"""Sixty mutants of the core, and whether tests notice: signs, factors, indices and bounds.

    python tests/mutants.py                 all of them, about 10 min of CPU
    python tests/mutants.py 11 12 linear    those of these numbers, or with this text in their file
    python tests/mutants.py --list          what each changes

A mutant is one exact replacement in one file of a copy of the package; the tests beside it are run
on that copy until the first that fails. Before tests are shortened or merged, and after, the same
mutants must be caught. A text that is no longer in its file once is reported as ``gone``: write
the same slip into the code that stands there now. Exit code 1 if a mutant survives or is gone.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: Seconds after which tests of a mutant are stopped; it then counts as caught: a loop without end.
LIMIT = 900.0


class Mutant(NamedTuple):
    """A replacement in one file, and the tests that should notice.

    Parameters
    ----------
    path : of the file, below ``src/noslip``.
    old, new : text that stands there once, and what it becomes.
    tests : names of test files, without ``test_`` and ``.py``.
    """

    path: str
    old: str
    new: str
    tests: tuple[str, ...]


LINEAR = ("kinematics_linear", "elimination")
JOINTS = ("kinematics_joints", "pendulums_and_tops")
TREE = ("pendulums_and_tops", "rolling_closed_forms", "equations_and_newton_euler")
ROLLING = ("rolling_closed_forms", "equations_and_newton_euler")
COULOMB = ("contact_decisions", "coulomb_closed_forms")
EVENTS = ("loop_events", "loop_methods")

MUTANTS = (
    # rotations and linear equations
    Mutant("algebra/spatial.py", "(zero, -a[2], a[1])", "(zero, a[2], a[1])", JOINTS),
    Mutant(
        "algebra/spatial.py",
        "return 2 * skew_part / ca.sqrt(1 + ca.trace(R))",
        "return skew_part / ca.sqrt(1 + ca.trace(R))",
        ("kinematics_joints", "controllers_pose"),
    ),
    Mutant("algebra/spatial.py", "+ sine * skew(e)", "- sine * skew(e)", JOINTS),
    Mutant(
        "algebra/spatial.py",
        "w * c - x * a - y * b - z * d",
        "w * c - x * a - y * b + z * d",
        JOINTS,
    ),
    Mutant(
        "algebra/spatial.py",
        "c * omega[k] - s * omega[j]",
        "c * omega[k] + s * omega[j]",
        ("turning_axes", "start_angles", *JOINTS),
    ),
    Mutant(
        "algebra/linear.py",
        "K[0, 0] * K[1, 1] - K[0, 1] * K[1, 0]",
        "K[0, 0] * K[1, 1] + K[0, 1] * K[1, 0]",
        LINEAR,
    ),
    Mutant(
        "algebra/linear.py",
        "known = known - R[k, j] * X[j]",
        "known = known + R[k, j] * X[j]",
        LINEAR,
    ),
    Mutant(
        "algebra/linear.py",
        "cross(k[2], k[0]), cross(k[0], k[1])",
        "cross(k[0], k[2]), cross(k[0], k[1])",
        LINEAR,
    ),
    Mutant("algebra/linear.py", "+ m[2] * bottom) / third", "- m[2] * bottom) / third", LINEAR),
    Mutant(
        "algebra/lookup_tables.py",
        "weights[:, 1:] * np.arange(1, weights.shape[1]) / k",
        "weights[:, 1:] * np.arange(1, weights.shape[1]) / order",
        ("lookup",),
    ),
    # the tree of bodies
    Mutant("kinematics/tree.py", "+ 2 * cross(w_P_D, v_r)", "+ cross(w_P_D, v_r)", TREE),
    Mutant(
        "kinematics/tree.py", "alpha_P) + cross(w_P_D, w_r)", "alpha_P) - cross(w_P_D, w_r)", TREE
    ),
    Mutant(
        "kinematics/tree.py",
        "ca.mtimes(R_PD, n) + cross(p_PB, there)",
        "ca.mtimes(R_PD, n) - cross(p_PB, there)",
        TREE,
    ),
    Mutant(
        "kinematics/tree.py",
        "linear[:, j] - cross(angular[:, j], p_BM)",
        "linear[:, j] + cross(angular[:, j], p_BM)",
        TREE,
    ),
    Mutant("kinematics/tree.py", "-(xx + zz), yz - alpha[0])", "-(xx + zz), yz + alpha[0])", TREE),
    Mutant(
        "kinematics/tree.py",
        "and entries[first] == entries[second]",
        "and entries[first] == entries[first]",
        ("kinematics_contacts", "equations_and_newton_euler"),
    ),
    Mutant(
        "kinematics/kinematics.py", "v_D + cross(w_D, ", "v_D - cross(w_D, ", ("measures", *ROLLING)
    ),
    # rows and independent speeds
    Mutant(
        "kinematics/constraint_rows.py",
        "    velocity = v + cross(w, r)\n",
        "    velocity = v - cross(w, r)\n",
        ROLLING,
    ),
    Mutant(
        "kinematics/constraint_rows.py",
        "v_plane + cross(w_plane, p_contact - p_origin)",
        "v_plane - cross(w_plane, p_contact - p_origin)",
        ROLLING,
    ),
    Mutant(
        "kinematics/constraint_rows.py",
        "turning = turning - ca.mtimes(node.R_WD.T, w_plane)",
        "turning = turning + ca.mtimes(node.R_WD.T, w_plane)",
        ("spin_moments", "headings", "forces_on_moving_planes", "curved_closed_forms"),
    ),
    Mutant(
        "kinematics/basis.py",
        "step = -np.linalg.lstsq(",
        "step = np.linalg.lstsq(",
        ("linkages", "kinematics_trace"),
    ),
    Mutant(
        "kinematics/basis.py",
        "if size <= max(DEPENDENT",
        "if size < -max(DEPENDENT",
        ("kinematics_trace", "redundant_rows"),
    ),
    Mutant(
        "kinematics/dependent_speeds.py",
        "moved = ca.horzcat(*[v[:, j] + cross(",
        "moved = ca.horzcat(*[v[:, j] - cross(",
        LINEAR[1:],
    ),
    Mutant(
        "kinematics/dependent_speeds.py",
        "covector[:3]) + cross(node.p_PB, f)",
        "covector[:3]) - cross(node.p_PB, f)",
        LINEAR[1:],
    ),
    # joints, forces, contacts
    Mutant(
        "model/joints.py",
        "cross(a[:3], b[3:]) + cross(a[3:], b[:3])",
        "cross(a[:3], b[3:]) - cross(a[3:], b[:3])",
        ("hamel_joints", "constraints_and_brackets", "kinematics_joints"),
    ),
    Mutant(
        "model/forces.py",
        "length - read.scalar(self.rest_length)",
        "length + read.scalar(self.rest_length)",
        ("pendulums_and_tops", "forces_and_potential"),
    ),
    Mutant(
        "model/forces.py",
        "stretch = loads.coordinate(self.coordinate) - loads",
        "stretch = loads.coordinate(self.coordinate) + loads",
        ("pendulums_and_tops", "forces_and_potential"),
    ),
    Mutant(
        "model/forces.py",
        "rolling = turning - ca.dot(turning, n) * n",
        "rolling = turning + ca.dot(turning, n) * n",
        ("loads",),
    ),
    Mutant(
        "model/forces.py",
        "(load - pushed) * n - grip *",
        "(load - pushed) * n + grip *",
        ("elastic_contacts",),
    ),
    Mutant(
        "model/forces.py",
        "return x - E * (x - ca.atan(x))",
        "return x + E * (x - ca.atan(x))",
        ("tires", "tire"),
    ),
    Mutant(
        "model/contacts.py",
        "ca.sin(angle) + cross(n, touch.heading)",
        "ca.sin(angle) - cross(n, touch.heading)",
        ("kinematics_contacts", *ROLLING),
    ),
    # formulations
    Mutant(
        "formulations/tree_dynamics.py",
        "ca.mtimes(inertia, alpha) + cross(w,",
        "ca.mtimes(inertia, alpha) - cross(w,",
        TREE,
    ),
    Mutant(
        "formulations/tree_dynamics.py",
        "total = total + m_P * share",
        "total = total + mass * share",
        ("composite", *TREE),
    ),
    Mutant(
        "formulations/tree_dynamics.py",
        "node.H[3:6, 0] + cross(node.H[0:3, 0]",
        "node.H[3:6, 0] - cross(node.H[0:3, 0]",
        ("composite", *TREE),
    ),
    Mutant(
        "formulations/tree_dynamics.py",
        "self.mass * v + cross(w, self.moment)",
        "self.mass * v - cross(w, self.moment)",
        ("composite", *TREE),
    ),
    Mutant(
        "formulations/tree_dynamics.py",
        "armature * v[at] ** 2 / 2",
        "armature * v[at] ** 2",
        ("armature",),
    ),
    Mutant(
        "formulations/boltzmann_hamel.py",
        "/ 2 + ca.dot(alpha, spin)",
        "/ 2 - ca.dot(alpha, spin)",
        ("verify_catches_errors", "equations_and_newton_euler"),
    ),
    Mutant(
        "formulations/multipliers.py",
        "ca.mtimes(A.T, b) - c,",
        "ca.mtimes(A.T, b) + c,",
        ("verify_catches_errors", "equations_and_newton_euler"),
    ),
    Mutant(
        "formulations/multipliers.py",
        "symbols.q) - ca.jtimes(b, symbols.q, q_dot)",
        "symbols.q) + ca.jtimes(b, symbols.q, q_dot)",
        ("vakonomic", "antunes_2010"),
    ),
    Mutant(
        "formulations/desantis.py",
        "skew(omega), -skew(ca",
        "skew(omega), skew(ca",
        ("method_objects", "desantis_1994"),
    ),
    Mutant(
        "formulations/boltzmann_hamel.py",
        "moving[k] - turned[k]",
        "moving[k] + turned[k]",
        ("hamel_joints", "verify_catches_errors"),
    ),
    Mutant(
        "formulations/generalized_forces.py",
        "wrenches[k][0] + n + cross(r, f)",
        "wrenches[k][0] + n - cross(r, f)",
        ("forces_and_potential", "pendulums_and_tops"),
    ),
    Mutant(
        "formulations/generalized_forces.py",
        "ca.SX.eye(len(rows)) - ca.vertcat(*slopes)",
        "ca.SX.eye(len(rows)) + ca.vertcat(*slopes)",
        ("loads", "coulomb_runs", "tires", "forces_on_moving_planes"),
    ),
    # engines
    Mutant(
        "engines/optimization.py",
        "cell_weights(order) / spline.step**order",
        "cell_weights(order) / spline.step",
        ("lookup", "optimize"),
    ),
    Mutant(
        "engines/elementary_functions.py",
        "w.fma(quarters, 0.5 * HALF_PI[1], base_low)",
        "w.fma(quarters, HALF_PI[1], base_low)",
        ("vector_math",),
    ),
    # runs
    Mutant(
        "simulation/loop/rules.py",
        "{0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6}",
        "{0: 1 / 6, 1: 1 / 3, 2: 1 / 6, 3: 1 / 3}",
        EVENTS[::-1],
    ),
    Mutant(
        "simulation/loop/rules.py",
        "(1.0 - 2.0 * off * d[j]) * square",
        "(1.0 - off * d[j]) * square",
        ("hermite", "multistep_output"),
    ),
    Mutant(
        "simulation/loop/loop.py",
        "(a < 0.0) & (b >= 0.0) & (direction >= 0.0)",
        "(a < 0.0) & (b >= 0.0) & (direction <= 0.0)",
        EVENTS,
    ),
    Mutant(
        "simulation/contacts/automaton.py",
        "-item.friction * direction",
        "item.friction * direction",
        COULOMB,
    ),
    Mutant(
        "simulation/contacts/states.py",
        "{w: -grip * scale[w] * d[w]",
        "{w: grip * scale[w] * d[w]",
        COULOMB[::-1],
    ),
    Mutant(
        "simulation/samples.py",
        "2.0\n    if len(t) > 2",
        "3.0\n    if len(t) > 2",
        ("input_powers", "trajectory"),
    ),
    # analysis, geometry
    Mutant(
        "analysis/linearization.py",
        "damping=near.damping - near.forcing @ u_zeta",
        "damping=near.damping + near.forcing @ u_zeta",
        ("linearize", "linearize_batch", "linearization_along"),
    ),
    Mutant(
        "analysis/linearization.py",
        "speed**2 * self.K2\n",
        "speed * self.K2\n",
        ("meijaard_2007", "modes"),
    ),
    Mutant(
        "analysis/instant_kinematics.py",
        "down(bias - D @",
        "down(bias + D @",
        ("cartesian_models", "desantis_1994"),
    ),
    Mutant(
        "analysis/audit.py",
        "(wheel.normal < -small)",
        "(wheel.normal > small)",
        ("audit", "audit_verdict"),
    ),
    Mutant(
        "geometry/fields.py",
        "ca.densify(along - across)",
        "ca.densify(along + across)",
        ("constraints_and_brackets",),
    ),
    # control, plans
    Mutant(
        "control/lqr.py", "Q + F[i].T @ P @ closed", "Q - F[i].T @ P @ closed", ("lqr", "riding")
    ),
    Mutant(
        "control/computed_torque.py",
        "reference.etadot + self.kd * (reference.eta - kin.eta)",
        "reference.etadot - self.kd * (reference.eta - kin.eta)",
        ("controllers_joints",),
    ),
    Mutant(
        "control/timing_laws.py",
        "return 30 * length / self.total_time",
        "return 15 * length / self.total_time",
        ("timing",),
    ),
    Mutant(
        "planning/transcription.py",
        "1 / np.arange(1, degree + 1)",
        "1 / np.arange(2, degree + 2)",
        ("optima",),
    ),
)


def main() -> int:
    """Try the mutants that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="*", help="numbers, or texts within paths; all by default")
    parser.add_argument("--list", action="store_true", help="what each mutant changes")
    asked = parser.parse_args()
    chosen = [
        (k, m)
        for k, m in enumerate(MUTANTS, 1)
        if not asked.which
        or any(w == str(k) or (w in m.path and not w.isdigit()) for w in asked.which)
    ]
    if asked.list:
        for k, mutant in chosen:
            print(f"{k:2d} {mutant.path}\n     - {mutant.old.strip()}\n     + {mutant.new.strip()}")
        return 0
    files = {path.stem.removeprefix("test_"): path for path in (ROOT / "tests").rglob("test_*.py")}
    left = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src" / "noslip"
        shutil.copytree(ROOT / "src" / "noslip", copy, ignore=shutil.ignore_patterns("__pycache__"))
        for k, mutant in chosen:
            start = time.perf_counter()
            found = tried(copy, mutant, [files[name] for name in mutant.tests])
            left += not found.startswith("caught")
            print(
                f"{k:2d} {found:70} {mutant.path}  {time.perf_counter() - start:.0f} s", flush=True
            )
    print(f"{len(chosen) - left} of {len(chosen)} caught")
    return int(left > 0)


def tried(package: Path, mutant: Mutant, tests: list[Path]) -> str:
    """What became of a mutant: ``caught`` by which test, ``survives`` or ``gone``."""
    path = package / mutant.path
    whole = path.read_text()
    if whole.count(mutant.old) != 1:
        return f"gone: {whole.count(mutant.old)} times in the file"
    path.write_text(whole.replace(mutant.old, mutant.new))
    try:
        return outcome(package.parent, tests)
    finally:
        path.write_text(whole)


def outcome(source: Path, tests: list[Path]) -> str:
    """Result of the tests on a copy of the package."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        "-rfE",
    ]
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            [*command, *map(str, tests)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return "caught: stopped after the time limit"
    if ended.returncode == 0:
        return "survives"
    said = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    where = said[0].split()[1].rpartition("/")[2] if said else f"exit code {ended.returncode}"
    return f"caught: {where[:62]}" if said or ended.returncode == 1 else f"not run: {where}"


if __name__ == "__main__":
    sys.exit(main())
