"""A recording out of columns: distance, signs and sanity that no file is trusted with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runtime.bridge.can.rows import even_times, wide_columns
from runtime.bridge.formats.channels import About, Guesses, convert, describe, guess
from runtime.bridge.formats.corrections import correct_frames
from runtime.bridge.formats.lapmarks import (
    LINE_OF_LAPS,
    Lap,
    counted_laps,
    lap_facts,
    marks_of,
    start_line,
)
from runtime.bridge.formats.motion import (
    distance,
    forward,
    longest_step,
    spikes,
)
from runtime.bridge.session.names import LONGEST_NAME, clean_name
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
from runtime.bridge.session.series import Odometer, fill_distance

_STEP_S: Final = 0.05
"""Between the frames of a recording without positions."""
_FASTEST_S: Final = 0.005
"""Two fixes nearer than this are one."""
_LONGEST_TEXT: Final = 100


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


def drop_spikes(parts: Parts) -> None:
    """Null the positions that leave the path for a moment; tell of rows that repeat a time."""
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


def record(
    parts: Parts,
    *,
    video: Sequence[VideoFrame] = (),
    created: float | None = None,
    start: Gate | None = None,
    splits: tuple[Gate, ...] = (),
    comments: Iterable[str] = (),
) -> Recording:
    """Put a recording together; call `drop_spikes` first."""
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


def frames_at(times: Numbers, signals: Mapping[str, Samples]) -> Frames:
    """A frame at each time, whether the car moves or not: a pause of the frames would be a pause
    of the recording, and no time of the lap.

    See `wide_columns`; the distance is integrated from the speed, else measured between fixes.
    """
    columns = wide_columns(times, signals)
    speed = columns["speed_ms"]
    if not np.isnan(speed).all():
        columns["distance_m"] = fill_distance(times, speed, columns["distance_m"], Odometer())[0]
    elif np.isfinite(columns["lat"]).any():
        columns["distance_m"] = distance(times, columns["lat"], columns["lon"], speed)
    return Frames(columns)


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


def record_channels(
    channels: Mapping[str, Samples],
    units: Mapping[str, str],
    *,
    form: str,
    created: float | None = None,
    offset: float = 0.0,
    comments: Sequence[str] = (),
    functions: Mapping[str, str] | None = None,
    laps: Sequence[Lap] = (),
    facts: Mapping[str, str] | None = None,
) -> Recording:
    """The channels as a session: known ones fill the frames, and all are kept as signals.

    A frame stands at each GPS fix, else every 50 ms. *offset* is added to all times (s), those of
    the *laps* as well. A signal that the catalog knows has its name and unit, others their own.
    """
    named, known = _named(channels, units, functions or {}, offset)
    found = guess(known)
    helpers = {one.column: convert(one, named[one.channel]) for one in found.columns}
    known_too = {one.column: convert(one, named[one.channel]) for one in found.signals}
    renamed = {one.channel for one in found.signals}
    own = {name: samples for name, samples in named.items() if name not in renamed}
    times = _times(helpers, named)
    mending = correct_frames(frames_at(times, {**known_too, **helpers}))
    laps = [Lap(lap.begin + offset, lap.end + offset, lap.whole) for lap in laps]
    laps = laps or counted_laps(named)
    facts_told = {
        "format": form,
        "time_base": "utc" if offset else "zero",
        **(facts or {}),
        **found.facts(),
        **mending.facts,
        **lap_facts(laps),
    }
    if created is not None:
        facts_told["start_date"] = "as written, read as UTC"
    start = start_line(mending.frames, marks_of(laps))
    if start is not None:
        facts_told["start_line"] = LINE_OF_LAPS
    return Recording(
        frames=mending.frames,
        signals={**own, **known_too},
        created=created,
        start=start,
        doubts=(*_doubts(found, times), *mending.doubts),
        facts=facts_told,
        unmapped=tuple(own),
        comments=tuple(comments),
    )


def _doubts(found: Guesses, times: Numbers) -> Iterator[Doubt]:
    if dead := found.dead:
        detail = f"channels that never change fill no column: {', '.join(dead)}"
        yield Doubt("dead_channels", detail, len(dead))
    if pauses := int(np.count_nonzero(np.diff(times) > longest_step(times))):
        yield Doubt("pauses", "pauses of the recording, or of its positions", pauses)


def _named(
    channels: Mapping[str, Samples],
    units: Mapping[str, str],
    functions: Mapping[str, str],
    offset: float,
) -> tuple[dict[str, Samples], dict[str, About]]:
    """The channels in order of time, under names that can be stored, and what is told of them."""
    moved: dict[int, Numbers] = {}
    named: dict[str, Samples] = {}
    known: dict[str, About] = {}
    for name, samples in channels.items():
        order = _sorted(samples)
        moved.setdefault(id(samples.t), order.t + offset)
        plain = own = clean_name(name)
        number = 1
        while plain in WIDE or plain in named:
            word = "logged" if number == 1 else f"logged {number}"
            plain = f"{own[: LONGEST_NAME - 16]} ({word})"
            number += 1
        t = moved[id(samples.t)] if order is samples else order.t + offset
        named[plain] = Samples(t, order.value)
        about = describe(named[plain], units.get(name, ""), functions.get(name, ""))
        known[plain] = about._replace(name=name)
    return named, known


def _sorted(samples: Samples) -> Samples:
    if not (np.diff(samples.t) < 0).any():
        return samples
    order = np.argsort(samples.t, kind="stable")
    return Samples(samples.t[order], samples.value[order])


def _times(helpers: Mapping[str, Samples], named: Mapping[str, Samples]) -> Numbers:
    if "lat" in helpers and len(helpers["lat"].t) > 1:
        t = np.unique(helpers["lat"].t)
        return t[np.concatenate(([True], np.diff(t) >= _FASTEST_S))]
    chosen = helpers or named
    return even_times(np.unique(np.concatenate([one.t for one in chosen.values()])), _STEP_S)


def texts_of(told: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """What a file says of the session, by our names for its own; printable text only."""
    whole = {}
    for theirs, ours in names.items():
        text = "".join(filter(str.isprintable, told.get(theirs, ""))).strip()[:_LONGEST_TEXT]
        if text:
            whole[ours] = text
    return whole
