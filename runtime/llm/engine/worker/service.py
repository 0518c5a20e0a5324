"""The threads of an engine process: one reads commands, one runs jobs, one does the rest."""

import os
import queue
import socket
import threading
import time
from typing import Final, NoReturn

from runtime.llm.engine.protocol import (
    Close,
    Drop,
    Ended,
    Event,
    Failed,
    Forget,
    Load,
    Loaded,
    Ok,
    Open,
    Piece,
    Prepare,
    Run,
    Warm,
    decode,
    encode,
)
from runtime.llm.engine.protocol import Prepared as PreparedEvent
from runtime.llm.engine.worker import autotune, native, resources
from runtime.llm.engine.worker.engine import Engine, Prepared, Shape, tokens_of
from runtime.llm.engine.worker.outbox import Outbox, Stalled
from runtime.llm.engine.worker.prompts import (
    CHATML,
    Chatml,
    Prompter,
    TemplateBroken,
    TemplateFailed,
    is_chatml,
    unrenderable,
)
from runtime.llm.engine.worker.quoting import Quoter
from runtime.llm.engine.worker.renderer import Renderer
from runtime.llm.engine.worker.text import markers_of
from runtime.llm.models import gguf

_LINE_LIMIT: Final = 64 * 1024 * 1024
_QUEUE_LIMIT: Final = 1024  # commands; the server then waits in its socket
_HELD_LIMIT: Final = 64 * 1024  # characters of a reply that wait for a slow server
_PAUSE_S: Final = 0.002  # between two pieces
_WARM_CELLS: Final = 64
_BROKEN: Final = 70  # exit status after a fault of our own


Beside = Load | Open | Close | Prepare | Drop | Warm
"""What does not wait for the running job."""


class Refused(Exception):
    """A command cannot be done; the text is for a client."""

    def __init__(self, reason: str, short_of: int = 0) -> None:
        super().__init__(reason)
        self.short_of = short_of


class Service:
    """An engine process from its first command to the end of its socket."""

    def __init__(self, connection: socket.socket, flag: native.AbortFlag) -> None:
        self._socket = connection
        self._flag = flag
        self._out = Outbox(connection)
        self._lane: queue.Queue[Run | Forget] = queue.Queue(_QUEUE_LIMIT)
        self._side: queue.Queue[Beside] = queue.Queue(_QUEUE_LIMIT)
        self._model: native.Model | None = None
        self._header: gguf.Header | None = None
        self._prompter: Prompter = Chatml()
        self._markers: tuple[str, ...] = ()
        self._quoter = Quoter(())
        self._threads = 1
        self._engines: dict[str, Engine] = {}
        self._running: Engine | None = None
        self._table = threading.Lock()
        """Held to change which engines there are, and while one that does not run is used."""
        self._jobs: dict[int, Prepared] = {}

    def serve(self) -> NoReturn:
        """Run until the socket ends; this thread is the lane."""
        threading.excepthook = _die
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        threading.Thread(target=self._work, name="side", daemon=True).start()
        while True:
            self._on_lane(self._lane.get())

    # --- the reader thread

    def _read(self) -> None:
        """Hand out commands; at the end of the socket nobody needs this process any more."""
        try:
            with self._socket.makefile("rb", buffering=1 << 16) as lines:
                while line := lines.readline(_LINE_LIMIT):
                    self._route(decode(line))
        except (OSError, ValueError):
            pass
        self._flag.set()
        os._exit(0)

    def _route(self, command: object) -> None:
        if isinstance(command, Run | Forget):
            self._lane.put(command)
        elif isinstance(command, Beside):
            self._side.put(command)
        else:
            raise ValueError("not a command")

    def _send(self, event: Event) -> None:
        try:
            self._out.send(encode(event))
        except (OSError, Stalled):
            self._flag.set()
            os._exit(0)

    # --- the side thread: what must not wait for the running job

    def _work(self) -> None:
        while True:
            command = self._side.get()
            if isinstance(command, Prepare):
                self._send(self._prepare(command))
            elif isinstance(command, Drop):
                self._jobs.pop(command.job, None)
            else:
                self._send(self._answer(command))

    def _answer(self, command: Load | Open | Close | Warm) -> Event:
        try:
            if isinstance(command, Load):
                return self._load(command)
            if isinstance(command, Open):
                return self._open(command)
            if isinstance(command, Close):
                return self._close(command)
            return self._warm(command)
        except Refused as error:
            return Failed(command.id, str(error), error.short_of)
        except (native.EngineError, gguf.BadModelFile) as error:
            return Failed(command.id, str(error))

    def _load(self, command: Load) -> Loaded:
        if self._model is not None:
            raise Refused("this engine process holds a model already")
        header = gguf.read(command.path)
        if header.embedding_only:
            raise Refused("this file holds an embedding model")
        _refuse_shortage(header.size)
        if command.gpu_layers and not native.gpu():
            raise Refused("this build of the engine has no GPU support")
        source = command.template or header.chat_template
        renderer = Renderer(source) if source and not is_chatml(source) else None
        try:
            model = native.Model(command.path, command.gpu_layers)
            if renderer:
                _compile(renderer, model, given=bool(command.template))
                self._prompter = renderer
            self._quoter = _quoter(model)
        except (native.EngineError, Refused):
            if renderer:
                renderer.close()
            raise
        self._model, self._header = model, header
        self._markers = markers_of(source or CHATML)
        self._threads = command.threads or _tuned(model)
        return Loaded(
            command.id,
            n_ctx_train=model.n_ctx_train,
            n_params=model.n_params,
            n_vocab=model.n_vocab,
            kv_bytes_per_token=header.kv_bytes_per_token,
            threads=self._threads,
            description=model.description,
            template="given" if command.template else "file" if source else "chatml",
        )

    def _need_model(self) -> tuple[native.Model, gguf.Header]:
        if self._model is None or self._header is None:
            raise Refused("no model is loaded")
        return self._model, self._header

    def _open(self, command: Open) -> Ok:
        model, header = self._need_model()
        if command.engine in self._engines:
            raise Refused("this engine is open already")
        if not 0 < command.budget <= command.cells:
            raise Refused("the token budget does not fit the context")
        _refuse_shortage(command.cells * header.kv_bytes_per_token)
        shape = Shape(command.budget, command.cells, self._threads)
        try:
            engine = Engine(model, shape, self._flag, self._markers, self._quoter)
        except native.EngineError as error:
            # its own words are a line of a log about something else
            reason = f"the context of {command.budget} tokens cannot be made for this model"
            raise Refused(reason) from error
        with self._table:
            self._engines[command.engine] = engine
        return Ok(command.id)

    def _close(self, command: Close) -> Ok:
        """Free a context at once, whatever another one computes; the one that runs ends first."""
        with self._table:
            engine = self._engines.pop(command.engine, None)
            if engine is not None and engine is not self._running:
                engine.close()
        return Ok(command.id)

    def _warm(self, command: Warm) -> Ok:
        model, _ = self._need_model()
        context = native.Context(model, _WARM_CELLS, self._threads, sequences=1)
        sampler = native.Sampler(0, 0, 1, 0)
        try:
            if context.decode(model.tokenize("a", whole=True)[:8] or [0], 0, 0, last=True):
                raise Refused("the engine could not compute a token")
            sampler.sample(context)
        finally:
            sampler.free()
            context.free()
        return Ok(command.id)

    def _prepare(self, command: Prepare) -> PreparedEvent | Ended:
        try:
            model, _ = self._need_model()
            if command.engine not in self._engines:
                raise Refused("this engine is not open")
            if not command.messages:
                raise Refused("there is no message")
            quoted = self._quoter.quote(command.messages)
            rendering = self._prompter.render(quoted.messages)
            tokens = tokens_of(model, quoted.parts(rendering.text), whole=True)
            if not tokens:
                raise unrenderable("the prompt is empty")
        except (Refused, TemplateFailed, native.EngineError) as error:
            return Ended(command.job, "failed", str(error))
        if len(self._jobs) >= _QUEUE_LIMIT:
            return Ended(command.job, "failed", "too many prepared jobs")
        after = None if rendering.after is None else quoted.parts(rendering.after)
        self._jobs[command.job] = Prepared(command.engine, command.messages, tokens, after)
        return PreparedEvent(command.job, len(tokens))

    # --- the lane thread: everything that touches a context

    def _on_lane(self, command: Run | Forget) -> None:
        if isinstance(command, Run):
            self._send(self._run(command))
            return
        with self._table:
            for engine in self._engines.values():
                engine.forget(command.conversations)
        self._send(Ok(command.id))

    def _run(self, command: Run) -> Ended:
        prepared = self._jobs.pop(command.job, None)
        with self._table:
            engine = self._engines.get(prepared.engine) if prepared else None
            self._running = engine
        if prepared is None or engine is None:
            return Ended(command.job, "failed", "this job is not prepared")
        pieces = Pieces(command.job, self._out)
        ended = engine.run(command, prepared, pieces.emit)
        with self._table:
            self._running = None
            if self._engines.get(prepared.engine) is not engine:
                engine.close()
        if rest := pieces.rest():
            self._send(rest)
        return ended


class Pieces:
    """Sends pieces as long as the socket has room, else joins them to larger ones.

    A model that is faster than a piece every two milliseconds has its pieces joined too: each one
    costs both processes a wake-up.
    """

    def __init__(self, job: int, out: Outbox) -> None:
        self._job = job
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
                self._out.send(encode(Piece(self._job, self._text, self._tokens)))
            elif time.monotonic() < self._due or not self._out.has_room():
                return True
            else:
                self._out.offer(encode(Piece(self._job, self._text, self._tokens)))
        except (OSError, Stalled):
            return False
        self._text, self._tokens = "", 0
        self._due = time.monotonic() + _PAUSE_S
        return True

    def rest(self) -> Piece | None:
        """What could not be sent."""
        return Piece(self._job, self._text, self._tokens) if self._text else None


def _refuse_shortage(needed: int) -> None:
    if reason := resources.shortage(needed, resources.free_bytes()):
        raise Refused(reason, short_of=needed)


def _quoter(model: native.Model) -> Quoter:
    try:
        return Quoter(model.control_texts())
    except ValueError as error:
        raise Refused(str(error)) from error


def _compile(renderer: Renderer, model: native.Model, *, given: bool) -> None:
    try:
        renderer.compile(*model.special_texts)
    except TemplateBroken as error:
        which = "given chat template" if given else "chat template of the file"
        raise Refused(f"the {which} does not compile: {error}") from error


def _tuned(model: native.Model) -> int:
    """Threads by a timing of decode steps in a small context of their own."""
    cores = resources.usable_cores()
    if cores == 1:
        return 1
    context = native.Context(model, _WARM_CELLS * 4, 1, sequences=1)
    at = 0

    def step(threads: int) -> None:
        nonlocal at
        context.set_threads(threads)
        context.decode([0], at, 0, last=True)
        at += 1
        if at >= _WARM_CELLS * 4:
            context.clear(0)
            at = 0

    try:
        return autotune.fastest(cores, step, autotune.now)
    finally:
        context.free()


def _die(args: threading.ExceptHookArgs) -> None:
    """A fault in a thread ends the process: the server then fails the job and starts another."""
    threading.__excepthook__(args)
    os._exit(_BROKEN)
