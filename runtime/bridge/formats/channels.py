"""Makes a recording of channels that a logger has recorded, each at its own rate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from runtime.bridge.formats.canlog.mending import mended
from runtime.bridge.formats.canlog.names import Guessed, Told, applied, guess, told
from runtime.bridge.formats.canlog.rows import even_times, frames_at
from runtime.bridge.formats.lapmarks import (
    LINE_OF_LAPS,
    Lap,
    counted_laps,
    lap_facts,
    marks_of,
    start_line,
)
from runtime.bridge.formats.motion import longest_step
from runtime.bridge.session.names import LONGEST_NAME, clean_name
from runtime.bridge.session.recording import WIDE, Doubt, Numbers, Recording, Samples

STEP_S: Final = 0.05
_FASTEST: Final = 0.005
"""Two fixes nearer than this are one."""


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
    helpers = {one.column: applied(one, named[one.channel]) for one in found.columns}
    known_too = {one.column: applied(one, named[one.channel]) for one in found.signals}
    renamed = {one.channel for one in found.signals}
    own = {name: samples for name, samples in named.items() if name not in renamed}
    times = _times(helpers, named)
    mending = mended(frames_at(times, {**known_too, **helpers}))
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


def _doubts(found: Guessed, times: Numbers) -> Iterator[Doubt]:
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
) -> tuple[dict[str, Samples], dict[str, Told]]:
    """The channels in order of time, under names that can be stored, and what is told of them."""
    moved: dict[int, Numbers] = {}
    named: dict[str, Samples] = {}
    known: dict[str, Told] = {}
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
        about = told(named[plain], units.get(name, ""), functions.get(name, ""))
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
        return t[np.concatenate(([True], np.diff(t) >= _FASTEST))]
    chosen = helpers or named
    return even_times(np.unique(np.concatenate([one.t for one in chosen.values()])), STEP_S)
