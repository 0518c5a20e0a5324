"""Hostile Markdown: what could run code in a reader's browser is refused, the rest is text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.course.coursekit import (
    BRAKE_TRACE,
    LAP_KIT,
    built,
    codes,
    edited,
    put,
    with_body,
    write_course,
)
from tests.course.sitekit import Page


def page(root: Path, path: str = "lessons/brake-trace/index.html") -> str:
    """A page of the built site."""
    return (root / "site" / path).read_text("utf-8")


SCHEMES = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java&#115;cript:alert(1)",
    "&#106;avascript:alert(1)",
    "javascript&colon;alert(1)",
    "\\javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "ftp://example.org/x",
    "http://example.org/x",
    "//evil.example/x",
    "/absolute",
    "\\\\evil\\x",
    "https:",
    "https://",
    "https:///x",
    "https://user:pass@example.org/",
    "https://[::1",
    "java%0Ascript:alert(1)",
    "javascript%3Aalert(1)",
    "?x=1",
    "../../../../../../etc/passwd",
    "..%2F..%2F..%2F..%2Fetc/passwd",
    "%2e%2e/%2e%2e/%2e%2e/%2e%2e/x",
    "media/../../../../../x",
    "blob:https://example.org/x",
    "view-source:https://example.org/",
]
FORMS = ["[text]({})", "[text](<{}>)", "[text][r]\n\n[r]: {}", "[r]\n\n[r]: <{}>", "![text]({})"]


@pytest.mark.parametrize("form", FORMS)
def test_no_harmful_address_is_published(form: str, tmp_path: Path) -> None:
    root = with_body(tmp_path, "")
    begin = (root / BRAKE_TRACE).read_text("utf-8").count("\n")
    texts = [form.replace("[r]", f"[r{n}]").format(one) for n, one in enumerate(SCHEMES)]
    root = with_body(tmp_path, "\n\n".join(texts))
    found = {
        one.line
        for one in built(root).diagnostics
        if one.code in ("LNK001", "LNK003", "LNK004", "LNK006")
    }
    height = form.count("\n") + 2
    assert found == {begin + height * n for n in range(len(SCHEMES))}


def test_an_e_mail_address_and_a_good_link_pass(tmp_path: Path) -> None:
    text = "<coach@example.org> <https://example.org/?a=1&b=2> [x y](https://example.org/a(b)c)"
    root = with_body(tmp_path, text)
    assert not built(root).diagnostics
    links = Page(page(root)).links
    assert {"mailto:coach@example.org", "https://example.org/?a=1&b=2"} <= set(links)


def test_every_form_of_a_link_leads_somewhere(tmp_path: Path) -> None:
    text = (
        "[a b][one] [one][] [one] [c d](../10-brake-trace/lesson.md#idea-three-points)\n"
        "[e f](#idea-three-points) [g h](concept:late_apex) [i j](phase:laps)\n\n"
        "[one]: lesson:read-a-lap 'A \"title\" <b>'"
    )
    root = with_body(tmp_path, text)
    assert not built(root).diagnostics
    assert Page(page(root)).links.count("../../lessons/read-a-lap/") >= 3


HARMLESS = ["<https://example.org/a> ", "- [x y](https://example.org/)\n"]
FLOODS = [
    *HARMLESS,
    "<b>",
    "[x y](lesson:z) ",
    "[x y](nowhere) ",
    "é[x y](lesson:z) ",
    "[x][y] ",
    "[^a]",
    "![]()",
    "# a\n",
    "\n## Idea: a\n",
    "```\n```\n",
    "| |\n|-|\n\n",
]


@pytest.mark.parametrize(
    ("flood", "kib"), [*((flood, 60) for flood in FLOODS), *((flood, 900) for flood in HARMLESS)]
)
def test_a_flood_of_problems_ends_in_time(flood: str, kib: int, tmp_path: Path) -> None:
    text = flood * (kib * 1024 // len(flood.encode()))
    root = with_body(tmp_path, text)
    put(root / LAP_KIT / "README.md", f"# Lap kit\n\n{text}\n")
    report = built(root)
    assert report.written is (flood in HARMLESS and kib == 60)
    assert codes(report) & {"LES025", "SRC005"} == ({"LES025", "SRC005"} if kib == 900 else set())


@pytest.mark.parametrize("kib", [60, 900])
def test_brackets_in_brackets_do_not_overflow(kib: int, tmp_path: Path) -> None:
    count = kib * 1024 // 8
    text = "![a " * count + "](x)" * count
    assert codes(built(with_body(tmp_path, text))) & {"MD011", "LES025"}


def test_a_table_of_ten_thousand_cells(tmp_path: Path) -> None:
    row = "| x " * 100 + "|\n"
    root = with_body(tmp_path, "| h " * 100 + "|\n" + "|---" * 100 + "|\n" + row * 100)
    edited(root, "content/course.yaml", ("parts:\n", "limits:\n  pageKiB: 4096\nparts:\n"))
    assert not built(root).errors
    assert page(root).count("<td>") == 10_000


def test_code_is_shown_and_never_run(tmp_path: Path) -> None:
    code = "```python\nopen('ran.txt', 'w')\nx = '</code></pre><script>alert(1)</script>'\n```"
    root = with_body(tmp_path, code)
    assert not built(root).diagnostics
    assert "<script>alert" not in page(root)


def test_a_fence_cannot_reach_out_of_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text('TOKEN = "open sesame"\n')
    for target in ("code/../lesson.md", "../../../../secret.py", str(secret), "code/%2e%2e/x.py"):
        root = with_body(tmp_path / target.replace("/", "_"), f"```python file={target}\n```")
        assert codes(built(root)) == {"MD004"}


def test_a_front_matter_in_the_body_stays_there(tmp_path: Path) -> None:
    root = with_body(tmp_path, "---\nid: other\n---\n\nText.")
    assert codes(built(root)) <= {"MD006", "LES022"}


@pytest.mark.parametrize(
    "name",
    [
        "<script/x>alert(1)",
        '"><img/src=x onerror=alert(1)>',
        "Quotes \"double\" and 'single' & `<b>`",
        "{{ 7 * 7 }} {% raw %}",
        "</title/x></script/x><script/x>",
        "]]> --> */ `code` *emphasis*",
        "A \u200fmark of right to left\u200e",
        "Private \ue000 use and \U000f0000 plane",
        "Zero\u200bwidth and \u00ad hyphen",
        "Café naïve 日本語 עברית 🏎️",
    ],
    ids=range(10),
)
def test_a_title_is_text_everywhere(name: str, tmp_path: Path) -> None:
    """Tags of valid HTML are refused; a browser takes these for tags as well."""
    root = write_course(tmp_path)
    title = f"title: {json.dumps(name, ensure_ascii=False)}"
    edited(root, BRAKE_TRACE, ("title: Read a brake trace", title))
    edited(root, "content/course.yaml", ("title: A small course", title))
    assert not built(root, "https://example.org/c/").diagnostics
    scripts = Page(page(root)).all("script")
    for path in (root / "site").rglob("*.html"):
        html = path.read_text("utf-8")
        assert Page(html).harmful() == []
        assert "{{" not in name or "49" not in re.findall(r"<title>(.*?)</title>", html)[0]
        assert "<script/x>" not in html
        assert "<img/src=x" not in html
    assert len(scripts) <= 2
    resource = json.loads((root / "site/api/v1/lessons/brake-trace.json").read_text("utf-8"))
    assert resource["title"] == name
    book = json.loads((root / "site/downloads/brake-trace.ipynb").read_text("utf-8"))
    assert book["nbformat"] == 4
    assert_feed(root / "site/feed.xml", name)


def assert_feed(path: Path, name: str) -> None:
    """The feed is XML and gives the title as it was written."""
    atom = "{http://www.w3.org/2005/Atom}"
    top = ElementTree.fromstring(path.read_text("utf-8"))
    assert name in [entry.findtext(f"{atom}title") for entry in top.iter(f"{atom}entry")]
