"""Units of measured values, and the decimals each is shown with."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

KMH: Final = 3.6
"""Kilometres an hour of one metre a second."""


def round_to(value: float, digits: int) -> float:
    """Round to *digits* decimals, never to -0; NaN and infinity stay as they are."""
    return round(value, digits) + 0.0 if math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Decimals:
    """Marks how a float is written in an answer; the value itself keeps all its digits."""

    digits: int

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], dict[str, object]]
    ) -> dict[str, object]:
        """Tell pydantic to write the value with `write`."""
        write = {
            "type": "function-plain",
            "function": self.write,
            "return_schema": {"type": "float"},
        }
        return {**handler(source), "serialization": write}

    def write(self, value: float) -> float:
        """Round the value for an answer."""
        return round_to(value, self.digits)


Seconds: TypeAlias = Annotated[float, Decimals(3)]
Seconds4: TypeAlias = Annotated[float, Decimals(4)]
Tenths: TypeAlias = Annotated[float, Decimals(1)]
"""Of a second."""
Metres: TypeAlias = Annotated[float, Decimals(1)]
Metres2: TypeAlias = Annotated[float, Decimals(2)]
Kmh: TypeAlias = Annotated[float, Decimals(1)]
Bar: TypeAlias = Annotated[float, Decimals(1)]
Hertz: TypeAlias = Annotated[float, Decimals(3)]
Gravity: TypeAlias = Annotated[float, Decimals(3)]
Share: TypeAlias = Annotated[float, Decimals(4)]
"""From 0 to 1."""
Quality: TypeAlias = Annotated[float, Decimals(3)]
"""From 0 to 1, coarser."""
Percent: TypeAlias = Annotated[float, Decimals(1)]
FinePercent: TypeAlias = Annotated[float, Decimals(2)]
Degrees: TypeAlias = Annotated[float, Decimals(7)]
"""Of latitude and longitude: a centimetre."""


def round_to_sum(values: Sequence[float], total: float, digits: int) -> list[float]:
    """Round the values so that they add up to the rounded total.

    All are rounded to the nearest step, except for as few as needed, which are rounded the other
    way: those closest to the middle.
    """
    unit = 10**digits
    scaled = [value * unit for value in values]
    whole = [math.floor(value + 0.5) for value in scaled]
    short = math.floor(total * unit + 0.5) - sum(whole)
    step = 1 if short > 0 else -1
    order = sorted(range(len(whole)), key=lambda i: (step * (whole[i] - scaled[i]), i))
    for i in order[: abs(short)]:
        whole[i] += step
    return [value / unit for value in whole]


def round_splits(times: Sequence[float | None], total: float) -> list[float | None]:
    """Round times of parts to milliseconds; if all are known, they add up exactly to the total."""
    finite = [time for time in times if time is not None]
    if len(finite) < len(times) or abs(sum(finite) - total) > 0.001:
        return [None if time is None else round_to(time, 3) for time in times]
    return list(round_to_sum(finite, total, 3))
