"""The invented circuits: fresh files, and values that physics allows."""

import json
from pathlib import Path

import pytest

from runtime.bridge.session.geometry import metres_between
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from tests.bridge.track.examples import DATA
from tools.tracks import main

TRACKS = Library.read(DATA).tracks
EVERY = pytest.mark.parametrize("track", TRACKS.values(), ids=TRACKS)
LARKFELL = TRACKS["larkfell"]


def same(made: object, kept: object, slack: float = 0.011) -> bool:
    """Whether two JSON values are equal, numbers but for the last digit that another CPU rounds."""
    if isinstance(made, dict) and isinstance(kept, dict):
        return list(made) == list(kept) and all(
            same(made[key], kept[key], SLACK.get(key, 0.011)) for key in made
        )
    if isinstance(made, list) and isinstance(kept, list):
        return len(made) == len(kept) and all(map(same, made, kept))
    if isinstance(made, float) and isinstance(kept, float):
        return abs(made - kept) <= slack
    return made == kept


SLACK = {"lat": 1.1e-7, "lon": 1.1e-7, "distance_before_entry": 1.0, "pressure_bar": 0.11}


def test_the_files_are_what_the_design_makes(tmp_path: Path) -> None:
    main(tmp_path)

    made = {path.name: json.loads(path.read_text("utf-8")) for path in tmp_path.iterdir()}
    kept = {path.name: json.loads(path.read_text("utf-8")) for path in DATA.glob("*.json")}
    assert sorted(made) == sorted(kept)
    assert [name for name in made if not same(made[name], kept[name])] == []


@EVERY
def test_markers_stand_beside_the_track_where_they_say(track: Track) -> None:
    assert track.line is not None
    for marker in track.markers:
        assert marker.lat is not None
        assert marker.lon is not None
        away = metres_between(*track.line.place(marker.distance_m), marker.lat, marker.lon)
        assert away == pytest.approx(track.half_width_m + 3, abs=0.3)
        corner = track.corner(marker.corner or "")
        assert corner is not None
        offset = (marker.distance_m - corner.entry.distance_m + 500) % track.length_m - 500
        assert marker.at_offset_m_from_entry == pytest.approx(offset, abs=0.15)


def test_the_circuits_are_further_apart_than_a_session_is_matched() -> None:
    starts = [track.start for track in TRACKS.values()]
    for i, one in enumerate(starts):
        for other in starts[i + 1 :]:
            assert metres_between(one.lat, one.lon, other.lat, other.lon) > 10_000
