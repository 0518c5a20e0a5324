"""Real recordings of others against what a plain reader and a few formulas make of them.

The files are no part of the project: `BRIDGE_TEST_RECORDINGS` names the folder that holds them.
"""

import csv
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import cantools
import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import pytest_asyncio
from cantools.database.can import Database

from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.truth.asking import DEFAULT_CIRCUIT, View, bring, look, send
from tests.bridge.truth.circuits import GRAVITY, Numbers

VARIABLE: Final = "BRIDGE_TEST_RECORDINGS"
FOLDER: Final = Path(os.environ.get(VARIABLE, ""))
RACECHRONO: Final = "racechrono-v3-tianma-lap9.csv"
CAN_LOG: Final = "moteclog-can_sample.head5000.log"
CAN_DBC: Final = "moteclog-sample_can_spec.dbc"
CENTRELINE: Final = "f1-circuits-gb-1948.geojson"

pytestmark = pytest.mark.skipif(
    VARIABLE not in os.environ or not FOLDER.is_dir(),
    reason=f"{VARIABLE} names no folder of recordings",
)


class Truth(NamedTuple):
    """What a file says, read plainly; None where it cannot say."""

    duration_s: float
    distance_m: float
    top_kmh: float
    lap_times: list[float]
    corners: int | None = None


def racechrono_truth() -> Truth:
    """The receiver's own speed, the logger's count of laps, and the turning of the course."""
    with (FOLDER / RACECHRONO).open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    top = next(i for i, line in enumerate(lines) if line[:1] == ["timestamp"])
    rows = np.array([[float(cell or "nan") for cell in line] for line in lines[top + 3 :] if line])
    t, lap, speed, course = (
        rows[:, lines[top].index(name)]  # the first of a name is the receiver's
        for name in ("timestamp", "lap_number", "speed", "bearing")
    )
    begin, end = t[lap == 9][0], t[lap == 10][0]
    metres = float(np.sum((speed[1:] + speed[:-1]) / 2 * np.diff(t)))
    corners = count_corners(t, speed, course, begin, end)
    return Truth(t[-1] - t[0], metres, 3.6 * speed.max(), [end - begin], corners)


def count_corners(t: Numbers, speed: Numbers, course: Numbers, begin: float, end: float) -> int:
    """Half a second or more of one direction above 35 % of the lap's largest pull."""
    t, kept = np.unique(t, return_index=True)
    grid = np.arange(begin, end, 0.05)
    heading = np.unwrap(np.radians(course[kept]))
    turned = np.interp(grid + 0.5, t, heading) - np.interp(grid - 0.5, t, heading)
    pull = turned * np.interp(grid, t, speed[kept]) / GRAVITY
    sign = np.where(np.abs(pull) > 0.35 * np.percentile(np.abs(pull), 98), np.sign(pull), 0.0)
    edges = np.flatnonzero(np.diff(sign, prepend=0.0, append=0.0))
    spans = pairwise(edges)
    return sum(bool(sign[i] and (j - i) * 0.05 >= 0.5) for i, j in spans)


def vbo_truth(name: str) -> Truth:
    """A VBO file's rows: hhmmss, minutes of arc, km/h."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    names = re.search(r"\[column names\]\s*(.+)", text)
    assert names is not None
    columns = names[1].split()
    rows = [line.split() for line in text.split("[data]")[1].strip().splitlines()]
    clock = [row[columns.index("time")] for row in rows]
    t = np.array([int(c[:2]) * 3600 + int(c[2:4]) * 60 + float(c[4:]) for c in clock])
    kmh = np.array([float(row[columns.index("velocity")]) for row in rows])
    metres = float(np.sum((kmh[1:] + kmh[:-1]) / 7.2 * np.diff(t)))
    return Truth(t[-1] - t[0], metres, float(kmh.max()), [])


def can_truth() -> Truth:
    """The speed signal of a candump log, decoded message by message."""
    signals = can_signals()
    t, speed = signals["SPEED"]
    metres = float(np.sum((speed[1:] + speed[:-1]) / 2 * np.diff(t)))
    return Truth(t[-1] - t[0], metres, 3.6 * float(speed.max()), [])


@cache
def can_signals() -> dict[str, tuple[Numbers, Numbers]]:
    """Every signal of the log: its moments and its values."""
    database = cantools.database.load_file(FOLDER / CAN_DBC)
    assert isinstance(database, Database)
    known = {message.frame_id for message in database.messages}
    told: dict[str, list[tuple[float, float]]] = {}
    lines = (FOLDER / CAN_LOG).read_text(encoding="utf-8").splitlines()
    for line in lines:
        if (match := re.fullmatch(r"\((\S+)\) \S+ ([0-9A-F]+)#([0-9A-F]*)", line)) is None:
            continue
        frame_id = int(match[2], 16)
        if frame_id in known:
            values = database.decode_message(frame_id, bytes.fromhex(match[3]), False)
            assert isinstance(values, dict)
            for name, value in values.items():
                assert isinstance(value, int | float)
                told.setdefault(name, []).append((float(match[1]), float(value)))
    return {name: (np.array(v)[:, 0], np.array(v)[:, 1]) for name, v in told.items()}


FILES: Final[dict[str, Callable[[], Truth]]] = {
    RACECHRONO: racechrono_truth,
    "racelogic-vbvdhd2-roadamerica.excerpt.vbo": lambda: vbo_truth(
        "racelogic-vbvdhd2-roadamerica.excerpt.vbo"
    ),
    "vbox-ii-sample.vbo": lambda: vbo_truth("vbox-ii-sample.vbo"),
    "vbo-rs-continuous-minutes.vbo": lambda: vbo_truth("vbo-rs-continuous-minutes.vbo"),
    CAN_LOG: can_truth,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def file_bridge(folder: Path) -> AsyncIterator[Bridge]:
    """One bridge with the log's own DBC for all files."""
    async with bridging(settings_for(folder, can_dbc=[str(FOLDER / CAN_DBC)])) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=FILES)
async def imported(
    request: pytest.FixtureRequest, file_bridge: Bridge
) -> AsyncIterator[tuple[Truth, View]]:
    """Each file in turn: read plainly, and imported."""
    name: str = request.param
    sid = re.sub(r"\W", "-", name)
    done = await bring(file_bridge, sid, FOLDER / name)
    yield FILES[name](), await look(file_bridge, sid, done)


def test_a_file_is_as_long_and_as_far_as_it_says(imported: tuple[Truth, View]) -> None:
    truth, view = imported
    assert view.done["duration_s"] == pytest.approx(truth.duration_s, abs=0.1)
    for told in (view.full, view.done, view.said["session"]):
        assert told["distance_m"] == pytest.approx(truth.distance_m, rel=0.005, abs=0.2)


def test_a_file_has_its_laps_and_no_other(imported: tuple[Truth, View]) -> None:
    truth, view = imported
    assert view.times == pytest.approx(truth.lap_times, abs=0.040)
    assert view.done["n_laps"] == len(truth.lap_times)
    assert view.said["session"]["lap_count"] == len(truth.lap_times)


def test_what_needs_a_lap_is_refused_without_one(imported: tuple[Truth, View]) -> None:
    truth, view = imported
    asked = {s for name, s in view.status.items() if name not in ("laps", "map")}
    assert asked == ({200} if truth.lap_times else {400})
    assert view.status["map"] == 200


@pytest.mark.asyncio(loop_scope="module")
async def test_a_file_has_its_top_speed(imported: tuple[Truth, View], file_bridge: Bridge) -> None:
    truth, view = imported
    stats = await file_bridge.ok("GET", f"/session/{view.session_id}/stats?partial=true")
    assert stats["top_speed_kmh"] == pytest.approx(truth.top_kmh, rel=0.01, abs=0.1)
    average = 3.6 * truth.distance_m / truth.duration_s
    assert stats["average_speed_kmh"] == pytest.approx(average, rel=0.01, abs=0.1)


@pytest.mark.asyncio(loop_scope="module")
async def test_positions_alone_measure_a_centreline(file_bridge: Bridge) -> None:
    circuit = json.loads((FOLDER / CENTRELINE).read_text(encoding="utf-8"))["features"][0]
    lon, lat = np.array(circuit["geometry"]["coordinates"]).T
    per_degree = 111_132.95 - 559.85 * np.cos(2 * np.radians(lat[0]))
    per_degree_east = 111_412.88 * np.cos(np.radians(lat[0]))
    way = np.hypot(np.diff(lat) * per_degree, np.diff(lon) * per_degree_east)
    along = np.concatenate([[0.0], np.cumsum(way)])
    places = np.arange(0.0, 3.3 * along[-1], 4.0)  # 40 m/s at 10 Hz
    columns = {
        "timestamp": 1.78e9 + np.arange(len(places)) / 10.0,
        "lat": np.interp(places % along[-1], along, lat),
        "lon": np.interp(places % along[-1], along, lon),
    }
    await send(file_bridge, "centreline", columns)

    view = await look(file_bridge, "centreline")

    assert along[-1] == pytest.approx(circuit["properties"]["length"], rel=0.01)
    assert view.full["distance_m"] == pytest.approx(places[-1], rel=0.005)
    assert view.times == pytest.approx([along[-1] / 40.0] * 3, abs=0.040)
    assert not view.is_default_circuit


def test_no_file_is_of_the_default_circuit(imported: tuple[Truth, View]) -> None:
    assert not imported[1].is_default_circuit


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("driver", ["Ana", "Ben"])
async def test_a_session_of_known_truth_is_told_as_it_is(file_bridge: Bridge, driver: str) -> None:
    table = pq.read_table(FOLDER / "coach" / f"{driver.lower()}.parquet")
    columns = {name: table[name].to_numpy() for name in table.column_names}
    truth: Json = json.loads((FOLDER / "coach" / "truth.json").read_text(encoding="utf-8"))[driver]
    summary = truth["summary"]
    await send(file_bridge, driver, columns, driver=driver)

    view = await look(file_bridge, driver)

    assert view.times == pytest.approx([lap["time_s"] for lap in truth["laps"]], abs=0.040)
    table_laps = view.said["lap_time_table"]
    assert table_laps["best_lap_number"] == summary["best_lap"]
    for told, lap in zip(table_laps["laps"], truth["laps"], strict=True):
        sectors = [sector["time_s"] for sector in told["sectors"]]
        assert sectors == pytest.approx(lap["sectors_s"], abs=0.1)
        assert told["max_speed_kmh"] == pytest.approx(lap["top_speed_kmh"], rel=0.01)
    ideal = view.said["ideal_lap"]["ideal_lap_s"]
    assert ideal == pytest.approx(summary["ideal_sectors_s"], abs=0.1)
    speed, t = columns["speed_ms"], columns["timestamp"]
    metres = float(np.sum((speed[1:] + speed[:-1]) / 2 * np.diff(t)))
    assert view.full["distance_m"] == pytest.approx(metres, rel=0.005)
    assert view.said["stats"]["top_speed_kmh"] == pytest.approx(3.6 * speed.max(), rel=0.01)
    assert len(view.said["corners"]["corners"]) == len(truth["laps"][0]["corners"])
    for name, row in (
        ("session", view.said["session"]["session"]),
        ("list", view.said["sessions"]),
    ):
        assert row["track"].startswith(DEFAULT_CIRCUIT), name  # this one was driven there
    assert view.said["board"][0]["lap_time_s"] == pytest.approx(summary["best_s"], abs=0.040)


def test_a_file_has_its_corners(imported: tuple[Truth, View]) -> None:
    truth, view = imported
    if truth.corners is None:
        assert "corners" not in view.said["corners"]
    else:
        assert abs(len(view.said["corners"]["corners"]) - truth.corners) <= 1
        assert len(view.said["map"]["corners"]) == len(view.said["corners"]["corners"])
