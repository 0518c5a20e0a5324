"""A bridge for the tests of its pages, and what every page is held against."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from runtime.bridge.session.recording import Frames
from tests.bridge.bridgekit import ROOT
from tests.browser.window import Window

HOSTILE: Final = "<img src=x onerror='window.hacked = 1'>"
SMALL: Final = """
const small = new Set();
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (own && parseFloat(getComputedStyle(element).fontSize) < 12) small.add(element.outerHTML);
}
return [...small];
"""


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[str]:
    """The address of a bridge of its own, without a language model."""
    common = ["--port", "0", "--db", str(folder), "--db-backend", "lightweight", "--model-url", ""]
    with subprocess.Popen(
        [sys.executable, "-m", "runtime.bridge", *common, *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()
        assert process.wait(20) == 0


def post(address: str, path: str, body: Any) -> Any:
    """The JSON of the answer."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def record(address: str, session: dict[str, str], frames: Frames, *, without: str = "") -> None:
    """Store a session with these frames, which lack the channels of *without*, and end it."""
    columns = {
        name: [None if np.isnan(value) else value for value in values.tolist()]
        for name, values in frames.columns.items()
        if name not in without.split()
    }
    post(address, "/session/start", session)
    post(address, f"/session/{session['session_id']}/frames", {"columns": columns})
    post(address, f"/session/{session['session_id']}/end", {})


def got(address: str, path: str) -> Any:
    """The JSON of the answer."""
    with urllib.request.urlopen(address + path, timeout=30) as answer:
        return json.load(answer)


def said(window: Window, selector: str) -> str:
    """The text of the first element that matches, also of one that is drawn anew meanwhile."""
    words = "return document.querySelector(arguments[0])?.textContent ?? ''"
    text: str = window.js(words, selector)
    return text


def faults(window: Window, address: str) -> list[str]:
    """What is wrong with the page as it is: barriers, overflow, small print, noise, other hosts."""
    found = window.barriers()
    for width in (320, 390, 1024, 1440):
        if over := window.overflow(width):
            found.append(f"{over} px wider than {width} px")
    found += [f"small print: {html}" for html in window.js(SMALL)]
    found += window.console()
    asked = [url for url in window.requests() if not url.startswith(("data:", "about:"))]
    found += [f"asked {url}" for url in asked if not url.startswith(address)]
    return found
