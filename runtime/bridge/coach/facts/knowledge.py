"""Facts that need no lap: the circuit, its dangers, the day, terms, lessons and talk; and readings
of the car's further channels: fuel, oil, water, tyres, gear."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from pydantic import BaseModel

from runtime.bridge.analysis.incidents import ASSISTS
from runtime.bridge.analysis.quantities import find_passes_in, is_missing, list_corners
from runtime.bridge.coach.fact import Cell, Corner, Fact, Place, Term, Unit, Value
from runtime.bridge.coach.facts.view import NO_CIRCUIT, corners_of, not_recorded
from runtime.bridge.coach.need import UNRECORDED, Quantity, Slots
from runtime.bridge.coach.scene import Scene, Teller, Tellers
from runtime.bridge.coach.understanding.phrases import read_yaml
from runtime.bridge.session.definitions import CLOSED_PCT, COASTING_MS, RELEASED_BAR
from runtime.bridge.session.recording import Samples
from runtime.bridge.session.units import KMH
from runtime.bridge.track import model
from runtime.bridge.track.model import DangerZone, Track, is_inside

WHEELS: Final = ("fl", "fr", "rl", "rr")
LAST_S: Final = 10.0
"""The last reading is the median of this many seconds."""
NEAR_S: Final = 1.0
"""A gear reading this long before a place no longer counts there."""


class Channel(NamedTuple):
    """A signal that tells something about a quantity."""

    signal: str
    unit: Unit
    factor: float = 1.0
    """Factor from the signal's unit to *unit*."""


CHANNELS: Final[Mapping[Quantity, tuple[Channel, ...]]] = {
    "gear": (Channel("gear_position", ""),),
    "fuel": (Channel("fuel_level_l", "l"), Channel("fuel_level_pct", "%")),
    "oil": (Channel("oil_temp_c", "°C"), Channel("oil_press_bar", "bar")),
    "water": (Channel("water_temp_c", "°C"), Channel("coolant_temp_c", "°C")),
    "battery": (Channel("battery_v", "V"),),
    "tyre_temperature": tuple(Channel(f"tire_temp_{wheel}_c", "°C") for wheel in WHEELS),
    "tyre_pressure": tuple(Channel(f"tpms_{wheel}_kpa", "bar", 0.01) for wheel in WHEELS),
    "heart_rate": (Channel("heart_rate", "/min"),),
    "assists": tuple(Channel(signal, "") for signal in ASSISTS),
}


def signals_for(quantities: Iterable[Quantity | None]) -> tuple[str, ...]:
    """Return the signals from which these quantities may be read."""
    wanted = (CHANNELS.get(quantity, ()) for quantity in quantities if quantity is not None)
    return tuple(channel.signal for channels in wanted for channel in channels)


def tell_channels(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Describe the channels of the requested quantity; empty if none was recorded."""
    if slots.quantity is None:
        return ()
    recorded = [
        (channel, scene.channels[channel.signal])
        for channel in CHANNELS.get(slots.quantity, ())
        if channel.signal in scene.channels
    ]
    if slots.quantity == "gear":
        return tuple(fact for _, samples in recorded for fact in _tell_gears(scene, slots, samples))
    if slots.quantity == "assists":
        return tuple(_tell_assist(scene, slots, channel.signal) for channel, _ in recorded)
    if len(recorded) == len(WHEELS):
        return (_tell_wheels(slots.quantity, recorded),)
    return tuple(_tell_range(channel, samples) for channel, samples in recorded)


def _tell_range(channel: Channel, samples: Samples) -> Fact:
    low, high = np.min(samples.value), np.max(samples.value)
    values: dict[str, Cell] = {"channel": Term("signal", channel.signal)}
    for name, number in (("last", _last(samples)), ("low", low), ("high", high)):
        values[name] = Value(float(number) * channel.factor, channel.unit)
    return Fact("channel-range", values)


def _tell_wheels(quantity: Quantity, recorded: list[tuple[Channel, Samples]]) -> Fact:
    ends = {
        wheel: Value(_last(samples) * channel.factor, channel.unit)
        for wheel, (channel, samples) in zip(WHEELS, recorded, strict=True)
    }
    return Fact("channel-wheels", {"quantity": Term("quantity", quantity), **ends})


def _tell_gears(scene: Scene, slots: Slots, samples: Samples) -> tuple[Fact, ...]:
    """State the gear at the slowest point of each named corner, else the gears used."""
    facts = []
    for name in slots.corners:
        if there := _gears_in(scene, name, samples):
            usual = max(sorted(set(there)), key=there.count)
            values: dict[str, Cell] = {"corner": Corner(name), "gear": usual, "count": len(there)}
            facts.append(Fact("channel-gear", values, Place(corner=name)))
    used = samples.value[samples.value > 0].astype(int)  # 0: neutral, or no reading
    if not facts and len(used):
        facts.append(Fact("channel-gears", {"low": int(used.min()), "high": int(used.max())}))
    return tuple(facts)


def _gears_in(scene: Scene, corner: str, samples: Samples) -> list[int]:
    """Return the gear at the slowest point of each pass through a corner."""
    if scene.outing is None:
        return []
    drive = scene.outing.drive
    counted = drive.series.unwrap_times(samples.t)
    order = np.argsort(counted, kind="stable")
    times, gears = counted[order], samples.value[order]
    at_apex = []
    for pass_ in find_passes_in(drive, corner):
        window = drive.series["speed_ms"][pass_.first : pass_.last]
        if not len(window) or np.isnan(window).all():
            continue
        t = drive.series.t[pass_.first + int(np.nanargmin(window))]
        at = int(np.searchsorted(times, t, side="right")) - 1
        if at >= 0 and t - times[at] <= NEAR_S and gears[at] > 0:
            at_apex.append(int(gears[at]))
    return at_apex


def _tell_assist(scene: Scene, slots: Slots, signal: str) -> Fact:
    """State how often an assistance system worked, and in which corners, or which of the named
    ones."""
    worked = [phase for phase in scene.assisted if phase.kind == signal]
    placed = [_corner_of_time(scene, phase.t_start) for phase in worked]
    placed = [name for name in placed if not slots.corners or name in slots.corners]
    names = tuple(Corner(name) for name in dict.fromkeys(placed) if name)
    values: dict[str, Cell] = {"channel": Term("signal", signal), "count": len(placed)}
    values |= {"corners": names or slots.corners, "placed": "yes" if names else "no"}
    fact = Fact("channel-assist", values)
    return replace(fact, verdict="yes" if placed else "no") if slots.whether else fact


def _corner_of_time(scene: Scene, t: float) -> str:
    """Return the corner in whose pass, approach included, a time lies; empty if in none."""
    if scene.outing is None:
        return ""
    drive = scene.outing.drive
    return next(
        (
            corner.name
            for corner in list_corners(drive)
            for pass_ in find_passes_in(drive, corner.name)
            if drive.series.t[pass_.approach] <= t <= drive.series.t[pass_.last - 1]
        ),
        "",
    )


def _last(samples: Samples) -> float:
    """Return the value of the last readings."""
    return float(np.median(samples.value[samples.t >= np.max(samples.t) - LAST_S]))


class _File(BaseModel, frozen=True, extra="forbid"):
    """Content of `knowledge.yaml`."""

    taught: Mapping[str, tuple[str, ...]]
    same: Mapping[str, str]
    instead: Mapping[str, tuple[Quantity, ...]]
    shown: tuple[Quantity, ...]


_READ: Final = _File.model_validate(read_yaml(Path(__file__).with_suffix(".yaml")))
GLOSSARY: Final = {term: lesson for lesson, terms in _READ.taught.items() for term in terms}
"""The lesson of each term; empty if none teaches it."""
_DEFINED: Final[Mapping[str, Mapping[str, Cell]]] = {
    "coasting": {
        "brake": Value(RELEASED_BAR, "bar"),
        "throttle": Value(CLOSED_PCT, "%"),
        "speed": Value(COASTING_MS * KMH, "km/h"),
    }
}
"""The numbers in the definition of a term."""
_SURFACES: Final = frozenset({"cool damp", "rising grip", "optimal", "tire degradation"})
_RANK: Final = {severity: rank for rank, severity in enumerate(model.DANGERS)}


def circuit(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Describe the circuit, or its named corners, sectors and straights."""
    corners = [corner for corner in corners_of(scene) if corner.name in slots.corners]
    if corners:
        return tuple(_tell_corner(corner) for corner in corners[:3])
    if scene.track is None:
        return (NO_CIRCUIT,)
    if slots.sectors:
        facts = [_tell_sector(scene.track, number) for number in slots.sectors]
        if any(facts):
            return tuple(fact for fact in facts if fact)
    longest = max(scene.track.straights, key=lambda s: _length(s, scene.track), default=None)
    named = [s for s in scene.track.straights if s.name in slots.straights]
    straights = named or ([longest] if longest else [])
    roads = tuple(
        Fact(
            "circuit-longest" if straight is longest else "circuit-straight",
            {"name": straight.name, "length": Value(_length(straight, scene.track), "m")},
            Place(straight=straight.name, start_m=straight.start_m, end_m=straight.end_m),
        )
        for straight in straights[:3]
    )
    if named:
        return roads
    return (_tell_circuit(scene.track), *roads, *_tell_tightest(scene.track))


def danger(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """List where mistakes are punished, the worst first; only at the named corners."""
    if scene.track is None:
        return (NO_CIRCUIT,)
    placed = [(zone, _corner_of(scene.track, zone)) for zone in scene.track.danger_zones]
    wanted = [
        (zone, corner)
        for zone, corner in placed
        if not slots.corners or (corner is not None and corner.name in slots.corners)
    ]
    if not wanted:
        where: dict[str, Cell] = {"count": len(slots.corners)}
        where["corners"] = tuple(Corner(name) for name in slots.corners)
        return (Fact("danger-none", where),)
    wanted.sort(key=lambda pair: _RANK[pair[0].severity])
    return (*(_tell_danger(zone, corner) for zone, corner in wanted[:3]), Fact("danger-do"))


def conditions(scene: Scene, _: Slots) -> tuple[Fact, ...]:
    """State the circuit's notes on the hour; the weather itself is not measured."""
    surface, note = scene.conditions.get("surface"), scene.conditions.get("note")
    facts = []
    if isinstance(surface, str) and surface:
        ground = Term("surface", surface.replace(" ", "_")) if surface in _SURFACES else surface
        circuit = scene.track.name if scene.track else ""
        values = {"circuit": circuit, "surface": ground, "hour": scene.now_hour}
        facts.append(Fact("conditions", values))
    if isinstance(note, str) and note:
        facts.append(Fact("conditions-note", {"note": note}))
    return (Fact("conditions-unmeasured"), *facts)


def wet(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Advise on a wet surface, where no figure of a dry lap applies."""
    return (Fact("wet"), Fact("wet-do"), *conditions(scene, slots)[1:2])


def name_term(slots: Slots) -> str:
    """Return the named term as the glossary calls it; empty: none."""
    return _READ.same.get(slots.concept or "", slots.concept or "")


def explain(_: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Define a term."""
    key = name_term(slots)
    if key not in GLOSSARY:
        return (Fact("glossary-unknown"),)
    meaning = Fact(f"glossary-{key}", _DEFINED.get(key, {}), concept=GLOSSARY[key] or None)
    return (meaning, not_recorded(key)) if key in _READ.instead else (meaning,)


def tell_unrecorded(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Answer about what is seldom recorded: from its channels, else from related quantities."""
    if facts := tell_channels(scene, slots):
        return facts
    named = slots.quantity if slots.quantity in UNRECORDED else None
    lead = not_recorded(named) if named else Fact("not-recorded-this")
    wanted = _READ.instead.get(named, ()) if named else _READ.shown
    drive = scene.outing.drive if scene.outing is not None else None
    recorded = [
        quantity for quantity in wanted if drive is not None and not is_missing(drive, quantity)
    ]
    instead: Cell = tuple(Term("quantity", quantity) for quantity in recorded)
    if not instead:
        return (lead,)
    return (lead, Fact("recorded-instead", {"quantities": instead}))


def speed_of_coach(scene: Scene, _: Slots) -> tuple[Fact, ...]:
    """State how long the last answers took."""
    if not scene.answer_times:
        return (Fact("coach-speed-none"),)
    times = scene.answer_times
    seconds: dict[str, Cell] = {"usual": Value(median(times), "s"), "count": len(times)}
    return (Fact("coach-speed", {**seconds, "slowest": Value(max(times), "s")}),)


def _say(kind: str) -> Teller:
    """Make a teller of one fact without values."""
    return lambda *_: (Fact(kind),)


def _tell_corner(corner: model.Corner) -> Fact:
    values: dict[str, Cell] = {
        "corner": Corner(corner.name),
        "direction": corner.direction,
        "severity": Term("severity", str(corner.severity)),
        "entry": Value(corner.entry.distance_m, "m"),
        "apex": Value(corner.apex.distance_m, "m"),
        "exit": Value(corner.exit.distance_m, "m"),
        "nicks": len(corner.nicknames),
        "nick": corner.nicknames[0] if corner.nicknames else "",
    }
    return Fact("circuit-corner", values, Place(corner=corner.name))


def _tell_sector(track: Track, number: int) -> Fact | None:
    if not 0 < number <= len(track.sectors):
        return None
    sector = track.sectors[number - 1]
    within = [c for c in track.in_lap_order() if sector.start_m <= c.apex.distance_m < sector.end_m]
    values: dict[str, Cell] = {
        "number": number,
        "name": sector.name,
        "length": Value(sector.end_m - sector.start_m, "m"),
        "count": len(within),
        "corners": tuple(Corner(corner.name) for corner in within),
    }
    return Fact("circuit-sector", values, Place(sector=number))


def _tell_circuit(track: Track) -> Fact:
    values: dict[str, Cell] = {
        "name": track.name,
        "length": Value(track.length_m / 1000, "km"),
        "count": len(track.corners),
        "left": sum(corner.direction == "left" for corner in track.corners),
        "right": sum(corner.direction == "right" for corner in track.corners),
        "turning": _turning(track),
    }
    return Fact("circuit", values)


def _tell_tightest(track: Track) -> tuple[Fact, ...]:
    if not track.corners:
        return ()
    corner = min(track.in_lap_order(), key=lambda c: (c.severity, -(c.curvature_peak or 0)))
    return (Fact("circuit-tightest", {"corner": Corner(corner.name)}, Place(corner=corner.name)),)


def _tell_danger(zone: DangerZone, corner: model.Corner | None) -> Fact:
    values: dict[str, Cell] = {
        "corner": Corner(corner.name) if corner else "",
        "severity": Term("danger", zone.severity),
        "start": Value(zone.start_m, "m"),
        "end": Value(zone.end_m, "m"),
        "note": zone.description,
    }
    place = Place(corner.name if corner else None, start_m=zone.start_m, end_m=zone.end_m)
    return Fact("danger", values, place)


def _corner_of(track: Track, zone: DangerZone) -> model.Corner | None:
    """Return the corner that a zone overlaps, else the next one after it."""
    length = track.length_m
    order = sorted(track.corners, key=lambda c: (c.exit.distance_m - zone.start_m) % length)
    touching = (
        c for c in order if is_inside(c.apex.distance_m, zone.start_m - 10, zone.end_m, length)
    )
    return next(touching, order[0] if order else None)


def _length(straight: model.Straight, track: Track | None) -> float:
    length = track.length_m if track is not None else float("inf")
    return (straight.end_m - straight.start_m) % length


def _turning(track: Track) -> str:
    """Return which way round it goes: clockwise, anticlockwise, or unknown."""
    if track.line is None:
        return "unknown"
    lat, lon = np.radians(track.line.lat), np.radians(track.line.lon)
    x, y = lon * np.cos(lat.mean()), lat
    area = float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
    return "anticlockwise" if area > 0 else "clockwise"


TELLERS: Final[Tellers] = {
    "circuit": circuit,
    "danger": danger,
    "conditions": conditions,
    "wet": wet,
    "explain": explain,
    "unrecorded": tell_unrecorded,
    "speed_of_coach": speed_of_coach,
    "greeting": _say("greeting"),
    "thanks": _say("thanks"),
    "who": _say("who"),
    "abilities": _say("abilities"),
    "style": _say("style"),
    "off_topic": _say("off-topic"),
    "rules": _say("rules"),
}
