"""The steps on the way to an answer, as rows."""

import threading
import time
from typing import Final

from runtime.bridge.storage.coaching import TraceRow

LONGEST_DETAIL: Final = 500


class Clock:
    """Unix microseconds that never come twice, so that a reader who asks for newer rows by the
    time of the last one skips none."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def now(self) -> int:
        """A moment behind every one before."""
        with self._lock:
            self._last = max(time.time_ns() // 1000, self._last + 1)
            return self._last


CLOCK: Final = Clock()


class Trace:
    """The steps of one question."""

    def __init__(self, trace_id: str, session_id: str) -> None:
        self.trace_id = trace_id
        self.agent = ""
        """Name of the role that answers."""
        self.rows: list[TraceRow] = []
        self._session_id = session_id

    def add(
        self, event: str, detail: str, latency_ms: float = 0.0, *, success: bool = True
    ) -> None:
        """Note a step."""
        self.rows.append(
            TraceRow(
                trace_id=self.trace_id,
                session_id=self._session_id,
                agent_name=self.agent,
                event_type=event,
                detail=detail[:LONGEST_DETAIL],
                ts=CLOCK.now(),
                latency_ms=round(latency_ms, 3),
                success=success,
            )
        )
