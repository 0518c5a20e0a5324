"""The command ``ingest``: what a course says becomes searchable, and only what changed is sent."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from runtime.llm.app import assemble, make_app
from runtime.llm.documents.ingest.client import Client, IngestFailed
from runtime.llm.documents.ingest.corpus import BadCorpus, Chunk, chunks_in
from runtime.llm.documents.ingest.plan import Plan, Wanted, plan, wanted
from runtime.llm.settings import LlmSettings
from runtime.web.instance import AlreadyRunning, address_of, claim
from runtime.web.serve import CannotStart, started

PREFERRED: Final = "all-minilm-l6-v2"
AT_ONCE: Final = 4
EXAMPLES: Final = """examples:
  python -m runtime.llm ingest site
  python -m runtime.llm ingest site --url http://board.local:8080 --base-url https://example.org/course/

Other flags are those of the server: --data-dir names the store, LLMSVC_API_KEY holds the key. While
a server runs on that folder its documents are written through it, otherwise directly."""


def main(argv: Sequence[str]) -> int:
    """Load a course; the exit code of the process."""
    parser = _parser()
    chosen, rest = parser.parse_known_args(argv)
    if not chosen.tenant.strip() or not chosen.tenant.isprintable():
        parser.error("--tenant must be a name")
    if chosen.url and not chosen.url.startswith(("http://", "https://")):
        parser.error("--url must begin with http:// or https://")
    settings = LlmSettings.load(rest, os.environ)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        chunks = chunks_in(chosen.site)
        done = asyncio.run(_ingest(chosen, settings, chunks))
    except (BadCorpus, IngestFailed, CannotStart, ValueError) as problem:
        return _fail(str(problem))
    except OSError as problem:
        return _fail(f"data_dir cannot be used: {problem.strerror}")
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(
        f"{len(chunks)} chunks of the course: {len(done.write)} written, "
        f"{done.unchanged} unchanged, {len(done.remove)} removed; tenant {chosen.tenant}\n"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runtime.llm ingest",
        description="Load a built course into the document store, so that POST /v1/search finds "
        "its lessons. Running it again sends only what changed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("site", type=Path, help="folder of the built course")
    parser.add_argument("--tenant", default="course", help="whose documents they become (course)")
    parser.add_argument("--model", default="", help="embedding model; the only one, or minilm")
    parser.add_argument("--url", default="", help="a server, here or on the network")
    parser.add_argument("--force", action="store_true", help="also remove most of what is stored")
    parser.add_argument("--base-url", default="", help="address of the course, for whole links")
    return parser


async def _ingest(chosen: argparse.Namespace, settings: LlmSettings, chunks: list[Chunk]) -> Plan:
    key = settings.api_key.get_secret_value().strip()
    async with _server(chosen.url, settings) as url, Client(url, chosen.tenant, key) as client:
        model = _model(chosen.model, await client.embedding_models())
        todo = plan(wanted(chunks, model, chosen.base_url), await client.stored())
        if len(todo.remove) > len(chunks) and not chosen.force:
            raise IngestFailed(
                f"{len(todo.remove)} stored chunks are not in this course of {len(chunks)}, which "
                "looks like another course or a broken build; --force removes them"
            )
        await _carry_out(client, todo, model)
        return todo


@asynccontextmanager
async def _server(url: str, settings: LlmSettings) -> AsyncIterator[str]:
    """Where to send the documents: as told, the server that runs on the folder, or one of ours."""
    if url:
        yield url
        return
    try:
        lock = claim(settings.data_dir, "data_dir")
    except AlreadyRunning:
        address = address_of(settings.data_dir)
        if address is None:
            raise IngestFailed("a server is about to start on this data; try again") from None
        yield address
        return
    with lock:
        async with started(make_app(assemble(settings))) as running:
            yield running.url


def _model(asked: str, there: list[str]) -> str:
    """The embedding model to use. Raises `IngestFailed`."""
    if asked:
        return asked
    if not there:
        raise IngestFailed(
            "no embedding model is installed: python -m runtime.llm pull minilm brings one"
        )
    if len(there) > 1 and PREFERRED not in there:
        names = ", ".join(there)
        raise IngestFailed(f"there are several embedding models, choose with --model: {names}")
    return PREFERRED if PREFERRED in there else there[0]


async def _carry_out(client: Client, todo: Plan, model: str) -> None:
    """Write first, then remove: a lesson that was renamed is found all along."""
    show = _Progress(len(todo.write) + len(todo.remove))
    gate = asyncio.Semaphore(AT_ONCE)

    async def write(document: Wanted) -> None:
        try:
            await client.write(document, model)
        finally:
            gate.release()
        show.step()

    try:
        async with asyncio.TaskGroup() as group:
            for document in todo.write:
                await gate.acquire()
                group.create_task(write(document))
        for name in todo.remove:
            await client.remove(name)
            show.step()
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    finally:
        show.end()


class _Progress:
    """Counts on the terminal what has been sent."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._shown = sys.stderr.isatty() and total > 0

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._shown:
            sys.stderr.write(f"\ringest: {self._done} of {self._total}")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            sys.stderr.write("\n")


def _fail(text: str) -> int:
    sys.stderr.write(f"ingest: {text}\n")
    return 1
