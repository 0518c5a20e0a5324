"""The statistics of lap and corner times: quantiles, box plots, deviations."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers


class Box(NamedTuple):
    """A box plot by Tukey's rule."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    """*low* and *high* are the whiskers: the outermost values within 1.5 interquartile ranges."""
    low_fence: float
    high_fence: float

    @property
    def iqr(self) -> float:
        """Interquartile range."""
        return self.q3 - self.q1

    def is_outlier(self, value: float) -> bool:
        """Whether a value lies strictly outside the fences."""
        return value < self.low_fence or value > self.high_fence


def quantile(values: npt.ArrayLike, share: float) -> float | None:
    """Return the value below which *share* of the values lie, interpolated linearly.

    NaN is left out; None if nothing is left.
    """
    finite = _drop_nan(values)
    return float(np.quantile(finite, share)) if len(finite) else None


def box_plot(values: npt.ArrayLike) -> Box | None:
    """Return quartiles, whiskers and fences; NaN is left out, None if nothing is left."""
    finite = _drop_nan(values)
    if not len(finite):
        return None
    q1, median, q3 = np.quantile(finite, [0.25, 0.5, 0.75]).tolist()
    reach = 1.5 * (q3 - q1)
    inside = finite[(finite >= q1 - reach) & (finite <= q3 + reach)]
    low, high = (float(inside.min()), float(inside.max())) if len(inside) else (q1, q3)
    return Box(low, q1, median, q3, high, q1 - reach, q3 + reach)


def deviation(values: npt.ArrayLike, *, sample: bool) -> float | None:
    """Return the standard deviation of a *sample* (n - 1; 0 for one value) or of a population.

    NaN is left out; None if nothing is left.
    """
    finite = _drop_nan(values)
    if not len(finite):
        return None
    if len(finite) == 1:
        return 0.0
    return float(np.std(finite, ddof=1 if sample else 0))


def _drop_nan(values: npt.ArrayLike) -> Numbers:
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]
