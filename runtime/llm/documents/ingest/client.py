"""Talks to a language-model server as any other program does."""

import asyncio
from collections.abc import Mapping
from typing import Final, Self, TypeVar
from urllib.parse import quote

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from runtime.llm.documents.ingest.plan import Wanted

PAGE: Final = 1000
TRIES: Final = 30
LONGEST_PAUSE_S: Final = 10
LIMIT_S: Final = 600.0
CONNECT_S: Final = 5.0


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Anything(_Answer):
    """An answer of which nothing is read."""


class ModelMeta(_Answer):
    """What a server says of a model."""

    kind: str


class Model(_Answer):
    """A model of a server."""

    id: str
    meta: ModelMeta


class ModelsAnswer(_Answer):
    """The models of a server."""

    data: list[Model]


class Stored(_Answer):
    """A stored document."""

    document_id: str
    digest: str


class PageAnswer(_Answer):
    """A page of stored documents."""

    data: list[Stored]
    has_more: bool


M = TypeVar("M", bound=_Answer)


class IngestFailed(Exception):
    """The server cannot be used, or refused; one line for the user."""


class Client:
    """A server, seen as one tenant. Use it as a context manager."""

    def __init__(self, url: str, tenant: str, api_key: str = "") -> None:
        headers = {"X-Client-Id": tenant, "User-Agent": "paddock-ingest"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._url = url.rstrip("/")
        self._headers = headers

    async def __aenter__(self) -> Self:
        limits = aiohttp.ClientTimeout(total=LIMIT_S, connect=CONNECT_S)
        self._session = aiohttp.ClientSession(headers=self._headers, timeout=limits)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def embedding_models(self) -> list[str]:
        """Ids of the server's embedding models."""
        listed = await self._call("GET", "/v1/models", ModelsAnswer)
        return [one.id for one in listed.data if one.meta.kind == "embedding"]

    async def stored(self) -> dict[str, str]:
        """Digests of the tenant's documents by id."""
        found: dict[str, str] = {}
        after = ""
        while True:
            page = await self._call("GET", f"/v1/documents?limit={PAGE}{after}", PageAnswer)
            found.update({one.document_id: one.digest for one in page.data})
            if not page.has_more or not page.data:
                return found
            after = f"&after={quote(page.data[-1].document_id, safe='')}"

    async def write(self, document: Wanted, model: str) -> None:
        """Store a document, in place of the one of its id."""
        body = {
            "id": document.id,
            "text": document.text,
            "metadata": document.metadata,
            "model": model,
        }
        try:
            await self._call("POST", "/v1/documents", Anything, body)
        except IngestFailed as problem:
            raise IngestFailed(f"{document.id}: {problem}") from problem

    async def remove(self, name: str) -> None:
        """Delete a document."""
        await self._call("DELETE", f"/v1/documents/{quote(name, safe='')}", Anything)

    async def _call(
        self, method: str, path: str, shape: type[M], body: Mapping[str, object] | None = None
    ) -> M:
        for attempt in range(TRIES):
            try:
                async with self._session.request(method, self._url + path, json=body) as response:
                    if response.status == 429 and attempt + 1 < TRIES:
                        await asyncio.sleep(_pause(response.headers.get("Retry-After", "")))
                        continue
                    answer = await response.json(content_type=None)
                    if response.status >= 400:
                        raise IngestFailed(_said(answer, response.status))
                    return shape.model_validate(answer)
            except ValidationError as error:
                raise IngestFailed(f"what answers at {self._url} is no such server") from error
            except aiohttp.InvalidURL:
                raise IngestFailed(
                    f"{self._url} is no address of a server; it begins with http://"
                ) from None
            except aiohttp.ClientConnectorError:
                raise IngestFailed(f"no server answers at {self._url}") from None
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise IngestFailed(f"the server at {self._url} broke off") from error
        raise IngestFailed(f"the server at {self._url} stays busy")


def _pause(text: str) -> float:
    """Seconds to wait before the next try, however long the server would like it."""
    return min(int(text), LONGEST_PAUSE_S) if text.isascii() and text.isdigit() else 1.0


def _said(answer: object, status: int) -> str:
    try:
        return f"the server refused: {answer['error']['message']}"  # type: ignore[index]
    except (KeyError, TypeError):
        return f"the server answered with status {status} and no reason"
