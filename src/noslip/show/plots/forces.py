"""What wheels ask of the ground: friction demand and load, with what other splits would make it."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from noslip.analysis.audit import Audit
from noslip.show.plots.curves import Array, Curve, Panel
from noslip.show.plots.panels import draw
from noslip.show.plots.style import INK

#: Ground that holds this many times what is drawn is not drawn.
FAR = 6.0


def friction_panels(audit: Audit) -> list[Panel]:
    """Friction demand and load of each wheel whose load is known."""
    demands, loads = [], []
    top = 0.01
    for wheel in audit.loaded:
        demands.append(Curve(label=wheel.name, x=audit.t, y=wheel.demand, band=wheel.demand_range))
        loads.append(Curve(label=wheel.name, x=audit.t, y=wheel.normal, band=wheel.normal_range))
        steady, widest = _usual(wheel.demand), _usual(wheel.demand_range[:, 1])
        top = max(top, 1.5 * steady, min(1.05 * widest, 3.0 * steady))
    if any(wheel.is_shared for wheel in audit.loaded):
        demands.append(
            Curve(label="best split", x=audit.t, y=audit.required, color=INK, dashes=(1.2, 1.3))
        )
    if audit.friction is not None:
        is_near = audit.friction < FAR * top
        top = max(top, 1.2 * audit.friction) if is_near else top
        label = "ground" if is_near else f"ground ({audit.friction:g}, above)"
        ground = np.full(len(audit.t), audit.friction)
        demands.append(Curve(label=label, x=audit.t, y=ground, color=INK, dashes=(4.0, 1.6)))
    # a wheel that lifts asks for no end of friction; a load below zero would have to pull
    known = [x[np.isfinite(x)] for w in audit.loaded for x in (w.normal, w.normal_range)]
    lowest = min((float(x.min()) for x in known if x.size), default=0.0)
    return [
        Panel(name="friction demand", unit="1", curves=tuple(demands), bottom=0.0, top=top),
        Panel(name="normal load", unit="N", curves=tuple(loads), bottom=min(0.0, 1.06 * lowest)),
    ]


def _usual(demand: Array) -> float:
    """The largest demand but for a few moments."""
    finite = demand[np.isfinite(demand)]
    return float(np.quantile(finite, 0.99)) if finite.size else 0.0


def friction_figure(audit: Audit, *, title: str = "", size: str = "page") -> Figure:
    """Both, one above the other; shaded, what other splits of the forces would make them."""
    return draw(friction_panels(audit), title=title, size=size)
