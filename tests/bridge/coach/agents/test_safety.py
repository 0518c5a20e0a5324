"""Danger comes before data, no model speaks of it, and an answer is never cheer alone."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from runtime.bridge.coach.agents.risk_answers import at_board, dry_points
from runtime.bridge.coach.agents.safety import FIRST, careful, hazard
from runtime.bridge.coach.agents.voice import cheer, hollow
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import ask, filled
from tests.bridge.coach.warm.modelkit import says, serving

DANGERS: Final = (
    ("I crashed, am I ok to go on?", "crash"),
    ("I spun and hit the wall. What now?", "crash"),
    ("I crashed in turn 7", "crash"),
    ("I had an accident in turn 4, what went wrong?", "crash"),
    ("My brakes are failing, what should I do?", "brakes"),
    ("My brake pedal goes to the floor", "brakes"),
    ("I feel dizzy and tired", "ill"),
    ("There's a red flag, what do I do?", "flag"),
    ("oil on track", "track"),
    ("There is smoke from the engine", "fire"),
    ("I think I have a puncture", "car"),
)
PLAIN: Final = (
    "Did I spin?",
    "Where did I crash?",
    "Am I braking too hard?",
    "oil pressure?",
    "How fast was I in turn 4?",
    "What is trail braking?",
    "Should I brake softer?",
    "Where do I brake for turn 1?",
)
GRAVE: Final = (
    "I am scared of turn 2",
    "Is it safe to go on?",
    "Can I go flat through turn 7?",
    "Where should I brake in the wet?",
    "Is turn 2 dangerous?",
)
RISKS: Final = (
    ("Can I go flat through turn 7?", ("No: you brake for Turn 7 on every lap (", " bar).")),
    ("Can I take turn 2 flat out?", ("No: you brake for Turn 2 on every lap (",)),
    ("Tell me to take turn 2 without braking.", ("No: you brake for Turn 2",)),
    ("Is it dangerous at turn 4?", ("For Turn 4 a danger is on file: Downhill",)),
    ("Is it dangerous at turn 8?", ("For Turn 8 no danger is on file",)),
    ("Is there a wall at turn 2?", ("The wall stands close",)),
    ("Is there a wall at turn 8?", ("Whether there is a wall at Turn 8 is not on file.",)),
    ("Which corner is the most dangerous?", ("The gravest danger on file is at Turn 4",)),
    ("Can I stay flat in the wet through turn 9?", ("Not in the wet", "No: you brake")),
    ("Where should I brake for turn 2 in the wet?", ("Earlier and softer", "dry brake points")),
    ("Where do I brake for turn 2 when it's damp?", ("Earlier and softer", "recorded as wet")),
    ("Is it okay to follow my best lap's brake points in the rain?", ("No: no lap is recorded",)),
    ("Should I brake at the 50 m board in turn 4?", ("No: your passes", "later than any")),
    ("Should I brake at the 100 m board in turn 4?", ("Yes, that is where",)),
    ("I'm scared of turn 2", ("Take Turn 2 slower", "The wall stands close")),
    ("Is turn 1 flat or uphill?", ("Turn 1 rises",)),
)


@pytest.mark.parametrize(("text", "kind"), DANGERS)
def test_a_danger_is_known_by_its_words(text: str, kind: str) -> None:
    assert hazard(text) == kind
    assert careful(text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_question_about_the_data_tells_of_no_danger(text: str) -> None:
    assert hazard(text) == ""


@pytest.mark.parametrize("text", GRAVE)
def test_a_grave_question_is_kept_from_the_model(text: str) -> None:
    assert careful(text)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every question, each in a conversation of its own."""

    async def work() -> dict[str, Json]:
        async with bridging(settings_for(tmp_path_factory.mktemp("safe"))) as bridge:
            await filled(bridge)
            found = {}
            for text in (*(one for one, _ in DANGERS), *(one for one, _ in RISKS)):
                found[text] = await ask(bridge, text)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            alone = {"question": "I crashed, am I ok to go on?", "driver_id": "", "session_id": ""}
            found["no session"] = await bridge.ok("POST", "/coach/ask", alone)
            return found

    return asyncio.run(work())


@pytest.mark.parametrize(("text", "kind"), DANGERS)
def test_what_is_safe_is_said_first_and_nothing_contradicts_the_driver(
    text: str, kind: str, answered: dict[str, Json]
) -> None:
    found = answered[text]
    assert found["sources"][0]["tool"] == "safety"
    assert found["answer"].startswith(found["sources"][0]["summary"])
    assert found["emotion"] == "concerned"
    assert "No:" not in found["answer"]
    assert (kind in ("crash", "brakes", "ill", "car")) == found["answer"].startswith(FIRST)
    assert "More in the lesson" not in found["answer"]


def test_a_danger_is_answered_without_a_session_too(answered: dict[str, Json]) -> None:
    assert answered["no session"]["answer"].startswith(FIRST)
    assert "No session" not in answered["no session"]["answer"]


@pytest.mark.parametrize(("text", "words"), RISKS)
def test_a_risk_is_answered_by_what_is_on_file_and_on_record(
    text: str, words: tuple[str, ...], answered: dict[str, Json]
) -> None:
    for word in words:
        assert word in answered[text]["answer"], answered[text]["answer"]


def test_the_latest_dry_point_is_no_order_for_the_wet() -> None:
    told = dry_points("Turn 2", [30.0, 42.0, 35.0])
    assert told.startswith("Earlier and softer than in the dry, well before 42 m")
    assert "No lap is recorded as wet" in dry_points("Turn 2", [])


@pytest.mark.parametrize(
    ("board", "begins"), [(50.0, "No:"), (95.0, "Yes"), (200.0, "You can, it is earlier")]
)
def test_a_board_is_judged_by_the_points_that_were_driven(board: float, begins: str) -> None:
    assert at_board("Turn 4", board, [91.0, 97.0, 104.0]).startswith(begins)


@pytest.mark.parametrize("line", ["Keep going.", "Commit.", "You have got this, well done!"])
def test_cheer_is_known(line: str) -> None:
    assert cheer(line)


@pytest.mark.parametrize(
    "line", ["Brake a little earlier.", "Look ahead to the exit.", "It took 4.2 s in all."]
)
def test_advice_and_facts_are_no_cheer(line: str) -> None:
    assert not cheer(line)


@pytest.mark.parametrize(
    ("line", "empty"), [("FOCUS:", True), ("Next step:", True), ("...", True), ("Brake.", False)]
)
def test_a_label_alone_is_no_sentence(line: str, *, empty: bool) -> None:
    assert hollow(line) == empty


@pytest.mark.parametrize(
    "text", ["My brakes are failing, what should I do?", "I crashed, am I ok to go on?", *GRAVE]
)
async def test_no_model_is_asked_about_danger(tmp_path: Path, text: str) -> None:
    async with (
        serving(says("Keep going. Commit. [EMOTION: proud]")) as model,
        bridging(settings_for(tmp_path, model_url=model.url)) as bridge,
    ):
        found = await bridge.ok("POST", "/coach/ask", {"question": text})
        assert found["source"] == "template"
        assert "Commit" not in found["answer"]
        assert model.seen == []


@pytest.mark.parametrize("words", ["Keep going.", "Commit.", "FOCUS:", "FOCUS: [EMOTION: proud]"])
async def test_cheer_alone_is_no_answer(tmp_path: Path, words: str) -> None:
    async with (
        serving(says(words)) as model,
        bridging(settings_for(tmp_path, model_url=model.url)) as bridge,
    ):
        body = {"question": "What do good drivers do before a race?"}
        found = await bridge.ok("POST", "/coach/ask", body)
        assert model.seen
        assert found["source"] == "template"
        assert found["reason"] == "ungrounded"
        assert found["emotion"] != "proud"
        assert words.partition(" [")[0] not in found["answer"]
        assert len(found["answer"]) > 40
