"""A built site as a static host serves it, and what its pages link to."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

from course.build import Options, build

TYPES: Final = {".md": "text/markdown", ".ipynb": "application/x-ipynb+json"}


@dataclass(slots=True)
class Host:
    """A running server: its address with a final slash, and every path that was asked of it."""

    url: str
    asked: list[tuple[str, int]] = field(default_factory=list)

    def missing(self) -> list[str]:
        """The paths that were not there, less the icon that browsers ask for unprompted."""
        return [path for path, status in self.asked if status == 404 and path != "/favicon.ico"]


@contextmanager
def served(site: Path, prefix: str = "/", headers: dict[str, str] | None = None) -> Iterator[Host]:
    """Serve the folder *site* below *prefix* as a static host does, ``404.html`` included."""

    class Answers(_Answers):
        pass

    Answers.site, Answers.prefix, Answers.extra = site, prefix, headers or {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    Answers.host = host = Host(f"http://127.0.0.1:{server.server_address[1]}{prefix}")
    runner = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    runner.start()
    try:
        yield host
    finally:
        server.shutdown()
        runner.join()
        server.server_close()


class _Answers(BaseHTTPRequestHandler):
    site: Path
    prefix: str
    extra: dict[str, str]
    host: Host
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not path.startswith(self.prefix):
            return self._send(404, b"outside", "text/plain")
        found = self.site / path.removeprefix(self.prefix)
        if path.endswith("/"):
            found /= "index.html"
        if found.is_dir():
            return self._send(301, b"", "text/plain", {"Location": f"{path}/"})
        if not found.is_file():
            return self._send(404, (self.site / "404.html").read_bytes(), "text/html")
        kind = TYPES.get(found.suffix) or guess_type(found.name)[0] or "application/octet-stream"
        return self._send(200, found.read_bytes(), kind)

    def _send(
        self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None
    ) -> None:
        self.host.asked.append((self.path, status))
        self.send_response(status)
        text = kind.startswith("text/")
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in {**self.extra, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        """Keep quiet: a test prints what it needs."""


def site_headers(site: Path) -> dict[str, str]:
    """The headers that the built ``_headers`` file asks for on every path."""
    rule = (site / "_headers").read_text("utf-8").partition("\n\n")[0]
    pairs = (line.strip().partition(": ") for line in rule.splitlines()[1:])
    return {name: value for name, _, value in pairs}


class Page(HTMLParser):
    """The tags of one page, each with its attributes, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()
        self.links = [tag[name] for _, tag in self.tags for name in ("href", "src") if name in tag]
        self.links += [
            tag["content"].partition("url=")[2]
            for tag in self.all("meta")
            if tag.get("http-equiv", "").lower() == "refresh"
        ]
        self.ids = {tag["id"] for _, tag in self.tags if "id" in tag}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag; of an attribute that appears twice the first counts."""
        self.tags.append((tag, {name: value or "" for name, value in reversed(attrs)}))

    def all(self, *names: str) -> list[dict[str, str]]:
        """The attributes of each tag of these names."""
        return [attributes for name, attributes in self.tags if name in names]

    def inline(self) -> list[str]:
        """What a strict content policy refuses: script and style in the page, and handlers."""
        found = ["style" for _ in self.all("style")]
        found += ["script" for script in self.all("script") if "src" not in script]
        for _, attributes in self.tags:
            found += [name for name in attributes if name == "style" or name.startswith("on")]
        return found

    def harmful(self) -> list[str]:
        """Addresses that run code or leave the site unseen, and handlers."""
        plain = [re.sub(r"[\x00-\x20]", "", link).casefold() for link in self.links]
        schemes = ("javascript:", "data:", "vbscript:", "//", "\\")
        found = [link for link in plain if link != "data:," and link.startswith(schemes)]
        return found + [name for _, tag in self.tags for name in tag if name.startswith("on")]


@dataclass(slots=True)
class Crawl:
    """What a visitor reaches from the start page: path below the prefix to status and digest."""

    reached: dict[str, tuple[int, str]] = field(default_factory=dict)
    outside: list[tuple[str, str]] = field(default_factory=list)

    def bad(self) -> dict[str, int]:
        """Paths that did not answer 200."""
        return {path: status for path, (status, _) in self.reached.items() if status != 200}


def get(url: str, connection: HTTPConnection | None = None) -> tuple[int, str, bytes]:
    """Status, content type and body of *url*; redirects are not followed."""
    parts = urlsplit(url)
    link = connection or HTTPConnection(parts.netloc, timeout=10)
    link.request("GET", parts.path)
    answer = link.getresponse()
    body = answer.read()
    if connection is None:
        link.close()
    return answer.status, answer.headers["Content-Type"], body


def crawl(start: str) -> Crawl:
    """Follow every link from *start*, a folder's address, within its host."""
    found, todo = Crawl(), [start]
    connection = HTTPConnection(urlsplit(start).netloc, timeout=10)
    while todo:
        url = todo.pop()
        if url.removeprefix(start) in found.reached:
            continue
        status, kind, body = get(url, connection)
        found.reached[url.removeprefix(start)] = status, hashlib.sha256(body).hexdigest()
        if not kind.startswith("text/html") or status != 200:
            continue
        for link in Page(body.decode()).links:
            target = urldefrag(urljoin(url, link))[0]
            if target.startswith(start):
                todo.append(target)
            elif not link.startswith(("https:", "mailto:", "data:")):
                found.outside.append((url, link))
    connection.close()
    return found


def built(root: Path, out: Path) -> Path:
    """Build the course below *root* without a cache; returns the site."""
    report = build(Options(root=root, out=out))
    assert report.written, report.diagnostics
    return out


def data(site: Path, name: str) -> Any:
    """A JSON file of the site."""
    return json.loads((site / name).read_bytes())


def resource(site: Path, name: str) -> dict[str, Any]:
    """One of the named resources of the interface."""
    found: dict[str, Any] = data(site, f"api/v1/{name}.json")
    return found


def lessons(site: Path) -> dict[str, dict[str, Any]]:
    """Every lesson resource by its file name."""
    return {path.stem: json.loads(path.read_bytes()) for path in site.glob("api/v1/lessons/*.json")}


def listed(site: Path) -> list[dict[str, Any]]:
    """The lessons of the catalog in course order."""
    phases = resource(site, "catalog")["phases"]
    return [lesson for phase in phases for lesson in phase["lessons"]]


def files(folder: Path) -> list[Path]:
    """Every file below *folder*, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def pages(site: Path) -> dict[str, Page]:
    """Every HTML page by its path."""
    found = sorted(site.rglob("*.html"))
    return {p.relative_to(site).as_posix(): Page(p.read_text("utf-8")) for p in found}
