"""`ingest` as its user runs it: into a folder that nobody serves, and into a running server."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.commands.ingest import (
    Chunk,
    Document,
    IngestFailed,
    main,
    make_documents,
    make_plan,
    parse_chunks,
)
from runtime.llm.documents.document import hash_document, read_heading
from runtime.web.instance import address_of
from tests.llm.engine.onnxkit import write_tiny
from tests.llm.serverkit import Json

ROOT = Path(__file__).resolve().parents[3]
TINY = "tiny-embed"
LESSONS = {
    "braking.intro": "brake late and turn slow into the corner",
    "braking.feel": "the driver will learn to hear the tyre",
    "rain.line": "on a wet track use another line",
}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoders")
    write_tiny(folder, TINY)
    return folder


@pytest.fixture
def flags(tmp_path: Path, encoders: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flags by which a command finds the data and the models of the test."""
    for name in ("LLMSVC_API_KEY", "LLMSVC_DATA_DIR", "LLMSVC_MODELS_DIR"):
        monkeypatch.delenv(name, raising=False)
    return ["--data-dir", str(tmp_path / "data"), "--models-dir", str(encoders)]


def write_site(folder: Path, lessons: dict[str, str]) -> str:
    """A built course with these chunks, titled by their ids."""
    place = folder / "site" / "corpus" / "chunks.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "id": name,
            "lessonId": name.partition(".")[0],
            "url": f"lessons/{name.partition('.')[0]}/",
            "title": name,
            "text": text,
        }
        for name, text in lessons.items()
    ]
    place.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(folder / "site")


@contextmanager
def serving(flags: Sequence[str]) -> Iterator[str]:
    """Address of a server of its own process, started with the flags."""
    command = [sys.executable, "-m", "runtime.llm", "--port", "0", *flags]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        ready = json.loads(running.stdout.readline())
        try:
            yield f"http://127.0.0.1:{ready['port']}"
        finally:
            running.terminate()
        assert running.wait(15) == 0


@pytest.fixture
def server(flags: Sequence[str]) -> Iterator[str]:
    with serving(flags) as url:
        yield url


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """A server that says *body* to everything."""

    class Always(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Always) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def search(url: str, query: str) -> Json:
    body = json.dumps({"query": query, "model": TINY, "k": 1}).encode()
    request = Request(f"{url}/v1/search", body, {"X-Client-Id": "course"})
    with urlopen(request) as answer:
        return json.load(answer)["data"]


def test_a_course_is_loaded_once_and_then_only_what_changed(
    tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def run(lessons: dict[str, str]) -> str:
        assert main([write_site(tmp_path, lessons), *flags]) == 0
        return capsys.readouterr().out

    def run_forced(lessons: dict[str, str]) -> str:
        assert main([write_site(tmp_path, lessons), *flags]) == 1
        assert "--force" in capsys.readouterr().err
        assert main([write_site(tmp_path, lessons), "--force", *flags]) == 0
        return capsys.readouterr().out

    assert "3 written, 0 unchanged, 0 removed" in run(LESSONS)
    assert "0 written, 3 unchanged, 0 removed" in run(LESSONS)
    changed = {**LESSONS, "rain.line": "on a dry track use the same line"}
    del changed["braking.feel"]
    assert "1 written, 1 unchanged, 1 removed" in run(changed)
    assert main([write_site(tmp_path, {}), *flags]) == 1
    assert "contains no chunks" in capsys.readouterr().err
    few = {"another.lesson": "a word"}
    assert "1 written, 0 unchanged, 2 removed" in run_forced(few)


def test_a_course_goes_through_the_server_that_runs_on_the_data(
    tmp_path: Path, flags: list[str], server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert address_of(tmp_path / "data") == server

    assert main([write_site(tmp_path, LESSONS), *flags]) == 0

    assert "3 written" in capsys.readouterr().out
    (hit,) = search(server, LESSONS["rain.line"])
    assert hit["metadata"] == {
        "kind": "lesson",
        "lessonId": "rain",
        "chunkId": "rain.line",
        "title": "rain.line",
        "url": "lessons/rain/",
    }
    assert main([write_site(tmp_path, LESSONS), "--url", server]) == 0
    assert "0 written, 3 unchanged" in capsys.readouterr().out


def test_what_stands_in_the_way_is_one_line(
    tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    site = write_site(tmp_path, LESSONS)
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, said in [
        ([str(empty), *flags], "is it a built course"),
        ([site, *flags, "--model", "nothing"], "no such model"),
        ([site, *flags[:2], "--models-dir", str(empty)], "pull minilm"),
        ([site, "--url", "http://127.0.0.1:1"], "no server answers"),
    ]:
        assert main(arguments) == 1
        message = capsys.readouterr().err
        assert said in message
        assert message.startswith("ingest: ")
        assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--nonsense", "1"], "nonsense"),
        (["--tenant", " "], "--tenant"),
        (["--tenant", "a\nb"], "--tenant"),
        (["--url", "127.0.0.1:8080"], "--url"),
    ],
)
def test_a_wrong_flag_is_a_wrong_call(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["site", *flags])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_another_kind_of_server_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = write_site(tmp_path, LESSONS)
    for body in (b"{}", b"[]", b'"x"', b'{"data":[{"id":"m"}]}', b"<html>"):
        with answering(body) as url:
            assert main([site, "--url", url]) == 1
        message = capsys.readouterr().err
        assert message.startswith("ingest: ")
        assert message.count("\n") == 1


# --- what the course says

GOOD = {
    "id": "read-a-lap.intro",
    "lessonId": "read-a-lap",
    "url": "lessons/read-a-lap/",
    "title": "Read a lap",
    "text": "Turn the columns into a story.",
}


def lines(*objects: object) -> bytes:
    return b"\n".join(json.dumps(data).encode() for data in objects)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "contains no chunks"),
        (b"\n \n", "contains no chunks"),
        (lines(GOOD) + b"\n\n{", "line 3: not JSON"),
        (lines({**GOOD, "id": "a "}), "line 1: id"),
        (lines({**GOOD, "text": " \n"}), "line 1: text"),
        (b"[]", "line 1"),
        (lines({**GOOD, "text": ""}), "line 1: text"),
        (lines({**GOOD, "id": 7}), "line 1: id"),
        (lines({k: v for k, v in GOOD.items() if k != "url"}), "line 1: url"),
        (lines(GOOD, GOOD), "line 2: the id 'read-a-lap.intro' appears twice"),
        (b"\xff\xfe", "line 1: not JSON"),
    ],
)
def test_a_fault_is_named_with_its_line(data: bytes, words: str) -> None:
    with pytest.raises(IngestFailed) as raised:
        parse_chunks(data)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


# --- what has to change

MODEL = "all-minilm-l6-v2"
NAMES = st.text("abc/. ", max_size=3)
WORDS = st.text("xyz", min_size=1, max_size=3)


def chunk(name: str, text: str = "Brake in a straight line.", title: str = "Braking") -> Chunk:
    return Chunk(id=name, lessonId="braking", url="lessons/braking/#a", title=title, text=text)


def stored(*documents: Document) -> dict[str, str]:
    return {document.id: document.digest for document in documents}


def test_a_document_leads_back_to_its_lesson() -> None:
    (document,) = make_documents([chunk("braking.intro")], MODEL)
    assert document.id == "lesson/braking.intro"
    assert document.metadata == {
        "kind": "lesson",
        "lessonId": "braking",
        "chunkId": "braking.intro",
        "title": "Braking",
        "url": "lessons/braking/#a",
    }
    (whole,) = make_documents([chunk("braking.intro")], MODEL, "https://example.org/course/")
    assert whole.metadata["url"] == "https://example.org/course/lessons/braking/#a"


def test_a_change_of_text_title_link_or_model_is_written() -> None:
    before = make_documents([chunk("a")], MODEL)
    changes = [
        make_documents([chunk("a", text="Brake later.")], MODEL),
        make_documents([chunk("a", title="Braking II")], MODEL),
        make_documents([chunk("a")], "another-model"),
        make_documents([chunk("a")], MODEL, "https://example.org/"),
    ]
    for after in changes:
        assert make_plan(after, stored(*before)).write == tuple(after)


def test_lessons_that_are_gone_are_removed_and_other_documents_are_not() -> None:
    documents = make_documents([chunk("a")], MODEL)
    here = {**stored(*documents), "lesson/old.intro": "0", "notes/monza": "0"}
    assert make_plan(documents, here).remove == ("lesson/old.intro",)


@given(
    st.dictionaries(NAMES, WORDS, max_size=6),
    st.dictionaries(NAMES, WORDS, max_size=6),
)
def test_carrying_a_plan_out_leaves_exactly_the_course(
    course: dict[str, str], before: dict[str, str]
) -> None:
    was = make_documents([chunk(f"x{name}x", text) for name, text in before.items()], MODEL)
    now = make_documents([chunk(f"x{name}x", text) for name, text in course.items()], MODEL)
    plan = make_plan(now, stored(*was))
    held = stored(*was)
    held.update(stored(*plan.write))
    for name in plan.remove:
        del held[name]
    assert held == stored(*now)
    assert make_plan(now, held).write == ()


def test_the_digest_tells_apart_what_only_looks_the_same_in_a_row() -> None:
    assert hash_document("ab", "c", "m") != hash_document("a", "bc", "m")
    assert hash_document("a", None, "m") == hash_document("a", None, "m")


@pytest.mark.parametrize(
    ("metadata", "heading"),
    [
        ({"kind": "lesson", "title": "Read a lap"}, "Read a lap"),
        ({"kind": "lesson", "title": " Read\n a\tlap "}, "Read a lap"),
        ({"kind": "lesson", "title": " \n"}, ""),
        ({"kind": "lesson", "title": 7}, ""),
        ({"kind": "lesson"}, ""),
        ({"kind": "note", "title": "Read a lap"}, ""),
        ({"kind": ["lesson"], "title": "Read a lap"}, ""),
        ({"title": "Read a lap"}, ""),
        (["lesson", "Read a lap"], ""),
        ("lesson", ""),
        (None, ""),
    ],
)
def test_only_a_lesson_has_a_heading(metadata: object, heading: str) -> None:
    assert read_heading(metadata) == heading


def test_a_heading_makes_another_document_and_none_leaves_the_digest_as_it_was() -> None:
    before = "085d8b277683d9f1fc339ddeb9cb02ddb3c85a065578333a404f1a3c9d98e937"
    assert hash_document("text", '{"a":1}', "model") == before
    assert hash_document("text", '{"a":1}', "model", "") == before
    assert hash_document("text", '{"a":1}', "model", "Title") != before
