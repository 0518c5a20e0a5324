"""How the car was handled: releasing the brake, coasting, grip, balance, incidents, resolution."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grip import find_envelope
from runtime.bridge.analysis.incidents import Incident, detect_incidents
from runtime.bridge.analysis.losses import (
    find_passes,
    find_usual_passes,
    measure_losses,
)
from runtime.bridge.analysis.passes import STEERED_DEG, USUAL_LAPS, Pass
from runtime.bridge.analysis.pedals import measure_release, rate_trail_braking
from runtime.bridge.analysis.quantities import (
    estimate_fix_noise,
    find_passes_in,
    is_missing,
    list_corners,
)
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Unit, Value
from runtime.bridge.coach.facts.comparisons import FEW_LAPS, tell, tell_values
from runtime.bridge.coach.facts.measures import (
    APART,
    ORDERED,
    find_spread,
    orient,
    require_recorded,
)
from runtime.bridge.coach.facts.view import NO_CORNERS, Facts, View, not_recorded
from runtime.bridge.coach.need import UNITS, Quantity
from runtime.bridge.coach.scene import Tellers
from runtime.bridge.session.definitions import BRAKING_BAR, CLOSED_PCT, is_on_brake, is_recorded
from runtime.bridge.session.stats import deviation
from runtime.bridge.session.units import KMH

_TURNED: Final = 0.25
"""Share of the corner's largest steering angle from which the driver has turned in."""
_TRAILED: Final = 0.1
"""Share of the peak pressure still on at the entry that means trail braking."""
_ODD_S: Final = 0.3
"""A pass this much slower than usual is odd."""
_ASKED_M: Final = 3.0
_FINE_M: Final = 0.1


def _values(unit: Unit, **numbers: float | None) -> dict[str, Cell]:
    """Make values of one unit; 0 for the unknown, which the message leaves out."""
    return {name: Value(number or 0.0, unit) for name, number in numbers.items()}


def _flags(**flags: bool) -> dict[str, Cell]:
    """Make the switches of a message."""
    return {name: "yes" if flag else "no" for name, flag in flags.items()}


def tell_trail_brake(view: View) -> Facts:
    """Describe the brake release in the named corners, else in those that slow the car most."""
    drive = view.drive
    usual = {
        n: pass_ for n, pass_ in _usual(drive).items() if (pass_.peak_brake_bar or 0) >= BRAKING_BAR
    }
    names = [name for name in view.slots.corners if name in usual]
    if not names and (view.slots.corners or not usual):
        return tell_values(view.about(quantity="brake_pressure"))
    lead: list[Fact] = []
    if not names:
        held = {(pass_.corner, pass_.lap) for pass_ in rate_trail_braking(drive)}
        counts: dict[str, Cell] = {
            "into": sum(_entry_bar(drive, pass_)[1] for pass_ in usual.values()),
            "apex": sum((name, pass_.lap) in held for name, pass_ in usual.items()),
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
    """Return the usual passes; empty if the corners are unknown."""
    return find_usual_passes(drive) if list_corners(drive) else {}


def _slowing(drive: Drive, pass_: Pass) -> float:
    """Return how much a pass slows from the start of its approach, in km/h."""
    fastest = float(np.fmax.reduce(drive.series["speed_ms"][pass_.approach : pass_.last])) * KMH
    return fastest - (pass_.apex_speed_kmh or 0.0)


def _entry_bar(drive: Drive, pass_: Pass) -> tuple[float, bool]:
    """Return the pressure at the entry, and whether it is enough of the peak to trail the brake."""
    pressure = float(np.nan_to_num(drive.series["brake_bar"][pass_.first]))
    return pressure, pressure >= _TRAILED * (pass_.peak_brake_bar or 0.0)


def _release(view: View, drive: Drive, pass_: Pass, driver: str) -> Fact:
    """Describe the release: pressure at entry and apex, rate, place, overlap with the steering."""
    series, frames = drive.series, slice(pass_.approach, pass_.last)
    steering = np.abs(series["steering_deg"])
    turned = steering[frames] >= _TURNED * np.fmax.reduce(steering[pass_.frames])
    overlap = float(series.weight[frames][turned & is_on_brake(series)[frames]].sum())
    entry, trailed = _entry_bar(drive, pass_)
    rate, place = measure_release(series, pass_), pass_.brake_release_m
    side, (shown,) = orient("brake_release", Value(place or 0.0, "m"))
    apex = pass_.trail_brake_bar_at_apex
    values: dict[str, Cell] = {"driver": driver, "where": Corner(pass_.corner)}
    values |= _values("bar", peak=pass_.peak_brake_bar, entry=entry, apex=apex)
    values |= _flags(released=rate is not None and place is not None)
    values |= _flags(steered=not is_missing(drive, "steering"))
    values |= {**_values("bar/s", rate=rate), **_values("s", overlap=overlap)}
    values |= {"place": shown, "side": side, "shape": "trail" if trailed else "straight"}
    return view.fact("trail-corner", values, (pass_.lap,), pass_.corner)


def tell_coasting(view: View) -> Facts:
    """Describe coasting as asked, and where it is longest if no place is named."""
    coasting = view.about(quantity="coasting")
    whole = not (coasting.slots.corners or coasting.slots.straights or coasting.slots.sectors)
    which = view.slots.which not in (None, "corner")
    asks = view.slots.where or which or view.slots.claims or view.slots.side
    plain = whole and not (view.listed or asks or view.rivals)
    most = tell(coasting.about(where=True, order="most"))[:1] if plain else ()
    return (*tell(coasting), *most)


def tell_grip(view: View) -> Facts:
    """Describe combined g as asked, else in the corners with the least and the most; and what this
    car reached today."""
    slots, lead = view.slots, list[Fact]()
    if slots.quantity is not None and slots.quantity not in UNITS:
        lead = [not_recorded(slots.quantity)]
    if is_missing(view.drive, "total_g"):
        return (*lead, not_recorded("total_g"))
    order = slots.order if slots.corners or slots.order in ORDERED else "least"
    facts = tell(view.about(quantity="total_g", order=order, where=not slots.corners, spot=None))
    envelope = find_envelope(view.drive)
    if envelope is None:
        return (*lead, *facts)
    cells = [cell for fact in facts for cell in fact.values.values()]
    seen = [cell.number for cell in cells if isinstance(cell, Value) and cell.unit == "g"]
    caveat = _values("g", envelope=max(envelope, *seen))
    caveat |= _flags(computed="combo_g" in view.drive.series.derived)
    return (*lead, *facts[:2], view.fact("grip-caveat", caveat))


class _Moment(NamedTuple):
    """What a pass shows of the car; None if not recorded."""

    steering: float | None
    opposite: float
    """The largest angle against the corner, degrees."""
    lateral_g: float | None
    speed: float | None
    throttle: float | None
    """The lowest reading."""
    pick_up: float | None


def _read(drive: Drive, pass_: Pass) -> _Moment:
    usual = len(drive.counted) >= USUAL_LAPS and pass_ == _usual(drive)[pass_.corner]
    shown: list[Quantity] = ["steering", "lateral_g", "speed", "throttle", "throttle_point"]
    steering, lateral_g, speed, throttle, pick_up = (
        (spread.usual if usual else spread.values[pass_.lap]).number
        if spread and (usual or pass_.lap in spread.values)
        else None
        for spread in (find_spread(drive, quantity, pass_.corner, None) for quantity in shown)
    )
    angles = drive.series["steering_deg"]
    way = np.sign(np.nansum(angles[_usual(drive)[pass_.corner].frames]))
    opposite = float(np.fmax.reduce(-way * angles[pass_.frames]))
    opposite = opposite if opposite >= STEERED_DEG else 0.0
    return _Moment(steering, opposite, lateral_g, speed, throttle, pick_up)


def _sign(own: _Moment, target: _Moment) -> str:
    """Compare a pass with another: opposite lock, more lock for no more g, less g."""
    if own.steering is None or target.steering is None:
        return "unknown"
    lateral_g, usual_g = own.lateral_g or 0.0, target.lateral_g or 0.0
    if own.opposite > target.opposite:
        return "over"
    if own.steering - target.steering > APART["deg"] and lateral_g <= usual_g:
        return "under"
    return "lift" if lateral_g < usual_g - APART["g"] else "none"


def _tell_pass(view: View, drive: Drive, pass_: Pass, which: str, driver: str = "") -> Fact:
    """State speed, steering, lateral g and throttle of a pass in one fact."""
    seen = _read(drive, pass_)
    side, (pick_up,) = orient("throttle_point", Value(seen.pick_up or 0.0, "m"))
    values: dict[str, Cell] = {"which": which, "driver": driver, "lap": pass_.lap}
    values |= {"where": Corner(pass_.corner), "pick_up": pick_up, "side": side}
    values |= _flags(steered=seen.steering is not None, countered=seen.opposite > 0)
    values |= _flags(turned=seen.lateral_g is not None)
    values |= _values("deg", steering=seen.steering, opposite=seen.opposite)
    values |= {**_values("g", lateral=seen.lateral_g), **_values("km/h", speed=seen.speed)}
    values |= _values("%", throttle=seen.throttle)
    values["gas"] = "no" if seen.throttle is None else "yes"
    if seen.pick_up is None and seen.throttle is not None:
        values["gas"] = "held" if seen.throttle > CLOSED_PCT else "down"
    return view.fact("balance-pass", values, (pass_.lap,), pass_.corner, other=driver)


def _find_odd(view: View) -> tuple[int, str, float]:
    """Return the lap and the named corner that lost most against the usual pass, and the seconds;
    lap 0 if the loss is small and no lap was named."""
    drive, corners, numbers = view.drive, view.slots.corners, view.listed
    usual = {n: pass_ for n, pass_ in _usual(drive).items() if not corners or n in corners}
    losses = [
        (loss.seconds, -lap, loss.corner)
        for lap in numbers or [lap.number or 0 for lap in drive.counted]
        for loss in (measure_losses(find_passes(drive, lap), usual, drive) if usual else ())
    ]
    seconds, lap, corner = max(losses, default=(0.0, 0, ""))
    return (-lap if seconds >= _ODD_S or view.slots.laps else 0), corner, seconds


def tell_balance(view: View) -> Facts:
    """Describe steering, speed, throttle and lateral g in a corner on the usual pass, the odd one
    and a rival's; they cannot separate driver from car."""
    drive = view.drive
    lap, corner, _ = _find_odd(view)
    usual = _usual(drive).get(corner)
    if usual is None:
        return (NO_CORNERS,)
    facts, sign = [_tell_pass(view, drive, usual, "usual")], "none"
    odd = find_passes(drive, lap).get(corner)
    if odd is not None and odd is not usual:
        facts.append(_tell_pass(view, drive, odd, "lap"))
        sign = _sign(_read(drive, odd), _read(drive, usual))
    for name, rival in view.rivals or [(n, o.drive) for n, o in view.scene.rivals.items()]:
        if theirs := _usual(rival).get(corner):
            facts.append(_tell_pass(view, rival, theirs, "other", name))
            other = _sign(_read(drive, usual), _read(rival, theirs))
            sign = other if sign in ("none", "lift") else sign
    sign = "unknown" if is_missing(drive, "steering") else "none" if sign == "lift" else sign
    return (view.fact("balance", {"where": Corner(corner), "sign": sign}, where=corner), *facts)


def tell_incidents(view: View) -> Facts:
    """List detected incidents by lap and corner; else what can be detected, and the oddest
    moment."""
    drive, detected = view.drive, find_incidents(view)
    if detected:
        lead = [view.fact("incidents-count", {"count": len(detected)})] if len(detected) > 3 else []
        return (*lead, *(incident_fact(view, incident) for incident in detected[:3]))
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
    """Return incidents on the named laps and corners; a working assistance system is not one."""
    drive, laps, corners = view.drive, view.listed, view.slots.corners
    return [
        incident
        for incident in detect_incidents(drive, view.scene.assisted if view.name == "own" else ())
        if incident.severity != "low"
        and (not laps or incident.lap in laps)
        and (not corners or _corner_at(drive, incident.distance_m) in corners)
    ]


def _corner_at(drive: Drive, place: float | None) -> str:
    """Return the corner that a place is in or that comes next; empty if unknown."""
    if place is None or not list_corners(drive):
        return ""
    exits = {corner.name: corner.exit.distance_m for corner in list_corners(drive)}
    return min(exits, key=lambda name: (exits[name] - place) % drive.length_m)


def incident_fact(view: View, incident: Incident) -> Fact:
    """State what happened on a lap, and in or before which corner."""
    corner = _corner_at(view.drive, incident.distance_m)
    values: dict[str, Cell] = {"kind": Term("incident", incident.kind), "lap": incident.lap or 0}
    values |= {"where": Corner(corner), **_flags(placed=bool(corner))}
    values |= {
        **_values("km/h", speed=incident.speed_kmh),
        **_flags(moving=incident.speed_kmh is not None),
    }
    return view.fact("incident", values, (incident.lap,) if incident.lap else (), corner or None)


def _odd(view: View, lap: int, corner: str, seconds: float) -> Fact:
    values: dict[str, Cell] = {"lap": lap, "where": Corner(corner), "loss": Value(seconds, "s")}
    return view.fact("incident-odd", values, (lap,), corner)


def tell_incident_explain(view: View) -> Facts:
    """Describe steering, throttle and lateral g in a moment, against the usual lap there."""
    drive = view.drive
    lap, corner, seconds = _find_odd(view)
    lead = _odd(view, lap, corner, seconds)
    for incident in find_incidents(view):
        if incident.lap:
            lap, corner = incident.lap, _corner_at(drive, incident.distance_m)
            lead = incident_fact(view, incident)
            break
    odd, usual = find_passes(drive, lap).get(corner) if lap and corner else None, _usual(drive)
    if odd is None:
        return tell_incidents(view)
    cause = _sign(_read(drive, odd), _read(drive, usual[corner]))
    values: dict[str, Cell] = {"lap": lap, "where": Corner(corner), "cause": cause}
    fact = view.fact("incident-cause", values, (lap,), corner)
    shown = (
        _tell_pass(view, drive, odd, "lap"),
        _tell_pass(view, drive, usual[corner], "usual"),
    )
    return (lead, fact, *shown)


def tell_resolution(view: View) -> Facts:
    """State metres between samples, noise of the fixes, scatter of the brake row, and whether the
    distance in question can be resolved."""
    drive = view.drive
    series, noise = drive.series, estimate_fix_noise(drive.series)
    aim_m = next((amount.number for amount in view.slots.amounts if amount.unit == "m"), _ASKED_M)
    names = view.slots.corners or tuple(corner.name for corner in list_corners(drive))
    points = [row for name in names if (row := find_spread(drive, "brake_point", name, None))]
    points = [row for row in points if len(row.values) >= FEW_LAPS]
    scatter = sorted(
        (
            deviation([v.number for v in row.values.values()], sample=True) or 0.0,
            row.where or "",
        )
        for row in points
    )
    windows = [slice(pass_.start, pass_.last) for n in names for pass_ in find_passes_in(drive, n)]
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
        return (rate, few if list_corners(drive) else NO_CORNERS)
    metres, corner = scatter[len(scatter) // 2]
    count = len(drive.counted)
    single = 2.0 * float(np.hypot(step / 12**0.5, metres))  # uniform error: step² / 12
    clear = "yes" if aim_m > max(single, step) else "mean" if aim_m > single / count**0.5 else "no"
    verdict = {**_values("m", asked=aim_m), "told": clear}
    spreads: dict[str, Cell] = {"where": Corner(corner), "count": count}
    scattered = view.fact(
        "resolution-scatter", {**spreads, **_values("m", scatter=metres)}, where=corner
    )
    return (view.fact("resolution-told", verdict, where=corner), rate, scattered)


TELLERS: Final[Tellers] = {
    "trail_brake": require_recorded(tell_trail_brake, "brake_pressure"),
    "coasting": require_recorded(tell_coasting, "coasting"),
    "grip": require_recorded(tell_grip),
    "balance": require_recorded(tell_balance),
    "incidents": require_recorded(tell_incidents),
    "incident_explain": require_recorded(tell_incident_explain),
    "resolution": require_recorded(tell_resolution),
}
