"""The shipped bus, cars and circuits, and the way from frames of the bus to rows."""

import math
from pathlib import Path
from typing import Final

import numpy as np

from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.dbc import load_dbc
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.frames import CanFrame
from runtime.bridge.session.recording import WIDE, Frames
from runtime.bridge.simulator.schedule import Schedule, make_schedule
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track

DATA: Final = Path(__file__).resolve().parents[3] / "data"
TRACKS: Final = Library.read(DATA / "tracks").tracks
LARKFELL: Final = TRACKS["larkfell"]
MESSAGES: Final = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages
NARROW: Final = {key: MESSAGES[key] for key in (0x451, 0x452)}
"""What laps are found by: the speed and the position."""
CARS: Final = {path.stem: load_car(path) for path in sorted((DATA / "cars").glob("*.yaml"))}
VESPER: Final = CARS["oberling-vesper-30"]


def vesper(
    track: Track | None = LARKFELL, lap_seconds: float = 60.0, seed: int = 0, anchor_s: float = 0.0
) -> Schedule:
    """The simulator's own car."""
    return make_schedule(track, lap_seconds, MESSAGES, VESPER, seed=seed, anchor_s=anchor_s)


def between(schedule: Schedule, begin_s: float, end_s: float) -> list[CanFrame]:
    """The frames from one moment of the drive to before another."""
    first, last = schedule.anchor_s + begin_s, schedule.anchor_s + end_s
    seconds = range(math.floor(begin_s), math.ceil(end_s))
    frames = [frame for number in seconds for frame in schedule.second(number)]
    return [frame for frame in frames if first <= frame.t < last]


def flushed(frames: list[CanFrame], car: str = VESPER.id) -> list[Flush]:
    """What the bridge makes of frames on its bus."""
    assembler = Assembler(Decoder(MESSAGES), CARS[car].plan)
    return [*assembler.feed(frames), *assembler.finish()]


def rows(flushes: list[Flush]) -> Frames:
    """The rows of flushes."""
    wide = [flush.wide for flush in flushes if flush.wide is not None]
    return Frames({name: np.array([row[name] for row in wide]) for name in WIDE})
