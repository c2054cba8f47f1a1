"""Works: what is done at each point of a sweep. `base` says what a work answers."""
