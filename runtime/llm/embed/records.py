"""What is known of an encoder: what it was loaded with, how wide it is, who uses it."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from runtime.llm.embed.process import EncoderProcess
from runtime.llm.embed.protocol import Load, Pooling
from runtime.llm.engine.records import Attempt
from runtime.llm.models.catalog import Entry, Fingerprint
from runtime.llm.values import Backend


@dataclass(frozen=True)
class EmbedSettings:
    """What bounds the encoders."""

    cache_size: int = 1
    """Encoders kept in memory; one more while as many are in use."""
    threads: int = 0
    """Of one encoder; 0: as many as the machine has physical cores, 4 at most."""
    load_timeout_s: float = 60.0
    waiting: int = 32
    """Requests that may wait beside the one in work."""
    answer_timeout_s: float = 30.0
    """A process that leaves a slice unanswered for this long is killed."""


class Terms(NamedTuple):
    """What a process was loaded with; a change of any of it needs another process."""

    path: Path
    fingerprint: Fingerprint
    vocab: Path | None
    pooling: Pooling | None
    max_seq: int | None
    dims: int | None


def terms_of(entry: Entry) -> Terms:
    """What *entry* is loaded with."""
    declared = entry.declared
    return Terms(
        entry.path,
        entry.fingerprint,
        entry.vocab,
        declared.pooling,
        declared.max_seq,
        declared.dims,
    )


def load_command(terms: Terms, number: int, threads: int) -> Load:
    """The command that loads a model on these terms."""
    vocab = None if terms.vocab is None else str(terms.vocab)
    return Load(number, str(terms.path), vocab, threads, terms.pooling, terms.max_seq)


@dataclass(eq=False)
class Encoder:
    """A loaded model in its process."""

    key: str
    """As ``/health`` shows it."""
    model_id: str
    backend: Backend
    width: int
    """Numbers of a vector."""
    max_tokens: int
    """Longest input; what is behind is cut."""
    attempt: Attempt
    """How it came up."""
    process: EncoderProcess
    terms: Terms
    users: int = 0
    used: float = 0.0
    """When it was last in use, on the clock of the cache."""

    @property
    def alive(self) -> bool:
        """Whether its process still answers."""
        return self.process.alive


@dataclass
class Totals:
    """What was embedded since the start."""

    requests: int = 0
    """Admitted ones."""
    refused: int = 0
    """Requests that found too many waiting."""
    errors: int = 0
    """Admitted requests that ended with an error; those whose client left are none."""
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0
    """Time in which an encoder was at work."""
