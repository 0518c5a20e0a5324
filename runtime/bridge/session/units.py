"""Units of measured values, and to how many decimals each is shown."""

import math
from collections.abc import Callable
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
Metres: TypeAlias = Annotated[float, Decimals(1)]
Kmh: TypeAlias = Annotated[float, Decimals(1)]
Bar: TypeAlias = Annotated[float, Decimals(1)]
Gravity: TypeAlias = Annotated[float, Decimals(3)]
Share: TypeAlias = Annotated[float, Decimals(4)]
"""From 0 to 1."""
Percent: TypeAlias = Annotated[float, Decimals(1)]
Degrees: TypeAlias = Annotated[float, Decimals(7)]
"""Of latitude and longitude: a centimetre."""
