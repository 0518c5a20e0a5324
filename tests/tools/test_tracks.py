"""The invented circuits: fresh files, and values that physics allows."""

import json
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.geometry import metres_between
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import MARKER_KINDS, Track
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


def test_larkfell_is_a_realistic_circuit() -> None:
    assert 3500 < LARKFELL.length_m < 3700
    assert len(LARKFELL.corners) == 11
    assert {corner.direction for corner in LARKFELL.corners} == {"left", "right"}
    severities = {corner.severity for corner in LARKFELL.corners}
    assert {1, 6} <= severities
    assert len(severities) >= 5
    assert LARKFELL.elevation is not None
    assert 30 <= np.ptp(LARKFELL.elevation.altitude) <= 50
    assert all(corner.nicknames and corner.coaching_tip for corner in LARKFELL.corners)
    assert all(straight.name for straight in LARKFELL.straights)
    assert {marker.kind for marker in LARKFELL.markers} == set(MARKER_KINDS)
    assert min(len(corner.markers) for corner in LARKFELL.corners) >= 2
    assert sum(corner.leverage or 0 for corner in LARKFELL.corners) == pytest.approx(1, abs=0.01)


def test_no_two_pieces_of_larkfell_come_within_the_width_of_a_gate() -> None:
    assert LARKFELL.line is not None
    ring = LARKFELL.line.ring
    count = len(ring)
    apart = np.hypot(ring.x[:, None] - ring.x, ring.y[:, None] - ring.y)
    along = np.abs(np.arange(count)[:, None] - np.arange(count))
    far = np.minimum(along, count - along) * ring.step > 200
    assert apart[far].min() > 40


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
