"""What a session may begin with: which levels, circuits and ids; on both databases."""

from itertools import product

from runtime.bridge.cues.model import LEVELS
from tests.bridge.bridgekit import Bridge, Json

TAKEN = ("SIM", "_live", "start", "import", "reset", "replay")
BEGINNING = ("/session/start", "/session/import")


async def begun(bridge: Bridge, body: Json) -> Json:
    """The answer to a start, with the row that lists show then."""
    answer = await bridge.ok("POST", "/session/start", body)
    listed = await bridge.ok("GET", "/sessions")
    (row,) = [one for one in listed["sessions"] if one["session_id"] == answer["session_id"]]
    return {**answer, "row": row}


async def test_a_level_is_kept_in_one_spelling(bridge: Bridge) -> None:
    for given, kept in (
        ("beginner", "beginner"),
        (" Pro ", "pro"),
        ("advanced", "pro"),
        ("", "intermediate"),
        (None, "intermediate"),
    ):
        done = await begun(bridge, {"driver_level": given})
        assert done["row"]["driver_level"] == kept, given


async def test_a_level_that_is_none_is_refused_with_those_that_are(bridge: Bridge) -> None:
    for path in BEGINNING:
        answer = await bridge.post(path, {"driver_level": "wizard", "vbo_path": "/day.vbo"})
        told = answer.json
        assert (answer.status, told["code"], told["param"]) == (400, "bad_field", "driver_level")
        assert all(level in told["error"] for level in LEVELS)
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_an_id_that_means_something_else_is_refused_and_named(bridge: Bridge) -> None:
    for path, name in product(BEGINNING, TAKEN):
        answer = await bridge.post(path, {"session_id": name, "vbo_path": "/day.vbo"})
        told = answer.json
        assert (answer.status, told["code"], told["param"]) == (400, "bad_field", "session_id")
        assert name in told["error"]
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_nothing_is_stored_under_the_name_of_the_active_session(bridge: Bridge) -> None:
    posted = {
        "/session/SIM/frame": {"timestamp": 1.0, "speed_ms": 20.0},
        "/session/SIM/frames": {"frames": [{"timestamp": 1.0}]},
        "/session/SIM/signals": {"signals": [["oil", 1.0, 90.0]]},
        "/lap": {"session_id": "SIM", "lap_number": 1, "lap_time_s": 61.0},
    }
    for path, body in [*posted.items()] * 2:  # the second single frame would take the short way
        answer = await bridge.post(path, body)
        assert answer.status in (400, 404)
        assert "SIM" in answer.json["error"]
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_an_id_of_a_resumed_session_is_taken(bridge: Bridge) -> None:
    first = await begun(bridge, {"session_id": "sim", "track": "Nowhere"})
    again = await begun(bridge, {"session_id": "sim"})
    assert (first["resumed"], again["resumed"]) == (False, True)
    assert again["track"] == "Nowhere"


async def test_a_start_says_which_circuit_it_is(bridge: Bridge) -> None:
    named: list[tuple[Json, str, str | None]] = [
        ({}, "Larkfell Circuit", "larkfell"),
        ({"track": "larkfell"}, "larkfell", "larkfell"),
        ({"track": "LARKFELL circuit"}, "LARKFELL circuit", "larkfell"),
        ({"track": "Nürnberg"}, "Nürnberg", None),
    ]
    for given, kept, circuit in named:
        done = await begun(bridge, given)
        assert (done["track"], done["row"]["track"], done["track_id"]) == (kept, kept, circuit)
        assert (done["hint"] is None) == (circuit is not None)
        assert circuit is not None or kept in done["hint"]
