"""Everything for the eye: plots, equations, scenes, reports, and the studio."""
