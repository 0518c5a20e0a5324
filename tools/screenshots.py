"""Takes a picture of each page of the bridge, at three widths, light and dark.

    python -m tools.screenshots [FOLDER]

A bridge of its own runs with a simulated car, five times as fast as time, and the pictures are
taken once a few laps are driven. Needs Chromium and its driver (`make test-deps`).
"""

import argparse
import base64
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.common import Server, bridge
from runtime.bridge.lifespan import EXAMPLE_SESSION as EXAMPLE
from tests.browser.window import Window, installed

WIDTHS: Final = {390: 844, 1024: 768, 1440: 900}
"""CSS pixels, and the height of such a window."""
SCHEMES: Final = ("light", "dark")
SPEED: Final = 5.0
LAPS: Final = 3
LONGEST_S: Final = 300.0
READY: Final = "return performance.getEntriesByName('ready').length"
LIVE: Final = """
const said = (id) => document.getElementById(id).textContent;
return said('best').includes(':') && said('track-title') !== 'Track'
"""
SETTLED_S: Final = 6.0
"""Time for a streaming page to draw enough: half a minute of the car's time."""


class Page(NamedTuple):
    """A page and the name of its pictures."""

    name: str
    path: str
    whole: bool = True
    """Whether to capture the whole page."""
    ready: str = "return document.readyState === 'complete'"
    """A script that returns whether the page is ready."""


def wait_for_laps(server: Server) -> str:
    """Return the session of the simulator, once it has laps."""
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        for row in json.loads(server.get("/sessions"))["sessions"]:
            if row["lap_count"] >= LAPS and row["session_id"] != EXAMPLE:
                session: str = row["session_id"]
                return session
        time.sleep(1.0)
    raise TimeoutError(f"no {LAPS} laps in {LONGEST_S:.0f} s")


def pages(server: Server) -> Iterator[Page]:
    """Yield the pages to capture."""
    session = wait_for_laps(server)
    yield Page("sessions", "/")
    yield Page("live", "/ui/live", ready=LIVE)
    yield Page("session", f"/ui/session?session={EXAMPLE}", ready=READY)
    yield Page("driver", "/ui/driver")
    yield Page("car", "/ui/car")
    yield Page("reference", "/docs", whole=False)
    token = json.loads(server.post("/spectator/token", {"session_id": session}))
    yield Page("spectator", token["url"], ready=LIVE)


def shoot(window: Window, file: Path, *, whole: bool) -> None:
    """Write the content of the window as a PNG."""
    options: dict[str, object] = {"format": "png"}
    if whole:
        size = window.cdp("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        options |= {"captureBeyondViewport": True, "clip": clip}
    file.write_bytes(base64.b64decode(window.cdp("Page.captureScreenshot", **options)["data"]))


def main() -> int:
    """Take all pictures."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("pictures"))
    folder: Path = parser.parse_args().folder
    if installed() is None:
        print("there is no Chromium with its driver: make test-deps", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    simulated = ("--example", "--model-url", "", "--simulate", "--simulate-speed", str(SPEED))
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        bridge("lightweight", *simulated) as server,
    ):
        window = Window(Path(profile))
        for page in pages(server):
            for scheme in SCHEMES:
                window.media(scheme=scheme)
                for width, height in WIDTHS.items():
                    window.size(width, height)
                    window.open(server.url + page.path)
                    window.until(partial(window.js, page.ready), LONGEST_S)
                    time.sleep(SETTLED_S)
                    file = folder / f"{page.name}-{width}-{scheme}.png"
                    shoot(window, file, whole=page.whole)
                    print(file)
        window.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
