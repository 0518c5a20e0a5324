"""Files of real loggers, beside the project where they are at hand, against plain computations."""

import math
from pathlib import Path

import pytest

from runtime.bridge.session.recording import Recording
from tests.bridge.formats.vbo.vbokit import read


@pytest.fixture(scope="module")
def folder(root: Path) -> Path:
    data = root.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the folder of real files is not beside the project")
    return data


def rows_of(path: Path) -> list[dict[str, str]]:
    """Rows by column name, read in the plainest way."""
    lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    names = lines[lines.index("[column names]") + 1].split()
    data = [line.split() for line in lines[lines.index("[data]") + 1 :] if line]
    return [dict(zip(names, cells, strict=True)) for cells in data]


def load(path: Path) -> Recording:
    return read(path.read_bytes())


def of_day(text: str) -> float:
    return int(text[:2]) * 3600 + int(text[2:4]) * 60 + float(text[4:])


def great_circle(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Metres, by the law of cosines on vectors: another formula than the reader's."""

    def vector(lat: float, lon: float) -> tuple[float, float, float]:
        lat, lon = math.radians(lat), math.radians(lon)
        return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)

    return 6_371_000.0 * math.dist(vector(*a), vector(*b))


@pytest.mark.parametrize(
    ("name", "lat", "lon", "day"),
    [
        ("racelogic-vbvdhd2-roadamerica.excerpt.vbo", 43.80, -87.99, 1_754_006_400),
        ("vbo-rs-continuous-minutes.vbo", 53.18, -2.61, 1_741_305_600),
        ("vbox-ii-sample.vbo", 51.98, -0.97, 1_674_345_600),
    ],
)
def test_position_speed_and_time_are_where_the_file_says(
    folder: Path, name: str, lat: float, lon: float, day: int
) -> None:
    rows, columns = rows_of(folder / name), load(folder / name).frames.columns
    assert len(columns["lat"]) == len(rows)
    for at, row in enumerate(rows):
        assert columns["lat"][at] == pytest.approx(float(row["lat"]) / 60, abs=1e-9)
        assert columns["lon"][at] == pytest.approx(-float(row["long"]) / 60, abs=1e-9)
        assert columns["speed_ms"][at] == pytest.approx(float(row["velocity"]) / 3.6, abs=1e-9)
        assert columns["timestamp"][at] == pytest.approx(day + of_day(row["time"]), abs=1e-6)
    assert columns["lat"][0] == pytest.approx(lat, abs=0.01)
    assert columns["lon"][0] == pytest.approx(lon, abs=0.01)


def test_the_video_logger_gives_channels_video_and_start_line(folder: Path) -> None:
    recording = load(folder / "racelogic-vbvdhd2-roadamerica.excerpt.vbo")
    columns, start = recording.frames.columns, recording.start
    assert [frame.avitime_ms for frame in recording.video] == [30799, 30833, 30866, 30899, 30966]
    assert recording.video[0].file_path == "25IR05_RdAm_FP1_Run05_TL_0001.mp4"
    assert columns["steering_deg"].tolist() == [17.2, 17.2, 17.2, 7.3, 7.3]
    assert columns["rpm"][0] == 3351.0
    assert columns["brake_bar"][-1] == 0.12
    assert columns["throttle_pct"][0] == 6.9
    assert columns["combo_g"][0] == pytest.approx(0.2656728)
    assert start is not None
    heading = recording.signals["heading_deg"].value
    assert abs((start.heading - heading[0] + 180) % 360 - 180) < 10  # along the travel
    assert great_circle((start.lat, start.lon), (columns["lat"][0], columns["lon"][0])) < 150
    assert recording.signals["Gear"].value.tolist() == [1.0] * 5
    assert recording.doubts == ()


def test_a_unit_line_that_says_degrees_with_minutes_is_not_believed(folder: Path) -> None:
    recording = load(folder / "vbo-rs-continuous-minutes.vbo")
    assert recording.facts["coordinate_encoding"] == "minutes"
    assert recording.signals["vert_vel_ms"].value[0] == pytest.approx(-0.02 / 3.6)
