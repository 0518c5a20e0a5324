"""What is true of a drive on paper, worked out from its arrays alone; and sessions of such drives
that facts are told of."""

from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

import numpy as np

from runtime.bridge.analysis import drive as analysis
from runtime.bridge.coach.fact import Fact, Value
from runtime.bridge.coach.scene import Outing, Scene, Session
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.recording import TIMESTAMP, Frames, Numbers
from runtime.bridge.session.series import build_series
from runtime.bridge.session.units import KMH
from runtime.bridge.track.library import read_track
from runtime.bridge.track.model import Corner, Track
from tests.bridge.track.examples import DATA
from tools.drive import Drive, drive

TRACK: Final = read_track(DATA / "larkfell.json")[0]
BRAKING_BAR: Final = 5.0
RELEASED_BAR: Final = 2.0
APPROACH_M: Final = 200.0
Spot = Literal["entry", "apex", "exit"]


def session_of(track: Track, laps: int, *, seed: int, skill: float) -> Drive:
    """A drive without errors of sensors, so that its arrays are the truth."""
    return drive(track, laps, hz=20.0, seed=seed, skill=skill)


@dataclass(frozen=True)
class Truth:
    """A drive, read by its odometer: metres of the lap are metres driven since the line."""

    track: Track
    driven: Drive

    @property
    def frames(self) -> Frames:
        """What was recorded."""
        return self.driven.frames

    def column(self, name: str) -> Numbers:
        """One channel."""
        return self.frames.columns[name]

    @property
    def laps(self) -> range:
        """Numbers of the complete laps."""
        return range(1, len(self.driven.lap_times_s) + 1)

    def time(self, lap: int) -> float:
        """Of a lap."""
        return self.driven.lap_times_s[lap - 1]

    @property
    def best(self) -> int:
        """Number of the fastest lap."""
        return min(self.laps, key=self.time)

    @property
    def slowest(self) -> int:
        """Number of the slowest lap."""
        return max(self.laps, key=self.time)

    def passed(self, lap: int, place_m: float) -> float:
        """When a place of a lap was passed."""
        begin = self.driven.crossings_s[lap - 1]
        odometer = self.column("distance_m")
        t = self.column(TIMESTAMP)
        start = float(np.interp(begin, t, odometer))
        return float(np.interp(start + place_m, odometer, t))

    def spent(self, lap: int, begin_m: float, end_m: float) -> float:
        """How long a lap took from one place to another."""
        return self.passed(lap, end_m) - self.passed(lap, begin_m)

    def corner(self, number: int) -> Corner:
        """By its number."""
        return next(one for one in self.track.corners if one.number == number)

    def corner_time(self, number: int, lap: int) -> float:
        """From the begin of the approach to the exit."""
        corner = self.corner(number)
        begin = corner.entry.distance_m - self.approach_m(number)
        return self.spent(lap, begin, corner.exit.distance_m)

    def quickest(self, number: int) -> int:
        """The lap that took a corner fastest."""
        return min(self.laps, key=lambda lap: self.corner_time(number, lap))

    def sector_time(self, number: int, lap: int) -> float:
        """Of a sector from 1."""
        sector = self.track.sectors[number - 1]
        return self.spent(lap, sector.start_m, sector.end_m)

    def sector_loss(self, number: int) -> float:
        """The middle of all laps less the best, in a sector."""
        times = [self.sector_time(number, lap) for lap in self.laps]
        return median(times) - min(times)

    def speed_at(self, number: int, spot: Spot, lap: int) -> float:
        """In a corner, km/h; at its apex the smallest."""
        corner = self.corner(number)
        if spot == "apex":
            return float(self.in_corner(number, lap, "speed_ms").min()) * KMH
        place = {"entry": corner.entry, "apex": corner.apex, "exit": corner.exit}[spot].distance_m
        t = self.passed(lap, place)
        return float(np.interp(t, self.column(TIMESTAMP), self.column("speed_ms"))) * KMH

    def inside(self, begin: float, end: float, name: str) -> Numbers:
        """A channel between two moments."""
        t = self.column(TIMESTAMP)
        return self.column(name)[(t >= begin) & (t <= end)]

    def in_corner(self, number: int, lap: int, name: str, before_m: float = 0.0) -> Numbers:
        """A channel from so far before a corner to its exit."""
        corner = self.corner(number)
        begin = self.passed(lap, corner.entry.distance_m - before_m)
        return self.inside(begin, self.passed(lap, corner.exit.distance_m), name)

    def on_lap(self, lap: int, name: str) -> Numbers:
        """A channel of one lap."""
        begin, end = self.driven.crossings_s[lap - 1 : lap + 1]
        return self.inside(begin, end, name)

    def room_m(self, number: int) -> float:
        """From the exit of the corner before to the entry."""
        before = self.corner(number - 1 or len(self.track.corners))
        way = self.corner(number).entry.distance_m - before.exit.distance_m
        return max(way if number > 1 else way + self.track.length_m, 0.0)

    def approach_m(self, number: int) -> float:
        """Metres before the entry where the earliest braking for a corner began."""
        points = [self._brake_point(number, lap) for lap in self.laps]
        return min(max([point for point in points if point is not None], default=0.0), APPROACH_M)

    def brake_point(self, number: int, lap: int) -> float:
        """Metres before the entry where the braking for a corner began."""
        point = self._brake_point(number, lap)
        assert point is not None
        return point

    def _brake_point(self, number: int, lap: int) -> float | None:
        """The last rise to 5 bar, from below 2 bar, before the entry; else the first behind it."""
        corner = self.corner(number)
        entry = corner.entry.distance_m
        t, brake, odometer = (self.column(n) for n in (TIMESTAMP, "brake_bar", "distance_m"))
        at = float(np.interp(self.passed(lap, entry), t, odometer))
        since = at - min(APPROACH_M, self.room_m(number))
        until = self.passed(lap, corner.exit.distance_m)
        points: list[float] = []
        down = False
        for frame in np.flatnonzero((odometer >= since) & (t <= until)).tolist():
            if brake[frame] >= BRAKING_BAR and not down:
                down = True
                points.append(at - float(odometer[frame]))
            elif brake[frame] < RELEASED_BAR:
                down = False
        ahead = [point for point in points if point >= 0]
        return ahead[-1] if ahead else points[0] if points else None

    def top(self, name: str) -> float:
        """The largest of a channel, without its sign."""
        return float(np.nanmax(np.abs(self.column(name))))


def record(
    frames: Frames, track: Track | None = TRACK, without: tuple[str, ...] = ()
) -> analysis.Drive:
    """A session on the circuit, of whose file nobody may know; it may lack channels."""
    nothing = np.full(len(frames.columns[TIMESTAMP]), np.nan)
    columns = {**frames.columns, **dict.fromkeys(without, nothing)}
    found = detect_laps(
        build_series(Frames(columns)), gate=TRACK.start, track_length_m=TRACK.length_m
    )
    return analysis.drive_of(found, track)


def outing_of(driven: analysis.Drive, name: str, car: str = "V8") -> Outing:
    """The session of a driver."""
    return Outing(Session(f"{name}-s", name, car, 1_795_603_000_000), driven)


def scene_of(
    own: analysis.Drive, rival: analysis.Drive | None = None, track: Track | None = TRACK
) -> Scene:
    """Ana's session, and Ben's."""
    rivals = {"Ben": outing_of(rival, "Ben")} if rival else {}
    return Scene("Ana", outing_of(own, "Ana"), track=track, rivals=rivals)


def number(fact: Fact, name: str) -> float:
    """A value of a fact."""
    value = fact.values[name]
    assert isinstance(value, Value)
    return value.number
