"""Links to other hosts: asked politely, remembered for a week, and never more than a warning."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web

from course import external
from course.build import Options, link_course
from course.diagnostics import Diagnostic
from course.external import Answer, Limits, check_external_links, probe
from course.publish.cache import read_json, write_json
from tests.course.coursekit import BRAKE_TRACE, edited, write_course
from tests.course.servekit import in_thread

FAST = Limits(delay_s=0.0, timeout_s=30.0, schemes=("http://",))
DAY_S = 24 * 3600


@dataclass
class Host:
    """A host that answers by path, and what it was asked."""

    url: str = ""
    asked: list[tuple[str, str, float]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """``/NNN`` answers with that status; the other paths are in the tests."""
        self.asked.append((request.method, request.path, time.monotonic()))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self.by_path(request.method, request.path)
        finally:
            self.at_once -= 1

    async def by_path(self, method: str, path: str) -> web.StreamResponse:
        """The answer to one request."""
        if path == "/slow":
            await asyncio.sleep(600)
        if path.startswith("/busy"):
            await asyncio.sleep(0.05)
        if path == "/moved":
            return web.Response(status=301, headers={"Location": "/200"})
        if path == "/lost":
            return web.Response(status=302, headers={"Location": "/404"})
        if path == "/loop":
            return web.Response(status=302, headers={"Location": "/loop"})
        if path.startswith("/get-only-"):
            return web.Response(status=200 if method == "GET" else int(path[-3:]))
        return web.Response(status=int(path[1:]) if path[1:].isdigit() else 200)

    def methods(self, path: str) -> list[str]:
        """The methods with which *path* was asked, in order."""
        return [method for method, one, _ in self.asked if one == path]


@asynccontextmanager
async def running(secure: ssl.SSLContext | None = None) -> AsyncIterator[Host]:
    host = Host()
    runner = web.ServerRunner(
        web.Server(host.answer, access_log=None, handler_cancellation=True), shutdown_timeout=0.1
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=secure).start()
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield host
    await runner.cleanup()


@pytest.fixture
def host() -> Iterator[Host]:
    with in_thread(running) as value:
        yield value


def asked(host: Host, paths: list[str], limits: Limits = FAST) -> dict[str, Answer]:
    answers = asyncio.run(probe([host.url + path for path in paths], limits))
    return {url.removeprefix(host.url): answer for url, answer in answers.items()}


# -- asking -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "good", "methods"),
    [
        ("/200", True, ["HEAD"]),
        ("/204", True, ["HEAD"]),
        ("/404", False, ["HEAD"]),
        ("/410", False, ["HEAD"]),
        ("/500", False, ["HEAD"]),
        ("/401", True, ["HEAD"]),
        ("/429", True, ["HEAD"]),
        ("/403", True, ["HEAD", "GET"]),
        ("/405", False, ["HEAD", "GET"]),
        ("/501", False, ["HEAD", "GET"]),
        ("/get-only-403", True, ["HEAD", "GET"]),
        ("/get-only-405", True, ["HEAD", "GET"]),
        ("/get-only-501", True, ["HEAD", "GET"]),
        ("/get-only-404", False, ["HEAD"]),
        ("/moved", True, ["HEAD"]),
        ("/lost", False, ["HEAD"]),
    ],
)
def test_head_is_asked_first_and_get_where_head_is_refused(
    host: Host, path: str, good: bool, methods: list[str]
) -> None:
    assert asked(host, [path])[path].good is good
    assert host.methods(path) == methods


def test_every_failure_is_said_in_words(host: Host) -> None:
    answers = asked(host, ["/404", "/loop"], Limits(delay_s=0.0, timeout_s=30.0, redirects=3))
    assert answers["/404"].why == "status 404"
    assert answers["/loop"].why == "more than 3 redirects"
    slow = asked(host, ["/slow"], Limits(delay_s=0.0, timeout_s=0.3))["/slow"]
    assert slow.why == "no answer within 0.3 s"
    nobody = "http://127.0.0.1:9/"
    unknown = "http://no-such-host.invalid/"
    elsewhere = asyncio.run(probe([nobody, "http://[bad"], FAST))
    assert elsewhere[nobody] == Answer(False, "no connection")
    # Whoever knows no name server takes its time to say so.
    assert not asyncio.run(probe([unknown], replace(FAST, timeout_s=2.0)))[unknown].good
    assert not elsewhere["http://[bad"].good


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_that_nobody_vouches_for_is_a_failure(tmp_path: Path) -> None:
    key, certificate = (str(tmp_path / name) for name in ("key", "certificate"))
    made = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -days 1"
    subprocess.run([*made.split(), "-keyout", key, "-out", certificate], check=True)
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)
    with in_thread(partial(running, secure)) as host:
        url = host.url.replace("http://", "https://")
        answer = asyncio.run(probe([url], Limits(delay_s=0.0)))[url]
    assert answer == Answer(False, "the certificate is not valid")


def test_eight_workers_at_most_ask_at_once(host: Host) -> None:
    answers = asked(host, [f"/busy-{number}" for number in range(40)])
    assert all(answer.good for answer in answers.values())
    assert 2 <= host.most_at_once <= 8


def test_one_host_is_not_asked_faster_than_the_delay(host: Host) -> None:
    began = time.monotonic()
    asked(host, ["/200", "/201", "/202", "/get-only-405"], Limits(delay_s=0.1, timeout_s=30.0))
    times = [when - began for _, _, when in host.asked]
    assert len(times) == 5
    assert all(when > 0.1 * number - 0.01 for number, when in enumerate(times))


# -- the course ---------------------------------------------------------------------------------


def linked(tmp_path: Path, *urls: str) -> Path:
    """A course whose lesson refers to *urls*."""
    course = write_course(tmp_path)
    lines = "".join(f'  - {{title: T, url: "{url}"}}\n' for url in urls)
    edited(course, BRAKE_TRACE, ("aliases: ", f"references:\n{lines}aliases: "))
    return course


def problems(course: Path, limits: Limits = FAST) -> list[Diagnostic]:
    options = Options(course, course / "site", cache=course / ".course-cache")
    return check_external_links(options, limits)


def test_a_dead_link_is_a_warning_at_its_line_and_a_good_one_is_nothing(
    host: Host, tmp_path: Path
) -> None:
    course = linked(tmp_path, f"{host.url}/200", f"{host.url}/404")
    [found] = problems(course)
    line = (course / BRAKE_TRACE).read_text().splitlines()[found.line - 1]
    assert (found.code, found.severity, found.file) == ("LNK007", "warning", BRAKE_TRACE)
    assert found.pointer == "/references/1/url"
    assert line[found.column - 1 :].startswith(f'"{host.url}/404"')
    assert found.got == "status 404"


def test_an_address_is_asked_once_however_often_it_stands(host: Host, tmp_path: Path) -> None:
    course = linked(tmp_path, f"{host.url}/404#one", f"{host.url}/404#two")
    assert len(problems(course)) == 2
    assert host.methods("/404") == ["HEAD"]


def test_good_answers_are_kept_for_a_week_and_bad_ones_are_not(host: Host, tmp_path: Path) -> None:
    course = linked(tmp_path, f"{host.url}/200", f"{host.url}/404")
    cache = course / ".course-cache" / "links.json"
    problems(course)
    problems(course)
    assert (host.methods("/200"), host.methods("/404")) == (["HEAD"], ["HEAD"] * 2)
    known = read_json(cache)
    assert list(known) == [f"{host.url}/200"]
    for age_s, times in ((6 * DAY_S, 1), (7 * DAY_S + 60, 2), (-DAY_S, 3)):
        write_json(cache, {f"{host.url}/200": int(time.time()) - age_s})
        problems(course)
        assert len(host.methods("/200")) == times


@pytest.mark.parametrize("text", ["", "[]", '{"x": null}', "not json"])
def test_a_broken_cache_is_no_cache(host: Host, tmp_path: Path, text: str) -> None:
    course = linked(tmp_path, f"{host.url}/200")
    (course / ".course-cache").mkdir()
    (course / ".course-cache" / "links.json").write_text(text)
    assert problems(course) == []
    assert host.methods("/200") == ["HEAD"]


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "http://www.example.org", "http://a.example:80/"]
)
def test_hosts_for_illustration_are_never_asked(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(urls: list[str], _: Limits) -> dict[str, Answer]:
        raise AssertionError(urls)

    monkeypatch.setattr(external, "probe", nobody)
    assert problems(linked(tmp_path, url)) == []


def test_only_https_is_asked_outside_tests(host: Host, tmp_path: Path) -> None:
    assert problems(linked(tmp_path, f"{host.url}/404"), Limits()) == []
    assert host.asked == []


def test_links_are_found_in_bodies_front_matter_and_yaml(tmp_path: Path) -> None:
    course = linked(tmp_path, "https://front.test/x")
    body = (
        "[a](https://body.test/a?b=1&c=2) <https://auto.test/> [r][ref] `https://code.test`\n\n"
        "[ref]: https://ref.test/r\n\n"
    )
    edited(course, BRAKE_TRACE, ("The pedal writes", f"{body}The pedal writes"))
    readme = course / "content/projects/lap-kit/README.md"
    readme.write_text(readme.read_text() + "\n[kit](https://readme.test/k)\n")
    edited(course, "content/course.yaml", ("https://example.org/", "https://repo.test/"))
    loaded, _ = link_course(Options(course, course / "site"))
    found = {link.url: link for link in external.links(loaded)}
    assert sorted(url for url in found if ".test/" in url) == [
        "https://auto.test/",
        "https://body.test/a?b=1&c=2",
        "https://front.test/x",
        "https://readme.test/k",
        "https://ref.test/r",
        "https://repo.test/small-course",
    ]
    assert found["https://front.test/x"].path == ("references", 0, "url")


def test_a_dead_link_in_a_body_is_placed_where_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dead(urls: list[str], _: Limits) -> dict[str, Answer]:
        return {url: Answer(False, "status 404") for url in urls}

    monkeypatch.setattr(external, "probe", dead)
    course = write_course(tmp_path)
    edited(course, BRAKE_TRACE, ("The pedal writes", "[a](https://body.test/a) The pedal writes"))
    [found] = problems(course, Limits())
    line = (course / BRAKE_TRACE).read_text().splitlines()[found.line - 1]
    assert line[found.column - 1 : found.end_column - 1] == "https://body.test/a"
