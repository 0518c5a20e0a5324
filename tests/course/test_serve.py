"""The author's server: the same answers as a static host, and pages that follow the sources."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator

import pytest

from course.serve_files import is_allowed_host
from tests.course.coursekit import write_course
from tests.course.servekit import Answer, Served, ask, serving

PREFIX = "/course"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = write_course(tmp_path_factory.mktemp("served"))
    with serving(root, PREFIX) as running:
        yield running


# -- what a host answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("lessons/brake-trace/", "text/html; charset=utf-8"),
        ("lessons/brake-trace/index.html", "text/html; charset=utf-8"),
        ("lessons/brake-trace/index.md", "text/markdown; charset=utf-8"),
        ("api/v1/catalog.json", "application/json"),
        ("api/v1/lessons/brake-trace.json", "application/json"),
        ("downloads/brake-trace.ipynb", "application/x-ipynb+json"),
        ("downloads/lap-kit.zip", "application/zip"),
        ("corpus/chunks.jsonl", "application/jsonl"),
        ("llms.txt", "text/plain; charset=utf-8"),
        ("openapi.json?x=1", "application/json"),
    ],
)
def test_a_file_of_the_site_comes_with_its_content_type(
    served: Served, path: str, kind: str
) -> None:
    answer = served.ask(f"{PREFIX}/{path}")
    assert (answer.status, answer.headers["content-type"]) == (200, kind)


def test_every_file_of_the_manifest_is_served_as_it_was_built(served: Served) -> None:
    out = served.server.live.options.out
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) > 30
    for path in files:
        answer = served.ask(f"{PREFIX}/{path.relative_to(out).as_posix()}")
        data = path.read_bytes()
        same = answer.body if path.suffix != ".html" else without_script(answer)
        assert (answer.status, same == data) == (200, True), path


def without_script(answer: Answer) -> bytes:
    return re.sub(rb'<script src="/course/__reload[^\n]*\n', b"", answer.body)


@pytest.mark.parametrize(
    "path",
    ["nope", "nope/", "lessons/nope/", "api/v1/lessons/nope.json", "lessons/brake-trace/index.htm"],
)
def test_an_unknown_path_answers_404_with_the_page_of_the_site(served: Served, path: str) -> None:
    answer = served.ask(f"{PREFIX}/{path}")
    page = (served.server.live.options.out / "404.html").read_bytes()
    assert (answer.status, without_script(answer)) == (404, page)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/", 302, "/course/"),
        ("/course", 302, "/course/"),
        ("/course/lessons/brake-trace", 301, "/course/lessons/brake-trace/"),
        ("/course/lessons/brake-trace?a=b", 301, "/course/lessons/brake-trace/?a=b"),
        ("/course/lessons/brake%2Dtrace", 301, "/course/lessons/brake-trace/"),
    ],
)
def test_a_folder_without_its_slash_redirects(
    served: Served, path: str, status: int, location: str
) -> None:
    answer = served.ask(path)
    assert (answer.status, answer.headers["location"]) == (status, location)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/nope", "/courses/", "/lessons/brake-trace/", "//course/"])
def test_outside_the_prefix_a_404_shows_the_way_in(served: Served, path: str) -> None:
    answer = served.ask(path)
    assert answer.status == 404
    assert b'<a href="/course/">' in answer.body


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "%2e%2e/secret.txt",
        "lessons/../../secret.txt",
        "lessons/..%2f..%2fsecret.txt",
        "..%5csecret.txt",
        "%2e%2e%2fsecret.txt",
        "./index.html",
        "//index.html",
        "/",
        "lessons//brake-trace/",
        "index.html%00",
        "index.html%00.png",
        "%ff%fe",
        "index.html/",
        "C:/secret.txt",
        "%2fetc%2fpasswd",
        "x" * 300,
        "a/" * 1500,
        "way-out/secret.txt",
        "way-out",
        "alias.txt",
        "pipe",
    ],
)
def test_nothing_outside_the_site_is_ever_read(served: Served, path: str) -> None:
    out = served.server.live.options.out
    (out.parent / "secret.txt").write_text("secret")
    for link, target in (("way-out", out.parent), ("alias.txt", out.parent / "secret.txt")):
        if not (out / link).is_symlink():
            (out / link).symlink_to(target)
    if not (out / "pipe").exists():
        os.mkfifo(out / "pipe")
    answer = served.ask(f"{PREFIX}/{path}")
    for name in ("way-out", "alias.txt", "pipe"):
        (out / name).unlink()
    assert answer.status == 404
    assert b"secret" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/course/", "/course/__reload"])
def test_only_get_and_head_are_allowed(served: Served, method: str, path: str) -> None:
    answer = served.ask(path, method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["", "nope", "api/v1/catalog.json", "__reload.js"])
def test_head_tells_the_same_without_a_body(served: Served, path: str) -> None:
    get, head = (served.ask(f"{PREFIX}/{path}", method) for method in ("GET", "HEAD"))
    assert (head.status, head.body) == (get.status, b"")
    assert get.headers["content-length"] == str(len(get.body))
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}


def test_the_headers_of_the_site_apply_except_for_lifetimes(served: Served) -> None:
    page, catalog = (served.ask(f"{PREFIX}/{path}") for path in ("", "api/v1/catalog.json"))
    style = re.search(rb'href="(assets/[^"]+\.css)"', page.body)
    assert style is not None
    asset = served.ask(f"{PREFIX}/{style[1].decode()}")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "access-control-allow-origin" not in page.headers
    assert catalog.headers["access-control-allow-origin"] == "*"
    assert (page.headers["cache-control"], catalog.headers["cache-control"]) == ("no-cache",) * 2
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"


# -- who may ask --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("localhost@evil.example", 403),
        ("0.0.0.0", 403),
        ("2130706433", 403),
        ("", 403),
        ("localhost:x", 403),
    ],
)
def test_a_foreign_host_name_gets_nothing(served: Served, host: str, status: int) -> None:
    for path in ("/course/", "/course/__reload.js"):
        assert served.ask(path, headers={"Host": host}).status == status


@pytest.mark.parametrize(
    ("header", "bound", "local", "answer"),
    [
        ("192.0.2.7:8000", "0.0.0.0", "192.0.2.7", True),
        ("192.0.2.8:8000", "0.0.0.0", "192.0.2.7", False),
        (socket.gethostname(), "0.0.0.0", "192.0.2.7", True),
        (socket.gethostname(), "127.0.0.1", "127.0.0.1", socket.gethostname() == "localhost"),
        ("0.0.0.0", "0.0.0.0", "0.0.0.0", False),
        ("[::]", "::", "::", False),
        ("rebound.example", "0.0.0.0", "192.0.2.7", False),
    ],
)
def test_on_a_network_only_the_reached_address_and_our_own_name_are_added(
    header: str, bound: str, local: str, answer: bool
) -> None:
    assert is_allowed_host(header, bound, local) is answer


def test_the_reload_script_is_in_answers_and_never_in_files(served: Served) -> None:
    out = served.server.live.options.out
    page = served.ask(f"{PREFIX}/lessons/brake-trace/").body.decode()
    script = re.search(
        r'<script src="(/course/__reload\.js\?site=[0-9a-f]+)" defer></script>', page
    )
    assert script is not None
    assert served.ask(script[1]).headers["content-type"] == "text/javascript; charset=utf-8"
    assert all(b"__reload" not in path.read_bytes() for path in out.rglob("*") if path.is_file())


def test_a_server_on_port_0_is_found_by_its_address(served: Served) -> None:
    assert served.server.url == f"http://127.0.0.1:{served.port}/course/"
    assert ask(served.port, "/course/").status == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_400_and_no_log(
    served: Served, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(data)
        assert b" 400 " in connection.recv(100)
    assert caplog.records == []


@pytest.mark.parametrize("target", ["http://evil.example/course/", "*", "course/"])
def test_a_target_that_is_no_path_finds_nothing(served: Served, target: str) -> None:
    assert served.ask(target, headers={"Host": "localhost"}).status in (400, 404)
