"""What the warm coach of a running bridge works with: model, grader, lessons."""

import logging
from pathlib import Path
from typing import Final, Literal, Self

import aiohttp

from runtime.bridge.coach.warm.lane import Lane
from runtime.bridge.coach.warm.lessons import CATALOG, LARGEST, Lessons, parse_catalog, read_lessons
from runtime.bridge.coach.warm.model import Endpoint, ModelClient, ModelState
from runtime.bridge.settings import ROOT, BridgeSettings
from runtime.bridge.storage.coaching import ModelCall
from runtime.bridge.storage.store import Store

log = logging.getLogger(__name__)

SITE: Final = ROOT / "site"
COURSE_S: Final = 5.0
GRADING_S: Final = 30.0


class Desk:
    """The model clients behind their one queue, and the lessons; open while the bridge runs."""

    def __init__(
        self, model: ModelClient, grader: ModelClient | None = None, lessons: Lessons | None = None
    ) -> None:
        self.model = model
        self.grader = grader
        """None: no key is configured."""
        self.lessons = lessons or Lessons()

    @classmethod
    async def open(cls, settings: BridgeSettings, store: Store | None) -> Self:
        """The desk that *settings* describe; calls are noted in *store*."""

        async def record(row: ModelCall) -> None:
            if store is not None:
                await store.add((row,))

        lane = Lane()
        model = ModelClient(
            Endpoint(
                settings.model_url.strip(),
                settings.model_id.strip(),
                settings.model_key.get_secret_value(),
                settings.model_timeout_s,
            ),
            record,
            lane=lane,
            prompt_log=settings.prompt_log,
        )
        key = settings.grading_key.get_secret_value()
        grader = None
        if key and settings.grading_url.strip():
            endpoint = Endpoint(
                settings.grading_url.strip(), settings.grading_model.strip(), key, GRADING_S
            )
            grader = ModelClient(endpoint, record, lane=lane)
        model.start()
        return cls(model, grader, await lessons_of(settings.course.strip()))

    @property
    def coach(self) -> Literal["local_model", "rule"]:
        """Who coaches, by what is known of the model."""
        return "local_model" if self.model.state.up else "rule"

    @property
    def state(self) -> ModelState:
        """What is known of the model; costs nothing."""
        return self.model.state

    async def close(self) -> None:
        """End every connection."""
        await self.model.close()
        if self.grader is not None:
            await self.grader.close()


async def lessons_of(course: str) -> Lessons:
    """The lessons of a built course: a folder, an address, or the one beside the project."""
    if not course.startswith(("http://", "https://")):
        return read_lessons(Path(course) if course else SITE)
    base = f"{course.rstrip('/')}/"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(COURSE_S)) as http,
            http.get(f"{base}{CATALOG}", raise_for_status=True) as response,
        ):
            body = await response.content.read(LARGEST)
        return parse_catalog(body, base)
    except (aiohttp.ClientError, OSError, ValueError) as problem:
        log.warning("the course is not used: %s", type(problem).__name__)
        return Lessons()
