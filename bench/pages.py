"""How soon the page of a stored hour at 100 Hz is ready, and what the pit wall costs.

Measured in Chromium without a graphics card, 1440 by 900 pixels. The page itself marks when it is
ready: laps, charts and map are drawn. The list of sessions was requested before. The first visit
reads the telemetry; later visits use the cached results. For the pit wall, the share of a core
covers all processes of the browser.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from bench.analytics import FRAMES, drive, fill
from bench.common import BACKENDS, Figure, Server, bridge
from tests.browser.window import Window

READY: Final = "return performance.getEntriesByName('ready')[0]?.startTime ?? null"
COUNT: Final = """
window.draws = new Map();
const copy = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (...place) {
  window.draws.set(this.canvas, (window.draws.get(this.canvas) ?? 0) + 1);
  return copy.apply(this, place);
};
"""
WATCH_S: Final = 10.0
WARM_S: Final = 5.0
SIZE: Final = (1440, 900)
PERIOD_MS: Final = 20
"""Between two frames of the simulated car: 50 Hz."""


def ready_ms(window: Window, server: Server) -> float:
    """Milliseconds from the request for the page to its own mark."""
    window.open("about:blank")
    window.open(f"{server.url}/ui/session?session=hour")
    milliseconds: float = window.until(lambda: window.js(READY))
    return milliseconds


def measure(window: Window, name: str) -> Iterator[Figure]:
    """Measure the session page on one back-end."""
    with bridge(BACKENDS[name], "--model-url", "") as server:
        server.post("/session/start", {"session_id": "hour", "driver": "Ada"})
        fill(server, drive(FRAMES))
        server.post("/session/hour/end", {})
        server.get("/sessions")
        before = server.cpu_s()
        first = ready_ms(window, server)
        used = (server.cpu_s() - before) * 1e3
        again = min(ready_ms(window, server) for _ in range(3))
    yield Figure(f"{name}: session page ready at first", "ms", first)
    yield Figure(f"{name}: processor time of the bridge for that", "ms", used)
    yield Figure(f"{name}: opened again", "ms", again)


def browser_s(window: Window) -> float:
    """Processor time used by all processes of the browser, in seconds."""
    driver = psutil.Process(window.driver.service.process.pid)
    return sum(sum(process.cpu_times()[:2]) for process in driver.children(recursive=True))


def watch(window: Window) -> Iterator[Figure]:
    """Measure the pit wall while a car sends 50 frames a second."""
    flags = ("--simulate", "--can-flush-ms", str(PERIOD_MS), "--model-url", "")
    with bridge(BACKENDS["SQLite"], *flags) as server:
        window.open(f"{server.url}/ui/live")
        window.until(lambda: window.one("#feed").text == "Live")
        time.sleep(WARM_S)
        window.js(COUNT)
        began, used = time.monotonic(), browser_s(window)
        time.sleep(WATCH_S)
        used = browser_s(window) - used
        took = time.monotonic() - began
        draws = max(window.js("return [...window.draws.values()]"), default=0)
    yield Figure("pit wall at 50 Hz", "draws/s", draws / took)
    yield Figure("pit wall at 50 Hz, browser", "cores", used / took)


def figures() -> Iterator[Figure]:
    """The rows of the session page and of the pit wall."""
    with tempfile.TemporaryDirectory() as profile:
        window = Window(Path(profile), logs=False)
        window.size(*SIZE)
        try:
            for name in BACKENDS:
                yield from measure(window, name)
            yield from watch(window)
        finally:
            window.close()
