"""What a session did not record is null or absent in every answer, never 0."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest

from runtime.bridge.session.recording import Frames
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.coach.modelkit import LARKFELL, laps
from tests.bridge.conftest import ONE_BACKEND
from tests.bridge.session.sessions import change

pytestmark = ONE_BACKEND
WHOLE: Final = laps(3, seed=2, skill=0.6)
UNRECORDED: Final = {
    "speed": ("speed_ms",),
    "brake": ("brake_bar",),
    "throttle": ("throttle_pct",),
    "pedals": ("brake_bar", "throttle_pct"),
    "g": ("g_lat", "g_long", "combo_g"),
    "steering": ("steering_deg",),
    "rpm": ("rpm",),
}
ANALYTICS: Final = (
    "",
    "/laps",
    "/stats",
    "/lap_time_table",
    "/lap_time_distribution",
    "/ideal_lap",
    "/sector_times",
    "/friction_circle",
    "/hustle_map",
    "/pedal_behavior",
    "/pedal_behavior?throttle_th=0&brake_th=0",
    "/pedal_behavior?lap=2",
    "/straight_line_speed",
    "/scorecard",
    "/scorecard?lap=2",
    "/corners",
    "/corners?lap=2",
    "/reference",
    "/eob",
    "/throttle_corner_box",
    "/corner_classification",
    "/brake_acceleration",
    "/highlights",
    "/incidents",
    "/map",
    "/clips",
    "/sync?from=10&to=20",
    "/compare?a=2&b=best",
    "/capabilities",
)
NEEDED: Final = {
    "speed": {"/stats", "/scorecard", "/corners", "/corner_classification", "/straight_line_speed"},
    "brake": {"/stats", "/pedal_behavior", "/scorecard", "/eob", "/brake_acceleration"},
    "throttle": {"/stats", "/pedal_behavior", "/hustle_map", "/throttle_corner_box", "/eob"},
    "steering": {"/scorecard"},
}
"""What says by *missing* that it lacks something."""
NEAR_0: Final = 0.02
"""What is nearer may be 0 by rounding."""
TRACE: Final = 200
"""A list of so many numbers is a trace, whose places may differ by centimetres."""
COUNTS: Final = frozenset({"n_samples", "n_frames", "count", "n_gaps", "frame_idx"})
"""Numbers of readings, of which 0 is the truth."""


def new_zeros(less: Json, whole: Json, path: str = "") -> Iterator[str]:
    """Where an answer has a 0 for a number that the whole recording gives."""
    if isinstance(less, dict) and isinstance(whole, dict):
        for name in less.keys() & whole.keys() - COUNTS:
            if "delta" in name:  # of another pass, or of none, whose difference may well be 0
                continue
            yield from new_zeros(less[name], whole[name], f"{path}.{name}")
    elif isinstance(less, list) and isinstance(whole, list) and len(less) == len(whole) < TRACE:
        for at, (own, other) in enumerate(zip(less, whole, strict=True)):
            yield from new_zeros(own, other, f"{path}[{at}]")
    elif type(less) in (int, float) and less == 0 and abs(whole or 0) > NEAR_0:
        yield f"{path}: {whole}"


async def put(bridge: Bridge, session_id: str, frames: Frames) -> None:
    meta = {"session_id": session_id, "driver": session_id, "track": LARKFELL.name}
    await bridge.ok("POST", "/session/start", meta)
    await bridge.service.db.append_frames(session_id, frames)


async def test_nothing_stands_for_what_was_not_recorded(bridge: Bridge) -> None:
    await put(bridge, "whole", WHOLE)
    answers = {}
    for path in ANALYTICS:
        answers[path] = await bridge.ok("GET", f"/session/whole{path}")
        assert "missing" not in answers[path], path

    for name, columns in UNRECORDED.items():
        await put(bridge, name, change(WHOLE, **dict.fromkeys(columns, np.nan)))
        for path in ANALYTICS:
            answer = await bridge.ok("GET", f"/session/{name}{path}")
            assert list(new_zeros(answer, answers[path])) == [], (name, path)
            if path in NEEDED.get(name, ()):
                assert name in answer["missing"], (name, path)
        for path in ("/insights?driver={}", "/coach/brief?driver={}", "/driver/{}/profile"):
            assert (await bridge.get(path.format(name))).status in (200, 204), (name, path)
        debrief = await bridge.ok("POST", "/coach/debrief", {"session_id": name})
        for question in ("how much do I coast?", "where do I brake for turn 1?", "how was turn 4?"):
            body = {"session_id": name, "question": question}
            text = (await bridge.ok("POST", "/coach/ask", body))["answer"]
            assert "0.0 %" not in text, (name, text)
            assert "for 0.0 s" not in text, (name, text)
        if name in ("brake", "throttle", "pedals"):
            insights = await bridge.ok("GET", f"/insights?driver={name}")
            told = f"{debrief['narrative']} {insights}"
            assert "of the time" not in told or "coast" not in told, (name, told)


async def test_an_unrecorded_pedal_leaves_no_state_and_no_score(bridge: Bridge) -> None:
    await put(bridge, "s", change(WHOLE, brake_bar=np.nan))

    pedals = await bridge.ok("GET", "/session/s/pedal_behavior")
    assert pedals["missing"] == ["brake"]
    assert set(pedals["states"]) == {"throttle_only", "brake_only", "trail_brake", "coast"}
    for state in pedals["states"].values():
        assert state == {"frames": None, "pct": None, "time_s": None}
    card = (await bridge.ok("GET", "/session/s/scorecard"))["scorecard"]
    for one in card["corners"]:
        assert one["graded_on"] == ["entry_speed", "apex_speed", "exit_speed", "corner_time"]
        assert one["trail_brake_quality"] is None
    zones = await bridge.ok("GET", "/session/s/brake_acceleration")
    assert zones["missing"] == ["brake"]
    assert "braking" in zones["derived"]  # the zones are where the car slowed hard
    found = (await bridge.ok("GET", "/session/s"))["laps"]
    assert {lap["coast_pct"] for lap in found} == {None}


async def test_one_number_of_coasting_everywhere(bridge: Bridge) -> None:
    """The share of laps, the route of pedals and the coach's answer are one number."""
    await put(bridge, "s", WHOLE)

    laps_ = (await bridge.ok("GET", "/session/s"))["laps"]
    path = "/session/s/pedal_behavior?throttle_th=4.99999&brake_th=1.99999&lap=2"
    pedals = await bridge.ok("GET", path)
    own = next(lap["coast_pct"] for lap in laps_ if lap["lap_number"] == 2)
    assert pedals["states"]["coast"]["pct"] == pytest.approx(own, abs=0.11)
    question = {"session_id": "s", "question": "how much do I coast on lap 2?"}
    answer = await bridge.ok("POST", "/coach/ask", question)
    whole = next(lap["lap_time_s"] for lap in laps_ if lap["lap_number"] == 2)
    said = re.search(r"lap 2: ([0-9.]+)", answer["answer"])
    assert said is not None, answer["answer"]
    assert float(said[1]) == pytest.approx(own / 100.0 * whole, abs=0.1)
