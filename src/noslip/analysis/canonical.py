"""The equations of small motions about straight running, as a polynomial in the speed.

Small lean and steer of a bicycle that runs straight at speed v follow
[MeijaardPapadopoulosRuinaSchwab2007]

    (1)  M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f

The same form holds for any vehicle whose steady motions straight ahead differ in v alone, if the
other speeds do not couple with q. M, the matrix of q̇ and that of q are exact derivatives, made by
`linearization.py` at a speed; they are polynomials in v and g of known degree, so their
coefficients follow from their values at v = 0 and 1. Those at v = 2 and at twice the
gravity must then agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noslip.analysis.linearization import Linearization, linearize
from noslip.base import Array, SimulationError, nearest
from noslip.engines import System, require_system
from noslip.model import Quantity

#: What may differ from the form (1), relative to the largest entry.
_AGREE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CanonicalForm:
    """The matrices of (1), with names. Made by :func:`canonical_form`."""

    coordinates: tuple[Quantity, ...]  #: (n,) q
    inputs: tuple[Quantity, ...]  #: (nu,) force inputs u, with f = F u
    #: M, C1, K0, K2: (n, n)
    M: Array
    C1: Array
    K0: Array
    K2: Array
    F: Array  #: (n, nu)

    def eigenvalues(self, speed: float, gravity: float) -> np.ndarray:
        """(2n,) λ with det(λ² M + λ v C₁ + g K₀ + v² K₂) = 0, those that grow fastest first."""
        n = len(self.M)
        if not np.isfinite([speed, gravity]).all():
            raise SimulationError(
                f"the speed is {speed:g} and gravity {gravity:g}",
                "eigenvalues of a canonical form",
                "give finite numbers, m/s and m/s²",
            )
        stiffness = gravity * self.K0 + speed**2 * self.K2
        below = -np.linalg.solve(self.M, np.hstack([stiffness, speed * self.C1]))
        values = np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), below]))
        return np.asarray(values[np.lexsort((-values.imag, -values.real))])

    def __repr__(self) -> str:
        names = ", ".join(f"{c.name} [{c.unit}]" for c in self.coordinates)
        return (
            f"CanonicalForm in {names}\n"
            "next: .M, .C1, .K0, .K2, .F, .eigenvalues(speed=…, gravity=…)"
        )


def canonical_form(
    system: System,
    *,
    speed: str,
    gravity: str,
    about: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> CanonicalForm:
    """Compute M, C₁, K₀ and K₂ of (1).

    Parameters
    ----------
    system : compiled system.
    speed : name of the speed v, such as ``speed``.
    gravity : name of the parameter g.
    about : coordinates of the straight motion; the joints' rest positions by default.
    parameters : values that differ from the nominal ones.
    time : s, as in :func:`linearize`.

    Raises
    ------
    SimulationError : if small motions are not of the form (1).
    """
    require_system("canonical_form", system)
    known = [p.name for p in system.model.parameters]
    where = f"canonical form of model '{system.model.name}'"
    if gravity not in known:
        raise SimulationError(f"there is no parameter '{gravity}'", where, nearest(gravity, known))
    g = float(system.parameters(parameters)[known.index(gravity)])

    def at(v: float, weight: float) -> tuple[Array, Array, Array, Linearization]:
        line = linearize(
            system,
            {**(about or {}), speed: v},
            parameters={**(parameters or {}), gravity: weight},
            time=time,
        )
        return *_second_order(line, where), line

    M, C, K, line = at(0.0, g)
    _, C_1, K_1, _ = at(1.0, g)
    C1, K2, K0 = C_1 - C, K_1 - K, K / g
    for v, weight in ((2.0, g), (1.0, 2 * g)):
        M_there, C_there, K_there, _ = at(v, weight)
        _check(M_there, M, "mass", v, where)
        _check(C_there, v * C1, "damping", v, where)
        _check(K_there, weight * K0 + v**2 * K2, "stiffness", v, where)
    rows = _rate_rows(line, where)
    num = len(system.model.inputs)
    return CanonicalForm(
        coordinates=line.coordinates,
        inputs=line.inputs[:num],
        M=M,
        C1=C1,
        K0=K0,
        K2=K2,
        F=line.forcing[rows, :num],
    )


def _second_order(line: Linearization, where: str) -> tuple[Array, Array, Array]:
    """Matrices of q̈, q̇ and q, where no other speed takes part."""
    rows = _rate_rows(line, where)
    others = [k for k in range(len(line.speeds)) if k not in rows]
    for name, matrix in (("mass", line.mass), ("damping", line.damping)):
        coupling = matrix[np.ix_(rows, others)]
        _check(coupling, 0 * coupling, f"coupled {name}", line.values, where, size=matrix)
    block = np.ix_(rows, rows)
    return line.mass[block], line.damping[block], line.stiffness[rows]


def _rate_rows(line: Linearization, where: str) -> list[int]:
    """Places in ζ of the rates of the independent coordinates."""
    num = len(line.coordinates)
    rates = line.A[:num]
    rows = []
    for k in range(num):
        exact = np.flatnonzero(np.abs(rates[k]) > _AGREE)
        if len(exact) != 1 or exact[0] < num or abs(rates[k, exact[0]] - 1.0) > _AGREE:
            raise SimulationError(
                f"the rate of '{line.coordinates[k].name}' is not one of the speeds "
                f"{', '.join(s.name for s in line.speeds)}",
                where,
                "use linearize(), which needs no such form",
            )
        rows.append(int(exact[0]) - num)
    return rows


def _check(
    found: Array, expected: Array, name: str, at: object, where: str, size: Array | None = None
) -> None:
    """Refuse what differs from the form (1)."""
    largest = max(
        float(np.max(np.abs(e), initial=0.0)) for e in (expected, found if size is None else size)
    )
    if np.max(np.abs(found - expected), initial=0.0) > _AGREE * max(largest, 1e-300):
        raise SimulationError(
            f"the {name} matrix at v = {at} is not of the form M, v C1, g K0 + v² K2",
            where,
            "use linearize() at each speed, which needs no such form",
        )
