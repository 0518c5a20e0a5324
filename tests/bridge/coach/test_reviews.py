"""What a driver's history, briefs, debriefs, insights and a grader's reply come to."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.analysis.insights import EFFORT
from runtime.bridge.coach.fact import Term
from runtime.bridge.coach.facts.stories import Plan, shorten, tell_brief, tell_debrief, write_story
from runtime.bridge.coach.facts.view import REMEDIES
from runtime.bridge.coach.grades import grades
from runtime.bridge.coach.lessons import PASSAGES, Lessons, lessons_of, parse_course
from runtime.bridge.coach.need import Language, Units
from runtime.bridge.coach.scene import Outing, Scene, Session
from runtime.bridge.coach.score import BadGrade, add_up, read_grade
from runtime.bridge.coach.wording.words import words_of
from runtime.bridge.cues.concepts import CONCEPTS
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.series import build_series
from runtime.bridge.storage.coaching import EventRow
from tests.bridge.bridgekit import ROOT
from tests.bridge.coach.coursekit import (
    COURSE_CATALOG,
    COURSE_PASSAGES,
    QUOTED,
    UNTAUGHT,
    write_course,
)
from tests.bridge.coach.modelkit import LARKFELL
from tests.course.sitekit import served
from tools.drive import USUAL, drive

EVERYBODY = [(language, units) for language in get_args(Language) for units in get_args(Units)]


def scene_of(laps: int = 4, *, partial: bool = False, bare: bool = False) -> Scene:
    """A session of Mia; *bare*: without the circuit's file."""
    frames = drive(LARKFELL, laps, hz=10.0, seed=7, skill=0.8, noise=USUAL).frames
    if partial:
        frames = type(frames)({name: values[:300] for name, values in frames.columns.items()})
    found = detect_laps(build_series(frames), gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
    track = None if bare else LARKFELL
    driven = drive_of(found, track, partial=partial)
    return Scene(driver="Mia", outing=Outing(Session("s", "Mia"), driven), track=track)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return scene_of()


def graded(*scores: tuple[str, float]) -> list[EventRow]:
    """Grades of corners in the order in which they were given."""
    return [
        EventRow(at, f"s{at}", corner, "grade", score, "B")
        for at, (corner, score) in enumerate(scores, start=1)
    ]


def test_a_debrief_begins_with_something_good_and_has_one_thing_to_do(scene: Scene) -> None:
    story = tell_debrief(scene, None)
    text = write_story(story, words_of("en", "metric"))

    assert scene.outing is not None
    best = scene.outing.drive.best
    assert story.facts[0].kind == "lap-best"
    assert story.facts[0].laps == (best.number,)
    assert 1 <= len(story.problems) <= 3
    assert 1 <= sum(fact in story.problems for fact in story.facts) <= 2
    assert story.next_focus == story.problems[0].place.corner  # type: ignore[union-attr]
    assert story.problems[0].gain_s == max(fact.gain_s or 0.0 for fact in story.problems)
    assert sum(fact.kind == "advice" for fact in story.facts) == 1
    assert text.count("\n\n") >= 3


def test_a_best_lap_here_is_told_as_one(scene: Scene) -> None:
    assert scene.outing is not None
    best = scene.outing.drive.best.duration_s

    assert tell_debrief(scene, best + 0.5).facts[0].kind == "debrief-record"
    assert tell_debrief(scene, best + 0.5).emotion == "proud"
    assert tell_debrief(scene, best - 0.5).facts[0].kind == "lap-best"


@pytest.mark.parametrize(("language", "units"), EVERYBODY)
def test_every_story_is_told_in_every_language(
    scene: Scene, language: Language, units: Units
) -> None:
    words = words_of(language, units)
    assert scene.outing is not None
    no_pedals = scene_of(bare=True)
    damp = {"surface": "cool damp", "note": "Mind the fog."}
    plans = (Plan(), Plan(best_s=90.0, weakest="Turn 3", improved=("Turn 4", 12.0)))
    stories = [
        tell_debrief(scene, None),
        tell_debrief(no_pedals, 1000.0),
        tell_debrief(scene_of(partial=True), None),
        *(
            tell_brief(replace(one, conditions=damp), plan)
            for one in (scene, Scene(), Scene(track=LARKFELL))
            for plan in plans
        ),
    ]
    for story in stories:
        text = write_story(story, words, words.text("read-lesson", {"title": "Exits"}))
        assert "{" not in text
        assert len(story.items(words)) <= 3
    for cause in EFFORT:
        assert words.term(Term("cause", cause))
        assert words.term(Term("action", REMEDIES[cause].action))


def test_on_a_damp_surface_nobody_is_sent_to_brake_later_at_once(scene: Scene) -> None:
    damp = replace(scene, conditions={"surface": "cool damp", "note": ""})

    kinds = [fact.kind for fact in tell_brief(damp, Plan()).facts]

    assert kinds.index("brief-slippery") < kinds.index("advice")
    assert "brief-slippery" not in [fact.kind for fact in tell_brief(scene, Plan()).facts]


def test_a_brief_without_a_session_says_which_circuit_it_is_of(scene: Scene) -> None:
    first, *_ = tell_brief(Scene(track=LARKFELL), Plan()).facts

    assert (first.kind, first.values["circuit"]) == ("brief-circuit", LARKFELL.name)
    for known in (scene, Scene()):
        assert "brief-circuit" not in [fact.kind for fact in tell_brief(known, Plan()).facts]


def test_what_a_driver_asks_for_is_the_focus() -> None:
    asked = shorten([" vision ", "vision", "", "x" * 99, "calm", "more"])

    assert tell_brief(Scene(track=LARKFELL), Plan(wishes=asked)).focus == asked
    assert asked == ("vision", "x" * 80, "calm")


def test_the_weakest_corner_is_that_of_the_last_five_grades() -> None:
    found = grades(graded(*[("A", 0.1)] * 3, *[("A", 0.9)] * 5, *[("B", 0.8)] * 2))
    assert found.weakest == "B"
    assert found.weakest_score == pytest.approx(0.8)
    assert found.improved == "A"
    assert found.recent == 10


@pytest.mark.parametrize(("gain", "told"), [(0.001, False), (0.05, True)])
def test_a_gain_too_small_to_notice_is_not_praised(gain: float, told: bool) -> None:
    found = grades(graded(*[("A", 0.8)] * 3, *[("A", 0.8 + gain)] * 3))
    assert found.improved == "A"
    assert (found.noticed is not None) is told


@pytest.mark.parametrize(
    ("scores", "weakest"),
    [
        ((("A", 1.0), ("B", 1.0), ("C", 1.0)), None),
        ((("A", 0.85), ("B", 0.85)), None),
        ((("A", 1.0),), None),
        ((("A", 0.85),), "A"),
        ((("A", 0.9), ("B", 0.85)), "B"),
    ],
)
def test_of_corners_that_are_all_alike_or_full_none_is_the_weakest(
    scores: tuple[tuple[str, float], ...], weakest: str | None
) -> None:
    found = grades(graded(*scores))
    assert found.weakest == weakest
    assert (found.weakest_score is None) == (weakest is None)


def test_only_the_newest_fifty_grades_count_and_only_grades() -> None:
    old = graded(*[("A", 0.0)] * 10, *[("B", 0.9)] * 50)
    found = grades([*old, EventRow(99, "s", "C", "mistake", 0.0, "spin")])
    assert (found.weakest, found.recent, len(found.corners["A"])) == ("B", 50, 10)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.floats(0.0, 1.0)), max_size=80))
def test_a_history_says_nothing_impossible(scores: list[tuple[str, float]]) -> None:
    found = grades(graded(*scores))
    assert found.weakest_score is None or 0.0 <= found.weakest_score <= 1.0
    assert found.improvement is None or 0.0 < found.improvement <= 1.0
    assert sum(len(known) for known in found.corners.values()) == len(scores)


def test_every_concept_has_a_lesson_and_a_built_course_gives_it_an_address_and_words() -> None:
    built = parse_course(COURSE_CATALOG, COURSE_PASSAGES, "http://course/")

    assert all(Lessons().find(concept.id) for concept in CONCEPTS)
    assert built.find("exit_speed") == (
        "exit-speed",
        "Out of corners",
        "http://course/lessons/exits/",
    )
    assert built.find("exit-speed") == built.find("exit_speed")
    found = built.find("exit-speed")
    assert found is not None
    assert built.quote(found, "Turn 4: open the throttle earlier.") == (
        "Idea: the straight",
        "http://course/lessons/exits/#idea",
        QUOTED,
    )
    other = built.find(UNTAUGHT)
    assert other is not None
    assert other.url is None
    assert built.quote(other, "Turn in later.") is None


ODD_PASSAGES: Final = (
    "{}",
    "[]",
    "7",
    "[" * 9999,
    '{"lessonId": "gone", "url": "#a", "title": "", "text": "Of no lesson."}',
    '{"lessonId": "exit-speed", "url": "#a", "title": "", "text": null}',
    '{"lessonId": "exit-speed", "url": "#a", "title": "", "text": ["a"]}',
)


def test_lines_that_are_no_passages_cost_neither_the_others_nor_the_lessons() -> None:
    odd = "\n".join(ODD_PASSAGES)
    built = parse_course(COURSE_CATALOG, f"{odd}\n{COURSE_PASSAGES}\n{odd}", "http://course/")

    found = built.find("exit-speed")
    assert found is not None
    quoted = built.quote(found, "Turn 4: open the throttle earlier.")
    assert quoted is not None
    assert quoted.text == QUOTED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"concepts": 3, "phases": []}', "[" * 9999])
def test_what_is_no_catalog_is_told_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_course(text)


async def test_a_course_behind_an_address_is_read_whole(tmp_path: Path) -> None:
    long = {"lessonId": "exit-speed", "url": "#long", "title": "", "text": "Far. " * 100_000}
    (write_course(tmp_path) / PASSAGES).write_text(
        f"{json.dumps(long)}\n{COURSE_PASSAGES}", "utf-8"
    )
    with served(tmp_path) as host:
        lessons = await lessons_of(host.url)
    lesson = lessons.find("exit_speed")
    assert lesson is not None
    quoted = lessons.quote(lesson, "Open the throttle earlier.")
    assert quoted is not None
    assert quoted.url == f"{host.url}lessons/exits/#idea"


async def test_a_course_that_is_not_there_leaves_lessons_without_addresses() -> None:
    for course in (str(ROOT / "nowhere"), "http://127.0.0.1:9"):
        lesson = (await lessons_of(course)).find("exit_speed")
        assert lesson is not None
        assert lesson.url is None


def test_a_grade_is_read_out_of_talk_and_kept_in_its_bounds() -> None:
    assert read_grade('Well: {"score": 61.6, "why": " even "} ok') == (62, "even")
    assert read_grade('{"score": -5, "why": "x"}').score == 0
    for reply in ("", "7", '{"score": true, "why": "x"}', '{"score": NaN, "why": "x"}', "{" * 9999):
        with pytest.raises(BadGrade):
            read_grade(reply)


def test_a_grader_is_told_no_name_and_no_place(scene: Scene) -> None:
    assert scene.outing is not None
    told = json.dumps(add_up(scene.outing.drive))
    for secret in ("Turn", "Mia", "Larkfell", '"lat"', "Gannet"):
        assert secret not in told
