"""A recording out of columns: distance, signs and sanity that no file is trusted with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runtime.bridge.formats.motion import Places, bearing, distance, forward, spikes, turning_g
from runtime.bridge.session.recording import (
    TIMESTAMP,
    WIDE,
    Doubt,
    Frames,
    Gate,
    Numbers,
    Recording,
    Samples,
    VideoFrame,
)

_ALIKE: Final = 0.3
_FEW: Final = 10
_CLEAR: Final = 0.5
_MANY: Final = 30


@dataclass(eq=False)
class Parts:
    """What a reader of a format found, in the units of the bridge, one number a row."""

    t: Numbers
    """Finite seconds."""
    lat: Numbers
    lon: Numbers
    wide: dict[str, Numbers]
    """Speed, accelerations, pedals … by the names of a frame, as far as the file has them."""
    tall: dict[str, Numbers]
    unmapped: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)


def clean_motion(parts: Parts) -> None:
    """Take spikes out of the positions; turn lateral g and steering so that right is positive."""
    bad = spikes(parts.t, parts.lat, parts.lon)
    if bad.any():
        parts.lat = np.where(bad, np.nan, parts.lat)
        parts.lon = np.where(bad, np.nan, parts.lon)
        text = "positions that no car can have reached"
        parts.doubts.append(Doubt("position_jumps", text, int(bad.sum())))
    late = len(parts.t) - len(forward(parts.t))
    if late:
        text = "rows whose time is not after every earlier one"
        parts.doubts.append(Doubt("time_not_increasing", text, late))
    g_lat, steering = (parts.wide.get(name) for name in ("g_lat", "steering_deg"))
    if g_lat is None and steering is None:
        return
    places, pull = _turning(parts)
    if g_lat is not None and _leftward(g_lat[places], pull):
        parts.wide["g_lat"] = -g_lat
        text = "lateral acceleration was positive to the left"
        parts.doubts.append(Doubt("g_lat_sign_flipped", text))
        parts.facts["g_lat_sign"] = "flipped"
    if steering is not None and _turned_left(steering[places], pull):
        parts.wide["steering_deg"] = -steering
        text = "the steering angle was positive to the left"
        parts.doubts.append(Doubt("steering_sign_flipped", text))
        parts.facts["steering_sign"] = "flipped"


def _turning(parts: Parts) -> tuple[Places, Numbers]:
    """Lateral acceleration in g as positions and speed have it; nothing without a speed."""
    speed = parts.wide.get("speed_ms")
    if speed is None:
        return np.empty(0, np.intp), np.empty(0)
    heading = parts.tall.get("heading_deg")
    if heading is None:
        heading = _course(parts.lat, parts.lon)
    places, pull = turning_g(parts.t, heading, speed)
    possible = np.abs(pull) < 5.0
    return places[possible], pull[possible]


def _leftward(told: Numbers, pull: Numbers) -> bool:
    known = np.isfinite(told)
    pull, told = pull[known], told[known]
    if len(told) < _FEW:
        return False
    size = np.sqrt(np.sum(pull**2) * np.sum(told**2))
    return bool(np.sum(pull * told) < -_ALIKE * size)


def _turned_left(angle: Numbers, pull: Numbers) -> bool:
    """A wheel has a zero of its own, and turns far where the car is slow: more is asked of it."""
    known = np.isfinite(angle)
    pull, angle = pull[known], angle[known]
    if len(angle) < _MANY or not np.ptp(angle) or not np.ptp(pull):
        return False
    return bool(np.corrcoef(angle, pull)[0, 1] < -_CLEAR)


def _course(lat: Numbers, lon: Numbers) -> Numbers:
    course = np.full(len(lat), np.nan)
    course[:-1] = bearing(lat[:-1], lon[:-1], lat[1:], lon[1:])
    still = np.flatnonzero((np.diff(lat) == 0.0) & (np.diff(lon) == 0.0))
    course[still] = np.nan
    return course


def record(
    parts: Parts,
    *,
    video: Sequence[VideoFrame] = (),
    created: float | None = None,
    start: Gate | None = None,
    splits: tuple[Gate, ...] = (),
    comments: Iterable[str] = (),
) -> Recording:
    """Put a recording together; call `clean_motion` first."""
    rows = len(parts.t)
    nothing = np.full(rows, np.nan)
    nothing.flags.writeable = False
    wide = dict(parts.wide)
    if "combo_g" not in wide and "g_lat" in wide and "g_long" in wide:
        wide["combo_g"] = np.hypot(wide["g_lat"], wide["g_long"])
    speed = wide.get("speed_ms", nothing)
    wide["distance_m"] = distance(parts.t, parts.lat, parts.lon, speed)
    wide |= {TIMESTAMP: parts.t, "lat": parts.lat, "lon": parts.lon}
    whole = {name: canonical(values) for name, values in wide.items()}
    return Recording(
        frames=Frames({name: whole.get(name, nothing) for name in WIDE}),
        signals=samples(whole[TIMESTAMP], parts.tall),
        video=tuple(video),
        created=created,
        start=start,
        splits=splits,
        doubts=tuple(parts.doubts),
        facts=dict(parts.facts),
        unmapped=parts.unmapped,
        comments=tuple(comments),
    )


def samples(t: Numbers, columns: Mapping[str, Numbers]) -> dict[str, Samples]:
    """Signals of columns without their nulls; columns without a number have no signal."""
    signals: dict[str, Samples] = {}
    for name, values in columns.items():
        known = np.isfinite(values)
        if known.all():
            signals[name] = Samples(t, canonical(values))  # the times are shared, not copied
        elif known.any():
            signals[name] = Samples(t[known], canonical(values[known]))
    return signals


def canonical(values: Numbers) -> Numbers:
    """Without -0.0, infinities and odd NaNs; the stores must agree to the bit."""
    values = values + 0.0
    values[~np.isfinite(values)] = np.nan
    return values
