"""What a driver's history, the course and a grader's reply come to."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.coach.warm.desk import lessons_of
from runtime.bridge.coach.warm.grades import grades
from runtime.bridge.coach.warm.insights import Driving, Idle, Piece, driving, insights, of_burst
from runtime.bridge.coach.warm.lessons import Lessons, parse_catalog
from runtime.bridge.coach.warm.pedagogy import ADVICE, tip_of
from runtime.bridge.coach.warm.scoring import aggregates, verdict
from runtime.bridge.coach.warm.wire import BadReply
from runtime.bridge.cues.concepts import CONCEPTS
from runtime.bridge.cues.model import Burst
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.series import series
from runtime.bridge.storage.coaching import EventRow
from tests.bridge.bridgekit import ROOT
from tests.bridge.coach.warm.modelkit import LARKFELL
from tests.bridge.coach.warm.reviewkit import review
from tools.drive import USUAL, drive


def graded(*scores: tuple[str, float]) -> list[EventRow]:
    """Grades of corners in the order in which they were given."""
    return [
        EventRow(at, f"s{at}", corner, "grade", score, "B")
        for at, (corner, score) in enumerate(scores, start=1)
    ]


def test_the_weakest_corner_is_that_of_the_last_five_grades() -> None:
    found = grades(graded(*[("A", 0.1)] * 3, *[("A", 0.9)] * 5, *[("B", 0.8)] * 2))
    assert found.weakest == "B"
    assert found.weakest_score == pytest.approx(0.8)
    assert found.improved == "A"
    assert found.recent == 10


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
    other = EventRow(99, "s", "C", "mistake", 0.0, "spin")
    found = grades([*old, other])
    assert found.weakest == "B"
    assert found.recent == 50
    assert len(found.corners["A"]) == 10


def test_a_corner_that_got_worse_is_no_improvement() -> None:
    assert grades(graded(*[("A", 0.9)] * 3, *[("A", 0.8)] * 3)).improved is None
    assert grades([]).weakest is None
    assert grades([]).archetype == "unknown"


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.floats(0.0, 1.0)), max_size=80))
def test_a_history_says_nothing_impossible(scores: list[tuple[str, float]]) -> None:
    found = grades(graded(*scores))
    assert found.weakest_score is None or 0.0 <= found.weakest_score <= 1.0
    assert found.improvement is None or 0.0 < found.improvement <= 1.0
    assert sum(len(known) for known in found.corners.values()) == len(scores)


def test_every_concept_and_every_cause_has_a_lesson() -> None:
    lessons = Lessons()
    assert all(lessons.of(concept.id).title for concept in CONCEPTS)
    assert all(lessons.of(advice.concept).url is None for advice in ADVICE.values())


def test_a_built_course_gives_the_lessons_their_addresses() -> None:
    lesson = {"id": "exits", "title": "Out of corners", "url": "lessons/exits/"}
    catalog = {
        "concepts": [{"id": "exit_speed", "lessonIds": ["gone", "exits"]}],
        "phases": [{"id": "p", "lessons": [lesson]}],
    }
    found = parse_catalog(json.dumps(catalog), "http://course/")
    assert found.of("exit_speed") == ("exits", "Out of corners", "http://course/lessons/exits/")
    assert found.of("late_apex").url is None


def test_a_course_is_asked_for_words_and_terms() -> None:
    def one(name: str, title: str, status: str, *tags: str) -> dict[str, object]:
        return {
            "id": name,
            "title": title,
            "url": f"lessons/{name}/",
            "status": status,
            "summary": f"About {name}.",
            "tags": tags,
        }

    lessons = [
        one("tyre-window", "Inside the tyre window", "planned", "tyres", "ideal-lap"),
        one("circle", "Drive on the friction circle", "authored", "grip"),
        one("sectors", "Sectors", "authored", "ideal-lap"),
    ]
    said = "Trail it. It is chosen above 10 bar. And more."
    catalog = {
        "concepts": [{"id": "trail_brake", "description": said, "lessonIds": ["circle"]}],
        "phases": [{"id": "p", "title": "Phase", "url": "p/", "lessons": lessons}],
    }
    found = parse_catalog(json.dumps(catalog), "http://course/")

    assert found.said("trail_brake") == "Trail it."
    assert found.said("late_apex") == Lessons().said("late_apex")
    circle = found.named("circle")
    assert circle is not None
    assert circle.lesson.url == "http://course/lessons/circle/"
    assert (circle.summary, circle.tags, circle.authored) == ("About circle.", ("grip",), True)
    assert found.named("p") is None, "a phase is no lesson"
    asked = {
        "friction circles": "circle",
        "Grip": "circle",
        "ideal laps": "sectors",
        "tyre window": "tyre-window",
    }
    for term, name in asked.items():
        entry = found.about(term)
        assert entry is not None, term
        assert entry.lesson.id == name, term
    for term in ("", "the", "graining", "circle of friends"):
        assert found.about(term) is None, term


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"concepts": 3, "phases": []}', "[" * 9999])
def test_what_is_no_catalog_is_told_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_catalog(text)


async def test_a_course_that_is_not_there_leaves_lessons_without_addresses() -> None:
    for course in (str(ROOT / "nowhere"), "http://127.0.0.1:9"):
        assert (await lessons_of(course)).of("exit_speed").url is None


def test_a_grade_is_read_out_of_talk_and_kept_in_its_bounds() -> None:
    assert verdict('Well: {"score": 61.6, "why": " even "} ok') == (62, "even")
    assert verdict('{"score": -5, "why": "x"}').score == 0
    for reply in ("", "7", '{"score": true, "why": "x"}', '{"score": NaN, "why": "x"}', "{" * 9999):
        with pytest.raises(BadReply):
            verdict(reply)


def test_a_grader_is_told_no_name_and_no_place() -> None:
    told = json.dumps(aggregates(review()))
    for secret in ("Turn", "Mia", "Larkfell", '"lat"', "Gannet"):
        assert secret not in told


def test_habits_are_found_where_they_are() -> None:
    rolling = Piece(("T1",), True, 100, 40, 0, 60.0, 1.2)
    other = Piece(("T2",), True, 100, 40, 0, 60.0, 1.2)
    idle = tuple(Idle("T1", 0.5) for _ in range(3))
    lazy = Driving((rolling, other), idle, 0.5, 90.0, 3, 1000, 400)
    found = insights([lazy], [])
    assert len(found) == 3
    assert [one.effort for one in found] == sorted(one.effort for one in found)
    assert {"coast_excess", "grip_headroom", "nothing_time"} == {one.id for one in found}
    quick = Piece(("T1",), True, 100, 0, 5, 120.0, 2.0)
    assert insights([Driving((quick,), (), 0.1, 80.0, 3, 1000, 10)], []) == ()
    assert insights([], []) == ()


def test_habits_advise_what_the_debrief_of_the_newest_session_does() -> None:
    slow = (Piece(("T2",), True, 100, 0, 5, 50.0, 2.0), Piece(("T4",), True, 100, 0, 5, 60.0, 2.0))
    newest = Driving(slow, (), 0.1, 80.0, 3, 1000, 10, "T4", ADVICE["early_brake"].tip)
    (found,) = insights([newest], [])
    assert found.id == "braking_late"
    assert found.corners == ("T4", "T2")
    assert f"Work on T4 first: {ADVICE['early_brake'].tip}." in found.detail
    (plain,) = insights([newest._replace(focus="", tip="")], [])
    assert plain.corners == ("T2", "T4")
    assert "sooner" not in f"{plain.detail} {found.detail}"


def test_a_session_tells_its_habits_with_the_corner_of_its_debrief() -> None:
    for seed, skill in ((7, 0.78), (3, 0.7)):
        found = drive(LARKFELL, 4, hz=10.0, seed=seed, skill=skill, noise=USUAL).frames
        laps = detect_laps(series(found), gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
        seen = driving(drive_of(laps, LARKFELL))
        told = review(frames=found)
        assert seen.focus == told.next_focus == told.found[0].corner
        assert seen.tip == tip_of(told.found[0])


def test_bursts_without_accelerations_say_nothing_of_grip() -> None:
    known = Burst(
        corners_visited=("T1", "T2"),
        in_corner=True,
        frame_count=10,
        max_combo_g=0.3,
        avg_speed_kmh=90.0,
        trail_brake_frames=1,
    )
    unknown = known._replace(max_combo_g=math.nan)
    assert insights([], [of_burst(unknown)] * 3) == ()
    (found,) = insights([], [of_burst(known), of_burst(unknown)])
    assert (found.id, found.metric_value) == ("grip_headroom", "0.30 g")


def test_straights_do_not_count_as_corners_with_grip_in_hand() -> None:
    corner = Piece(("T1",), True, 100, 0, 5, 90.0, 1.4)
    straight = Piece(("T1",), False, 100, 0, 0, 150.0, 0.3)
    drive = Driving((corner, corner._replace(corners=("T2",))), (), 0.1, 80.0, 3, 1000, 0)
    (alone,) = insights([drive], [])
    (beside,) = insights([drive], [straight] * 9)
    assert (alone.id, alone.metric_value) == ("grip_headroom", "1.40 g")
    assert (beside.metric_value, beside.gain_s) == (alone.metric_value, alone.gain_s)
