"""Logging as JSON lines to standard error, without ever blocking the event loop."""

import json
import logging
import logging.handlers
import queue
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TextIO

request_id: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""The id of the request that the current task serves."""

QUEUE_SIZE: Final = 4096
LINE_LIMIT: Final = 16 * 1024
"""Characters of a message or trace that are kept."""

_SECRET: Final = re.compile(
    r"(?i)((?:^|[?&;\s\"'])(?:token|key|api_key|apikey|access_token|auth|secret|password|code)=)"
    r"[^&;\s\"'#]*"
)


def scrub(text: str) -> str:
    """*text* with the values of secret query parameters replaced by ``***``."""
    return _SECRET.sub(r"\1***", text)


class JsonLines(logging.Formatter):
    """One ASCII line of JSON a record: time, level, logger, request id, message, own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its line break."""
        entry: dict[str, object] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}"
            f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if (number := getattr(record, "request_id", None)) is not None:
            entry["request_id"] = number
        entry["message"] = scrub(_message(record))[:LINE_LIMIT]
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            entry.update((str(k), v) for k, v in fields.items() if k not in entry)
        if record.exc_info:
            entry["trace"] = scrub(self.formatException(record.exc_info))[-LINE_LIMIT:]
        return json.dumps(entry, default=str)


class Throttle(logging.Filter):
    """At most *burst* records at once and *per_s* a second; says how many it held back."""

    def __init__(
        self, per_s: float = 1.0, burst: int = 10, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._tokens, self._seen = float(burst), clock()
        self.held_back = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record may pass now."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._seen) * self._per_s)
        self._seen = now
        if self._tokens < 1:
            self.held_back += 1
            return False
        self._tokens -= 1
        if self.held_back:
            record.msg, record.args = f"{_message(record)} (and {self.held_back} like it)", ()
            self.held_back = 0
        return True


class _Handoff(logging.handlers.QueueHandler):
    """Formats in the caller, writes in a thread; a full queue drops the record and counts it."""

    dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        record.request_id = request_id.get()
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(self.format(record))
        except queue.Full:
            self.dropped += 1

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        self.dropped += 1


class _Writer(logging.handlers.QueueListener):
    """The thread that writes lines; a standard error that is gone or stuck harms nobody."""

    def __init__(self, lines: "queue.Queue[object]", stream: TextIO) -> None:
        super().__init__(lines)
        self._stream = stream

    def handle(self, record: object) -> None:
        try:
            self._stream.write(f"{record}\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    def stop(self, patience_s: float = 1.0) -> None:
        """Write what is queued, for at most *patience_s* seconds."""
        try:
            self.enqueue_sentinel()
        except queue.Full:
            return
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(patience_s)


@contextmanager
def logging_to(stream: TextIO | None = None, level: str = "info") -> Iterator[None]:
    """Send all records of at least *level* to *stream* (standard error) while the block runs."""
    lines: queue.Queue[object] = queue.Queue(QUEUE_SIZE)
    handler, writer = _Handoff(lines), _Writer(lines, stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root, throttle = logging.getLogger(), Throttle()
    before = root.level
    server = logging.getLogger("aiohttp.server")
    server.addFilter(throttle)
    root.addHandler(handler)
    root.setLevel(level.upper())
    writer.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        server.removeFilter(throttle)
        writer.stop()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)  # arguments that do not fit are no reason to lose the line
