"""9 sweep: many runs over a design of points, in a store of chunks that survives its processes."""
