"""The command that makes circuits: of recordings of any kind, and of sessions."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.commands.tracks import main
from runtime.bridge.session.recording import Recording, Samples
from runtime.bridge.storage.records import SessionMeta
from runtime.bridge.storage.store import Store
from runtime.bridge.track.library import Library, read_track
from runtime.bridge.track.model import Track
from tests.bridge.bridgekit import bridging, settings_for
from tests.bridge.track.examples import DATA
from tools.drive import Drive, drive

LARKFELL = Library.read(DATA).tracks["larkfell"]
ELSEWHERE_LON = 3.0


def driven_elsewhere() -> Drive:
    """Three laps of a circuit of Larkfell's form where no circuit is known."""
    driven = drive(LARKFELL, 3, hz=10.0, skill=0.8, seed=2)
    driven.frames.columns["lon"][:] += ELSEWHERE_LON
    return driven


async def store_session(db: Path, backend: str, track: str = "") -> None:
    driven = driven_elsewhere()
    t = driven.frames.columns["timestamp"]
    start = LARKFELL.start._replace(lon=LARKFELL.start.lon + ELSEWHERE_LON)
    heights = {"altitude_m": Samples(t, 50.0 + np.sin(t))}
    store = await Store.open(db, backend, ())  # type: ignore[arg-type]
    try:
        given = Recording(driven.frames, heights, start=start)
        await store.import_recording("mine", given, SessionMeta(track=track))
    finally:
        await store.close()


def is_larkfell(track: Track) -> None:
    assert [c.direction for c in track.corners] == [c.direction for c in LARKFELL.corners]
    assert track.length_m == pytest.approx(LARKFELL.length_m, rel=0.01)


def racechrono(driven: Drive) -> str:
    head = [
        "This file is created using RaceChrono v7.0 ( http://racechrono.com/ ).",
        "Format,3",
        'Track name,"Larkfell copy"',
        "timestamp,latitude,longitude,altitude,speed",
        "unix time,deg,deg,m,m/s",
        ",gps,gps,gps,gps",
    ]
    names = ("timestamp", "lat", "lon", "speed_ms")
    t, lat, lon, speed = (driven.frames.columns[name].tolist() for name in names)
    t0 = 1_750_000_000.0
    rows = zip(t, lat, lon, speed, strict=True)
    return "\n".join(
        [*head, *(f"{t0 + a:.3f},{b:.8f},{c:.8f},55.0,{d:.3f}" for a, b, c, d in rows), ""]
    )


def test_an_export_of_racechrono_makes_a_circuit(tmp_path: Path) -> None:
    source = tmp_path / "day.csv"
    source.write_text(racechrono(driven_elsewhere()), encoding="utf-8")

    assert main(["build", str(source), "--out", str(tmp_path / "o.json")]) == 0

    track, _ = read_track(tmp_path / "o.json")
    assert (track.name, track.generated_from) == ("Larkfell copy", "track build day.csv")
    assert len(track.corners) == 11  # from where the car first drove fast: other numbers
    assert track.length_m == pytest.approx(LARKFELL.length_m, rel=0.01)
    assert track.elevation is not None


@pytest.mark.parametrize("backend", ["analytical", "lightweight"])
def test_a_stored_session_makes_a_circuit_in_the_data_folder(
    backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(store_session(tmp_path / "db", backend, "My Circuit"))
    data = tmp_path / "data"
    data.mkdir()
    flags = ["--db", str(tmp_path / "db"), "--data-dir", str(data), "--track", ""]

    assert main(["build", "mine", *flags]) == 0, capsys.readouterr().err

    track, doubts = read_track(data / "tracks" / "my-circuit.json")
    assert (track.name, doubts) == ("My Circuit", ())
    assert track.generated_from == "track build mine"
    is_larkfell(track)
    assert track.elevation is not None
    assert "the median" in capsys.readouterr().out
    assert main(["build", "none", *flags]) == 1
    assert capsys.readouterr().err == ("none: no such session, or it has no telemetry\n")


async def test_a_running_bridge_makes_the_same_circuit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await store_session(tmp_path / "db", "lightweight")
    flags = ["--db", str(tmp_path / "db"), "--name", "Mine"]
    apart = ["build", "mine", *flags, "--out", str(tmp_path / "apart.json")]
    assert await asyncio.to_thread(main, apart) == 0, capsys.readouterr().err

    async with bridging(settings_for(tmp_path)) as bridge:
        through = ["build", "mine", *flags, "--out", str(tmp_path / "through.json")]
        code = await asyncio.to_thread(main, [*through, "--url", bridge.url])
        assert code == 0, capsys.readouterr().err
        short = await bridge.ok("GET", "/session/mine/track")
        assert (short["track_id"], short["track"]["name"]) == ("mine", "mine")
        assert short["derived"][0].startswith("The line is the median of ")
        signs = await bridge.refused("GET", "/session/mine/track?name=%2B%2B")
        assert signs == (422, "no_circuit")
        await bridge.ok("POST", "/session/start", {"session_id": "empty"})
        assert await bridge.refused("GET", "/session/empty/track") == (404, "no_rows")
        assert await bridge.refused("GET", "/session/none/track") == (404, "unknown_session")
        await bridge.ok("POST", "/session/empty/frame", {"timestamp": 1.0, "speed_ms": 9.0})
        assert await bridge.refused("GET", "/session/empty/track") == (422, "no_circuit")
        lost = ["build", "none", *flags, "--url", bridge.url]
        assert await asyncio.to_thread(main, lost) == 1

    assert "no such session" in capsys.readouterr().err
    made = (tmp_path / "through.json").read_bytes()
    assert made == (tmp_path / "apart.json").read_bytes()


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_folder_that_is_missing_is_named_as_what_is_missing(
    force: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "day.csv"
    source.write_text(racechrono(driven_elsewhere()), encoding="utf-8")
    out = tmp_path / "none" / "x.json"

    assert main(["build", str(source), "--out", str(out), *force]) == 1

    assert capsys.readouterr().err == f"{out}: No such file or directory\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.csv", "of no known format"),
        ("x.geojson", "line 1"),
        ("x.log", "no CAN frames"),
        ("x.doc", "unknown file format; known: .asc"),
        ("missing.vbo", "No such file"),
        ("no-session", "there is no database"),
    ],
)
def test_what_makes_no_circuit_is_said_in_one_line(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.startswith("x."):
        (tmp_path / name).write_text("nothing\n")
    source = name if name == "no-session" else str(tmp_path / name)

    assert main(["build", source, "--db", str(tmp_path / "db")]) == 1

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}: ")
    assert said in line


def test_wrong_flags_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ([], ["build"], ["build", "x", "--frob"]):
        with pytest.raises(SystemExit) as leaving:
            main(wrong)
        assert leaving.value.code == 2
    with pytest.raises(SystemExit):
        main(["build", "--help"])
    assert "--data-dir" in capsys.readouterr().out


async def test_a_circuit_named_by_its_path_is_known_by_its_id(tmp_path: Path) -> None:
    text = (DATA / "larkfell.json").read_text(encoding="utf-8")
    (tmp_path / "silver.json").write_text(text, encoding="utf-8")
    settings = settings_for(tmp_path, track=str(tmp_path / "silver.json"))
    async with bridging(settings) as bridge:
        heights = await bridge.ok("GET", "/track/silver/elevation")
    assert heights["track_id"] == "silver"
