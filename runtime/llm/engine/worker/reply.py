"""A reply under way: the tokens of its sequence, its text, and what ends it."""

import codecs
import time
from collections.abc import Sequence
from typing import Literal, Protocol

from runtime.llm.engine.protocol import Ended, Run
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.conversations import Plan, Prompt
from runtime.llm.replies import overlap
from runtime.llm.values import TokenLogprob

Finish = Literal["stop", "length"]


class Sink(Protocol):
    """Takes a reply as it comes."""

    def emit(self, text: str, tokens: int, logprobs: Sequence[TokenLogprob] = ()) -> None:
        """Take the next text, the number of its tokens, and how likely they were."""
        ...

    def end(self, ended: Ended) -> None:
        """Take the end, after which nothing comes."""
        ...


class Reply:
    """What is computed for one request."""

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
        """Prompt and reply so far."""
        self.length = plan.keep
        """How many of them are in the KV cache."""
        self.prompt_tokens = len(self.tokens)
        self.pieces: list[tuple[int, bytes]] = []
        self.text = ""
        self.evicted: list[str] = []
        """Conversations that gave up their cells for it."""
        self.parked = False
        """It waits until there are cells for it again."""
        self.forgotten = False
        """Its conversation is not to be kept any more."""
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
        """Tokens that are to be computed before the next one can be sampled; at least 1."""
        return len(self.tokens) - self.length

    def take(self, token: int, piece: bytes | None) -> Finish | None:
        """Add the next token, whose bytes are None at the end; what ended the reply, if it did."""
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

    def timings(self) -> tuple[float, float]:
        """Milliseconds from the start to the first token, and from there until now."""
        now = time.perf_counter()
        first = now if self._first is None else self._first
        return (first - self._began) * 1e3, (now - first) * 1e3


class StopScanner:
    """Lets text through until the first stop text; holds back an end that may begin one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple({stop for stop in stops if stop})
        self._firsts = frozenset(stop[0] for stop in self._stops)
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """The text that can be shown now."""
        if self.stopped:
            return ""
        if not self._held and self._firsts.isdisjoint(text):
            return text  # as nearly every piece
        text = self._held + text
        ends = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if ends:  # the first to be complete, so that the cut does not depend on the pieces
            self.stopped = True
            self._held = ""
            return text[: min(ends)[1]]
        keep = max((overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """The held text, once nothing more can come."""
        held, self._held = self._held, ""
        return held
