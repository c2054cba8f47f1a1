"""Numbers for batches, and the single runs to compare them with."""

import numpy as np

import noslip as ns

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
#: A run alone and a run in a batch take the same steps; what differs is rounding and its growth,
#: and how samples within steps are found, each to the tolerance of the run.
SAME = {"rtol": 1e-9, "atol": 1e-9}
COUNT, MANY = 11, 37
QUATERNION = ("qw", "qx", "qy", "qz")


def varied(rng, nominal, share=0.05, count=COUNT):
    """Numbers near a nominal one, one for each trajectory."""
    return nominal * (1.0 + share * rng.normal(size=count))


def starts_of_disks():
    """Starts of a batch of rolling disks, near one of them."""
    rng = np.random.default_rng(7)
    return {
        "disk.tilt": varied(rng, 1.3),
        "disk.yaw_rate": 0.3,
        "disk.tilt_rate": varied(rng, 0.1),
        "disk.spin_rate": varied(rng, -6.0, 0.2),
    }


def one(values, k):
    """What trajectory k has of numbers that are shared or differ."""
    return {n: float(np.broadcast_to(v, COUNT)[k]) for n, v in (values or {}).items()}


def alone(system, k, *, starts=None, parameters=None, numbers=None, definitions=None, **kwargs):
    """The same trajectory by `simulate`."""
    texts = {n: repr(x) for n, x in one(numbers, k).items()} | (definitions or {})
    return ns.simulate(
        system,
        start=one(starts, k),
        parameters=one(parameters, k),
        definitions=texts,
        on_failure="return",
        **kwargs,
    )


def compare(batch, runs, names):
    """Samples, ends, endings and steps of a batch and of single runs."""
    for k, run in enumerate(runs):
        assert batch.endings[k] is run.ending
        assert batch.message(k) == run.message
        np.testing.assert_allclose(batch.t[k], run.t[-1], **SAME)
        assert (batch.steps[k], batch.rejections[k]) == (run.steps, run.rejections)
        count = len(run.t) - (run.ending is ns.Ending.EVENT)
        for name in names:
            np.testing.assert_allclose(batch.samples[name][k][:count], run[name][:count], **SAME)
            assert np.all(np.isnan(batch.samples[name][k][count:]))
            np.testing.assert_allclose(batch.final[name][k], run[name][-1], **SAME)
