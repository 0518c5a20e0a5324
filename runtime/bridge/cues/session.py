"""What the coach remembers of one session."""

import math
from typing import Final

from runtime.bridge.cues.arbiter import Arbiter
from runtime.bridge.cues.burst import Folder
from runtime.bridge.cues.circuit import Circuit, Place, circuit_of
from runtime.bridge.cues.layers import Estimate, LapClock
from runtime.bridge.cues.locate import Counter, Locator, Told
from runtime.bridge.cues.phrases import Occasion
from runtime.bridge.cues.proposal import Pass, is_approach
from runtime.bridge.cues.safety import Watch
from runtime.bridge.live.values import LiveFrame
from runtime.bridge.track.model import Track

DAY_S: Final = 86_400.0
MIDNIGHT_S: Final = 43_200.0
"""A clock that goes back by more has passed midnight."""
RESTART_S: Final = 1.0
"""One that goes back by more, but not that far, has begun anew."""
GAP_S: Final = 2.0
REPEAT_S: Final = 30.0
"""What a driver does is not spoken of again within this."""


class Strand:
    """What belongs to one way in which a session is heard: posted bursts, or live frames."""

    def __init__(self) -> None:
        self.was_past_apex: bool | None = None
        self.watch = Watch()
        self._clock: LapClock | None = None
        self._announced: str | None = None
        self._said: dict[str, float] = {}

    def lap(self, circuit: Circuit | None, t: float, place: Place | None) -> Estimate | None:
        """Follow the lap; an estimate at its checkpoints."""
        if circuit is None or place is None:
            return None
        if self._clock is None or self._clock.length_m != circuit.length_m:
            self._clock = LapClock(circuit.length_m)
        return self._clock.tick(t, place.progress_m)

    def pause(self) -> None:
        """What happened meanwhile is not known."""
        self.was_past_apex = None
        if self._clock is not None:
            self._clock.pause()

    def arrived(self, place: Place | None) -> None:
        """Where the car is now: an announced corner that was reached may be announced again."""
        coming = place.next if place is not None and place.corner is None else None
        if coming is None or coming.name != self._announced:
            self._announced = None

    def is_news(self, occasion: Occasion, now: float) -> bool:
        """Whether it was not said already: of a corner in this approach, of a habit lately."""
        if is_approach(occasion):
            return occasion.corner is not None and occasion.corner.name != self._announced
        return now - self._said.get(occasion.concept.id, -math.inf) >= REPEAT_S

    def said(self, occasion: Occasion, now: float) -> None:
        """It was said."""
        if is_approach(occasion) and occasion.corner is not None:
            self._announced = occasion.corner.name
        self._said[occasion.concept.id] = now


class Session:
    """One session's voice, and its two strands."""

    def __init__(self, session_id: str, track: Track | None) -> None:
        self.id = session_id
        self.arbiter: Arbiter[Occasion | None] = Arbiter()
        self.posted, self.live = Strand(), Strand()
        self.folder = Folder(session_id)
        self.passing = Pass()
        self.lost = False
        """Whether nothing tells where on its circuit the car is."""
        self.estimate: Estimate | None = None
        """Of the checkpoint that was passed in the burst under way."""
        self._t = -math.inf
        self._days = 0.0
        self.circuit: Circuit | None = None
        self._locator: Locator | None = None
        self._counter: Counter | None = None
        self.on(track)

    def on(self, track: Track | None) -> None:
        """The track of the session, which may have changed."""
        if track is (self.circuit.track if self.circuit else None):
            return
        self.circuit = circuit_of(track) if track else None
        self._locator = Locator(track) if track else None
        self._counter = Counter(track.length_m) if track else None

    def time(self, t: float) -> float | None:
        """The frame's time on a clock that goes forward; None for a frame to be left out.

        Whatever was under way is dropped where the clock has paused or begun anew.
        """
        t += self._days
        if t <= self._t:
            back = self._t - t
            if back > MIDNIGHT_S:
                self._days += DAY_S
                t += DAY_S
            elif back <= RESTART_S:
                return None
        if not 0 < t - self._t <= GAP_S:
            self._interrupted()
        self._t = t
        return t

    def place(self, t: float, frame: LiveFrame) -> Place | None:
        """Where the car is; None where nothing that it told says so."""
        if self.circuit is None or self._locator is None or self._counter is None:
            return None
        wide, nan = frame.wide, math.nan
        # Who sends frames says what the distance counts; nobody says it of a bus or a recording.
        sent = frame.source == "ingest"
        counter = frame.told_m if sent else self._counter.told(frame.told_m)
        told = Told(wide.get("lat", nan), wide.get("lon", nan), counter, wide.get("speed_ms", nan))
        progress = self._locator.locate(t, told, wide.get("distance_m", nan))
        self.lost = progress is None and not self._locator.elsewhere
        return None if progress is None else self.circuit.place(progress)

    def at(self, distance_m: float | None) -> Place | None:
        """The place of a distance; None where it or the track is not known."""
        if self.circuit is None or distance_m is None:
            return None
        return self.circuit.place(distance_m)

    def _interrupted(self) -> None:
        self.folder.drop()
        if self._counter is not None:
            self._counter.pause()
        self.live.pause()
        self.passing = Pass()
        self.estimate = None
