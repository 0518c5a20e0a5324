"""Values of a quantity at a place, lap by lap, and their labels in a sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import USUAL_LAPS
from runtime.bridge.analysis.quantities import (
    AT_SPOTS,
    CORNERS_ONLY,
    MEANS,
    SUMS,
    find_passes_in,
    find_straight,
    find_straight_beside,
    is_missing,
    list_corners,
    measure_laps,
    name_sector,
)
from runtime.bridge.coach.fact import Cell, Corner, Term, Unit, Value
from runtime.bridge.coach.facts.view import NO_CORNERS, Facts, Tell, View, not_recorded, teller
from runtime.bridge.coach.need import UNITS, Order, Quantity, Slots, Spot
from runtime.bridge.coach.scene import Teller

APART: Final[Mapping[Unit, float]] = {
    "km/h": 1.0,
    "m": 3.0,
    "bar": 2.0,
    "bar/s": 5.0,
    "s": 0.05,
    "lap_time": 0.05,
    "g": 0.03,
    "%": 4.0,
    "deg": 3.0,
    "rpm": 50.0,
    "deg/s": 2.0,
    "": 1.0,
}
"""Differences below this count as level."""
_SIDES: Final[Mapping[str, tuple[str, str]]] = {
    "brake_point": ("before-entry", "after-entry"),
    "brake_release": ("after-entry", "before-entry"),
    "throttle_point": ("after-apex", "before-apex"),
    "full_point": ("after-apex", "before-apex"),
}
"""Which side of its reference a place lies on, for positive and negative metres."""
_LATE_IF_MORE: Final = ("brake_release", "throttle_point", "full_point")
RISES: Final[tuple[Order, ...]] = ("most", "high", "more")
FALLS: Final[tuple[Order, ...]] = ("least", "low", "fewer")
EARLY: Final[tuple[Order, ...]] = ("early", "earliest")
LATE: Final[tuple[Order, ...]] = ("late", "latest")
ORDERED: Final[tuple[Order, ...]] = (*RISES, *FALLS, *EARLY, *LATE)
"""Orders that ask for one end of the values."""
SAYS: Final[tuple[Order, ...]] = ("early", "late", "high", "low", "more", "fewer")
"""Orders in which a question asks whether it is so."""
_OTHER_END: Final[Mapping[Order, Order]] = {
    "most": "least",
    "high": "low",
    "more": "fewer",
    "least": "most",
    "low": "high",
    "fewer": "more",
    "worst": "most",
}
_PLACED: Final[Mapping[Quantity, Quantity]] = {
    "throttle": "throttle_point",
    "brake_pressure": "brake_point",
    "brake_time": "brake_point",
}
"""The quantity of a pedal that can be early or late."""
_GOOD_IF_MORE: Final = ("speed", "throttle", "full_throttle", "accel_g", "lateral_g", "total_g")
CORNER_SPOTS: Final = ("entry", "apex", "exit", "entry_apex", "apex_exit", "entry_exit")


class Spread(NamedTuple):
    """The values of a quantity at a place, by lap number."""

    drive: Drive
    quantity: Quantity
    where: str | None
    spot: Spot | None
    values: Mapping[int, Value]

    @property
    def unit(self) -> Unit:
        """Unit of every value."""
        return "lap_time" if self.quantity == "time" and not self.where else UNITS[self.quantity]

    @property
    def corner(self) -> bool:
        """Whether the place is a corner."""
        return bool(find_passes_in(self.drive, self.where))

    @property
    def usual(self) -> Value:
        """The median of the laps."""
        values = self.values.values()
        signed = any(value.signed for value in values)
        return Value(median(value.number for value in values), self.unit, signed)

    @property
    def peaks(self) -> bool:
        """Whether a lap's value is its largest, on a straight or a whole lap."""
        return self.quantity not in (*SUMS, *MEANS) and not self.corner

    def top(self, *, high: bool = True) -> int:
        """Return the lap with the largest or smallest value, the earliest of equals."""
        return (max if high else min)(self.values, key=lambda lap: self.values[lap].number)

    def find(self, lap: int) -> Value:
        """Return the value of a lap; the usual one if that lap has none."""
        return self.values.get(lap, self.usual)

    def of(self, laps: Sequence[int]) -> dict[int, Value]:
        """Return the values of those laps; all if none is named or none of them has a value."""
        return {lap: v for lap, v in self.values.items() if lap in laps} or dict(self.values)


def measure(
    drive: Drive, quantity: Quantity, where: str | None = None, spot: Spot | None = None
) -> dict[int, Value]:
    """Measure a quantity by lap in the named corner or on the named straight, else on the whole
    lap.

    Empty if it was not recorded; `measure_laps` defines each quantity at a place. Between two spots
    it is the difference.
    """
    begin, _, end = (spot or "").partition("_")
    if end:
        name = "clock" if quantity == "time" else quantity
        first, last = (measure_laps(drive, name, where, at) for at in (begin, end))
        apart = {lap: last[lap] - first[lap] for lap in first if lap in last}
        signed = quantity != "time"
        return {lap: Value(number, UNITS[quantity], signed) for lap, number in apart.items()}
    laps = measure_laps(drive, quantity, where, spot) if quantity in UNITS else {}
    unit = Spread(drive, quantity, where, spot, {}).unit if laps else ""
    return {lap: Value(number, unit) for lap, number in laps.items()}


def find_spread(
    drive: Drive, quantity: Quantity, where: str | None, spot: Spot | None
) -> Spread | None:
    """Measure a quantity with its usual value; None if no lap has a value."""
    values = measure(drive, quantity, where, spot)
    return Spread(drive, quantity, where, spot, values) if values else None


def require_recorded(
    tell: Tell, *needed: Quantity, default: Quantity | None = None, best: bool = True
) -> Teller:
    """Make a teller of the asking driver's session that first names what was not recorded.

    A question without a quantity asks for the *default*, or for speed at a spot; *needed* are the
    domain's quantities. *best*: whether "most" may mean the best of what is not named.
    """

    def answer(view: View) -> Facts:
        if default is not None:
            view = view._replace(slots=complete(view.slots, default, best=best))
        requested = (view.slots.quantity,) if default is not None and view.slots.quantity else ()
        for quantity in (*needed, *requested):
            if quantity not in UNITS or is_missing(view.drive, quantity):
                return (not_recorded(quantity),)
        placed = view.slots.corners or any(name in CORNERS_ONLY for name in (*needed, *requested))
        return (NO_CORNERS,) if placed and not list_corners(view.drive) else tell(view)

    return teller(answer, own=True)


def complete(slots: Slots, default: Quantity, *, best: bool) -> Slots:
    """Fill in a quantity, and an end of its values for "worst"; without a quantity the best time is
    the shortest."""
    order, quantity = slots.order, slots.quantity
    if quantity == "mean_speed" and slots.corners:  # in a corner this usually means the apex speed
        quantity = "speed"
    if quantity is None and slots.pedal:
        quantity = _of_pedal(slots)
    if quantity is None and len(slots.corners) == 2 and slots.gains is not None:
        quantity, order = "speed", "more" if slots.gains else "fewer"  # faster here than there
    if quantity is None:
        asks_lap = slots.which == "lap" and not slots.corners
        laps = slots.laps or slots.claims or slots.drivers or asks_lap
        plain = laps or order not in ORDERED or (order == "worst" and not slots.spot)
        timed = slots.spot in (None, "lap") and plain
        quantity = default if timed or not best else "speed"
        if best and quantity == "time" and order is not None:
            order = _OTHER_END.get(order, order)
    if order in (*EARLY, *LATE) and slots.spot not in CORNER_SPOTS:
        quantity = _PLACED.get(quantity, quantity)
    if slots.gains is False and order == "more" and slots.drivers:  # where do I lack more
        order = "fewer"
    if slots.pedal == "lift" and slots.where and order is None:
        order = "least"
    if order == "worst":
        order = "least" if quantity in _GOOD_IF_MORE else "most"
    peak = quantity == "brake_pressure" and order == "most"  # the peak comes before the entry
    return replace(slots, quantity=quantity, order=order, spot=None if peak else slots.spot)


def _of_pedal(slots: Slots) -> Quantity:
    """Return what is measured of a pedal that is named alone."""
    placed = slots.corners or slots.where
    if slots.pedal == "lift":
        return "throttle"
    if slots.pedal == "brake":
        hard = slots.order in (*RISES, *FALLS)
        hard = hard or slots.spot in ("apex", "exit")
        placed = placed or slots.order in ("spread", "alike")
        return "brake_point" if placed and not hard else "brake_pressure"
    if slots.spot in CORNER_SPOTS or slots.negated:
        return "throttle"
    return "throttle_point" if placed else "full_throttle"


def label(spread: Spread) -> dict[str, Cell]:
    """Label what is measured: ``where``, ``what`` and ``at``; ``few``: no usual lap."""
    _, quantity, where, spot, _ = spread
    corner, what = spread.corner, str(quantity)
    spanned = "_" in (spot or "")
    at = spot if corner and spot in CORNER_SPOTS and (quantity in AT_SPOTS or spanned) else None
    if quantity in ("speed", "time", "throttle"):
        what += "_corner" if corner else "_straight" if where else "_lap"
        what = "throttle_least" if what == "throttle_corner" and not at else what
        at = "apex" if what == "speed_corner" and not at else at
    road = find_straight(spread.drive, where) is not None
    place: Cell = Term("where", "lap") if where is None else where if road else Corner(where)
    few = "yes" if len(spread.drive.counted) < USUAL_LAPS else "no"
    words: dict[str, Cell] = {"what": Term("measured", what), "at": Term("at", at or "none")}
    return {"where": place, **words, "few": few}


def orient(quantity: str, *values: Value) -> tuple[Term, tuple[Value, ...]]:
    """Return which side of the entry or apex the first value lies on, and all values as distances
    on that side; those that lie across are negative and say so."""
    if quantity not in _SIDES:
        return Term("side", "none"), values
    behind = values[0].number < 0
    numbers = (-value.number if behind else value.number for value in values)
    side, across = _SIDES[quantity][behind], _SIDES[quantity][not behind]
    turned = (Value(number, "m", side=across if number < 0 else "") for number in numbers)
    return Term("side", side), tuple(turned)


def is_high(quantity: Quantity, order: Order | None) -> bool:
    """Whether the question asks for the largest value: an early brake point is many metres before
    the corner, an early throttle few after the apex."""
    if order in (*EARLY, *LATE):
        return (order in LATE) == (quantity in _LATE_IF_MORE)
    return order not in FALLS


def end_of(quantity: Quantity, *, high: bool) -> str:
    """Name the end of the values: early, late, long, short, high, low."""
    if quantity in _SIDES:
        return "late" if high == (quantity in _LATE_IF_MORE) else "early"
    return (("long", "short") if UNITS[quantity] == "s" else ("high", "low"))[not high]


def places_of(drive: Drive, slots: Slots) -> tuple[str | None, ...]:
    """Return the named straights, those next to corners, corners or sectors; else the lap
    (None)."""
    if slots.spot in ("straight", "after", "before") and not slots.straights:
        behind = slots.spot == "after"
        roads = [find_straight_beside(drive, corner, behind=behind) for corner in slots.corners]
        if names := tuple(straight.name for straight in roads if straight):
            return names
    sectors = () if slots.quantity in CORNERS_ONLY else map(name_sector, slots.sectors)
    return (*slots.straights, *slots.corners) or tuple(sectors) or (None,)
