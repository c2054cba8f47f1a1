"""A model and its motion as something to look at: meshes, poses over time, a camera, a stage."""
