"""Drives whose lap and sector times are known, for the tests of lap analytics."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Numbers
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from tests.bridge.session.sessions import change, circle, circle_gate, frames
from tests.bridge.track.examples import DATA
from tools.drive import drive

LENGTH: Final = 3000.0
TRACKS: Final = Library.read(DATA).tracks
OVAL: Final = TRACKS["tarn-oval"]


def session(
    laps: Sequence[Sequence[float]], *, hz: float = 10.0, **channels: Numbers | float
) -> Frames:
    """Laps of 3000 m by distance alone, from the line to the line.

    Each lap is the seconds of its parts of one length, which are driven evenly; they should be
    multiples of the period.
    """
    steps = [seconds for lap in laps for seconds in lap]
    metres = [LENGTH / len(lap) for lap in laps for _ in lap]
    knots = np.concatenate([[0.0], np.cumsum(steps)])
    places = np.concatenate([[0.0], np.cumsum(metres)])
    t = np.arange(round(knots[-1] * hz) + 1) / hz
    part = np.clip(np.searchsorted(knots, t + 1e-6, side="right") - 1, 0, len(steps) - 1)
    speed = (np.array(metres) / np.array(steps))[part]
    driven = frames(t, distance_m=np.interp(t, knots, places), speed_ms=speed)
    return change(driven, **channels)


def drive_laps(
    laps: Sequence[Sequence[float]], *, hz: float = 10.0, **channels: Numbers | float
) -> Drive:
    """The drive of a `session`."""
    return drive_of(detect(session(laps, hz=hz, **channels), track_length_m=LENGTH))


def drive_circle(seconds: float = 130.0, **changes: float) -> Drive:
    """Even laps of 40 s on a circle of 1000 m, with positions."""
    return drive_of(detect(circle(seconds, **changes), gate=circle_gate(), track_length_m=1000.0))


def on_track(track: Track, result: Frames) -> Drive:
    """The drive of a session on a circuit."""
    laps = detect(result, gate=track.start, track_length_m=track.length_m)
    return drive_of(laps, track)


def oval(laps: int = 3, *, hz: float = 20.0, seed: int = 1) -> tuple[Drive, tuple[float, ...]]:
    """Laps of the oval, and their true times."""
    driven = drive(OVAL, laps, hz=hz, seed=seed, skill=0.9)
    return on_track(OVAL, driven.frames), driven.lap_times_s
