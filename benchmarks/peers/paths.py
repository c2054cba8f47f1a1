"""Ten seconds of disks and of the bicycle: the time it takes to stay within a given error.

Every candidate goes down a ladder of tolerances or steps until its contact point stays within the
error of the reference at all samples; that setting is timed. The disk's reference is its closed
form, the bicycle's is SciPy on Kane's equations, both at 1e-13 and confirmed by noslip.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bench import NOSLIP, Bench, Prepared
from problems import DISKS, SAMPLES
from references import TIGHT, disk_path, path_error

TARGET_ERROR = 1e-8  # m
ROUGH_ERRORS = (1e-1, 1e-2, 1e-4)  # m, for those who step
CONFIRMED = 1e-9  # m, between the reference and noslip's tightest run
#: From loose to tight, three to a decade.
TOLERANCES = tuple(10.0 ** (-k / 3) for k in range(18, 40))
STEPS = (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
CONTACT_STEPS = (1e-3, 5e-4, 2e-4, 1e-4)

Settings = Iterable[dict[str, Any]]


def first_within(
    bench: Bench,
    who: str,
    work: str,
    label: str,
    settings: Settings,
    reference: np.ndarray,
    error: float,
    **options: Any,
) -> Prepared | None:
    """The first setting that stays within the error, prepared; what was reached is noted."""
    best = float("inf")
    for setting in settings:
        words = ", ".join(f"{key} {value:.1e}" for key, value in setting.items())
        job = bench.prepare(who, work, f"{label}, {words}", **setting, **options)
        if job is None:
            return None
        off = path_error(job.answer, reference)
        best = min(best, off)
        if off <= error:
            bench.checks[job.label] = off
            bench.notes[job.label] = dict(job.notes)
            return job
        bench.drop(job)
    bench.left_out.append(f"{label}: came no nearer than {best:.1e} m, not within {error:.0e} m")
    return None


def _tolerances() -> Settings:
    return ({"tolerance": tolerance} for tolerance in TOLERANCES)


def _confirm(bench: Bench, what: str, job: Prepared, reference: np.ndarray) -> str:
    """Nothing if noslip's tightest run agrees with the reference, else how far it is off."""
    off = path_error(job.answer, reference)
    bench.checks[f"{what}: noslip at {TIGHT:.0e} against the reference"] = off
    bench.drop(job)
    return "" if off <= CONFIRMED else f"reference and noslip are {off:.1e} m apart"


def disk(bench: Bench, start: str) -> None:
    """One start of the disk, to 1e-8 m."""
    what, reference = f"{start} disk, 10 s to {TARGET_ERROR:.0e} m", disk_path(DISKS[start])
    tight = bench.prepare(
        NOSLIP, "disk_path", f"{what}, tight", start=start, tolerance=TIGHT, samples=SAMPLES
    )
    wrong = _confirm(bench, what, tight, reference)
    for samples, words in ((SAMPLES, f"{SAMPLES} samples"), (2, "end only")):
        options = {"start": start, "samples": samples}

        def run(who: str, label: str, *, options=options, words=words, **more: Any):
            return first_within(
                bench,
                who,
                "disk_path",
                f"{what}, {words}: {label}",
                _tolerances(),
                reference,
                TARGET_ERROR,
                **options,
                **more,
            )

        ours = [run(NOSLIP, "noslip"), run(NOSLIP, "noslip in the same angles", angles=True)]
        scipy = [
            (run("sympy", f"SciPy's {method} with lambdify", method=method), 100.0)
            for method in ("DOP853", "LSODA")
        ]
        solved = run("sympy", "SciPy's DOP853, solved in symbols", method="DOP853", solved=True)
        peers = [(run("casadi", "SymPy, CasADi's C and CVODES"), 15.0), *scipy, (solved, None)]
        compare(bench, ours, peers, wrong)


def bicycle(bench: Bench) -> np.ndarray | None:
    """The bicycle, to 1e-8 m; its reference."""
    what = f"bicycle, 10 s to {TARGET_ERROR:.0e} m"
    options = {"tolerance": TIGHT, "samples": SAMPLES, "method": "DOP853"}
    reference_job = bench.prepare("sympy", "bicycle_path", f"{what}, reference", **options)
    if reference_job is None:
        bench.left_out.append(f"{what}: needs SymPy for its reference")
        return None
    reference = np.array(reference_job.answer)
    bench.drop(reference_job)
    del options["method"]
    tight = bench.prepare(NOSLIP, "bicycle_path", f"{what}, tight", **options)
    wrong = _confirm(bench, what, tight, reference)
    for samples, words in ((SAMPLES, f"{SAMPLES} samples"), (2, "end only")):

        def run(who: str, label: str, *, samples=samples, words=words, **more: Any):
            return first_within(
                bench,
                who,
                "bicycle_path",
                f"{what}, {words}: {label}",
                _tolerances(),
                reference,
                TARGET_ERROR,
                samples=samples,
                **more,
            )

        peers = [(run("casadi", "SymPy, CasADi's C and CVODES"), 15.0)]
        for method in ("DOP853", "LSODA"):
            peers.append((run("sympy", f"SciPy's {method} with lambdify", method=method), 100.0))
            peers.append((run("pydy", f"SciPy's {method} on PyDy's function", method=method), None))
        compare(bench, [run(NOSLIP, "noslip")], peers, wrong)
    return reference


def compare(
    bench: Bench,
    ours: list[Prepared | None],
    peers: list[tuple[Prepared | None, float | None]],
    wrong: str = "",
    **turns: Any,
) -> None:
    """Turns and ratios of all that are there.

    The targets are for the first of ours; the others are set against the first two peers only.
    """
    mine = [job for job in ours if job]
    there = [(job, target) for job, target in peers if job]
    bench.time([*mine, *(job for job, _ in there)], **({"rounds": 6, "seconds": 0.1} | turns))
    for k, job in enumerate(mine):
        for other, target in there[: 2 if k else None]:
            bench.faster(job, other, at_least=None if k else target, wrong=wrong)
    for job in mine:
        bench.value(job.label, 1e3 * bench.wall[job.label], "ms")


def stepping(bench: Bench, reference: np.ndarray | None) -> None:
    """Exudyn's rolling joint and MuJoCo's contact: time to an error, steps, and slip."""
    paths = {"disk": disk_path(DISKS["wobbling"]), "bicycle": reference}
    for case, path in paths.items():
        if path is None:
            continue
        options = {"start": "wobbling"} if case == "disk" else {}
        name = "wobbling disk" if case == "disk" else case
        for error in ROUGH_ERRORS:
            what = f"{name}, 10 s to {error:.0e} m"

            def run(
                who: str,
                label: str,
                settings: Settings,
                *,
                what=what,
                case=case,
                path=path,
                error=error,
                **more: Any,
            ):
                return first_within(
                    bench, who, f"{case}_path", f"{what}: {label}", settings, path, error, **more
                )

            ours = run(NOSLIP, "noslip", _tolerances(), samples=SAMPLES, **options)
            exudyn = run("exudyn", "Exudyn", ({"step": h} for h in STEPS), **options)
            peers = [(exudyn, None)]
            if case == "disk" and error == ROUGH_ERRORS[0]:
                steps = ({"step": h} for h in CONTACT_STEPS)
                peers.append((run("mujoco", "MuJoCo, hardest contact", steps, **options), None))
            compare(bench, [ours], peers, rounds=3)
            for job in (ours, *(job for job, _ in peers)):
                if job:
                    bench.value(f"{job.label}: greatest slip", job.notes["slip"], "m/s")


def contact(bench: Bench) -> None:
    """MuJoCo as it comes: steps a second, and what slips and strays."""
    reference = disk_path(DISKS["wobbling"])
    options = {"start": "wobbling", "step": 2e-3, "stock": True}
    label = "wobbling disk by contact: MuJoCo as it comes, step 2e-03"
    job = bench.prepare("mujoco", "disk_path", label, **options)
    if job is None:
        return
    bench.time([job], rounds=3)
    bench.value(f"{label}: steps", job.notes["steps"] / bench.cpu[label], "1/s")
    bench.value(f"{label}: greatest slip", job.notes["slip"], "m/s")
    bench.value(f"{label}: error after 10 s", path_error(job.answer, reference), "m")


def field(bench: Bench) -> None:
    """A ball on hills from a grid of heights: MuJoCo's height field, with what it slips.

    The reference is noslip at its tightest on the hills as an expression; the grid is 5 cm wide.
    """
    what = "ball on a height field, 2 s"
    reference_job = bench.prepare(
        NOSLIP, "field_path", f"{what}, reference", tolerance=TIGHT, is_grid=False
    )
    reference = np.array(reference_job.answer)
    bench.drop(reference_job)
    for error in ROUGH_ERRORS:
        label = f"{what} to {error:.0e} m"
        ours = first_within(
            bench, NOSLIP, "field_path", f"{label}: noslip", _tolerances(), reference, error
        )
        steps = ({"step": h} for h in CONTACT_STEPS)
        theirs = first_within(
            bench, "mujoco", "field_path", f"{label}: MuJoCo", steps, reference, error
        )
        compare(bench, [ours], [(theirs, None)], rounds=3)
        for job in (ours, theirs):
            if job:
                bench.value(f"{job.label}: greatest slip", job.notes["slip"], "m/s")
    label = f"{what}: MuJoCo as it comes, step 2e-03"
    stock = bench.prepare("mujoco", "field_path", label, step=2e-3, stock=True)
    if stock:
        bench.time([stock], rounds=3)
        bench.value(f"{label}: greatest slip", stock.notes["slip"], "m/s")
        bench.value(f"{label}: error after 2 s", path_error(stock.answer, reference), "m")
