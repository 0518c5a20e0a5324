"""How soon the page of a stored hour at 100 Hz is ready, and how often the pit wall draws.

In Chromium without a graphics card. "Ready" is what the page itself marks: laps, charts and map are
drawn. The list of sessions has been looked at before; the first opening reads the telemetry, later
ones find what was computed. Processor time is that of the bridge.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.analytics import drive, fill
from bench.common import BACKENDS, Figure, Server, arguments, bridge, show
from tests.browser.window import Window

READY: Final = "return performance.getEntriesByName('ready')[0]?.startTime ?? null"
COUNT: Final = """
window.draws = new Map();
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...place) {
  window.draws.set(this.canvas, (window.draws.get(this.canvas) ?? 0) + 1);
  return clear.apply(this, place);
};
"""
WATCH_S: Final = 20.0


def ready_ms(window: Window, server: Server) -> float:
    """Milliseconds from the request for the page to what it marks."""
    window.open("about:blank")
    window.open(f"{server.url}/ui/session?session=hour")
    found: float = window.until(lambda: window.js(READY))
    return found


def measure(window: Window, name: str, frames: int) -> Iterator[Figure]:
    """The session page on one back-end."""
    with bridge(BACKENDS[name], "--model-url", "") as server:
        server.post("/session/start", {"session_id": "hour", "driver": "Ada"})
        fill(server, drive(frames))
        server.post("/session/hour/end", {})
        server.get("/sessions")
        before = server.cpu_s()
        first = ready_ms(window, server)
        used = (server.cpu_s() - before) * 1e3
        again = min(ready_ms(window, server) for _ in range(3))
    yield Figure(f"{name}: session page ready at first, ms", f"{first:,.0f}")
    yield Figure(f"{name}: processor time of the bridge for that, ms", f"{used:,.0f}")
    yield Figure(f"{name}: opened again, ms", f"{again:,.0f}")


def watch(window: Window, seconds: float) -> Iterator[Figure]:
    """The pit wall while the simulator drives."""
    with bridge(BACKENDS["SQLite"], "--simulate", "--model-url", "") as server:
        window.open(f"{server.url}/ui/live")
        time.sleep(5)
        window.js(COUNT)
        time.sleep(seconds)
        draws = window.js("return [...window.draws.values()]")
    most = max(draws, default=0) / seconds
    yield Figure(f"pit wall: draws a second of the busiest of {len(draws)} canvases", f"{most:.1f}")


def main() -> int:
    """Print the table."""
    options = arguments("pages", __doc__).parse_args()
    frames = 60_000 if options.quick else 360_000
    with tempfile.TemporaryDirectory() as profile:
        window = Window(Path(profile))
        try:
            rows = [row for name in BACKENDS for row in measure(window, name, frames)]
            rows += watch(window, WATCH_S / 4 if options.quick else WATCH_S)
        finally:
            window.close()
    show(f"pages, {frames:,} frames", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
