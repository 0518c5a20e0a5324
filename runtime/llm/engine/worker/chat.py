"""A chat model in a worker process: its contexts, its prepared prompts, its running reply."""

import codecs
import mmap
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

from runtime.llm.engine.protocol import (
    ChatLoaded,
    Ended,
    Failed,
    LoadChat,
    Open,
    Prepare,
    Prepared,
    Run,
)
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.conversations import (
    Memory,
    Parts,
    Plan,
    Prompt,
    cut_behind,
    digest,
    plan,
)
from runtime.llm.engine.worker.prompt import (
    CHATML,
    Chatml,
    Quoter,
    Renderer,
    Script,
    TemplateBroken,
    TemplateFailed,
    is_chatml,
    join_parts,
    tokens_of,
    unrenderable,
)
from runtime.llm.engine.worker.resources import (
    Refused,
    fastest_threads,
    refuse_shortage,
    thread_counts,
    usable_cores,
)
from runtime.llm.models import gguf
from runtime.llm.replies import THINK
from runtime.llm.values import Sampling

MARKERS: Final = ("<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "</s>")
"""End-of-turn texts that a model may spell out in ordinary tokens."""
_JOBS: Final = 1024  # prepared prompts
_WARM_CELLS: Final = 64
GREEDY: Final = Sampling(temperature=0.0, top_k=0, top_p=1.0, seed=0)

Emit = Callable[[str, int], None]
"""Takes the next text of a reply and the number of its tokens."""


class Aborted(Exception):
    """The abort flag was set."""


class ReplyFailed(Exception):
    """The reply cannot go on; the text is for a client."""


class ChatModel:
    """Weights of one file and the contexts over them. Raises `Refused` for an unusable file.

    `run` and `forget` belong to the thread that generates, everything else to the side thread.
    """

    def __init__(self, command: LoadChat, flag: mmap.mmap) -> None:
        try:
            self._header = gguf.read(command.path)
        except gguf.BadModelFile as error:
            raise Refused(str(error)) from error
        if self._header.embedding_only:
            raise Refused("this file holds an embedding model")
        refuse_shortage(self._header.size)
        if command.gpu_layers and not native.gpu():
            raise Refused("this build of the engine has no GPU support")
        self._flag = native.AbortFlag(flag)
        self._prompter: Chatml | Renderer = Chatml()
        source = command.template or self._header.chat_template
        renderer = Renderer(source) if source and not is_chatml(source) else None
        try:
            self._model = native.Model(command.path, command.gpu_layers)
            if renderer:
                renderer.compile(*self._model.special_texts)
                self._prompter = renderer
        except (native.EngineError, TemplateBroken) as error:
            if renderer:
                renderer.close()
            if isinstance(error, TemplateBroken):
                which = "given chat template" if command.template else "chat template of the file"
                raise Refused(f"the {which} does not compile: {error}") from error
            raise Refused(str(error)) from error
        self._quoter = Quoter(self._model.control_texts())
        self._stops = [marker for marker in MARKERS if marker in (source or CHATML)]
        self._threads = self._choose_threads(command.threads)
        self._engines: dict[str, Engine] = {}
        self._running: Engine | None = None
        self._table = threading.Lock()
        """Held to change which engines there are, and while one that does not run is used."""
        self._jobs: dict[int, tuple[str, Prompt]] = {}
        self.loaded: Final = ChatLoaded(
            kv_bytes_per_token=self._header.kv_bytes_per_token,
            threads=self._threads.one,
            prefill_threads=self._threads.several,
            chosen="given" if command.threads else "measured",
            template="given" if command.template else "file" if source else "chatml",
        )

    def _choose_threads(self, given: int) -> native.Threads:
        """Threads as *given*, or by a timing of decode steps in a small context of their own.

        A prompt is always read by every core: that much work is worth starting them.
        """
        cores = usable_cores()
        if given or cores == 1:
            return native.Threads(given or 1, given or 1)
        cells = _WARM_CELLS * 4
        context = native.Context(self._model, cells, native.Threads(1, 1), sequences=1)
        at = 0

        def step(threads: int) -> None:
            nonlocal at
            context.set_threads(native.Threads(threads, threads))
            context.decode([0], at, 0, last=True)
            at += 1
            if at >= cells:
                context.clear(0)
                at = 0

        try:
            return native.Threads(fastest_threads(thread_counts(cores), step), cores)
        finally:
            context.free()

    def open(self, command: Open) -> None:
        """Make a context."""
        if command.engine in self._engines:
            raise Refused("this engine is open already")
        if not 0 < command.budget <= command.cells:
            raise Refused("the token budget does not fit the context")
        refuse_shortage(command.cells * self._header.kv_bytes_per_token)
        try:
            context = native.Context(self._model, command.cells, self._threads, abort=self._flag)
        except native.EngineError as error:
            # its own words are a line of a log about something else
            reason = f"the context of {command.budget} tokens cannot be made for this model"
            raise Refused(reason) from error
        engine = Engine(context, command.budget, self._flag, self._stops, self._quoter)
        with self._table:
            self._engines[command.engine] = engine

    def close(self, name: str) -> None:
        """Free a context at once, whatever another one computes; the one that runs ends first."""
        with self._table:
            engine = self._engines.pop(name, None)
            if engine is not None and engine is not self._running:
                engine.close()

    def warm(self) -> None:
        """Compute one token."""
        try:
            context = native.Context(self._model, _WARM_CELLS, self._threads, sequences=1)
            sampler = native.Sampler(GREEDY, self._model)
            try:
                tokens = self._model.tokenize("a", whole=True)[:8] or [0]
                if context.decode(tokens, 0, 0, last=True):
                    raise Refused("the engine could not compute a token")
                sampler.sample(context)
            finally:
                sampler.free()
                context.free()
        except native.EngineError as error:
            raise Refused(str(error)) from error

    def prepare(self, job: int, command: Prepare) -> Prepared | Failed:
        """Render and tokenize a prompt, and keep it for `run`."""
        if command.engine not in self._engines:
            raise Refused("this engine is not open")
        if len(self._jobs) >= _JOBS:
            raise Refused("too many prepared prompts")
        try:
            prompt = self._prompt(command)
        except TemplateFailed as error:
            return Failed(str(error), unfit=True)
        except native.EngineError as error:
            raise Refused(str(error)) from error
        self._jobs[job] = command.engine, prompt
        return Prepared(job, len(prompt.tokens), prompt.thinks)

    def _prompt(self, command: Prepare) -> Prompt:
        """The tokens of a conversation, or of a text as it stands."""
        if command.prompt is not None:
            tokens = self._model.tokenize(command.prompt, whole=True)
            if not tokens:
                raise TemplateFailed("the prompt is empty")
            return Prompt((), tokens, None)
        script = Script(command.messages, command.tools, command.options)
        quoted = self._quoter.quote(script)
        rendering = self._prompter.render(quoted.script)
        tokens = tokens_of(self._model, quoted.parts(rendering.text), whole=True)
        if not tokens:
            raise unrenderable("the prompt is empty")
        after = None if rendering.after is None else quoted.parts(rendering.after)
        return Prompt(command.messages, tokens, after, rendering.text.rstrip().endswith(THINK))

    def drop(self, job: int) -> None:
        """Forget a prepared prompt."""
        self._jobs.pop(job, None)

    def forget(self, conversations: list[str]) -> None:
        """Free the cells of these conversations."""
        with self._table:
            for engine in self._engines.values():
                engine.forget(conversations)

    def run(self, command: Run, emit: Emit) -> Ended:
        """Generate the reply to a prepared prompt; its pieces go to *emit*."""
        name, prompt = self._jobs.pop(command.job, ("", None))
        with self._table:
            self._running = engine = self._engines.get(name)
        if prompt is None or engine is None:
            return Ended("failed", reason="this prompt is not prepared")
        ended = engine.run(command, prompt, emit)
        with self._table:
            self._running = None
            if self._engines.get(name) is not engine:
                engine.close()
        return ended


class _Reply:
    """A reply under way."""

    def __init__(self, run: Run, prompt: Prompt, how: Plan, sequence: int) -> None:
        self.run, self.prompt, self.plan, self.sequence = run, prompt, how, sequence
        self.evicted: list[str] = []
        self.length = how.keep
        """Tokens of its sequence in the KV cache."""
        self.pieces: list[tuple[int, bytes]] = []
        self.text = ""
        self.prompt_ms = self.predicted_ms = 0.0


class Engine:
    """A context with its conversations, which generates one reply at a time.

    `close` may run on any thread while no other method does; the others belong to the lane thread.
    """

    def __init__(
        self,
        context: native.Context,
        budget: int,
        flag: native.AbortFlag,
        stops: Sequence[str],
        quoter: Quoter,
    ) -> None:
        self._context = context
        self._budget = budget
        self._flag = flag
        self._stops = stops
        self._quoter = quoter
        self._kept: dict[str, Memory] = {}
        """The conversations, the least recently used first."""
        self._free = list(range(native.SCRATCH + 1, native.SEQUENCES))

    def close(self) -> None:
        """Free the context and with it every conversation."""
        self._context.free()

    def forget(self, names: Sequence[str]) -> None:
        """Drop conversations; unknown names are ignored."""
        for name in names:
            memory = self._kept.pop(name, None)
            if memory is not None:
                self._context.clear(memory.sequence)
                self._free.append(memory.sequence)

    def run(self, run: Run, prompt: Prompt, emit: Emit) -> Ended:
        """Generate the reply; whatever happens, the memory is in order afterwards."""
        if len(prompt.tokens) >= self._budget:
            size, budget = len(prompt.tokens), self._budget
            reason = f"the prompt has {size} tokens and the budget is {budget}"
            kept = run.conversation is not None and run.conversation in self._kept
            return Ended("failed", reason=reason, prompt_tokens=size, kept=kept)
        reply = self._begin(run, prompt)
        reason = ""
        finish: Literal["stop", "length", "aborted", "failed"]
        try:
            self._prefill(reply)
            finish = self._generate(reply, emit)
        except Aborted:
            finish = "aborted"
        except ReplyFailed as error:
            finish, reason = "failed", str(error)
        kept = self._commit(reply) if finish in ("stop", "length") else self._undo(reply)
        return Ended(
            finish,
            reason=reason,
            prompt_tokens=reply.plan.keep + len(reply.plan.feed),
            cached_tokens=reply.plan.keep,
            completion_tokens=len(reply.pieces),
            prompt_ms=reply.prompt_ms,
            predicted_ms=reply.predicted_ms,
            session=None if run.conversation is None else reply.plan.kind,
            session_reason=reply.plan.reason,
            kept=kept,
            evicted=tuple(reply.evicted),
        )

    def _begin(self, run: Run, prompt: Prompt) -> _Reply:
        """Decide what of the memory serves; a conversation that is rebuilt leaves the cache."""
        name = run.conversation
        memory = None if name is None else self._kept.get(name)
        how = plan(memory, prompt, sampler_of(run), self._budget, self._behind)
        if name is None:
            return _Reply(run, prompt, how, native.SCRATCH)
        if memory is None:
            evicted = [] if self._free else self._evict(but=None)
            reply = _Reply(run, prompt, how, self._free.pop())
            reply.evicted = evicted
            return reply
        if how.kind == "rebuilt":
            del self._kept[name]
        if not self._context.trim(memory.sequence, how.keep):
            self._kept.pop(name, None)
            self._context.clear(memory.sequence)
            how = Plan("rebuilt", how.reason or "memory", 0, prompt.tokens)
        return _Reply(run, prompt, how, memory.sequence)

    def _behind(self, tail: str, after: Parts) -> list[int]:
        """Tokens of the end of a reply and of what follows it."""
        return tokens_of(self._context.model, join_parts([*self._quoter.parts(tail), *after]))

    def _evict(self, but: str | None) -> list[str]:
        """Drop the least recently used conversation other than *but*, if there is one."""
        oldest = [name for name in self._kept if name != but][:1]
        self.forget(oldest)
        return oldest

    def _prefill(self, reply: _Reply) -> None:
        start = time.perf_counter()
        feed, size = reply.plan.feed, self._context.n_batch
        for at in range(0, len(feed), size):
            self._decode(reply, feed[at : at + size], last=at + size >= len(feed))
        reply.prompt_ms = (time.perf_counter() - start) * 1e3

    def _decode(self, reply: _Reply, tokens: list[int], *, last: bool) -> None:
        """Feed tokens behind the sequence; gives up other conversations while there is no room."""
        while True:
            if self._flag:
                raise Aborted
            code = self._context.decode(tokens, reply.length, reply.sequence, last=last)
            if code == native.DECODED:
                reply.length += len(tokens)
                return
            if code == native.ABORTED:
                raise Aborted
            if code != native.NO_ROOM:  # nothing in the memory can be trusted
                self.forget(list(self._kept.keys() - {reply.run.conversation}))
                self._kept.clear()  # the sequence of this one is given back with the reply
                self._context.clear_all()
                raise ReplyFailed("the engine could not compute the reply")
            evicted = self._evict(but=reply.run.conversation)
            if not evicted:
                raise ReplyFailed("the KV cache has no room for this conversation")
            reply.evicted += evicted
            self._context.trim(reply.sequence, reply.length)

    def _generate(self, reply: _Reply, emit: Emit) -> Literal["stop", "length"]:
        run = reply.run
        sampler = native.Sampler(run.sampling, self._context.model)
        start = time.perf_counter()
        try:
            return self._steps(reply, sampler, emit)
        finally:
            sampler.free()
            reply.predicted_ms = (time.perf_counter() - start) * 1e3

    def _steps(
        self, reply: _Reply, sampler: native.Sampler, emit: Emit
    ) -> Literal["stop", "length"]:
        characters = codecs.getincrementaldecoder("utf-8")("replace")
        scanner = StopScanner([*reply.run.stop, *self._stops])
        room = self._budget - reply.length
        if reply.run.max_output > 0:
            room = min(room, reply.run.max_output)
        covered = 0

        def show(text: str) -> None:
            nonlocal covered
            if text:
                reply.text += text
                emit(text, len(reply.pieces) - covered)
                covered = len(reply.pieces)

        while True:
            token = sampler.sample(self._context)
            piece = self._context.model.piece(token)
            if piece is None:
                break
            reply.pieces.append((token, piece))
            show(scanner.feed(characters.decode(piece)))
            if scanner.stopped:
                return "stop"
            if len(reply.pieces) >= room:
                break
            self._decode(reply, [token], last=True)
        show(scanner.feed(characters.decode(b"", final=True)) + scanner.flush())
        return "stop" if piece is None else "length"

    def _commit(self, reply: _Reply) -> bool:
        """Store the conversation as it is after its reply."""
        name = reply.run.conversation
        if name is None:
            self._context.clear(reply.sequence)
            return False
        known = self._kept.pop(name, None)
        prompt = known.tokens if known else reply.prompt.tokens[: reply.plan.keep]
        prompt = prompt + reply.plan.feed
        tokens, tail = cut_behind(reply.text, reply.pieces)
        stored = reply.length - len(prompt)
        memory = Memory(
            reply.sequence,
            digest(reply.prompt.messages),
            len(reply.prompt.messages),
            reply.text,
            sampler_of(reply.run),
            tokens=prompt + tokens[:stored],
            pending=tokens[stored:],
            tail=tail,
        )
        if not self._context.trim(reply.sequence, len(memory.tokens)):
            return self._drop(reply)
        self._kept[name] = memory
        return True

    def _undo(self, reply: _Reply) -> bool:
        """After a reply that failed: a continued conversation is as before, any other is gone."""
        known = self._kept.get(reply.run.conversation or "")
        if known is not None and self._context.trim(reply.sequence, len(known.tokens)):
            return True
        return self._drop(reply)

    def _drop(self, reply: _Reply) -> bool:
        self._context.clear(reply.sequence)
        if reply.run.conversation is not None:
            self._kept.pop(reply.run.conversation, None)
            self._free.append(reply.sequence)
        return False


def sampler_of(run: Run) -> tuple[float, int]:
    """What of the sampling a cached conversation is bound to: temperature and top-k."""
    return run.sampling.temperature, run.sampling.top_k


class StopScanner:
    """Lets text through until the first stop text; holds back an end that may begin one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple({stop for stop in stops if stop})
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """The text that can be shown now."""
        if self.stopped:
            return ""
        text = self._held + text
        ends = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if ends:  # the first to be complete, so that the cut does not depend on the pieces
            self.stopped = True
            self._held = ""
            return text[: min(ends)[1]]
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """The held text, once nothing more can come."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of *text* that begins *stop* and is not all of it."""
    sizes = range(min(len(text), len(stop) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(stop[:size])), 0)
