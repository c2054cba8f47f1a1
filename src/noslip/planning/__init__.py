"""8 plan: optimal motions from a start to a goal, by direct transcription of a system.

A problem is read into rows (`problem`), collocated (`transcription`), solved by IPOPT on our native
derivatives (`program`), and the inputs that are found are replayed exactly (`planned`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
