"""A driver's habits: each pass of each corner, measured while driving."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from runtime.bridge.analysis.grading import may_mend
from runtime.bridge.cues.burst import Reading
from runtime.bridge.cues.circuit import STOP, Circuit, Place, braking_m
from runtime.bridge.session.definitions import (
    BRAKING_BAR,
    COASTING_MS,
    RELEASED_BAR,
)
from runtime.bridge.track.model import Corner

Habit: TypeAlias = Literal["early_brake", "coasting", "slow_apex", "late_throttle"]

REMEMBERED: Final = 4
"""The last passes of a corner, which show a habit."""
AT_PACE: Final = 1.2
"""A pass slower than the best by this factor shows no habit."""
REPEATED: Final = 2
"""Passes that make a habit."""
LEAST_LOSS_S: Final = 0.12
"""A smaller loss per lap is within a good driver's variation."""
LEAST_M: Final = 8.0
"""A driver cannot place a pedal more exactly."""
LEAST_SPEED: Final = 0.025
"""Share of the minimum speed."""
FIRM_PCT: Final = 50.0
"""A driver who only balances the car uses less throttle."""
LEAST_COAST_S: Final = 0.3
MUCH_COAST_S: Final = 0.8
"""Coasting in one corner with grip to spare; more is a habit, whatever the best pass was."""
COASTING_COSTS: Final = 0.35
"""Seconds lost per second of coasting: the car rolls at about two thirds of its pace."""
FEW_CORNERS: Final = 3
"""With fewer other corners the usual values are half as certain."""
LATE_M: Final = 10.0
"""Half throttle this much later than in the other corners is late."""
LATE_COSTS: Final = 0.4
"""Seconds lost per second of late throttle."""
ROOM_M: Final = 60.0
"""Least way from an exit to the next brake point for throttle to be of use."""
LOADED: Final = 0.7
"""Share of the lateral grip this car has shown; above it, a car in a bend must wait."""
SLOWER: Final = 1.025
"""If most corners take this much longer, the cause is rain, worn tyres or traffic, not a habit."""
LEAST_SHARE: Final = 0.85
"""Least share of the references' apex speed; below it the grip is unknown."""
APPROACH_M: Final = 100.0
"""A stretch begins this far before an entry, or where a good lap brakes if that is earlier."""
MARGIN_M: Final = 40.0
LONGEST_STEP_S: Final = 1.1
"""After a longer gap the pass does not count."""
LONGEST_STEP: Final = 0.02
"""A car that moved by a larger share of the lap between two frames was not tracked."""


class Passage(NamedTuple):
    """One pass of a corner, from the start of its approach to that of the next."""

    seconds: float
    brake_m: float
    """Metres before the entry where the braking for the corner began; NaN: none."""
    apex_ms: float
    """The least speed in the corner; NaN: not recorded."""
    throttle_m: float
    """Metres after the apex from where the throttle stayed at least half open; NaN: unknown."""
    coast_s: float
    """NaN: a pedal was not recorded."""
    rolled_s: float
    """Coasting with grip to spare."""
    idle_m: float
    """Metres after the apex with grip to spare, off the brake and with less than half throttle;
    NaN: a pedal was not recorded."""


class Focus(NamedTuple):
    """A repeated loss worth mentioning before its corner."""

    corner: Corner
    habit: Habit
    loss_s: float
    """Loss of the better of the last two passes; an estimate if based on references."""
    amount: float
    """Its size: metres, seconds of coasting, or m/s."""
    earlier_m: float
    """How much earlier the driver brakes than on the best pass, or than the references and the
    other corners suggest; 0: not earlier, or in a danger zone."""
    brake_m: float
    """The driver's usual brake point, metres before the entry, before which it must be said; or
    0."""
    passes: int
    """Passes of the corner so far."""


class _Stretch:
    """A corner's stretch of the lap while the car is in it."""

    def __init__(self, t: float, *, whole: bool) -> None:
        self.began = t
        self.whole = whole
        self.brake_m = math.nan
        self.braking = False
        self.apex_ms = math.inf
        self.throttle_m = math.nan
        self.coast_s = self.rolled_s = self.idle_m = 0.0
        self.firm = False
        """Whether half the throttle was open after the apex."""
        self.pedals = False
        self.loads: list[float] = []
        """Lateral accelerations in the middle of the corner."""


class Habits:
    """Follows one car round a circuit; its times never step back."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        corners = circuit.track.in_lap_order()
        length = circuit.length_m
        self._starts: list[tuple[float, Corner]] = []
        for before, corner in zip([corners[-1], *corners[:-1]], corners, strict=True):
            reach = max(braking_m(corner), APPROACH_M) + MARGIN_M
            room = (corner.entry.distance_m - before.exit.distance_m) % length
            # On a short road between corners, most of its middle is still the last corner's exit.
            own = max(braking_m(corner) + MARGIN_M, 0.6 * room)
            start = corner.entry.distance_m - min(reach, own, room)
            self._starts.append((start % length, corner))
        self._starts.sort(key=lambda pair: pair[0])
        self._begins = [start for start, _ in self._starts]
        self._passes: dict[str, deque[Passage]] = {
            corner.name: deque(maxlen=REMEMBERED) for corner in corners
        }
        self._spoken_of = {
            corner.name: [
                habit for habit in get_args(Habit) if may_mend(habit, corner, circuit.track)
            ]
            for corner in corners
        }
        """Habits by corner; in a danger zone only those that more speed does not cure."""
        self._best: dict[str, Passage] = {}
        self._count: dict[str, int] = {}
        self._grip_g = math.inf
        """The most lateral acceleration held through a corner."""
        self.focuses: list[Focus] = []
        """Every repeated loss, the largest first."""
        self._stretch: _Stretch | None = None
        self._corner: Corner | None = None
        self._last: tuple[float, float] | None = None
        """Time and progress of the last frame."""

    def pause(self) -> None:
        """Drop the current pass: what happened meanwhile is unknown."""
        self._stretch = self._corner = self._last = None

    def passes(self, corner: Corner) -> int:
        """Return how often the corner was passed whole."""
        return self._count.get(corner.name, 0)

    def add(self, t: float, reading: Reading, place: Place | None) -> None:
        """Follow the car and what the driver does."""
        if place is None:
            self.pause()
            return
        length, p = self.circuit.length_m, place.progress_m
        before, self._last = self._last, (t, p)
        corner = self._corner_at(p)
        if before is None:
            self._corner, self._stretch = corner, _Stretch(t, whole=False)
            return
        way = self.circuit.ahead(p, before[1])
        if not -1.0 <= way <= LONGEST_STEP * length:
            self._corner, self._stretch = corner, _Stretch(t, whole=False)
            return
        if t - before[0] > LONGEST_STEP_S and self._stretch is not None:
            self._stretch.whole = False
        if corner is not self._corner:
            start = next(start for start, other in self._starts if other is corner)
            back = min(max((p - start) % length, 0.0), max(way, 0.0))
            crossed = t - (t - before[0]) * (back / way if way > 0 else 0.0)
            self._close(crossed)
            self._corner, self._stretch = corner, _Stretch(crossed, whole=True)
        if self._stretch is not None and corner is not None:
            self._measure(self._stretch, corner, place, t - before[0], reading)

    def _rank(self) -> list[Focus]:
        own = {
            corner.name: _better(passes)
            for _, corner in self._starts
            if len(passes := self._at_pace(corner)) >= REPEATED
        }
        pace = [passage.seconds / self._best[name].seconds for name, passage in own.items()]
        if not own or median(pace) > SLOWER:
            return []
        focuses = [
            focus
            for _, corner in self._starts
            if corner.name in own and (focus := self._focus(corner, own)) is not None
        ]
        return sorted(focuses, key=lambda focus: -focus.loss_s)

    def _corner_at(self, p: float) -> Corner | None:
        length = self.circuit.length_m
        at = (
            bisect_right(self._begins, p % length) - 1
        )  # before the first start: in the last corner's stretch
        return self._starts[at][1]

    def _measure(
        self, stretch: _Stretch, corner: Corner, place: Place, dt: float, reading: Reading
    ) -> None:
        to_entry = self.circuit.ahead(corner.entry.distance_m, place.progress_m)
        beyond = -self.circuit.ahead(corner.apex.distance_m, place.progress_m)
        brake, throttle, speed = reading.brake_bar, reading.throttle_pct, reading.speed_ms
        if brake >= BRAKING_BAR and not stretch.braking:
            stretch.braking = True
            if to_entry > 0 or math.isnan(stretch.brake_m):
                stretch.brake_m = to_entry
        elif brake < RELEASED_BAR:
            stretch.braking = False
        if place.corner is corner:
            stretch.apex_ms = min(stretch.apex_ms, speed)
            if abs(beyond) < self._half_m(corner) and not math.isnan(reading.g_lat):
                stretch.loads.append(abs(reading.g_lat))
        if throttle < FIRM_PCT:
            stretch.throttle_m = math.nan
        elif math.isnan(stretch.throttle_m):
            stretch.throttle_m = beyond
        if math.isnan(brake + throttle):
            return
        stretch.pedals = True
        load = abs(reading.g_lat)
        bent = place.corner is not None if math.isnan(load) else load >= LOADED * self._grip_g
        to_spare = not bent and speed > COASTING_MS
        if reading.coasts:
            stretch.coast_s += dt
            stretch.rolled_s += dt if to_spare else 0.0
        stretch.firm = beyond > 0.0 and (stretch.firm or throttle >= FIRM_PCT)
        if beyond > 0.0 and not stretch.firm and brake < RELEASED_BAR and to_spare:
            stretch.idle_m += speed * dt

    def _half_m(self, corner: Corner) -> float:
        """Return half of the shorter way from the apex to an end of the corner."""
        apex = corner.apex.distance_m
        ends = (corner.entry.distance_m, corner.exit.distance_m)
        return min(abs(self.circuit.ahead(end, apex)) for end in ends) / 2.0

    def _close(self, t: float) -> None:
        stretch, corner = self._stretch, self._corner
        if stretch is None or corner is None or not stretch.whole:
            return
        unknown = 0.0 if stretch.pedals else math.nan
        passage = Passage(
            t - stretch.began,
            stretch.brake_m,
            stretch.apex_ms if math.isfinite(stretch.apex_ms) else math.nan,
            stretch.throttle_m,
            stretch.coast_s + unknown,
            stretch.rolled_s + unknown,
            stretch.idle_m + unknown,
        )
        if stretch.loads:
            load = median(stretch.loads)
            self._grip_g = load if math.isinf(self._grip_g) else max(load, self._grip_g)
        name = corner.name
        self._passes[name].append(passage)
        self._count[name] = self._count.get(name, 0) + 1
        best = self._best.get(name)
        if best is None or passage.seconds < best.seconds:
            self._best[name] = passage
        self.focuses = self._rank()

    def _at_pace(self, corner: Corner) -> list[Passage]:
        """Return the last passes, without out-laps, traffic and mistakes."""
        best = self._best.get(corner.name)
        passes = self._passes[corner.name]
        return [passage for passage in passes if best and passage.seconds <= AT_PACE * best.seconds]

    def _focus(self, corner: Corner, passages: Mapping[str, Passage]) -> Focus | None:
        """Return the habit with the largest loss, against the driver's best pass or the driver's
        other corners."""
        own, best = passages[corner.name], self._best[corner.name]
        usual, spoken_of = self._usual(corner, passages), self._spoken_of[corner.name]
        losses = [
            row for row in self._compare_with_others(corner, own, usual) if row[1] in spoken_of
        ]
        lost = own.seconds - best.seconds
        if lost >= LEAST_LOSS_S:
            habit = _choose_habit(own, best, spoken_of)
            if habit is not None:
                losses.append((lost, *habit))
        loss, name, amount = max(losses, default=(0.0, "coasting", 0.0))
        if loss < LEAST_LOSS_S:
            return None
        brake = own.brake_m if own.brake_m > 0 else 0.0
        earlier = [own.brake_m - best.brake_m] if "early_brake" in spoken_of else []
        if earlier and usual.share >= LEAST_SHARE:
            earlier.append(own.brake_m - braking_m(corner) - usual.earlier_m)
        return Focus(
            corner,
            name,
            loss,
            amount,
            max(0.0, *_drop_nan(earlier), 0.0),
            brake,
            self.passes(corner),
        )

    def _compare_with_others(
        self, corner: Corner, own: Passage, usual: "_Usual"
    ) -> list[tuple[float, Habit, float]]:
        """Return losses of a corner that is worse than the driver's other corners; no comparison
        with an unknown value holds."""
        losses: list[tuple[float, Habit, float]] = []
        if own.rolled_s >= MUCH_COAST_S:
            losses.append((COASTING_COSTS * own.rolled_s, "coasting", own.coast_s))
        late = own.idle_m - usual.idle_m
        if late >= LATE_M * usual.doubt and self._room_after(corner) >= ROOM_M:
            losses.append((LATE_COSTS * late / own.apex_ms, "late_throttle", late))
        speeds = corner.speeds
        if speeds is None or not usual.share >= LEAST_SHARE:
            return losses
        earlier = own.brake_m - braking_m(corner) - usual.earlier_m
        if earlier >= 1.5 * LEAST_M * usual.doubt:
            # Half of what a car loses that brakes as hard and then rolls the rest of the way.
            fast = math.sqrt(speeds.entry**2 + STOP * braking_m(corner))
            loss = earlier * (1.0 / own.apex_ms - 1.0 / max(fast, own.apex_ms)) / 2.0
            losses.append((loss, "early_brake", earlier))
        due = speeds.apex * usual.share
        if own.apex_ms < (1.0 - 1.6 * LEAST_SPEED * usual.doubt) * due:
            inside = (corner.exit.distance_m - corner.entry.distance_m) % self.circuit.length_m
            loss = 1.5 * inside * (1.0 / own.apex_ms - 1.0 / due)
            losses.append((loss, "slow_apex", due - own.apex_ms))
        return losses

    def _room_after(self, corner: Corner) -> float:
        """Return the metres from the exit of a corner to where a good lap brakes for the next
        one."""
        corners = [other for _, other in self._starts]
        after = corners[(corners.index(corner) + 1) % len(corners)]
        way = (after.entry.distance_m - corner.exit.distance_m) % self.circuit.length_m
        return way - braking_m(after)

    def _usual(self, corner: Corner, passages: Mapping[str, Passage]) -> "_Usual":
        """Return what the driver does in the other corners."""
        earlier, share, idle = [], [], []
        for _, other in self._starts:
            passage = passages.get(other.name)
            if other is corner or passage is None:
                continue
            idle.append(passage.idle_m)
            if other.speeds is not None:
                share.append(passage.apex_ms / other.speeds.apex)
                if braking_m(other) > 0:
                    earlier.append(passage.brake_m - braking_m(other))
        doubt = 1.0 if len(_drop_nan(idle) or _drop_nan(share)) >= FEW_CORNERS else 1.7
        return _Usual(_middle(earlier), _middle(share), _middle(idle), doubt)


class _Usual(NamedTuple):
    """Usual values of this driver and car, the medians of the other corners; NaN: unknown."""

    earlier_m: float
    """How much earlier than the circuit's references the driver brakes."""
    share: float
    """Reached share of the references' apex speed."""
    idle_m: float
    """As in a `Passage`."""
    doubt: float
    """Factor by which a corner must differ more if few others are known."""


def _middle(values: Iterable[float]) -> float:
    numbers = _drop_nan(values)
    return median(numbers) if numbers else math.nan


def _better(passes: Sequence[Passage]) -> Passage:
    """Return the quicker of the last two: what it shows is repeated."""
    return min(passes[-REPEATED:], key=lambda passage: passage.seconds)


def _drop_nan(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def _choose_habit(
    own: Passage, best: Passage, spoken_of: Sequence[Habit]
) -> tuple[Habit, float] | None:
    """Return what differs most from the best pass, in units that a driver can tell apart."""
    coast = own.coast_s - best.coast_s
    differences: list[tuple[float, Habit, float]] = [
        ((own.brake_m - best.brake_m) / LEAST_M, "early_brake", own.brake_m - best.brake_m),
        (coast / LEAST_COAST_S, "coasting", own.coast_s),
        (
            (best.apex_ms - own.apex_ms) / (LEAST_SPEED * best.apex_ms),
            "slow_apex",
            best.apex_ms - own.apex_ms,
        ),
        (
            (own.throttle_m - best.throttle_m) / LEAST_M,
            "late_throttle",
            own.throttle_m - best.throttle_m,
        ),
    ]
    notable = [
        row for row in differences if row[0] >= 1.0 and row[1] in spoken_of
    ]  # NaN is no difference
    if not notable:
        return None
    _, habit, amount = max(notable)
    return habit, amount
