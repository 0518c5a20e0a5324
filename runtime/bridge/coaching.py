"""The coach of a running bridge: what it is asked about sessions, and what it remembers."""

from collections import deque
from typing import Final

from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.cues.model import Burst
from runtime.bridge.service import Service
from runtime.bridge.track.model import Track

MOST_BURSTS: Final = 2000
"""Of a session; then the oldest go."""
MOST_SESSIONS: Final = 256


def coaching(service: Service) -> CueEngine:
    """The cue engine of *service*, with the tracks and drivers of its sessions."""
    return CueEngine(
        lambda session_id: _track(service, session_id),
        level_of=lambda session_id: _level(service, session_id),
        heard=lambda burst, _: keep(service, burst),
    )


def keep(service: Service, burst: Burst) -> None:
    """Remember a burst, of a bounded number of sessions."""
    kept = service.bursts
    if burst.session_id not in kept:
        while len(kept) >= MOST_SESSIONS:
            kept.pop(next(iter(kept)))
        kept[burst.session_id] = deque(maxlen=MOST_BURSTS)
    kept[burst.session_id].append(burst)


def _track(service: Service, session_id: str) -> Track | None:
    row = service.store.session(session_id) if service.store and session_id else None
    if row is None or not row.track:
        return service.active_track
    return service.library.by_name(row.track) or None


def _level(service: Service, session_id: str) -> str | None:
    row = service.store.session(session_id) if service.store and session_id else None
    return row.driver_level if row is not None else None
