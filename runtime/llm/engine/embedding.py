"""Embed texts: admit requests, compute them slice by slice in turn, and retry once."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple, TypeVar

from runtime.llm.engine.pool import Engine, Pool, make_shutdown_error
from runtime.llm.engine.process import GONE, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Chunks, Embed, Embedded, Event, Fit, Split
from runtime.llm.errors import BadText, EmbedBusy, EmbedFailed
from runtime.llm.inference import FLOAT, Vectors
from runtime.llm.models.catalog import Entry
from runtime.web.errors import ApiError

Purpose = Literal["query", "document"]
"""Purpose of an embedding: some models have a different prefix for each."""

WARM_TEXT: Final = "hi"
ANSWER_S: Final = 30.0
"""A process that does not answer a slice within this time is killed."""
SLICE_TEXTS: Final = 16
"""Maximum texts of a slice; more are no faster on a CPU and need padding."""
SLICE_TOKENS: Final = 8192
"""Maximum tokens of a slice, including padding; a single text may have more."""
_SPECIAL: Final = 2  # tokens around every text
_FIT_CHUNKS: Final = 64  # chunks whose tokens are counted in one turn
_AROUND: Final = 3  # special tokens around a text, and the line break after a heading
_TRIES: Final = 2  # of a slice whose process dies on it
_ROUNDS: Final = 8  # of a slice whose process was ended by another one before its turn

_Answer = TypeVar("_Answer", bound=Event)
Work = Embed | Fit | Split


class Passages(NamedTuple):
    """The chunks of a document and their vectors."""

    texts: tuple[str, ...]
    vectors: Vectors


@dataclass
class Totals:
    """Totals since the start."""

    requests: int = 0
    """Admitted requests."""
    refused: int = 0
    """Requests that were refused because too many were waiting."""
    errors: int = 0
    """Admitted requests that ended with an error, not counting clients that left."""
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0
    """Time in which an encoder was busy."""


class _Lease:
    """A request's hold on an encoder, which may be replaced by one in a new process."""

    def __init__(self, pool: Pool, entry: Entry, engine: Engine) -> None:
        self._pool = pool
        self._entry = entry
        self._engine: Engine | None = engine
        self.begun = False
        """Whether part of the work has been done."""
        self.width: Final = engine.encoder.width
        self.max_tokens: Final = engine.encoder.max_tokens

    async def engine(self) -> Engine:
        """Return the encoder, reloaded if its process has ended."""
        if self._engine is not None and self._engine.worker.alive:
            return self._engine
        self.give_back()
        self._engine = await self._pool.acquire_encoder(self._entry)
        if self._engine.encoder.width != self.width:
            raise EmbedFailed(f"the model {self._entry.id} was replaced during the request")
        return self._engine

    def give_back(self) -> None:
        """Release the encoder."""
        if self._engine is not None:
            engine, self._engine = self._engine, None
            self._pool.release(engine)


class Embedder:
    """Embeds with the encoders of *pool*, one request at a time.

    At most *waiting* further requests of a client wait, and twice as many of all clients, so that
    nobody takes all places. Only one slice is computed at a time, because all encoders share the
    processor. A cancelled request gives up its turn; its running slice is finished and discarded.
    """

    def __init__(
        self,
        pool: Pool,
        waiting: int = 32,
        *,
        answer_s: float = ANSWER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.totals = Totals()
        self._pool = pool
        self._most_waiting = waiting
        self._answer_s = answer_s
        self._clock = clock
        self._admitted: Counter[str] = Counter()
        """Running and waiting requests by client."""
        self._draining = False
        self._closed = False
        self._turn = asyncio.Lock()  # wakes waiters in order of arrival
        self._working: set[asyncio.Task[Event]] = set()

    @property
    def running(self) -> int:
        """Number of running requests: 0 or 1."""
        return min(1, self._admitted.total())

    @property
    def waiting(self) -> int:
        """Number of requests that wait for their turn or their model."""
        return self._admitted.total() - self.running

    async def embed(
        self,
        entry: Entry,
        texts: Sequence[str],
        purpose: Purpose | None = None,
        *,
        client: str = "",
    ) -> Vectors:
        """Embed each text, with the model's declared prefix for *purpose*.

        Raises `EmbedBusy` if too many requests are waiting, in all or of this *client*,
        `EmbedFailed`, `BadText` and `ShuttingDown`.
        """
        with self.admission(client):
            async with self._lease(entry) as lease:
                return await self._vectors(lease, texts, _prefix(entry, purpose))

    async def passages(
        self, entry: Entry, text: str, heading: str = "", *, client: str = ""
    ) -> Passages:
        """Split a document into chunks and embed them; none for a blank text. Raises as `embed`.

        Each vector is that of the *heading*, a line break and the chunk.
        """
        with self.admission(client):
            async with self._lease(entry) as lease:
                prefix = _prefix(entry, "document") + _cut_heading(heading, lease.max_tokens)
                chunks = (await self._execute_in_turn(lease, Split(text), Chunks)).texts
                texts: list[str] = []
                for at in range(0, len(chunks), _FIT_CHUNKS):
                    command = Fit(chunks[at : at + _FIT_CHUNKS], prefix)
                    texts += (await self._execute_in_turn(lease, command, Chunks)).texts
                return Passages(tuple(texts), await self._vectors(lease, texts, prefix))

    async def width(self, entry: Entry) -> int:
        """Load the model and return the width of its vectors. Raises as `embed`; not counted."""
        async with self._lease(entry) as lease:
            return lease.width

    async def warm(self, entry: Entry) -> None:
        """Load the model and verify once per process that it embeds. Raises as `embed`.

        Not counted as a request.
        """
        async with self._lease(entry) as lease:
            model = (await lease.engine()).model
            async with model.warming:
                if not model.warm:
                    await self._execute_in_turn(lease, Embed([WARM_TEXT]), Embedded)

    def drain(self) -> None:
        """From now on, requests that have not started end with `ShuttingDown`."""
        self._draining = True

    async def close(self) -> None:
        """End all encoders; running requests end with `ShuttingDown`."""
        self._closed = True
        await self._pool.stop("embedding")
        while self._working:  # nothing delays it any more
            await asyncio.wait(self._working)

    @contextlib.contextmanager
    def admission(self, client: str) -> Iterator[None]:
        """Admit and count a request. Raises `EmbedBusy`."""
        full = self._admitted.total() > 2 * self._most_waiting
        if full or self._admitted[client] > self._most_waiting:
            self.totals.refused += 1
            raise EmbedBusy
        self._admitted[client] += 1
        self.totals.requests += 1
        try:
            yield
        except ApiError:
            self.totals.errors += 1
            raise
        finally:
            self._admitted[client] -= 1
            self._admitted += Counter()  # drops clients without requests

    # --- internals

    @contextlib.asynccontextmanager
    async def _lease(self, entry: Entry) -> AsyncIterator[_Lease]:
        if self._closed:
            raise make_shutdown_error()
        lease = _Lease(self._pool, entry, await self._pool.acquire_encoder(entry))
        try:
            yield lease
        finally:
            lease.give_back()

    async def _vectors(self, lease: _Lease, texts: Sequence[str], prefix: str) -> Vectors:
        """Embed slice by slice, each in its turn; the rows are in the order of the texts."""
        rows, tokens, truncated = [b""] * len(texts), 0, 0
        for places in make_slices(texts, lease.max_tokens):
            command = Embed([prefix + texts[place] for place in places])
            answer = await self._execute_in_turn(lease, command, Embedded)
            size = answer.width * FLOAT
            for number, place in enumerate(places):
                rows[place] = answer.vectors[number * size : (number + 1) * size]
            tokens += sum(answer.tokens)
            truncated += answer.truncated
            self.totals.texts += len(places)
            self.totals.tokens += sum(answer.tokens)
        return Vectors(lease.width, b"".join(rows), tokens, truncated)

    async def _execute_in_turn(self, lease: _Lease, command: Work, kind: type[_Answer]) -> _Answer:
        """Execute a command when its turn comes; retry once if its process dies on it."""
        deaths = 0
        for _ in range(_ROUNDS):
            engine = await lease.engine()
            await self._turn.acquire()
            ending = self._closed or (self._draining and not lease.begun)
            if ending or not engine.worker.alive:
                self._turn.release()
                if ending:
                    raise make_shutdown_error()
                continue
            lease.begun = True
            engine.users += 1  # the request may be cancelled first
            task = asyncio.create_task(self._work(engine, command, kind))  # never cancelled
            self._working.add(task)
            task.add_done_callback(partial(self._finish_work, engine))
            try:
                return await asyncio.shield(task)
            except WorkerGone as error:
                if self._closed:
                    raise make_shutdown_error() from error
                deaths += 1
                if deaths == _TRIES:
                    break
            except WorkerFailed as error:
                raise EmbedFailed(
                    f"the model {engine.model_id} cannot embed this: {error}"
                ) from error
            except TypeError as error:  # from the JSON encoder
                raise BadText from error
        raise EmbedFailed(GONE)

    async def _work(self, engine: Engine, command: Work, kind: type[_Answer]) -> _Answer:
        began = self._clock()
        try:
            answer = await engine.worker.ask(command, kind, self._answer_s)
        finally:
            self.totals.seconds += self._clock() - began
        if isinstance(command, Embed) and isinstance(answer, Embedded):
            count, width = len(command.texts), engine.encoder.width
            sizes = (answer.width, len(answer.tokens), len(answer.vectors))
            if sizes != (width, count, count * width * FLOAT):
                engine.worker.kill()  # an impossible answer
                raise WorkerGone
            engine.model.warm = True
        return answer

    def _finish_work(self, engine: Engine, task: asyncio.Task[Event]) -> None:
        self._working.discard(task)
        self._turn.release()
        self._pool.release(engine)
        if not task.cancelled():
            task.exception()  # the request may have been cancelled


def make_slices(texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    """Divide *texts* into divide of their positions, short texts first.

    Texts of similar length share a slice, because all are padded to the longest. *max_tokens* is
    the model's maximum input. A slice bounds how long another request waits, so long inputs make
    divide of fewer texts.
    """
    cut: list[list[int]] = []
    for place in sorted(range(len(texts)), key=lambda at: len(texts[at])):
        tokens = min(len(texts[place]) + _SPECIAL, max_tokens)  # at most one per character
        room = min(SLICE_TEXTS, SLICE_TOKENS // max(1, tokens))
        if cut and len(cut[-1]) < room:
            cut[-1].append(place)
        else:
            cut.append([place])
    return cut


def _cut_heading(heading: str, max_tokens: int) -> str:
    """The heading and a line break, cut to at most half of the model's input.

    A text never has more tokens than bytes.
    """
    room = max(0, max_tokens // 2 - _AROUND)
    kept = heading.encode()[:room].decode(errors="ignore").rstrip()
    return f"{kept}\n" if kept else ""


def _prefix(entry: Entry, purpose: Purpose | None) -> str:
    """The prefix that the catalog declares for a purpose."""
    prefixes = {"query": entry.declared.query_prefix, "document": entry.declared.doc_prefix}
    return prefixes.get(purpose or "") or ""
