"""Ready models, one file each: the papers' systems and the classics.

To add one: a module with `build() -> Model`, or a model file, and a line in `MODELS`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
