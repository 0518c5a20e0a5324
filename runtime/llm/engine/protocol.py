"""What the server and a worker process say to each other, whatever kind of model the worker holds.

The server starts ``python -m runtime.llm.engine.worker`` with a stream socket, as `Handover` makes
it. It sends commands, the worker sends events. A message is three little-endian 32-bit numbers (the
number of the command, the length of the head, the length of the body), then a JSON head
``[kind, fields]``, then raw bytes: the vectors of an `Embedded`, nothing for the others. An event
carries the number of the command that it answers. A worker whose socket reaches its end stops at
once.

A worker is given one model: `LoadChat` or `LoadEncoder`, once. Commands are done and answered in
the order in which they were sent and do not wait for a running reply; only `Run` and `Forget` do.

A chat worker then takes `Open` and `Close` for contexts of its model, `Prepare` at any time, also
while replies are generated, and as many `Run` at a time as `ChatLoaded` allows. `Drop` and `Forget`
have no answer. A `Drop` works as soon as it arrives: it stops a reply within a token, also in the
middle of a step.
"""

import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

import orjson

from runtime.llm.inference import Outcome, Sampling, TokenLogprob
from runtime.llm.messages import ChatMessage, ToolOffer

PREFIX: Final = struct.Struct("<III")
MAX_HEAD: Final = 64 << 20
MAX_BODY: Final = 64 << 20
MAX_TEXTS: Final = 64
"""Texts of one `Embed` or `Fit`."""

Pooling = Literal["mean", "cls", "none"]

# --- commands: server to worker


@dataclass(frozen=True)
class LoadChat:
    """Map a chat model; answered by `ChatLoaded` or `Failed`."""

    path: str
    gpu_layers: int
    """0: CPU only; -1: every layer."""
    threads: int
    """Of every computation; 0: chosen by a short timing of decode steps."""
    template: str = ""
    """Chat template in place of the one in the file."""
    parallel: int = 1
    """How many replies may be generated side by side; 0: chosen by a short timing."""


@dataclass(frozen=True)
class LoadEncoder:
    """Read a sentence encoder; answered by `EncoderLoaded` or `Failed`."""

    path: str
    vocab: str | None
    """Of an ONNX model: one token a line."""
    threads: int
    """0: as many as the machine has physical cores, 4 at most."""
    pooling: Pooling | None
    """None: mean for ONNX, the file's own for GGUF."""
    max_seq: int | None
    """Longest input in tokens; None: the encoder's default."""
    dims: int | None = None
    """The width that is declared for the model; another one is a failure."""


@dataclass(frozen=True)
class Open:
    """Make a context of *budget* tokens a conversation over a KV pool of *cells* tokens."""

    engine: str
    budget: int
    cells: int
    kept: int
    """How many conversations may rest in it at a time."""


@dataclass(frozen=True)
class Close:
    """Free the context and every conversation in it; no reply of it may be prepared or running.

    Done at once, also while a reply of another context is generated.
    """

    engine: str


@dataclass(frozen=True)
class Prepare:
    """Render the chat template and tokenize; answered by `Prepared` or `Failed`."""

    engine: str
    messages: Sequence[ChatMessage]
    tools: Sequence[ToolOffer] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    """Further variables of the template."""
    prompt: str | None = None
    """A text to take as it stands, control tokens included; the messages then count for nothing."""
    grammar: str = ""
    """What the reply must match, as in `Sampling`; compiled here, so that a bad one is refused."""
    trigger: str = ""
    """Text of the reply behind which the grammar holds; empty: from its first token on."""


@dataclass(frozen=True)
class Run:
    """Generate the reply to a prepared prompt; answered by `TextPiece` … and one `Ended`."""

    job: int
    conversation: str | None
    """Opaque name under which the conversation is kept; None: it is not."""
    sampling: Sampling
    max_output: int
    """Cap on generated tokens; 0: only the budget of the engine."""
    stop: list[str]
    """Texts that end the reply and are not part of it."""
    is_session: bool = False
    """Whether the name is that of a session, which a later request continues by its name."""
    client: str = ""
    """Without a session the prompt may begin with what a conversation of this client has in common
    with it; empty: with nothing."""


@dataclass(frozen=True)
class Drop:
    """Forget a prepared prompt that nobody wants answered, or stop the reply to it."""

    job: int


@dataclass(frozen=True)
class Forget:
    """Free the KV cache of these conversations; unknown names are ignored."""

    conversations: list[str]


@dataclass(frozen=True)
class Warm:
    """Prove that a chat model can generate: one greedy token in a small context of its own."""


@dataclass(frozen=True)
class Embed:
    """Make a vector of each text; at most `MAX_TEXTS`."""

    texts: list[str]


@dataclass(frozen=True)
class Split:
    """Cut a document into chunks, however many tokens they have."""

    text: str


@dataclass(frozen=True)
class Fit:
    """Cut those of the chunks that are too long for the model together with *prefix*."""

    texts: list[str]
    prefix: str = ""


# --- events: worker to server


@dataclass(frozen=True)
class Ok:
    """The command is done."""


@dataclass(frozen=True)
class ChatLoaded:
    """The model is mapped and ready for contexts."""

    kv_bytes_per_token: int
    threads: int
    """Of a step that computes one token."""
    prefill_threads: int
    """Of a step that computes several."""
    parallel: int
    """Replies that may be generated side by side."""
    chosen: Literal["given", "measured"]
    """Where the number of threads comes from."""
    library: str
    """The package that holds llama.cpp, its version, and whether it was compiled here."""
    devices: list[str]
    """What this llama.cpp can compute on, as it names it."""
    gpu_layers: int
    """How many layers of the model were given to a GPU, the output counted as one."""
    template: Literal["given", "file", "chatml", "none"]
    """Where the chat template comes from: the command, the file, the fallback, or there is none."""


@dataclass(frozen=True)
class EncoderLoaded:
    """The encoder is ready."""

    width: int
    """Numbers of a vector."""
    max_tokens: int
    """Longest input; longer ones are truncated."""


@dataclass(frozen=True)
class Failed:
    """The command failed; *reason* is text for a client: no path, no class name."""

    reason: str
    short_of: int = 0
    """Bytes for which there is no room now; 0: it failed for another reason."""
    unfit: bool = False
    """The chat template could not turn the messages into a prompt."""
    bad_grammar: bool = False
    """The grammar cannot be enforced."""


@dataclass(frozen=True)
class Prepared:
    """The whole prompt, rendered and tokenized, has this many tokens."""

    job: int
    prompt_tokens: int
    thinks: bool = False
    """Whether the prompt ends within a thought that it has opened."""


@dataclass(frozen=True)
class TextPiece:
    """The next text of a running reply, never a part of a character.

    An empty one is a sign that the prompt is being read.
    """

    text: str
    tokens: int
    """Tokens that the text covers."""
    logprobs: Sequence[TokenLogprob] = ()
    """Of each token, where they were asked for."""


@dataclass(frozen=True)
class Ended(Outcome):
    """The reply is over and the worker is free for the next one."""

    completion_tokens: int = 0
    prompt_tokens: int = 0
    reason: str = ""
    """Of a failure: text for a client."""
    bad_grammar: bool = False
    """Of a failure: the grammar could not be followed any further."""
    kept: bool = False
    """Whether the conversation is in the cache now."""
    evicted: tuple[str, ...] = ()
    """Conversations that gave up their cells to make room."""


@dataclass(frozen=True)
class Embedded:
    """The vectors of texts, in their order."""

    width: int
    tokens: list[int]
    """Tokens of each text that the model saw: special ones counted, padding not."""
    truncated: int
    """How many texts were cut at the model's longest input."""
    vectors: bytes
    """Unit vectors, little-endian float32, one row a text; sent as the body."""


@dataclass(frozen=True)
class Chunks:
    """Chunks in order; of a `Split` at least one for a text that is not blank."""

    texts: list[str]


Load = LoadChat | LoadEncoder
Command = Load | Open | Close | Prepare | Run | Drop | Forget | Warm | Embed | Split | Fit
Event = Ok | ChatLoaded | EncoderLoaded | Failed | Prepared | TextPiece | Ended | Embedded | Chunks
Message = Command | Event

_KINDS: Final[dict[str, type[Message]]] = {
    kind.__name__: kind
    for kind in (
        *(LoadChat, LoadEncoder, Open, Close, Prepare, Run, Drop, Forget, Warm, Embed, Split, Fit),
        *(Ok, ChatLoaded, EncoderLoaded, Failed, Prepared, TextPiece, Ended, Embedded, Chunks),
    )
}


def encode(number: int, message: Message) -> bytes:
    """The bytes of a message; raises TypeError for a text that is not Unicode."""
    fields: object = message
    body = b""
    if isinstance(message, Embedded):
        fields = asdict(message)
        body = fields.pop("vectors")
    head = orjson.dumps([type(message).__name__, fields])
    return PREFIX.pack(number, len(head), len(body)) + head + body


def decode(head: bytes, body: bytes = b"") -> Message:
    """The message of a head and a body; raises ValueError when it is none."""
    try:
        name, fields = orjson.loads(head)
        if body:
            fields["vectors"] = body
        elif name == Embedded.__name__:
            fields["vectors"] = b""
        elif name == Run.__name__:
            fields["sampling"] = Sampling(**fields["sampling"])
        elif name == TextPiece.__name__:
            fields["logprobs"] = [
                TokenLogprob(**token | {"top": [TokenLogprob(**other) for other in token["top"]]})
                for token in fields["logprobs"]
            ]
        return _KINDS[name](**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("not a message of the worker protocol") from error


def lengths(prefix: bytes) -> tuple[int, int, int]:
    """Number of the command, lengths of head and body; raises ValueError for impossible lengths."""
    number, head, body = PREFIX.unpack(prefix)
    if head > MAX_HEAD or body > MAX_BODY:
        raise ValueError("a message of the worker protocol is too long")
    return number, head, body


# --- the connection


class Handover:
    """The connection to a process that is about to start; leave it when the process has begun.

    It becomes the standard input of the process. On Windows a socket cannot be that: there it is
    written to the standard input, made out to the process that reads it.
    """

    def __init__(self) -> None:
        self.ours, self._theirs = socket.socketpair()
        """Our end of the connection."""
        windows = sys.platform == "win32"
        self.stdin: Final = subprocess.PIPE if windows else self._theirs.fileno()

    def made_out_to(self, pid: int) -> bytes:
        """What the process *pid* has to read from its standard input; nothing if that is it."""
        if sys.platform == "win32":
            return self._theirs.share(pid)
        return b""

    def __enter__(self) -> "Handover":
        return self

    def __exit__(self, *_: object) -> None:
        self._theirs.close()


def take_connection() -> socket.socket:
    """The socket that this process was given."""
    if sys.platform == "win32":
        connection = socket.fromshare(sys.stdin.buffer.read())
    else:
        connection = socket.socket(fileno=sys.stdin.fileno())
    connection.setblocking(True)
    return connection
