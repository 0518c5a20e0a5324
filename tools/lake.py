"""Creates a lake of a simulated season: sessions of a few drivers who improve."""

from typing import Final

from runtime.bridge.session.laps import detect
from runtime.bridge.storage.lake.layout import Lake, folder_of
from runtime.bridge.storage.lake.tables import LakeSession, pack
from runtime.bridge.storage.records import SessionRow
from runtime.bridge.track.identity import Identity
from runtime.bridge.track.model import Track
from tools.drive import drive

DRIVERS: Final = ("Ada", "Ben", "Mia")
DAY_MS: Final = 86_400_000
MARCH_MS: Final = 1_772_359_200_000
"""1 March 2026, 10:00 UTC."""


def fill_lake(
    place: str, track: Track, sessions: int, *, laps: int = 3, hz: float = 10.0
) -> list[str]:
    """Write *sessions* of *laps* each and return the folders; deterministic."""
    lake = Lake.open(place)
    folders = []
    for number in range(sessions):
        day = number // len(DRIVERS)
        skill = 0.90 + 0.09 * number / sessions
        frames = drive(track, laps, hz=hz, skill=skill, seed=number).frames
        row = SessionRow(
            f"s{number:04}",
            driver=DRIVERS[number % len(DRIVERS)],
            track=track.id,
            car=f"Car {number % len(DRIVERS) + 1}",
            started_at=MARCH_MS + day * DAY_MS,
            n_frames=len(frames),
        )
        detected = detect(frames, gate=track.start, track_length_m=track.length_m)
        where = Identity(track, "driver", track.name)
        session = LakeSession(row, detected, where, {}, {}, stamp=str(number))
        folders.append(folder_of(row))
        lake.write(folders[-1], pack(session))
    return folders
