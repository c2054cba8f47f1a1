"""A wobbling disk: where it starts, and the tolerance at which it is exact."""

TIGHT = {"rtol": 1e-12, "atol": 1e-12}


DISK = {"disk.tilt": 1.3, "disk.yaw_rate": 0.3, "disk.tilt_rate": 0.1, "disk.spin_rate": -6.0}
