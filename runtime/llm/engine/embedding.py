"""Texts in, vectors out: admits requests, lets them take turns slice by slice, tries twice."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple, TypeVar

from runtime.llm.engine.pool import Engine, Pool, shutting_down
from runtime.llm.engine.process import GONE, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Chunks, Embed, Embedded, Event, Fit, Split
from runtime.llm.errors import BadText, EmbedBusy, EmbedFailed
from runtime.llm.inference import FLOAT, Vectors
from runtime.llm.models.catalog import Entry
from runtime.web.errors import ApiError

Purpose = Literal["query", "document"]
"""What a text is embedded for: some models want another prefix for each."""

WARM_TEXT: Final = "hi"
ANSWER_S: Final = 30.0
"""A process that leaves a slice unanswered for this long is killed."""
SLICE_TEXTS: Final = 16
"""Most texts of a slice; more gain nothing on a CPU and cost padding."""
SLICE_TOKENS: Final = 8192
"""Most tokens of a slice, padding included; a single text may have more."""
_SPECIAL: Final = 2  # tokens around every text
_FITTED: Final = 64  # chunks whose tokens are counted in one turn
_AROUND: Final = 3  # special tokens around a text, and the line break behind a heading
_TRIES: Final = 2  # of a slice whose process dies over it
_ROUNDS: Final = 8  # of a slice whose turn comes when another has ended the process

_Answer = TypeVar("_Answer", bound=Event)
Work = Embed | Fit | Split


class Passages(NamedTuple):
    """A document cut into chunks, each with its vector."""

    texts: tuple[str, ...]
    vectors: Vectors


@dataclass
class Totals:
    """What was embedded since the start."""

    requests: int = 0
    """Admitted ones."""
    refused: int = 0
    """Requests that found too many waiting."""
    errors: int = 0
    """Admitted requests that ended with an error; those whose client left do not count."""
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0
    """Time in which an encoder was at work."""


class _Lease:
    """A request's hold on an encoder, which may be replaced by one in a new process."""

    def __init__(self, pool: Pool, entry: Entry, engine: Engine) -> None:
        self._pool = pool
        self._entry = entry
        self._engine: Engine | None = engine
        self.begun = False
        """Whether some of the work has been done."""
        self.width: Final = engine.encoder.width
        self.max_tokens: Final = engine.encoder.max_tokens

    async def engine(self) -> Engine:
        """The encoder, loaded anew where its process has ended."""
        if self._engine is not None and self._engine.worker.alive:
            return self._engine
        self.give_back()
        self._engine = await self._pool.acquire_encoder(self._entry)
        if self._engine.encoder.width != self.width:
            raise EmbedFailed(f"the model {self._entry.id} was replaced in the middle of the work")
        return self._engine

    def give_back(self) -> None:
        """End the hold."""
        if self._engine is not None:
            engine, self._engine = self._engine, None
            self._pool.release(engine)


class Embedder:
    """Embeds with the encoders of *pool*; at most *waiting* requests of a client wait beside one in
    work, and twice as many of all clients, so that one cannot take all places.
    One slice is computed at a time over all encoders, for they share the processor. A request
    whose task is cancelled gives up its turn; a slice of it that is under way is let finish and
    thrown away, and the others wait no longer for it than for any slice.
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
        """Requests in work or waiting, by their client."""
        self._draining = False
        self._closed = False
        self._turn = asyncio.Lock()  # wakes those who wait in order of arrival
        self._working: set[asyncio.Task[Event]] = set()

    @property
    def running(self) -> int:
        """Requests in work: 0 or 1."""
        return min(1, self._admitted.total())

    @property
    def waiting(self) -> int:
        """Requests that wait beside the one in work, for their turn or their model."""
        return self._admitted.total() - self.running

    async def embed(
        self,
        entry: Entry,
        texts: Sequence[str],
        purpose: Purpose | None = None,
        *,
        client: str = "",
    ) -> Vectors:
        """A vector of each text, in order, with the model's declared prefix for *purpose*.

        Raises `EmbedBusy` when too many wait, or too many of that *client*, `EmbedFailed`,
        `BadText` and `ShuttingDown`.
        """
        with self.admission(client):
            async with self._lease(entry) as lease:
                return await self._vectors(lease, texts, _prefix(entry, purpose))

    async def passages(
        self, entry: Entry, text: str, heading: str = "", *, client: str = ""
    ) -> Passages:
        """The chunks of a document and their vectors; none for a blank text. Raises as `embed`.

        Each vector is that of the *heading*, a line break and the chunk.
        """
        with self.admission(client):
            async with self._lease(entry) as lease:
                prefix = _prefix(entry, "document") + _headed(heading, lease.max_tokens)
                chunks = (await self._in_turn(lease, Split(text), Chunks)).texts
                texts: list[str] = []
                for at in range(0, len(chunks), _FITTED):
                    command = Fit(chunks[at : at + _FITTED], prefix)
                    texts += (await self._in_turn(lease, command, Chunks)).texts
                return Passages(tuple(texts), await self._vectors(lease, texts, prefix))

    async def width(self, entry: Entry) -> int:
        """Numbers of the model's vectors; loads it. Raises as `embed`, but counts as no request."""
        async with self._lease(entry) as lease:
            return lease.width

    async def warm(self, entry: Entry) -> None:
        """Load the model and prove, once for each process, that it embeds. Raises as `embed`.

        Counts as no request.
        """
        async with self._lease(entry) as lease:
            model = (await lease.engine()).model
            async with model.warming:
                if not model.warm:
                    await self._in_turn(lease, Embed([WARM_TEXT]), Embedded)

    def drain(self) -> None:
        """From now on a request that has not begun ends with `ShuttingDown`."""
        self._draining = True

    async def close(self) -> None:
        """End all encoders; requests under way end with `ShuttingDown`."""
        self._closed = True
        await self._pool.stop("embedding")
        while self._working:  # nothing holds it any more
            await asyncio.wait(self._working)

    @contextlib.contextmanager
    def admission(self, client: str) -> Iterator[None]:
        """Let a request in and count it; raises `EmbedBusy`."""
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
            self._admitted += Counter()  # drops those that have none

    # --- inside

    @contextlib.asynccontextmanager
    async def _lease(self, entry: Entry) -> AsyncIterator[_Lease]:
        if self._closed:
            raise shutting_down()
        lease = _Lease(self._pool, entry, await self._pool.acquire_encoder(entry))
        try:
            yield lease
        finally:
            lease.give_back()

    async def _vectors(self, lease: _Lease, texts: Sequence[str], prefix: str) -> Vectors:
        """Slice after slice, each in its turn; the rows in the order of the texts."""
        rows, tokens, truncated = [b""] * len(texts), 0, 0
        for places in slices(texts, lease.max_tokens):
            command = Embed([prefix + texts[place] for place in places])
            answer = await self._in_turn(lease, command, Embedded)
            size = answer.width * FLOAT
            for number, place in enumerate(places):
                rows[place] = answer.vectors[number * size : (number + 1) * size]
            tokens += sum(answer.tokens)
            truncated += answer.truncated
            self.totals.texts += len(places)
            self.totals.tokens += sum(answer.tokens)
        return Vectors(lease.width, b"".join(rows), tokens, truncated)

    async def _in_turn(self, lease: _Lease, command: Work, kind: type[_Answer]) -> _Answer:
        """Have one command done when its turn comes; once more if its process dies of it."""
        deaths = 0
        for _ in range(_ROUNDS):
            engine = await lease.engine()
            await self._turn.acquire()
            ending = self._closed or (self._draining and not lease.begun)
            if ending or not engine.worker.alive:
                self._turn.release()
                if ending:
                    raise shutting_down()
                continue
            lease.begun = True
            engine.users += 1  # the request may leave first
            task = asyncio.create_task(self._work(engine, command, kind))  # which nobody cancels
            self._working.add(task)
            task.add_done_callback(partial(self._worked, engine))
            try:
                return await asyncio.shield(task)
            except WorkerGone as error:
                if self._closed:
                    raise shutting_down() from error
                deaths += 1
                if deaths == _TRIES:
                    break
            except WorkerFailed as error:
                raise EmbedFailed(
                    f"the model {engine.model_id} cannot embed this: {error}"
                ) from error
            except TypeError as error:  # of the JSON writer
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
                engine.worker.kill()  # an answer that cannot be right
                raise WorkerGone
            engine.model.warm = True
        return answer

    def _worked(self, engine: Engine, task: asyncio.Task[Event]) -> None:
        self._working.discard(task)
        self._turn.release()
        self._pool.release(engine)
        if not task.cancelled():
            task.exception()  # the request may have left


def slices(texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    """The places of *texts*, slice after slice, the short ones first.

    Texts of like length share a slice, since all are padded to the longest. *max_tokens* is the
    model's longest input. A slice bounds how long another request waits, so long inputs make
    slices of fewer texts.
    """
    cut: list[list[int]] = []
    for place in sorted(range(len(texts)), key=lambda at: len(texts[at])):
        tokens = min(len(texts[place]) + _SPECIAL, max_tokens)  # of a character each, at most
        room = min(SLICE_TEXTS, SLICE_TOKENS // max(1, tokens))
        if cut and len(cut[-1]) < room:
            cut[-1].append(place)
        else:
            cut.append([place])
    return cut


def _headed(heading: str, max_tokens: int) -> str:
    """The heading and a line break, cut to half of the model's input at most.

    No model makes more tokens of a text than it has bytes.
    """
    room = max(0, max_tokens // 2 - _AROUND)
    kept = heading.encode()[:room].decode(errors="ignore").rstrip()
    return f"{kept}\n" if kept else ""


def _prefix(entry: Entry, purpose: Purpose | None) -> str:
    """What the catalog wants in front of a text for that purpose."""
    prefixes = {"query": entry.declared.query_prefix, "document": entry.declared.doc_prefix}
    return prefixes.get(purpose or "") or ""
