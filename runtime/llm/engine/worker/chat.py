"""A chat model in a worker process: its contexts, its prepared prompts, its running reply."""

import contextlib
import mmap
import threading
import time
from typing import Final

from runtime.llm.engine.protocol import (
    ChatLoaded,
    Ended,
    Failed,
    LoadChat,
    Open,
    Piece,
    Prepare,
    Run,
    encode,
)
from runtime.llm.engine.protocol import Prepared as PreparedEvent
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.engine import Engine, Prepared, Shape, tokens_of
from runtime.llm.engine.worker.prompts import (
    CHATML,
    Chatml,
    Prompter,
    Renderer,
    TemplateBroken,
    TemplateFailed,
    is_chatml,
    unrenderable,
)
from runtime.llm.engine.worker.quoting import Quoter
from runtime.llm.engine.worker.resources import (
    Refused,
    fastest_threads,
    refuse_shortage,
    usable_cores,
)
from runtime.llm.engine.worker.service import Outbox, Stalled
from runtime.llm.engine.worker.text import markers_of
from runtime.llm.models import gguf

_JOBS: Final = 1024  # prepared prompts
_HELD_LIMIT: Final = 64 * 1024  # characters of a reply that wait for a slow server
_PAUSE_S: Final = 0.002  # between two pieces
_WARM_CELLS: Final = 64


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
        self._prompter: Prompter = Chatml()
        source = command.template or self._header.chat_template
        renderer = Renderer(source) if source and not is_chatml(source) else None
        try:
            self._model = native.Model(command.path, command.gpu_layers)
            self._quoter = _quoter(self._model)
            if renderer:
                renderer.compile(*self._model.special_texts)
                self._prompter = renderer
        except (native.EngineError, TemplateBroken, Refused) as error:
            if renderer:
                renderer.close()
            if isinstance(error, TemplateBroken):
                which = "given chat template" if command.template else "chat template of the file"
                raise Refused(f"the {which} does not compile: {error}") from error
            raise Refused(str(error)) from error
        self._markers = markers_of(source or CHATML)
        self._threads = command.threads or self._time_threads()
        self._engines: dict[str, Engine] = {}
        self._running: Engine | None = None
        self._table = threading.Lock()
        """Held to change which engines there are, and while one that does not run is used."""
        self._jobs: dict[int, Prepared] = {}
        self.loaded: Final = ChatLoaded(
            kv_bytes_per_token=self._header.kv_bytes_per_token,
            threads=self._threads,
            template="given" if command.template else "file" if source else "chatml",
        )

    def _time_threads(self) -> int:
        """Threads by a timing of decode steps in a small context of their own."""
        cores = usable_cores()
        if cores == 1:
            return 1
        cells = _WARM_CELLS * 4
        context = native.Context(self._model, cells, 1, sequences=1)
        at = 0

        def step(threads: int) -> None:
            nonlocal at
            context.set_threads(threads)
            context.decode([0], at, 0, last=True)
            at += 1
            if at >= cells:
                context.clear(0)
                at = 0

        try:
            return fastest_threads(cores, step)
        finally:
            context.free()

    def open(self, command: Open) -> None:
        """Make a context."""
        if command.engine in self._engines:
            raise Refused("this engine is open already")
        if not 0 < command.budget <= command.cells:
            raise Refused("the token budget does not fit the context")
        refuse_shortage(command.cells * self._header.kv_bytes_per_token)
        shape = Shape(command.budget, command.cells, self._threads)
        try:
            engine = Engine(self._model, shape, self._flag, self._markers, self._quoter)
        except native.EngineError as error:
            # its own words are a line of a log about something else
            reason = f"the context of {command.budget} tokens cannot be made for this model"
            raise Refused(reason) from error
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
            sampler = native.Sampler(0, 0, 1, 0)
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

    def prepare(self, job: int, command: Prepare) -> PreparedEvent | Failed:
        """Render and tokenize a prompt, and keep it for `run`."""
        if command.engine not in self._engines:
            raise Refused("this engine is not open")
        if not command.messages:
            raise Refused("there is no message")
        if len(self._jobs) >= _JOBS:
            raise Refused("too many prepared prompts")
        try:
            quoted = self._quoter.quote(command.messages)
            rendering = self._prompter.render(quoted.messages)
            tokens = tokens_of(self._model, quoted.parts(rendering.text), whole=True)
            if not tokens:
                raise unrenderable("the prompt is empty")
        except TemplateFailed as error:
            return Failed(str(error), unfit=True)
        except native.EngineError as error:
            raise Refused(str(error)) from error
        after = None if rendering.after is None else quoted.parts(rendering.after)
        self._jobs[job] = Prepared(command.engine, command.messages, tokens, after)
        return PreparedEvent(job, len(tokens))

    def drop(self, job: int) -> None:
        """Forget a prepared prompt."""
        self._jobs.pop(job, None)

    def forget(self, conversations: list[str]) -> None:
        """Free the cells of these conversations."""
        with self._table:
            for engine in self._engines.values():
                engine.forget(conversations)

    def run(self, number: int, command: Run, out: Outbox) -> Ended:
        """Generate the reply to a prepared prompt; its pieces go to *out*."""
        prepared = self._jobs.pop(command.job, None)
        with self._table:
            engine = self._engines.get(prepared.engine) if prepared else None
            self._running = engine
        if prepared is None or engine is None:
            return Ended("failed", "this prompt is not prepared")
        pieces = _Pieces(number, out)
        ended = engine.run(command, prepared, pieces.emit)
        with self._table:
            self._running = None
            if self._engines.get(prepared.engine) is not engine:
                engine.close()
        pieces.flush()
        return ended


class _Pieces:
    """Sends pieces as long as the socket has room, else joins them to larger ones.

    A model that is faster than a piece every two milliseconds has its pieces joined too: each one
    costs both processes a wake-up.
    """

    def __init__(self, number: int, out: Outbox) -> None:
        self._number = number
        self._out = out
        self._text = ""
        self._tokens = 0
        self._due = 0.0

    def emit(self, text: str, tokens: int) -> bool:
        """Take the next text; False: the server reads nothing.

        Waits only when more text is held than a reader that lives would leave.
        """
        self._text += text
        self._tokens += tokens
        try:
            if len(self._text) >= _HELD_LIMIT:
                self._out.send(self._take())
            elif time.monotonic() >= self._due and self._out.has_room():
                self._out.offer(self._take())
        except (OSError, Stalled):
            return False
        return True

    def flush(self) -> None:
        """Hand over what is held; the end of the reply follows it and waits for the socket."""
        if self._text:
            with contextlib.suppress(OSError):
                self._out.offer(self._take())

    def _take(self) -> bytes:
        piece = Piece(self._text, self._tokens)
        self._text, self._tokens = "", 0
        self._due = time.monotonic() + _PAUSE_S
        return encode(self._number, piece)


def _quoter(model: native.Model) -> Quoter:
    try:
        return Quoter(model.control_texts())
    except ValueError as error:
        raise Refused(str(error)) from error
