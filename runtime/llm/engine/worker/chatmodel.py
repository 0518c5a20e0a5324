"""A chat model in a worker process: its contexts, prepared prompts and running replies."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

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
from runtime.llm.engine.worker.conversations import Prompt
from runtime.llm.engine.worker.engine import Engine, Sink
from runtime.llm.engine.worker.prompt import (
    CHATML,
    CHATML_TURNS,
    TRANSCRIPT,
    TRANSCRIPT_STOP,
    Quoter,
    Renderer,
    Script,
    TemplateBroken,
    TemplateFailed,
    Turns,
    blame_template,
    is_chatml,
    tokenize_parts,
)
from runtime.llm.engine.worker.resources import (
    WIDTHS,
    Refused,
    count_usable_cores,
    find_best_width,
    find_fastest_threads,
    list_thread_counts,
    refuse_shortage,
)
from runtime.llm.grammar import BadGrammar
from runtime.llm.inference import GREEDY
from runtime.llm.models import gguf
from runtime.llm.replies import THINK, detect_format

if TYPE_CHECKING:  # loaded with the first grammar
    from runtime.llm.engine.worker.constraint import Constraint, Grammars

T = TypeVar("T")

MARKERS: Final = ("<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "</s>")
"""End-of-turn texts that a model may write in ordinary tokens."""
_JOBS: Final = 1024  # prepared prompts
_WARM_CELLS: Final = 64
_TRIAL_STEPS: Final = 64


class ChatModel:
    """The weights of a file and the contexts over them. Raises `Refused` for an unusable file.

    `begin`, `step` and `forget` belong to the generating thread, `wanted` to all threads, the rest
    to the side thread.
    """

    def __init__(self, command: LoadChat) -> None:
        try:
            self._header = gguf.read(command.path)
        except gguf.BadModelFile as error:
            raise Refused(str(error)) from error
        if self._header.embedding_only:
            raise Refused("this file is an embedding model")
        refuse_shortage(self._header.size)
        if command.gpu_layers and not native.supports_gpu():
            raise Refused("this build of the engine has no GPU support")
        self.wanted: Final = native.Wanted()
        kind = self._header.template_source(command.template)
        self._prompter: Turns | Renderer = TRANSCRIPT if kind == "none" else CHATML_TURNS
        source = command.template or self._header.chat_template
        renderer = Renderer(source) if source and not is_chatml(source) else None
        try:
            native.check_library()
            self._model = native.Model(command.path, command.gpu_layers)
            if renderer:
                renderer.compile(*self._model.special_texts)
                self._prompter = renderer
        except (native.EngineError, TemplateBroken) as error:
            if renderer:
                renderer.close()
            if isinstance(error, TemplateBroken):
                which = "catalog's chat template" if command.template else "file's chat template"
                raise Refused(f"the {which} does not compile: {error}") from error
            raise Refused(str(error)) from error
        self._quoter = Quoter(self._model.control_texts())
        self._format = detect_format(source)
        self._stops = [marker for marker in MARKERS if marker in (source or CHATML)]
        if kind == "none":
            self._stops.append(TRANSCRIPT_STOP)
        self._threads = _run_in_own_thread(lambda: self._choose_threads(command.threads))
        self._parallel = command.parallel or _run_in_own_thread(self._choose_parallel)
        self._engines: dict[str, Engine] = {}
        self._busy: list[Engine] = []
        self._table = threading.Lock()
        """Held to change the set of engines and while an idle engine is used."""
        self._jobs: dict[int, tuple[str, Prompt]] = {}
        self._grammars: Grammars | None = None
        """The compiler of grammars, once one was needed."""
        self.loaded: Final = ChatLoaded(
            kv_bytes_per_token=self._header.kv_bytes_per_token,
            threads=self._threads.single,
            prefill_threads=self._threads.several,
            parallel=self._parallel,
            chosen="given" if command.threads else "measured",
            library=native.LIBRARY,
            devices=native.list_devices(),
            gpu_layers=self._model.gpu_layers,
            template=kind,
        )

    def _choose_threads(self, configured: int) -> native.Threads:
        """Use the *configured* threads, or if 0 choose them by a timing of decode steps.

        Without configuration, prompts are read by all cores: the work is worth starting them.
        """
        cores = count_usable_cores()
        if configured or cores == 1:
            return native.Threads(configured or 1, configured or 1)
        with self._trial(1) as trial:

            def step(threads: int) -> None:
                trial.context.set_threads(native.Threads(threads, threads))
                trial.step(1)

            return native.Threads(find_fastest_threads(list_thread_counts(cores), step), cores)

    def _choose_parallel(self) -> int:
        """Choose by a timing how many concurrent replies give the most tokens in total."""
        with self._trial(max(WIDTHS)) as trial:
            trial.context.set_threads(self._threads)
            return find_best_width(WIDTHS, trial.step)

    @contextlib.contextmanager
    def _trial(self, sequences: int) -> Iterator["_Trial"]:
        cells = _TRIAL_STEPS * sequences
        single = native.Threads(1, 1)
        context = native.Context(self._model, cells, single, sequences=sequences)
        try:
            yield _Trial(context)
        finally:
            context.free()

    def open(self, command: Open) -> None:
        """Make a context."""
        if command.engine in self._engines:
            raise Refused("this engine is already open")
        if not 0 < command.budget <= command.cells:
            raise Refused("the token budget does not fit the context")
        refuse_shortage(command.cells * self._header.kv_bytes_per_token)
        try:
            context = native.Context(
                self._model,
                command.cells,
                self._threads,
                sequences=command.kept + self._parallel,
                wanted=self.wanted,
            )
        except native.EngineError as error:
            # the error text is an unrelated line of the log
            reason = f"a context of {command.budget} tokens cannot be created for this model"
            raise Refused(reason) from error
        engine = Engine(
            context, command.budget, self.wanted, self._stops, self._quoter, self._compile_grammar
        )
        with self._table:
            self._engines[command.engine] = engine

    def close(self, name: str) -> None:
        """Free a context, at once unless it is running; then when its replies have ended."""
        with self._table:
            engine = self._engines.pop(name, None)
            if engine is not None and engine not in self._busy:
                engine.close()

    def warm(self) -> None:
        """Compute one token."""
        _run_in_own_thread(self._compute_token)

    def _compute_token(self) -> None:
        try:
            context = native.Context(self._model, _WARM_CELLS, self._threads)
            sampler = native.Sampler(GREEDY, self._model)
            try:
                tokens = self._model.tokenize("a", whole=True)[:8] or [0]
                if context.decode([native.Slice(tokens, 0, 0, last=True)]):
                    raise Refused("the engine could not compute a token")
                sampler.sample(context)
            finally:
                sampler.free()
                context.free()
        except native.EngineError as error:
            raise Refused(str(error)) from error

    def prepare(self, job: int, command: Prepare) -> Prepared | Failed:
        """Render and tokenize a prompt and keep it for `begin`."""
        if command.engine not in self._engines:
            raise Refused("this engine is not open")
        if len(self._jobs) >= _JOBS:
            raise Refused("too many prepared prompts")
        try:
            prompt = self._make_prompt(command)
            self._compile_grammar(command.grammar, command.trigger)
        except TemplateFailed as error:
            return Failed(str(error), unfit=True)
        except BadGrammar as error:
            return Failed(str(error), bad_grammar=True)
        except native.EngineError as error:
            raise Refused(str(error)) from error
        self._jobs[job] = command.engine, prompt
        return Prepared(job, len(prompt.tokens), prompt.thinks)

    def _make_prompt(self, command: Prepare) -> Prompt:
        """Make the prompt of a conversation or a raw text."""
        if command.prompt is not None:
            tokens = self._model.tokenize(command.prompt, whole=True)
            if not tokens:
                raise TemplateFailed("the prompt is empty")
            return Prompt((), tokens, None)
        script = Script(command.messages, command.tools, command.options)
        quoted = self._quoter.quote(script)
        rendering = self._prompter.render(quoted.script)
        tokens = tokenize_parts(self._model, quoted.split(rendering.text), whole=True)
        if not tokens:
            raise blame_template("the prompt is empty")
        after = None if rendering.after is None else quoted.split(rendering.after)
        thinks = rendering.text.rstrip().endswith(THINK)
        return Prompt(command.messages, tokens, after, thinks, self._format)

    def _compile_grammar(self, grammar: str, trigger: str) -> "Constraint | None":
        """Compile the grammar of a reply. Raises `BadGrammar`."""
        if not grammar:
            return None
        from runtime.llm.engine.worker.constraint import Grammars

        if self._grammars is None:
            self._grammars = Grammars(self._model)
        return self._grammars.compile(grammar, trigger)

    def drop(self, job: int) -> None:
        """Discard a prepared prompt."""
        self._jobs.pop(job, None)

    @property
    def busy(self) -> bool:
        """Whether a reply is running."""
        return bool(self._busy)

    def forget(self, conversations: list[str]) -> None:
        """Free the cells of these conversations."""
        with self._table:
            for engine in self._engines.values():
                engine.forget(conversations)

    def begin(self, command: Run, sink: Sink) -> None:
        """Start the reply to a prepared prompt; `step` generates it and sends it to *sink*."""
        name, prompt = self._jobs.pop(command.job, ("", None))
        with self._table:
            engine = self._engines.get(name)
            if prompt is not None and engine is not None and engine not in self._busy:
                self._busy.append(engine)
        if prompt is None or engine is None:
            self.wanted.end(command.job)
            sink.end(Ended("failed", reason="this prompt is not prepared"))
            return
        engine.begin(command, prompt, sink)
        self._rest(engine)

    def step(self) -> None:
        """Advance all running replies by a step."""
        if self.wanted.interrupted:
            self.wanted.go_on()
            for engine in list(self._busy):
                engine.drop_cancelled()
                self._rest(engine)
        for engine in list(self._busy):
            engine.step()
            self._rest(engine)

    def _rest(self, engine: Engine) -> None:
        """Mark an engine without replies as idle, and free it if it was closed meanwhile."""
        if not engine.busy:
            with self._table:
                self._busy.remove(engine)
                if engine not in self._engines.values():
                    engine.close()


def _run_in_own_thread(work: Callable[[], T]) -> T:
    """Run *work* in a thread that ends with it.

    OpenMP keeps a team of threads for each thread that has computed. If there are more threads than
    cores, those of libgomp never spin for each other.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


class _Trial:
    """Steps of a small context, for timing."""

    def __init__(self, context: native.Context) -> None:
        self.context = context
        self._at = 0

    def step(self, sequences: int) -> None:
        """Compute a token for each of *sequences* sequences."""
        if self._at >= _TRIAL_STEPS:
            self.context.clear_all()
            self._at = 0
        at = self._at
        self.context.decode([native.Slice([0], at, n, last=True) for n in range(sequences)])
        self._at += 1
