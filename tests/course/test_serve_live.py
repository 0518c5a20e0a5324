"""The author's server from start to end: pages follow the sources, and nothing is kept waiting."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from course.build import Options, Report, build
from course.publish.tree import Refusal
from course.serve import ServeError, attempt, normal_prefix, serve
from tests.course.coursekit import BRAKE_TRACE, END, LAP_KIT, QUIZ, edited, put, write_course
from tests.course.servekit import serving, stream

PROGRAM = """
import sys
from pathlib import Path
import course.serve
from course.build import Options
root = Path(sys.argv[1])
course.serve.GOODBYE_S = 600.0
sys.exit(course.serve.serve(Options(root, root / "site"), port=int(sys.argv[2])))
"""

ENDLESS = (
    """
import sys, time
import course.serve as live
def build(options):
    print("building", flush=True)
    time.sleep(600)
live.build = build
"""
    + PROGRAM
)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return write_course(tmp_path)


# -- pages that follow --------------------------------------------------------------------------


def test_a_change_of_a_source_reaches_the_open_pages(course: Path) -> None:
    with serving(course) as running, stream(running.port, "/__reload") as states:
        before = next(states)
        edited(course, BRAKE_TRACE, ("title: ", "title: Again, "))
        after = next(states)
        assert after["site"] != before["site"]
        assert (before["failure"], after["failure"]) == ("", "")
        assert b"Again, " in running.ask("/lessons/brake-trace/").body


def test_a_broken_lesson_is_shown_with_its_problems_and_not_published(course: Path) -> None:
    with serving(course) as running, stream(running.port, "/__reload") as states:
        before = next(states)
        text = (course / BRAKE_TRACE).read_text("utf-8").replace(END, f"{END}\nA new thought.\n")
        put(course / BRAKE_TRACE, text.replace("status: authored", "status: <b>autored</b>"))
        assert next(states)["site"] != before["site"]
        page = running.ask("/lessons/brake-trace/").body.decode()
        assert "A new thought." in page
        assert "Draft: 1 problem on this page" in page
        assert re.search(r"lesson\.md:\d+:9: error SCH004 /status", page)
        assert "got &lt;b&gt;autored" in page
        home = running.ask("/").body.decode()
        assert "on this page" not in home
        assert '<a href="lessons/brake-trace/">lessons/brake-trace/</a> (1)' in home
        published = (course / "site/lessons/brake-trace/index.html").read_text("utf-8")
        assert "A new thought." not in published
        edited(course, BRAKE_TRACE, ("status: <b>autored</b>", "status: authored"))
        next(states)
        page = running.ask("/lessons/brake-trace/").body.decode()
        assert "A new thought." in page
        assert "data-draft" not in page


# What may stand in a half-written course, by file: every page of the rest is there.
HALVES: Final = {
    "no front matter": (BRAKE_TRACE, "# Just begun\n\nSome words."),
    "an open fence": (BRAKE_TRACE, None),
    "an unknown prerequisite": (BRAKE_TRACE, None),
    "an empty quiz": (QUIZ, "questions: []\n"),
    "half a phase": ("content/phases/10-laps/phase.yaml", "id: laps\ntitle: Laps\n"),
    "half a course": ("content/course.yaml", "id: half-a-course\ntitle: Half a course\n"),
    "half a pathway": ("content/pathways/10-data-driver.yaml", "id: data-driver\n"),
    "half a project": (f"{LAP_KIT}/project.yaml", "id: lap-kit\n"),
    "no concepts": ("content/concepts.yaml", "- a\n"),
    "half a template": ("content/templates/home.html", "{% if %}"),
}


@pytest.mark.parametrize("what", HALVES)
def test_a_half_written_course_is_shown(what: str, course: Path) -> None:
    name, text = HALVES[what]
    put(course / name, text or (course / name).read_bytes())
    if what == "an open fence":
        edited(course, name, (END, f"{END}\n```python\nx = (\n"))
    elif what == "an unknown prerequisite":
        edited(course, name, ("prerequisites: [", "prerequisites: [nothing-like-it, "))
    made = attempt(Options(course, course / "site"))
    assert made.state.failure == ""
    assert {problem.file for problem in made.errors} >= {name}
    assert not (course / "site").exists()
    for path in ("index.html", "lessons/read-a-lap/index.html", "lessons/brake-trace/index.html"):
        assert (made.out / path).is_file()


def test_without_a_course_every_page_is_the_report(course: Path) -> None:
    text = (course / "content/course.yaml").read_bytes()
    put(course / "content/course.yaml", None)
    put(course / "content/<script>alert(1)<", "")
    with serving(course) as running, stream(running.port, "/__reload") as states:
        page = running.ask("/lessons/brake-trace/")
        assert (page.status, page.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert b"error CFG001" in page.body
        assert b"&lt;script&gt;alert(1)" in page.body
        assert b"<script>" not in page.body
        assert b'<script src="/__reload.js?site="' in page.body
        assert next(states)["site"] == ""
        put(course / "content/<script>alert(1)<", None)
        put(course / "content/course.yaml", text)
        assert next(states)["site"] != ""
        assert running.ask("/lessons/brake-trace/").status == 200


def test_a_draft_stays_when_the_course_file_is_gone(course: Path) -> None:
    edited(course, BRAKE_TRACE, ("status: authored", "status: autored"))
    with serving(course) as running, stream(running.port, "/__reload") as states:
        assert next(states)["failure"] == ""
        put(course / "content/course.yaml", None)
        assert "CFG001" in next(states)["failure"]
        page = running.ask("/lessons/brake-trace/")
        assert (page.status, b"Draft: 1 problem" in page.body) == (200, True)


def test_a_folder_that_is_not_a_site_is_refused_in_words(course: Path) -> None:
    (course / "site").mkdir()
    (course / "site" / "mine.txt").write_text("mine")
    with serving(course) as running:
        assert b"CFG003" in running.ask("/").body
        assert "hint: " in running.said[0]


def test_without_watching_there_is_no_script_and_no_stream(course: Path) -> None:
    with serving(course, watch=False) as running:
        assert b"__reload" not in running.ask("/").body
        assert running.ask("/__reload").status == 404
        assert running.ask("/__reload.js").status == 404


def test_a_slow_build_keeps_nobody_waiting_and_changes_meanwhile_are_one_more_build(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, runs = threading.Event(), threading.Event(), []

    def slow(options: Options) -> Report:
        runs.append(options)
        if len(runs) == 2:
            began.set()
            assert go_on.wait(60)
        return build(options)

    monkeypatch.setattr("course.serve.build", slow)
    with serving(course) as running, stream(running.port, "/__reload") as states:
        first = next(states)
        edited(course, BRAKE_TRACE, ("title: ", "title: One "))
        assert began.wait(20)
        assert running.ask("/").status == 200  # or it would wait for the build that waits for us
        for word in ("Two", "Three", "Four"):
            edited(course, BRAKE_TRACE, ("title: ", f"title: {word} "))
        go_on.set()
        last = next(states)
        while b"Four Three Two One" not in running.ask("/lessons/brake-trace/").body:
            last = next(states)
        assert last["site"] != first["site"]
    assert len(runs) in (2, 3)


def test_a_fault_of_the_tool_is_shown_and_ends_nothing(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(options: Options) -> Report:
        if "fault" in (options.root / BRAKE_TRACE).read_text():
            raise ZeroDivisionError("one of ours")
        return build(options)

    monkeypatch.setattr("course.serve.build", faulty)
    with serving(course) as running, stream(running.port, "/__reload") as states:
        before = next(states)
        edited(course, BRAKE_TRACE, ("title: ", "title: fault "))
        assert "ZeroDivisionError: one of ours" in next(states)["failure"]
        edited(course, BRAKE_TRACE, ("title: fault ", "title: "))
        assert next(states) == before


def test_a_locked_output_is_tried_again_without_a_change(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def busy(options: Options) -> Report:
        tries.append(options)
        if len(tries) < 3:
            raise Refusal("CFG004", "another build is writing site/", "wait")
        return build(options)

    monkeypatch.setattr("course.serve.build", busy)
    with serving(course) as running, stream(running.port, "/__reload") as states:
        assert "CFG004" in next(states)["failure"]
        assert next(states)["failure"] == ""
        assert running.ask("/").status == 200
        assert ["CFG004" in text for text in running.said] == [True, False]


# -- start and end ------------------------------------------------------------------------------


def open_stream(port: int) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/__reload")
    response = connection.getresponse()
    assert response.status == 200
    return response


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_though_streams_are_open(
    course: Path, root: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(course), "0"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", run.stdout.readline().decode())
        assert address is not None
        opened = [open_stream(int(address[1])) for _ in range(5)]
        run.send_signal(number)
        assert run.wait(30) == 0  # well before those are given up that do not end
        assert b"Traceback" not in run.stderr.read()
        for response in opened:
            response.close()


def test_a_signal_ends_the_first_build_too(course: Path, root: Path) -> None:
    command = [sys.executable, "-c", ENDLESS, str(course), "0"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.readline() == b"building\n"
        run.terminate()
        assert run.wait(30) == 0
        assert run.stderr.read() == b""


def test_a_port_in_use_is_said_in_words(course: Path) -> None:
    said: list[str] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve(Options(course, course / "site"), port=port, say=said.append) == 2
    assert len(said) == 1
    assert said[0].startswith(f"serve: port {port} of 127.0.0.1 is in use: name another one with ")
    assert not (course / "site").exists()


@pytest.mark.parametrize(
    ("host", "port", "prefix"),
    [("127.0.0.1", 70000, ""), ("no-such-host.invalid", 0, ""), ("127.0.0.1", 0, "/a/../b")],
)
def test_an_impossible_call_ends_with_2(course: Path, host: str, port: int, prefix: str) -> None:
    said: list[str] = []
    options = Options(course, course / "site")
    assert serve(options, host, port, prefix, say=said.append) == 2
    assert len(said) == 1


@pytest.mark.parametrize(
    ("given", "normal"), [("", ""), ("/", ""), ("course", "/course"), ("/a/b/", "/a/b")]
)
def test_a_prefix_is_written_in_any_usual_way(given: str, normal: str) -> None:
    assert normal_prefix(given) == normal


@pytest.mark.parametrize("given", ["/a b", "/a?b", "/a//b", "/..", "/a/./b", "/<x>", "/é"])
def test_a_prefix_that_is_no_plain_path_is_refused(given: str) -> None:
    with pytest.raises(ServeError, match="not a plain path"):
        normal_prefix(given)
