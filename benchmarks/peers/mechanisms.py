"""Forward dynamics of arms and chains, by noslip, Pinocchio, MuJoCo and Drake."""

from __future__ import annotations

import numpy as np

from bench import NOSLIP, Bench, Prepared
from problems import hinge_states, links
from references import hinge_error

AGREEMENT = 1e-9  # of torques that accelerations lead back to, relative to the largest
CHAINS = (8, 32, 128, 512)
LONGEST = {"mujoco": 512, "drake": 128}
TARGETS = {"arm 7R": 6.0, "chain 512": 2.0}
PEERS = {
    "pinocchio": "Pinocchio's aba in its C++ loop",
    "mujoco": "MuJoCo's mj_forward from Python",
    "drake": "Drake's CalcTimeDerivatives from Python",
}


def right(bench: Bench, name: str, job: Prepared) -> str:
    """Nothing if a job's accelerations are right, else what is wrong."""
    chain = links(name)
    q, v, torques = (table[0] for table in hinge_states(len(chain), _count(name)))
    off = hinge_error(chain, q, v, torques, np.array(job.answer))
    bench.checks[job.label] = off
    return "" if off <= AGREEMENT else f"torques are off by {off:.1e}"


def _count(name: str) -> int:
    return max(16, 2000 // len(links(name)))


def forward(bench: Bench, name: str) -> None:
    """Accelerations of one mechanism from states and torques."""
    what, count = f"{name}, forward dynamics", _count(name)
    options = {"name": name, "count": count}
    ours = bench.prepare(NOSLIP, "hinges", f"{what}: noslip", **options)
    jobs = [ours]
    if name.startswith("arm"):
        label = f"{what}: noslip, the robot's numbers as arguments"
        jobs.append(bench.prepare(NOSLIP, "hinges", label, as_arguments=True, **options))
    wrong = [right(bench, name, job) for job in jobs]
    peers = []
    for peer, words in PEERS.items():
        if len(links(name)) <= LONGEST.get(peer, 10**6):
            peers.append(bench.prepare(peer, "hinges", f"{what}: {words}", **options))
    peers = [job for job in peers if job]
    bench.time([*jobs, *peers], rounds=8, seconds=0.05)
    for job in peers:
        is_loop = job.worker.name == "pinocchio"
        theirs = right(bench, name, job)
        for mine, why in zip(jobs, wrong, strict=True):
            target = TARGETS.get(name) if is_loop and mine is ours else None
            if mine is ours or is_loop:
                bench.faster(mine, job, at_least=target, wrong=why or theirs)
    bench.notes[f"operations of {name}"] = ours.notes["operations"]
    bench.value(ours.label, 1e6 * bench.wall[ours.label], "µs")


def all_mechanisms(bench: Bench) -> None:
    """Arms, then chains of growing length."""
    for name in ("arm 6R", "arm 7R", *(f"chain {n}" for n in CHAINS)):
        forward(bench, name)
