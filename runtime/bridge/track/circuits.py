"""Makes a circuit out of a stored session."""

import asyncio
from dataclasses import replace

from runtime.bridge.session.laps import Laps
from runtime.bridge.session.names import slug
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.track.build import Built, from_laps
from runtime.bridge.track.model import TrackError

ALTITUDE = "altitude_m"


async def circuit_of(store: Store, row: SessionRow, laps: Laps, name: str = "") -> Built:
    """The circuit of a session's median lap, called *name*, else as the session says.

    Raises `TrackError` where no lap is good enough, or the name has no letter.
    """
    called = name or row.track or row.session_id
    if not slug(called):
        raise TrackError("the name needs a letter or a digit")
    heights = (await store.read_signals(row.session_id, [ALTITUDE])).get(ALTITUDE)
    built = await asyncio.to_thread(from_laps, laps, called, altitude=heights)
    track = replace(built.track, generated_from=f"track build {row.session_id}")
    return built._replace(track=track)
