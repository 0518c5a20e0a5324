"""Finds passages of the course in the language-model server's document store."""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

import aiohttp

from runtime.bridge.coach.agents.values import Lesson

TENANT: Final = "course"
LIMIT_S: Final = 1.5
HITS: Final = 2
LONGEST: Final = 1000
"""Characters of a question that are searched for."""
LEAST_SCORE: Final = 0.35
LARGEST: Final = 256 * 1024
AGAIN_S: Final = 60.0
"""So long a server that has no such store is not asked again."""


class Passages:
    """Searches a course that was ingested; where there is none, nothing is found."""

    def __init__(self, url: str, key: str = "") -> None:
        self._url = url.rstrip("/")
        self._headers = {"X-Client-Id": TENANT, "Accept-Encoding": "identity"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._http: aiohttp.ClientSession | None = None
        self._not_before = 0.0
        self._embeds = ""
        self._params: float | None = None

    async def find(self, text: str) -> tuple[Lesson, ...]:
        """The lessons whose passages are nearest to *text*; none where none is near."""
        now = asyncio.get_running_loop().time()
        if not self._url or now < self._not_before:
            return ()
        try:
            return await self._asked(text)
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
            self._not_before = now + AGAIN_S
            return ()

    async def params(self, model: str) -> float | None:
        """How many parameters a model has, as its server says; None where it does not."""
        if self._params is None and self._url and model:
            try:
                async with asyncio.timeout(LIMIT_S):
                    self._params = params_in(await self._listed(), model)
            except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
                return None
        return self._params

    async def close(self) -> None:
        """End the connection."""
        if self._http is not None:
            await self._http.close()

    async def _asked(self, text: str) -> tuple[Lesson, ...]:
        async with asyncio.timeout(LIMIT_S):
            self._embeds = self._embeds or embedding_in(await self._listed())
            asked = {
                "query": text[:LONGEST],
                "model": self._embeds,
                "k": HITS,
                "min_score": LEAST_SCORE,
                "filter": {"kind": "lesson"},
            }
            return lessons_in(await self._body("POST", "/search", asked))

    async def _listed(self) -> bytes:
        return await self._body("GET", "/models")

    async def _body(self, method: str, path: str, asked: object = None) -> bytes:
        """What the server answers. Raises ValueError for anything but 200."""
        if self._http is None:
            connector = aiohttp.TCPConnector(force_close=True)
            self._http = aiohttp.ClientSession(connector=connector, trust_env=False)
        async with self._http.request(
            method,
            f"{self._url}{path}",
            json=asked,
            headers=self._headers,
            allow_redirects=False,
        ) as response:
            if response.status != 200:
                raise ValueError("the server has no such thing")
            return await response.content.read(LARGEST)


def params_in(body: bytes, model: str) -> float | None:
    """How many parameters the list of a server gives a model; None: it does not say."""
    for one in _data(body):
        meta = one.get("meta")
        count = meta.get("n_params") if isinstance(meta, dict) else None
        if one.get("id") == model and isinstance(count, int | float):
            return float(count)
    return None


def _data(body: bytes) -> list[dict[str, object]]:
    whole = json.loads(body)
    data = whole.get("data") if isinstance(whole, dict) else None
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []


def embedding_in(body: bytes) -> str:
    """The first embedding model of a server's list. Raises ValueError without one."""
    for one in _data(body):
        meta = one.get("meta")
        if isinstance(meta, dict) and meta.get("kind") == "embedding":
            return str(one.get("id"))
    raise ValueError("the server has no embedding model")


def lessons_in(body: bytes) -> tuple[Lesson, ...]:
    """The lessons of a search's answer, each once. Raises ValueError for what is no such answer."""
    whole = json.loads(body)
    data = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(data, list):
        raise ValueError("no answer of a search")
    found: dict[str, Lesson] = {}
    for hit in data:
        if not isinstance(hit, Mapping) or not isinstance(meta := hit.get("metadata"), Mapping):
            continue
        lesson, title, url = (meta.get(name) for name in ("lessonId", "title", "url"))
        if not isinstance(title, str) or not title:
            continue
        name = lesson if isinstance(lesson, str) and lesson else title
        text = hit.get("text")
        link = url if isinstance(url, str) and url else None
        found.setdefault(name, Lesson(name, title, link, text if isinstance(text, str) else ""))
    return tuple(found.values())
