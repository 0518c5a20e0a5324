"""``--check``: what it calls good starts, what it refuses does not, what it warns of happens."""

import json
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from runtime.bridge.commands.tracks import main as build
from runtime.bridge.server import main
from runtime.bridge.startup import check_settings, find_warnings, probe_startup
from runtime.bridge.storage.opening import check, open_database
from runtime.bridge.storage.records import Backend
from runtime.web.instance import AlreadyRunning
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.track.examples import circuit

GOOD = "the configuration is good\n"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def files(folder: Path) -> dict[str, bytes]:
    """All files below, with what is in them."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def checked(*flags: str) -> int:
    return main(["--check", "--port", "0", *flags])


def foreign(path: Path, kind: str) -> None:
    """A file of another program."""
    if kind == "text":
        path.write_text("Dear diary\n" * 50)
    elif kind == "sqlite":
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE places (url TEXT)")
        other.commit()
        other.close()
    else:
        with duckdb.connect(str(path)) as made:
            made.execute("CREATE TABLE places (url VARCHAR)")


def test_a_file_that_the_start_would_put_aside_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "diary.txt"
    foreign(path, "text")
    before = files(tmp_path)
    assert checked("--db", str(path), "--log-level", "error") == 0
    said = capsys.readouterr()
    assert said.out == "the configuration can be used; warnings: 1\n"
    assert "diary.txt is not a database" in said.err
    assert "diary.txt.corrupt-" in said.err
    assert files(tmp_path) == before


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "places"
    foreign(path, kind)
    before = files(tmp_path)
    assert checked("--db", str(path)) == 2
    assert "db: the database was not made by this program" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_a_database_of_its_own_is_good_and_one_in_use_is_not(
    backend: Backend, tmp_path: Path
) -> None:
    path = tmp_path / "db"
    opened = open_database(path, backend, [])
    with pytest.raises(AlreadyRunning):
        check(path, backend)
    opened.close()
    before = path.read_bytes()
    assert check(path, backend) == []
    assert path.read_bytes() == before


def test_a_database_that_is_damaged_is_warned_of(backend: Backend, tmp_path: Path) -> None:
    path = tmp_path / "db"
    open_database(path, backend, []).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(len(whole) - 100))
    (warning,) = check(path, backend)
    assert "is damaged" in warning
    opened = open_database(path, backend, [])
    opened.close()
    assert opened.recovered_from is not None


def test_ports_that_are_taken_end_with_3(taken: int, tmp_path: Path) -> None:
    db = ["--db", str(tmp_path / "db")]
    assert main(["--check", "--port", str(taken), *db]) == 3
    viewers = ["--spectator-host", "127.0.0.1", "--spectator-port"]
    assert checked(*db, *viewers, str(taken)) == 3
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = str(other.getsockname()[1])
    assert main(["--check", "--port", free, *db, *viewers, free]) == 3
    assert main(["--check", "--port", free, *db]) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_is_not_here_ends_with_2(tmp_path: Path) -> None:
    db = ["--db", str(tmp_path / "db")]
    assert checked(*db, "--host", "203.0.113.1", "--allow-remote") == 2
    assert checked(*db, "--spectator-host", "203.0.113.1", "--spectator-port", "0") == 2


WRONG: list[tuple[str, Json]] = [
    ("model_url", "localhost:8080"),
    ("model_url", "ftp://127.0.0.1/v1"),
    ("model_url", "http://127.0.0.1:99999/v1"),
    ("model_url", "http://127.0.0.1:8080/v1?x=1"),
    ("model_url", "http:///v1"),
    ("grading_url", "nonsense"),
    ("course", "ftp://course.example/"),
    ("cors_origins", ["http://pit.example/page"]),
    ("cors_origins", ["http://pit.example/"]),
    ("cors_origins", ["pit.example"]),
    ("cors_origins", ["https://*.example"]),
    ("cors_origins", ["https://pit.example:99999"]),
    ("cors_origins", ["https://pit.example:port"]),
    ("allowed_hosts", ["http://pit.example"]),
    ("allowed_hosts", ["pit.example:8765"]),
    ("can_session_id", "SIM"),
    ("can_session_id", "import"),
]


@pytest.mark.parametrize(("setting", "value"), WRONG)
def test_a_value_that_can_never_work_is_refused_by_check_and_start(
    setting: str, value: Json, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ",".join(value) if isinstance(value, list) else value
    flags = ["--port", "0", "--db", str(tmp_path / "db"), f"--{setting.replace('_', '-')}", told]
    for more in ([], ["--check"]):
        try:
            code: object = main([*flags, *more])
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        assert code == 2
        assert setting in said.err.replace("-", "_")
        assert (said.out, said.err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []


async def test_an_entry_without_anything_in_it_lets_nobody_in(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, cors_origins=["", " "], allowed_hosts=[""])
    check_settings(settings)
    async with bridging(settings) as bridge:
        for origin in ("", "http://pit.example"):
            answer = await bridge.get("/health", headers={"Origin": origin})
            assert "Access-Control-Allow-Origin" not in answer.headers


RIGHT: list[dict[str, Json]] = [
    {},
    {"model_url": "http://127.0.0.1:8080/v1"},
    {"model_url": " https://models.example/openai/v1/ "},
    {"model_url": "http://[::1]:8080/v1beta"},
    {"cors_origins": ["*", "null", "http://localhost:*", "http://[::1]:5173", "app://obsidian.md"]},
    {"allowed_hosts": ["pit", "Pit.Example.", "192.0.2.7", "[2001:db8::1]", "2001:db8::1"]},
    {"grading_url": "https://grader.example/v1", "grading_key": "k"},
    {"simulate": True, "can_channel": "paddock"},
    {"can_session_id": "mycar"},
    {"cors_origins": ["https://pit.example:65535"]},
]


def test_what_can_work_is_neither_refused_nor_doubted(tmp_path: Path) -> None:
    for given in RIGHT:
        settings = settings_for(tmp_path, **given)
        check_settings(settings)
        assert list(find_warnings(settings)) == []
        assert probe_startup(settings) == []


ODD: list[tuple[str, dict[str, Json]]] = [
    ("model_url", {"model_url": "http://127.0.0.1:8080"}),
    ("model_url", {"model_url": "http://127.0.0.1:8080/v1/chat/completions"}),
    ("grading_url", {"grading_url": "https://grader.example"}),
    ("/score is off", {"grading_url": "https://grader.example/v1"}),
    ("/score is off", {"grading_key": "k"}),
    ("import_roots", {"import_roots": ["{folder}/none"]}),
    ("import_roots", {"import_roots": ["{folder}/file"]}),
    ("prompt_log", {"prompt_log": "{folder}"}),
    ("prompt_log", {"prompt_log": "{folder}/none/log.jsonl"}),
    ("course", {"course": "{folder}/none"}),
    ("can_channel is not set", {"can_interface": "slcan"}),
    ("only this program", {"can_channel": "/dev/ttyACM0"}),
    ("no /dev/none", {"can_interface": "slcan", "can_channel": "/dev/none"}),
    ("not a serial device", {"can_interface": "slcan", "can_channel": "{folder}/file"}),
    ("PCAN_USBBUS1", {"can_interface": "pcan", "can_channel": "can0"}),
    ("can1 now; it is tried again", {"can_interface": "socketcan", "can_channel": "can1"}),
    ("can_car_config", {"can_car_config": "oberling-vesper-30", "can_no_car_config": True}),
    ("can_session_id", {"simulate": True, "can_session_id": "mycar"}),
]


def test_what_does_not_do_what_one_expects_is_doubted_and_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "can0").mkdir()
    monkeypatch.setattr("runtime.bridge.startup.NETWORK", tmp_path)
    for words, given in ODD:
        placed = json.loads(json.dumps(given).replace("{folder}", str(tmp_path)))
        settings = settings_for(tmp_path, **placed)
        check_settings(settings)
        assert any(words in told for told in find_warnings(settings)), given
    there = settings_for(tmp_path, can_interface="socketcan", can_channel="can0")
    assert list(find_warnings(there)) == []


def test_an_unknown_track_is_warned_of_with_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked("--db", str(tmp_path / "db"), "--track", "monza") == 0
    said = capsys.readouterr()
    assert said.out == "the configuration can be used; warnings: 1\n"
    assert "monza" in said.err
    assert "larkfell" in said.err


def test_a_track_without_a_line_is_warned_of_and_a_built_one_has_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = circuit()
    around = [[point["lon"], point["lat"]] for point in drawn.pop("reference_line")]
    bare, ring, built = (tmp_path / f"{name}.json" for name in ("bare", "ring", "built"))
    bare.write_text(json.dumps(drawn))
    ring.write_text(json.dumps({"type": "LineString", "coordinates": around}))
    flags = ["--db", str(tmp_path / "db"), "--track"]
    assert checked(*flags, str(bare)) == 0
    said = capsys.readouterr()
    assert said.out == "the configuration can be used; warnings: 1\n"
    assert "track bare: it has no reference line" in said.err
    assert "track build" in said.err
    assert checked(*flags, str(bare), "--no-live-cues") == 0
    assert capsys.readouterr().out == GOOD
    assert build(["build", str(ring), "--name", "Round", "--out", str(built)]) == 0
    capsys.readouterr()
    assert checked(*flags, str(built)) == 0
    assert capsys.readouterr().out == GOOD


def test_a_course_that_cannot_be_read_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "site" / "api" / "v1" / "catalog.json"
    catalog.parent.mkdir(parents=True)
    catalog.write_text("[]")
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = other.getsockname()[1]
    for course in (str(tmp_path / "site"), f"http://127.0.0.1:{free}"):
        assert checked("--db", str(tmp_path / "db"), "--course", course) == 0
        said = capsys.readouterr()
        assert said.out == "the configuration can be used; warnings: 1\n"
        assert "is not used" in said.err
