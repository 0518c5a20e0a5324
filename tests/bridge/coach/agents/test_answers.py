"""What is asked is answered first, with the number that the session's own arrays give."""

import asyncio
import re
from collections.abc import Callable
from statistics import median
from typing import Final, NamedTuple

import numpy as np
import pytest

from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Samples
from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.coach.agents.truthkit import Truth, session_of
from tests.bridge.coach.warm.modelkit import LARKFELL

TRUE: Final = Truth(LARKFELL, session_of(LARKFELL, 6, seed=1, skill=0.8))
EARLIER: Final = Truth(LARKFELL, session_of(LARKFELL, 3, seed=7, skill=0.7))
HARBOUR: Final = next(one for one in LARKFELL.straights if one.name == "Harbour Straight")
MOST_SENTENCES: Final = 3
"""The fact that was asked for, and two that support it."""
_NUMBER: Final = re.compile(r"(?<![\w.])(\d+):(\d\d\.\d+)|(?<![\w.:])(\d+(?:\.\d+)?)")
CLOSE: Final = {"s": 0.03, "km/h": 0.6, "m": 2.5, "bar": 0.6, "g": 0.02, "%": 1.0, "km": 0.2, "": 0}


class Asked(NamedTuple):
    """A question, and what the first sentence of its answer must hold."""

    question: str
    words: tuple[str, ...] = ()
    value: Callable[[Truth], float] | None = None
    unit: str = ""


def part_losses(t: Truth) -> dict[str, float]:
    """How much longer the other laps took than the best one, on average, part by part."""
    spans = {
        one.name: (one.entry.distance_m - t.approach_m(one.number), one.exit.distance_m)
        for one in t.track.corners
    }
    begins = [begin for begin, _ in spans.values()]
    for one in t.track.straights:
        end = one.end_m if one.end_m > one.start_m else t.track.length_m
        spans[one.name] = (one.start_m, min([b for b in begins if one.start_m < b < end] or [end]))
    others = [lap for lap in t.laps if lap != t.best]
    return {
        name: float(np.mean([t.spent(lap, *span) for lap in others])) - t.spent(t.best, *span)
        for name, span in spans.items()
    }


def on_straight(t: Truth) -> float:
    begin = [t.driven.crossings_s[lap - 1] for lap in t.laps]
    ends = [t.passed(lap, HARBOUR.end_m) for lap in t.laps]
    return max(
        float(t.inside(a, b, "speed_ms").max()) * 3.6 for a, b in zip(begin, ends, strict=True)
    )


LOST: Final = part_losses(TRUE)
MOST_LOST: Final = max(LOST, key=lambda name: LOST[name])
QUICK: Final = TRUE.best
SLOW: Final = TRUE.slowest
IDEAL: Final = sum(min(TRUE.sector_time(s, n) for n in TRUE.laps) for s in (1, 2, 3))
WEAK: Final = max((1, 2, 3), key=TRUE.sector_loss)
STRONG: Final = min((1, 2, 3), key=TRUE.sector_loss)
MEAN_LAP: Final = float(np.mean(TRUE.driven.lap_times_s))
LATERAL: Final = float(np.abs(TRUE.column("g_lat")).max())
QUESTIONS: Final = (
    # laps
    Asked("How many laps did I do?", ("complete laps",), lambda _: 6),
    Asked("how many laps have i driven", ("complete laps",), lambda _: 6),
    Asked("number of laps?", ("complete laps",), lambda _: 6),
    Asked("What was my best lap and by how much?", (f"lap {QUICK}",), lambda t: t.time(QUICK), "s"),
    Asked("whats my fastst lap", (f"lap {QUICK}",), lambda t: t.time(QUICK), "s"),
    Asked("my pb?", (f"lap {QUICK}",), lambda t: t.time(QUICK), "s"),
    Asked("best lap time", (f"lap {QUICK}",), lambda t: t.time(QUICK), "s"),
    Asked(
        "Which lap was slowest and why?",
        (f"lap {SLOW}", f"lap {QUICK}"),
        lambda t: t.time(SLOW) - t.time(QUICK),
        "s",
    ),
    Asked("slowest lap", (f"lap {SLOW}",), lambda t: t.time(SLOW), "s"),
    Asked("How was lap 2?", ("Lap 2",), lambda t: t.time(2), "s"),
    Asked("lap two time", ("Lap 2",), lambda t: t.time(2), "s"),
    Asked("how fast was the 5th lap", ("Lap 5",), lambda t: t.time(5), "s"),
    Asked("what was my time on lap 4", ("Lap 4",), lambda t: t.time(4), "s"),
    Asked("my last lap?", ("lap 6",), lambda t: t.time(6), "s"),
    Asked("Compare lap 2 with lap 2", ("same lap",), lambda t: t.time(2), "s"),
    Asked("lap 2 vs lap 2", ("same lap",), lambda t: t.time(2), "s"),
    Asked("L1 vs L4", ("Lap 1", "lap 4"), lambda t: t.time(1) - t.time(4), "s"),
    Asked(
        "compare my last lap with my best",
        ("Lap 6", f"lap {QUICK}"),
        lambda t: t.time(6) - t.time(QUICK),
        "s",
    ),
    Asked("What is my average lap?", ("average lap",), lambda _: MEAN_LAP, "s"),
    Asked("theoretical best?", ("best sectors",), lambda _: IDEAL, "s"),
    Asked(
        "how many laps under 2:00",
        ("of your 6 laps",),
        lambda t: sum(n < 120 for n in t.driven.lap_times_s),
    ),
    Asked("did i beat my pb", ("here ever", "this session"), lambda t: t.time(QUICK), "s"),
    Asked("how much faster can i go", ("best sectors",), lambda t: t.time(QUICK) - IDEAL, "s"),
    Asked("How was lap 44?", ("no complete lap 44", "laps 1 to 6")),
    # sectors
    Asked("How was sector 2?", ("Sector 2 (Moor)",), lambda t: t.sector_loss(2), "s"),
    Asked("secotr two?", ("Sector 2 (Moor)",), lambda t: t.sector_loss(2), "s"),
    Asked("How was the Moor?", ("Sector 2 (Moor)",), lambda t: t.sector_loss(2), "s"),
    Asked("S3 on lap 5", ("Sector 3", "lap 5"), lambda t: t.sector_time(3, 5), "s"),
    Asked(
        "Which sector am I slowest in?",
        (f"Sector {WEAK} ",),
        lambda t: t.sector_loss(WEAK),
        "s",
    ),
    Asked("what is my worst sector", (f"Sector {WEAK} ",), lambda t: t.sector_loss(WEAK), "s"),
    Asked("which sector is my best", (f"Sector {STRONG} ",), lambda t: t.sector_loss(STRONG), "s"),
    Asked(
        "which lap had the best sector 1",
        (f"Lap {min(TRUE.laps, key=lambda n: TRUE.sector_time(1, n))} ",),
        lambda t: min(t.sector_time(1, n) for n in t.laps),
        "s",
    ),
    Asked("How was sector 5?", ("no sector 5", "Cliffs", "Moor", "Harbour")),
    # corners
    Asked(
        "What was my speed at the apex of turn 3 on lap 4?",
        ("lap 4", "apex of Turn 3"),
        lambda t: t.speed_at(3, "apex", 4),
        "km/h",
    ),
    Asked("apex speed T3 lap 4", ("lap 4", "Turn 3"), lambda t: t.speed_at(3, "apex", 4), "km/h"),
    Asked(
        "how fast did i enter the hairpin on my best lap",
        (f"lap {QUICK}", "entry of Turn 4"),
        lambda t: t.speed_at(4, "entry", QUICK),
        "km/h",
    ),
    Asked(
        "exit speed harbour bend on lap 2",
        ("lap 2", "exit of Turn 11"),
        lambda t: t.speed_at(11, "exit", 2),
        "km/h",
    ),
    Asked(
        "minimum speed in turn eight on the third lap",
        ("lap 3", "slowest point of Turn 8"),
        lambda t: float(t.in_corner(8, 3, "speed_ms").min()) * 3.6,
        "km/h",
    ),
    Asked(
        "Where should I brake in turn 9 on lap 3?",
        ("entry of Turn 9, as in the middle of your 6 passes, and no later",),
        lambda t: median(t.brake_point(9, lap) for lap in t.laps),
        "m",
    ),
    Asked(
        "Where should I brake in turn 10 on lap 3?",
        (f"entry of Turn 10, as on your quickest pass, lap {TRUE.quickest(10)}",),
        lambda t: t.brake_point(10, t.quickest(10)),
        "m",
    ),
    Asked(
        "where did i brake for T1 on lap 5",
        ("lap 5", "entry of Turn 1"),
        lambda t: t.brake_point(1, 5),
        "m",
    ),
    Asked("brkae point turn 10 lap 2", ("lap 2", "Turn 10"), lambda t: t.brake_point(10, 2), "m"),
    Asked(
        "how hard did I brake into the hairpin on lap 1",
        ("lap 1", "Turn 4"),
        lambda t: float(t.in_corner(4, 1, "brake_bar", 200.0).max()),
        "bar",
    ),
    Asked(
        "how much g in turn 11 on lap 3",
        ("lap 3", "Turn 11"),
        lambda t: float(np.abs(t.in_corner(11, 3, "g_lat")).max()),
        "g",
    ),
    Asked(
        "how long did turn 4 take on lap 6",
        ("lap 6", "Turn 4"),
        lambda t: t.corner_time(4, 6),
        "s",
    ),
    Asked("How was turn 9 on lap 5?", ("Turn 9", "lap 5"), lambda t: t.corner_time(9, 5), "s"),
    Asked(
        "How is turn 4?",
        ("Turn 4", f"lap {TRUE.quickest(4)}"),
        lambda t: t.corner_time(4, t.quickest(4)),
        "s",
    ),
    Asked(
        "am i braking too early in turn 1 on lap 5",
        ("lap 5", "entry of Turn 1", f"lap {TRUE.quickest(1)}"),
        lambda t: t.brake_point(1, 5),
        "m",
    ),
    Asked(
        "whats the slowest corner",
        ("slowest corner is Turn 4",),
        lambda t: float(t.in_corner(4, t.quickest(4), "speed_ms").min()) * 3.6,
        "km/h",
    ),
    Asked("when do i get on the throttle in turn 8 on lap 2", ("lap 2", "the apex of Turn 8")),
    Asked("T9 lap3 brake?", ("lap 3", "entry of Turn 9"), lambda t: t.brake_point(9, 3), "m"),
    Asked("show me my laps", ("lap times", "on lap 6"), lambda t: t.time(6), "s"),
    Asked("slowest?", (f"lap {SLOW}",), lambda t: t.time(SLOW), "s"),
    Asked("thanks!", ("I am ready",)),
    Asked("what grade do i get in the hairpin", ("Turn 4 has grade",)),
    Asked("how do turn 3 and turn 4 compare", ("Turn 3 took", "Turn 4 took")),
    Asked(
        "how much time do i lose in turn 4 on lap 1",
        ("Turn 4", "lap 1"),
        lambda t: t.corner_time(4, 1) - t.corner_time(4, t.quickest(4)),
        "s",
    ),
    Asked("What gear in turn 5?", ("gear 3", "apex of Turn 5")),
    Asked("gaer in t5 on lap two", ("gear 3", "Turn 5", "lap 2")),
    Asked("Is Turn 1 left or right?", ("Turn 1 is a right-hander",)),
    Asked("which way does turn two go", ("Turn 2 is a left-hander",)),
    Asked("is the kink a right hander", ("Turn 7 is a right-hander",)),
    Asked("is slate tight", ("Turn 8 is a tight corner",)),
    Asked("does T4 go uphill or downhill?", ("Turn 4 falls",), lambda _: 1.7, ""),
    Asked("How was turn 14?", ("no such corner", "Turn 1,", "Turn 11")),
    Asked("how many corners are there", ("corners",), lambda _: 11),
    Asked(
        "Where do I lose most time against my best lap?",
        (MOST_LOST, f"best lap, lap {QUICK}"),
        lambda _: LOST[MOST_LOST],
        "s",
    ),
    # channels
    Asked("How much g do I pull?", ("lateral",), lambda _: LATERAL, "g"),
    Asked("max g-force", ("lateral",), lambda _: LATERAL, "g"),
    Asked("top speed where?", ("Harbour Straight",), lambda t: t.top("speed_ms") * 3.6, "km/h"),
    Asked("top sped", ("highest speed",), lambda t: t.top("speed_ms") * 3.6, "km/h"),
    Asked(
        "how fast was I on lap 2 at most, top speed",
        ("lap 2",),
        lambda t: float(t.on_lap(2, "speed_ms").max()) * 3.6,
        "km/h",
    ),
    Asked("how fast was I on the main straight", ("Harbour Straight",), on_straight, "km/h"),
    Asked("How hard did I brake?", ("brake pressure",), lambda t: t.top("brake_bar"), "bar"),
    Asked("max revs", ("engine speed",), lambda t: t.top("rpm"), "rpm"),
    Asked(
        "average speed on lap 3",
        ("lap 3",),
        lambda t: float(t.on_lap(3, "speed_ms").mean()) * 3.6,
        "km/h",
    ),
    Asked(
        "how much full throttle on lap 2",
        ("lap 2",),
        lambda t: 100 * float((t.on_lap(2, "throttle_pct") >= 95).mean()),
        "%",
    ),
    Asked("what was my tyre temperature", ("not recorded", "tire_temp")),
    Asked("oil pressure?", ("not recorded", "oil_press")),
    # the whole
    Asked("Where do I lose time?", ("You lose most in Turn ", "quickest")),
    Asked("whats my worst corner", ("You lose most in Turn ", "quickest")),
    Asked("Did I spin?", ("No", "no spin")),
    Asked("any spins or so", ("No", "no spin")),
    Asked("did i go off on lap 2", ("No", "no excursion", "lap 2")),
    Asked("did i lock up", ("not recorded", "abs_active")),
    Asked(
        "How consistent am I?",
        ("6 laps",),
        lambda t: t.time(SLOW) - t.time(QUICK),
        "s",
    ),
    Asked(
        "am i consistnet", ("6 laps",), lambda t: float(np.std(t.driven.lap_times_s, ddof=1)), "s"
    ),
    Asked(
        "Am I better than last session?",
        ("Yes", "faster"),
        lambda t: EARLIER.time(EARLIER.best) - t.time(QUICK),
        "s",
    ),
    Asked(
        "was i quicker than the last time",
        ("Yes", "faster"),
        lambda t: EARLIER.time(EARLIER.best) - t.time(QUICK),
        "s",
    ),
    Asked("how long is the track", ("Larkfell Circuit",), lambda _: LARKFELL.length_m, "m"),
    Asked("how far did I drive", ("in this session",), lambda t: t.top("distance_m") / 1000, "km"),
    Asked("What is trail braking?", ("Trail the brake",)),
)


def gears(frames: Frames) -> Samples:
    """Third gear below 100 km/h, fourth above."""
    t = frames.columns[TIMESTAMP]
    return Samples(t, np.where(frames.columns["speed_ms"] * 3.6 < 100, 3.0, 4.0))


def bare(frames: Frames) -> Frames:
    """Times, positions and speed alone."""
    kept = {TIMESTAMP, "speed_ms", "lat", "lon", "distance_m"}
    empty = np.full(len(frames), np.nan)
    return Frames({name: frames.columns[name] if name in kept else empty for name in WIDE})


async def filled(bridge: Bridge) -> None:
    """An earlier session of a driver, one to ask about, and one with hardly a channel."""
    for session, truth in (("earlier", EARLIER), ("s", TRUE), ("bare", TRUE)):
        start = {"session_id": session, "driver": "Mia", "track": LARKFELL.name}
        await bridge.ok("POST", "/session/start", start)
        frames = truth.frames if session != "bare" else bare(truth.frames)
        await bridge.service.db.append_frames(session, frames)
        await bridge.ok("POST", f"/session/{session}/end")
        await asyncio.sleep(0.002)  # sessions are told apart by the millisecond of their start
    await bridge.service.db.append_signals("s", {"gear_position": gears(TRUE.frames)})


async def ask(bridge: Bridge, question: str, session: str = "s") -> Json:
    """An answer; the conversation goes on."""
    body = {"question": question, "driver_id": "Mia", "session_id": session}
    return await bridge.ok("POST", "/coach/ask", body)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every question of the table, each in a conversation of its own."""

    async def work() -> dict[str, Json]:
        async with bridging(settings_for(tmp_path_factory.mktemp("ask"))) as bridge:
            await filled(bridge)
            found = {}
            for one in QUESTIONS:
                found[one.question] = await ask(bridge, one.question)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            return found

    return asyncio.run(work())


def numbers_in(text: str) -> list[float]:
    """Every number of a text; a lap time in seconds."""
    return [
        60 * int(minutes) + float(seconds) if minutes else float(plain)
        for minutes, seconds, plain in _NUMBER.findall(text)
    ]


@pytest.mark.parametrize("one", QUESTIONS, ids=[one.question for one in QUESTIONS])
def test_the_first_sentence_is_the_answer(one: Asked, answered: dict[str, Json]) -> None:
    found = answered[one.question]
    first = found["sources"][0]["summary"]
    assert found["answer"].startswith(first)
    assert found["source"] == "template"
    for word in one.words:
        assert word in first, first
    if one.value is not None:
        value = one.value(TRUE)
        near = CLOSE.get(one.unit, 5.0) + 0.0005
        assert any(abs(number - value) <= near for number in numbers_in(first)), (value, first)


@pytest.mark.parametrize("one", QUESTIONS, ids=[one.question for one in QUESTIONS])
def test_an_answer_is_short_and_says_nothing_twice(one: Asked, answered: dict[str, Json]) -> None:
    text = answered[one.question]["answer"]
    said = re.split(r"(?<=[.!?]) (?=[A-Z])", text.replace("Change one thing there, ", ""))
    assert len(said) <= MOST_SENTENCES + 1, text
    assert len(set(said)) == len(said)
    for word in ("nan", "None", "inf ", "  "):
        assert word not in text


@pytest.mark.parametrize("question", ["Where do I lose time?", "whats my worst corner"])
def test_the_corner_that_costs_most_is_told_with_both_passes(
    question: str, costs: dict[str, str]
) -> None:
    found = re.match(
        r"You lose most in Turn (\d+): your usual pass, as on lap (\d), takes (\d\.\d\d) s longer"
        r" than your quickest, on lap (\d)\.",
        costs[question],
    )
    assert found is not None, costs[question]
    corner, usual, seconds, quickest = (float(one) for one in found.groups())
    number = int(corner)
    assert int(quickest) == TRUE.quickest(number)
    gap = TRUE.corner_time(number, int(usual)) - TRUE.corner_time(number, int(quickest))
    assert seconds == pytest.approx(gap, abs=0.03)
    steady = [
        float(np.median([TRUE.corner_time(n, lap) for lap in TRUE.laps]))
        - TRUE.corner_time(n, TRUE.quickest(n))
        for n in range(1, 12)
    ]
    assert seconds >= max(steady) - 0.1


@pytest.fixture(scope="module")
def costs(answered: dict[str, Json]) -> dict[str, str]:
    """The first sentences about where time goes."""
    return {
        question: answered[question]["sources"][0]["summary"]
        for question in ("Where do I lose time?", "whats my worst corner")
    }


def test_the_table_is_long_enough() -> None:
    assert len({one.question for one in QUESTIONS}) == len(QUESTIONS) >= 60
