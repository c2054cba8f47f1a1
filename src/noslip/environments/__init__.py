"""Environments of Gymnasium: tasks on library models, stepped natively, one or many at once."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
