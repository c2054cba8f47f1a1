"""Colors as people see them, those too who lack a kind of cones."""

import numpy as np

#: OKLab [Ottosson 2020], from linear sRGB by way of cone responses.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
#: Linear sRGB as it is seen without cones of a kind [Machado 2009, severity 1].
WITHOUT = {
    "none": np.eye(3),
    "green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "blue": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(rgb):
    """(…, 3) linear sRGB of values from 0 to 1."""
    rgb = np.asarray(rgb, dtype=float)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(light):
    """(…, 3) lightness and two opponents of linear sRGB, in hundredths: 1 is just seen."""
    return 100.0 * np.cbrt(light @ CONES.T) @ OPPONENTS.T


def contrast(first, second):
    """Ratio of luminances of two colors of linear sRGB, as WCAG has it."""
    low, high = sorted(0.05 + light @ [0.2126, 0.7152, 0.0722] for light in (first, second))
    return high / low
