"""Linearized equations of the bicycle, written out [MeijaardPapadopoulosRuinaSchwab2007]."""

from math import cos, sin

import numpy as np

Array = np.ndarray


def canonical_matrices(p: dict[str, float]) -> tuple[Array, Array, Array, Array]:
    """M, C₁, K₀, K₂ of M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f, q = (lean, steer), in the paper's axes.

    Letters as in the paper: T the whole bicycle, A the front assembly, μ the ratio by which steer
    turns the rear frame.
    """
    w, c, lam = p["w"], p["c"], p["lam"]
    mR, mB, mH, mF = (p[f"m{k}"] for k in "RBHF")
    rR, rF, xB, zB, xH, zH = p["rR"], p["rF"], p["xB"], p["zB"], p["xH"], p["zH"]
    s, k = sin(lam), cos(lam)
    # the whole
    mT = mR + mB + mH + mF
    xT = (xB * mB + xH * mH + w * mF) / mT
    zT = (-rR * mR + zB * mB + zH * mH - rF * mF) / mT
    ITxx = p["IRxx"] + p["IBxx"] + p["IHxx"] + p["IFxx"]
    ITxx += mR * rR**2 + mB * zB**2 + mH * zH**2 + mF * rF**2
    ITxz = p["IBxz"] + p["IHxz"] - mB * xB * zB - mH * xH * zH + mF * w * rF
    ITzz = p["IRxx"] + p["IBzz"] + p["IHzz"] + p["IFxx"] + mB * xB**2 + mH * xH**2 + mF * w**2
    # the front
    mA = mH + mF
    xA, zA = (xH * mH + w * mF) / mA, (zH * mH - rF * mF) / mA
    IAxx = p["IHxx"] + p["IFxx"] + mH * (zH - zA) ** 2 + mF * (rF + zA) ** 2
    IAxz = p["IHxz"] - mH * (xH - xA) * (zH - zA) + mF * (w - xA) * (rF + zA)
    IAzz = p["IHzz"] + p["IFxx"] + mH * (xH - xA) ** 2 + mF * (w - xA) ** 2
    uA = (xA - w - c) * k - zA * s
    IAll = mA * uA**2 + IAxx * s**2 + 2 * IAxz * s * k + IAzz * k**2
    IAlx = -mA * uA * zA + IAxx * s + IAxz * k
    IAlz = mA * uA * xA + IAxz * s + IAzz * k
    # trail, gyrostatic coefficients, static moment
    mu = c / w * k
    SF = p["IFyy"] / rF
    ST = p["IRyy"] / rR + SF
    SA = mA * uA + mu * mT * xT
    coupling = IAlx + mu * ITxz
    M = [[ITxx, coupling], [coupling, IAll + 2 * mu * IAlz + mu**2 * ITzz]]
    K0 = [[mT * zT, -SA], [-SA, -SA * s]]
    K2 = [[0.0, (ST - mT * zT) / w * k], [0.0, (SA + SF * s) / w * k]]
    C1 = [
        [0.0, mu * ST + SF * k + ITxz / w * k - mu * mT * zT],
        [-(mu * ST + SF * k), IAlz / w * k + mu * (SA + ITzz / w * k)],
    ]
    return np.array(M), np.array(C1), np.array(K0), np.array(K2)
