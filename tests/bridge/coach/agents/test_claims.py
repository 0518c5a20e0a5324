"""A driver who asks whether something is so hears yes or no first, and the measured number then."""

import asyncio
from statistics import median
from typing import Final, NamedTuple

import numpy as np
import pytest

from runtime.bridge.coach.agents.claim_words import claimed
from runtime.bridge.coach.agents.naming import Names, named
from runtime.bridge.coach.agents.pass_claims import agrees
from runtime.bridge.session.ranking import time_text
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import TRUE, ask, filled
from tests.bridge.coach.warm.modelkit import LARKFELL

NAMES: Final = Names(LARKFELL.corners, [one.name for one in LARKFELL.sectors])
BEST, SLOW = TRUE.best, TRUE.slowest
TIME: Final = TRUE.time(BEST)
LOST: Final = {
    n: sorted(TRUE.corner_time(n, lap) for lap in TRUE.laps)[3]
    - TRUE.corner_time(n, TRUE.quickest(n))
    for n in range(1, 12)
}
"""What the usual pass of a corner, the fourth of six, takes longer than the quickest."""
WORST: Final = max(LOST, key=lambda n: LOST[n])
TOP: Final = max(float(TRUE.on_lap(lap, "speed_ms").max()) * 3.6 for lap in TRUE.laps)
LOWEST: Final = min(float(TRUE.in_corner(4, lap, "speed_ms").min()) * 3.6 for lap in TRUE.laps)
POINTS: Final = [TRUE.brake_point(4, lap) for lap in TRUE.laps]
USUAL: Final = TRUE.brake_point(4, sorted(TRUE.laps, key=lambda n: TRUE.corner_time(4, n))[3])
"""Of the usual pass."""
COASTED: Final = median(
    0.05
    * float(
        (
            (TRUE.in_corner(11, lap, "throttle_pct", TRUE.approach_m(11)) < 5)
            & (TRUE.in_corner(11, lap, "brake_bar", TRUE.approach_m(11)) < 2)
        ).sum()
    )
    for lap in TRUE.laps
)


class Claim(NamedTuple):
    """What is held to be so, whether it is, and words of the answer."""

    question: str
    so: bool
    words: tuple[str, ...] = ()


CLAIMS: Final = (
    Claim(f"My best lap was {time_text(TIME - 10)}, wasn't it?", False, (time_text(TIME)[:-1],)),
    Claim(f"My best lap was {time_text(TIME)[:-2]}, right?", True, (f"lap {BEST}",)),
    Claim(f"Was my best lap a {time_text(TIME)[:-2]}?", True),
    Claim(f"Did I beat {time_text(TIME + 0.5)[:-2]}?", True, (f"lap {BEST}",)),
    Claim(f"Did I beat {time_text(TIME - 1)[:-2]}?", False, ("slower than",)),
    Claim(f"Were all my laps under {time_text(TRUE.time(SLOW) + 1)[:-4]}?", True, ("6 of your 6",)),
    Claim(f"Was every lap slower than {time_text(TIME + 0.05)[:-1]}?", False, ("5 of your 6",)),
    Claim("I did 7 laps, right?", False, ("6 complete laps",)),
    Claim("I did 6 laps, correct?", True, ("6 complete laps",)),
    Claim(f"Is lap {BEST} faster than lap {SLOW}?", True, ("faster than lap",)),
    Claim(f"Lap {SLOW} was faster than lap {BEST}, right?", False, ("slower than lap",)),
    Claim(f"Is lap {BEST} slower than lap {SLOW}?", False),
    Claim(
        "Am I faster in turn 5 on lap 1 than on lap 2?",
        TRUE.corner_time(5, 1) < TRUE.corner_time(5, 2),
        ("in Turn 5",),
    ),
    Claim(f"Is turn {WORST} where I lose the most?", True, (f"{LOST[WORST]:.1f}",)),
    Claim(f"Is turn {min(LOST, key=lambda n: LOST[n])} where I lose most?", False),
    Claim(f"Turn {WORST} was my best corner, right?", False, ("best corner by grade",)),
    Claim("Is turn 4 my slowest corner?", True, ("km/h",)),
    Claim("Is turn 7 my slowest corner?", False, ("Turn 4 is your slowest",)),
    Claim("I'm losing 2 seconds in turn 4, correct?", False, (f"{LOST[4]:.1f}",)),
    Claim(f"I lose {LOST[WORST]:.1f} in turn {WORST}, right?", True),
    Claim("I always brake 20 m too late in turn 4, right?", False, (f"{USUAL:.0f} m",)),
    Claim(f"Do I coast more than {COASTED - 0.3:.1f} seconds in turn 11?", True, ("coasted for",)),
    Claim(f"Do I coast more than {COASTED + 0.5:.1f} seconds in turn 11?", False, ("coasted for",)),
    Claim(f"Is it true that I coast for {COASTED + 3:.0f} seconds in turn 11?", False),
    Claim(f"Did I ever go faster than {TOP + 5:.0f}?", False, (f"{TOP:.0f}"[:2],)),
    Claim(f"I hit {int(TOP)} on the straight, right?", True, ("km/h",)),
    Claim(f"Never below {LOWEST - 1:.0f} in the hairpin, right?", True, ("km/h",)),
    Claim(f"Never below {LOWEST + 2:.0f} in the hairpin, right?", False, ("km/h",)),
    Claim("I never brake in turn 7, right?", False, ("6 of 6 passes",)),
    Claim("I don't brake in turn 4, right?", False, ("6 of 6 passes",)),
    Claim(f"Lap {SLOW} wasn't faster than lap {BEST}, right?", True, ("slower than lap",)),
    Claim(f"My best lap wasn't {time_text(TIME + 9)}, was it?", True, (f"lap {BEST}",)),
    Claim("I brake harder in turn 4 than in turn 7, right?", True, ("bar against",)),
    Claim("Did I do more than 5 laps?", True, ("6 complete laps",)),
    Claim("Do I brake in turn 7 at all?", True, ("6 of 6 passes",)),
    Claim("Do I always brake at the same point in turn 4?", max(POINTS) - min(POINTS) <= 5, ("m",)),
    Claim(
        "Is turn 4 better than turn 8?",
        LOST[4] <= LOST[8],
        (f"{min(LOST[4], LOST[8]):.1f}", "against"),
    ),
)
NO_CLAIMS: Final = (
    "What was my best lap?",
    "Is turn 1 left or right?",
    "Does turn 9 go right?",
    "Is 1:55 realistic?",
    "How fast was I in turn 4?",
    "Do I brake too early in turn 4?",
    "Did I spin?",
    "Was lap 3 my best lap?",
    "Can I take turn 7 flat?",
)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every claim, each in a conversation of its own."""

    async def work() -> dict[str, Json]:
        async with bridging(settings_for(tmp_path_factory.mktemp("claims"))) as bridge:
            await filled(bridge)
            found = {}
            for one in CLAIMS:
                found[one.question] = await ask(bridge, one.question)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            return found

    return asyncio.run(work())


@pytest.mark.parametrize("one", CLAIMS, ids=[one.question for one in CLAIMS])
def test_yes_or_no_comes_first_and_the_number_then(one: Claim, answered: dict[str, Json]) -> None:
    text = answered[one.question]["answer"]
    assert text.startswith("Yes" if one.so else "No"), text
    for word in one.words:
        assert word in text, text


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_a_plain_question_is_no_claim(text: str) -> None:
    assert claimed(named(text, NAMES)) is None


@pytest.mark.parametrize(
    ("value", "said", "digits", "so"),
    [
        (131.948, 131.0, 0, True),
        (131.948, 132.0, 0, True),
        (131.948, 131.9, 1, True),
        (131.948, 130.0, 0, False),
        (2.25, 3.0, 0, False),
        (0.51, 0.5, 1, True),
        (0.51, 0.2, 1, False),
    ],
)
def test_a_number_agrees_rounded_or_cut_off(
    value: float, said: float, digits: int, *, so: bool
) -> None:
    assert agrees(value, said, digits) == so


async def test_what_nothing_recorded_tells_is_neither_confirmed_nor_denied(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with bridging(settings_for(tmp_path_factory.mktemp("unknown"))) as bridge:
        await filled(bridge)
        found = await ask(bridge, "I hit the apex in turn 5 every lap, right?")
        assert found["answer"].startswith("That I can neither confirm nor deny")
        bare = await ask(bridge, "I coast 2 seconds in turn 11, right?", "bare")
        assert "not recorded" in bare["answer"]


def test_the_truth_of_this_file_is_a_session_with_differences() -> None:
    assert np.ptp([TRUE.time(lap) for lap in TRUE.laps]) > 0.05
