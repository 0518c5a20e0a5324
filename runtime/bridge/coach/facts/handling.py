"""How the car was handled: releasing the brake, coasting, grip, balance, incidents, resolution."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grip import envelope_g
from runtime.bridge.analysis.incidents import Incident, incidents
from runtime.bridge.analysis.losses import (
    losses_between,
    passes_of_lap,
    usual_passes,
)
from runtime.bridge.analysis.passes import STEERED_DEG, USUAL_LAPS, Pass
from runtime.bridge.analysis.pedals import release_rate, trail_braking
from runtime.bridge.analysis.quantities import (
    fix_noise_m,
    is_missing,
    known_corners,
    passes_in,
)
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Unit, Value
from runtime.bridge.coach.facts.comparisons import FEW_LAPS, tell, tell_values
from runtime.bridge.coach.facts.measures import (
    APART,
    ORDERED,
    beside,
    measured,
    spread,
)
from runtime.bridge.coach.facts.view import NO_CORNERS, Facts, View, not_recorded
from runtime.bridge.coach.need import UNITS, Quantity
from runtime.bridge.coach.scene import Tellers
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


def tell_trail_brake(view: View) -> Facts:
    """How the brake is let go in the named corners, else in those that slow the car most."""
    drive = view.drive
    usual = {n: one for n, one in _usual(drive).items() if (one.peak_brake_bar or 0) >= BRAKING_BAR}
    names = [name for name in view.slots.corners if name in usual]
    if not names and (view.slots.corners or not usual):
        return tell_values(view.about(quantity="brake_pressure"))
    lead: list[Fact] = []
    if not names:
        held = {(one.corner, one.lap) for one in trail_braking(drive)}
        counts: dict[str, Cell] = {
            "into": sum(_entry_bar(drive, one)[1] for one in usual.values()),
            "apex": sum((name, one.lap) in held for name, one in usual.items()),
            "count": len(usual),
        }
        lead = [view.fact("trail-summary", counts)]
        names = sorted(usual, key=lambda name: -_slowing(drive, usual[name]))[:2]
    lead += [_release(view, drive, usual[name], view.scene.driver) for name in names[:3]]
    for name, rival in view.rivals[:1]:
        theirs = _usual(rival)
        lead += [_release(view, rival, theirs[n], name) for n in names[:1] if n in theirs]
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


def _release(view: View, drive: Drive, one: Pass, driver: str) -> Fact:
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
    return view.fact("trail-corner", values, (one.lap,), one.corner)


def tell_coasting(view: View) -> Facts:
    """Coasting as it is asked about, and where most of it is where no place is named."""
    asked = view.about(quantity="coasting")
    whole = not (asked.slots.corners or asked.slots.straights or asked.slots.sectors)
    which = view.slots.which not in (None, "corner")
    asks = view.slots.where or which or view.slots.claims or view.slots.side
    plain = whole and not (view.listed or asks or view.rivals)
    most = tell(asked.about(where=True, order="most"))[:1] if plain else ()
    return (*tell(asked), *most)


def tell_grip(view: View) -> Facts:
    """The combined g where it is asked for, else in the corners with least and most of it; and what
    this car reached today."""
    slots, lead = view.slots, list[Fact]()
    if slots.quantity is not None and slots.quantity not in UNITS:
        lead = [not_recorded(slots.quantity)]
    if is_missing(view.drive, "total_g"):
        return (*lead, not_recorded("total_g"))
    order = slots.order if slots.corners or slots.order in ORDERED else "least"
    told = tell(view.about(quantity="total_g", order=order, where=not slots.corners, spot=None))
    envelope = envelope_g(view.drive)
    if envelope is None:
        return (*lead, *told)
    cells = [cell for fact in told for cell in fact.values.values()]
    seen = [cell.number for cell in cells if isinstance(cell, Value) and cell.unit == "g"]
    caveat = _values("g", envelope=max(envelope, *seen))
    caveat |= _flags(computed="combo_g" in view.drive.series.derived)
    return (*lead, *told[:2], view.fact("grip-caveat", caveat))


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
    shown: list[Quantity] = ["steering", "lateral_g", "speed", "throttle", "throttle_point"]
    steering, lateral_g, speed, throttle, pick_up = (
        (found.usual if usual else found.values[one.lap]).number
        if found and (usual or one.lap in found.values)
        else None
        for found in (spread(drive, each, one.corner, None) for each in shown)
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


def _shows(view: View, drive: Drive, one: Pass, which: str, driver: str = "") -> Fact:
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
    return view.fact("balance-pass", values, (one.lap,), one.corner, other=driver)


def _find_odd(view: View) -> tuple[int, str, float]:
    """The lap and the corner, of those named, that lost most against the usual pass, and seconds;
    no lap where none lost much, unless one was named."""
    drive, corners, numbers = view.drive, view.slots.corners, view.listed
    usual = {n: one for n, one in _usual(drive).items() if not corners or n in corners}
    losses = [
        (loss.seconds, -lap, loss.corner)
        for lap in numbers or [each.number or 0 for each in drive.counted]
        for loss in (losses_between(passes_of_lap(drive, lap), usual, drive) if usual else ())
    ]
    seconds, lap, corner = max(losses, default=(0.0, 0, ""))
    return (-lap if seconds >= _ODD_S or view.slots.laps else 0), corner, seconds


def tell_balance(view: View) -> Facts:
    """What steering, speed, throttle and lateral g show in a corner: of the usual pass, the odd
    one, a rival's; whether it is the driver or the car cannot be told by that."""
    drive = view.drive
    lap, corner, _ = _find_odd(view)
    usual = _usual(drive).get(corner)
    if usual is None:
        return (NO_CORNERS,)
    told, sign = [_shows(view, drive, usual, "usual")], "none"
    odd = passes_of_lap(drive, lap).get(corner)
    if odd is not None and odd is not usual:
        told.append(_shows(view, drive, odd, "lap"))
        sign = _sign(_read(drive, odd), _read(drive, usual))
    for name, rival in view.rivals or [(n, o.drive) for n, o in view.scene.rivals.items()]:
        if theirs := _usual(rival).get(corner):
            told.append(_shows(view, rival, theirs, "other", name))
            other = _sign(_read(drive, usual), _read(rival, theirs))
            sign = other if sign in ("none", "lift") else sign
    sign = "unknown" if is_missing(drive, "steering") else "none" if sign == "lift" else sign
    return (view.fact("balance", {"where": Corner(corner), "sign": sign}, where=corner), *told)


def tell_incidents(view: View) -> Facts:
    """What was detected, by lap and corner; else what is looked for, and the oddest moment."""
    drive, found = view.drive, find_incidents(view)
    if found:
        lead = [view.fact("incidents-count", {"count": len(found)})] if len(found) > 3 else []
        return (*lead, *(incident_fact(view, each) for each in found[:3]))
    laps, series = view.listed or drive.counted, drive.series
    seen = {
        "spin": series.gps_usable,
        "off_line": is_recorded(drive.progress.offset),
        "stopped": is_recorded(series["speed_ms"]),
        "over_g": is_recorded(series.combo_g) and "combo_g" not in series.derived,
    }
    kinds = tuple(Term("incident", kind) for kind, can in seen.items() if can)
    none = view.fact("incidents-none", {"kinds": kinds, "count": len(laps)})
    lap, corner, seconds = _find_odd(view)
    return (none, _odd(view, lap, corner, seconds)) if lap and seconds >= _ODD_S else (none,)


def find_incidents(view: View) -> list[Incident]:
    """What went wrong, on the laps and in the corners that are named, if any; an assistance system
    at work is no mishap."""
    drive, laps, corners = view.drive, view.listed, view.slots.corners
    return [
        each
        for each in incidents(drive, view.scene.assisted if view.name == "own" else ())
        if each.severity != "low"
        and (not laps or each.lap in laps)
        and (not corners or _corner_at(drive, each.distance_m) in corners)
    ]


def _corner_at(drive: Drive, place: float | None) -> str:
    """The corner that a place is in, or that comes next; empty where that is not known."""
    if place is None or not known_corners(drive):
        return ""
    exits = {corner.name: corner.exit.distance_m for corner in known_corners(drive)}
    return min(exits, key=lambda name: (exits[name] - place) % drive.length_m)


def incident_fact(view: View, each: Incident) -> Fact:
    """That something happened on a lap, and in or before which corner."""
    corner = _corner_at(view.drive, each.distance_m)
    values: dict[str, Cell] = {"kind": Term("incident", each.kind), "lap": each.lap or 0}
    values |= {"where": Corner(corner), **_flags(placed=bool(corner))}
    values |= {**_values("km/h", speed=each.speed_kmh), **_flags(moving=each.speed_kmh is not None)}
    return view.fact("incident", values, (each.lap,) if each.lap else (), corner or None)


def _odd(view: View, lap: int, corner: str, seconds: float) -> Fact:
    values: dict[str, Cell] = {"lap": lap, "where": Corner(corner), "loss": Value(seconds, "s")}
    return view.fact("incident-odd", values, (lap,), corner)


def tell_incident_explain(view: View) -> Facts:
    """What steering, throttle and lateral g did in a moment, beside the usual lap there."""
    drive = view.drive
    lap, corner, seconds = _find_odd(view)
    lead = _odd(view, lap, corner, seconds)
    for each in find_incidents(view):
        if each.lap:
            lap, corner = each.lap, _corner_at(drive, each.distance_m)
            lead = incident_fact(view, each)
            break
    odd, usual = passes_of_lap(drive, lap).get(corner) if lap and corner else None, _usual(drive)
    if odd is None:
        return tell_incidents(view)
    cause = _sign(_read(drive, odd), _read(drive, usual[corner]))
    values: dict[str, Cell] = {"lap": lap, "where": Corner(corner), "cause": cause}
    told = view.fact("incident-cause", values, (lap,), corner)
    shown = _shows(view, drive, odd, "lap"), _shows(view, drive, usual[corner], "usual")
    return (lead, told, *shown)


def tell_resolution(view: View) -> Facts:
    """Metres between samples, noise of the fixes, scatter of the brake point; whether so many
    metres can be told apart."""
    drive = view.drive
    series, noise = drive.series, fix_noise_m(drive.series)
    asked = next((each.number for each in view.slots.amounts if each.unit == "m"), _ASKED_M)
    names = view.slots.corners or tuple(corner.name for corner in known_corners(drive))
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
    rate = view.fact("resolution-rate", values)
    if not scatter:
        if is_missing(drive, "brake_point"):
            return (not_recorded("brake_point"), rate)
        few = view.fact("spread-few", {"count": len(drive.counted)})
        return (rate, few if known_corners(drive) else NO_CORNERS)
    metres, corner = scatter[len(scatter) // 2]
    count = len(drive.counted)
    single = 2.0 * float(np.hypot(step / 12**0.5, metres))  # an even error has step² / 12
    told = "yes" if asked > max(single, step) else "mean" if asked > single / count**0.5 else "no"
    verdict = {**_values("m", asked=asked), "told": told}
    spreads: dict[str, Cell] = {"where": Corner(corner), "count": count}
    scattered = view.fact(
        "resolution-scatter", {**spreads, **_values("m", scatter=metres)}, where=corner
    )
    return (view.fact("resolution-told", verdict, where=corner), rate, scattered)


TELLERS: Final[Tellers] = {
    "trail_brake": measured(tell_trail_brake, "brake_pressure"),
    "coasting": measured(tell_coasting, "coasting"),
    "grip": measured(tell_grip),
    "balance": measured(tell_balance),
    "incidents": measured(tell_incidents),
    "incident_explain": measured(tell_incident_explain),
    "resolution": measured(tell_resolution),
}
