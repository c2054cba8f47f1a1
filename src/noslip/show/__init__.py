"""Output for people: plots, equations, scenes, animations, reports, run folders."""
