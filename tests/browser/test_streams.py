"""The streams in a real browser, whose EventSource comes back after the bridge was restarted."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.bridge.bridgekit import Json
from tests.bridge.live.conftest import Begin, begin
from tests.bridge.live.streamkit import cue, frame
from tests.browser.window import Window
from tests.waiting import until

__all__ = ["begin"]
pytestmark = pytest.mark.browser

FOLLOW = """
window.got = {times: [], cues: [], hellos: 0};
window.frames_ = new EventSource('/telemetry/stream?session_id=SIM');
frames_.addEventListener('telemetry', (e) => got.times.push(JSON.parse(e.data).timestamp));
frames_.addEventListener('hello', () => { got.hellos += 1; });
window.cues_ = new EventSource('/cues/stream?session_id=s');
cues_.addEventListener('message', (e) => got.cues.push(JSON.parse(e.data).text));
cues_.addEventListener('hello', () => { got.hellos += 1; });
"""


async def test_a_page_follows_a_session_over_a_restart(window: Window, begin: Begin) -> None:
    async def got(name: str, wanted: Json) -> None:
        def there() -> bool:
            return bool(window.js(f"return window.got.{name}") == wanted)

        assert await asyncio.to_thread(window.until, there, 20)

    async with begin() as live:
        port = live.main.port
        live.hub.follow(lambda: "s")
        await asyncio.to_thread(window.open, f"{live.main.url}/health")
        await asyncio.to_thread(window.js, FOLLOW)
        await got("hellos", 2)
        for at in (1.0, 2.0):
            live.hub.publish_frame(frame(t=at))
        live.hub.publish_cue(cue("before"))
        await got("times", [1.0, 2.0])
        await got("cues", ["before"])
    async with begin(port) as live:
        live.hub.follow(lambda: "s")
        live.hub.publish_cue(cue("while the page was away"))
        await until(lambda: live.hub.listeners == 2)
        live.hub.publish_frame(frame(t=3.0))
        live.hub.publish_cue(cue("after"))
        await got("times", [1.0, 2.0, 3.0])
        await got("cues", ["before", "while the page was away", "after"])
        await asyncio.to_thread(window.js, "frames_.close(); cues_.close();")
        await until(lambda: not live.hub.listeners)


async def test_the_line_of_the_readme_hears_a_cue(window: Window, begin: Begin, root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^new EventSource.*$", readme, re.MULTILINE)
    async with begin(cors_origins=["*"]) as live:
        live.hub.follow(lambda: "s")
        await asyncio.to_thread(window.open, f"{live.main.url}/health")
        typed = line.replace(":8765/", f":{live.main.port}/")
        typed = typed.replace("console.log(", "heard.push(")
        await asyncio.to_thread(window.js, f"window.heard = []; {typed}")
        await until(lambda: live.hub.listeners == 1)
        live.hub.publish_cue(cue("Brake at the 100 m board."))

        def heard() -> bool:
            return bool(window.js("return window.heard") == ["Brake at the 100 m board."])

        assert await asyncio.to_thread(window.until, heard, 20)
