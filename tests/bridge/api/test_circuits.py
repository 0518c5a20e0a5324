"""Where sessions belong, as every route tells it."""

import asyncio

import numpy as np
import pytest

from runtime.bridge.live.circuits import LEARNING, NOWHERE
from runtime.bridge.session.recording import Frames
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tests.bridge.conftest import ONE_BACKEND, Start
from tests.bridge.session.sessions import change, keep
from tests.bridge.simulator.drivekit import LARKFELL
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
    return change(here, lon=here.columns["lon"] + 2.0)


@pytest.fixture(scope="module")
def blind(here: Frames) -> Frames:
    """Two laps without positions, of which nobody can say where they were driven."""
    return change(here, lat=np.nan, lon=np.nan)


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


async def test_who_names_the_circuit_gets_laps_by_its_length(bridge: Bridge, blind: Frames) -> None:
    seen = await shown(bridge, await driven(bridge, blind, track="larkfell"))
    assert (seen["list"], seen["by"], seen["at_larkfell"]) == ("larkfell", "driver", 1)
    assert seen["methods"] == {"distance"}


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
    await driven(bridge, change(elsewhere, timestamp=t / 2), session_id="fast-elsewhere", car="a")
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
    await driven(bridge, change(elsewhere, **small), session_id="kart", car="a")
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

    begun = keep(elsewhere, elsewhere.columns["timestamp"] < 60.0)
    assert await silent(await driven(bridge, begun, track="Home Park")) == LEARNING
    closed = await driven(bridge, elsewhere, track="Home Park")
    while await silent(closed) == LEARNING:  # noqa: ASYNC110 - its first frames are looked at
        await asyncio.sleep(0.01)
    assert await silent(closed) is None
    assert await silent(await driven(bridge, blind)) == NOWHERE
    assert await silent(await driven(bridge, blind, track="larkfell")) is None


@pytest.mark.parametrize("seconds", [0.0, 60.0])
async def test_a_known_circuit_is_drawn_before_the_first_lap(
    bridge: Bridge, here: Frames, seconds: float
) -> None:
    begun = keep(here, here.columns["timestamp"] < seconds)
    session_id = await driven(bridge, begun, track="larkfell")
    drawn = await bridge.ok("GET", f"/session/{session_id}/map")
    assert (drawn["basis"], drawn["track"]) == ("track", LARKFELL.name)
    assert len(drawn["corners"]) == len(LARKFELL.corners)
    assert len(drawn["centerline"]) == len(LARKFELL.line or ())
    assert drawn["bounds"] is not None


@pytest.mark.parametrize(("seconds", "basis"), [(60.0, "driven"), (400.0, "lap")])
async def test_an_unknown_circuit_is_drawn_as_far_as_it_was_driven(
    bridge: Bridge, elsewhere: Frames, seconds: float, basis: str
) -> None:
    frames = keep(elsewhere, elsewhere.columns["timestamp"] < seconds)
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
