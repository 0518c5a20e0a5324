"""How soon the page of a stored hour at 100 Hz is ready, and what the pit wall costs.

In Chromium without a graphics card, 1440 by 900 pixels. "Ready" is what the page itself marks:
laps, charts and map are drawn. The list of sessions has been looked at before; the first opening
reads the telemetry, later ones find what was computed. Processor time is that of the bridge. The
share of a core that the pit wall takes is that of all processes of the browser.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import psutil

from bench.analytics import FRAMES, Columns, drive, fill
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
"""Between two frames of the synthetic car: 50 Hz."""
FLOOD: Final = 50_000
FLOOD_S: Final = 15.0
PIECE: Final = 100
TABS: Final = 3


def ready_ms(window: Window, server: Server) -> float:
    """Milliseconds from the request for the page to what it marks."""
    window.open("about:blank")
    window.open(f"{server.url}/ui/session?session=hour")
    found: float = window.until(lambda: window.js(READY))
    return found


def measure(window: Window, name: str) -> Iterator[Figure]:
    """The session page on one back-end."""
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


def simulated() -> AbstractContextManager[Server]:
    """A bridge whose synthetic car drives at 50 Hz."""
    period = ("--can-flush-ms", str(PERIOD_MS))
    return bridge(BACKENDS["SQLite"], "--simulate", *period, "--model-url", "")


def browser_s(window: Window) -> float:
    """Seconds of processor time that the browser has used, all its processes together."""
    driver = psutil.Process(window.driver.service.process.pid)
    return sum(sum(process.cpu_times()[:2]) for process in driver.children(recursive=True))


def open_wall(window: Window, server: Server) -> None:
    """Show the pit wall and wait for the car."""
    window.open(f"{server.url}/ui/live")
    window.until(lambda: window.one("#feed").text == "Live")


def watch(window: Window) -> Iterator[Figure]:
    """The pit wall while a car sends 50 frames a second."""
    with simulated() as server:
        open_wall(window, server)
        time.sleep(WARM_S)
        window.js(COUNT)
        began, used = time.monotonic(), browser_s(window)
        time.sleep(WATCH_S)
        used = browser_s(window) - used
        took = time.monotonic() - began
        draws = max(window.js("return [...window.draws.values()]"), default=0)
    yield Figure("pit wall at 50 Hz", "draws/s", draws / took)
    yield Figure("pit wall at 50 Hz, browser", "cores", used / took)


def flood(window: Window) -> Iterator[Figure]:
    """What the pit wall holds before and after many more frames than a screen can show."""
    first = FLOOD // 10
    columns = drive(first + FLOOD)
    with bridge(BACKENDS["SQLite"], "--model-url", "") as server:
        server.post("/session/start", {"session_id": "hour"})
        window.open(f"{server.url}/ui/live")
        send(server, columns, 0, first)
        window.until(lambda: window.one("#feed").text == "Live")
        before = window.held()
        send(server, columns, first, first + FLOOD)
        after = window.held()
    for name in before:
        grown = 100 * (after[name] / before[name] - 1)
        yield Figure(f"pit wall, growth of its {name} over {FLOOD:,} frames", "%", grown)


def send(server: Server, columns: Columns, begin: int, end: int) -> None:
    """Send frames of a drive, as fast as `FLOOD` in `FLOOD_S` at most."""
    began = time.monotonic()
    for first in range(begin, end, PIECE):
        due = began + (first - begin) * FLOOD_S / FLOOD
        time.sleep(max(0.0, due - time.monotonic()))
        piece = {name: values[first : first + PIECE].tolist() for name, values in columns.items()}
        server.post("/session/hour/frames", {"columns": piece})


def open_several(window: Window) -> Iterator[Figure]:
    """How soon one more window of the pit wall is live while others are open."""
    with simulated() as server:
        for _ in range(TABS - 1):
            window.driver.switch_to.new_window("window")
            open_wall(window, server)
        window.driver.switch_to.new_window("window")
        began = time.monotonic()
        open_wall(window, server)
        took = time.monotonic() - began
    yield Figure(f"pit wall, window {TABS} live after", "ms", took * 1e3)


def figures() -> Iterator[Figure]:
    """The rows of the session page and of the pit wall."""
    with tempfile.TemporaryDirectory() as profile:
        window = Window(Path(profile), logs=False)
        window.size(*SIZE)
        try:
            for name in BACKENDS:
                yield from measure(window, name)
            yield from watch(window)
            yield from flood(window)
            yield from open_several(window)
        finally:
            window.close()
