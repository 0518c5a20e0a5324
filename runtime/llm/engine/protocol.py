"""The protocol between the server and a worker process, for every kind of model.

The server starts ``python -m runtime.llm.engine.worker`` with a stream socket from `Handover`. It
sends commands, and the worker sends events. A message is three little-endian 32-bit numbers (the
number of the command, the length of the head, the length of the body), then a JSON head
``[kind, fields]``, then raw bytes: the vectors of an `Embedded`, nothing for the others. An event
has the number of the command that it answers. A worker stops at once when its socket ends.

A worker loads one model, by `LoadChat` or `LoadEncoder`. Commands are executed and answered in the
order in which they were sent, without waiting for a running reply; only `Run` and `Forget` wait.

A chat worker then accepts `Open` and `Close` for contexts of its model, `Prepare` at any time, even
while replies are generated, and as many concurrent `Run` as `ChatLoaded` allows. `Drop` and
`Forget` have no answer. A `Drop` takes effect on arrival: it stops a reply within a token, even in
the middle of a step.
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
"""Maximum texts of an `Embed` or `Fit`."""

Pooling = Literal["mean", "cls", "none"]

# --- commands: server to worker


@dataclass(frozen=True)
class LoadChat:
    """Map a chat model; answered by `ChatLoaded` or `Failed`."""

    path: str
    gpu_layers: int
    """0: CPU only; -1: every layer."""
    threads: int
    """For every computation; 0: chosen by a short timing of decode steps."""
    template: str = ""
    """Chat template that replaces the file's."""
    parallel: int = 1
    """Maximum concurrent replies; 0: chosen by a short timing."""


@dataclass(frozen=True)
class LoadEncoder:
    """Read a sentence encoder; answered by `EncoderLoaded` or `Failed`."""

    path: str
    vocab: str | None
    """Vocabulary file of an ONNX model, one token per line."""
    threads: int
    """0: the number of physical cores, at most 4."""
    pooling: Pooling | None
    """None: mean for ONNX, the file's own for GGUF."""
    max_seq: int | None
    """Maximum input in tokens; None: the encoder's default."""
    dims: int | None = None
    """The declared width of the vectors; any other width is a failure."""


@dataclass(frozen=True)
class Open:
    """Make a context of *budget* tokens per conversation over a KV pool of *cells* tokens."""

    engine: str
    budget: int
    cells: int
    kept: int
    """Maximum number of cached conversations."""


@dataclass(frozen=True)
class Close:
    """Free the context and its conversations; no reply of it may be prepared or running.

    Executed at once, even while another context generates a reply.
    """

    engine: str


@dataclass(frozen=True)
class Prepare:
    """Render the chat template and tokenize; answered by `Prepared` or `Failed`."""

    engine: str
    messages: Sequence[ChatMessage]
    tools: Sequence[ToolOffer] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    """Extra variables for the template."""
    prompt: str | None = None
    """A raw prompt, control tokens included, that replaces the messages."""
    grammar: str = ""
    """The grammar of the reply, as in `Sampling`; compiled here, so that an invalid one fails."""
    trigger: str = ""
    """The grammar applies after this text of the reply; empty: from the first token on."""


@dataclass(frozen=True)
class Run:
    """Generate the reply to a prepared prompt; answered by `TextPiece` … and one `Ended`."""

    job: int
    conversation: str | None
    """Opaque name under which the conversation is cached; None: it is not cached."""
    sampling: Sampling
    max_output: int
    """Cap on generated tokens; 0: only the engine's budget applies."""
    stop: list[str]
    """Texts that end the reply without being part of it."""
    is_session: bool = False
    """Whether the name is a session, which later requests continue by name."""
    client: str = ""
    """Without a session, the prompt may reuse the prefix that it shares with a conversation of this
    client; empty: it reuses nothing."""


@dataclass(frozen=True)
class Drop:
    """Discard a prepared prompt, or stop the reply to it."""

    job: int


@dataclass(frozen=True)
class Forget:
    """Free the KV cache of these conversations; unknown names are ignored."""

    conversations: list[str]


@dataclass(frozen=True)
class Warm:
    """Verify that a chat model can generate: one greedy token in a small context of its own."""


@dataclass(frozen=True)
class Embed:
    """Embed each text; at most `MAX_TEXTS`."""

    texts: list[str]


@dataclass(frozen=True)
class Split:
    """Split a document into chunks, regardless of their number of tokens."""

    text: str


@dataclass(frozen=True)
class Fit:
    """Split the chunks that are too long for the model together with *prefix*."""

    texts: list[str]
    prefix: str = ""


# --- events: worker to server


@dataclass(frozen=True)
class Ok:
    """The command was executed."""


@dataclass(frozen=True)
class ChatLoaded:
    """The model is mapped and ready for contexts."""

    kv_bytes_per_token: int
    threads: int
    """For a step that computes one token."""
    prefill_threads: int
    """For a step that computes several tokens."""
    parallel: int
    """Maximum concurrent replies."""
    chosen: Literal["given", "measured"]
    """Whether the number of threads comes from the command or from a timing."""
    library: str
    """The package of llama.cpp, its version, and whether it was compiled here."""
    devices: list[str]
    """Devices that llama.cpp can compute on, by its names."""
    gpu_layers: int
    """Number of layers on a GPU, counting the output as one."""
    template: Literal["given", "file", "chatml", "none"]
    """Source of the chat template: the command, the file, the fallback, or none."""


@dataclass(frozen=True)
class EncoderLoaded:
    """The encoder is ready."""

    width: int
    """Numbers per vector."""
    max_tokens: int
    """Maximum input; longer ones are truncated."""


@dataclass(frozen=True)
class Failed:
    """The command failed; *reason* is text for a client, without paths and class names."""

    reason: str
    short_of: int = 0
    """Bytes that did not fit into memory; 0: it failed for another reason."""
    unfit: bool = False
    """Whether the chat template could not render the messages."""
    bad_grammar: bool = False
    """Whether the grammar cannot be enforced."""


@dataclass(frozen=True)
class Prepared:
    """The prompt is rendered and tokenized."""

    job: int
    prompt_tokens: int
    thinks: bool = False
    """Whether the prompt ends inside a thought that it opened."""


@dataclass(frozen=True)
class TextPiece:
    """The next text of a running reply; it never splits a character.

    An empty one means that the prompt is being read.
    """

    text: str
    tokens: int
    """Number of tokens of the text."""
    logprobs: Sequence[TokenLogprob] = ()
    """Log-probabilities of the tokens, if requested."""


@dataclass(frozen=True)
class Ended(Outcome):
    """The reply has ended and the worker is free for another one."""

    completion_tokens: int = 0
    prompt_tokens: int = 0
    reason: str = ""
    """Reason of a failure, as text for a client."""
    bad_grammar: bool = False
    """Whether it failed because the grammar could not be followed any further."""
    kept: bool = False
    """Whether the conversation is now cached."""
    evicted: tuple[str, ...] = ()
    """Conversations that were evicted to make room."""


@dataclass(frozen=True)
class Embedded:
    """The vectors of texts, in order."""

    width: int
    tokens: list[int]
    """Tokens of each text as computed, with special tokens and without padding."""
    truncated: int
    """How many texts were cut to the model's maximum input."""
    vectors: bytes
    """Unit vectors, little-endian float32, one row per text; sent as the body."""


@dataclass(frozen=True)
class Chunks:
    """Chunks in order; a `Split` of a non-blank text has at least one."""

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
    """Encode a message. Raises TypeError for a text that is not valid Unicode."""
    fields: object = message
    body = b""
    if isinstance(message, Embedded):
        fields = asdict(message)
        body = fields.pop("vectors")
    head = orjson.dumps([type(message).__name__, fields])
    return PREFIX.pack(number, len(head), len(body)) + head + body


def decode(head: bytes, body: bytes = b"") -> Message:
    """Decode the message of a head and a body. Raises ValueError if it is invalid."""
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


def parse_lengths(prefix: bytes) -> tuple[int, int, int]:
    """Parse the command's number and the lengths of head and body. Raises ValueError."""
    number, head, body = PREFIX.unpack(prefix)
    if head > MAX_HEAD or body > MAX_BODY:
        raise ValueError("a message of the worker protocol is too long")
    return number, head, body


# --- the connection


class Handover:
    """The connection to a process that is about to start; exit it once the process has started.

    The socket becomes the standard input of the process. On Windows that is impossible: there a
    copy for the process is written to its standard input.
    """

    def __init__(self) -> None:
        self.ours, self._theirs = socket.socketpair()
        """Our end of the connection."""
        windows = sys.platform == "win32"
        self.stdin: Final = subprocess.PIPE if windows else self._theirs.fileno()

    def share_with(self, pid: int) -> bytes:
        """The data for the standard input of process *pid*; empty if that is the socket itself."""
        if sys.platform == "win32":
            return self._theirs.share(pid)
        return b""

    def __enter__(self) -> "Handover":
        return self

    def __exit__(self, *_: object) -> None:
        self._theirs.close()


def take_connection() -> socket.socket:
    """Open the socket that this process got from its `Handover`."""
    if sys.platform == "win32":
        connection = socket.fromshare(sys.stdin.buffer.read())
    else:
        connection = socket.socket(fileno=sys.stdin.fileno())
    connection.setblocking(True)
    return connection
