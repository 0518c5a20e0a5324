"""From the synthetic car over bytes on a bus to laps: what comes out is what was driven."""

import itertools

import numpy as np
import pytest

from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import TIMESTAMP
from runtime.bridge.simulator.schedule import make_schedule
from runtime.bridge.track.model import Track
from tests.bridge.simulator.drivekit import (
    LARKFELL,
    NARROW,
    VESPER,
    between,
    flushed,
    rows,
    vesper,
)

FRAME_S = 0.1
DRIVES = {
    "usual": (LARKFELL, 60.0, 2),
    "no circuit": (None, 30.0, 2),
}


@pytest.mark.parametrize(("track", "seconds", "laps"), DRIVES.values(), ids=DRIVES)
def test_every_driven_lap_is_found_in_its_time(
    track: Track | None, seconds: float, laps: int
) -> None:
    schedule = make_schedule(track, seconds, NARROW, VESPER)
    frames = between(schedule, 0.0, schedule.drive.duration(laps) + 1.0)

    found = detect(
        rows(flushed(frames)),
        gate=track.start if track else None,
        track_length_m=track.length_m if track else None,
    )

    assert found.method == "gps"
    times = [lap.duration_s for lap in found.complete]
    assert times == pytest.approx(
        [schedule.drive.driver.lap(number).seconds for number in range(laps)], abs=FRAME_S
    )


def test_rows_say_what_was_driven() -> None:
    schedule = vesper()
    drive = schedule.drive
    frames = rows(flushed(between(schedule, 0.0, 40.0)))
    t = frames.columns[TIMESTAMP]

    # A row holds what was last heard: up to one period of the message before it.
    best = {}
    for name, raw, factor in (
        ("speed_ms", "ecu_speed_mph", 0.44704),
        ("g_lat", "lateral_accel_g", 1.0),
        ("g_long", "inline_accel_g", 1.0),
        ("steering_deg", "steer_angle_deg", 1.0),
        ("throttle_pct", "throttle_pos_pct", 1.0),
        ("brake_bar", "brake_press_psi", 0.0689476),
        ("rpm", "rpm", 1.0),
        ("lat", "gps_lat", 1.0),
        ("lon", "gps_lon", 1.0),
    ):
        given = frames.columns[name][2:]
        wanted = drive.signals(t[2:] - 0.03)[raw] * factor
        best[name] = float(np.corrcoef(given, wanted)[0, 1])
    assert min(best.values()) > 0.97, best

    columns = frames.columns
    fast = np.abs(columns["g_lat"]) > 0.8
    assert (np.sign(columns["g_lat"]) == np.sign(columns["steering_deg"]))[fast].mean() > 0.97
    assert not ((columns["brake_bar"] > 0.5) & (columns["throttle_pct"] > 5.0)).any()


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not() -> None:
    one, again, other = (between(vesper(seed=seed), 3.0, 12.0) for seed in (7, 7, 8))

    assert one == again
    assert [frame[:2] for frame in one] == [frame[:2] for frame in other]
    assert one != other


def test_a_drive_is_the_same_however_it_is_cut() -> None:
    schedule = vesper(anchor_s=1_790_000_000.0)
    whole = between(schedule, 0.0, 5.0)

    cuts = [0.0, 0.4, 1.7, 1.75, 3.0, 5.0]
    parts = [between(schedule, a, b) for a, b in itertools.pairwise(cuts)]

    assert [frame for part in parts for frame in part] == whole
    stamps = [frame.t for frame in whole]
    assert all(a < b for a, b in itertools.pairwise(stamps))
