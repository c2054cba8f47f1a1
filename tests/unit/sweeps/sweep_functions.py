"""Functions that sweeps of the tests run, importable by other processes."""

import os
import time


def logged(point):
    """x² of a point; says in a file that it was asked."""
    with open(os.environ["SWEEP_LOG"], "a") as log:
        log.write(f"{point['x']!r} {time.time()!r}\n")
    time.sleep(float(os.environ.get("SWEEP_SLEEP", "0")))
    if point["x"] == 13:
        raise ValueError("unlucky")
    return {"square": point["x"] ** 2, "cube": point["x"] ** 3}
