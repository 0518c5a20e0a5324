"""Records a drive of the synthetic car at once, as a file of a logger would hold it."""

from typing import Final

import numpy as np

from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Recording, Samples
from runtime.bridge.simulator.course import BAR_PER_PSI, MPH
from runtime.bridge.simulator.drive import Drive

HZ: Final = 20.0
AFTER_S: Final = 5.0
"""So long the recording goes on behind the last lap."""


def record_drive(drive: Drive, laps: int) -> Recording:
    """*laps* complete laps and a little more, from the seconds before the first one on."""
    t = np.arange(round((drive.duration(laps) + AFTER_S) * HZ)) / HZ
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
