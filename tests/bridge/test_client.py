"""The Python client against real bridges on both databases, and against servers that misbehave."""

import io
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import nbformat
import pandas as pd  # type: ignore[import-untyped]
import pytest

from paddock.client import Bridge as Client
from paddock.client import BridgeError
from runtime.bridge.session.recording import Frames
from tests.bridge.analysis.lapkit import OVAL
from tests.bridge.bridgekit import ROOT, launch
from tests.bridge.formats.vbo.vbokit import drive as vbo_drive
from tests.bridge.formats.vbo.vbokit import vbo_bytes, write_vbo
from tests.bridge.storage.storekit import KINDS
from tools.drive import drive

pytestmark = pytest.mark.timeout(180)  # the coach of a fresh bridge begins slowly
LAPS = 3
HZ = 10.0
PAGE = ROOT / "docs" / "bridge-client.md"
NOTEBOOK = ROOT / "docs" / "notebooks" / "two-laps.ipynb"
Json = Any


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """A client of a bridge of its own process, with two sessions of the simulated car."""
    process, url = launch(tmp_path_factory.mktemp("bridge"), KINDS[0])
    with process:
        client = Client(url)
        for seed, name in enumerate(("monday", "tuesday")):
            about = {"session_id": name, "driver": "Mia", "car": "hatch", "track": OVAL.id}
            client.post("/session/start", about)
            columns = {key: values.tolist() for key, values in driven(seed).columns.items()}
            client.post(f"/session/{name}/frames", {"columns": columns})
            signal = [["oil_temp_c", float(t), 90.0] for t in range(30)]
            client.post(f"/session/{name}/signals", {"signals": signal})
            client.post(f"/session/{name}/end", {})
        yield client
        process.terminate()
        assert process.wait(20) == 0


def driven(seed: int) -> Frames:
    return drive(OVAL, LAPS, hz=HZ, seed=seed, skill=0.9).frames


def test_sessions_and_laps_are_frames(client: Client) -> None:
    sessions = client.sessions(driver="mia")
    laps = client.session("monday").laps()

    assert list(sessions["session_id"]) == ["tuesday", "monday"]
    assert str(sessions["started_at"].dtype).endswith("UTC]")
    assert list(laps.index) == [1, 2, 3]
    assert laps["lap_time_s"].min() == sessions.set_index("session_id")["best_lap_s"]["monday"]
    sectors = laps[["sector_1_s", "sector_2_s", "sector_3_s"]].sum(axis=1)
    assert (sectors - laps["lap_time_s"]).abs().max() < 0.002
    nobody = client.sessions(driver="nobody")
    assert len(nobody) == 0
    assert set(nobody.columns) == set(sessions.columns)
    assert str(nobody["started_at"].dtype).endswith("UTC]")


def test_frames_and_signals_are_as_recorded(client: Client) -> None:
    session = client.session("monday")
    frames = session.frames()
    by_time = session.signals("speed_ms", "oil_temp_c", rate_hz=1)
    by_place = session.signals("speed_ms", lap=2, axis="distance", step_m=10)

    recorded = driven(0)
    assert len(frames) == len(recorded)
    assert (frames["speed_ms"].to_numpy() == recorded.columns["speed_ms"]).all()
    assert by_time.index.name == "t"
    assert set(by_time["oil_temp_c"].dropna()) == {90.0}
    assert by_place.index.name == "distance_m"
    assert by_place.index[-1] == pytest.approx(OVAL.length_m, abs=10)


def test_laps_are_compared_and_corners_graded(client: Client) -> None:
    session = client.session("monday")
    both = session.compare(1, "tuesday:best", channels=("speed_kmh",))
    corners = session.corners()

    names = ["monday:1", "tuesday:best"]
    assert list(both.laps.index) == names
    assert list(both.channels["speed_kmh"].columns) == names
    assert both.channels.index[0] == 0
    assert both.channels["speed_kmh"].notna().all().all()
    assert list(corners.index) == [corner.name for corner in OVAL.in_lap_order()]
    assert list(both.corners.loc[corners.index[0]].index) == names
    assert (both.corners["delta_s"].xs("monday:1", level="lap") == 0).all()


def test_the_coach_answers(client: Client) -> None:
    session = client.session("monday")
    answer = session.ask("What was my best lap?")
    assert answer["facts"]
    assert answer["answer"]


def test_a_recording_is_sent(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "run.vbo"
    write_vbo(path, vbo_drive(laps=1.2))
    by_path = client.upload(path, driver="Ada", session_id="path")
    file = io.BytesIO(vbo_bytes(vbo_drive(laps=1.2)))
    by_file = client.upload(file, filename="run.vbo", session_id="file")

    assert (by_path.id, by_file.id) == ("path", "file")
    about = by_path.get()
    assert about["session"]["driver"] == "Ada"
    assert len(by_path.frames()) == len(by_file.frames()) > 0


def test_what_happens_is_followed(client: Client) -> None:
    events = []
    for event in client.live("_live", topics=("telemetry", "timing"), signals=("speed_ms",)):
        events.append(event)
        if event.name == "hello":
            client.post("/session/replay/start", {"source_session_id": "monday", "speed": 20.0})
        if event.name == "lap":
            break
    client.post("/session/replay/stop", {})
    assert events[0].name == "hello"
    assert sum(event.name == "telemetry" and event.data["speed_ms"] > 0 for event in events) > 10
    assert events[-1].data["lap_number"] == 1


def test_an_error_has_the_sentence_and_the_code_of_the_bridge(client: Client) -> None:
    with pytest.raises(BridgeError, match="no such session") as unknown:
        client.session("../nobody").laps()
    assert (unknown.value.code, unknown.value.status) == ("unknown_session", 404)
    with pytest.raises(BridgeError) as bad:
        client.compare("monday:1", "x")
    assert (bad.value.code, bad.value.status) == ("bad_query", 400)
    for odd in ("ü/\udcff", "a\nb", "\x00", "%", ""):
        with pytest.raises(BridgeError) as refused:
            client.session(odd).frames()
        assert refused.value.status in (400, 404, 405), odd
        with pytest.raises(BridgeError):
            client.get(f"/{odd}/none", name=odd)
    with pytest.raises(BridgeError) as empty:
        client.ask(" ")
    assert empty.value.code == "bad_field"


class Reply(NamedTuple):
    """What a made-up server answers."""

    status: int
    body: bytes = b"{}"
    headers: Mapping[str, str] = {}
    length: int | None = None
    """As it is declared; None: as it is."""


class Made(NamedTuple):
    """A made-up server and what it was asked."""

    url: str
    asked: list[tuple[str, Message]]


@pytest.fixture
def serve() -> Iterator[Callable[[Sequence[Reply]], Made]]:
    """Starts a server that gives one reply after the other, the last one for ever."""
    servers = []

    def start(replies: Sequence[Reply]) -> Made:
        waiting = list(replies)
        asked: list[tuple[str, Message]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.command, self.headers))
                reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                self.send_response(reply.status)
                length = len(reply.body) if reply.length is None else reply.length
                for name, value in {"Content-Length": str(length), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            do_POST = do_GET  # noqa: N815 - named by the library

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return Made(f"http://127.0.0.1:{server.server_port}", asked)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


BUSY = Reply(503, b'{"error": "busy", "code": "store_busy"}', {"Retry-After": "0"})


def test_what_only_reads_is_asked_again(serve: Callable[[Sequence[Reply]], Made]) -> None:
    made = serve([BUSY, Reply(200, b'{"a"', length=9), Reply(200, b'{"a": 1}')])
    assert Client(made.url).get("/x") == {"a": 1}
    assert len(made.asked) == 3

    made = serve([BUSY])
    with pytest.raises(BridgeError) as busy:
        Client(made.url, retries=1).get("/x")
    assert (busy.value.code, busy.value.status, len(made.asked)) == ("store_busy", 503, 2)


def test_a_proxy_for_the_web_is_none_for_a_bridge(
    serve: Callable[[Sequence[Reply]], Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert Client(serve([Reply(200, b'{"a": 1}')]).url).get("/x") == {"a": 1}


def test_what_writes_is_never_sent_twice(serve: Callable[[Sequence[Reply]], Made]) -> None:
    made = serve([BUSY])
    client = Client(made.url)
    with pytest.raises(BridgeError):
        client.post("/x", {})
    with pytest.raises(BridgeError):
        client.upload(io.BytesIO(b"x"), filename="run.vbo")
    with pytest.raises(BridgeError):
        client.ask("Why?")
    assert [method for method, _ in made.asked] == ["POST"] * 3


@pytest.mark.parametrize(
    "reply", [Reply(200, b"[1]"), Reply(200, b"<html>"), Reply(404, b"gone"), Reply(500, b"[]")]
)
def test_what_is_no_bridge_is_said(serve: Callable[[Sequence[Reply]], Made], reply: Reply) -> None:
    with pytest.raises(BridgeError) as wrong:
        Client(serve([reply]).url).get("/x")
    assert wrong.value.code == "no_bridge"


def test_silence_and_absence_are_told_apart(serve: Callable[[Sequence[Reply]], Made]) -> None:
    silent = serve([Reply(200, b"{", length=9)])
    # A server of this process that never answers: nobody accepts from its queue.
    with (
        pytest.raises(BridgeError) as slow,
        ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as nobody,
    ):
        Client(f"http://127.0.0.1:{nobody.server_port}", timeout_s=0.1, retries=0).get("/x")
    assert slow.value.code == "timeout"
    with pytest.raises(BridgeError) as gone:
        Client("http://127.0.0.1:1", retries=0).get("/x")
    assert (gone.value.code, gone.value.status) == ("unreachable", None)
    with pytest.raises(BridgeError) as cut:
        Client(silent.url, retries=0).get("/x")
    assert cut.value.code == "unreachable"


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "127.0.0.1:8765", "http://", "http://a b", "http://[::1", "http://a:b",
     "http://\udcff", "http://ü", f"http://{'a' * 70}", "http://a:99999", "http://a\n"],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused_at_once(address: str) -> None:
    with pytest.raises(ValueError, match="http://"):
        Client(address)


def test_a_stream_that_breaks_is_taken_up_again(serve: Callable[[Sequence[Reply]], Made]) -> None:
    first = b': ka\n\nevent: hello\ndata: {"n": 1}\n\nid: 7\nevent: cue\ndata: {"n": 2}\n\ndata: {'
    made = serve([Reply(200, first), Reply(200, b'id: 8\ndata: {"n": 3}\n\n'), Reply(404)])
    events = Client(made.url).live("s")
    assert [(event.name, event.data["n"]) for event in islice(events, 3)] == [
        ("hello", 1),
        ("cue", 2),
        ("message", 3),
    ]
    with pytest.raises(BridgeError):
        next(events)
    assert [headers["Last-Event-ID"] for _, headers in made.asked] == [None, "7", "8"]


def test_importing_it_takes_nothing_but_the_standard_library() -> None:
    text = (ROOT / "paddock" / "client.py").read_text("utf-8")
    top = re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)
    assert set(top) <= sys.stdlib_module_names


def test_the_examples_of_the_documentation_work(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_vbo(tmp_path / "stint.vbo", vbo_drive(laps=1.2))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) > 3
    replay = {"source_session_id": "monday", "speed": 20.0, "loop": True}
    client.post("/session/replay/start", replay)
    program = "\n".join(blocks).replace("http://127.0.0.1:8765", client.address)
    exec(compile(program, str(PAGE), "exec"), {})
    client.post("/session/replay/stop", {})


class NoMatplotlib:
    """Takes the place of matplotlib, which need not be there."""

    plotted: ClassVar[list[Json]] = []

    @classmethod
    def plot(cls, data: Json, **how: object) -> None:
        cls.plotted.append(data)


def test_the_notebook_reads_a_session_and_plots_two_laps(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "no_matplotlib", NoMatplotlib)
    NoMatplotlib.plotted.clear()
    notebook = json.loads(NOTEBOOK.read_bytes())
    nbformat.validate(notebook)
    cells = ["".join(one["source"]) for one in notebook["cells"] if one["cell_type"] == "code"]
    program = "\n".join(cells).replace("http://127.0.0.1:8765", client.address)
    names: dict[str, Json] = {}
    with pd.option_context("plotting.backend", "no_matplotlib"):
        exec(compile(program, str(NOTEBOOK), "exec"), names)

    speeds, gap = NoMatplotlib.plotted
    assert speeds.shape == (1000, 2)
    assert (speeds > 0).all().all()
    slowest, best = names["laps"]["lap_time_s"].max(), names["laps"]["lap_time_s"].min()
    assert gap.iloc[-1] == pytest.approx(slowest - best, abs=0.005)
