"""Makes CAN frames and writes them as logs of every format."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import can
import numpy as np

from runtime.bridge.can.dbc import load_dbc
from runtime.bridge.can.frames import EXTENDED, Batch
from runtime.bridge.formats.can_recording import ReadFrames
from runtime.bridge.formats.readers.can_logs import read_asc, read_blf, read_candump, read_trc

BEGIN: Final = 1_700_000_000.0
Frame = tuple[float, int, bytes]


class Form(NamedTuple):
    """A log format: who writes it, who reads it."""

    writer: Callable[..., can.io.generic.MessageWriter]
    reader: ReadFrames
    channels: tuple[str, str]
    """How the log names python-can's channels 0 and 1."""


FORMS: Final = {
    ".log": Form(can.CanutilsLogWriter, read_candump, ("can0", "can1")),
    ".asc": Form(can.ASCWriter, read_asc, ("1", "2")),
    ".blf": Form(can.BLFWriter, read_blf, ("1", "2")),
    ".trc": Form(can.TRCWriter, read_trc, ("1", "2")),
}


def messages(count: int, *, flexible: bool = True, remote: bool = True) -> list[can.Message]:
    """Frames of all kinds, a millisecond apart, on two channels."""
    chance = random.Random(5)
    log = []
    for at in range(count):
        extended, fd = chance.random() < 0.3, flexible and chance.random() < 0.2
        is_remote = remote and not fd and chance.random() < 0.03
        length = chance.choice([3, 8, 12, 64] if fd else [0, 1, 3, 7, 8, 8, 8])
        log.append(
            can.Message(
                timestamp=BEGIN + at / 1000,
                arbitration_id=chance.randrange(1 << (29 if extended else 11)),
                is_extended_id=extended,
                is_fd=fd,
                is_remote_frame=is_remote,
                data=b"" if is_remote else chance.randbytes(length),
                channel=at % 2,
            )
        )
    return log


def write(path: Path, frames: Iterable[can.Message]) -> Path:
    """Write a log whose format the name tells."""
    with FORMS[path.suffix].writer(path) as writer:
        for frame in frames:
            writer.on_message_received(frame)
    return path


def frames_of(batches: Iterable[Batch]) -> list[Frame]:
    """Time, key and payload of each frame."""
    return [
        (t, key, row[:length].tobytes())
        for batch in batches
        for t, key, length, row in zip(
            batch.t.tolist(),
            batch.key.tolist(),
            batch.length.tolist(),
            batch.data,
            strict=True,
        )
    ]


def plain(frames: Iterable[can.Message]) -> list[Frame]:
    """The same of python-can's data frames."""
    return [
        (
            frame.timestamp,
            frame.arbitration_id | (EXTENDED if frame.is_extended_id else 0),
            bytes(frame.data),
        )
        for frame in frames
        if not frame.is_remote_frame and not frame.is_error_frame
    ]


def own_bus(folder: Path) -> tuple[Path, Path]:
    """A log of a bus that no shipped database knows, and its DBC file."""
    dbc = folder / "own-bus.dbc"
    dbc.write_text(
        'VERSION ""\nBU_: ECU\nBO_ 1777 Own: 8 ECU\n'
        ' SG_ EngineSpeed : 0|16@1+ (1,0) [0|9000] "rpm" ECU\n'
        ' SG_ VehicleSpeed : 16|16@1+ (0.01,0) [0|300] "km/h" ECU\n'
    )
    frames = [
        can.Message(
            timestamp=BEGIN + at / 20,
            arbitration_id=1777,
            is_extended_id=False,
            data=(3000 + at).to_bytes(2, "little") + (5000 + at).to_bytes(2, "little") + bytes(4),
            channel=0,
        )
        for at in range(200)
    ]
    return write(folder / "own.log", frames), dbc


def drive(seconds: float, begin: float = BEGIN) -> list[can.Message]:
    """A drive on the bus of the shipped database: 20 m/s in a circle, every message at 20 Hz."""
    pack = load_dbc(Path(__file__).parents[3] / "data" / "dbc" / "paddock-dash.dbc")
    log = []
    for at in range(int(seconds * 20)):
        t = at / 20
        values = {
            "rpm": 3000 + at % 100, "speed_mph": 44.7, "gear": 0, "water_temp_f": 180.0,
            "brake_press_psi": 145 if at % 40 < 10 else 0, "throttle_pos_pct": 50.0,
            "brake_switch": 0, "pitch_rate_degs": 0.0, "steer_angle_deg": 12.5,
            "yaw_rate_degs": 3.0, "lateral_accel_g": 0.4, "inline_accel_g": -0.3,
            "gps_lat": 52.5 + 0.002 * np.sin(t / 10), "gps_lon": -1.5 + 0.002 * np.cos(t / 10),
        }  # fmt: skip
        for place, frame_id in enumerate((0x420, 0x422, 0x423, 0x452)):
            message = pack.messages[frame_id]
            data = message.encode(
                {signal.name: float(values[signal.name]) for signal in message.signals}
            )
            log.append(
                can.Message(
                    timestamp=begin + t + place / 1000,
                    arbitration_id=frame_id,
                    is_extended_id=False,
                    data=data,
                    channel=0,
                )
            )
    return log
