"""The service worker of the site, with the list of the files that it may keep."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

WORKER: Final = "sw.js"
"""Its path: a worker looks after the folder in which it lies."""

_SOURCE: Final = Path(__file__).with_name("worker.js")
_LIST: Final = "[/* every page, asset, picture and part of the search index */]"
_KEPT: Final = ("assets/", "media/", "search/")
_NOT_KEPT: Final = ("print/", "404")


def worker(course: str, paths: Iterable[str]) -> str:
    """The script for the site *course* that consists of *paths*.

    It changes when a name of the list does, so that a browser lets go of what is gone.
    """
    kept = sorted(
        path.removesuffix("index.html") if path.endswith("/index.html") else path
        for path in paths
        if path.startswith(_KEPT) or (path.endswith(".html") and not path.startswith(_NOT_KEPT))
    )
    names = ["" if path == "index.html" else path for path in kept]
    text = _SOURCE.read_text("utf-8").replace("COURSE", course)
    return text.replace(_LIST, json.dumps(names, indent=0))
