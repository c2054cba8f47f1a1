"""The work, as data that every candidate reads: disks, the bicycle, arms and chains.

Needs NumPy only. All numbers are in SI units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

GRAVITY = 9.81
DURATION = 10.0
SAMPLES = 101  # of a path; or 2, its two ends


def times(samples: int) -> np.ndarray:
    """Times at which a path is sampled, s."""
    return np.linspace(0.0, DURATION, samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStart:
    """A thin disk with its contact point at the origin and no yaw: R = Rz(yaw) Rx(tilt) Rz(spin).

    Parameters
    ----------
    tilt : angle between disk and ground, rad.
    w : angular velocity along the frame that yaws and tilts but does not spin, rad/s; its x is
        level, its z the axle.
    """

    tilt: float
    w: tuple[float, float, float]

    @property
    def rates(self) -> tuple[float, float, float]:
        """Rates of yaw, tilt and spin, rad/s."""
        yaw_rate = self.w[1] / sin(self.tilt)
        return yaw_rate, self.w[0], self.w[2] - yaw_rate * cos(self.tilt)

    @property
    def axes(self) -> np.ndarray:
        """R_WB at no yaw and no spin: columns are the level line, up the disk, and the axle."""
        c, s = cos(self.tilt), sin(self.tilt)
        return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])

    @property
    def center(self) -> np.ndarray:
        """Center of the disk, m."""
        return DISK["r"] * self.axes[:, 1]

    @property
    def twist(self) -> tuple[np.ndarray, np.ndarray]:
        """Angular velocity and velocity of the center, world axes."""
        omega = self.axes @ np.array(self.w)
        return omega, np.cross(omega, self.center)


DISK = {"m": 2.0, "r": 0.5, "I_axial": 0.25, "I_transverse": 0.125, "g": GRAVITY}
DISKS: Mapping[str, DiskStart] = {
    "wobbling": DiskStart(tilt=pi / 2 + 0.3, w=(0.5, 1.2, -5.0)),
    "nearly flat": DiskStart(tilt=0.2, w=(0.2, 19.5 * sin(0.2), -19.0 + 19.5 * cos(0.2))),
}


def disk_contact(centers: np.ndarray, axles: np.ndarray) -> np.ndarray:
    """Lowest points of disks with these centers and axles, (n, 3) each."""
    down = np.array([0.0, 0.0, -1.0]) + axles[:, 2:] * axles
    return centers + DISK["r"] * down / np.linalg.norm(down, axis=1)[:, None]


def disk_slip(
    centers: np.ndarray, axles: np.ndarray, omegas: np.ndarray, velocities: np.ndarray
) -> float:
    """Greatest speed of the material point in contact over the samples, m/s."""
    arms = disk_contact(centers, axles) - centers
    return float(np.linalg.norm(velocities + np.cross(omegas, arms), axis=1).max())


#: The benchmark bicycle by the names of Meijaard et al. (2007), x forward, y to the right, z down.
BICYCLE = {
    **{"w": 1.02, "c": 0.08, "lam": pi / 10, "g": GRAVITY, "rR": 0.3, "rF": 0.35},
    **{"mR": 2.0, "IRxx": 0.0603, "IRyy": 0.12, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28},
    **{"xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IBxz": 2.4, "IByy": 11.0, "IBzz": 2.8},
    **{"xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHxz": -0.00756, "IHyy": 0.06},
    "IHzz": 0.00708,
}
#: Hands off, it sets off straight at this speed (m/s) and lean rate (rad/s).
BICYCLE_SPEED = 4.6
BICYCLE_LEAN_RATE = 0.5
#: One general state, Basu-Mandal, Chatterjee and Papadopoulos (2007), table 1, by its names: yaw
#: theta, lean from the ground psi, pitch phi, steer psif, wheel turns betar and betaf, and rates.
BICYCLE_STATE = {
    **{"theta": 0.0, "psi": 0.9501292851472, "phi": 3.1257073014894, "psif": 0.2311385135743},
    **{"thetad": 0.7830033527065, "psid": 0.6068425835418, "phid": -0.0119185528069},
    **{"psifd": 0.4859824687093, "betard": 8.912989661489, "betafd": 8.0133620584155},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link and the hinge that moves it, by modified Denavit–Hartenberg numbers.

    The hinge turns about z of a frame that stands at Rx(alpha) Tx(a) Tz(d) in the link before.

    Parameters
    ----------
    center : mass center in the link's frame, m.
    inertia : Ixx, Iyy, Izz, Ixy, Ixz, Iyz about it, kg m².
    """

    alpha: float
    a: float
    d: float
    mass: float
    center: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]

    @property
    def rotation(self) -> np.ndarray:
        """Of the hinge's frame in the link before; right angles exactly."""
        c, s = round(cos(self.alpha), 15), round(sin(self.alpha), 15)
        return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])

    @property
    def position(self) -> np.ndarray:
        """Of the hinge's frame in the link before, m."""
        return np.array([self.a, 0.0, 0.0]) + self.rotation @ np.array([0.0, 0.0, self.d])

    @property
    def tensor(self) -> np.ndarray:
        """Inertia about the mass center, kg m²."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


#: Six hinges with the proportions of a PUMA 560.
ARM_6 = (
    (0.0, 0.0, 0.0, 10.0, (0.01, -0.02, -0.05), (0.22, 0.24, 0.35, 0.004, -0.003, 0.002)),
    (-pi / 2, 0.0, 0.0, 17.4, (0.2, 0.006, 0.01), (0.13, 0.524, 0.539, 0.01, -0.006, 0.008)),
    (0.0, 0.43, 0.15, 4.8, (0.012, -0.07, 0.014), (0.078, 0.0125, 0.086, -0.002, 0.001, 0.003)),
    (-pi / 2, 0.02, 0.43, 0.82, (0.002, 0.003, -0.019), (0.0018, 0.0018, 0.0013, 1e-4, 0.0, -1e-4)),
    (pi / 2, 0.0, 0.0, 0.34, (0.001, -0.002, 0.004), (3e-4, 3e-4, 4e-4, 0.0, 2e-5, 0.0)),
    (-pi / 2, 0.0, 0.0, 0.09, (0.0, 0.001, 0.032), (1.5e-4, 1.5e-4, 4e-5, 0.0, 0.0, 1e-5)),
)
#: Seven hinges with the proportions of a KUKA iiwa 14.
ARM_7 = (
    (0.0, 0.0, 0.36, 5.76, (0.0, -0.03, 0.12), (0.033, 0.0333, 0.0123, 1e-3, 8e-4, -2e-3)),
    (-pi / 2, 0.0, 0.0, 6.35, (3e-4, 0.059, 0.042), (0.0305, 0.0304, 0.011, -6e-4, 5e-4, 1e-3)),
    (pi / 2, 0.0, 0.42, 3.5, (0.0, 0.03, 0.13), (0.025, 0.0238, 0.0076, 3e-4, -2e-4, 7e-4)),
    (pi / 2, 0.0, 0.0, 3.5, (0.0, 0.067, 0.034), (0.017, 0.0164, 0.006, 1e-4, 2e-4, -4e-4)),
    (-pi / 2, 0.0, 0.4, 3.5, (1e-4, 0.021, 0.076), (0.01, 0.0087, 0.00449, 1e-4, -1e-4, 3e-4)),
    (-pi / 2, 0.0, 0.0, 1.8, (0.0, 6e-4, 4e-4), (0.0049, 0.0047, 0.0036, 5e-5, 1e-5, -2e-5)),
    (pi / 2, 0.0, 0.126, 1.2, (0.0, 1e-3, 0.02), (1e-3, 1.1e-3, 1e-3, 1e-5, 2e-5, 0.0)),
)


def links(name: str) -> tuple[Link, ...]:
    """Links of ``arm 6R``, ``arm 7R`` or ``chain n``: n links of 1 m, hinged across in turn."""
    if name == "arm 6R":
        return _links(ARM_6)
    if name == "arm 7R":
        return _links(ARM_7)
    size = int(name.removeprefix("chain "))
    mass, center, inertia = 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1, 0.0, 0.0, 0.0)
    turns = [0.0] + [(-1) ** k * pi / 2 for k in range(1, size)]
    return _links(
        [(turn, float(k > 0), 0.0, mass, center, inertia) for k, turn in enumerate(turns)]
    )


def _links(table: Sequence[tuple]) -> tuple[Link, ...]:
    names = ("alpha", "a", "d", "mass", "center", "inertia")
    return tuple(Link(**dict(zip(names, row, strict=True))) for row in table)


def hinge_states(size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles, rates and torques of `count` states, (count, size) each."""
    rng = np.random.default_rng(size)
    span = 1.0 if size <= 7 else 0.3
    q, v = rng.uniform(-span, span, (2, count, size))
    return q, v, rng.uniform(-5.0, 5.0, (count, size))


def urdf(chain: Sequence[Link]) -> str:
    """The chain as URDF, for those who read nothing else."""
    parts = ['<robot name="chain"><link name="world"/>']
    for k, link in enumerate(chain):
        xx, yy, zz, xy, xz, yz = link.inertia
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{_text(link.center)}"/>'
            f'<mass value="{link.mass!r}"/><inertia ixx="{xx!r}" iyy="{yy!r}" izz="{zz!r}" '
            f'ixy="{xy!r}" ixz="{xz!r}" iyz="{yz!r}"/></inertial></link>'
            f'<joint name="joint{k}" type="continuous"><axis xyz="0 0 1"/>'
            f'<parent link="{f"link{k - 1}" if k else "world"}"/><child link="link{k}"/>'
            f'<origin xyz="{_text(link.position)}" rpy="{link.alpha!r} 0 0"/></joint>'
        )
    return "".join(parts) + "</robot>"


def _text(vector: Sequence[float]) -> str:
    return " ".join(repr(float(v)) for v in vector)


#: A ball on hills that are given as a grid of heights, m: from rest on a flank, for two seconds.
FIELD = {"half": 5.0, "points": 201, "radius": 0.1, "mass": 1.0, "duration": 2.0}
FIELD_START, FIELD_SAMPLES = (1.0, 0.6), 101


def field_height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The hills."""
    return 0.25 * np.sin(x) * np.cos(0.7 * y)


def field_grid() -> tuple[np.ndarray, np.ndarray]:
    """Places along x and y, and heights, a row for each y."""
    line = np.linspace(-FIELD["half"], FIELD["half"], int(FIELD["points"]))
    return line, field_height(line[None, :], line[:, None])


def field_normals(places: np.ndarray) -> np.ndarray:
    """(n, 3) normals of the hills at (n, 2) places."""
    x, y = places.T
    slopes = 0.25 * np.cos(x) * np.cos(0.7 * y), -0.175 * np.sin(x) * np.sin(0.7 * y)
    normals = np.stack([-slopes[0], -slopes[1], np.ones(len(x))], axis=1)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def field_slip(centers: np.ndarray, omegas: np.ndarray, velocities: np.ndarray) -> float:
    """Greatest speed of the material point in contact over the samples, m/s."""
    places = centers[:, :2]
    for _ in range(50):  # the center is above the contact along the normal
        places = centers[:, :2] - FIELD["radius"] * field_normals(places)[:, :2]
    arms = -FIELD["radius"] * field_normals(places)
    return float(np.linalg.norm(velocities + np.cross(omegas, arms), axis=1).max())
