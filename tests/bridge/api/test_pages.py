"""Pages: browsers get them, programs get what they got before."""

import re

import pytest

from runtime.bridge.api.pages import PATHS
from runtime.web.pages import POLICY
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import ONE_BACKEND

pytestmark = ONE_BACKEND
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", PATHS)
async def test_a_page_loads_files_of_its_own_host_only(bridge: Bridge, path: str) -> None:
    page = await bridge.request("GET", path, headers=BROWSER)
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"] == POLICY
    text = page.body.decode()
    files = re.findall(r'(?:src|href)="(/ui/[0-9a-f]+/[^"]+)"', text)
    assert len(files) > 3
    for file in files:
        assert (await bridge.request("GET", file)).status == 200, file
    assert not re.search(r"https?://|<style|<script>|style=", text)


async def test_programs_get_a_line_about_the_bridge(bridge: Bridge) -> None:
    for accept in ("*/*", "application/json"):
        answer = await bridge.request("GET", "/", headers={"Accept": accept})
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert answer.headers["Vary"] == "Accept"
        assert "/openapi.json" in answer.body.decode()


async def test_every_file_that_a_module_imports_is_there(bridge: Bridge) -> None:
    """Also those that only a page without a test of its own in a browser would miss."""
    page = (await bridge.request("GET", "/", headers=BROWSER)).body.decode()
    (folder,) = set(re.findall(r'"(/ui/[0-9a-f]+)/', page))
    waiting, seen = ["sessions.js", "live.js", "session.js", "spectator.js", "docs.js"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        answer = await bridge.request("GET", f"{folder}/{name}")
        assert answer.status == 200, name
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        waiting += re.findall(r'^import .*from "\./([^"]+)";', answer.body.decode(), re.M)
    assert {"vendor/uplot/uPlot.esm.js", "dom.js", "timing.js"} <= seen
