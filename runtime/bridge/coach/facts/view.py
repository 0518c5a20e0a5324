"""The session and laps that a question is about, and the facts for data that is missing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Final, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Loss,
    find_passes,
    find_usual_passes,
    measure_losses,
)
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.quantities import find_straight, list_corners, name_sector
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Place, Term, Unit, Value
from runtime.bridge.coach.need import Beside, Lap, Ranked, Slots, Strange, Their
from runtime.bridge.coach.scene import Outing, Scene, Teller
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.stats import deviation
from runtime.bridge.track import model
from runtime.bridge.track.model import is_inside

_MOST_NAMES: Final = 6
"""The most names of drivers or straights that a sentence lists."""


NO_COMPLETE_LAP: Final = Fact("no-complete-lap")
"""The session has no complete lap, so laps and corners cannot be discussed."""
NO_CIRCUIT: Final = Fact("no-circuit")
"""No file of the session's circuit: no names, dangers or plan."""
NO_CORNERS: Final = Fact("no-corners")
"""Neither a track file nor positions show where the corners are."""
NO_SESSION: Final = Fact("no-session")
"""No session was named, or the driver has none stored."""


def not_recorded(quantity: str) -> Fact:
    """Say that a quantity was not recorded; *quantity* is a key of the messages ``quantity-…``."""
    return Fact("not-recorded", {"quantity": Term("quantity", quantity)})


def no_rival(scene: Scene) -> Fact:
    """Say that no other driver has a session on this circuit."""
    return Fact("no-rival", driver=scene.driver)


def no_earlier(scene: Scene) -> Fact:
    """Say that the driver has no earlier session on this circuit."""
    return Fact("no-earlier", driver=scene.driver)


def no_lap(name: str, drive: Drive) -> Fact:
    """Say that the session has no such lap."""
    laps = [lap.number or 0 for lap in drive.counted]
    return Fact("no-lap", {"said": name, "count": len(laps), "first": laps[0], "last": laps[-1]})


def need_outing(scene: Scene) -> tuple[Fact, ...]:
    """Explain why a session cannot be discussed; empty if it has laps."""
    if scene.outing is not None:
        return ()
    if scene.unknown:
        return (Fact("unknown-session", {"said": scene.unknown}),)
    return (NO_COMPLETE_LAP if scene.without_laps else NO_SESSION,)


def corners_of(scene: Scene) -> tuple[model.Corner, ...]:
    """Return the corners of the session's circuit in lap order, from its file or as driven."""
    if scene.outing is not None:
        try:
            return scene.outing.drive.corners
        except NoCorners:
            return ()
    return tuple(scene.track.in_lap_order()) if scene.track is not None else ()


def correct_strange(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Correct names that this circuit or session does not have; at most two."""
    return tuple(_correct(scene, strange) for strange in slots.strange[:2])


def _correct(scene: Scene, strange: Strange) -> Fact:
    words: dict[str, Cell] = {"said": strange.text}
    circuit = scene.track.name if scene.track is not None else ""
    match strange.kind:
        case "corner":
            corners = corners_of(scene)
            if not corners:
                return Fact("no-corner-known", words)
            ends: dict[str, Cell] = {
                "count": len(corners),
                "first": Corner(corners[0].name),
                "last": Corner(corners[-1].name),
                "named": "yes" if circuit else "no",
                "circuit": circuit,
            }
            return Fact("no-corner", {**words, **ends})
        case "lap":
            return no_lap(strange.text, scene.outing.drive) if scene.outing else NO_COMPLETE_LAP
        case "sector":
            count = len(scene.outing.drive.sectors) if scene.outing else 3
            return Fact("no-sector", {**words, "count": count})
        case "straight":
            straights = scene.outing.drive.straights if scene.outing else ()
            return _name_others("no-straight", words, [straight.name for straight in straights])
        case _:
            return _name_others("no-driver", words, list(scene.rivals))


def _name_others(kind: str, words: dict[str, Cell], names: list[str]) -> Fact:
    """Say that the name does not exist, and list the existing names if they are few."""
    if not 0 < len(names) <= _MOST_NAMES:
        return Fact(f"{kind}-known", words)
    return Fact(kind, {**words, "names": tuple(names)})


Facts: TypeAlias = tuple[Fact, ...]
MOST: Final = 4
"""The most facts of an answer."""
LISTED: Final = 30
"""The most laps listed."""
LEVEL_S: Final = 0.005
"""Times closer than this are shown as equal."""
_CLOSE_S: Final = 0.05
"""Tolerance of a claimed gap or loss."""


class Remedy(NamedTuple):
    """What to do about a cause of lost time."""

    action: str
    """The message ``action-…``."""
    concept: str
    """The coaching concept."""
    size: Unit = "m"
    """Unit of the cause."""
    unit: Unit = ""
    """Unit of the figure that shows success, see `find_figures`."""


REMEDIES: Final[Mapping[str, Remedy]] = {
    "early_brake": Remedy("brake_later", "brake_end_focus", "m", "m"),
    "early_slowing": Remedy("hold_speed", "full_commitment", "m", "km/h"),
    "long_brake": Remedy("brake_harder", "brake_end_focus", "bar", "bar"),
    "late_brake": Remedy("brake_earlier", "brake_end_focus", "m", "m"),
    "coasting": Remedy("stay_on_pedal", "full_commitment", "s", "s"),
    "slow_apex": Remedy("more_apex", "trail_brake", "km/h", "km/h"),
    "slow_entry": Remedy("exit_before", "exit_speed", "km/h", "km/h"),
    "late_throttle": Remedy("earlier_throttle", "exit_speed", "m", "km/h"),
    "part_throttle": Remedy("full_sooner", "exit_speed", "m", "m"),
    "slow_exit": Remedy("open_exit", "late_apex", "km/h", "km/h"),
    "steady": Remedy("keep", "look_ahead", "s"),
    "match": Remedy("match", "look_ahead", "s"),
    "none": Remedy("repeat", "look_ahead"),
}
"""By cause; the last three apply when no cause can be cured."""


class View(NamedTuple):
    """The session in question, of the asking driver or of a named other driver; its corners may be
    compared with a better lap."""

    scene: Scene
    slots: Slots
    outing: Outing
    name: str
    """The other driver's name, or ``own``."""
    lost: tuple[Loss, ...] = ()
    """Losses at all corners against the better lap, largest first; empty: nothing to compare
    with."""
    basis: Basis = "best_lap"
    other: str = ""
    """The driver compared with; empty: the same one."""
    lap: int = 0
    """The own lap compared; 0: the usual one."""

    @property
    def drive(self) -> Drive:
        """The session's drive."""
        return self.outing.drive

    @property
    def counted(self) -> tuple[Segment, ...]:
        """The complete laps."""
        return self.drive.counted

    @property
    def pool(self) -> tuple[Segment, ...]:
        """The complete laps without the excluded ones."""
        out = [self._pick(self.counted, lap) for lap in self.slots.without]
        return tuple(lap for lap in self.counted if lap not in out) or self.counted

    @property
    def named(self) -> tuple[Segment, ...]:
        """The named laps, each once."""
        picked = [self._pick(self.pool, lap) for lap in self.slots.laps if lap != "each"]
        return tuple(dict.fromkeys(lap for lap in picked if lap is not None))

    def _pick(self, laps: Sequence[Segment], lap: Lap) -> Segment | None:
        """Return a named lap if it belongs to this session's driver."""
        if isinstance(lap, Their):
            return pick_lap(laps, lap.lap) if self.name != "own" else None
        return pick_lap(laps, lap)

    def lap_of(self, rival: Drive) -> Segment:
        """Return the rival's named lap, else their best."""
        theirs = next((lap for lap in self.slots.laps if isinstance(lap, Their)), Their("best"))
        return pick_lap(rival.counted, theirs) or rival.best

    @property
    def selected(self) -> tuple[Segment, ...]:
        """The named laps, else all, in time order."""
        return tuple(sorted(self.named or self.pool, key=lambda lap: lap.t_start))

    @property
    def best_passes(self) -> Mapping[str, Pass]:
        """The passes of the best lap."""
        return self.passes(self.drive.best)

    @property
    def usual_passes(self) -> Mapping[str, Pass]:
        """The usual pass of each corner; empty if the corners are unknown."""
        try:
            return find_usual_passes(self.drive)
        except NoCorners:
            return {}

    def passes(self, lap: Segment) -> Mapping[str, Pass]:
        """Return the passes of a lap; empty if the corners are unknown."""
        try:
            return find_passes(self.drive, lap.number or 0)
        except NoCorners:
            return {}

    def losses(self, own: Mapping[str, Pass], other: Mapping[str, Pass]) -> list[Loss]:
        """Return the losses worth mentioning at the places in question, largest first."""
        losses = measure_losses(own, other, self.drive) if own and other else ()
        return [loss for loss in losses if loss.seconds >= WORTH_S and self.covers(loss.corner)]

    @property
    def lost_here(self) -> tuple[Loss, ...]:
        """Losses at the named corners and sectors, else at all."""
        return tuple(loss for loss in self.lost if self.covers(loss.corner))

    @property
    def driver(self) -> str:
        """The session's driver."""
        own = self.scene.driver if self.name == "own" else ""
        return own or self.outing.session.driver

    def covers(self, corner: str) -> bool:
        """Whether a corner is in question: named, or in a named sector; any corner if nothing is
        named. Excluded corners never are."""
        corners, sectors = self.slots.corners, self.slots.sectors
        if corner in self.slots.besides:
            return False
        inner = any(in_sector(self.drive, corner, sector) for sector in sectors)
        return inner or corner in corners or not (corners or sectors)

    @property
    def listed(self) -> tuple[int, ...]:
        """Numbers of the named complete laps in that order; all of them if every lap, or all but
        some, is asked for."""
        slots = self.slots
        every = slots.all_laps or "each" in slots.laps or (slots.order == "each" and not slots.laps)
        laps = self.pool if every or (slots.without and not slots.laps) else self.named
        return numbers_of(laps)

    @property
    def rivals(self) -> list[tuple[str, Drive]]:
        """The named other drivers, with their drives."""
        rivals = self.scene.rivals
        return [(name, rivals[name].drive) for name in self.slots.drivers if name in rivals]

    def about(self, **slots: Any) -> "View":
        """Return the same question with other slots."""
        return self._replace(slots=replace(self.slots, **slots))

    def fact(
        self,
        kind: str,
        values: Mapping[str, Cell],
        laps: Iterable[Segment | int] = (),
        where: str | None = None,
        *,
        place: Place | None = None,
        basis: Basis | None = None,
        gain_s: float | None = None,
        other: str = "",
    ) -> Fact:
        """Make a fact about *laps*, at *where*, a corner or a straight, or at *place*; *other* is
        the driver compared with."""
        numbers = [lap if isinstance(lap, int) else lap.number or 0 for lap in laps]
        return Fact(
            kind,
            {"driver": self.name, **values},
            place=place or place_of(self.drive, where),
            laps=tuple(numbers[:LISTED]),
            basis=basis,
            driver=self.driver,
            other=other,
            session_id=self.outing.session.id,
            gain_s=gain_s,
        )

    def state(self, kind: str, loss: Loss | None = None, /, **values: Cell) -> Fact:
        """Make a fact of the comparison, about a corner's loss if there is one."""
        against: dict[str, Cell] = {"basis": self.basis, "other": self.other, "lap": self.lap}
        laps = [self.lap] if self.lap else []
        if loss is not None:
            against |= {"corner": Corner(loss.corner), "loss": span(abs(loss.seconds))}
            laps += [] if self.other else [loss.other.lap]
        return self.fact(
            kind,
            {**against, **values},
            dict.fromkeys(laps),
            loss.corner if loss is not None else None,
            basis=self.basis,
            gain_s=loss.seconds if loss is not None and loss.seconds > 0 else None,
            other=self.other,
        )

    def loss(
        self, kind: str, loss: Loss, lap: Segment, basis: Basis | None = None, other: int = 0
    ) -> Fact:
        """State what a corner costs on a lap against a usual or best one, or against lap
        *other*."""
        values = {**name_loss(loss), "lap": lap.number or 0, "than": basis or "lap", "other": other}
        laps = (lap, other) if other else (lap,)
        return self.fact(kind, values, laps, loss.corner, basis=basis, gain_s=loss.seconds)


Tell: TypeAlias = Callable[[View], Facts]


def teller(tell: Tell, *, own: bool = False) -> Teller:
    """Make a teller of a session that corrects laps which the session does not have.

    With *own* the session is the asking driver's, whoever else is named.
    """

    def answer(scene: Scene, slots: Slots) -> Facts:
        if scene.outing is None:
            return need_outing(scene)
        names = () if own else slots.drivers
        name = next((driver for driver in names if driver in scene.rivals), "own")
        if slots.mine and name != "own":
            alone = answer(scene, replace(slots, drivers=()))
            return (*alone[:1], *answer(scene, replace(slots, mine=False))[:1])
        view = View(scene, slots, scene.rivals.get(name, scene.outing), name)
        numbers = [lap for lap in slots.laps if isinstance(lap, int)]
        absent = [lap for lap in numbers if pick_lap(view.counted, lap) is None]
        if not absent:
            return tell(view)[:MOST]
        wrong = no_lap(str(absent[-1]), view.drive)
        return (wrong, *(tell(view) if view.named else ()))[:MOST]

    return answer


def pick_lap(laps: Sequence[Segment], lap: Lap) -> Segment | None:
    """Return the lap of that number or word; None if there is none."""
    if isinstance(lap, Their):
        lap = lap.lap
    if isinstance(lap, int):
        return next((segment for segment in laps if segment.number == lap), None)
    if isinstance(lap, Beside):
        of = pick_lap(laps, lap.lap)
        return pick_lap(laps, (of.number or 0) + lap.by) if of is not None else None
    ranked = sorted(laps, key=lambda segment: (round(segment.duration_s, 6), segment.t_start))
    if lap == "odd":  # furthest from the usual time
        return max(laps, key=lambda segment: abs(segment.duration_s - usual_s(laps)), default=None)
    end, place = lap if isinstance(lap, Ranked) else (lap, 1)
    row = list(laps) if end in ("first", "last") else ranked
    if end in ("slowest", "last"):
        row = row[::-1]
    return row[place - 1] if len(row) >= place else None


def best_of(laps: Sequence[Segment]) -> Segment:
    """Return the fastest lap, the earliest of equals."""
    return min(laps, key=lambda lap: (round(lap.duration_s, 6), lap.t_start))


def slowest_of(laps: Sequence[Segment]) -> Segment:
    """Return the slowest lap."""
    return max(laps, key=lambda lap: lap.duration_s)


def usual_s(laps: Sequence[Segment]) -> float:
    """Return the median lap time."""
    return median(lap.duration_s for lap in laps)


def spread_s(laps: Sequence[Segment]) -> float:
    """Return the standard deviation of lap times as a whole population."""
    return deviation([lap.duration_s for lap in laps], sample=False) or 0.0


def numbers_of(laps: Sequence[Segment]) -> tuple[int, ...]:
    """Return the numbers of laps."""
    return tuple(lap.number or 0 for lap in laps)


def lap_time(seconds: float) -> Value:
    """Show a time as 1:52.203."""
    return Value(seconds, "lap_time")


def span(seconds: float) -> Value:
    """Show a time under a minute or two in seconds."""
    return Value(seconds, "s")


def gap(seconds: float) -> Value:
    """Show a difference of times with its sign."""
    return Value(round(seconds, 3), "s", signed=True)


def name_loss(loss: Loss) -> dict[str, Cell]:
    """Return a loss's corner, seconds and main cause; ``caused`` says whether there is one."""
    where: dict[str, Cell] = {"corner": Corner(loss.corner), "seconds": span(loss.seconds)}
    if not loss.causes:
        return where | {"caused": "no", "cause": "", "amount": ""}
    key, amount = loss.causes[0]
    size = Value(abs(amount), REMEDIES[key].size)
    return where | {"caused": "yes", "cause": Term("cause", key), "amount": size}


def place_of(drive: Drive, where: str | None) -> Place | None:
    """Return the window of a corner, a straight or a sector; None for anything else."""
    if (straight := find_straight(drive, where)) is not None:
        return Place(straight=where, start_m=straight.start_m, end_m=straight.end_m)
    for at, sector in enumerate(drive.sectors, 1):
        if where == name_sector(at):
            return Place(sector=at, start_m=sector.start_m, end_m=sector.end_m)
    spots = next((corner for corner in list_corners(drive) if corner.name == where), None)
    if spots is None:
        return None
    return Place(corner=where, start_m=spots.entry.distance_m, end_m=spots.exit.distance_m)


def in_sector(drive: Drive, corner: str, sector: int) -> bool:
    """Whether a corner's apex lies in a sector, numbered from 1."""
    spans = drive.sectors[sector - 1 : sector] if sector > 0 else ()
    apexes = [bend.apex.distance_m for bend in drive.corners if bend.name == corner]
    return any(is_inside(a, s.start_m, s.end_m, drive.length_m) for a in apexes for s in spans)


def fits_claim(slots: Slots, seconds: float) -> bool:
    """Return whether a gap or loss is as large as the question claims; true if it names no size."""
    claimed = next((amount.number for amount in slots.amounts if amount.unit == "s"), None)
    return claimed is None or abs(abs(seconds) - claimed) <= _CLOSE_S


def judge(fact: Fact, slots: Slots, *, so: bool) -> Fact:
    """Add a verdict: whether it is as asked, or as the driver claims or denies."""
    if slots.offers and not slots.claims:
        return fact
    if slots.claims and slots.negated:
        so = not so
    if slots.claims and not slots.whether:
        return replace(fact, verdict="right" if so else "wrong")
    return replace(fact, verdict="yes" if so else "no")


def asks_for_gains(slots: Slots) -> bool:
    """Whether the question is where the asking driver is quicker: quicker than Ben, or Ben
    slower."""
    return slots.gains is not None and slots.gains != slots.than_me


def list_named_times(slots: Slots, best_s: float) -> list[float]:
    """Return the lap times that a question names, in seconds, if near the best one."""
    amounts = [amount.number for amount in slots.amounts if amount.unit in ("lap_time", "s", "min")]
    return [seconds for seconds in amounts if best_s / 2 < seconds < 2 * best_s]
