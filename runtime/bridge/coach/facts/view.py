"""What a question about laps is answered from: whose session, and which of its laps; and the facts
of what is not recorded, or not there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Final, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Loss,
    losses_between,
    passes_of_lap,
    usual_passes,
)
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.quantities import find_straight, known_corners, sector_name
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Place, Term, Unit, Value
from runtime.bridge.coach.need import Beside, Lap, Ranked, Slots, Strange, Their
from runtime.bridge.coach.scene import Outing, Scene, Teller
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.stats import deviation
from runtime.bridge.track import model
from runtime.bridge.track.model import inside

_MOST_NAMES: Final = 6
"""More names of drivers or straights than that are no help in a sentence."""


NO_COMPLETE_LAP: Final = Fact("no-complete-lap")
"""The session has none, so that nothing of laps and corners is known."""
NO_CIRCUIT: Final = Fact("no-circuit")
"""There is no file of the session's circuit: no names, dangers or plan of it."""
NO_CORNERS: Final = Fact("no-corners")
"""Neither a track file nor positions tell where the corners are."""
NO_SESSION: Final = Fact("no-session")
"""None was named, or none of that driver is stored."""


def not_recorded(quantity: str) -> Fact:
    """The loggers did not record a quantity: a key of the messages ``quantity-…``."""
    return Fact("not-recorded", {"quantity": Term("quantity", quantity)})


def no_rival(scene: Scene) -> Fact:
    """No other driver has a session on this circuit."""
    return Fact("no-rival", driver=scene.driver)


def no_earlier(scene: Scene) -> Fact:
    """The driver has no session on this circuit before this one."""
    return Fact("no-earlier", driver=scene.driver)


def no_lap(said: str, drive: Drive) -> Fact:
    """The session has no lap of that name."""
    laps = [lap.number or 0 for lap in drive.counted]
    return Fact("no-lap", {"said": said, "count": len(laps), "first": laps[0], "last": laps[-1]})


def need_outing(scene: Scene) -> tuple[Fact, ...]:
    """Why nothing can be said of a session; empty where there is one with laps."""
    if scene.outing is not None:
        return ()
    if scene.unknown:
        return (Fact("unknown-session", {"said": scene.unknown}),)
    return (NO_COMPLETE_LAP if scene.without_laps else NO_SESSION,)


def corners_of(scene: Scene) -> tuple[model.Corner, ...]:
    """The corners of the session's circuit in lap order, from its file or as driven."""
    if scene.outing is not None:
        try:
            return scene.outing.drive.corners
        except NoCorners:
            return ()
    return tuple(scene.track.in_lap_order()) if scene.track is not None else ()


def correct_strange(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """What the question names and this circuit or session does not have; at most two."""
    return tuple(_correct(scene, strange) for strange in slots.strange[:2])


def _correct(scene: Scene, strange: Strange) -> Fact:
    said: dict[str, Cell] = {"said": strange.text}
    circuit = scene.track.name if scene.track is not None else ""
    match strange.kind:
        case "corner":
            corners = corners_of(scene)
            if not corners:
                return Fact("no-corner-known", said)
            ends: dict[str, Cell] = {
                "count": len(corners),
                "first": Corner(corners[0].name),
                "last": Corner(corners[-1].name),
                "named": "yes" if circuit else "no",
                "circuit": circuit,
            }
            return Fact("no-corner", {**said, **ends})
        case "lap":
            return no_lap(strange.text, scene.outing.drive) if scene.outing else NO_COMPLETE_LAP
        case "sector":
            count = len(scene.outing.drive.sectors) if scene.outing else 3
            return Fact("no-sector", {**said, "count": count})
        case "straight":
            straights = scene.outing.drive.straights if scene.outing else ()
            return _name_others("no-straight", said, [each.name for each in straights])
        case _:
            return _name_others("no-driver", said, list(scene.rivals))


def _name_others(kind: str, said: dict[str, Cell], names: list[str]) -> Fact:
    """There is none of that name; the names that there are, if they are few."""
    if not 0 < len(names) <= _MOST_NAMES:
        return Fact(f"{kind}-known", said)
    return Fact(kind, {**said, "names": tuple(names)})


Facts: TypeAlias = tuple[Fact, ...]
MOST: Final = 4
"""Facts of an answer."""
LISTED: Final = 30
"""Laps that are listed at most."""
LEVEL_S: Final = 0.005
"""Times closer than this are shown as one."""


class Remedy(NamedTuple):
    """What there is to do about a cause of lost time."""

    action: str
    """The message ``action-…``."""
    concept: str
    """The coaching concept."""
    size: Unit = "m"
    """In which the cause is measured."""
    unit: Unit = ""
    """Of the figure that shows whether it is mended, see `figures_of`."""


REMEDIES: Final[Mapping[str, Remedy]] = {
    "early_brake": Remedy("brake_later", "brake_end_focus", "m", "m"),
    "early_slowing": Remedy("hold_speed", "full_commitment", "m", "km/h"),
    "long_brake": Remedy("brake_harder", "brake_end_focus", "bar", "bar"),
    "late_brake": Remedy("brake_earlier", "brake_end_focus", "m", "m"),
    "coasting": Remedy("stay_on_pedal", "full_commitment", "s", "s"),
    "slow_apex": Remedy("more_apex", "trail_brake", "km/h", "km/h"),
    "slow_entry": Remedy("exit_before", "exit_speed", "km/h", "km/h"),
    "late_throttle": Remedy("earlier_throttle", "exit_speed", "m", "km/h"),
    "slow_exit": Remedy("open_exit", "late_apex", "km/h", "km/h"),
    "steady": Remedy("keep", "look_ahead", "s"),
    "match": Remedy("match", "look_ahead", "s"),
    "none": Remedy("repeat", "look_ahead"),
}
"""By cause; the last three stand where none can be mended."""


class View(NamedTuple):
    """The session that is asked about, of the one who asks or of the other driver named; where its
    corners are compared, beside a better lap.
    """

    scene: Scene
    slots: Slots
    outing: Outing
    name: str
    """Of the other driver; ``own``."""
    lost: tuple[Loss, ...] = ()
    """Of all corners beside the better lap, the most first; empty: nothing to compare with."""
    basis: Basis = "best_lap"
    other: str = ""
    """The driver who is compared with; empty: the same one."""
    lap: int = 0
    """The own lap that is compared; 0: the usual one."""

    @property
    def drive(self) -> Drive:
        """The session's."""
        return self.outing.drive

    @property
    def counted(self) -> tuple[Segment, ...]:
        """The complete laps."""
        return self.drive.counted

    @property
    def pool(self) -> tuple[Segment, ...]:
        """The complete laps but for those that are to be left out."""
        out = [self._pick(self.counted, lap) for lap in self.slots.without]
        return tuple(lap for lap in self.counted if lap not in out) or self.counted

    @property
    def named(self) -> tuple[Segment, ...]:
        """The laps that are named, each once."""
        picked = [self._pick(self.pool, lap) for lap in self.slots.laps if lap != "each"]
        return tuple(dict.fromkeys(lap for lap in picked if lap is not None))

    def _pick(self, laps: Sequence[Segment], lap: Lap) -> Segment | None:
        """A lap that is named, of the driver whose session it is."""
        if isinstance(lap, Their):
            return pick_lap(laps, lap.lap) if self.name != "own" else None
        return pick_lap(laps, lap)

    def lap_of(self, rival: Drive) -> Segment:
        """The lap of a rival that is named, else their best one."""
        theirs = next((lap for lap in self.slots.laps if isinstance(lap, Their)), Their("best"))
        return pick_lap(rival.counted, theirs) or rival.best

    @property
    def asked(self) -> tuple[Segment, ...]:
        """The laps that are named, else all, in time order."""
        return tuple(sorted(self.named or self.pool, key=lambda lap: lap.t_start))

    @property
    def best_passes(self) -> Mapping[str, Pass]:
        """Of the best lap."""
        return self.passes(self.drive.best)

    @property
    def usual_passes(self) -> Mapping[str, Pass]:
        """The usual pass of each corner; none where the corners are not known."""
        try:
            return usual_passes(self.drive)
        except NoCorners:
            return {}

    def passes(self, lap: Segment) -> Mapping[str, Pass]:
        """The passes of a lap; none where the corners are not known."""
        try:
            return passes_of_lap(self.drive, lap.number or 0)
        except NoCorners:
            return {}

    def losses(self, own: Mapping[str, Pass], other: Mapping[str, Pass]) -> list[Loss]:
        """What is worth a word, the most first, in the places that are named."""
        found = losses_between(own, other, self.drive) if own and other else ()
        return [loss for loss in found if loss.seconds >= WORTH_S and self.covers(loss.corner)]

    @property
    def lost_here(self) -> tuple[Loss, ...]:
        """Of the corners and sectors that are named, else of all."""
        return tuple(loss for loss in self.lost if self.covers(loss.corner))

    @property
    def driver(self) -> str:
        """Whose session it is."""
        own = self.scene.driver if self.name == "own" else ""
        return own or self.outing.session.driver

    def covers(self, corner: str) -> bool:
        """Whether a corner is named, or in a sector that is; all are where neither is. Those that
        are to be left out are not."""
        corners, sectors = self.slots.corners, self.slots.sectors
        if corner in self.slots.besides:
            return False
        inner = any(in_sector(self.drive, corner, sector) for sector in sectors)
        return inner or corner in corners or not (corners or sectors)

    @property
    def listed(self) -> tuple[int, ...]:
        """The numbers of the complete laps that are named, in the order named; none where none is,
        all where every lap or every other lap is asked for."""
        slots = self.slots
        every = slots.all_laps or "each" in slots.laps or (slots.order == "each" and not slots.laps)
        laps = self.pool if every or (slots.without and not slots.laps) else self.named
        return numbers_of(laps)

    @property
    def rivals(self) -> list[tuple[str, Drive]]:
        """The other drivers that are named, with their drives."""
        known = self.scene.rivals
        return [(name, known[name].drive) for name in self.slots.drivers if name in known]

    def about(self, **slots: Any) -> "View":
        """The same question with other slots."""
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
        """A fact of the session about *laps*, at *where*, a corner or a straight, or at *place*;
        *other*: whom the driver is compared with."""
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

    def told(self, kind: str, loss: Loss | None = None, /, **values: Cell) -> Fact:
        """A fact of the comparison, about a corner's loss where one is given."""
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
        """What a corner costs on a lap against a usual or best one, or against lap *other*."""
        values = {**name_loss(loss), "lap": lap.number or 0, "than": basis or "lap", "other": other}
        laps = (lap, other) if other else (lap,)
        return self.fact(kind, values, laps, loss.corner, basis=basis, gain_s=loss.seconds)


Tell: TypeAlias = Callable[[View], Facts]


def teller(tell: Tell, *, own: bool = False) -> Teller:
    """A teller of a session, that puts right a lap which that session does not have.

    With *own* the session is that of the one who asks, whoever else is named.
    """

    def answer(scene: Scene, slots: Slots) -> Facts:
        if scene.outing is None:
            return need_outing(scene)
        names = () if own else slots.drivers
        name = next((each for each in names if each in scene.rivals), "own")
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
    """The lap of that number, or the one that a word names; None where there is none."""
    if isinstance(lap, Their):
        lap = lap.lap
    if isinstance(lap, int):
        return next((each for each in laps if each.number == lap), None)
    if isinstance(lap, Beside):
        of = pick_lap(laps, lap.lap)
        return pick_lap(laps, (of.number or 0) + lap.by) if of is not None else None
    ranked = sorted(laps, key=lambda each: (round(each.duration_s, 6), each.t_start))
    if lap == "odd":  # furthest from the usual time
        return max(laps, key=lambda each: abs(each.duration_s - usual_s(laps)), default=None)
    end, place = lap if isinstance(lap, Ranked) else (lap, 1)
    row = list(laps) if end in ("first", "last") else ranked
    if end in ("slowest", "last"):
        row = row[::-1]
    return row[place - 1] if len(row) >= place else None


def best_of(laps: Sequence[Segment]) -> Segment:
    """The fastest of some laps, the earliest of equals."""
    return min(laps, key=lambda lap: (round(lap.duration_s, 6), lap.t_start))


def slowest_of(laps: Sequence[Segment]) -> Segment:
    """The slowest of some laps."""
    return max(laps, key=lambda lap: lap.duration_s)


def usual_s(laps: Sequence[Segment]) -> float:
    """The median of lap times."""
    return median(lap.duration_s for lap in laps)


def spread_s(laps: Sequence[Segment]) -> float:
    """Standard deviation of lap times, of the laps as a whole population."""
    return deviation([lap.duration_s for lap in laps], sample=False) or 0.0


def numbers_of(laps: Sequence[Segment]) -> tuple[int, ...]:
    """The numbers of laps."""
    return tuple(lap.number or 0 for lap in laps)


def lap_time(seconds: float) -> Value:
    """As 1:52.203."""
    return Value(seconds, "lap_time")


def span(seconds: float) -> Value:
    """A time of less than a minute or two."""
    return Value(seconds, "s")


def gap(seconds: float) -> Value:
    """A difference of times, with its sign."""
    return Value(round(seconds, 3), "s", signed=True)


def name_loss(loss: Loss) -> dict[str, Cell]:
    """Corner, seconds and main cause of a loss; ``caused`` says whether a cause was found."""
    where: dict[str, Cell] = {"corner": Corner(loss.corner), "seconds": span(loss.seconds)}
    if not loss.causes:
        return where | {"caused": "no", "cause": "", "amount": ""}
    key, amount = loss.causes[0]
    size = Value(abs(amount), REMEDIES[key].size)
    return where | {"caused": "yes", "cause": Term("cause", key), "amount": size}


def place_of(drive: Drive, where: str | None) -> Place | None:
    """The window of a corner, a straight or a sector; None for what is none."""
    if (straight := find_straight(drive, where)) is not None:
        return Place(straight=where, start_m=straight.start_m, end_m=straight.end_m)
    for at, sector in enumerate(drive.sectors, 1):
        if where == sector_name(at):
            return Place(sector=at, start_m=sector.start_m, end_m=sector.end_m)
    spots = next((each for each in known_corners(drive) if each.name == where), None)
    if spots is None:
        return None
    return Place(corner=where, start_m=spots.entry.distance_m, end_m=spots.exit.distance_m)


def in_sector(drive: Drive, corner: str, sector: int) -> bool:
    """Whether a corner belongs to a sector, numbered from 1: its apex lies in it."""
    spans = drive.sectors[sector - 1 : sector] if sector > 0 else ()
    apexes = [each.apex.distance_m for each in drive.corners if each.name == corner]
    return any(inside(a, s.start_m, s.end_m, drive.length_m) for a in apexes for s in spans)


def judge(fact: Fact, slots: Slots, *, so: bool) -> Fact:
    """A fact with whether it is as was asked, or as the driver says, who may deny it."""
    if slots.offers and not slots.claims:
        return fact
    if slots.claims and slots.negated:
        so = not so
    if slots.claims and not slots.whether:
        return replace(fact, verdict="right" if so else "wrong")
    return replace(fact, verdict="yes" if so else "no")


def asks_for_gains(slots: Slots) -> bool:
    """Whether it is asked where the one who asks is quicker: quicker than Ben, or Ben slower."""
    return slots.gains is not None and slots.gains != slots.than_me


def named_times(slots: Slots, best_s: float) -> list[float]:
    """Lap times that a question names, seconds: not far from the best one."""
    amounts = [each.number for each in slots.amounts if each.unit in ("lap_time", "s", "min")]
    return [each for each in amounts if best_s / 2 < each < 2 * best_s]
