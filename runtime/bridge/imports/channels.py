"""Makes a recording of channels that a logger has recorded, each at its own rate."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from runtime.bridge.canlog.names import applied, guess
from runtime.bridge.canlog.rows import even_times, frames_at
from runtime.bridge.telemetry.values import WIDE, Numbers, Recording, Samples
from runtime.bridge.vbo.columns import clean_name

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
) -> Recording:
    """The channels as a session: known names fill the frames, all are kept as signals.

    A frame stands at each GPS fix, else every 50 ms. *offset* is added to all times (s).
    """
    moved: dict[int, Numbers] = {}
    named: dict[str, Samples] = {}
    told: dict[str, str] = {}
    for name, samples in channels.items():
        order = _sorted(samples)
        moved.setdefault(id(samples.t), order.t + offset)
        plain = clean_name(name)
        if plain in WIDE or plain in named:
            plain = f"{plain} (logged)"
        t = moved[id(samples.t)] if order is samples else order.t + offset
        named[plain] = Samples(t, order.value)
        told[plain] = units.get(name, "")
    found = guess(told)
    helpers = {one.column: applied(one, named[one.channel]) for one in found}
    times = _times(helpers, named)
    facts = {
        "format": form,
        "time_base": "utc" if offset else "zero",
        "columns": ", ".join(map(str, found)) or "none",
    }
    if created is not None:
        facts["start_date"] = "as written, read as UTC"
    return Recording(
        frames=frames_at(times, helpers),
        signals=named,
        created=created,
        facts=facts,
        unmapped=tuple(named),
        comments=tuple(comments),
    )


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
