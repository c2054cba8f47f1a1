"""HTML report of a run, a self-contained page: task, motion, and the checks of its results."""
