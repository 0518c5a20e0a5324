"""Debriefs without a model: whole, true, in order, and at peace with themselves."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.reference import ReferenceLap, References, Target
from runtime.bridge.coach.warm.debrief import UNPLACED, debrief
from runtime.bridge.coach.warm.findings import findings
from runtime.bridge.coach.warm.lessons import Lessons
from runtime.bridge.coach.warm.pedagogy import ADVICE, pedagogy
from runtime.bridge.coach.warm.problems import paragraph
from runtime.bridge.coach.warm.review import Review, fragments
from runtime.bridge.coach.warm.room import Room
from runtime.bridge.coach.warm.told import corners_in, is_praise
from runtime.bridge.session.recording import Frames
from tests.bridge.coach.warm.modelkit import LARKFELL
from tests.bridge.coach.warm.reviewkit import names_of, review
from tests.bridge.session.sessions import kept
from tests.bridge.simulator.drivekit import TRACKS, flushed, rows, vesper
from tools.drive import drive

NUMBER = re.compile(r"(?<![\w.,:])\d+(?:,\d{3})*(?:\.\d+)?(?![\w:])")
CLOCK = re.compile(r"\d+:\d\d\.\d+")


@cache
def simulated(seconds: float, laps: int, track: str = "larkfell") -> Review:
    """Laps of the simulator, each as long as the other."""
    schedule = vesper(TRACKS[track], seconds)
    frames = rows(flushed(schedule.between(0.0, schedule.drive.duration(laps) + 1.0)))
    return review(track, frames=frames)


def _half() -> Frames:
    whole = drive(LARKFELL, 1, hz=10.0).frames
    return kept(whole, np.arange(len(whole)) < 600)


def _blind() -> Frames:
    """Laps of a logger that knows no pedals."""
    whole = drive(LARKFELL, 3, hz=10.0, seed=4, skill=0.7).frames
    nothing = np.full(len(whole), np.nan)
    return Frames({**whole.columns, "brake_bar": nothing, "throttle_pct": nothing})


def _drifting() -> Frames:
    """One lap that is never at a steady speed, and without a light throttle."""
    columns = drive(LARKFELL, 1, hz=10.0, seed=3).frames.columns
    t, throttle = columns["timestamp"], columns["throttle_pct"]
    speed = columns["speed_ms"] * (1.0 + 0.15 * np.sin(2.0 * (t - t[0])))
    pedal = np.where(throttle < 10.0, 0.0, throttle)
    return Frames({**columns, "speed_ms": speed, "throttle_pct": pedal})


SESSIONS: dict[str, Callable[[], Review]] = {
    "usual": review,
    "wild": lambda: review(laps=8, seed=7, skill=0.6),
    "even": lambda: review("tarn-oval", 3, 8, 0.99),
    "one lap": lambda: review(laps=1, seed=3),
    "two laps": lambda: review(laps=2, seed=4, skill=0.7),
    "better than ever": lambda: review(seed=9, before=130.0),
    "not better": lambda: review(seed=9, before=60.0),
    "no track file": lambda: review(seed=10, skill=0.7, bare=True),
    "circle": lambda: review("roundel-pad", 5, 5),
    "no lap": lambda: review(frames=_half(), partial=True),
    "no pedals": lambda: review(frames=_blind()),
    "drifting": lambda: review(frames=_drifting()),
    "simulated, one lap": lambda: simulated(105.0, 1),
    "simulated, two laps": lambda: simulated(140.0, 2),
    "simulated oval": lambda: simulated(45.0, 3, "tarn-oval"),
}


@pytest.fixture(params=sorted(SESSIONS))
def told(request: pytest.FixtureRequest) -> Review:
    return session(request.param)


@cache
def session(name: str) -> Review:
    """One of the sessions, looked at once."""
    return SESSIONS[name]()


def test_praise_comes_first_then_two_problems_at_most_one_focus_and_a_lesson(told: Review) -> None:
    story = debrief(told)
    assert is_praise(story.opening) or story.opening.startswith(("A new best", "A good", "Good"))
    assert len(story.problems) == len(story.corners) <= 2
    assert all(NUMBER.search(problem) for problem in story.problems)
    assert story.text.count("One thing for the next run:") == 1
    assert story.text.count("To read before you go out again:") == 1
    assert 1 <= len(story.items) <= 3
    assert story.text.startswith(story.opening)
    assert not re.search(r"None|nan|\{\}|\[emotion", story.text, re.IGNORECASE)


def test_every_number_without_a_model_stands_in_its_fragments(told: Review) -> None:
    story, given = debrief(told), fragments(told)
    known = numbers_in(json.loads(json.dumps(given._asdict())))
    for part in (story.opening, *story.problems, story.focus):
        bare = CLOCK.sub(" ", re.sub(r"\b(?:Turn |C|lap |Lap )\d+|\bS\d\b", " ", part))
        for found in NUMBER.findall(bare):
            value = float(found.replace(",", ""))
            half = 0.5 * 10.0 ** -len(found.partition(".")[2]) + 0.011
            assert any(abs(abs(one) - value) <= half for one in known), (found, part)


def numbers_in(value: object) -> list[float]:
    """Every number of JSON, those inside of sentences too; shares from 0 to 1 as percent too."""
    if isinstance(value, dict):
        return [one for inner in value.values() for one in numbers_in(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in numbers_in(inner)]
    if isinstance(value, str):
        return [float(found.replace(",", "")) for found in NUMBER.findall(value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [float(value), 100.0 * value]
    return []


def test_a_corner_that_is_praised_is_no_problem(told: Review) -> None:
    story, names = debrief(told), names_of(told)
    praised = corners_in(story.opening, names)
    blamed = set(story.corners) | {one.corner for one in told.found} | {told.next_focus}
    assert not praised & blamed


def test_each_corner_is_a_problem_once_and_the_first_one_is_the_focus(told: Review) -> None:
    story = debrief(told)
    corners = [one.corner for one in told.found]
    assert len(set(corners)) == len(corners)
    if told.found:
        assert story.focus_corner == corners[0]
        assert f"at {corners[0]}," in story.focus
        assert story.items[0].startswith(corners[0])
        assert told.lesson.title == told.taught[0].lesson.title
        assert told.next_focus is None or told.next_focus == corners[0] or told.partial
    assert told.lesson.title in story.reading


def test_a_paragraph_has_one_basis_and_each_fault_once(told: Review) -> None:
    story = debrief(told)
    for problem in story.problems:
        assert not ("time to win" in problem and "slower" in problem)
    for one in told.found[:2]:
        families = [ADVICE[cause.cause].item for cause in one.causes]
        assert len(set(families)) == len(families) <= 2


@pytest.mark.parametrize("name", ["simulated, one lap", "simulated, two laps", "one lap"])
def test_laps_that_are_all_alike_show_what_is_there_to_win(name: str) -> None:
    found = session(name)
    story = debrief(found)
    assert len(story.problems) == 2
    assert all(one.room is not None for one in found.found[:2])
    assert "slower" not in story.text
    assert "lost" not in story.text
    assert "instead of" in story.focus


def test_what_is_there_to_win_is_what_the_pass_shows() -> None:
    found = session("drifting")
    one = next(one for one in found.found if one.cause == "coast_in_corner")
    found = found._replace(found=(one,))
    assert one.grade is not None
    own = one.grade.own
    assert own is not None
    assert own.coast_seconds is not None
    problem = debrief(found).problems[0]
    share = 100.0 * own.coast_seconds / own.corner_time_s
    seconds = f"the car coasts for {own.coast_seconds:.1f} s (brake off, throttle under 5 %)"
    assert f"{seconds}, {share:.0f} % of the corner" in problem
    goal = f"{own.coast_seconds / 2:.1f} s instead of {own.coast_seconds:.1f} s"
    assert goal in debrief(found).focus


def test_a_slow_driver_is_shown_the_speed_of_a_good_lap_but_not_where_it_is_dangerous() -> None:
    found = simulated(140.0, 2)
    slow = [one for one in found.found if one.cause == "slow_apex"]
    assert slow
    for one in slow:
        corner = found.corner(one.corner)
        assert corner is not None
        assert corner.speeds is not None
        assert one.room is not None
        assert one.room.beside == pytest.approx(3.6 * corner.speeds.apex)
        assert one.room.now < one.room.aim <= one.room.now + 5.0
        assert one.corner not in ("Turn 2", "Turn 7")


def test_a_loss_is_told_by_what_the_slower_pass_did_and_the_best_one_did_not() -> None:
    found = review(seed=7, laps=8, skill=0.6)
    for one in found.found:
        if not one.causes:
            continue
        assert one.grade is not None
        assert one.grade.own is not None
        assert one.grade.target is not None
        for cause in one.causes:
            if cause.cause == "coast_in_corner":
                more = (one.grade.own.coast_seconds or 0) - (one.grade.target.coast_seconds or 0)
                assert more >= 0.15


def test_a_corner_that_was_passed_twice_in_no_complete_lap_is_told_without_laps() -> None:
    found = review(laps=2, seed=4, skill=0.7)
    one = next(one for one in found.found if one.causes)
    assert one.grade is not None
    assert one.grade.own is not None
    same = one._replace(grade=one.grade._replace(own=one.grade.own._replace(lap=1)))
    assert same.grade is not None
    assert isinstance(same.grade.target, Pass)
    target = same.grade.target._replace(lap=1)
    same = same._replace(grade=same.grade._replace(target=target))
    assert "lap" not in paragraph(same, None)
    assert "slower than your best one" in paragraph(same, None)


def test_a_better_lap_than_ever_is_said_to_be_one() -> None:
    before = review(seed=9, before=130.0)
    assert debrief(before).opening.startswith("A new best for you here")
    assert debrief(before).emotion == "proud"
    assert "new best" not in debrief(review(seed=9, before=60.0)).opening


def test_the_focus_names_the_corner_that_costs_most_and_a_number_to_reach() -> None:
    found = review(seed=7, laps=8, skill=0.6)
    story = debrief(found)
    assert found.next_focus is not None
    assert found.next_focus in story.focus
    assert found.next_focus in story.items[0]
    assert "later" not in story.focus  # a danger zone lies there
    assert "brake at the same place on every lap" in story.focus


@pytest.mark.parametrize("name", ["usual", "wild", "two laps", "no pedals", "better than ever"])
def test_the_first_problem_is_the_corner_that_costs_most_by_the_middle_of_the_times(
    name: str,
) -> None:
    found = session(name)
    assert found.card is not None
    lost = {one.corner: one.delta_time_s or 0.0 for one in found.card.corners}
    assert max(lost.values()) > 0.05
    assert found.next_focus == debrief(found).corners[0] == max(lost, key=lost.__getitem__)
    for one in found.card.corners:
        assert one.own is not None
        assert isinstance(one.target, Pass)
        assert one.own.corner_time_s >= one.target.corner_time_s


def test_a_loss_that_nothing_explains_is_told_all_the_same() -> None:
    found = session("usual")
    assert found.card is not None
    corners = tuple(one._replace(causes=()) for one in found.card.corners)
    told = findings(found.card._replace(corners=corners), ())
    told = tuple(one for one in told if one.grade is not None and not one.grade.danger)
    first, said = told[0], paragraph(told[0], None)
    assert first.cause == "uneven"
    assert f"{first.lost_s:.2f} s slower" in said
    assert said.endswith(").")
    story = debrief(found._replace(found=told[:1], taught=pedagogy(told[:1], Lessons())))
    assert "the same marker for braking" in story.focus
    assert f"within {first.lost_s / 2:.2f} s" in story.focus


def test_what_the_quickest_pass_shows_too_is_no_fault() -> None:
    found = review(seed=7, laps=6, skill=0.78)
    for one in found.found:
        if one.cause in ("coast_in_corner", "rolling") and one.room is not None:
            assert one.grade is not None
            assert isinstance(one.grade.target, Pass)
            assert (one.grade.target.coast_seconds or 0.0) < one.room.now
    assert {one.cause for one in simulated(105.0, 2).found}.isdisjoint({"coast_in_corner"})


def test_a_light_throttle_at_a_steady_speed_is_no_fault() -> None:
    pedals = {"coast_in_corner", "rolling", "nothing_time"}
    for name in ("one lap", "simulated, one lap"):  # there the same pedals hold the speed
        found = session(name)
        assert found.card is not None
        assert all(one.own and one.own.coast_seconds is not None for one in found.card.corners)
        assert {one.cause for one in found.found}.isdisjoint(pedals)
    assert "coast_in_corner" in {one.cause for one in session("drifting").found}


def test_a_note_on_a_corner_is_told_only_where_it_fits_the_advice() -> None:
    uphill = "brake later and lighter"
    told = [debrief(session(name)).text for name in SESSIONS]
    assert not any(uphill in text and "keep a little brake" in text for text in told)
    assert any("The notes on this corner say" in text for text in told)


def test_a_recording_without_driving_says_so_and_shows_the_next_step() -> None:
    whole = drive(LARKFELL, 1, hz=10.0).frames
    found = review(frames=kept(whole, np.arange(len(whole)) < 8), partial=True)
    story = debrief(found)
    assert "too little of it to judge" in story.opening
    assert story.problems == ()
    assert "drive two whole laps" in story.focus
    assert story.reading


def test_laps_of_which_no_corner_is_known_are_told_as_laps() -> None:
    whole = drive(LARKFELL, 3, hz=10.0, seed=4, skill=0.7).frames
    nowhere = np.full(len(whole), np.nan)
    found = review(frames=Frames({**whole.columns, "lat": nowhere, "lon": nowhere}), bare=True)
    spread = fragments(found).telemetry["lap_time_spread"]
    assert isinstance(spread, float)
    assert f"{spread:.2f} s" in debrief(found).focus
    rolling = Room("", "coast_in_corner", 0, 0.2, 20.0, 15.0)
    told = found._replace(found=findings(None, (), rolling))
    story = debrief(told)
    (problem,) = story.problems
    assert problem.startswith("**The whole lap** has time to win: 20 % of the time the car coasts")
    assert problem.endswith(" (brake off, throttle under 5 %).")
    assert "all around the lap" in story.focus


def test_where_the_car_got_away_nobody_is_asked_for_more_speed() -> None:
    found = review(seed=7, laps=8, skill=0.6)
    first, *others = found.found
    scare = replace(
        found.moments[0],
        title="Spin",
        category="incident",
        corner=first.corner,
        lap=3,
        narrative_seed="The course turned by 170 degrees while the speed fell.",
    )
    story = debrief(found._replace(moments=(scare, *found.moments)))
    assert story.emotion == "concerned"
    assert story.problems[0].startswith("First the moment on lap 3")
    assert len(story.problems) == 2
    assert story.focus_corner in {one.corner for one in others}
    assert not re.search(r"later|faster|more speed", story.focus)
    assert first.corner not in story.focus
    assert all(first.corner not in item for item in story.items)
    alone = debrief(found._replace(moments=(scare,), found=(first,)))
    assert f"take {first.corner} a step slower" in alone.focus


def test_that_no_position_was_recorded_is_said_once() -> None:
    found = review()
    assert UNPLACED not in debrief(found).text
    assert debrief(found._replace(placed=False)).text.count(UNPLACED) == 1
    assert UNPLACED not in debrief(found._replace(placed=False, corners=())).text


def test_a_reference_is_told_as_one() -> None:
    corners = {
        f"Turn {number}": Target(1.0, exit_speed_kmh=200.0, apex_speed_kmh=150.0)
        for number in (1, 3)
    }
    lap = ReferenceLap(track="larkfell", lap_time_s=100.0, corners=corners)
    story = debrief(review(references=References({"larkfell": lap})))
    assert "slower than the reference" in story.problems[0]
    assert "your best pass" in story.problems[0]
