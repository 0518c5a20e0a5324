"""What the server and an engine process say to each other: one JSON object a line, both ways.

The server starts ``python -m runtime.llm.engine.worker --socket N --flag N`` with the file
descriptors of a stream socket and of a two-byte shared memory file. It sends commands, the worker
sends events. The first byte of the flag file is the abort flag of the one job that runs:
the server sets it to 1 to stop the job within a token and to 0 before it starts the next one; the
second byte stays 0. A worker whose socket reaches its end stops at once.

Order: ``Load`` once, then any number of ``Open`` and ``Close`` for contexts (engines) of that file.
``Prepare`` may be sent at any time, also while another job runs. ``Run`` only when no job runs.
``Drop`` forgets a prepared job that will not run. ``Forget`` drops conversations; ``Warm`` decodes
one token in a throw-away context. ``Load``, ``Open``, ``Close``, ``Forget`` and ``Warm`` are
answered by ``Ok`` or ``Failed`` with the command's ``id``. What is neither ``Run`` nor ``Forget``
is done and answered in the order in which it was sent, and never waits for a running job.
"""

from dataclasses import dataclass
from typing import Final, Literal

import orjson

# --- commands: server to worker


@dataclass(frozen=True)
class Load:
    """Map the model file; answered by `Loaded` or `Failed`."""

    id: int
    path: str
    gpu_layers: int
    """0: CPU only; -1: every layer."""
    threads: int
    """0: chosen by a short timing of decode steps."""
    template: str = ""
    """Chat template in place of the one in the file."""


@dataclass(frozen=True)
class Open:
    """Make a context of *budget* tokens a conversation over a KV pool of *cells* tokens."""

    id: int
    engine: str
    budget: int
    cells: int


@dataclass(frozen=True)
class Close:
    """Free the context and every conversation in it; no job of it may be prepared or running.

    Done at once, also while a job of another context runs.
    """

    id: int
    engine: str


@dataclass(frozen=True)
class Prepare:
    """Render the chat template and tokenize; answered by `Prepared` or `Ended`."""

    job: int
    engine: str
    messages: list[list[str]]
    """Pairs of role and content."""


@dataclass(frozen=True)
class Run:
    """Generate the reply of a prepared job; answered by `Piece` … and one `Ended`."""

    job: int
    conversation: str | None
    """Opaque name of the cached conversation; None: stateless."""
    temperature: float
    top_k: int
    top_p: float
    seed: int
    max_output: int
    """Cap on generated tokens; 0: only the budget of the engine."""
    stop: list[str]
    """Texts that end the reply and are not part of it."""


@dataclass(frozen=True)
class Drop:
    """Forget a prepared job."""

    job: int


@dataclass(frozen=True)
class Forget:
    """Free the KV cache of these conversations; unknown names are ignored."""

    id: int
    conversations: list[str]


@dataclass(frozen=True)
class Warm:
    """Prove that the file can generate: one greedy token in a small context of its own."""

    id: int


# --- events: worker to server


@dataclass(frozen=True)
class Ok:
    """The command is done."""

    id: int


@dataclass(frozen=True)
class Loaded:
    """The model is mapped and ready for contexts."""

    id: int
    n_ctx_train: int
    n_params: int
    n_vocab: int
    kv_bytes_per_token: int
    threads: int
    description: str
    template: Literal["given", "file", "chatml"]
    """Where the chat template comes from: the command, the file, or the fallback."""


@dataclass(frozen=True)
class Failed:
    """The command failed; *reason* is text for a client: no path, no class name."""

    id: int
    reason: str
    short_of: int = 0
    """Bytes for which there is no room now; 0: it failed for another reason."""


@dataclass(frozen=True)
class Prepared:
    """The whole prompt, rendered and tokenized, has this many tokens."""

    job: int
    prompt_tokens: int


@dataclass(frozen=True)
class Piece:
    """The next text of the running job; never empty, never a part of a character."""

    job: int
    text: str
    tokens: int
    """Tokens that the text covers."""


@dataclass(frozen=True)
class Ended:
    """The job is over and its lane is free."""

    job: int
    finish: Literal["stop", "length", "aborted", "failed"]
    reason: str = ""
    """Of a failure: text for a client."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    session: Literal["hit", "miss", "rebuilt"] | None = None
    session_reason: str | None = None
    kept: bool = False
    """Whether the conversation is in the cache now."""
    evicted: tuple[str, ...] = ()
    """Conversations that gave up their cells to make room."""


Command = Load | Open | Close | Prepare | Run | Drop | Forget | Warm
Event = Ok | Loaded | Failed | Prepared | Piece | Ended
Message = Command | Event

_KINDS: Final[dict[str, type[Message]]] = {
    kind.__name__: kind
    for kind in (
        Load,
        Open,
        Close,
        Prepare,
        Run,
        Drop,
        Forget,
        Warm,
        Ok,
        Loaded,
        Failed,
        Prepared,
        Piece,
        Ended,
    )
}


def encode(message: Message) -> bytes:
    """One line of JSON, newline included."""
    return orjson.dumps([type(message).__name__, message], option=orjson.OPT_APPEND_NEWLINE)


def decode(line: bytes) -> Message:
    """The message of a line; raises ValueError when it is none."""
    try:
        kind, fields = orjson.loads(line)
        return _KINDS[kind](**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("not a message of the engine protocol") from error
