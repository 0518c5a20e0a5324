"""Puts the coach that answers questions together."""

from typing import TYPE_CHECKING, Final, Protocol

from runtime.bridge.analysis.reference import ReferenceBook
from runtime.bridge.coach.asking import why_off
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.lessons import Lessons
from runtime.bridge.coach.model import Endpoint, Lane, ModelClient, Record
from runtime.bridge.derived.analyses import Analyses
from runtime.bridge.derived.lapbook import LapBook
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.coaching import ModelCall
from runtime.bridge.storage.store import Store
from runtime.bridge.track.model import Track

if TYPE_CHECKING:
    from runtime.bridge.coach.conversation import Conversations


GRADING_S: Final = 30.0
"""Limit on one grade."""


class Parts(Protocol):
    """What of a running bridge answers come from."""

    store: Store | None
    laps: LapBook | None
    analyses: Analyses | None
    references: ReferenceBook
    active_track: Track | None


def open_model(
    settings: BridgeSettings, store: Store | None, lane: Lane | None = None
) -> ModelClient:
    """The client of the model server that the settings name; calls are noted in *store*."""
    endpoint = Endpoint(
        settings.model_url.strip(),
        settings.model_id.strip(),
        settings.model_key.get_secret_value(),
        settings.model_timeout_s,
    )
    client = ModelClient(endpoint, _recorder(store), lane=lane, prompt_log=settings.prompt_log)
    client.start()
    return client


def _recorder(store: Store | None) -> Record:
    """Notes calls in the database, where there is one."""

    async def record(row: ModelCall) -> None:
        if store is not None:
            await store.add((row,))

    return record


def open_grader(
    settings: BridgeSettings, store: Store | None, lane: Lane | None
) -> ModelClient | None:
    """The client of the model elsewhere that grades; None where no key is configured."""
    key, url = settings.grading_key.get_secret_value(), settings.grading_url.strip()
    if not key or not url:
        return None
    endpoint = Endpoint(url, settings.grading_model.strip(), key, GRADING_S)
    return ModelClient(endpoint, _recorder(store), lane=lane)


def gather(parts: Parts, lessons: Lessons) -> Gathering | None:
    """What facts come from; None without a database."""
    if parts.store is None or parts.laps is None or parts.analyses is None:
        return None
    return Gathering(
        store=parts.store,
        book=parts.laps,
        analyses=parts.analyses,
        references=parts.references,
        active_track=parts.active_track,
        lessons=lessons,
    )


def open_coach(
    gathering: Gathering | None, settings: BridgeSettings, model: ModelClient
) -> "Conversations | None":
    """A coach on the running loop, to be closed before the database; None where there is none.

    That is without a database, and where `asking.why_off` says why.
    """
    if gathering is None or why_off(settings.agent_backend) is not None:
        return None
    # Only now: what these load need not be installed.
    from runtime.bridge.coach.conversation import Conversations
    from runtime.bridge.coach.sql import Queries
    from runtime.bridge.coach.understanding.classify import vectors_file

    coach = Conversations(
        gathering,
        model,
        Queries(gathering),
        vectors=vectors_file(settings.database),
        timeout_s=settings.agent_timeout_s,
        char_budget=settings.agent_char_budget,
    )
    coach.start()
    return coach
