"""Logging as JSON lines on standard error, without blocking the event loop."""

import json
import logging
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final, TextIO

from runtime.web.buckets import Buckets

request_id: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""The id of the request served by the current task."""

QUEUE_SIZE: Final = 4096
GATHER_S: Final = 0.02
LINE_LIMIT: Final = 16 * 1024
"""Maximum length of a message or traceback, in characters."""

_SECRET: Final = re.compile(
    r"(?i)((?:^|[?&;\s\"'])(?:token|key|api_key|apikey|access_token|auth|secret|password|code)=)"
    r"[^&;\s\"'#]*"
)


_ENCODE: Final = json.JSONEncoder(default=str).encode


def scrub(text: str) -> str:
    """Replace the values of secret query parameters in *text* by ``***``."""
    return _SECRET.sub(r"\1***", text) if "=" in text else text


class JsonLines(logging.Formatter):
    """Formats a record as one ASCII line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its line break."""
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, object] = {
            "time": f"{second}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if (number := getattr(record, "request_id", None)) is not None:
            entry["request_id"] = number
        entry["message"] = scrub(_message(record))[:LINE_LIMIT]
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            entry = {**entry, **fields, **entry}  # fields neither replace nor move these
        if record.exc_info:
            entry["trace"] = scrub(self.formatException(record.exc_info))[-LINE_LIMIT:]
        return _ENCODE(entry)


class Throttle(logging.Filter):
    """Passes at most *burst* records at once and *per_s* a second; reports how many it dropped."""

    def __init__(
        self, per_s: float = 1.0, burst: int = 10, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._bucket, self._clock = Buckets(per_s, burst, size=1), clock
        self.held_back = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record may pass now."""
        now = self._clock()
        if self._bucket.wait("", now) > 0:
            self.held_back += 1
            return False
        self._bucket.take("", now)
        if self.held_back:
            record.msg, record.args = f"{_message(record)} (and {self.held_back} like it)", ()
            self.held_back = 0
        return True


class _Handoff(logging.Handler):
    """Formats in the caller and writes in a thread; a full queue drops and counts lines."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.dropped = 0
        self._stream = stream
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line of *record*; never blocks or raises."""
        try:
            if self._lines.qsize() >= QUEUE_SIZE:
                self.dropped += 1
                return
            record.request_id = request_id.get()
            self._lines.put(self.format(record))
        except Exception:  # noqa: BLE001 - a log line is never worth a request
            self.dropped += 1

    def finish(self, patience_s: float = 1.0) -> None:
        """Write what is queued, for at most *patience_s* seconds."""
        self._ending.set()
        self._lines.put(None)
        self._thread.join(patience_s)

    def close(self) -> None:
        """Write what is queued; logging calls this when the process ends."""
        if not self._ending.is_set():
            self.finish()
        super().close()

    def _write(self) -> None:
        ended = False
        while not ended and (line := self._lines.get()) is not None:
            # Wait for more lines: waking this thread for each would cost the event loop more than
            # all the rest of logging.
            self._ending.wait(GATHER_S)
            gathered = [line]
            while not self._lines.empty() and len(gathered) < QUEUE_SIZE:
                following = self._lines.get()
                if following is None:
                    ended = True
                    break
                gathered.append(following)
            if self.dropped:
                gathered.append(json.dumps({"level": "warning", "dropped_lines": self.dropped}))
                self.dropped = 0
            # A closed standard error does no harm; a blocked one only blocks this thread.
            with suppress(OSError, ValueError):
                self._stream.write("\n".join(gathered) + "\n")
                self._stream.flush()


@contextmanager
def logging_to(stream: TextIO | None = None, level: str = "info") -> Iterator[None]:
    """Log records of at least *level* to *stream* (standard error) while the block runs."""
    handler, throttle = _Handoff(stream or sys.stderr), Throttle()
    handler.setFormatter(JsonLines())
    root, server = logging.getLogger(), logging.getLogger("aiohttp.server")
    before = root.level
    server.addFilter(throttle)
    root.addHandler(handler)
    root.setLevel(level.upper())
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        server.removeFilter(throttle)
        handler.close()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)  # keep the line even if its arguments do not fit
