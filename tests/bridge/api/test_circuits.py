"""Where sessions belong, as every route tells it."""

import numpy as np
import pytest

from runtime.bridge.live.circuits import LEARNING, NOWHERE
from runtime.bridge.session.recording import Frames
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tests.bridge.conftest import ONE_BACKEND, Start
from tests.bridge.session.sessions import changed, kept
from tests.bridge.simulator.drivekit import LARKFELL
from tests.bridge.track.test_identity import without
from tools.drive import drive

pytestmark = ONE_BACKEND
LAPS = 2
PIECE = 2500
"""Frames of one request: an upload, which nobody coaches."""


@pytest.fixture(scope="module")
def here() -> Frames:
    """Two laps of Larkfell."""
    return drive(LARKFELL, LAPS).frames


@pytest.fixture(scope="module")
def elsewhere(here: Frames) -> Frames:
    """Two laps of a circuit that nobody knows."""
    return changed(here, lon=here.columns["lon"] + 2.0)


@pytest.fixture(scope="module")
def blind(here: Frames) -> Frames:
    """Two laps without positions, of which nobody can say where they were driven."""
    return changed(here, lat=np.nan, lon=np.nan)


async def driven(bridge: Bridge, frames: Frames, **about: Json) -> str:
    """Id of a session that was started and has these frames."""
    begun = await bridge.ok("POST", "/session/start", {"driver": "Ada", **about})
    session_id: str = begun["session_id"]
    whole = frame_objects(frames)
    for first in range(0, len(whole), PIECE):
        some = whole[first : first + PIECE]
        await bridge.ok("POST", f"/session/{session_id}/frames", {"frames": some})
    return session_id


async def shown(bridge: Bridge, session_id: str) -> dict[str, Json]:
    """What each route calls the circuit of a session."""
    (listed,) = [
        row
        for row in (await bridge.ok("GET", "/sessions"))["sessions"]
        if row["session_id"] == session_id
    ]
    detail = await bridge.ok("GET", f"/session/{session_id}")
    board = await bridge.ok("GET", "/leaderboard")
    drawn = await bridge.get(f"/session/{session_id}/map")
    corners = await bridge.get(f"/session/{session_id}/corners")
    laps = await bridge.ok("GET", f"/session/{session_id}/laps")
    at_larkfell = await bridge.ok("GET", "/sessions?track=larkfell")
    return {
        "list": listed["track"],
        "detail": detail["session"]["track"],
        "id": detail["session"]["track_id"],
        "by": detail["session"]["track_by"],
        "board": [entry["track"] for entry in board["entries"]],
        "map": drawn.json["track"] if drawn.status == 200 else drawn.status,
        "corners": corners.json["track"] if corners.status == 200 else corners.status,
        "laps": listed["lap_count"],
        "methods": {lap["method"] for lap in laps["laps"]} - {"all"},
        "at_larkfell": at_larkfell["count"],
    }


async def test_a_session_finds_its_circuit_by_its_positions(bridge: Bridge, here: Frames) -> None:
    session_id = await driven(bridge, here)

    name = "Larkfell Circuit"
    assert session_id.startswith("session-")
    assert await shown(bridge, session_id) == {
        "list": name,
        "detail": name,
        "id": "larkfell",
        "by": "positions",
        "board": [name],
        "map": name,
        "corners": name,
        "laps": LAPS,
        "methods": {"gps"},
        "at_larkfell": 1,
    }


@pytest.mark.parametrize("about", [{}, {"track": "Larkfell Circuit"}], ids=["unnamed", "misnamed"])
async def test_a_drive_elsewhere_is_of_no_circuit_here(
    bridge: Bridge, elsewhere: Frames, about: Json
) -> None:
    """Misnamed, as a bridge that filled the default in has left it."""
    seen = await shown(bridge, await driven(bridge, elsewhere, **about))
    assert seen.pop("laps") >= LAPS
    assert seen == {
        "list": "",
        "detail": "",
        "id": None,
        "by": None,
        "board": [""],
        "map": None,
        "corners": "",
        "methods": {"gps"},
        "at_larkfell": 0,
    }


@pytest.mark.parametrize("about", [{}, {"track": "larkfell"}], ids=["unnamed", "named"])
async def test_the_other_direction_and_another_layout_have_laps_and_corners_of_their_own(
    bridge: Bridge, here: Frames, about: Json
) -> None:
    lat, lon = here.columns["lat"][::-1], here.columns["lon"][::-1]
    drives = changed(here, lat=lat, lon=lon), drive(without(LARKFELL, 0.45, 0.62), LAPS).frames
    for recorded in drives:
        session_id = await driven(bridge, recorded, **about)
        seen = await shown(bridge, session_id)
        assert (seen["id"], seen["by"], seen["methods"]) == (None, None, {"gps"})
        incidents = await bridge.ok("GET", f"/session/{session_id}/incidents")
        assert "off_line" not in {event["type"] for event in incidents["incidents"]}


async def test_measured_laps_of_another_length_win_over_the_driver(
    bridge: Bridge, blind: Frames
) -> None:
    shorter = 2190.0 / LARKFELL.length_m
    distance = blind.columns["distance_m"] * shorter % 2190.0
    recorded = changed(blind, distance_m=distance, speed_ms=blind.columns["speed_ms"] * shorter)
    session_id = await driven(bridge, recorded, track="larkfell")
    laps = await bridge.ok("GET", f"/session/{session_id}/laps")
    assert laps["track_length_m"] == pytest.approx(2190.0, abs=10.0)
    assert (await shown(bridge, session_id))["id"] is None


async def test_a_counter_that_wraps_makes_no_laps_of_its_own(bridge: Bridge, blind: Frames) -> None:
    wrapped = changed(blind, distance_m=blind.columns["distance_m"] % 1000.0)
    session_id = await driven(bridge, wrapped, track="larkfell")
    laps = await bridge.ok("GET", f"/session/{session_id}/laps")
    assert laps["track_length_m"] == pytest.approx(LARKFELL.length_m, abs=0.1)


async def test_a_drive_of_unknown_place_has_no_laps_by_the_default_length(
    bridge: Bridge, blind: Frames
) -> None:
    seen = await shown(bridge, await driven(bridge, blind))
    assert (seen["list"], seen["board"], seen["map"], seen["laps"]) == ("", [], None, 0)
    assert seen["methods"] == {"stint"}


async def test_who_names_the_circuit_gets_laps_by_its_length(bridge: Bridge, blind: Frames) -> None:
    seen = await shown(bridge, await driven(bridge, blind, track="larkfell"))
    assert (seen["list"], seen["by"], seen["at_larkfell"]) == ("larkfell", "driver", 1)
    assert seen["methods"] == {"distance"}


@pytest.mark.parametrize("place", [0.0, 2.0], ids=["at the line", "far away"])
async def test_positions_that_are_held_take_nothing_from_a_good_distance(
    bridge: Bridge, here: Frames, place: float
) -> None:
    frozen = changed(here, lat=LARKFELL.start.lat + place, lon=LARKFELL.start.lon)
    named = await driven(bridge, frozen, track="larkfell")
    assert (await bridge.ok("GET", f"/session/{named}/laps"))["track_length_m"] == 3613.4
    unnamed = await driven(bridge, frozen)
    assert (await shown(bridge, unnamed))["list"] == ""


async def test_a_name_that_is_no_circuit_is_kept(bridge: Bridge, elsewhere: Frames) -> None:
    seen = await shown(bridge, await driven(bridge, elsewhere, track="Home Park"))
    name = "Home Park"
    shown_as = [seen[route] for route in ("list", "map", "corners", "board", "id")]
    assert shown_as == [name, name, name, [name], None]


async def test_a_circuit_named_later_counts_at_once(bridge: Bridge, blind: Frames) -> None:
    session_id = await driven(bridge, blind)
    assert (await shown(bridge, session_id))["laps"] == 0
    await bridge.ok("POST", "/session/start", {"session_id": session_id, "track": "larkfell"})
    assert (await shown(bridge, session_id))["laps"] > 0


async def test_laps_of_an_unknown_circuit_are_nobodys_best_at_the_default(
    bridge: Bridge, here: Frames, elsewhere: Frames
) -> None:
    """A short unknown circuit must not give the record of the one that is shown by default."""
    t = elsewhere.columns["timestamp"]
    await driven(bridge, changed(elsewhere, timestamp=t / 2), session_id="fast-elsewhere", car="a")
    session_id = await driven(bridge, here, session_id="here", car="a")

    compared = await bridge.ok("GET", f"/session/{session_id}/compare?a=best&b=record")
    assert compared["b"]["session_id"] == session_id
    body = {"session_id": session_id}
    debriefed = await bridge.ok("POST", "/coach/debrief", body)
    assert "your best here" not in debriefed["narrative_md"]


async def test_laps_of_two_unknown_circuits_do_not_compete(
    bridge: Bridge, elsewhere: Frames
) -> None:
    columns = elsewhere.columns
    small = {name: columns[name] / 2 for name in ("timestamp", "distance_m")}
    for name in ("lat", "lon"):
        small[name] = (columns[name] + columns[name].mean()) / 2
    await driven(bridge, elsewhere, session_id="car", car="a")
    await driven(bridge, changed(elsewhere, **small), session_id="kart", car="a")
    await driven(bridge, elsewhere, session_id="car-again", car="a")

    entries = (await bridge.ok("GET", "/leaderboard"))["entries"]
    assert [entry["session_id"].removesuffix("-again") for entry in entries] == ["kart", "car"]
    book, session = bridge.service.book, bridge.service.session
    car, kart, again = [await book.place(session(name)) for name in ("car", "kart", "car-again")]
    assert car == again != kart


async def test_laps_found_without_a_circuit_are_found_anew_once_its_file_is_there(
    start: Start, backend: str, here: Frames, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bare = tmp_path_factory.mktemp("bare")
    for folder in ("registry", "dbc", "cars", "tracks"):
        (bare / folder).mkdir()
    settings: Json = {"db_backend": backend}
    async with start(**settings) as bridge:
        registry = bridge.service.settings.registry_file
    (bare / "registry" / registry.name).write_bytes(registry.read_bytes())
    async with start(**settings, data_dir=bare) as bridge:
        session_id = await driven(bridge, here)
        await bridge.ok("POST", f"/session/{session_id}/end")
        assert (await bridge.ok("GET", f"/session/{session_id}"))["session"]["track"] == ""
    async with start(**settings) as bridge:
        shown_now = await bridge.ok("GET", f"/session/{session_id}")
        assert shown_now["session"]["track"] == "Larkfell Circuit"


async def test_a_session_says_why_the_coach_is_silent(
    bridge: Bridge, elsewhere: Frames, blind: Frames
) -> None:
    async def silent(session_id: str) -> str | None:
        detail = await bridge.ok("GET", f"/session/{session_id}")
        answer: str | None = detail["silent"]
        return answer

    begun = kept(elsewhere, elsewhere.columns["timestamp"] < 60.0)
    assert await silent(await driven(bridge, begun, track="Home Park")) == LEARNING
    assert await silent(await driven(bridge, elsewhere, track="Home Park")) is None
    assert await silent(await driven(bridge, blind)) == NOWHERE
    assert await silent(await driven(bridge, blind, track="larkfell")) is None


@pytest.mark.parametrize("seconds", [0.0, 60.0])
async def test_a_known_circuit_is_drawn_before_the_first_lap(
    bridge: Bridge, here: Frames, seconds: float
) -> None:
    session_id = await driven(bridge, begun(here, seconds), track="larkfell")
    drawn = await bridge.ok("GET", f"/session/{session_id}/map")
    assert (drawn["basis"], drawn["track"]) == ("track", LARKFELL.name)
    assert len(drawn["corners"]) == len(LARKFELL.corners)
    assert len(drawn["centerline"]) == len(LARKFELL.line or ())
    assert drawn["bounds"] is not None


@pytest.mark.parametrize(("seconds", "basis"), [(60.0, "driven"), (400.0, "lap")])
async def test_an_unknown_circuit_is_drawn_as_far_as_it_was_driven(
    bridge: Bridge, elsewhere: Frames, seconds: float, basis: str
) -> None:
    frames = begun(elsewhere, seconds)
    drawn = await bridge.ok("GET", f"/session/{await driven(bridge, frames)}/map")
    assert drawn["basis"] == basis
    assert len(drawn["centerline"]) > 50
    (south, west), (north, east) = drawn["bounds"]
    lat, lon = frames.columns["lat"], frames.columns["lon"]
    assert [south, west] == pytest.approx([lat.min(), lon.min()], abs=1e-3)
    assert [north, east] == pytest.approx([lat.max(), lon.max()], abs=1e-3)


async def test_a_session_without_frames_or_circuit_has_no_map(bridge: Bridge) -> None:
    begun = await bridge.ok("POST", "/session/start", {"track": "Home Park"})
    path = f"/session/{begun['session_id']}/map"
    assert await bridge.refused("GET", path) == (404, "no_rows")


def begun(frames: Frames, seconds: float) -> Frames:
    """The first seconds of a drive."""
    count = int((frames.columns["timestamp"] < seconds).sum())
    return Frames({name: values[:count] for name, values in frames.columns.items()})
