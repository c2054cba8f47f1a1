"""3D scenes of a model and its motion: meshes, poses over time, camera, stage, films."""
