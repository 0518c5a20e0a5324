"""A session on its circuit: which laps, which corners, which frames."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from runtime.bridge.analysis.drive import NoCorners, NoLaps
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Sector, Straight
from tests.bridge.analysis.cornerkit import (
    LENGTH,
    corner,
    drive_on,
    ring_frames,
    ring_track,
    without,
)
from tests.bridge.session.sessions import frames
from tests.bridge.track.examples import DATA


def test_a_session_without_a_complete_lap_is_refused_unless_a_part_is_enough() -> None:
    session = ring_frames(0)

    with pytest.raises(NoLaps):
        drive_on(session, ring_track())
    drive = drive_on(session, ring_track(), partial=True)
    assert drive.partial
    assert [lap.number for lap in drive.counted] == [1]
    assert drive.counted[0].frames == slice(0, len(session))


def test_partial_changes_nothing_where_there_is_a_lap() -> None:
    drive = drive_on(ring_frames(2), ring_track(), partial=True)

    assert not drive.partial
    assert len(drive.counted) == 2


def test_a_single_frame_is_no_lap_of_any_kind() -> None:
    with pytest.raises(NoLaps):
        drive_on(frames([1.0], speed_ms=5.0), ring_track(), partial=True)


def test_one_lap_can_be_chosen() -> None:
    drive = drive_on(ring_frames(3), ring_track(), lap=2)

    assert [lap.number for lap in drive.counted] == [2]
    assert drive.frames == drive.counted[0].frames
    assert set(np.unique(drive.lap_of)) == {0, 2}


def test_corners_come_from_the_track_file_in_the_order_of_a_lap() -> None:
    turned = (corner("B", 1, 600, 650, 700), corner("A", 2, 100, 150, 200))
    drive = drive_on(ring_frames(1), ring_track(turned))

    assert drive.geometry == "track"
    assert [item.name for item in drive.corners] == ["A", "B"]


def test_a_line_that_bends_everywhere_has_no_corners_but_a_geometry() -> None:
    drive = drive_on(ring_frames(2))

    assert drive.geometry == "detected"
    assert drive.corners == ()
    assert drive.straights == ()


@pytest.mark.parametrize("name", ["larkfell", "tarn-oval"])
def test_track_files_give_their_own_corners_sectors_and_straights(name: str) -> None:
    from tools.drive import drive as synthetic

    track = Library.read(DATA).tracks[name]
    drive = drive_on(synthetic(track, 2).frames, track)

    assert drive.corners == tuple(track.in_lap_order())
    assert drive.sectors[-1].end_m == pytest.approx(track.length_m)
    assert drive.length_m == pytest.approx(track.length_m)


def test_sectors_and_straights_of_the_file_are_taken() -> None:
    sectors = (Sector("a", 0, 200), Sector("b", 200, 900), Sector("c", 900, 1000))
    track = replace(ring_track(), sectors=sectors, straights=(Straight("Back", 700, 150),))
    drive = drive_on(ring_frames(1), track)

    assert [tuple(sector) for sector in drive.sectors] == [astuple(sector) for sector in sectors]
    assert drive.straights == track.straights


def test_without_positions_or_file_there_is_no_geometry() -> None:
    session = without(ring_frames(2, distance_m=lambda way: way % LENGTH), "lat", "lon")
    drive = drive_on(session, ring_track(line=False, corners=()))

    assert drive.geometry is None
    assert drive.straights == ()
    assert drive.driven is None
    with pytest.raises(NoCorners):
        _ = drive.corners


def test_a_part_of_a_lap_has_no_line_of_its_own() -> None:
    drive = drive_on(ring_frames(0), partial=True)

    assert drive.geometry is None


def test_fixes_that_drop_out_leave_the_line_to_the_others() -> None:
    session = ring_frames(3, hz=10.0, distance_m=lambda way: way + 400)
    for name in ("lat", "lon"):
        session.columns[name][50:100] = np.nan
    drive = drive_on(session, ring_track())

    assert len(drive.counted) == 3
    assert not np.isnan(drive.progress.p).any()
