"""Every quantity is answered by itself and by no neighbour: places, ranks, ends and gains."""

import asyncio
from collections.abc import Callable
from statistics import mean
from typing import Final

import numpy as np
import pytest

from runtime.bridge.session.recording import TIMESTAMP
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import CLOSE, IDEAL, TRUE, ask, filled, numbers_in
from tests.bridge.coach.agents.truthkit import Truth

BY_TIME: Final = sorted(TRUE.laps, key=TRUE.time)
NEAR: Final = [lap for lap in BY_TIME[1:] if TRUE.time(lap) - TRUE.time(TRUE.best) <= 0.5]
Value = Callable[[Truth], float]


def speed(lap: int, place: float) -> float:
    """Of a lap where it had driven so many metres, km/h."""
    moment = TRUE.passed(lap, place)
    return float(np.interp(moment, TRUE.column(TIMESTAMP), TRUE.column("speed_ms"))) * 3.6


def apexes(number: int) -> list[float]:
    """Speeds at an apex, lap by lap."""
    return [TRUE.speed_at(number, "apex", lap) for lap in TRUE.laps]


def before_turn_4(lap: int) -> float:
    """A hundred metres in front of it."""
    return speed(lap, TRUE.corner(4).entry.distance_m - 100)


ASKED: Final[tuple[tuple[str, tuple[str, ...], Value | None, str], ...]] = (
    ("What was my speed at 1000 m on lap 3?", ("1000 m",), lambda _: speed(3, 1000.0), "km/h"),
    ("speed at the start finish line on lap 2", ("line",), lambda _: speed(2, 0.0), "km/h"),
    ("What was my speed 100 m before turn 4 on lap 2?", (), lambda _: before_turn_4(2), "km/h"),
    ("What was my speed at the 100 m board of turn 4?", ("before",), None, ""),
    ("What is my theoretical best lap?", ("best sectors",), lambda _: IDEAL, "s"),
    ("What is the theoretical best lap?", ("best sectors",), lambda _: IDEAL, "s"),
    ("Where was I faster on lap 5 than on lap 3?", ("Lap 5 was faster than",), None, ""),
    ("Where am I slower on lap 3 than on lap 5?", ("On lap 3 you lost", "against lap 5"), None, ""),
    ("How many corners do I lose time in?", ("of 11 corners",), None, ""),
    ("In how many corners did I beat my best lap on lap 1?", ("Lap 1 was faster",), None, ""),
    ("What's my worst apex speed in turn 6?", ("lowest",), lambda _: min(apexes(6)), "km/h"),
    ("What's my best apex speed in turn 6?", ("highest",), lambda _: max(apexes(6)), "km/h"),
    (
        "What is my slowest time through turn 4?",
        ("longest",),
        lambda t: max(t.corner_time(4, lap) for lap in t.laps),
        "s",
    ),
    (
        "What is my best time through turn 4, and in which lap?",
        ("shortest", f"lap {TRUE.quickest(4)}"),
        lambda t: t.corner_time(4, t.quickest(4)),
        "s",
    ),
    (
        "What was my best sector 2 time?",
        ("Your best Sector 2",),
        lambda t: min(t.sector_time(2, lap) for lap in t.laps),
        "s",
    ),
    (
        "What was my slowest sector 3 time?",
        ("Your slowest Sector 3",),
        lambda t: max(t.sector_time(3, lap) for lap in t.laps),
        "s",
    ),
    ("rank my laps", ("from the fastest: lap " + str(BY_TIME[0]),), None, ""),
    ("Fastest three laps?", tuple(f"lap {lap} in" for lap in BY_TIME[:3]), None, ""),
    ("second fastest lap?", (f"lap {BY_TIME[1]} in",), lambda t: t.time(BY_TIME[1]), "s"),
    ("which lap was third fastest", (f"lap {BY_TIME[2]} in",), lambda t: t.time(BY_TIME[2]), "s"),
    ("Which laps were within half a second of my best?", (f"{len(NEAR)} laps are",), None, ""),
    ("How many laps were under two minutes?", ("6 of your 6 laps took under",), None, ""),
    ("how many laps were over 2:00?", ("0 of your 6 laps took 2:00.000 or more",), None, ""),
    (
        "how many laps faster than lap 6?",
        (f"{BY_TIME.index(6)} laps were faster than lap 6",),
        None,
        "",
    ),
    (
        "What is the gap between my best and my average lap?",
        ("slower than your best",),
        lambda t: mean(map(t.time, t.laps)) - t.time(t.best),
        "s",
    ),
    (
        "Is my last lap better than my first?",
        ("lap 6", "ap 1"),
        lambda t: abs(t.time(6) - t.time(1)),
        "s",
    ),
    ("How does this session compare to the last one?", ("than in your last session",), None, ""),
    ("Which corner do I coast the most in?", ("has the most coasting time",), None, ""),
    ("Which corner do I brake hardest for?", ("has the highest brake pressure",), None, ""),
    (
        f"Since lap {TRUE.slowest} was my fastest, what did I do right there?",
        (f"No: your best lap was lap {TRUE.best}",),
        lambda t: t.time(t.slowest),
        "s",
    ),
    (f"Is lap {TRUE.best} my best lap?", ("Yes:",), lambda t: t.time(t.best), "s"),
    ("How was lap 2, my lap 2, that lap 2?", ("Lap 2 took",), lambda t: t.time(2), "s"),
    ("Can I do a 1:55?", ("1:55.000 is",), None, ""),
    ("compare lap 1 and lap 3 sector by sector", ("Lap 1 and lap 3 by sectors",), None, ""),
    ("How long is the Harbour Straight?", ("Harbour Straight is", " m long"), None, ""),
    (
        "How long is the track and how many corners does it have?",
        ("11 corners",),
        lambda t: t.track.length_m,
        "m",
    ),
    ("Which corner did I improve most?", ("You improved most in Turn",), None, ""),
)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every question of the table, each in a conversation of its own."""

    async def work() -> dict[str, Json]:
        async with bridging(settings_for(tmp_path_factory.mktemp("asked"))) as bridge:
            await filled(bridge)
            found = {}
            for question, *_ in ASKED:
                found[question] = await ask(bridge, question)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            other = {"question": "Am I better than last session?", "session_id": "s"}
            found["x"] = await bridge.ok("POST", "/coach/ask", {**other, "driver_id": "x"})
            return found

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("question", "words", "value", "unit"), ASKED, ids=[question for question, *_ in ASKED]
)
def test_the_quantity_that_is_asked_for_is_told_first(
    question: str,
    words: tuple[str, ...],
    value: Value | None,
    unit: str,
    answered: dict[str, Json],
) -> None:
    first = answered[question]["sources"][0]["summary"]
    assert answered[question]["answer"].startswith(first)
    for word in words:
        assert word in first, first
    if value is not None:
        true = value(TRUE)
        assert any(abs(n - true) <= CLOSE[unit] + 0.0005 for n in numbers_in(first)), (true, first)


def test_a_session_is_looked_at_whoever_asks(answered: dict[str, Json]) -> None:
    assert "than in your last session" in answered["x"]["answer"]


async def test_a_conversation_goes_on_in_a_few_words(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    turns = (
        ("What's my best lap?", ("Your best lap was",)),
        ("and the slowest?", ("Your slowest lap was",)),
        ("difference?", ("slower than lap",)),
        ("How fast am I in turn 4?", ("Turn 4",)),
        ("and turn 8?", ("Turn 8",)),
        ("and on lap 2?", ("lap 2",)),
        ("is that better than lap 5?", ("Turn 8", "on lap 2", "on lap 5")),
        ("what about the exit?", ("Exit speed in Turn 8",)),
        ("Where should I brake for turn 4?", ("Brake ",)),
        ("what if it rains?", ("Earlier and softer than in the dry", "Turn 4")),
        ("Which corner is my worst?", ("You lose most in",)),
        ("how do I fix it?", ("Work on ",)),
    )
    async with bridging(settings_for(tmp_path_factory.mktemp("talk"))) as bridge:
        await filled(bridge)
        for question, words in turns:
            first = (await ask(bridge, question))["sources"][0]["summary"]
            for word in words:
                assert word in first, (question, first)
