"""7 control: paths, the laws by which time runs along them, and what makes a mechanism follow.

Reference motions and the inputs they need, controllers, sensors, estimators, plants that differ
from the model, driving by hand; `track` and `run_scenario` put them together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
