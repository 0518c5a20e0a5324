"""The command ``ingest``: load a built course into the document store, sending only changes."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Final, NamedTuple, Self, TypeVar
from urllib.parse import quote, urljoin

import aiohttp
import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from tqdm import tqdm

from runtime.llm.api.documents import DocumentAnswer, DocumentDeleted, DocumentPage
from runtime.llm.api.models import ModelList
from runtime.llm.app import assemble, make_app
from runtime.llm.documents.document import LESSON, dump_metadata, hash_document, read_heading
from runtime.llm.settings import PROGRAM, LlmSettings
from runtime.web.instance import AlreadyRunning, address_of, claim
from runtime.web.serve import CannotStart, run_app

CORPUS: Final = "corpus/chunks.jsonl"
"""Path of the chunks in a built course."""
MAX_BYTES: Final = 64 << 20
MAX_CHUNKS: Final = 100_000
PREFIX: Final = "lesson/"
"""Prefix of the ids of a course's documents; other documents of the tenant are untouched."""
PREFERRED: Final = "all-minilm-l6-v2"
PARALLEL: Final = 4
PAGE: Final = 1000
TRIES: Final = 30
LONGEST_PAUSE_S: Final = 10
TIMEOUT: Final = aiohttp.ClientTimeout(total=600.0, connect=5.0)
EXAMPLES: Final = f"""examples:
  {PROGRAM} ingest site
  {PROGRAM} ingest site --url http://board.local:8080 --base-url https://example.org/course/

The server's flags are accepted too: --data-dir names the store; LLMSVC_API_KEY is the key. While a
server runs on that folder, the documents are written through it, otherwise directly."""

Trimmed = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$", max_length=200)]
"""Text without surrounding white space, which a server would remove."""


class IngestFailed(Exception):
    """The course or the server cannot be used; the text is one line for the user."""


def main(argv: Sequence[str]) -> int:
    """Load a course; return the exit code."""
    parser = _parser()
    chosen, rest = parser.parse_known_args(argv)
    if not chosen.tenant.strip() or not chosen.tenant.isprintable():
        parser.error("--tenant must be a printable name")
    if chosen.url and not chosen.url.startswith(("http://", "https://")):
        parser.error("--url must begin with http:// or https://")
    settings = LlmSettings.load(rest, os.environ)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        chunks = read_chunks(chosen.site)
        plan = asyncio.run(_ingest(chosen, settings, chunks))
    except (IngestFailed, CannotStart, ValueError) as problem:
        return _fail(str(problem))
    except OSError as problem:
        return _fail(f"data_dir cannot be used: {problem.strerror}")
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(
        f"{len(chunks)} chunks of the course: {len(plan.write)} written, "
        f"{plan.unchanged} unchanged, {len(plan.remove)} removed; tenant {chosen.tenant}\n"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} ingest",
        description="Load a built course into the document store, so that POST /v1/search finds "
        "its lessons. Running it again sends only what changed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("site", type=Path, help="folder of the built course")
    parser.add_argument(
        "--tenant", default="course", help="tenant that gets the documents (default: course)"
    )
    parser.add_argument(
        "--model", default="", help="embedding model (default: the only installed one, else minilm)"
    )
    parser.add_argument("--url", default="", help="address of a server, here or on the network")
    parser.add_argument(
        "--force", action="store_true", help="proceed even if most stored chunks are removed"
    )
    parser.add_argument(
        "--base-url", default="", help="address of the course, to make links absolute"
    )
    return parser


def _fail(text: str) -> int:
    sys.stderr.write(f"ingest: {text}\n")
    return 1


# --- reading the course


class Chunk(BaseModel):
    """A chunk of a lesson, as made by the build."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: Trimmed
    lessonId: Trimmed  # noqa: N815 - as the course names it
    url: Annotated[str, StringConstraints(max_length=2000)]
    """Relative to the root of the course."""
    title: Annotated[str, StringConstraints(max_length=2000)]
    text: Annotated[str, StringConstraints(pattern=r"\S", max_length=100_000)]


class Document(NamedTuple):
    """A document that should be stored."""

    id: str
    text: str
    metadata: dict[str, str]
    digest: str


class Plan(NamedTuple):
    """The changes to make, each list in order of ids."""

    write: tuple[Document, ...]
    remove: tuple[str, ...]
    unchanged: int


def read_chunks(site: Path) -> list[Chunk]:
    """Read the chunks of a built course. Raises `IngestFailed`."""
    try:
        with (site / CORPUS).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise IngestFailed(
            f"{site} has no {CORPUS}; is it a built course? (python build.py build)"
        ) from None
    except OSError as error:
        raise IngestFailed(f"{site / CORPUS} cannot be read: {error.strerror}") from None
    return parse_chunks(data)


def parse_chunks(data: bytes) -> list[Chunk]:
    """Parse chunks, one JSON object per line. Raises `IngestFailed`, which names the line."""
    if len(data) > MAX_BYTES:
        raise IngestFailed(f"{CORPUS}: larger than {MAX_BYTES} bytes")
    lines = [(at, line) for at, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not lines:
        raise IngestFailed(f"{CORPUS}: contains no chunks; the build may be incomplete")
    if len(lines) > MAX_CHUNKS:
        raise IngestFailed(f"{CORPUS}: more than {MAX_CHUNKS} chunks")
    chunks: dict[str, Chunk] = {}
    for number, line in lines:
        place = f"{CORPUS}: line {number}"
        try:
            chunk = Chunk.model_validate(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise IngestFailed(f"{place}: not JSON") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise IngestFailed(f"{place}: {where}: {first['msg'].lower()}") from error
        if chunks.setdefault(chunk.id, chunk) is not chunk:
            raise IngestFailed(f"{place}: the id {chunk.id!r} appears twice")
    return list(chunks.values())


def make_documents(chunks: Iterable[Chunk], model: str, base_url: str = "") -> list[Document]:
    """Make the documents of a course; *base_url* makes their links absolute."""
    documents: list[Document] = []
    for chunk in chunks:
        metadata = {
            "kind": LESSON,
            "lessonId": chunk.lessonId,
            "chunkId": chunk.id,
            "title": chunk.title,
            "url": urljoin(base_url, chunk.url) if base_url else chunk.url,
        }
        digest = hash_document(chunk.text, dump_metadata(metadata), model, read_heading(metadata))
        documents.append(Document(f"{PREFIX}{chunk.id}", chunk.text, metadata, digest))
    return documents


def make_plan(documents: Iterable[Document], stored: Mapping[str, str]) -> Plan:
    """Compare the documents with those *stored*, given as digests by id."""
    by_id = {document.id: document for document in documents}
    changed = [d for d in by_id.values() if stored.get(d.id) != d.digest]
    gone = [name for name in stored if name.startswith(PREFIX) and name not in by_id]
    return Plan(
        write=tuple(sorted(changed)),
        remove=tuple(sorted(gone)),
        unchanged=len(by_id) - len(changed),
    )


# --- the server


M = TypeVar("M", bound=BaseModel)


class Client:
    """A language-model server, used as a tenant; a context manager."""

    def __init__(self, url: str, tenant: str, api_key: str = "") -> None:
        headers = {"X-Client-Id": tenant, "User-Agent": "paddock-ingest"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._url = url.rstrip("/")
        self._headers = headers

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(headers=self._headers, timeout=TIMEOUT)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def list_embedding_models(self) -> list[str]:
        """List the ids of the server's embedding models."""
        answer = await self._call("GET", "/v1/models", ModelList)
        return [model.id for model in answer.data if model.meta.kind == "embedding"]

    async def fetch_digests(self) -> dict[str, str]:
        """Fetch the digests of the tenant's documents by id."""
        digests: dict[str, str] = {}
        after = ""
        while True:
            page = await self._call("GET", f"/v1/documents?limit={PAGE}{after}", DocumentPage)
            digests.update({record.document_id: record.digest for record in page.data})
            if not page.has_more or not page.data:
                return digests
            after = f"&after={quote(page.data[-1].document_id, safe='')}"

    async def write(self, document: Document, model: str) -> None:
        """Store a document, replacing one with the same id."""
        body = {
            "id": document.id,
            "text": document.text,
            "metadata": document.metadata,
            "model": model,
        }
        try:
            await self._call("POST", "/v1/documents", DocumentAnswer, body)
        except IngestFailed as problem:
            raise IngestFailed(f"{document.id}: {problem}") from problem

    async def remove(self, name: str) -> None:
        """Delete a document."""
        await self._call("DELETE", f"/v1/documents/{quote(name, safe='')}", DocumentDeleted)

    async def _call(
        self, method: str, path: str, shape: type[M], body: Mapping[str, object] | None = None
    ) -> M:
        for attempt in range(TRIES):
            try:
                async with self._session.request(method, self._url + path, json=body) as response:
                    if response.status == 429 and attempt + 1 < TRIES:
                        await asyncio.sleep(_pause_s(response.headers.get("Retry-After", "")))
                        continue
                    answer = await response.json(content_type=None)
                    if response.status >= 400:
                        raise IngestFailed(_reason(answer, response.status))
                    return shape.model_validate(answer)
            except ValidationError as error:
                raise IngestFailed(f"{self._url} is not a language-model server") from error
            except aiohttp.InvalidURL:
                raise IngestFailed(
                    f"{self._url} is not the address of a server, which begins with http://"
                ) from None
            except aiohttp.ClientConnectorError:
                raise IngestFailed(f"no server answers at {self._url}") from None
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise IngestFailed(f"the server at {self._url} broke off") from error
        raise IngestFailed(f"the server at {self._url} stays busy")


def _pause_s(text: str) -> float:
    """Seconds to wait before a retry, limited to `LONGEST_PAUSE_S`."""
    return min(int(text), LONGEST_PAUSE_S) if text.isascii() and text.isdigit() else 1.0


def _reason(answer: object, status: int) -> str:
    try:
        return f"the server rejected it: {answer['error']['message']}"  # type: ignore[index]
    except (KeyError, TypeError):
        return f"the server answered with status {status} without a reason"


# --- executing the plan


async def _ingest(chosen: argparse.Namespace, settings: LlmSettings, chunks: list[Chunk]) -> Plan:
    key = settings.api_key.get_secret_value().strip()
    async with _find_server(chosen.url, settings) as url, Client(url, chosen.tenant, key) as client:
        model = chosen.model or _choose_model(await client.list_embedding_models())
        documents = make_documents(chunks, model, chosen.base_url)
        plan = make_plan(documents, await client.fetch_digests())
        if len(plan.remove) > len(chunks) and not chosen.force:
            raise IngestFailed(
                f"{len(plan.remove)} stored chunks are not in this course of {len(chunks)}; "
                "it may be a different course or an incomplete build; --force removes them"
            )
        await _execute(client, plan, model)
        return plan


@asynccontextmanager
async def _find_server(url: str, settings: LlmSettings) -> AsyncIterator[str]:
    """Choose the server: *url*, else one running on the data folder, else start one here."""
    if url:
        yield url
        return
    try:
        lock = claim(settings.data_dir, "data_dir")
    except AlreadyRunning:
        address = address_of(settings.data_dir)
        if address is None:
            raise IngestFailed("a server is starting on this data; try again") from None
        yield address
        return
    with lock:
        async with run_app(make_app(assemble(settings))) as running:
            yield running.url


def _choose_model(models: list[str]) -> str:
    if not models:
        raise IngestFailed(f"no embedding model is installed: {PROGRAM} pull minilm installs one")
    if PREFERRED in models:
        return PREFERRED
    if len(models) > 1:
        names = ", ".join(models)
        raise IngestFailed(f"there are several embedding models; choose with --model: {names}")
    return models[0]


async def _execute(client: Client, plan: Plan, model: str) -> None:
    """Write first, then remove, so that a renamed lesson can always be searched."""
    pending = iter(plan.write)
    total = len(plan.write) + len(plan.remove)
    with tqdm(desc="ingest", total=total, disable=None) as bar:

        async def write() -> None:
            for document in pending:
                await client.write(document, model)
                bar.update()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(PARALLEL):
                    group.create_task(write())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        for name in plan.remove:
            await client.remove(name)
            bar.update()
