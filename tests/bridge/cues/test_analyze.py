"""POST /analyze and GET /coach/concepts over HTTP, on both databases."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from runtime.bridge.api.analyze import MOST_BURSTS, MOST_SESSIONS
from runtime.bridge.cues.concepts import CONCEPTS
from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.cues.model import Cue
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.conftest import Start
from tests.bridge.cues.coachkit import larkfell
from tools.drive import USUAL, drive

BURST: dict[str, Json] = {
    "session_id": "s1",
    "burst_id": 12,
    "avg_speed_kmh": 110.0,
    "avg_throttle_pct": 100,
    "frame_count": 10,
    "distance_m": 4463.44,
}
"""Two hundred metres and more before the hairpin of Larkfell, on the second lap."""


def on_larkfell(bridge: Bridge) -> None:
    """Every session is driven there."""
    bridge.service.cues = CueEngine(lambda _: larkfell())


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Cue]:
    """The cues that were published."""
    heard: list[Cue] = []
    monkeypatch.setattr("runtime.bridge.live.hub.Hub.publish_cue", lambda _, cue: heard.append(cue))
    return heard


async def test_a_burst_is_answered_noted_and_told(bridge: Bridge, told: list[Cue]) -> None:
    on_larkfell(bridge)

    answer = await bridge.ok("POST", "/analyze", BURST)

    text = "Turn 4 in 240 m, right hairpin. Brake just after the 100 m board. Late apex."
    assert answer == {
        "coaching": text,
        "pace_note": text,
        "coach_source": "rule",
        "cues": [],
        "burst_id": 12,
        "source": "rule",
        "concept": "late_apex",
        "note_id": answer["note_id"],
    }
    (note,) = await bridge.service.db.notes("s1")
    assert note.id == answer["note_id"]
    assert (note.text, note.source, note.concept) == (text, "rule", "late_apex")
    assert (note.burst_id, note.emotion) == (12, "neutral")
    assert note.distance_m == pytest.approx(850.0)
    (cue,) = told
    assert (cue.session_id, cue.text, cue.priority, cue.corner) == ("s1", text, 1, "Turn 4")
    assert (cue.pace_note, cue.burst_id, cue.expected_tts_ms) == (text, 12, 16 * 150)
    assert len(bridge.service.bursts["s1"]) == 1


async def test_a_burst_of_no_session_is_only_answered(bridge: Bridge, told: list[Cue]) -> None:
    on_larkfell(bridge)

    answer = await bridge.ok("POST", "/analyze", {**BURST, "session_id": None})

    assert answer["pace_note"] != ""
    assert answer["note_id"] is None
    assert (told, bridge.service.bursts) == ([], {})


async def test_an_empty_body_is_legal(bridge: Bridge, told: list[Cue]) -> None:
    bare, answer, named = [
        await bridge.ok("POST", "/analyze", body) for body in (None, {}, {"session_id": "s1"})
    ]

    assert bare == answer == {**named, "note_id": None}
    assert answer["coaching"] == "Carry a little more speed, step by step."
    assert (answer["pace_note"], answer["burst_id"]) == ("", 0)
    (tone,) = answer["cues"]
    assert tone == {
        "layer": "brake_approach",
        "frequency": 933.3,
        "volume": 0.45,
        "pattern": "pulse",
        "priority": 1,
        "reason": "corner ahead",
    }


async def test_what_is_left_out_is_filled_in(bridge: Bridge, told: list[Cue]) -> None:
    await bridge.ok("POST", "/analyze", {"session_id": "s", "max_combo_g": 1, "max_brake_bar": 3})

    (burst,) = bridge.service.bursts["s"]
    assert burst.max_lateral_g == 0.7  # type: ignore[attr-defined]


WRONG: list[tuple[str, Json]] = [
    ("avg_speed_kmh", "fast"),
    ("max_combo_g", True),
    ("max_brake_bar", [1]),
    ("coast_frames", -1),
    ("coast_frames", 1.5),
    ("frame_count", 10**30),
    ("burst_id", 2**70),
    ("corners_visited", "Turn 1"),
    ("in_corner", 1),
    ("next_corner_severity", 7),
    ("session_id", "start"),
    ("session_id", ""),
    ("session_id", 5),
    ("driver_level", 5),
]


async def test_a_wrong_field_is_named(start: Start) -> None:
    async with start() as bridge:
        for field, value in WRONG:
            answer = await bridge.post("/analyze", {field: value})

            assert answer.status == 400, field
            assert (answer.json["code"], answer.json["param"]) == ("bad_field", field)


async def test_what_is_no_json_of_finite_numbers_is_refused(start: Start) -> None:
    async with start() as bridge:
        for raw in ("NaN", "Infinity", "-Infinity", "1e999", "{", "1]"):
            body = '{"avg_speed_kmh": ' + raw + "}"
            answer = await bridge.request("POST", "/analyze", data=body)

            assert (answer.status, answer.json["code"]) == (400, "bad_json"), raw


async def test_large_numbers_are_answered(bridge: Bridge, told: list[Cue]) -> None:
    names = ("avg_speed_kmh", "max_combo_g", "max_lateral_g", "max_brake_bar", "distance_m")
    for sign in (1, -1):
        body = {**BURST, **dict.fromkeys(names, sign * 1.7e308), "in_corner": sign > 0}
        answer = await bridge.post("/analyze", body)
        assert answer.status == 200
        json.loads(answer.body, parse_constant=pytest.fail)


async def test_without_a_database_there_is_no_note(start: Start, told: list[Cue]) -> None:
    async with start() as bridge:
        on_larkfell(bridge)
        store, bridge.service.store = bridge.service.store, None
        answer = await bridge.ok("POST", "/analyze", BURST)
        bridge.service.store = store

    assert answer["pace_note"] != ""
    assert answer["note_id"] is None
    assert len(told) == 1


async def test_bursts_are_kept_in_bounds(
    start: Start, told: list[Cue], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.bridge.api.analyze.MOST_SESSIONS", 3)
    async with start() as bridge:
        for number in range(5):
            await bridge.ok("POST", "/analyze", {"session_id": f"s{number}"})
        kept = bridge.service.bursts
        limits = [one.maxlen for one in kept.values()]
        names = list(kept)
        reset = await bridge.ok("POST", "/session/reset", {})

    assert names == ["s2", "s3", "s4"]
    assert (limits, MOST_SESSIONS) == ([MOST_BURSTS] * 3, 256)
    assert reset["cleared_bursts"] == 3


async def test_a_note_may_come_before_its_session(bridge: Bridge, told: list[Cue]) -> None:
    answer = await bridge.ok("POST", "/analyze", BURST)

    assert answer["note_id"] is not None
    assert await bridge.refused("GET", "/session/s1") == (404, "unknown_session")
    await bridge.ok("POST", "/session/start", {"session_id": "s1"})
    (note,) = (await bridge.ok("GET", "/session/s1"))["notes"]
    assert (note["id"], note["text"]) == (answer["note_id"], answer["coaching"])


async def test_a_concept_names_the_page_of_its_lesson(start: Start, tmp_path: Path) -> None:
    lesson = {"id": "exits", "title": "Out of corners", "url": "lessons/exits/"}
    catalog = {
        "phases": [{"lessons": [lesson]}],
        "concepts": [{"id": "exit_speed", "lessonIds": ["exits"]}],
    }
    (tmp_path / "api" / "v1").mkdir(parents=True)
    (tmp_path / "api" / "v1" / "catalog.json").write_text(json.dumps(catalog))
    async with start(course=str(tmp_path)) as bridge:
        answer = await bridge.ok("GET", "/coach/concepts")

    lessons = {one["id"]: one["lesson"] for one in answer["concepts"]}
    assert lessons["exit_speed"] == lesson
    assert lessons["trail_brake"]["url"] is None


async def test_the_concepts_are_listed(start: Start, tmp_path: Path) -> None:
    async with start(course=str(tmp_path)) as bridge:
        answer = await bridge.ok("GET", "/coach/concepts")

    assert answer["count"] == 9
    assert [one["id"] for one in answer["concepts"]] == [one.id for one in CONCEPTS]
    assert answer["concepts"][1] == {
        "id": "early_brake_release",
        "title": "Released too early",
        "description": CONCEPTS[1].description,
        "fires_when": "in_corner && brake < 1 && glat > 0.6",
        "priority": 2,
        "aliases": ["entry_release"],
        "lesson": {"id": "trail-braking", "title": "Trail the brake into the corner", "url": None},
    }


DRIVEN: Final = drive(larkfell(), 1, seed=4, noise=USUAL).frames
BATCH: Final = 40
SENT: Final[Mapping[str, tuple[str, ...]]] = {
    "its speed": ("timestamp", "speed_ms"),
    "speed and pedals": ("timestamp", "speed_ms", "brake_bar", "throttle_pct"),
    "a distance": ("timestamp", "speed_ms", "brake_bar", "throttle_pct", "distance_m"),
    "positions": ("timestamp", "speed_ms", "brake_bar", "throttle_pct", "lat", "lon"),
}


@pytest.mark.parametrize(
    ("channels", "each"), [*((name, False) for name in SENT), ("a distance", True)]
)
async def test_corners_are_spoken_of_only_where_the_car_tells_its_place(
    start: Start, told: list[Cue], monkeypatch: pytest.MonkeyPatch, channels: str, *, each: bool
) -> None:
    monkeypatch.setattr("runtime.bridge.live.live.COACHED_HZ", 0.0)
    names = SENT[channels]
    rows = list(zip(*(DRIVEN.columns[name].tolist() for name in names), strict=True))[:1600]
    frames = [dict(zip(names, row, strict=True)) for row in rows]

    async with start() as bridge:
        started = {"session_id": "s", "track": larkfell().name}
        await bridge.ok("POST", "/session/start", started)
        if each:
            for one in frames[::8]:
                await bridge.ok("POST", "/session/s/frame", one)
        else:
            for at in range(0, len(frames), BATCH):
                await bridge.ok("POST", "/session/s/frames", {"frames": frames[at : at + BATCH]})
        await asyncio.sleep(0)
        stored = await bridge.service.db.read_frames("s")

    corners = {cue.corner for cue in told} - {None}
    assert stored.columns["distance_m"][-1] > 500.0, "the distance is reckoned all the same"
    assert bool(corners) is (channels in ("a distance", "positions"))
