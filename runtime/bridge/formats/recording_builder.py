"""Builds recordings from columns or channels: adds distance, checks and corrections."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.can.frame_columns import build_wide_columns, hold_last, list_even_times
from runtime.bridge.formats.column_mapping import (
    describe_matches,
    find_channels,
    identify_logger,
    warn_of_matches,
)
from runtime.bridge.formats.corrections import correct_frames
from runtime.bridge.formats.gps_motion import find_spikes, measure_period
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
"""Time between frames without positions."""
_FASTEST_S: Final = 0.005
"""Fixes closer in time than this count as one."""
_LONGEST_TEXT: Final = 100


def build_from_columns(
    wide: Mapping[str, Numbers],
    tall: Mapping[str, Numbers],
    *,
    unmapped: tuple[str, ...],
    facts: Mapping[str, str],
    doubts: Iterable[ReadWarning],
    created: float | None,
    comments: Iterable[str],
) -> Recording:
    """Build a recording from columns in the units of the bridge, one number per row.

    *wide* has finite timestamps, both coordinates and any other columns of a frame. Positions that
    briefly leave the path become null; rows that repeat a time cause a warning.
    """
    doubts = list(doubts)
    t, lat, lon = wide[TIMESTAMP], wide["lat"], wide["lon"]
    bad = find_spikes(t, lat, lon)
    if bad.any():
        lat, lon = np.where(bad, np.nan, lat), np.where(bad, np.nan, lon)
        text = "positions that no car could reach"
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
    columns = {name: normalize(values) for name, values in columns.items()}
    return Recording(
        frames=Frames({name: columns.get(name, nothing) for name in WIDE}),
        signals=build_signals(columns[TIMESTAMP], tall),
        created=created,
        doubts=tuple(doubts),
        facts=facts,
        unmapped=unmapped,
        comments=tuple(comments),
    )


def finish(recording: Recording, laps: Sequence[Lap] = ()) -> Recording:
    """Correct the frames and add the laps that the logger counted."""
    correction = correct_frames(recording.frames)
    corrected = replace(
        recording,
        frames=correction.frames,
        doubts=(*recording.doubts, *correction.doubts),
        facts={**recording.facts, **correction.facts},
    )
    return add_laps(corrected, laps)


def build_frames(times: Numbers, signals: Mapping[str, Samples]) -> Frames:
    """Build a frame at each time, also while the car stands: a gap would not count as lap time.

    See `wide_columns`. Without a distance signal the distance is integrated from the speed, else
    measured between fixes.
    """
    columns = build_wide_columns(times, signals)
    if "distance_m" in signals:
        columns["distance_m"] = hold_last(signals["distance_m"], times)
    else:
        columns["distance_m"] = measure_travel(Frames(columns))
    return Frames(columns)


def build_signals(t: Numbers, columns: Mapping[str, Numbers]) -> dict[str, Samples]:
    """Convert columns to signals without nulls; empty columns give no signal."""
    signals: dict[str, Samples] = {}
    for name, values in columns.items():
        finite = np.isfinite(values)
        if finite.all():
            signals[name] = Samples(t, normalize(values))  # the times are shared, not copied
        elif finite.any():
            signals[name] = Samples(t[finite], normalize(values[finite]))
    return signals


def normalize(values: Numbers) -> Numbers:
    """Remove -0.0, infinities and odd NaNs; the stores must agree to the bit."""
    values = values + 0.0
    values[~np.isfinite(values)] = np.nan
    return values


def build_from_channels(
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
    """Build a recording from channels: known ones fill the frames, all are kept as signals.

    There is a frame at each GPS fix, else every 50 ms. *offset* (s) is added to all times,
    including those of *laps*. Signals of the catalog get its name and unit, others keep theirs.
    *doubts* come before those of the channels. Raises `UnreadableRecording` without channels.
    """
    if not channels:
        raise UnreadableRecording("the file holds no channel with values")
    named, described = _prepare_channels(channels, units, functions or {}, offset)
    logger = identify_logger(form, channels)
    matches = find_channels(list(described.values()), logger, options)
    kept_as = {channel.name: name for name, channel in described.items()}
    helpers: dict[str, Samples] = {}
    signals: dict[str, Samples] = {}
    for signal, match in matches.items():
        if match.channel:
            taken = match.convert(named[kept_as[match.channel]])
            (helpers if signal in WIDE_TABLE else signals)[signal] = taken
    renamed = {kept_as[matches[signal].channel] for signal in signals}
    own = {name: samples for name, samples in named.items() if name not in renamed}
    times = _choose_times(helpers, named)
    doubts = [*doubts, *warn_of_matches(matches)]
    if pauses := int(np.count_nonzero(np.diff(times) > longest_step_s(measure_period(times)))):
        doubts.append(ReadWarning("pauses", "pauses of the recording, or of its positions", pauses))
    base_facts = {"format": form, "time_base": "utc" if offset else "zero"}
    if created is not None:
        base_facts["start_date"] = "as written, read as UTC"
    recording = Recording(
        frames=build_frames(times, {**signals, **helpers}),
        signals={**own, **signals},
        created=created,
        doubts=tuple(doubts),
        facts={**base_facts, **(facts or {})},
        unmapped=tuple(own),
        comments=tuple(comments),
        mapping=describe_matches(matches),
        logger=logger,
    )
    moved = [lap._replace(begin=lap.begin + offset, end=lap.end + offset) for lap in laps]
    return finish(recording, moved)


def _prepare_channels(
    channels: Mapping[str, Samples],
    units: Mapping[str, str],
    functions: Mapping[str, str],
    offset: float,
) -> tuple[dict[str, Samples], dict[str, Channel]]:
    """Sort the channels by time under names that can be stored, and describe each."""
    moved: dict[int, Numbers] = {}  # channels of one clock share their times
    named: dict[str, Samples] = {}
    about: dict[str, Channel] = {}
    ends = [(float(samples.t.min()), float(samples.t.max())) for samples in channels.values()]
    whole = max((end for _, end in ends), default=0.0) - min((t for t, _ in ends), default=0.0)
    for name, samples in channels.items():
        order = _sort(samples)
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


def _sort(samples: Samples) -> Samples:
    if not (np.diff(samples.t) < 0).any():
        return samples
    order = np.argsort(samples.t, kind="stable")
    return Samples(samples.t[order], samples.value[order])


def _choose_times(helpers: Mapping[str, Samples], named: Mapping[str, Samples]) -> Numbers:
    if "lat" in helpers and len(helpers["lat"].t) > 1:
        t = np.unique(helpers["lat"].t)
        return t[np.concatenate(([True], np.diff(t) >= _FASTEST_S))]
    chosen = helpers or named
    return list_even_times(
        np.unique(np.concatenate([samples.t for samples in chosen.values()])), _STEP_S
    )


def select_texts(texts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Select the texts in *names* and rename them as there; printable characters only."""
    selected = {}
    for theirs, ours in names.items():
        if text := "".join(filter(str.isprintable, texts.get(theirs, ""))).strip():
            selected[ours] = text[:_LONGEST_TEXT]
    return selected
