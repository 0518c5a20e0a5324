"""Every tool on sessions whose answers are known in closed form."""

from typing import Final

import numpy as np
import pytest

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.analysis.reference import NONE
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.agents import corner_tools, driver_tools, lap_tools
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.session.laps import detect
from runtime.bridge.storage.coaching import TraceRow
from tests.bridge.analysis.cornerkit import between, driven, paced_frames, ring_frames, ring_track
from tests.bridge.analysis.lapkit import LENGTH, TRACKS, lapped, session

LAPS: Final = ((30.0,) * 3, (31.0, 30.0, 30.0), (30.0, 29.0, 30.0), (30.0, 30.0, 32.0))
"""90, 91, 89 and 92 s over 3000 m."""
LARKFELL: Final = TRACKS["larkfell"]


def told(found: Found) -> dict[str, float | int | str]:
    """Facts by label."""
    return {one.label: one.value for one in found.facts}


def ringed(**curves: object) -> Drive:
    """Three even laps of 40 s round the ring, with two corners."""
    return driven(ring_frames(3, **curves), ring_track())  # type: ignore[arg-type]


def test_facts_say_their_unit() -> None:
    assert Fact("a", 93.5, "lap").text == "1:33.500"
    assert Fact("a", 12.345, "bar").line == "a: 12.3 bar"
    assert Fact("a", 3).text == "3"
    assert Fact("a", "calm").text == "calm"


def test_the_overview_counts_laps_and_names_the_best() -> None:
    found = lap_tools.overview(lapped(LAPS, brake_bar=12.5))
    assert found.summary == "You drove 4 complete laps, the best in 1:29.000, lap 3."
    facts = told(found)
    assert facts["complete laps"] == 4
    assert facts["top speed"] == pytest.approx(1000 / 29 * 3.6)
    assert facts["highest brake pressure"] == 12.5
    assert "1:29.000" in found.evidence


def test_two_laps_are_told_apart_to_the_millisecond() -> None:
    drive = lapped(LAPS)
    slowest = lap_tools.lap_delta(drive)
    assert slowest.summary == "Lap 4 was 3.000 s slower than lap 3: 1:32.000 to 1:29.000."
    named = lap_tools.lap_delta(drive, (2, 1))
    assert named.summary == "Lap 2 was 1.000 s slower than lap 1: 1:31.000 to 1:30.000."
    assert told(named)["lap 2 less lap 1"] == pytest.approx(1.0)
    one = lap_tools.lap_delta(drive, (3,))
    assert one.summary.startswith("Lap 4 was 3.000 s slower than lap 3")
    missing = lap_tools.lap_delta(drive, (9,))
    assert missing.summary == "There is no complete lap 9; the session has laps 1 to 4."
    assert missing.empty


def test_the_pace_of_a_stint_is_the_slope_of_its_laps() -> None:
    falling = lap_tools.race_pace(lapped([(30.0 + 0.1 * i,) * 3 for i in range(6)]))
    assert falling.summary == "Over 6 comparable laps your times get slower by 0.30 s a lap."
    assert told(falling)["change a lap"] == pytest.approx(0.3)
    even = lap_tools.race_pace(lapped([(30.0,) * 3] * 5))
    assert even.summary == "Over 5 comparable laps your times hold steady."
    few = lap_tools.race_pace(lapped([(30.0,) * 3] * 2))
    assert few.empty
    assert few.summary == "A pace needs 4 comparable laps; this session has 2."


def test_a_goal_lies_between_the_best_lap_and_the_best_sectors() -> None:
    laps = ((30.0, 30.0, 30.0), (29.0, 31.0, 31.0))
    found = lap_tools.goal_targets(lapped(laps), 89.0)
    facts = told(found)
    assert facts["best lap"] == 90.0
    assert facts["lap of the best sectors"] == pytest.approx(89.0)
    assert facts["next goal"] == pytest.approx(89.5)
    assert found.summary == "1:29.000 is 1.000 s away, and your best sectors reach it."
    assert found.details[0] == "Aim for 1:29.500 next; your best is 1:30.000."
    assert "(lap 2)" in " ".join(found.details)
    done = lap_tools.goal_targets(lapped(laps), 91.0)
    assert "1:31.000 is done: your best is 1.000 s quicker." in done.summary
    far = lap_tools.goal_targets(lapped(laps), 60.0)
    assert "1:00.000 is 30.000 s away, more than your best sectors give." in far.summary


def test_even_laps_are_repeatable_and_others_are_not() -> None:
    even = corner_tools.corner_variance(ringed())
    assert "lie within 0.00 s of each other" in even.summary
    slow_once = paced_frames(lambda way: np.where((way > 1200) & (way < 1300), 20.0, 25.0), laps=3)
    uneven = corner_tools.corner_variance(driven(slow_once, ring_track()))
    assert "lie within 1.00 s of each other" in uneven.summary
    assert uneven.details[0].startswith("Turn 1 varies most")
    assert told(uneven)["Turn 1, standard deviation"] == pytest.approx(1.0 / 3**0.5, abs=0.05)


def test_a_corner_is_told_by_its_best_and_its_middle_pass() -> None:
    pace = paced_frames(lambda way: np.where((way > 1200) & (way < 1300), 20.0, 25.0), laps=3)
    found = corner_tools.corner_history(driven(pace, ring_track()), NONE, "Turn 1")
    assert found.summary.startswith("Turn 1 took 4.00 s at best")
    assert found.summary == "Turn 1 took 4.00 s at best, on lap 1; your usual pass takes no longer."
    assert found.details == ("Your usual pass earns an A: leave it as it is.",)
    assert told(found)["Turn 1, best pass, time"] == pytest.approx(4.0, abs=0.01)
    unknown = corner_tools.corner_history(driven(pace, ring_track()), NONE, "Turn 9")
    assert unknown.summary == "There is no such corner here; known are Turn 1, Turn 2."
    assert unknown.empty


def test_the_corner_that_costs_most_is_chosen_where_none_is_named() -> None:
    pace = paced_frames(
        lambda way: np.where((way > 1000) & (way % 1000 > 600) & (way % 1000 < 700), 20.0, 25.0),
        laps=3,
    )
    drive = driven(pace, ring_track())
    found = corner_tools.corner_history(drive, NONE, None)
    compared = corner_tools.reference_comparison(drive, NONE)
    assert found.summary.startswith("Turn 2 ")
    assert "Without a reference lap" in compared.summary


def test_coasting_is_what_a_small_model_is_told_of() -> None:
    def throttle(way: np.ndarray) -> np.ndarray:
        late = (way > 1000) & (between(way, 200, 300) > 0)
        return np.where(late, 0.0, 80.0)

    pace = paced_frames(
        lambda way: np.where((way > 1200) & (way % 1000 > 200) & (way % 1000 < 300), 20.0, 25.0),
        laps=3,
        throttle_pct=throttle,
        brake_bar=0.0,
    )
    found = corner_tools.corner_history(driven(pace, ring_track()), NONE, "Turn 1")
    assert found.line.startswith("Turn 1: coast ")
    assert found.line.endswith(" s")


def test_a_calm_session_has_no_incidents_and_a_stop_is_one() -> None:
    calm = lap_tools.incident_moments(ringed())
    assert calm.summary.startswith("Nothing in the data looks like an incident")
    assert calm.facts == ()
    hard = lap_tools.incident_moments(
        ringed(combo_g=lambda way: np.where((way > 1500) & (way < 1600), 2.4, 0.5))
    )
    assert hard.summary == "The data show 1 moment worth a look."
    assert "lap 2" in hard.details[0]
    assert "90 km/h" in hard.details[0]


def test_highlights_begin_with_something_good() -> None:
    found = lap_tools.session_highlights(lapped(LAPS))
    assert found.summary.startswith("Good: ")


def test_the_hands_show_where_a_car_is_not_settled() -> None:
    def saw(way: np.ndarray) -> np.ndarray:
        inside = between(way, 600, 700) > 0
        return np.where(inside, 8.0 * np.sign(np.sin(way / 4.0)), 5.0)

    found = driver_tools.setup_indicators(ringed(steering_deg=saw))
    assert found.summary.startswith("The car is least settled in Turn 2")
    calm = driver_tools.setup_indicators(ringed(steering_deg=5.0))
    assert calm.summary.startswith("The hands correct nowhere")
    blind = driver_tools.setup_indicators(ringed())
    assert blind.summary == "Without the steering angle the data show nothing of the car's balance."


def driven_sessions(*times: float) -> list[DriverSession]:
    made = []
    for at, seconds in enumerate(times):
        frames = session([(seconds / 3,) * 3] * 2)
        made.append(DriverSession(f"s{at}", at, summarise(detect(frames, track_length_m=LENGTH))))
    return made


def test_progress_is_the_way_from_the_first_best_lap_to_the_latest() -> None:
    found = driver_tools.progress_report("Mia", driven_sessions(93.0, 90.0, 91.5))
    assert (
        found.summary == "Over 3 sessions your latest best lap is 1.500 s faster than in the first."
    )
    assert found.details[:2] == (
        "It went from 1:33.000 to 1:31.500.",
        "Your best ever is 1:30.000.",
    )
    slower = driver_tools.progress_report("Mia", driven_sessions(90.0, 93.0))
    assert "3.000 s slower than in the first" in slower.summary
    level = driver_tools.progress_report("Mia", driven_sessions(90.0, 90.0))
    assert "level with the first" in level.summary
    one = driver_tools.progress_report("Mia", driven_sessions(90.0))
    assert one.summary == "There is one session so far, with a best lap of 1:30.000."
    assert driver_tools.progress_report("", []).empty


def test_the_surface_is_that_of_the_hour() -> None:
    fog = driver_tools.weather_context(LARKFELL, 7)
    assert fog.summary == "At this hour the surface at Larkfell Circuit is usually: cool damp."
    assert "Sea fog" in fog.details[0]
    assert told(fog)["local hour"] == 7
    assert "optimal" in driver_tools.weather_context(None, 13).summary


@pytest.mark.parametrize("count", [1, 3, 4, 8, 15, 60, None])
def test_the_parts_of_a_plan_are_all_of_its_laps(count: int | None) -> None:
    found = driver_tools.session_plan_context(count, ["Turn 3"])
    facts = told(found)
    assert facts["laps to drive"] == (count or 12)
    parts = [value for label, value in facts.items() if label != "laps to drive"]
    assert sum(int(part) for part in parts) in (0, count or 12)
    assert all(int(part) > 0 for part in parts)


def test_a_brief_warns_of_the_worst_places_first() -> None:
    found = driver_tools.day_brief(LARKFELL, ["Turn 10"])
    assert found.summary == "Work on Turn 10 today: most is to be won there."
    assert "locked wheels end in the gravel" in found.details[0]
    assert "no graded lap yet" in driver_tools.day_brief(None).summary


def test_phrases_for_the_ear_come_in_the_order_of_the_lap() -> None:
    found = driver_tools.audio_script_context(LARKFELL)
    assert found.details[0].startswith("Gannet: right 3. ")
    assert len(found.details) == 8
    assert all(len(line) < 100 for line in found.details)
    one = driver_tools.audio_script_context(LARKFELL, "Turn 4")
    assert one.details == ("Storm Hook: right 1. The hardest stop of the lap, downhill.",)
    assert driver_tools.audio_script_context(None).empty


def test_the_slowest_of_those_who_answer_is_named() -> None:
    def step(name: str, ms: float, *, success: bool = True) -> TraceRow:
        return TraceRow("t", "", name, "agent", "corner", 1, ms, success)

    rows = [
        step("A", 100.0),
        step("A", 300.0),
        step("B", 2000.0),
        step("B", 4000.0, success=False),
    ]
    found = driver_tools.agent_telemetry(rows)
    assert found.summary == "B is the slowest: 3.00 s in the middle of 2 answers."
    assert found.details == ("A is the quickest with 200 ms.", "Over 4 answers 1 step failed.")
    assert driver_tools.agent_telemetry([]).empty
