"""Claims about speeds, pressures and laps; one reference for debrief, brief and answers."""

import asyncio
import re
from statistics import median
from typing import Final

import numpy as np
import pytest

from runtime.bridge.coach.agents.claim_words import claimed
from runtime.bridge.coach.agents.naming import Names, named
from runtime.bridge.coach.warm.brief import Plan, brief_facts, brief_parts
from runtime.bridge.coach.warm.grades import Grades
from runtime.bridge.coach.warm.pedagogy import FITTING
from runtime.bridge.session.ranking import time_text
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import TRUE, ask, filled
from tests.bridge.coach.agents.test_claims import LOST, TOP, Claim
from tests.bridge.coach.agents.test_one_mind import WILD, wild
from tests.bridge.coach.agents.truthkit import Truth
from tests.bridge.coach.warm.modelkit import LARKFELL, closed_port
from tests.bridge.coach.warm.reviewkit import review

NAMES: Final = Names(LARKFELL.corners, [one.name for one in LARKFELL.sectors])
APEX: Final = {n: median(TRUE.speed_at(n, "apex", lap) for lap in TRUE.laps) for n in range(1, 12)}
EXIT: Final = {n: median(TRUE.speed_at(n, "exit", lap) for lap in TRUE.laps) for n in (1, 4)}
TOPS: Final = [float(TRUE.on_lap(lap, "speed_ms").max()) * 3.6 for lap in TRUE.laps]
PEAKS: Final = [float(TRUE.on_lap(lap, "brake_bar").max()) for lap in TRUE.laps]
PEAK: Final = max(PEAKS)
SECOND: Final = TRUE.time(TRUE.best)
SAME_M: Final = 3.0
CLEAR_S: Final = 0.03
"""Passes whose times differ by less may be in another order in the bridge."""


def trailed(number: int, lap: int) -> bool:
    """Whether brake and steering load were there at once."""
    brake, load = TRUE.in_corner(number, lap, "brake_bar"), TRUE.in_corner(number, lap, "g_lat")
    return bool(((brake > 3) & (np.abs(load) > 0.4)).any())


def flat(number: int, lap: int) -> bool:
    return bool((TRUE.in_corner(number, lap, "throttle_pct") >= 95).all())


def tenths(words: str, seconds: float, number: int) -> Claim:
    so = abs(LOST[number] - seconds) <= 0.05 or int(LOST[number] * 10) / 10 == seconds
    return Claim(f"I lose {words} in turn {number}, don't I?", so, ("longer than your quickest",))


PAIRS: Final = ((1, 4), (4, 1), (7, 8), (8, 4), (11, 10), (3, 6))
MORE: Final = (
    *(
        Claim(f"Is turn {a} faster than turn {b}?", APEX[a] > APEX[b], ("speed at the apex",))
        for a, b in PAIRS
    ),
    *(
        Claim(f"Is turn {a} slower than turn {b}?", APEX[a] < APEX[b], ("speed at the apex",))
        for a, b in PAIRS
    ),
    Claim("Is harbour bend slower than chapel?", APEX[11] < APEX[10], ("speed at the apex",)),
    Claim("Is my exit speed in turn 1 higher than in turn 4?", EXIT[1] > EXIT[4], ("exit speed",)),
    Claim(f"Did I hit {int(TOP) + 1} km/h?", False, (f"{TOP:.1f}",)),
    Claim(f"Did I reach {int(TOP) + 1}?", False, (f"{TOP:.1f}",)),
    Claim(f"Did I reach {int(TOP)}?", True, (f"{TOP:.1f}",)),
    Claim(f"My top speed was {TOP:.0f}, right?", True, (f"{TOP:.1f}",)),
    Claim(f"My top speed was {TOP + 2:.0f}, right?", False, (f"{TOP:.1f}",)),
    tenths("three tenths", 0.3, 11),
    tenths("a tenth", 0.1, 4),
    tenths("two tenths", 0.2, 4),
    Claim("I'm slow in turn 3, aren't I?", LOST[3] >= 0.05, (f"{LOST[3]:.2f}",)),
    Claim("I'm slow in turn 4, aren't I?", LOST[4] >= 0.05, (f"{LOST[4]:.1f}",)),
    Claim("I'm quick in turn 4, aren't I?", LOST[4] < 0.05, (f"{LOST[4]:.1f}",)),
    Claim(f"I never used more than {PEAK - 5:.0f} bar, correct?", False, (f"{PEAK:.0f}"[:1],)),
    Claim(f"I never used more than {PEAK + 5:.0f} bar, correct?", True, ("brake pressure",)),
    Claim(f"My max brake pressure was {PEAK + 13:.0f} bar, wasn't it?", False, ("bar",)),
    Claim(f"My max brake pressure was {PEAK:.0f} bar, wasn't it?", True, ("bar",)),
    Claim(f"I braked harder than {PEAKS[1] - 2:.0f} bar on lap 2, right?", True, ("on lap 2",)),
    Claim(f"I braked harder than {PEAK + 9:.0f} bar, right?", False, ("bar",)),
    Claim("Turn 7 is flat for me, isn't it?", all(flat(7, lap) for lap in TRUE.laps), ("6",)),
    Claim("Do I trail brake in turn 8?", any(trailed(8, lap) for lap in TRUE.laps), ("6 of 6",)),
    Claim(f"Did I break {int(SECOND)} seconds?", False, (f"lap {TRUE.best}",)),
    Claim(f"Did I break {int(SECOND) + 1} seconds?", True, (f"lap {TRUE.best}",)),
    Claim("All my laps were 1:45, right?", False, ("none of your 6 laps took 1:45;",)),
    Claim(f"All my laps were {time_text(SECOND)[:-4]}, right?", False, ("of your 6 laps took",)),
    Claim(f"Was I above {min(TOPS) - 1:.0f} on every lap?", True, ("6 of your 6",)),
    Claim(f"Was I above {max(TOPS) - 0.2:.1f} km/h on every lap?", False, ("1 of your 6",)),
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every claim and what follows from the debriefs, each in a conversation of its own."""

    async def work() -> dict[str, Json]:
        settings = settings_for(tmp_path_factory.mktemp("more"), model_url=closed_port())
        async with bridging(settings) as bridge:
            await filled(bridge)
            found = {}
            which = ("Which is slower, turn 4 or turn 8?", "Which of turn 1 and 4 is faster?")
            late = ("Do I open the throttle too late in turn 11?",)
            for text in (*(one.question for one in MORE), *which, *late):
                found[text] = await ask(bridge, text)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            await wild(bridge)
            for number in range(1, 12):
                text = f"Do I brake too late in turn {number}?"
                found[text] = await ask(bridge, text, "w")
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:w"})
            found["plan"] = await ask(bridge, "What's the plan for today?", "w")
            found["debrief"] = await bridge.ok("POST", "/coach/debrief", {"session_id": "w"})
            return found

    return asyncio.run(work())


@pytest.mark.parametrize("one", MORE, ids=[one.question for one in MORE])
def test_yes_or_no_is_that_of_the_recorded_numbers(one: Claim, told: dict[str, Json]) -> None:
    text = told[one.question]["answer"]
    assert text.startswith("Yes: " if one.so else "No: "), text
    for word in one.words:
        assert word in text, text


def test_the_slower_and_the_faster_of_two_corners_is_named_with_its_speed(
    told: dict[str, Json],
) -> None:
    slower = told["Which is slower, turn 4 or turn 8?"]["answer"]
    found = re.match(
        r"Turn 4 is slower: .* (\d+\.\d) km/h against (\d+\.\d) km/h in T\w+ 8", slower
    )
    assert found is not None, slower
    assert float(found[1]) == pytest.approx(APEX[4], abs=0.6)
    assert float(found[2]) == pytest.approx(APEX[8], abs=0.6)
    assert told["Which of turn 1 and 4 is faster?"]["answer"].startswith("Turn 1 is faster: ")


@pytest.mark.parametrize(
    "text", ["Am I too slow in turn 3?", "Which turn is slowest?", "Where am I slow?", "How slow?"]
)
def test_a_question_for_a_judgement_is_no_claim(text: str) -> None:
    assert claimed(named(text, NAMES)) is None


def usual(truth: Truth, number: int) -> int | None:
    """The lap of the usual pass, the middle of all by time; None where that is not clear."""
    times = sorted((truth.corner_time(number, lap), lap) for lap in truth.laps)
    at = len(times) // 2
    gaps = [abs(times[at][0] - times[other][0]) for other in (at - 1, at + 1, 0)]
    clear = min(gaps) > CLEAR_S and times[1][0] - times[0][0] > CLEAR_S
    return times[at][1] if clear else None


@pytest.mark.parametrize("number", range(1, 12))
def test_a_brake_point_is_judged_by_the_passes_of_the_debrief(
    number: int, told: dict[str, Json]
) -> None:
    text = told[f"Do I brake too late in turn {number}?"]["answer"]
    lap = usual(WILD, number)
    if lap is None or "did not brake" in text:
        return
    late = WILD.brake_point(number, WILD.quickest(number)) - WILD.brake_point(number, lap)
    if abs(late - SAME_M) > 2.5:
        assert text.startswith("Yes" if late >= SAME_M else "No"), (late, text)
    point = re.search(r"usual pass, lap (\d+), you began to brake (\d+) m before", text)
    assert point is not None, text
    assert int(point[1]) == lap
    assert float(point[2]) == pytest.approx(WILD.brake_point(number, lap), abs=2.5)


def test_no_answer_denies_what_the_debrief_says_of_the_brakes(told: dict[str, Json]) -> None:
    said = told["debrief"]["narrative_md"]
    for name in re.findall(r"\*\*Turn (\d+)\*\*[^\n]*brakes came \d+ m late", said):
        assert told[f"Do I brake too late in turn {name}?"]["answer"].startswith("Yes")


def test_a_throttle_that_the_debrief_calls_late_is_late(told: dict[str, Json]) -> None:
    text = told["Do I open the throttle too late in turn 11?"]["answer"]
    found = re.match(r"Yes: in your usual pass, lap (\d+), .* (\d+) m behind the apex", text)
    assert found is not None, text
    t, throttle = TRUE.column("timestamp"), TRUE.column("throttle_pct")
    corner, lap, odometer = TRUE.corner(11), int(found[1]), TRUE.column("distance_m")
    inside = t >= TRUE.passed(lap, corner.apex.distance_m)
    opened = odometer[np.flatnonzero(inside & (throttle >= 20))[0]]
    apex = float(np.interp(TRUE.passed(lap, corner.apex.distance_m), t, odometer))
    assert float(found[2]) == pytest.approx(opened - apex, abs=2.5)


def test_the_plan_of_the_day_names_the_focus_of_the_debrief(told: dict[str, Json]) -> None:
    focus = told["debrief"]["next_focus"]
    assert told["plan"]["answer"].startswith(f"Work on {focus} today")


@pytest.mark.parametrize("seed", range(3, 9))
def test_a_brief_leaves_out_a_note_against_what_there_is_to_work_on(seed: int) -> None:
    found = review(laps=6, seed=seed, skill=0.7)
    assert found.card is not None
    phase = LARKFELL.weather_phases[0]
    for work in found.found:
        if not work.corner:
            continue
        plan = Plan(
            "Mia", "2026-06-01", 12, "a clean lap", (), phase, Grades(weakest=work.corner),
            track=LARKFELL, work=work,
        )  # fmt: skip
        corner = LARKFELL.corner(work.corner)
        assert corner is not None
        against = re.search(FITTING[work.cause][1], corner.coaching_tip, re.IGNORECASE)
        if against is not None:
            assert corner.coaching_tip not in "\n".join(brief_parts(plan))
            assert corner.coaching_tip not in str(brief_facts(plan))
