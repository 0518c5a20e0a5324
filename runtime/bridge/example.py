"""A first session for those who have none yet: some laps of the synthetic car."""

import asyncio
import logging
from typing import Final

import numpy as np

from runtime.bridge.driving import lap_seconds
from runtime.bridge.service import Service
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Recording, Samples
from runtime.bridge.simulator.course import BAR_PER_PSI, MPH, course_of
from runtime.bridge.simulator.drive import Drive
from runtime.bridge.storage.values import SIMULATOR, SessionMeta, unix_ms
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)
SESSION: Final = "example"
LAPS: Final = 6
HZ: Final = 20.0
AFTER_S: Final = 5.0
"""So long the recording goes on behind the last one."""
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
    return _record_drive(Drive(course, service.settings.sim_seed))


def _record_drive(drive: Drive) -> Recording:
    """The drive as the file of a logger would hold it, from the seconds before the first lap on."""
    t = np.arange(round((drive.duration(LAPS) + AFTER_S) * HZ)) / HZ
    told = drive.signals(t)
    g_lat, g_long = told["lateral_accel_g"], told["inline_accel_g"]
    columns = {
        TIMESTAMP: t,
        "speed_ms": told["speed_mph"] * MPH,
        "g_lat": g_lat,
        "g_long": g_long,
        "combo_g": np.hypot(g_lat, g_long),
        "brake_bar": told["brake_press_psi"] * BAR_PER_PSI,
        "throttle_pct": told["throttle_pos_pct"],
        "steering_deg": told["steer_angle_deg"],
        "rpm": told["rpm"],
        "lat": told["gps_lat"],
        "lon": told["gps_lon"],
    }
    unknown = np.full(len(t), np.nan)
    signals = {
        "yaw_rate_dps": told["yaw_rate_degs"],
        "oil_temp_c": (told["oil_temp_f"] - 32.0) / 1.8,
        "coolant_temp_c": (told["water_temp_f"] - 32.0) / 1.8,
    }
    return Recording(
        Frames({name: columns.get(name, unknown) for name in WIDE}),
        {name: Samples(t, values) for name, values in signals.items()},
    )
