"""A first session for those who have none yet: some laps of the synthetic car."""

import asyncio
import logging
from typing import Final

from runtime.bridge.driving import lap_seconds
from runtime.bridge.service import Service
from runtime.bridge.session.recording import TIMESTAMP, Recording
from runtime.bridge.simulator.course import course_of
from runtime.bridge.simulator.drive import Drive
from runtime.bridge.simulator.recording import record_drive
from runtime.bridge.storage.values import SIMULATOR, SessionMeta, unix_ms
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)
SESSION: Final = "example"
LAPS: Final = 6
ABOUT: Final = SessionMeta(
    driver="Example",
    driver_level="intermediate",
    note="laps of the synthetic car; delete it when you have some of your own",
    source=SIMULATOR,
)


async def store_example(service: Service) -> None:
    """Drive and store it as one that has just ended; a failure is only logged."""
    try:
        recording = await asyncio.to_thread(_drive, service)
        lasted_s = float(recording.frames.columns[TIMESTAMP][-1])
        began = unix_ms() - round(lasted_s * 1000)
        await service.db.import_recording(SESSION, recording, ABOUT, began)
    except ApiError as problem:
        log.warning("the example session could not be stored: %s", problem)


def _drive(service: Service) -> Recording:
    track = service.active_track
    course = course_of(track, lap_seconds(service.settings, track))
    return record_drive(Drive(course, service.settings.sim_seed), LAPS)
