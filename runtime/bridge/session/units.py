"""Units of measured values, and to how many decimals each is shown."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

KMH: Final = 3.6
"""Kilometres an hour of one metre a second."""


def rounded(value: float, digits: int) -> float:
    """The value to so many decimals, never as -0; NaN and infinity stay what they are."""
    return round(value, digits) + 0.0 if math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Decimals:
    """Marks how a float is written in an answer; where it is computed it keeps all its digits."""

    digits: int

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], dict[str, object]]
    ) -> dict[str, object]:
        """What pydantic asks of an annotation that changes how a value is written."""
        write = {
            "type": "function-plain",
            "function": self.write,
            "return_schema": {"type": "float"},
        }
        return {**handler(source), "serialization": write}

    def write(self, value: float) -> float:
        """The value as an answer has it."""
        return rounded(value, self.digits)


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
    """The values rounded so that they add up to the rounded total.

    Each is rounded to its nearest neighbour, but for as few as needed, which take the other one:
    those that were nearest to it.
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
    """Times of parts in milliseconds; where all are known, together exactly the total."""
    known = [time for time in times if time is not None]
    if len(known) < len(times) or abs(sum(known) - total) > 0.001:
        return [None if time is None else rounded(time, 3) for time in times]
    return list(round_to_sum(known, total, 3))
