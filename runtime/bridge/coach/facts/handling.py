"""How the car was handled: releasing the brake, coasting, grip, balance, incidents, resolution."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grip import envelope_g
from runtime.bridge.analysis.incidents import Incident, incidents
from runtime.bridge.analysis.passes import STEERED_DEG, Pass
from runtime.bridge.analysis.pedals import release_rate, trail_braking
from runtime.bridge.analysis.quantities import (
    fix_noise_m,
    is_missing,
    known_corners,
    passes_in,
)
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Unit, Value
from runtime.bridge.coach.facts.general import no_corners, not_recorded
from runtime.bridge.coach.facts.judgements import FEW_LAPS
from runtime.bridge.coach.facts.losses import (
    USUAL_LAPS,
    losses_between,
    passes_of_lap,
    usual_passes,
)
from runtime.bridge.coach.facts.measures import (
    APART,
    UNITS,
    beside,
    fact,
    list_laps,
    list_rivals,
    on_drive,
    spread,
    tell_measure,
)
from runtime.bridge.coach.need import Slots
from runtime.bridge.coach.scene import Scene, Tellers
from runtime.bridge.session.definitions import BRAKING_BAR, CLOSED_PCT, is_on_brake, is_recorded
from runtime.bridge.session.stats import deviation
from runtime.bridge.session.units import KMH

_TURNED: Final = 0.25
"""Of the corner's largest steering angle: the driver has turned in."""
_TRAILED: Final = 0.1
"""Of the peak pressure that is still on at the entry: the brake is let go in the corner."""
_ODD_S: Final = 0.3
"""So much slower than usual a pass is odd."""
_ASKED_M: Final = 3.0
_FINE_M: Final = 0.1


def _values(unit: Unit, **numbers: float | None) -> dict[str, Cell]:
    """Values of one unit; 0 for what is not known, of which the message says nothing."""
    return {name: Value(number or 0.0, unit) for name, number in numbers.items()}


def _flags(**flags: bool) -> dict[str, Cell]:
    """What the message says, or leaves out."""
    return {name: "yes" if flag else "no" for name, flag in flags.items()}


def tell_trail_brake(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """How the brake is let go in the named corners, else in those that slow the car most."""
    usual = {n: one for n, one in _usual(drive).items() if (one.peak_brake_bar or 0) >= BRAKING_BAR}
    names = [name for name in slots.corners if name in usual]
    if not names and (slots.corners or not usual):
        return tell_measure(scene, replace(slots, quantity="brake_pressure"), drive)
    lead: list[Fact] = []
    if not names:
        held = {(one.corner, one.lap) for one in trail_braking(drive)}
        counts: dict[str, Cell] = {
            "into": sum(_entry_bar(drive, one)[1] for one in usual.values()),
            "apex": sum((name, one.lap) in held for name, one in usual.items()),
            "count": len(usual),
        }
        lead = [fact(scene, "trail-summary", counts)]
        names = sorted(usual, key=lambda name: -_slowing(drive, usual[name]))[:2]
    lead += [_release(scene, drive, usual[name], scene.driver) for name in names[:3]]
    for name, rival in list_rivals(scene, slots)[:1]:
        theirs = _usual(rival)
        lead += [_release(scene, rival, theirs[n], name) for n in names[:1] if n in theirs]
    return tuple(lead)


def _usual(drive: Drive) -> Mapping[str, Pass]:
    """The usual passes; none where the corners are not known."""
    return usual_passes(drive) if known_corners(drive) else {}


def _slowing(drive: Drive, one: Pass) -> float:
    """How much a pass slows from where its braking is looked for, km/h."""
    fastest = float(np.fmax.reduce(drive.series["speed_ms"][one.approach : one.last])) * KMH
    return fastest - (one.apex_speed_kmh or 0.0)


def _entry_bar(drive: Drive, one: Pass) -> tuple[float, bool]:
    """The pressure at the entry, and whether enough of the peak is left to trail it in."""
    pressure = float(np.nan_to_num(drive.series["brake_bar"][one.first]))
    return pressure, pressure >= _TRAILED * (one.peak_brake_bar or 0.0)


def _release(scene: Scene, drive: Drive, one: Pass, driver: str) -> Fact:
    """Pressure at entry and apex, rate and place of the release, overlap with the steering."""
    series, frames = drive.series, slice(one.approach, one.last)
    steering = np.abs(series["steering_deg"])
    turned = steering[frames] >= _TURNED * np.fmax.reduce(steering[one.frames])
    overlap = float(series.weight[frames][turned & is_on_brake(series)[frames]].sum())
    entry, trailed = _entry_bar(drive, one)
    rate, place = release_rate(series, one), one.brake_release_m
    side, (shown,) = beside("brake_release", Value(place or 0.0, "m"))
    apex = one.trail_brake_bar_at_apex
    values: dict[str, Cell] = {"driver": driver, "where": Corner(one.corner)}
    values |= _values("bar", peak=one.peak_brake_bar, entry=entry, apex=apex)
    values |= _flags(released=rate is not None and place is not None)
    values |= _flags(steered=not is_missing(drive, "steering"))
    values |= {**_values("bar/s", rate=rate), **_values("s", overlap=overlap)}
    values |= {"place": shown, "side": side, "shape": "trail" if trailed else "straight"}
    return fact(scene, "trail-corner", values, one.corner, (one.lap,))


def tell_coasting(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """Coasting on a usual lap, its share, the corners with most of it; or at a named place."""
    if slots.corners or slots.straights or list_laps(drive, slots) or slots.order == "mean":
        return tell_measure(scene, replace(slots, quantity="coasting"), drive)
    drives = [(scene.driver, drive), *list_rivals(scene, slots)[:1]]
    return tuple(told for name, each in drives for told in _coasted(scene, name, each))


def _coasted(scene: Scene, driver: str, drive: Drive) -> tuple[Fact, ...]:
    lap, best = spread(drive, "coasting", None, None), drive.best.number or 0
    if lap is None:
        return ()
    places = [(spread(drive, "coasting", c.name, None), c.name) for c in known_corners(drive)]
    most = sorted(((one.usual.number, name) for one, name in places if one), reverse=True)
    most = [*(each for each in most if each[0] > 0), (0.0, ""), (0.0, "")]
    times = {each.number: each.duration_s for each in drive.counted}
    share = median(100.0 * value.number / times[number] for number, value in lap.values.items())
    values: dict[str, Cell] = {"driver": driver, "usual": lap.usual, "best": lap.find(best)}
    values |= {"lap": best, "places": sum(bool(name) for _, name in most[:2])}
    values |= {"first": Corner(most[0][1]), "second": Corner(most[1][1])}
    values |= _values("s", first_value=most[0][0], second_value=most[1][0])
    values |= _values("%", share=share)
    other = driver if driver != scene.driver else ""
    return (fact(scene, "coasting-lap", values, most[0][1] or None, other=other),)


def tell_grip(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """How much of the combined g that this car reached today is used, by corner."""
    told: list[Fact] = []
    if slots.quantity is not None and slots.quantity not in UNITS:
        told.append(not_recorded(slots.quantity))
    laps = list_laps(drive, slots)
    used = {
        bend.name: found.find(laps[0] if len(laps) == 1 else 0).number
        for bend in known_corners(drive)
        if (found := spread(drive, "total_g", bend.name, None))
    }
    if not used:
        missing = is_missing(drive, "total_g")
        return (*told, not_recorded("total_g") if missing else no_corners())
    envelope = max(envelope_g(drive) or 0.0, *used.values())
    named = [corner for corner in slots.corners if corner in used]
    told += [fact(scene, "grip-corner", _grip(c, used[c], envelope), c) for c in named[:2]]
    for name, rival in list_rivals(scene, slots)[:1] if named else ():
        if theirs := spread(rival, "total_g", named[0], None):
            values: dict[str, Cell] = {"driver": name, "value": theirs.usual}
            told.append(fact(scene, "grip-other", values, named[0], other=name))
    if not named:
        least, most = min(used, key=lambda c: used[c]), max(used, key=lambda c: used[c])
        top = {f"top_{key}": cell for key, cell in _grip(most, used[most], envelope).items()}
        values = {**_grip(least, used[least], envelope), **top}
        told.append(fact(scene, "grip-corners", values, least, laps[:1]))
    caveat = _values("g", envelope=envelope) | _flags(computed="combo_g" in drive.series.derived)
    return (*told[:3], fact(scene, "grip-caveat", caveat))


def _grip(corner: str, used: float, envelope: float) -> dict[str, Cell]:
    share = _values("%", share=100.0 * used / envelope)
    return {"where": Corner(corner), **share, **_values("g", value=used)}


class _Moment(NamedTuple):
    """What a pass shows of the car; None where it was not recorded."""

    steering: float | None
    opposite: float
    """The largest angle against the corner, degrees."""
    lateral_g: float | None
    speed: float | None
    throttle: float | None
    """The lowest."""
    pick_up: float | None


def _read(drive: Drive, one: Pass) -> _Moment:
    usual = len(drive.counted) >= USUAL_LAPS and one == _usual(drive)[one.corner]
    steering, lateral_g, speed, throttle, pick_up = (
        (found.usual if usual else found.values[one.lap]).number
        if found and (usual or one.lap in found.values)
        else None
        for found in (
            spread(drive, "steering", one.corner, None),
            spread(drive, "lateral_g", one.corner, None),
            spread(drive, "speed", one.corner, None),
            spread(drive, "throttle", one.corner, None),
            spread(drive, "throttle_point", one.corner, None),
        )
    )
    angles = drive.series["steering_deg"]
    way = np.sign(np.nansum(angles[_usual(drive)[one.corner].frames]))
    opposite = float(np.fmax.reduce(-way * angles[one.frames]))
    opposite = opposite if opposite >= STEERED_DEG else 0.0
    return _Moment(steering, opposite, lateral_g, speed, throttle, pick_up)


def _sign(own: _Moment, target: _Moment) -> str:
    """What a pass shows beside another: opposite lock, more lock for no more g, less g."""
    if own.steering is None or target.steering is None:
        return "unknown"
    lateral_g, usual_g = own.lateral_g or 0.0, target.lateral_g or 0.0
    if own.opposite > target.opposite:
        return "over"
    if own.steering - target.steering > APART["deg"] and lateral_g <= usual_g:
        return "under"
    return "lift" if lateral_g < usual_g - APART["g"] else "none"


def _shows(scene: Scene, drive: Drive, one: Pass, which: str, driver: str = "") -> Fact:
    """Speed, steering, lateral g and throttle of a pass, as one fact."""
    seen = _read(drive, one)
    side, (pick_up,) = beside("throttle_point", Value(seen.pick_up or 0.0, "m"))
    values: dict[str, Cell] = {"which": which, "driver": driver, "lap": one.lap}
    values |= {"where": Corner(one.corner), "pick_up": pick_up, "side": side}
    values |= _flags(steered=seen.steering is not None, countered=seen.opposite > 0)
    values |= _flags(turned=seen.lateral_g is not None)
    values |= _values("deg", steering=seen.steering, opposite=seen.opposite)
    values |= {**_values("g", lateral=seen.lateral_g), **_values("km/h", speed=seen.speed)}
    values |= _values("%", throttle=seen.throttle)
    values["gas"] = "no" if seen.throttle is None else "yes"
    if seen.pick_up is None and seen.throttle is not None:
        values["gas"] = "held" if seen.throttle > CLOSED_PCT else "down"
    return fact(scene, "balance-pass", values, one.corner, (one.lap,), other=driver)


def find_odd(drive: Drive, slots: Slots) -> tuple[int, str, float]:
    """The lap and the corner, of those named, that lost most against the usual pass, and seconds;
    no lap where none lost much, unless one was named."""
    corners, numbers = slots.corners, list_laps(drive, slots)
    usual = {n: one for n, one in _usual(drive).items() if not corners or n in corners}
    losses = [
        (loss.seconds, -lap, loss.corner)
        for lap in numbers or [each.number or 0 for each in drive.counted]
        for loss in (losses_between(passes_of_lap(drive, lap), usual, drive) if usual else ())
    ]
    seconds, lap, corner = max(losses, default=(0.0, 0, ""))
    return (-lap if seconds >= _ODD_S or slots.laps else 0), corner, seconds


def tell_balance(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """What steering, speed, throttle and lateral g show in a corner: of the usual pass, the odd
    one, a rival's; whether it is the driver or the car cannot be told by that."""
    lap, corner, _ = find_odd(drive, slots)
    usual = _usual(drive).get(corner)
    if usual is None:
        return (no_corners(),)
    told, sign = [_shows(scene, drive, usual, "usual")], "none"
    odd = passes_of_lap(drive, lap).get(corner)
    if odd is not None and odd is not usual:
        told.append(_shows(scene, drive, odd, "lap"))
        sign = _sign(_read(drive, odd), _read(drive, usual))
    for name, rival in list_rivals(scene, slots) or [(n, o.drive) for n, o in scene.rivals.items()]:
        if theirs := _usual(rival).get(corner):
            told.append(_shows(scene, rival, theirs, "other", name))
            other = _sign(_read(drive, usual), _read(rival, theirs))
            sign = other if sign in ("none", "lift") else sign
    sign = "unknown" if is_missing(drive, "steering") else "none" if sign == "lift" else sign
    return (fact(scene, "balance", {"where": Corner(corner), "sign": sign}, corner), *told)


def tell_incidents(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """What was detected, by lap and corner; else what is looked for, and the oddest moment."""
    found = _incidents(scene, drive, slots)
    if found:
        lead = [fact(scene, "incidents-count", {"count": len(found)})] if len(found) > 3 else []
        return (*lead, *(_incident(scene, drive, each) for each in found[:3]))
    laps, series = list_laps(drive, slots) or drive.counted, drive.series
    seen = {
        "spin": series.gps_usable,
        "off_line": is_recorded(drive.progress.offset),
        "stopped": is_recorded(series["speed_ms"]),
        "over_g": is_recorded(series.combo_g) and "combo_g" not in series.derived,
    }
    kinds = tuple(Term("incident", kind) for kind, can in seen.items() if can)
    none = fact(scene, "incidents-none", {"kinds": kinds, "count": len(laps)})
    lap, corner, seconds = find_odd(drive, slots)
    return (none, _odd(scene, lap, corner, seconds)) if lap and seconds >= _ODD_S else (none,)


def _incidents(scene: Scene, drive: Drive, slots: Slots) -> list[Incident]:
    laps = list_laps(drive, slots)
    return [
        each
        for each in incidents(drive, scene.assisted)
        if (not laps or each.lap in laps)
        and (not slots.corners or _corner_at(drive, each.distance_m) in slots.corners)
        and each.severity != "low"
    ]


def _corner_at(drive: Drive, place: float | None) -> str:
    """The corner that a place is in, or that comes next; empty where that is not known."""
    if place is None or not known_corners(drive):
        return ""
    exits = {corner.name: corner.exit.distance_m for corner in known_corners(drive)}
    return min(exits, key=lambda name: (exits[name] - place) % drive.length_m)


def _incident(scene: Scene, drive: Drive, each: Incident) -> Fact:
    corner = _corner_at(drive, each.distance_m)
    values: dict[str, Cell] = {"kind": Term("incident", each.kind), "lap": each.lap or 0}
    values |= {"where": Corner(corner), **_flags(placed=bool(corner))}
    values |= {**_values("km/h", speed=each.speed_kmh), **_flags(moving=each.speed_kmh is not None)}
    return fact(scene, "incident", values, corner or None, (each.lap,) if each.lap else ())


def _odd(scene: Scene, lap: int, corner: str, seconds: float) -> Fact:
    values: dict[str, Cell] = {"lap": lap, "where": Corner(corner), "loss": Value(seconds, "s")}
    return fact(scene, "incident-odd", values, corner, (lap,))


def tell_incident_explain(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """What steering, throttle and lateral g did in a moment, beside the usual lap there."""
    lap, corner, seconds = find_odd(drive, slots)
    lead = _odd(scene, lap, corner, seconds)
    for each in _incidents(scene, drive, slots):
        if each.lap:
            lap, corner = each.lap, _corner_at(drive, each.distance_m)
            lead = _incident(scene, drive, each)
            break
    odd, usual = passes_of_lap(drive, lap).get(corner) if lap and corner else None, _usual(drive)
    if odd is None:
        return tell_incidents(scene, slots, drive)
    cause = _sign(_read(drive, odd), _read(drive, usual[corner]))
    values: dict[str, Cell] = {"lap": lap, "where": Corner(corner), "cause": cause}
    told = fact(scene, "incident-cause", values, corner, (lap,))
    shown = _shows(scene, drive, odd, "lap"), _shows(scene, drive, usual[corner], "usual")
    return (lead, told, *shown)


def tell_resolution(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """Metres between samples, noise of the fixes, scatter of the brake point; whether so many
    metres can be told apart."""
    series, noise = drive.series, fix_noise_m(drive.series)
    asked = next((each.number for each in slots.amounts if each.unit == "m"), _ASKED_M)
    names = slots.corners or tuple(corner.name for corner in known_corners(drive))
    points = [one for name in names if (one := spread(drive, "brake_point", name, None))]
    points = [one for one in points if len(one.values) >= FEW_LAPS]
    scatter = sorted(
        (deviation([v.number for v in one.values.values()], sample=True) or 0.0, one.where or "")
        for one in points
    )
    windows = [slice(one.start, one.last) for n in names for one in passes_in(drive, n)]
    speed = max(float(np.fmax.reduce(series["speed_ms"][w])) for w in windows or [drive.frames])
    step = speed / (series.rate_hz or 1.0)
    values: dict[str, Cell] = {"rate": round(series.rate_hz or 1.0)}
    values |= {**_values("m", step=step), **_values("km/h", speed=speed * KMH)}
    values["fixes"] = "none" if noise is None else "fine" if noise < _FINE_M else "noisy"
    values |= _values("m", noise=max(noise or 0.0, _FINE_M))
    rate = fact(scene, "resolution-rate", values)
    if not scatter:
        if is_missing(drive, "brake_point"):
            return (not_recorded("brake_point"), rate)
        few = fact(scene, "spread-few", {"count": len(drive.counted)})
        return (rate, few if known_corners(drive) else no_corners())
    metres, corner = scatter[len(scatter) // 2]
    count = len(drive.counted)
    single = 2.0 * float(np.hypot(step / 12**0.5, metres))  # an even error has step² / 12
    told = "yes" if asked > max(single, step) else "mean" if asked > single / count**0.5 else "no"
    verdict = {**_values("m", asked=asked), "told": told}
    spreads: dict[str, Cell] = {"where": Corner(corner), "count": count}
    scattered = fact(
        scene, "resolution-scatter", {**spreads, **_values("m", scatter=metres)}, corner
    )
    return (fact(scene, "resolution-told", verdict, corner), rate, scattered)


TELLERS: Final[Tellers] = {
    "trail_brake": on_drive(tell_trail_brake, "brake_pressure"),
    "coasting": on_drive(tell_coasting, "coasting"),
    "grip": on_drive(tell_grip),
    "balance": on_drive(tell_balance),
    "incidents": on_drive(tell_incidents),
    "incident_explain": on_drive(tell_incident_explain),
    "resolution": on_drive(tell_resolution),
}
