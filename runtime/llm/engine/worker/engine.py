"""A context with its conversations: replies generated side by side, and their cached memory."""

import codecs
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from runtime.llm.engine.protocol import Ended, Run
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.conversations import (
    Memory,
    Parts,
    Plan,
    Prompt,
    count_shared,
    hash_messages,
    make_plan,
    split_generated,
)
from runtime.llm.engine.worker.prompt import Quoter, join_parts, tokenize_parts
from runtime.llm.grammar import BadGrammar
from runtime.llm.inference import TokenLogprob
from runtime.llm.replies import measure_overlap

if TYPE_CHECKING:  # loaded with the first grammar
    from runtime.llm.engine.worker.constraint import Constraint

STALL_S: Final = 0.1
"""Approximate limit of a step that reads a prompt while replies are running."""
_LEAST_SLICE: Final = 8
"""Minimum tokens of such a prompt per step, however slow the model is."""
_FIRST_SLICE: Final = 16
"""Tokens per step before the model's speed is known."""
_SUPERSEDED: Final = 0.9
"""A prompt that repeats this fraction of an earlier one continues its conversation."""


Finish = Literal["stop", "length"]


class Sink(Protocol):
    """Receives a reply as it grows."""

    def emit(self, text: str, tokens: int, logprobs: Sequence[TokenLogprob] = ()) -> None:
        """Receive the next text, its number of tokens and their log-probabilities."""
        ...

    def end(self, ended: Ended) -> None:
        """Receive the end of the reply."""
        ...


class Reply:
    """The computation for a request."""

    def __init__(
        self,
        run: Run,
        prompt: Prompt,
        sink: Sink,
        plan: Plan,
        kept: Sequence[int],
        sequence: int,
        sampler: native.Sampler,
        stops: Sequence[str],
        budget: int,
    ) -> None:
        self.run, self.prompt, self.sink = run, prompt, sink
        self.plan, self.sequence, self.sampler = plan, sequence, sampler
        self.tokens = [*kept[: plan.keep], *plan.feed]
        """Tokens of the prompt and the reply so far."""
        self.length = plan.keep
        """How many tokens are in the KV cache."""
        self.prompt_tokens = len(self.tokens)
        self.pieces: list[tuple[int, bytes]] = []
        self.text = ""
        self.evicted: list[str] = []
        """Conversations that were evicted for it."""
        self.parked = False
        """Whether it waits for cells."""
        self.forgotten = False
        """Whether its conversation must not be cached any more."""
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._scanner = StopScanner([*run.stop, *stops])
        self._room = budget - self.prompt_tokens
        if run.max_output > 0:
            self._room = min(self._room, run.max_output)
        self._covered = 0
        self._began = time.perf_counter()
        self._first: float | None = None

    @property
    def missing(self) -> int:
        """Number of tokens to compute before the next one can be sampled; at least 1."""
        return len(self.tokens) - self.length

    def take(self, token: int, piece: bytes | None) -> Finish | None:
        """Add a token, whose bytes are None at the end; return why the reply ended, if it did."""
        if self._first is None:
            self._first = time.perf_counter()
        if piece is None:
            self._show_rest()
            return "stop"
        self.tokens.append(token)
        self.pieces.append((token, piece))
        self._show(self._scanner.feed(self._characters.decode(piece)))
        if self._scanner.stopped:
            return "stop"
        if len(self.pieces) < self._room:
            return None
        self._show_rest()
        return "length"

    def _show_rest(self) -> None:
        self._show(
            self._scanner.feed(self._characters.decode(b"", final=True)) + self._scanner.flush()
        )

    def _show(self, text: str) -> None:
        if text:
            self.text += text
            begin, self._covered = self._covered, len(self.pieces)
            logprobs = self.sampler.logprobs[begin : self._covered]
            self.sink.emit(text, self._covered - begin, logprobs)

    def measure(self) -> tuple[float, float]:
        """Milliseconds from the start to the first token, and from there until now."""
        now = time.perf_counter()
        first = now if self._first is None else self._first
        return (first - self._began) * 1e3, (now - first) * 1e3


class StopScanner:
    """Passes text until the first stop text; holds back an end that may begin one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple({stop for stop in stops if stop})
        self._firsts = frozenset(stop[0] for stop in self._stops)
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """Add text and return what can be shown now."""
        if self.stopped:
            return ""
        if not self._held and self._firsts.isdisjoint(text):
            return text  # the usual case
        text = self._held + text
        ends = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if ends:  # the first complete one, so that the cut does not depend on the pieces
            self.stopped = True
            self._held = ""
            return text[: min(ends)[1]]
        keep = max((measure_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """Return the held text at the end of the reply."""
        held, self._held = self._held, ""
        return held


class _Call(NamedTuple):
    run: Run
    prompt: Prompt
    sink: Sink


CompileGrammar: TypeAlias = "Callable[[str, str], Constraint | None]"
"""Compiles a grammar with its trigger; raises `BadGrammar`."""


class Engine:
    """Generates replies, each in its own sequence.

    `close` may run on any thread while no reply runs; the rest belongs to the generating thread.
    """

    def __init__(
        self,
        context: native.Context,
        budget: int,
        wanted: native.Wanted,
        stops: Sequence[str],
        quoter: Quoter,
        compile_grammar: CompileGrammar,
    ) -> None:
        self._compile_grammar = compile_grammar
        self._context = context
        self._budget = budget
        self._wanted = wanted
        self._stops = stops
        self._quoter = quoter
        self._kept: dict[str, Memory] = {}
        """Cached conversations, the least recently used first."""
        self._free = list(range(context.sequences))
        self._running: list[Reply] = []
        """Running replies in order of arrival."""
        self._waiting: list[_Call] = []
        """Requests that wait for another reply of the same conversation."""
        self._prompt_pace = STALL_S / _FIRST_SLICE
        """Seconds per token of a prompt."""

    @property
    def busy(self) -> bool:
        """Whether a reply is running."""
        return bool(self._running)

    def close(self) -> None:
        """Free the context and all conversations."""
        self._context.free()

    def forget(self, names: Iterable[str]) -> None:
        """Drop conversations; unknown names are ignored."""
        for name in names:
            memory = self._kept.pop(name, None)
            user = self._user(name)
            if user is not None:
                user.forgotten = True
            elif memory is not None:
                self._context.clear(memory.sequence)
                self._free.append(memory.sequence)

    # --- replies

    def begin(self, run: Run, prompt: Prompt, sink: Sink) -> None:
        """Start or queue a request; a conversation runs one reply at a time."""
        if (size := len(prompt.tokens)) >= self._budget:
            reason = f"the prompt has {size} tokens, and the budget is {self._budget}"
            sink.end(self._refusal(run, "failed", reason, size))
            return
        self._waiting.append(_Call(run, prompt, sink))
        self._start_waiting()

    def drop_cancelled(self) -> None:
        """End the replies that the server has cancelled."""
        for reply in [r for r in self._running if r.run.job not in self._wanted]:
            self._end(reply, "aborted")
        for call in [c for c in self._waiting if c.run.job not in self._wanted]:
            self._waiting.remove(call)
            call.sink.end(self._refusal(call.run, "aborted"))

    def step(self) -> None:
        """Compute a step: a token of each generating reply, and parts of the prompts."""
        turns = self._plan_step()
        began = time.perf_counter()
        code = self._context.decode([part for _, part in turns])
        if code != native.DECODED:
            self._recover(code, [reply for reply, _ in turns])
            return
        if (size := len(turns[-1][1].tokens)) >= _LEAST_SLICE:
            self._prompt_pace = (time.perf_counter() - began) / size
        index = -1
        for reply, part in turns:
            index += len(part.tokens)
            reply.length += len(part.tokens)
            if not part.last:
                reply.sink.emit(
                    "", 0
                )  # a sign of life: a long prompt takes minutes on a small board
            else:
                try:
                    token = reply.sampler.sample(self._context, index)
                except BadGrammar as error:
                    self._end(reply, "failed", str(error), bad_grammar=True)
                    continue
                finish = reply.take(token, self._context.model.piece(token))
                if finish is not None:
                    self._end(reply, finish)

    def _plan_step(self) -> list[tuple[Reply, native.Slice]]:
        """Plan what each reply computes in the next step; generating ones come first."""
        ready = [reply for reply in self._running if not reply.parked]
        ready.sort(key=lambda reply: reply.missing > 1)
        room = self._context.n_batch
        if len(ready) > 1 and ready[0].missing == 1:  # its next token should not wait long
            share = max(_LEAST_SLICE, int(STALL_S / self._prompt_pace))
            room = min(room, share + sum(reply.missing == 1 for reply in ready))
        turns = []
        for reply in ready:
            size = min(reply.missing, room)
            if size:
                room -= size
                tokens = reply.tokens[reply.length : reply.length + size]
                last = size == reply.missing
                turns.append((reply, native.Slice(tokens, reply.length, reply.sequence, last)))
        return turns

    def _recover(self, code: int, replies: Sequence[Reply]) -> None:
        """Restore a consistent memory after a failed step."""
        if code not in (native.ABORTED, native.NO_ROOM):  # the memory cannot be trusted
            lost = self._kept.keys() - {reply.run.conversation for reply in self._running}
            self.forget(lost)
            self._kept.clear()  # the sequences of running replies are freed with them
            self._context.clear_all()
            self._running[0].evicted += lost
            for reply in list(self._running):
                self._end(reply, "failed", "the engine could not compute the reply")
            return
        for reply in replies:
            self._rewind(reply)
        if code == native.NO_ROOM:
            self._make_room(replies)

    def _rewind(self, reply: Reply) -> None:
        """Discard the tokens of a failed step, or all if the memory cannot discard a part."""
        if not self._context.trim(reply.sequence, reply.length):
            self._restart(reply)

    def _restart(self, reply: Reply) -> None:
        """Make a reply recompute all its tokens; its cached conversation is lost."""
        self._context.clear(reply.sequence)
        self._kept.pop(reply.run.conversation or "", None)
        reply.length = 0

    def _make_room(self, replies: Sequence[Reply]) -> None:
        """Evict a cached conversation, or park the youngest reply; a single reply fails."""
        eldest, *others = [reply for reply in self._running if not reply.parked]
        if evicted := self._evict():
            replies[0].evicted += evicted
        elif others:
            others[-1].parked = True
            self._restart(others[-1])
        else:
            self._end(eldest, "failed", "the KV cache has no room for this conversation")

    # --- the start of a reply

    def _start_waiting(self) -> None:
        for call in list(self._waiting):
            if self._user(call.run.conversation) is None:
                self._waiting.remove(call)
                self._start(*call)

    def _user(self, name: str | None) -> Reply | None:
        """The running reply of this conversation."""
        users = (reply for reply in self._running if reply.run.conversation == name)
        return None if name is None else next(users, None)

    def _start(self, run: Run, prompt: Prompt, sink: Sink) -> None:
        try:
            rule = self._compile_grammar(run.sampling.grammar, run.sampling.grammar_trigger)
            sampler = native.Sampler(run.sampling, self._context.model, rule)
        except (native.EngineError, BadGrammar) as error:
            ended = self._refusal(run, "failed", str(error), len(prompt.tokens))
            sink.end(replace(ended, bad_grammar=isinstance(error, BadGrammar)))
            return
        sequence, plan, kept, evicted = self._place(run, prompt)
        reply = Reply(run, prompt, sink, plan, kept, sequence, sampler, self._stops, self._budget)
        reply.evicted += evicted
        self._running.append(reply)
        if run.job not in self._wanted:
            self._end(reply, "aborted")

    def _place(self, run: Run, prompt: Prompt) -> tuple[int, Plan, list[int], list[str]]:
        """Choose a sequence, the plan for it, its tokens, and the conversations evicted for it.

        A conversation that must be rebuilt leaves the cache.
        """
        name = run.conversation if run.is_session else None
        memory = self._kept.get(name or "")
        plan = make_plan(memory, prompt, sampler_of(run), self._budget, self._tokenize_rest)
        if memory is None:
            evicted = [] if self._free else self._evict()
            sequence = self._free.pop()
            if run.client and not run.is_session:
                keep = self._borrow(run.client, prompt.tokens, sequence)
                plan = Plan("miss", None, keep, prompt.tokens[keep:])
            return sequence, plan, prompt.tokens, evicted
        if plan.kind == "rebuilt":
            del self._kept[name or ""]
        if not self._context.trim(memory.sequence, plan.keep):
            self._kept.pop(name or "", None)
            self._context.clear(memory.sequence)
            plan = Plan("rebuilt", plan.reason or "memory", 0, prompt.tokens)
        return memory.sequence, plan, memory.tokens, []

    def _borrow(self, client: str, tokens: list[int], sequence: int) -> int:
        """Copy the longest prefix shared with a conversation of the client; return its length.

        The last token is excluded: it must be computed to sample the next one.
        """
        shared, lender = max(
            (
                (count_shared(memory.tokens, tokens), memory.sequence)
                for memory in self._kept.values()
                if memory.client == client
            ),
            default=(0, 0),
        )
        shared = min(shared, len(tokens) - 1)
        if shared:
            self._context.copy(lender, sequence, shared)
            if self._context.trim(sequence, shared):
                return shared
            self._context.clear(sequence)
        return 0

    def _tokenize_rest(self, tail: str, after: Parts) -> list[int]:
        """Tokenize the end of a reply and the parts that follow it."""
        return tokenize_parts(self._context.model, join_parts([*self._quoter.split(tail), *after]))

    def _evict(self) -> list[str]:
        """Evict an idle conversation, if there is one.

        Conversations without a session go first, and among them the least recently used.
        """
        resting = [name for name in self._kept if self._user(name) is None]
        oldest = sorted(resting, key=lambda name: self._kept[name].is_session)[:1]
        self.forget(oldest)
        return oldest

    # --- the end of a reply

    def _end(
        self,
        reply: Reply,
        finish: Finish | Literal["aborted", "failed"],
        reason: str = "",
        *,
        bad_grammar: bool = False,
    ) -> None:
        """End a reply and leave the memory in a consistent state."""
        self._running.remove(reply)
        self._wanted.end(reply.run.job)
        reply.sampler.free()
        kept = self._commit(reply) if finish in ("stop", "length") else self._undo(reply)
        prompt_ms, predicted_ms = reply.measure()
        reply.sink.end(
            Ended(
                finish,
                reason=reason,
                bad_grammar=bad_grammar,
                prompt_tokens=reply.prompt_tokens,
                cached_tokens=reply.plan.keep,
                completion_tokens=len(reply.pieces),
                prompt_ms=prompt_ms,
                predicted_ms=predicted_ms,
                session=reply.plan.kind if reply.run.is_session else None,
                session_reason=reply.plan.reason,
                kept=kept,
                evicted=tuple(reply.evicted),
            )
        )
        for other in self._running:
            other.parked = False
        self._start_waiting()

    def _refusal(
        self, run: Run, finish: Literal["aborted", "failed"], reason: str = "", size: int = 0
    ) -> Ended:
        """The end of a request that was never started."""
        self._wanted.end(run.job)
        kept = run.conversation in self._kept
        return Ended(finish, reason=reason, prompt_tokens=size, kept=kept)

    def _commit(self, reply: Reply) -> bool:
        """Cache the conversation after its reply."""
        run = reply.run
        if run.conversation is None or reply.forgotten:
            return self._drop(reply)
        self._kept.pop(run.conversation, None)
        tokens, tail = split_generated(reply.text, reply.pieces)
        stored = reply.length - reply.prompt_tokens
        memory = Memory(
            reply.sequence,
            hash_messages(reply.prompt.messages),
            len(reply.prompt.messages),
            reply.text,
            sampler_of(run),
            tokens=reply.tokens[: reply.prompt_tokens] + tokens[:stored],
            pending=tokens[stored:],
            tail=tail,
            prompted=reply.prompt_tokens,
            client=run.client,
            is_session=run.is_session,
        )
        if not self._context.trim(reply.sequence, len(memory.tokens)):
            return self._drop(reply)
        if not run.is_session:
            superseded = [name for name in self._kept if self._continues(memory, self._kept[name])]
            self.forget(superseded)
            reply.evicted += superseded
        self._kept[run.conversation] = memory
        return True

    @staticmethod
    def _continues(memory: Memory, older: Memory) -> bool:
        """Whether a stateless conversation continues an *older* one of the same client."""
        if older.is_session or older.client != memory.client:
            return False
        return count_shared(older.tokens, memory.tokens) >= _SUPERSEDED * older.prompted

    def _undo(self, reply: Reply) -> bool:
        """After a failed reply, restore a continued conversation and drop any other."""
        memory = self._kept.get(reply.run.conversation or "")
        if memory is not None and self._context.trim(reply.sequence, len(memory.tokens)):
            return True
        return self._drop(reply)

    def _drop(self, reply: Reply) -> bool:
        self._context.clear(reply.sequence)
        self._kept.pop(reply.run.conversation or "", None)
        self._free.append(reply.sequence)
        return False


def sampler_of(run: Run) -> tuple[float, int]:
    """The sampling that a cached conversation depends on: temperature and top-k."""
    return run.sampling.temperature, run.sampling.top_k
