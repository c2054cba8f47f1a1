"""DOP853, the Runge–Kutta method of order 8 with errors of orders 5 and 3: numbers and arithmetic.

The method has 12 stages, a thirteenth that is the first of the next step, and three more for a
dense output of order 7. Letters are those of the book: stage s is evaluated at time t + c_s h and
state y + h Σ_j a_sj k_j, and

    y_new = y + h Σ_j b_j k_j
    error vectors  h Σ_j e5_j k_j  and  h Σ_j e3_j k_j
    dense output   y(t + θh) = y + θ(F0 + (1−θ)(F1 + θ(F2 + (1−θ)(F3 + θ(F4 + (1−θ)(F5 + θ F6))))))
    F0 = y_new − y,  F1 = h k_0 − F0,  F2 = 2 F0 − h (k_0 + k_12),  F_{3+r} = h Σ_j d_rj k_j

Rows 0 to 11 of A are the stages, row 12 is b, rows 13 to 15 are the stages of the dense output.
All stages count from 0. The functions below are compiled into the native loop; k_j is row j of K,
whose rows are ``row`` values apart.

References
----------
[HairerNorsettWanner1993], cited without equation numbers: the numbers are those of the authors'
program.
"""

from __future__ import annotations

import math

import numpy as np

from noslip.simulation.native import fused

NUM_STAGES = 12
NUM_STAGES_DENSE = 16
NUM_DENSE_TERMS = 7
# The dense output u misses its differential equation by h u' − h f(u). The largest error of u in a
# step is 0.09 to 0.17 of that at DEFECT_AT, over all models and tolerances tried.
DEFECT_AT, DEFECT_SHARE = 0.7, 0.13

# The nonzero coefficients of each row, by column.
_A: tuple[dict[int, float], ...] = (
    {},
    {0: 0.05260015195876773},
    {0: 0.0197250569845379, 1: 0.0591751709536137},
    {0: 0.02958758547680685, 2: 0.08876275643042054},
    {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    {
        0: 0.03709200011850479,
        3: 0.17038392571223998,
        4: 0.10726203044637328,
        5: -0.015319437748624402,
        6: 0.008273789163814023,
    },
    {
        0: 0.6241109587160757,
        3: -3.3608926294469414,
        4: -0.868219346841726,
        5: 27.59209969944671,
        6: 20.154067550477894,
        7: -43.48988418106996,
    },
    {
        0: 0.47766253643826434,
        3: -2.4881146199716677,
        4: -0.590290826836843,
        5: 21.230051448181193,
        6: 15.279233632882423,
        7: -33.28821096898486,
        8: -0.020331201708508627,
    },
    {
        0: -0.9371424300859873,
        3: 5.186372428844064,
        4: 1.0914373489967295,
        5: -8.149787010746927,
        6: -18.52006565999696,
        7: 22.739487099350505,
        8: 2.4936055526796523,
        9: -3.0467644718982196,
    },
    {
        0: 2.273310147516538,
        3: -10.53449546673725,
        4: -2.0008720582248625,
        5: -17.9589318631188,
        6: 27.94888452941996,
        7: -2.8589982771350235,
        8: -8.87285693353063,
        9: 12.360567175794303,
        10: 0.6433927460157636,
    },
    {
        0: 0.054293734116568765,
        5: 4.450312892752409,
        6: 1.8915178993145003,
        7: -5.801203960010585,
        8: 0.3111643669578199,
        9: -0.1521609496625161,
        10: 0.20136540080403034,
        11: 0.04471061572777259,
    },
    {
        0: 0.056167502283047954,
        6: 0.25350021021662483,
        7: -0.2462390374708025,
        8: -0.12419142326381637,
        9: 0.15329179827876568,
        10: 0.00820105229563469,
        11: 0.007567897660545699,
        12: -0.008298,
    },
    {
        0: 0.03183464816350214,
        5: 0.028300909672366776,
        6: 0.053541988307438566,
        7: -0.05492374857139099,
        10: -0.00010834732869724932,
        11: 0.0003825710908356584,
        12: -0.00034046500868740456,
        13: 0.1413124436746325,
    },
    {
        0: -0.42889630158379194,
        5: -4.697621415361164,
        6: 7.683421196062599,
        7: 4.06898981839711,
        8: 0.3567271874552811,
        12: -0.0013990241651590145,
        13: 2.9475147891527724,
        14: -9.15095847217987,
    },
)

_D = (
    {
        0: -8.428938276109013,
        5: 0.5667149535193777,
        6: -3.0689499459498917,
        7: 2.38466765651207,
        8: 2.117034582445028,
        9: -0.871391583777973,
        10: 2.2404374302607883,
        11: 0.6315787787694688,
        12: -0.08899033645133331,
        13: 18.148505520854727,
        14: -9.194632392478356,
        15: -4.436036387594894,
    },
    {
        0: 10.427508642579134,
        5: 242.28349177525817,
        6: 165.20045171727028,
        7: -374.5467547226902,
        8: -22.113666853125306,
        9: 7.733432668472264,
        10: -30.674084731089398,
        11: -9.332130526430229,
        12: 15.697238121770845,
        13: -31.139403219565178,
        14: -9.35292435884448,
        15: 35.81684148639408,
    },
    {
        0: 19.985053242002433,
        5: -387.0373087493518,
        6: -189.17813819516758,
        7: 527.8081592054236,
        8: -11.57390253995963,
        9: 6.8812326946963,
        10: -1.0006050966910838,
        11: 0.7777137798053443,
        12: -2.778205752353508,
        13: -60.19669523126412,
        14: 84.32040550667716,
        15: 11.99229113618279,
    },
    {
        0: -25.69393346270375,
        5: -154.18974869023643,
        6: -231.5293791760455,
        7: 357.6391179106141,
        8: 93.40532418362432,
        9: -37.45832313645163,
        10: 104.0996495089623,
        11: 29.8402934266605,
        12: -43.53345659001114,
        13: 96.32455395918828,
        14: -39.17726167561544,
        15: -149.72683625798564,
    },
)

_E5 = {
    0: 0.01312004499419488,
    5: -1.2251564463762044,
    6: -0.4957589496572502,
    7: 1.6643771824549864,
    8: -0.35032884874997366,
    9: 0.3341791187130175,
    10: 0.08192320648511571,
    11: -0.022355307863886294,
}

_B3 = {0: 0.2440944881889764, 8: 0.7338466882816118, 11: 0.022058823529411766}

C = np.array(
    [
        0.0,
        0.05260015195876773,
        0.0789002279381516,
        0.1183503419072274,
        0.2816496580927726,
        0.3333333333333333,
        0.25,
        0.3076923076923077,
        0.6512820512820513,
        0.6,
        0.8571428571428571,
        1.0,
        1.0,
        0.1,
        0.2,
        0.7777777777777778,
    ]
)


def _filled(rows: tuple[dict[int, float], ...], num_columns: int) -> np.ndarray:
    """Matrix with the given nonzero entries of each row."""
    matrix = np.zeros((len(rows), num_columns))
    for row, entries in zip(matrix, rows, strict=True):
        row[list(entries)] = list(entries.values())
    return matrix


A = _filled(_A, NUM_STAGES_DENSE)
B = A[NUM_STAGES, :NUM_STAGES].copy()
D = _filled(_D, NUM_STAGES_DENSE)

# The weights of the stages in the error of order 5, and those of b minus the method of order 3.
E5 = _filled((_E5,), NUM_STAGES)[0]
E3 = B - _filled((_B3,), NUM_STAGES)[0]

DENSE_STAGES = np.array([j for j in range(NUM_STAGES_DENSE) if D[:, j].any()])


@fused
def error_norm(e5, e3, n, h, y, y_new, absolute, relative):
    """Norm of a step's error over the tolerances: h ‖e5‖² / √(n (‖e5‖² + ‖e3‖²/100)).

    Given are the errors Σ_j e5_j k_j and Σ_j e3_j k_j.
    """
    e5_squared, e3_squared = 0.0, 0.0
    for i in range(n):
        share = 1.0 / (absolute[i] + relative * max(abs(y[i]), abs(y_new[i])))
        e5_squared += (e5[i] * share) ** 2
        e3_squared += (e3[i] * share) ** 2
    if e5_squared == 0.0 and e3_squared == 0.0:
        return 0.0
    return h * e5_squared / math.sqrt(n * (e5_squared + 0.01 * e3_squared))


@fused
def cubic_terms(K, row, n, h, y, y_new, F):
    """Terms F0 to F2 of the dense output, which alone are the cubic Hermite polynomial."""
    end = NUM_STAGES * row
    for i in range(n):
        change = y_new[i] - y[i]
        F[i] = change
        F[n + i] = h * K[i] - change
        F[2 * n + i] = 2.0 * change - h * (K[i] + K[end + i])
    for i in range(3 * n, NUM_DENSE_TERMS * n):
        F[i] = 0.0


@fused
def higher_terms(K, row, n, h, F):
    """Terms F3 to F6, from all 16 stages, after the cubic ones."""
    for i in range(n):
        f3, f4, f5, f6 = 0.0, 0.0, 0.0, 0.0
        for j in DENSE_STAGES:
            k = K[j * row + i]
            f3 += D[0, j] * k
            f4 += D[1, j] * k
            f5 += D[2, j] * k
            f6 += D[3, j] * k
        F[3 * n + i] = h * f3
        F[4 * n + i] = h * f4
        F[5 * n + i] = h * f5
        F[6 * n + i] = h * f6


@fused
def dense_slope(F, n, theta, out):
    """Derivative of the dense output by θ, which is h times its rate, into out."""
    for i in range(n):
        total, slope = 0.0, 0.0
        for r in range(NUM_DENSE_TERMS - 1, -1, -1):
            total += F[r * n + i]
            factor = theta if r % 2 == 0 else 1.0 - theta
            slope = slope * factor + (total if r % 2 == 0 else -total)
            total *= factor
        out[i] = slope


@fused
def dense_state(F, n, theta, y, out):
    """State at t + θh into out: y + θ(F0 + (1−θ)(F1 + θ(F2 + …)))."""
    for i in range(n):
        total = 0.0
        for r in range(NUM_DENSE_TERMS - 1, -1, -1):
            total = (total + F[r * n + i]) * (theta if r % 2 == 0 else 1.0 - theta)
        out[i] = y[i] + total
