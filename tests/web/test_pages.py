"""Static pages: who gets one, what may run in it, and how long it is kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from runtime.web.access import Bearer, HostPolicy
from runtime.web.door import Door, install
from runtime.web.pages import POLICY, Pages, asks_for_html
from runtime.web.routes import Routes, mount
from runtime.web.serve import run_app

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PAGE = '<!doctype html>{head}<script type="module" src="{files}/main.js"></script>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "pages"
    (inside / "vendor").mkdir(parents=True)
    (inside / "index.html").write_text(PAGE)
    (inside / "head.html").write_text('<link rel="icon" href="{files}/icon.svg">\n')
    (inside / "main.js").write_text("import './vendor/more.js';")
    (inside / "vendor" / "more.js").write_text("1;")
    (inside / "style.css").write_text("a {}")
    (inside / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.js").write_text("nobody's business")
    return inside


def app_with(pages: Pages) -> web.Application:
    routes = Routes("front")

    @routes.get("/", gated=False)
    async def front(request: web.Request) -> web.Response:
        """The page for browsers, a line for others."""
        page = asks_for_html(request)
        answer = pages.page(request, "index.html") if page else web.Response(text="a server")
        answer.headers["Vary"] = "Accept"
        return answer

    app = web.Application()
    hosts = HostPolicy.bound_to("127.0.0.1", origins=("https://app.example",), pages=("/",))
    install(app, Door(lambda error: {"error": error.message}, hosts, Bearer("k3y")))
    mount(app, routes, pages.routes())
    return app


@pytest.fixture
def pages(folder: Path) -> Pages:
    return Pages(folder)


@pytest.fixture
async def client(pages: Pages) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        run_app(app_with(pages)) as running,
        aiohttp.ClientSession(running.url) as session,
    ):
        yield session


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("TEXT/HTML; level=1, */*", True),
        ("*/*", False),
        ("", False),
        ("text/*", False),
        ("application/json", False),
    ],
)
async def test_a_page_is_for_those_who_ask_for_one(
    client: aiohttp.ClientSession, accept: str, html: bool
) -> None:
    async with client.get("/", headers={"Accept": accept}) as answer:
        assert answer.status == 200
        assert answer.content_type == ("text/html" if html else "text/plain")
        assert answer.headers["Vary"] == "Accept, Origin"


async def test_a_page_runs_nothing_but_what_lies_beside_it(
    client: aiohttp.ClientSession, pages: Pages
) -> None:
    async with client.get("/", headers={"Accept": BROWSER}) as page:
        assert page.headers["Content-Security-Policy"] == POLICY
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["Cache-Control"] == "no-cache"
        text = await page.text()
        assert f'<link rel="icon" href="{pages.address("icon.svg")}"><script' in text
        script = text.split('src="')[1].split('"')[0]
    async with client.get(script) as answer:
        assert (answer.status, await answer.text()) == (200, "import './vendor/more.js';")
        assert answer.content_type == "text/javascript"
        assert "immutable" in answer.headers["Cache-Control"]
    async with client.get(f"{script.rpartition('/')[0]}/vendor/more.js") as answer:
        assert (answer.status, await answer.text()) == (200, "1;")


async def test_a_browser_that_has_the_page_is_told_so(client: aiohttp.ClientSession) -> None:
    async with client.get("/", headers={"Accept": BROWSER}) as page:
        tag = page.headers["ETag"]
    for known, status in ((tag, 304), (f'"other", {tag}', 304), ("*", 304), ('"other"', 200)):
        headers = {"Accept": BROWSER, "If-None-Match": known}
        async with client.get("/", headers=headers) as answer:
            assert (answer.status, answer.headers["ETag"]) == (status, tag)
            assert bool(await answer.read()) is (status == 200)


async def test_head_gets_what_get_would_without_the_body(client: aiohttp.ClientSession) -> None:
    async with client.get("/", headers={"Accept": BROWSER}) as page:
        length = len(await page.read())
    async with client.head("/", headers={"Accept": BROWSER}) as answer:
        assert (answer.status, answer.content_type) == (200, "text/html")
        assert int(answer.headers["Content-Length"]) == length
        assert await answer.read() == b""


def test_another_content_has_another_address(folder: Path, pages: Pages) -> None:
    assert Pages(folder).version == pages.version
    (folder / "vendor" / "more.js").write_text("2;")
    assert Pages(folder).version != pages.version


async def test_nothing_else_is_served(
    client: aiohttp.ClientSession, pages: Pages, folder: Path
) -> None:
    version = pages.version
    for path in (
        f"/ui/{version}/../secret.js",
        f"/ui/{version}/%2e%2e/secret.js",
        f"/ui/{version}/..%2f..%2fsecret.js",
        f"/ui/{version}/{folder.parent}/secret.js",
        f"/ui/{version}/vendor",
        f"/ui/{version}/vendor/",
        f"/ui/{version}/index.html",
        f"/ui/{version}/",
        "/ui/0123456789abcdef/main.js",
        "/ui/main.js",
        "/ui",
    ):
        async with client.get(URL(path, encoded=True)) as answer:
            assert answer.status == 404, path
            assert "secret" not in await answer.text()


async def test_a_link_of_another_site_may_open_the_page_and_no_more(
    client: aiohttp.ClientSession, pages: Pages
) -> None:
    script = f"/ui/{pages.version}/main.js"
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Accept": BROWSER}
    frame = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    for path, headers, status in (("/", link, 200), ("/", frame, 403), (script, frame, 403)):
        async with client.get(path, headers=headers) as answer:
            assert answer.status == status, (path, headers)
