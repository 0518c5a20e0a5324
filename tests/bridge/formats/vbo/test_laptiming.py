"""Start and split lines in both orders and both meanings, found by the path that was driven."""

import numpy as np
import pytest

from runtime.bridge.formats.readers.vbo_gates import Path, build_path, read_gates

LAT, LON = 45.0, -88.0
METRES = 6_371_000.0 * np.pi / 180.0


def north_drive() -> Path:
    metres = np.arange(-500.0, 500.0, 1.5)
    return build_path(LAT + metres / METRES, np.full(len(metres), LON))


def line(points: list[tuple[float, float]], *, lat_first: bool, east: float = -1.0) -> str:
    """A gate of two places in metres east and north, in minutes, west positive."""
    words = []
    for x, y in points:
        lat = (LAT + y / METRES) * 60
        lon = (LON + x / METRES / np.cos(np.radians(LAT))) * 60 * east
        words += [lat, lon] if lat_first else [lon, lat]
    return "Start  " + " ".join(f"{word:+.8f}" for word in words) + " ¬  Start / Finish"


@pytest.mark.parametrize("lat_first", [False, True])
@pytest.mark.parametrize(
    ("points", "middle", "half"),
    [
        ([(3, 0), (3, -5)], (3, 0), 25.0),  # the second point lies behind
        ([(3, 0), (3, -35)], (3, 0), 25.0),
        ([(3, 0), (3, 5)], (3, 0), 25.0),  # ahead: the path decides the direction
        ([(-15, 0), (15, 0)], (0, 0), 15.0),  # across, from the left
        ([(15, 0), (-15, 0)], (0, 0), 15.0),  # across, from the right
        ([(4, 0), (-4, 0)], (0, 0), 10.0),  # too narrow for a receiver's accuracy
        ([(3, 0), (3, 0)], (3, 0), 25.0),  # a point
    ],
)
def test_order_and_meaning_are_told_by_the_path(
    points: list[tuple[float, float]], middle: tuple[float, float], half: float, lat_first: bool
) -> None:
    gates = read_gates([line(points, lat_first=lat_first)], north_drive(), "minutes", -1.0)
    assert gates.start is not None
    assert (gates.start.lat - LAT) * METRES == pytest.approx(middle[1], abs=0.01)
    east = (gates.start.lon - LON) * METRES * np.cos(np.radians(LAT))
    assert east == pytest.approx(middle[0], abs=0.01)
    turned = (gates.start.heading + 180.0) % 360.0 - 180.0
    assert turned == pytest.approx(0.0, abs=0.1)
    assert gates.start.half_width_m == pytest.approx(half, abs=0.01)
    assert gates.doubts == ()


def test_gates_that_count_longitude_otherwise_than_the_data_are_found() -> None:
    text = line([(3, 0), (3, -5)], lat_first=False, east=1.0)
    start = read_gates([text], north_drive(), "minutes", -1.0).start
    assert start is not None
    assert start.lon == pytest.approx(LON, abs=1e-4)


def test_gates_in_degrees_are_found_beside_data_in_minutes() -> None:
    text = f"Start {LON:.8f} {LAT:.8f} {LON:.8f} {LAT - 5 / METRES:.8f}"
    start = read_gates([text], north_drive(), "minutes", -1.0).start
    assert start is not None
    assert start.heading == pytest.approx(0.0, abs=0.1)


def test_splits_and_a_finish_come_after_the_start() -> None:
    first = line([(0, 0), (0, -5)], lat_first=False)
    split = line([(0, 100), (0, 95)], lat_first=False).replace("Start", "Split")
    finish = line([(0, 200), (0, 195)], lat_first=False).replace("Start", "Finish")
    gates = read_gates([split, first, "", finish], north_drive(), "minutes", -1.0)
    assert gates.start is not None
    assert gates.start.lat == pytest.approx(LAT)
    assert [round((gate.lat - LAT) * METRES) for gate in gates.splits] == [100, 200]


@pytest.mark.parametrize(
    "text",
    ["", "Start", "Start 1 2 3", "hello there", "Start +a +b +c +d", "Start 0 0 0 0", "¬" * 50_000,
     "Start " + "1 " * 30_000, "Start" + " " * 60_000, "S" * 60_000],
)  # fmt: skip
def test_lines_that_are_no_gate_are_left_out_and_counted(text: str) -> None:
    gates = read_gates(["", text, "  ", text], north_drive(), "minutes", -1.0)
    assert gates.start is None
    counts = {doubt.code: doubt.times for doubt in gates.doubts}
    if text == "Start 0 0 0 0":  # four zeros stand for no gate
        assert counts == {}
    elif text.startswith("Start 1 1"):
        assert counts == {"gate_off_path": 2}
    else:
        assert counts == ({"gate_unreadable": 2} if text else {})


def test_gates_behind_the_last_that_is_kept_are_counted() -> None:
    gates = read_gates(
        [line([(0, 0), (0, -5)], lat_first=False)] * 70, north_drive(), "minutes", -1
    )
    assert len(gates.splits) == 63
    assert [(doubt.code, doubt.times) for doubt in gates.doubts] == [("gates_too_many", 6)]


def test_a_gate_far_from_the_path_is_left_out_and_doubted() -> None:
    text = line([(0, 90_000), (0, 89_995)], lat_first=False)
    gates = read_gates([text], north_drive(), "minutes", -1.0)
    assert gates.start is None
    assert [doubt.code for doubt in gates.doubts] == ["gate_off_path"]


def test_a_drive_of_a_few_metres_still_has_a_course() -> None:
    path = build_path(LAT + np.array([0.0, 0.4, 0.8, 1.2]) / METRES, np.full(4, LON))
    assert len(path.lat) >= 1
    assert path.course[0] == pytest.approx(0.0, abs=0.1)
