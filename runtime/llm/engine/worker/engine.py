"""One context of a chat model with its conversations, which generates one reply at a time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from runtime.llm.engine.protocol import Ended, Run
from runtime.llm.engine.worker import conversations as talk
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.conversations import Conversations, Memory, Plan
from runtime.llm.engine.worker.quoting import Pairs, Parts, Quoter, joined
from runtime.llm.engine.worker.text import Decoder, StopScanner

Emit = Callable[[str, int], bool]
"""Takes text and the number of its tokens; False: nobody reads, stop."""


class Aborted(Exception):
    """The abort flag was set."""


class JobFailed(Exception):
    """The job cannot go on; the text is for a client."""


@dataclass(frozen=True)
class Prepared:
    """A prompt that waits for its turn."""

    engine: str
    messages: Pairs
    tokens: list[int]
    after: Parts | None


@dataclass(frozen=True)
class Shape:
    """Size of an engine: tokens a conversation, tokens in the KV cache, threads."""

    budget: int
    cells: int
    threads: int


@dataclass
class _Turn:
    """A job under way."""

    run: Run
    prepared: Prepared
    plan: Plan
    sequence: int
    evicted: list[str] = field(default_factory=list)
    length: int = 0
    """Tokens of this sequence in the KV cache."""
    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    reply: list[str] = field(default_factory=list)
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0


def tokens_of(model: native.Model, parts: Parts, *, whole: bool = False) -> list[int]:
    """Tokens of a prompt, or of a piece of it; *whole* adds the begin token if it must be."""
    tokens: list[int] = []
    if parts and parts[0].quoted:
        tokens, whole = model.tokenize("", whole=whole), False
    for at, part in enumerate(parts):
        if part.quoted:
            tokens += model.letters(part.text)
        else:
            tokens += model.tokenize(part.text, whole=whole and not at)
    return tokens


class Engine:
    """Replies over one context.

    The constructor may run on any thread, `close` on any while no other method does; the others
    belong to the lane thread.
    """

    def __init__(
        self,
        model: native.Model,
        shape: Shape,
        flag: native.AbortFlag,
        markers: Sequence[str],
        quoter: Quoter,
    ) -> None:
        self._model = model
        self._budget = shape.budget
        self._flag = flag
        self._markers = list(markers)
        self._quoter = quoter
        self._context = native.Context(model, shape.cells, shape.threads, abort=flag)
        self._talks = Conversations(range(native.SCRATCH + 1, native.SEQUENCES))

    def close(self) -> None:
        """Free the context and with it every conversation."""
        self._context.free()

    def forget(self, names: Sequence[str]) -> None:
        """Drop conversations; unknown names are ignored."""
        for name in names:
            memory = self._talks.take(name)
            if memory is not None:
                self._context.clear(memory.sequence)
                self._talks.release(memory.sequence)

    def run(self, run: Run, prepared: Prepared, emit: Emit) -> Ended:
        """Generate the reply; whatever happens, the memory is in order afterwards."""
        if len(prepared.tokens) >= self._budget:
            size, budget = len(prepared.tokens), self._budget
            reason = f"the prompt has {size} tokens and the budget is {budget}"
            kept = run.conversation is not None and run.conversation in self._talks
            return Ended("failed", reason, prompt_tokens=size, kept=kept)
        turn = self._begin(run, prepared)
        reason = ""
        finish: Literal["stop", "length", "aborted", "failed"]
        try:
            self._prefill(turn)
            finish = self._generate(turn, emit)
        except Aborted:
            finish = "aborted"
        except JobFailed as error:
            finish, reason = "failed", str(error)
        kept = self._commit(turn) if finish in ("stop", "length") else self._undo(turn)
        named = run.conversation is not None
        return Ended(
            finish,
            reason,
            prompt_tokens=turn.plan.keep + len(turn.plan.feed),
            cached_tokens=turn.plan.keep,
            completion_tokens=len(turn.pieces),
            prompt_ms=turn.prompt_ms,
            predicted_ms=turn.predicted_ms,
            session=turn.plan.kind if named else None,
            session_reason=turn.plan.reason,
            kept=kept,
            evicted=tuple(turn.evicted),
        )

    def _after(self, tail: str, after: Parts) -> list[int]:
        """Tokens of the end of a reply and of what follows it."""
        return tokens_of(self._model, joined([*self._quoter.parts(tail), *after]))

    def _begin(self, run: Run, prepared: Prepared) -> _Turn:
        """Decide what of the memory serves; a conversation that is rebuilt leaves the cache."""
        name = run.conversation
        if name is None:
            plan = Plan("miss", None, 0, prepared.tokens)
            return _Turn(run, prepared, plan, native.SCRATCH)
        request = talk.Request(
            prepared.messages, prepared.tokens, prepared.after, run.temperature, run.top_k
        )
        memory = self._talks.get(name)
        plan = talk.plan(memory, request, self._budget, self._after)
        evicted: list[str] = []
        if memory is None:
            sequence = self._talks.claim()
            if sequence is None and (oldest := self._evict(but=None)):
                evicted.append(oldest)
                sequence = self._talks.claim()
            assert sequence is not None
            return _Turn(run, prepared, plan, sequence, evicted)
        if plan.kind == "rebuilt":
            self._talks.take(name)
        if not self._context.trim(memory.sequence, plan.keep):
            self._talks.take(name)
            self._context.clear(memory.sequence)
            plan = Plan("rebuilt", plan.reason or "memory", 0, prepared.tokens)
        return _Turn(run, prepared, plan, memory.sequence)

    def _evict(self, but: str | None) -> str | None:
        name = self._talks.oldest(but)
        if name is not None:
            self.forget([name])
        return name

    def _prefill(self, turn: _Turn) -> None:
        start = time.perf_counter()
        turn.length = turn.plan.keep
        feed, size = turn.plan.feed, self._context.n_batch
        for at in range(0, len(feed), size):
            self._decode(turn, feed[at : at + size], last=at + size >= len(feed))
        turn.prompt_ms = (time.perf_counter() - start) * 1e3

    def _decode(self, turn: _Turn, tokens: list[int], *, last: bool) -> None:
        """Feed tokens behind the sequence; gives up other conversations while there is no room."""
        while True:
            if self._flag:
                raise Aborted
            code = self._context.decode(tokens, turn.length, turn.sequence, last=last)
            if code == native.DECODED:
                turn.length += len(tokens)
                return
            if code == native.ABORTED:
                raise Aborted
            if code != native.NO_ROOM:
                self._lose_all(turn)
                raise JobFailed("the engine could not compute the reply")
            evicted = self._evict(but=turn.run.conversation)
            if evicted is None:
                raise JobFailed("the KV cache has no room for this conversation")
            turn.evicted.append(evicted)
            self._context.trim(turn.sequence, turn.length)

    def _lose_all(self, turn: _Turn) -> None:
        """After a failed decode nothing in the memory can be trusted."""
        mine = turn.run.conversation
        self.forget([name for name in self._talks.names() if name != mine])
        if mine is not None:
            self._talks.take(mine)  # its sequence is released with the job
        self._context.clear_all()

    def _generate(self, turn: _Turn, emit: Emit) -> Literal["stop", "length"]:
        run = turn.run
        sampler = native.Sampler(run.temperature, run.top_k, run.top_p, run.seed)
        start = time.perf_counter()
        try:
            return self._steps(turn, sampler, emit)
        finally:
            sampler.free()
            turn.predicted_ms = (time.perf_counter() - start) * 1e3

    def _steps(self, turn: _Turn, sampler: native.Sampler, emit: Emit) -> Literal["stop", "length"]:
        decoder, scanner = Decoder(), StopScanner([*turn.run.stop, *self._markers])
        room = self._budget - turn.length
        if turn.run.max_output > 0:
            room = min(room, turn.run.max_output)
        covered = 0
        finish: Literal["stop", "length"] = "length"
        while True:
            token = sampler.sample(self._context)
            piece = self._model.piece(token)
            if piece is None:
                finish = "stop"
                break
            turn.pieces.append((token, piece))
            text = scanner.feed(decoder.feed(piece))
            if text:
                turn.reply.append(text)
                if not emit(text, len(turn.pieces) - covered):
                    raise JobFailed("the reader stalled")
                covered = len(turn.pieces)
            if scanner.stopped:
                return "stop"
            if len(turn.pieces) >= room:
                break
            self._decode(turn, [token], last=True)
        rest = scanner.feed(decoder.flush()) + scanner.flush()
        if rest:
            turn.reply.append(rest)
            emit(rest, len(turn.pieces) - covered)
        return finish

    def _commit(self, turn: _Turn) -> bool:
        """Store the conversation as it is after its reply."""
        name = turn.run.conversation
        if name is None:
            self._context.clear(turn.sequence)
            return False
        known = self._talks.get(name)
        prompt = known.tokens if known else turn.prepared.tokens[: turn.plan.keep]
        prompt = prompt + turn.plan.feed
        memory = Memory(
            turn.sequence,
            talk.digest(turn.prepared.messages),
            len(turn.prepared.messages),
            "".join(turn.reply),
            turn.run.temperature,
            turn.run.top_k,
            tokens=[],
            pending=[],
            tail="",
        )
        memory = talk.after_reply(memory, prompt, turn.pieces, turn.length - len(prompt))
        if not self._context.trim(turn.sequence, len(memory.tokens)):
            return self._drop(turn)
        self._talks.keep(name, memory)
        return True

    def _undo(self, turn: _Turn) -> bool:
        """After a job without success: a continued conversation is as before, any other is gone."""
        known = self._talks.get(turn.run.conversation) if turn.run.conversation else None
        if known is not None and self._context.trim(turn.sequence, len(known.tokens)):
            return True
        return self._drop(turn)

    def _drop(self, turn: _Turn) -> bool:
        self._context.clear(turn.sequence)
        if turn.run.conversation is not None:
            self._talks.take(turn.run.conversation)
            self._talks.release(turn.sequence)
        return False
