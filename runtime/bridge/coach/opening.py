"""Sets up the coach that answers questions."""

from typing import TYPE_CHECKING, Final

from runtime.bridge.coach.asking import why_off
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.model import Endpoint, Lane, ModelClient
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.store import Store

if TYPE_CHECKING:
    from runtime.bridge.coach.conversation import Conversations


GRADING_S: Final = 30.0
"""Limit on one grade."""


def open_model(settings: BridgeSettings, store: Store | None) -> ModelClient:
    """Open the client of the configured model server; calls are recorded in *store*."""
    endpoint = Endpoint(
        settings.model_url.strip(),
        settings.model_id.strip(),
        settings.model_key.get_secret_value(),
        settings.model_timeout_s,
    )
    client = ModelClient(endpoint, store, prompt_log=settings.prompt_log)
    client.start()
    return client


def open_grader(settings: BridgeSettings, store: Store | None, lane: Lane) -> ModelClient | None:
    """Open the client of the external grading model; None if no key is configured."""
    key, url = settings.grading_key.get_secret_value(), settings.grading_url.strip()
    if not key or not url:
        return None
    endpoint = Endpoint(url, settings.grading_model.strip(), key, GRADING_S)
    return ModelClient(endpoint, store, lane=lane)


def open_coach(
    gathering: Gathering | None, settings: BridgeSettings, model: ModelClient
) -> "Conversations | None":
    """Open a coach on the running loop, to be closed before the database.

    None without a database, or if `asking.why_off` gives a reason.
    """
    if gathering is None or why_off(settings.agent_backend) is not None:
        return None
    # Only now: their dependencies need not be installed.
    from runtime.bridge.coach.conversation import Conversations
    from runtime.bridge.coach.sql import Queries
    from runtime.bridge.coach.understanding.classify import weights_file

    coach = Conversations(
        gathering,
        model,
        Queries(gathering),
        weights=weights_file(settings.database),
        timeout_s=settings.agent_timeout_s,
        char_budget=settings.agent_char_budget,
    )
    coach.start()
    return coach
