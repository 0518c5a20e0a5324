"""Texts in, vectors out: admits requests, lets them take turns slice by slice, tries twice."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final, ParamSpec, TypeVar

from runtime.llm.embed.answers import chunks_of, vectors_of
from runtime.llm.embed.cache import EncoderCache, shutting_down
from runtime.llm.embed.errors import EmbedBusy, EmbedFailed
from runtime.llm.embed.process import GONE, EncoderFailed, EncoderGone, EncoderProcess
from runtime.llm.embed.protocol import Command, Embed, Fit, Framed, Split
from runtime.llm.embed.records import EmbedSettings, Encoder, Terms, Totals, terms_of
from runtime.llm.embed.slices import slices
from runtime.llm.embed.values import Passages, Purpose, Vectors, joined
from runtime.llm.engine.records import Attempt
from runtime.llm.models.catalog import Entry
from runtime.web.errors import ApiError

__all__ = ["EmbedSettings", "Embedders", "Encoder", "Totals"]

WARM_TEXT: Final = "hi"
_MANY: Final = 512  # texts whose order is too much work for the loop
_FITTED: Final = 64  # chunks whose tokens are counted in one turn
_AROUND: Final = 3  # special tokens around a text, and the line break behind a heading
_TRIES: Final = 2  # of a slice whose process dies over it
_ROUNDS: Final = 8  # of a slice whose turn comes when another has ended the process

_Answer = TypeVar("_Answer")
_Given = ParamSpec("_Given")


class _AlreadyGone(Exception):
    """The process had ended before the slice began."""


class _Lease:
    """A request's hold on an encoder, which may be replaced by one in a new process."""

    def __init__(self, cache: EncoderCache, entry: Entry, encoder: Encoder) -> None:
        self._cache = cache
        self._entry = entry
        self._encoder: Encoder | None = encoder
        self.begun = False
        """Whether some of the work has been done."""
        self.width: Final = encoder.width
        self.max_tokens: Final = encoder.max_tokens

    async def encoder(self) -> Encoder:
        """The encoder, loaded anew where its process has ended."""
        if self._encoder is not None and self._encoder.alive:
            return self._encoder
        self.give_back()
        self._encoder = await self._cache.acquire(self._entry)
        if self._encoder.width != self.width:
            raise EmbedFailed(f"the model {self._entry.id} was replaced in the middle of the work")
        return self._encoder

    def give_back(self) -> None:
        """End the hold."""
        if self._encoder is not None:
            encoder, self._encoder = self._encoder, None
            self._cache.release(encoder)


class Embedders:
    """Every encoder of the server. *start_process* starts an encoder process.

    One slice is computed at a time over all encoders, for they share the processor. A request
    whose task is cancelled gives up its turn; a slice of it that is under way is let finish and
    thrown away, and the others wait no longer for it than for any slice.
    """

    def __init__(
        self,
        settings: EmbedSettings,
        start_process: Callable[[], Awaitable[EncoderProcess]] = EncoderProcess.start,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.totals = Totals()
        self._settings = settings
        self._clock = clock
        self._cache = EncoderCache(settings, start_process, clock)
        self._admitted = 0
        self._draining = False
        self._turn = asyncio.Lock()  # wakes those who wait in order of arrival
        self._at_work: Encoder | None = None
        self._working: set[asyncio.Task[object]] = set()
        self._warming: dict[Terms, asyncio.Task[None]] = {}

    @property
    def failures(self) -> deque[Attempt]:
        """The last loads that failed, the newest first."""
        return self._cache.failures

    @property
    def running(self) -> int:
        """Requests in work: 0 or 1."""
        return min(1, self._admitted)

    @property
    def waiting(self) -> int:
        """Requests that wait beside the one in work, for their turn or their model."""
        return self._admitted - self.running

    def loaded(self) -> list[Encoder]:
        """The encoders in memory, most recently used first."""
        return self._cache.loaded()

    def is_loaded(self, model_id: str) -> bool:
        """Whether an encoder of that model is in memory."""
        return any(encoder.model_id == model_id for encoder in self.loaded())

    async def embed(
        self, entry: Entry, texts: Sequence[str], purpose: Purpose | None = None
    ) -> Vectors:
        """A vector of each text, in order, with the model's declared prefix for *purpose*.

        Raises `EmbedBusy` when too many wait, `EmbedFailed`, `BadText` and `ShuttingDown`.
        """
        with self._admission():
            async with self._lease(entry) as lease:
                return await self._vectors(lease, texts, _prefix(entry, purpose))

    async def passages(self, entry: Entry, text: str, heading: str = "") -> Passages:
        """The chunks of a document and their vectors; none for a blank text. Raises as `embed`.

        Each vector is that of the *heading*, a line break and the chunk.
        """
        with self._admission():
            async with self._lease(entry) as lease:
                prefix = _prefix(entry, "document") + _headed(heading, lease.max_tokens)
                chunks = await self._in_turns(lease, partial(Split, text=text), chunks_of)
                texts = await self._fitted(lease, chunks, prefix)
                return Passages(texts, await self._vectors(lease, texts, prefix))

    async def width(self, entry: Entry) -> int:
        """Numbers of the model's vectors; loads it. Raises as `embed`, but counts as no request."""
        async with self._lease(entry) as lease:
            return lease.width

    async def warm(self, entry: Entry) -> None:
        """Load the model and prove that it embeds, which one at work does already.

        All who ask at the same time share one proof. Counts as no request. A caller that leaves
        does not stop it. Raises as `embed`.
        """
        terms = terms_of(entry)
        task = self._warming.get(terms)
        if task is None:
            task = asyncio.create_task(self._warm(entry))
            self._warming[terms] = task
            task.add_done_callback(partial(self._warmed, terms))
        await asyncio.shield(task)

    def unload_idle(self, idle_s: float) -> int:
        """Unload encoders that nobody used for *idle_s* seconds; the number of them."""
        return self._cache.unload_idle(idle_s)

    def tick(self, idle_s: float) -> None:
        """The regular look: encoders that ended or were idle for *idle_s* seconds; 0: never."""
        self._cache.sweep()
        if idle_s:
            self.unload_idle(idle_s)

    def drain(self) -> None:
        """From now on a request that has not begun ends with `ShuttingDown`."""
        self._draining = True

    async def close(self) -> None:
        """End all processes within 5 seconds; requests under way end with `ShuttingDown`."""
        await self._cache.close()
        while tasks := [*self._working, *self._warming.values()]:  # nothing holds them any more
            await asyncio.wait(tasks)

    # --- inside

    @contextlib.contextmanager
    def _admission(self) -> Iterator[None]:
        """Let a request in and count it; raises `EmbedBusy`."""
        if self._admitted > self._settings.waiting:
            self.totals.refused += 1
            raise EmbedBusy
        self._admitted += 1
        self.totals.requests += 1
        try:
            yield
        except ApiError:
            self.totals.errors += 1
            raise
        finally:
            self._admitted -= 1

    @contextlib.asynccontextmanager
    async def _lease(self, entry: Entry) -> AsyncIterator[_Lease]:
        lease = _Lease(self._cache, entry, await self._cache.acquire(entry))
        try:
            yield lease
        finally:
            lease.give_back()

    async def _warm(self, entry: Entry) -> None:
        async with self._lease(entry) as lease:
            if await lease.encoder() is self._at_work:
                return
            command = partial(Embed, texts=[WARM_TEXT])
            await self._in_turns(lease, command, partial(vectors_of, rows=1, width=lease.width))

    def _warmed(self, terms: Terms, task: asyncio.Task[None]) -> None:
        del self._warming[terms]
        if not task.cancelled():
            task.exception()  # it is told to those who asked; there may be none left

    async def _fitted(self, lease: _Lease, chunks: Sequence[str], prefix: str) -> tuple[str, ...]:
        """The chunks with none too long for the model, some in each turn."""
        texts: list[str] = []
        for at in range(0, len(chunks), _FITTED):
            command = partial(Fit, texts=list(chunks[at : at + _FITTED]), prefix=prefix)
            texts += await self._in_turns(lease, command, chunks_of)
        return tuple(texts)

    async def _vectors(self, lease: _Lease, texts: Sequence[str], prefix: str) -> Vectors:
        """Slice after slice, each in its turn."""
        parts = []
        for places in await _aside(len(texts), slices, texts, lease.max_tokens):
            command = partial(Embed, texts=[prefix + texts[place] for place in places])
            read = partial(vectors_of, rows=len(places), width=lease.width)
            vectors = await self._in_turns(lease, command, read)
            self.totals.texts += len(vectors)
            self.totals.tokens += sum(vectors.tokens)
            parts.append((places, vectors))
        if not parts:
            return Vectors(lease.width, b"", ())
        return await _aside(len(texts), joined, parts)

    async def _in_turns(
        self,
        lease: _Lease,
        command: Callable[[int], Command],
        read: Callable[[Framed], _Answer],
    ) -> _Answer:
        """Have one command done when its turn comes; once more if its process dies of it."""
        tries = rounds = 0
        while True:
            encoder = await lease.encoder()
            try:
                return await self._turn_of(lease, encoder, command, read)
            except EncoderFailed as error:
                raise EmbedFailed(
                    f"the model {encoder.model_id} cannot embed this: {error}"
                ) from error
            except _AlreadyGone:
                rounds += 1
                if rounds == _ROUNDS:
                    raise EmbedFailed(GONE) from None
            except EncoderGone as error:
                if self._cache.closed:
                    raise shutting_down() from error
                tries += 1
                if tries == _TRIES:
                    raise EmbedFailed(GONE) from error

    async def _turn_of(
        self,
        lease: _Lease,
        encoder: Encoder,
        command: Callable[[int], Command],
        read: Callable[[Framed], _Answer],
    ) -> _Answer:
        """Wait for the turn and do one command in a task of its own, which nobody cancels."""
        await self._turn.acquire()
        ending = self._cache.closed or (self._draining and not lease.begun)
        if ending or not encoder.alive:
            self._turn.release()
            raise shutting_down() if ending else _AlreadyGone
        lease.begun = True
        encoder.users += 1  # the request may leave first
        self._at_work = encoder
        task = asyncio.create_task(self._work(encoder, command, read))
        self._working.add(task)
        task.add_done_callback(partial(self._worked, encoder))
        return await asyncio.shield(task)

    async def _work(
        self,
        encoder: Encoder,
        command: Callable[[int], Command],
        read: Callable[[Framed], _Answer],
    ) -> _Answer:
        process = encoder.process
        began = self._clock()
        try:
            question = command(process.next_id())
            framed = await process.ask(question, self._settings.answer_timeout_s)
            return read(framed)
        except ValueError as error:  # an answer that cannot be right
            process.kill()
            raise EncoderGone(GONE) from error
        finally:
            self.totals.seconds += self._clock() - began

    def _worked(self, encoder: Encoder, task: asyncio.Task[object]) -> None:
        self._working.discard(task)
        self._at_work = None
        self._turn.release()
        self._cache.release(encoder)


async def _aside(
    texts: int,
    work: Callable[_Given, _Answer],
    *args: _Given.args,
    **options: _Given.kwargs,
) -> _Answer:
    """The result of *work*, done off the loop for many texts."""
    if texts < _MANY:
        return work(*args, **options)
    return await asyncio.to_thread(work, *args, **options)


def _headed(heading: str, max_tokens: int) -> str:
    """The heading and a line break, cut to half of the model's input at most.

    No model makes more tokens of a text than it has bytes.
    """
    room = max(0, max_tokens // 2 - _AROUND)
    kept = heading.encode()[:room].decode(errors="ignore").rstrip()
    return f"{kept}\n" if kept else ""


def _prefix(entry: Entry, purpose: Purpose | None) -> str:
    """What the catalog wants in front of a text for that purpose."""
    declared = entry.declared
    match purpose:
        case "query":
            return declared.query_prefix or ""
        case "document":
            return declared.doc_prefix or ""
        case None:
            return ""
