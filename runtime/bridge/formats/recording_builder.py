"""A recording out of columns: distance, signs and sanity that no file is trusted with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.can.frame_columns import even_times, hold_last, wide_columns
from runtime.bridge.formats.column_mapping import (
    doubts_of,
    find_channels,
    logger_of,
    tell_matches,
)
from runtime.bridge.formats.corrections import correct_frames
from runtime.bridge.formats.gps_motion import nominal_period, spikes
from runtime.bridge.formats.logger_laps import Lap, add_laps
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.session.channels import WIDE_TABLE, Channel, describe
from runtime.bridge.session.names import LONGEST_NAME, clean_name
from runtime.bridge.session.recording import (
    TIMESTAMP,
    WIDE,
    Frames,
    Numbers,
    ReadWarning,
    Recording,
    Samples,
)
from runtime.bridge.session.series import is_later, longest_step_s, measure_travel

_STEP_S: Final = 0.05
"""Between the frames of a recording without positions."""
_FASTEST_S: Final = 0.005
"""Two fixes nearer than this are one."""
_LONGEST_TEXT: Final = 100


def record(
    wide: Mapping[str, Numbers],
    tall: Mapping[str, Numbers],
    *,
    unmapped: tuple[str, ...],
    facts: Mapping[str, str],
    doubts: Iterable[ReadWarning],
    created: float | None,
    comments: Iterable[str],
) -> Recording:
    """A recording of columns in the units of the bridge, one number a row.

    *wide* has the finite timestamp, both coordinates and other columns of a frame as far as the
    file has them. Positions that leave the path for a moment become null; rows that repeat a time
    cause a warning.
    """
    doubts = list(doubts)
    t, lat, lon = wide[TIMESTAMP], wide["lat"], wide["lon"]
    bad = spikes(t, lat, lon)
    if bad.any():
        lat, lon = np.where(bad, np.nan, lat), np.where(bad, np.nan, lon)
        text = "positions that no car can have reached"
        doubts.append(ReadWarning("position_jumps", text, int(bad.sum())))
    if late := int(np.count_nonzero(~is_later(t))):
        text = "rows whose time is not after every earlier one"
        doubts.append(ReadWarning("time_not_increasing", text, late))
    nothing = np.full(len(t), np.nan)
    nothing.flags.writeable = False
    columns = {**wide, "lat": lat, "lon": lon}
    if "combo_g" not in wide and "g_lat" in wide and "g_long" in wide:
        columns["combo_g"] = np.hypot(wide["g_lat"], wide["g_long"])
    if "distance_m" not in wide:
        columns["distance_m"] = measure_travel(
            Frames({name: columns.get(name, nothing) for name in WIDE})
        )
    columns = {name: canonical(values) for name, values in columns.items()}
    return Recording(
        frames=Frames({name: columns.get(name, nothing) for name in WIDE}),
        signals=samples(columns[TIMESTAMP], tall),
        created=created,
        doubts=tuple(doubts),
        facts=facts,
        unmapped=unmapped,
        comments=tuple(comments),
    )


def finish(recording: Recording, laps: Sequence[Lap] = ()) -> Recording:
    """The recording with corrected frames and the laps that the logger counted."""
    correction = correct_frames(recording.frames)
    corrected = replace(
        recording,
        frames=correction.frames,
        doubts=(*recording.doubts, *correction.doubts),
        facts={**recording.facts, **correction.facts},
    )
    return add_laps(corrected, laps)


def frames_at(times: Numbers, signals: Mapping[str, Samples]) -> Frames:
    """A frame at each time, whether the car moves or not: a pause of the frames would be a pause
    of the recording, and no time of the lap.

    See `wide_columns`; without a distance of its own it is integrated from the speed, else
    measured between fixes.
    """
    columns = wide_columns(times, signals)
    if "distance_m" in signals:
        columns["distance_m"] = hold_last(signals["distance_m"], times)
    else:
        columns["distance_m"] = measure_travel(Frames(columns))
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
    doubts: Iterable[ReadWarning] = (),
    options: Options = NO_OPTIONS,
) -> Recording:
    """The channels as a session: known ones fill the frames, and all are kept as signals.

    A frame stands at each GPS fix, else every 50 ms. *offset* is added to all times (s), those of
    the *laps* as well. A signal that the catalog knows has its name and unit, others their own.
    *doubts* come before those of the channels. Raises `UnreadableRecording` where there is none.
    """
    if not channels:
        raise UnreadableRecording("the file holds no channel with values")
    named, known = _named(channels, units, functions or {}, offset)
    logger = logger_of(form, channels)
    matches = find_channels(list(known.values()), logger, options)
    kept_as = {channel.name: name for name, channel in known.items()}
    helpers: dict[str, Samples] = {}
    signals: dict[str, Samples] = {}
    for signal, match in matches.items():
        if match.channel:
            taken = match.convert(named[kept_as[match.channel]])
            (helpers if signal in WIDE_TABLE else signals)[signal] = taken
    renamed = {kept_as[matches[signal].channel] for signal in signals}
    own = {name: samples for name, samples in named.items() if name not in renamed}
    times = _times(helpers, named)
    doubts = [*doubts, *doubts_of(matches)]
    if pauses := int(np.count_nonzero(np.diff(times) > longest_step_s(nominal_period(times)))):
        doubts.append(ReadWarning("pauses", "pauses of the recording, or of its positions", pauses))
    told = {"format": form, "time_base": "utc" if offset else "zero"}
    if created is not None:
        told["start_date"] = "as written, read as UTC"
    recording = Recording(
        frames=frames_at(times, {**signals, **helpers}),
        signals={**own, **signals},
        created=created,
        doubts=tuple(doubts),
        facts={**told, **(facts or {})},
        unmapped=tuple(own),
        comments=tuple(comments),
        mapping=tell_matches(matches),
        logger=logger,
    )
    moved = [lap._replace(begin=lap.begin + offset, end=lap.end + offset) for lap in laps]
    return finish(recording, moved)


def _named(
    channels: Mapping[str, Samples],
    units: Mapping[str, str],
    functions: Mapping[str, str],
    offset: float,
) -> tuple[dict[str, Samples], dict[str, Channel]]:
    """The channels in order of time, under names that can be stored, and what is known of each."""
    moved: dict[int, Numbers] = {}  # channels of one clock share their times
    named: dict[str, Samples] = {}
    about: dict[str, Channel] = {}
    ends = [(float(samples.t.min()), float(samples.t.max())) for samples in channels.values()]
    whole = max((end for _, end in ends), default=0.0) - min((t for t, _ in ends), default=0.0)
    for name, samples in channels.items():
        order = _sorted(samples)
        t = moved.setdefault(id(samples.t), order.t + offset)
        if order is not samples:
            t = order.t + offset
        plain = own = clean_name(name)
        number = 1
        while plain in WIDE or plain in named:
            word = "logged" if number == 1 else f"logged {number}"
            plain = f"{own[: LONGEST_NAME - 16]} ({word})"
            number += 1
        named[plain] = Samples(t, order.value)
        t = named[plain].t
        share = float(t[-1] - t[0]) / whole if whole > 0.0 else 1.0
        values = describe(named[plain], share)
        about[plain] = Channel(name, units.get(name, ""), functions.get(name, ""), values)
    return named, about


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


def texts_of(texts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """What a file says of the session, by our names for its own; printable text only."""
    kept = {}
    for theirs, ours in names.items():
        if text := "".join(filter(str.isprintable, texts.get(theirs, ""))).strip():
            kept[ours] = text[:_LONGEST_TEXT]
    return kept
