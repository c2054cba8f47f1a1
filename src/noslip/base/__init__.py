"""What every other package stands on and no user asks for: plumbing.

Errors with what, where and fix; reading and atomic writing of files; formats by suffix; families of
classes that others can extend; optional packages; progress; Ctrl-C; limits of memory; caches.
Nothing here knows mechanics.

The names that other packages may use are listed in ``__init__.pyi`` and imported when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
