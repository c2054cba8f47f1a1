"""noslip: exact dynamics and control of mechanisms that roll, skate and steer.

    Model ──► Kinematics ──► Equations ──► System ──► Trajectory
    describe   trace          formulate     compile    simulate

The names used daily are listed in ``__init__.pyi``, in the order data flows. Members of families
are in modules beside it: ``noslip.joints``, ``noslip.paths``, ``noslip.controllers``, … Each name
is imported when it is first used, so that ``import noslip`` costs next to nothing.
"""

import sys

__version__ = "0.1.0"


def __getattr__(name):  # type: ignore[no-untyped-def]
    """Import a public name; the error for an unknown one says where it is, or the nearest."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'noslip' has no attribute '{name}'")
    from noslip.base import lend

    return lend(__name__)[0](name)


def __dir__():  # type: ignore[no-untyped-def]
    """Every public name."""
    from noslip.base import lend

    return lend(__name__)[1]()


# in a notebook, equations show as mathematics without anybody asking
if "IPython" in sys.modules:
    from noslip.show import install_displays

    install_displays()
    del install_displays

del sys
