"""Briefings: they know what was driven, and say of the day only what can be known."""

import pytest

from runtime.bridge.coach.warm.brief import Plan, brief_parts
from runtime.bridge.coach.warm.grades import Grades
from runtime.bridge.track.model import phase_at
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.coach.warm.modelkit import LARKFELL, laps
from tests.bridge.conftest import Start

DRIVES = {"s": laps(3, seed=1), "t": laps(3, seed=2)}


async def driven(bridge: Bridge, session_id: str) -> None:
    meta = {"session_id": session_id, "driver": "Mia", "track": LARKFELL.name}
    await bridge.ok("POST", "/session/start", meta)
    await bridge.service.db.append_frames(session_id, DRIVES[session_id])
    await bridge.ok("POST", f"/session/{session_id}/end")


async def briefed(bridge: Bridge, driver: str = "Mia", hour: int = 13) -> Json:
    found: Json = await bridge.ok("GET", f"/coach/brief?driver={driver}&hour_local={hour}")
    return found


def plan(hour: int, *, bare: bool = False, **known: Json) -> Plan:
    """A plan for an hour of the day; *bare*: of no circuit."""
    track = None if bare else LARKFELL
    return Plan("Mia", "2026-11-22", hour, "", (), phase_at(hour, track), Grades(), track, **known)


async def test_laps_that_nobody_spoke_about_are_history(start: Start, backend: str) -> None:
    async with start(db_backend=backend, model_url="") as bridge:
        assert "No history yet" in (await briefed(bridge))["narrative"]
        await driven(bridge, "s")
        told = await briefed(bridge)
        assert "No history yet" not in told["narrative"]
        best = min(one["t_end"] - one["t_start"] for one in await times(bridge, "s"))
        clock = f"{int(best // 60)}:{best % 60:06.3f}"
        assert f"Your best here is {clock}." in told["narrative"]
        assert "No history yet" in (await briefed(bridge, "Ole"))["narrative"]


async def times(bridge: Bridge, session_id: str) -> list[Json]:
    """The complete laps of a session."""
    found = await bridge.ok("GET", f"/session/{session_id}/laps")
    return [one for one in found["laps"] if one["kind"] == "lap"]


async def test_debrief_briefing_and_habits_name_one_corner(start: Start) -> None:
    async with start(model_url="") as bridge:
        for session_id in ("s", "t"):
            await driven(bridge, session_id)
            told = await bridge.ok("POST", "/coach/debrief", {"session_id": session_id})
            assert told["focus"][0].startswith(f"{told['next_focus']}:")
            brief = await briefed(bridge)
            assert brief["weakest_recent_corner"] == told["next_focus"] == brief["focus"][0]
            assert f"Work on **{told['next_focus']}**" in brief["narrative"]
            tip = told["pedagogy"][0]["tip"]
            assert tip in brief["narrative"]
            habits = (await bridge.ok("GET", "/insights?driver=Mia"))["insights"]
            late = [one for one in habits if one["id"] == "braking_late"]
            assert all("sooner there" not in one["detail"] for one in late)
            named = [one["corners"] for one in habits if told["next_focus"] in one["corners"]]
            assert all(corners[0] == told["next_focus"] for corners in named)


async def test_a_first_best_lap_is_none_where_an_earlier_session_was_faster(start: Start) -> None:
    async with start(model_url="") as bridge:
        bests = {}
        for session_id in ("s", "t"):
            await driven(bridge, session_id)
            bests[session_id] = min(
                one["t_end"] - one["t_start"] for one in await times(bridge, session_id)
            )
        for session_id, other in (("s", None), ("t", "s")):
            body = {"session_id": session_id, "persist_to_profile": False}
            told = await bridge.ok("POST", "/coach/debrief", body)
            better = other is not None and bests[session_id] < bests[other]
            assert ("A new best for you here" in told["narrative"]) == better


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("hour", [0, 3, 5])
def test_at_night_only_the_surface_is_told(hour: int, bare: bool) -> None:
    first = brief_parts(plan(hour, bare=bare))[0]
    assert first.startswith("The surface")
    assert "flying lap" not in first
    assert "peak" not in first.casefold()


@pytest.mark.parametrize("hour", range(24))
def test_nothing_is_said_of_tyres_that_nobody_has_driven(hour: int) -> None:
    whole = "\n".join(brief_parts(plan(hour, bare=True)))
    assert "tyres are tired" not in "\n".join(brief_parts(plan(hour)))
    assert "past their best" not in whole
    assert "tyres and the grip" not in whole
    if hour >= 15:
        assert "Be patient with the throttle" in whole
