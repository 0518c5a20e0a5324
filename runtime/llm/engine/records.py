"""What is known of an engine: how it came up, what it was loaded with, how large it is."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from runtime.llm.engine.process import Worker
from runtime.llm.engine.protocol import Loaded
from runtime.llm.models.catalog import Entry, Fingerprint
from runtime.llm.values import Backend

CELL_STEP: Final = 256


class Attempt(NamedTuple):
    """The record of one initialisation."""

    key: str
    backend: Backend
    result: str
    duration_ms: int
    at: float


class Terms(NamedTuple):
    """What a process was loaded with; a change of any of it needs another process."""

    fingerprint: Fingerprint
    backend: Backend
    gpu_layers: int
    template: str


def terms_of(entry: Entry) -> Terms:
    """What *entry* is loaded with: no layer on the GPU for the CPU, else as declared or all."""
    declared = -1 if entry.n_gpu_layers is None else entry.n_gpu_layers
    layers = declared if entry.backend == "LOCAL_GPU" else 0
    return Terms(entry.fingerprint, entry.backend, layers, entry.chat_template or "")


@dataclass
class Model:
    """A model file in its process, shared by the engines of that file."""

    worker: Worker
    loaded: Loaded
    terms: Terms
    contexts: set[str] = field(default_factory=set)
    warm: bool = False


@dataclass
class Engine:
    """A context of *budget* tokens on a loaded model."""

    key: str
    context: str
    """Its name in the process, used once: the one before may still be closing there."""
    model_id: str
    backend: Backend
    budget: int
    model: Model
    attempt: Attempt
    users: int = 0
    used: float = 0.0
    orphan: bool = False
    """Out of the cache while somebody still uses it; freed when the last one leaves."""

    @property
    def worker(self) -> Worker:
        """The process behind it."""
        return self.model.worker


@dataclass(frozen=True)
class PoolSettings:
    """What bounds the pool."""

    size: int = 2
    default_context: int = 4096
    session_bytes: int = 0
    """Memory for the cached conversations of one engine."""
    threads: int = 0
    load_timeout_s: float = 300.0


def engine_key(model_id: str, max_tokens: int | None, backend: Backend) -> str:
    """The key of an engine, as ``/health`` shows it."""
    return f"{model_id}_{max_tokens if max_tokens is not None else 'model'}_{backend}"


def cells_of(budget: int, kv_bytes_per_token: int, session_bytes: int) -> int:
    """Cells of a KV pool: one reply's budget, and as much for all cached conversations together.

    The byte limit may allow less. Conversations are seldom as long as the budget, and every cell
    is memory that is taken for as long as the engine is loaded.
    """
    extra = min(budget, session_bytes // max(1, kv_bytes_per_token))
    return -(-(budget + extra) // CELL_STEP) * CELL_STEP


def failure_text(error: BaseException) -> str:
    """Why an engine could not be made ready, fit for a client: no path, no class name."""
    match error:
        case TimeoutError():
            return "it did not load in time"
        case OSError():
            return "no engine process could be started"
        case _:
            return str(error)
