"""One trajectory: the native loop of `simulate`."""
