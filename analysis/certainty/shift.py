"""Is the last third of a series like its first? A test for values that follow one another, such as latencies window by window.

Tested is how far the mean logarithm of the last third is from that of the first. How far chance alone moves it is read from the scatter
about a smooth curve through the whole series: a trend is what is looked for, and must not count as noise that would hide it.

Windows that follow one another scatter less about such a curve than about what they will be later. How closely they do can't be
learnt from so few, and noise hides it. So it isn't estimated: an AR(1) of ALLOWED is allowed for, whatever the series looks like.
Under that model difference over scatter is Student's t, stretched by a known factor, with Satterthwaite's degrees of freedom. Series
whose values follow one another less are called unsteady too rarely; those of which more is left than ALLOWED, too often.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

ALLOWED = 0.5  # how much of a window's deviation is left in the next one
_CURVE_DEGREE = 3
_NOTHING = 1e-9  # of a logarithm
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shift:
    """`log_ratio`: the last third's mean logarithm less the first's. `p`: how often a steady series has them so far apart."""

    log_ratio: Floats
    p: Floats


def shift(logs: Floats) -> Shift:
    """Of series of logarithms along the last axis, whose length three divides. One without any scatter has p 1 or 0."""
    model = _model(logs.shape[-1])
    log_ratio = logs @ model.contrast
    scatter = np.sqrt(((logs @ model.residual) ** 2).sum(axis=-1))
    error = np.maximum(scatter, _NOTHING) * model.stretch
    return Shift(log_ratio, 2 * t.sf(np.abs(log_ratio) / error, model.freedom))


@dataclass(frozen=True)
class _Model:
    """Of series of one length, as matrices: what takes the curve out of them and what the thirds' means differ by; and, under an AR(1)
    of ALLOWED, the error of that difference over the scatter left, and that scatter's degrees of freedom.
    """

    residual: Floats
    contrast: Floats
    stretch: float
    freedom: float


@cache
def _model(length: int) -> _Model:
    places = np.arange(length)
    curve = np.vander(np.linspace(-1, 1, length), _CURVE_DEGREE + 1)
    residual = np.eye(length) - curve @ np.linalg.pinv(curve)
    third = length // 3
    contrast = np.repeat([-1.0, 0.0, 1.0], third) / third
    covariance = ALLOWED ** np.abs(np.subtract.outer(places, places)).astype(float)
    left = residual @ covariance  # its trace is the scatter's square on the average
    scatter = float(np.trace(left))
    return _Model(
        residual,
        contrast,
        stretch=float(np.sqrt(contrast @ covariance @ contrast / scatter)),
        freedom=scatter**2 / float((left * left.T).sum()),
    )
