"""Puts the coach that answers questions together."""

from typing import Protocol

from runtime.bridge.analysis.reference import ReferenceBook
from runtime.bridge.coach.agents.coach import Coach, why_off
from runtime.bridge.coach.warm.lessons import Lessons
from runtime.bridge.coach.warm.model import ModelClient
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.derived import Analyses, LapBook
from runtime.bridge.storage.store import Store
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track


class Parts(Protocol):
    """What of a running bridge answers come from."""

    store: Store | None
    laps: LapBook | None
    analyses: Analyses | None
    references: ReferenceBook
    library: Library
    active_track: Track | None


def open_coach(
    parts: Parts, settings: BridgeSettings, model: ModelClient, lessons: Lessons
) -> Coach | None:
    """A coach on the running loop, to be closed before the database; None where there is none.

    That is without a database, and where `coach.why_off` says why.
    """
    if parts.store is None or parts.laps is None or parts.analyses is None:
        return None
    if why_off(settings.agent_backend) is not None:
        return None
    # Only now: what these load need not be installed.
    from runtime.bridge.coach.agents.passages import Passages
    from runtime.bridge.coach.agents.questions import Questions
    from runtime.bridge.coach.agents.scratch import Scratch
    from runtime.bridge.coach.agents.sources import Sources

    sources = Sources(
        store=parts.store,
        book=parts.laps,
        analyses=parts.analyses,
        references=parts.references,
        library=parts.library,
        active_track=parts.active_track,
        scratch=Scratch(),
        lessons=lessons,
    )
    passages = Passages(model.endpoint.url, model.endpoint.key)
    made = Questions(
        sources,
        model,
        passages,
        timeout_s=settings.agent_timeout_s,
        char_budget=settings.agent_char_budget,
    )
    made.start()
    return made
