"""Debrief, brief and answers measure the same things in the same way."""

import re
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from runtime.bridge.coach.warm.debrief import debrief
from runtime.bridge.coach.warm.review import best_corner
from runtime.bridge.session.recording import TIMESTAMP, Frames
from tests.bridge.bridgekit import Bridge, bridging, settings_for
from tests.bridge.coach.agents.test_answers import TRUE, ask
from tests.bridge.coach.agents.truthkit import Truth
from tests.bridge.coach.warm.modelkit import LARKFELL, closed_port
from tests.bridge.coach.warm.reviewkit import review

FLICKER_PCT: Final = 14.0
HELD: Final = 6
"""Frames of 0.05 s that make 0.3 s."""


def flickering(truth: Truth) -> Frames:
    """The throttle is brushed for a moment wherever it is closed, as a nervous foot does."""
    columns = dict(truth.frames.columns)
    throttle = columns["throttle_pct"].copy()
    t = columns[TIMESTAMP]
    brushed = (throttle < 5) & (np.floor(t * 10) % 6 == 0)
    columns["throttle_pct"] = np.where(brushed, FLICKER_PCT, throttle)
    return Frames(columns)


def opened(truth: Truth, number: int, lap: int) -> float:
    """Metres behind the apex where the throttle goes to 20 % and stays, behind the last braking."""
    corner = truth.corner(number)
    begin = truth.passed(lap, corner.entry.distance_m)
    end = truth.passed(lap, corner.exit.distance_m)
    t, throttle = truth.column(TIMESTAMP), flickering(truth).columns["throttle_pct"]
    brake, odometer = truth.column("brake_bar"), truth.column("distance_m")
    inside = np.flatnonzero((t >= begin) & (t <= end))
    first = max([inside[0], *(at for at in inside if brake[at] > 2)])
    for at in range(first, inside[-1] + 1):
        if all(throttle[i] >= 20 for i in range(at, min(at + HELD, inside[-1] + 1))):
            apex = float(np.interp(truth.passed(lap, corner.apex.distance_m), t, odometer))
            return float(odometer[at]) - apex
    raise AssertionError("the throttle stays closed")


async def store(bridge: Bridge, session: str, frames: Frames, driver: str | None) -> None:
    start = {"session_id": session, "track": LARKFELL.name}
    await bridge.ok("POST", "/session/start", {**start, **({"driver": driver} if driver else {})})
    await bridge.service.db.append_frames(session, frames)
    await bridge.ok("POST", f"/session/{session}/end")


@pytest.mark.parametrize(("number", "lap"), [(8, 2), (10, 3), (11, 5), (3, 1)])
async def test_a_throttle_that_is_only_brushed_is_not_open(
    tmp_path: Path, number: int, lap: int
) -> None:
    async with bridging(settings_for(tmp_path, model_url=closed_port())) as bridge:
        await store(bridge, "s", flickering(TRUE), "Mia")
        found = await ask(bridge, f"When do I get on the throttle in turn {number} on lap {lap}?")
        first = found["sources"][0]["summary"]
        told = re.search(r"opened (\d+) m (behind|before) the apex", first)
        assert told is not None, first
        metres = float(told[1]) * (1 if told[2] == "behind" else -1)
        assert metres == pytest.approx(opened(TRUE, number, lap), abs=2.5)


async def test_without_a_brake_nobody_is_told_how_to_use_it(tmp_path: Path) -> None:
    async with bridging(settings_for(tmp_path, model_url=closed_port())) as bridge:
        gone = {"brake_bar", "throttle_pct", "combo_g", "g_long"}
        kept = {
            name: np.full(len(TRUE.frames), np.nan) if name in gone else values
            for name, values in TRUE.frames.columns.items()
        }
        await store(bridge, "s", Frames(kept), "Mia")
        told = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        assert "slowing the car twice" not in str(told["pedagogy"]) + told["narrative_md"]
        by_cause = {one["corner"]: one for one in told["fragments"]["telemetry"]["to_win"]}
        focus = by_cause[told["next_focus"]]
        if focus["cause"] == "low_apex_speed":
            assert told["next_focus_lesson"]["id"] != "trail-braking"


async def test_a_brief_names_the_focus_of_a_session_that_got_its_driver_with_the_debrief(
    tmp_path: Path,
) -> None:
    async with bridging(settings_for(tmp_path, model_url=closed_port())) as bridge:
        await store(bridge, "s", TRUE.frames, None)
        told = await bridge.ok("POST", "/coach/debrief", {"session_id": "s", "driver_id": "Zoe"})
        brief = await bridge.ok("GET", "/coach/brief?driver=Zoe")
        assert brief["weakest_recent_corner"] == told["next_focus"]
        assert brief["lesson"]["id"] == told["next_focus_lesson"]["id"]


@pytest.mark.parametrize("seed", range(3, 15))
def test_only_the_best_corner_is_praised_and_only_where_nothing_is_asked_of_it(seed: int) -> None:
    found = review(laps=6, seed=seed, skill=0.6 + 0.03 * (seed % 9))
    story = debrief(found)
    praised = re.search(r"(Turn \d+)(?: went best| is steady| is your corner)", story.opening)
    if praised is None:
        return
    assert found.card is not None
    best = best_corner(found.card.corners)
    assert best is not None
    assert praised[1] == best.corner
    assert praised[1] not in story.corners
    asked = {"early_brake", "low_apex_speed", "low_exit_speed", "early_lift"} if best.danger else ()
    assert all(cause.cause in asked for cause in best.causes)
