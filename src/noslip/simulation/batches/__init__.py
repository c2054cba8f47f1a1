"""Many trajectories at once: how `simulate_batch` works."""
