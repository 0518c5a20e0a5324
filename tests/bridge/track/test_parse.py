"""Reading circuit files: what is right is kept, what is wrong is left out and said."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.track.file import format_track, parse_track
from runtime.bridge.track.model import BrakePoint, Speeds, TrackError
from tests.bridge.track.examples import circuit, corner, marker, sectors, text


def test_a_whole_file_is_read() -> None:
    track, doubts = parse_track(text(), "round")

    assert doubts == ()
    assert (track.id, track.name, track.length_m, track.half_width_m) == (
        "round",
        "Round Thing",
        1000,
        6,
    )
    assert track.start.heading == 90.0
    assert [c.name for c in track.corners] == ["Turn 1", "Turn 2"]
    assert [s.end_m for s in track.sectors] == [300, 700, 1000]
    assert [m.id for m in track.markers] == ["m1", "m2", "m3"]
    assert all(m.lat is not None and m.lon is not None for m in track.markers)
    assert track.line is not None
    assert len(track.line) == 200
    assert track.elevation is not None
    assert [zone.severity for zone in track.danger_zones] == ["high"]
    assert [phase.id for phase in track.weather_phases] == ["noon"]
    assert [straight.name for straight in track.straights] == ["Back"]


def test_every_field_of_a_corner_is_read() -> None:
    whole = corner(
        "Turn 9",
        9,
        100,
        150,
        200,
        direction="LEFT",
        severity=1,
        curvature_peak=3.2,
        typical_speed_ms={"entry": 30, "apex": 20, "exit": 25.5},
        typical_brake_point={"distance_before_entry": 80, "pressure_bar": 60},
        elevation_change_m=-2.5,
        nicknames=["Hook"],
        coaching_tip="Wait.",
        leverage=0.5,
        markers=["m1", marker("own", "exit_ref", 210)],
    )
    whole["markers"] = [marker("own", "exit_ref", 210)]
    track, doubts = parse_track(text(corners=[whole], markers=[]))

    assert doubts == ()
    result = track.corners[0]
    assert (result.direction, result.severity, result.curvature_peak) == ("left", 1, 3.2)
    assert (result.speeds, result.brake) == (Speeds(30, 20, 25.5), BrakePoint(80, 60))
    assert (result.nicknames, result.coaching_tip, result.leverage) == (("Hook",), "Wait.", 0.5)
    assert result.markers == ("own",)
    assert [(m.id, m.corner) for m in track.markers] == [("own", "Turn 9")]


def test_flat_distances_of_corners_are_accepted() -> None:
    flat = corner("Turn 1", 1, 0, 0, 0)
    for name, distance in (("entry", 100), ("apex", 150), ("exit", 200)):
        del flat[name]
        flat[f"{name}_distance"] = distance
    track, doubts = parse_track(text(corners=[flat], markers=[]))

    c = track.corners[0]
    assert doubts == ()
    assert [c.entry.distance_m, c.apex.distance_m, c.exit.distance_m] == [100, 150, 200]


@pytest.mark.parametrize(
    ("changes", "place", "left_out"),
    [
        ({"corners": [corner("A", 1, 100, 90, 200)]}, "corners[0].apex", "corners"),
        ({"corners": [corner("A", 1, 100, 150, 1200)]}, "corners[0].exit.distance", "corners"),
        ({"corners": [corner("A", 1, 10, 20, 30, severity=7)]}, "corners[0].severity", "corners"),
        (
            {"corners": [corner("A", 1, 10, 20, 30, direction="up")]},
            "corners[0].direction",
            "corners",
        ),
        ({"corners": [corner("A", 1, 10, 20, 30, leverage="x")]}, "corners[0].leverage", "corners"),
        ({"corners": [{}]}, "corners[0].name", "corners"),
        ({"corners": ["A"]}, "corners[0]", "corners"),
        ({"corners": {"A": 1}}, "corners", "corners"),
        ({"sectors": sectors(0, 300, 1000)}, "sectors", "sectors"),
        ({"sectors": sectors(0, 300, 700, 990)}, "sectors", "sectors"),
        ({"sectors": sectors(10, 300, 700, 1000)}, "sectors", "sectors"),
        ({"sectors": sectors(0, 700, 300, 1000)}, "sectors", "sectors"),
        (
            {"straights": [{"name": "B", "start_m": -1, "end_m": 5}]},
            "straights[0].start_m",
            "straights",
        ),
        ({"danger_zones": [{"id": "z"}]}, "danger_zones[0].start_m", "danger_zones"),
        (
            {
                "weather_phases": [
                    {"id": "w", "start_hour": 9, "end_hour": 9, "surface_state": "dry"}
                ]
            },
            "weather_phases[0].end_hour",
            "weather_phases",
        ),
        ({"markers": [marker("m", "tree", 5)]}, "markers[0].kind", "markers"),
        ({"markers": [marker("m", "visual", 1500)]}, "markers[0].distance", "markers"),
        ({"markers": [marker("m", "visual", 5, corner="Turn 9")]}, "markers[0].corner", "markers"),
        (
            {"elevation_profile": [{"distance": 5, "altitude": 1}, {"distance": 5, "altitude": 1}]},
            "elevation_profile",
            "elevation",
        ),
        ({"reference_line": circuit()["reference_line"][:150]}, "reference_line", "line"),
        ({"reference_line": circuit()["reference_line"][:3]}, "reference_line", "line"),
        ({"reference_line": circuit()["reference_line"][::-1]}, "reference_line", "line"),
        (
            {"reference_line": [{"distance": 0, "lat": "n", "lon": 7}]},
            "reference_line[0].lat",
            "line",
        ),
    ],
)
def test_what_is_wrong_is_left_out_and_its_place_said(
    changes: dict[str, Any], place: str, left_out: str
) -> None:
    track, doubts = parse_track(text(**{"markers": [], **changes}))

    assert len(getattr(track, left_out) or ()) == 0
    assert [doubt.code for doubt in doubts] == ["track_element"]
    assert doubts[0].detail.startswith(f"{place}:")


def test_one_wrong_corner_does_not_take_the_others() -> None:
    result = [corner("A", 1, 10, 20, 30), corner("B", 2, 99, 50, 60), corner("A", 3, 200, 210, 220)]
    track, doubts = parse_track(text(corners=result, markers=[]))

    assert [c.number for c in track.corners] == [1]
    assert [doubt.detail.partition(":")[0] for doubt in doubts] == [
        "corners[1].apex",
        "corners[2].name",
    ]


def test_ends_of_sectors_that_touch_within_half_a_metre_become_one() -> None:
    track, doubts = parse_track(text(sectors=sectors(0, 300.2, 700, 999.8)))

    assert doubts == ()
    assert track.sectors[-1].end_m == 1000.0


def test_a_line_may_repeat_its_start() -> None:
    line = circuit()["reference_line"]
    track, doubts = parse_track(text(reference_line=[*line, {**line[0], "distance": 1000.0}]))

    assert doubts == ()
    assert track.line is not None
    assert len(track.line) == 200


def test_a_start_that_is_missing_is_taken_from_the_line() -> None:
    track, doubts = parse_track(text(start_finish=None))

    assert len(doubts) == 1
    assert track.start.heading == pytest.approx(90.0, abs=0.1)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("", "line 1, column 1"),
        ('{\n"a": }', "line 2, column 6"),
        ("[]", "must contain a JSON object"),
        ("{}", "track_length_m"),
        ('{"track_length_m": NaN}', "NaN is not a number"),
        (text(track_length_m="long"), "track_length_m: must be a number"),
        (text(track_length_m=True), "track_length_m: must be a number"),
        (text(track_length_m=10), "track_length_m: must be from 50"),
        (text(track_length_m=10**400), "track_length_m: must be from 50"),
        (text(start_finish=None, reference_line=[]), "start_finish: not an object"),
        ("[" * 100_000, "nested too deeply"),
        (" " * (16 * 1024 * 1024 + 1), "larger than 16 MiB"),
    ],
)
def test_an_unreadable_file_names_the_place(file: str, message: str) -> None:
    with pytest.raises(TrackError, match=message.replace("[", r"\[")):
        parse_track(file)


def test_what_is_written_reads_back_the_same() -> None:
    track, _ = parse_track(text(), "round")
    again, doubts = parse_track(format_track(track), "round")

    assert doubts == ()
    assert (again.corners, again.sectors, again.straights) == (
        track.corners,
        track.sectors,
        track.straights,
    )
    assert track.line is not None
    assert again.line is not None
    np.testing.assert_allclose(again.line.lat, track.line.lat, atol=1e-7)
    assert format_track(again) == format_track(track)


NUMBER = st.floats(allow_nan=False, allow_infinity=False)
WORD = st.text(max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBER | WORD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(circuit())), JSON)
def test_any_value_in_any_field_is_a_doubt_or_a_track_error(field: str, value: object) -> None:
    file = json.dumps(circuit(**{field: value}))
    try:
        track, _ = parse_track(file)
    except TrackError:
        return
    assert track.length_m > 0


@given(st.data())
def test_any_value_inside_an_element_is_a_doubt(data: st.DataObject) -> None:
    body = circuit()
    lists = [name for name, value in body.items() if isinstance(value, list)]
    element = data.draw(st.sampled_from(body[data.draw(st.sampled_from(lists))]))
    element[data.draw(st.sampled_from(sorted(element)))] = data.draw(JSON)

    track, _ = parse_track(json.dumps(body))

    assert track.name == "Round Thing"
