"""Everything the facts of an answer may come from, gathered before pure functions read it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.analysis.incidents import Active
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.need import NeedKind, Slots
from runtime.bridge.session.recording import Samples
from runtime.bridge.track.model import Track


class Session(NamedTuple):
    """A stored session."""

    id: str
    driver: str
    car: str = ""
    started_at: int = 0
    """Unix milliseconds."""


@dataclass(frozen=True)
class Outing:
    """A session with its drive."""

    session: Session
    drive: Drive


@dataclass(frozen=True)
class Scene:
    """The data at hand when a question is asked."""

    driver: str = ""
    """The driver who asks or is asked about."""
    outing: Outing | None = None
    """The session in question; None: none was named, or it has no complete lap."""
    without_laps: bool = False
    """Whether the named session has no complete lap."""
    unknown: str = ""
    """The id of a named session that does not exist."""
    track: Track | None = None
    """The circuit on file; None: the session's circuit is not on file."""
    rivals: Mapping[str, Outing] = field(default_factory=dict)
    """The best session of each other driver on this circuit, by driver."""
    earlier: tuple[DriverSession, ...] = ()
    """The driver's sessions on this circuit before this one, oldest first."""
    references: References = NONE
    assisted: tuple[Active, ...] = ()
    """The times at which assistance systems worked."""
    conditions: Mapping[str, float | str] = field(default_factory=dict)
    """The session's weather notes, if any."""
    lessons: Mapping[str, str] = field(default_factory=dict)
    """Titles of the course's lessons by concept."""
    now_hour: int = 12
    """Hour of the local day."""
    answer_times: tuple[float, ...] = ()
    """Seconds taken by the last answers."""
    channels: Mapping[str, Samples] = field(default_factory=dict)
    """Further signals that a need asks for, if they have samples."""


Teller: TypeAlias = Callable[[Scene, Slots], tuple[Fact, ...]]
"""Return the facts that a need asks for, the leading one first, at most four."""
Tellers: TypeAlias = Mapping[NeedKind, Teller]
