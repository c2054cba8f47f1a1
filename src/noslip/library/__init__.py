"""Ready models: the papers' systems, a chapter for each group of authors, and the classics.

To add one: a function without arguments that returns a `Model`, or a model file, and a line in
`MODELS`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
