"""3D scenes of a model and its motion: meshes, poses over time, camera, stage, films."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
