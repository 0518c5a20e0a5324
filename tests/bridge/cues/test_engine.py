"""The engine as a whole: what a burst is answered with, and what is said on a lap."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.cues.model import Burst, Cue, Level
from runtime.bridge.session.recording import WIDE, LiveFrame
from tests.bridge.cues.coachkit import NAN, corner, larkfell, small, straight, track
from tests.bridge.cues.coachkit import engine as engine_of
from tools.drive import USUAL, Drive, drive

LOADED = Burst(
    "s",
    7,
    avg_speed_kmh=90.0,
    max_combo_g=0.9,
    max_lateral_g=0.8,
    in_corner=True,
    avg_throttle_pct=40.0,
    frame_count=10,
    dist_to_next_corner_m=400.0,
)
"""Brake off in a loaded corner."""
FAST = Burst("s", 1, avg_speed_kmh=110.0, avg_throttle_pct=100.0, frame_count=10)


def test_a_note_has_the_word_before_a_tone_and_a_tone_before_a_rule() -> None:
    engine = engine_of(small())

    quiet = engine.analyze(FAST._replace(distance_m=700.0), 0.0)
    toned = engine.analyze(
        FAST._replace(distance_m=1000.0, coast_frames=1, avg_throttle_pct=0.0, avg_speed_kmh=55.0),
        0.1,
    )
    noted = engine.analyze(FAST._replace(distance_m=300.0), 9.0)

    assert (quiet.source, quiet.coach_source, quiet.pace_note) == ("bridge_rules", "", "")
    assert (toned.source, toned.coach_source) == ("rule", "rule")
    assert toned.coaching == "Coasting at 55 km/h: full throttle until the brake point."
    assert (noted.source, noted.coach_source) == ("rule", "rule")
    assert noted.coaching == noted.pace_note
    assert noted.coaching.startswith("Turn 1 in 200 m, medium left. Brake at the old Bollard.")


def test_a_tone_speaks_where_the_coach_keeps_quiet() -> None:
    engine = engine_of(small())
    engine.analyze(FAST._replace(distance_m=300.0), 0.0)

    found = engine.analyze(FAST._replace(distance_m=400.0), 1.0)

    assert (found.source, found.pace_note, found.coach_source) == ("sonic_model", "", "")
    assert found.coaching == "A corner is coming."
    assert found.concept == "brake_end_focus"
    assert [tone.layer for tone in found.cues] == ["brake_approach"]


def test_a_warning_waits_for_the_straight() -> None:
    engine = engine_of(None)

    first = engine.analyze(LOADED, 0.0)
    later = engine.analyze(FAST._replace(burst_id=8, dist_to_next_corner_m=400.0), 2.0)

    assert first.pace_note == ""
    assert later.concept == "early_brake_release"
    assert later.pace_note == ("Brake off too early, 0.8 g: keep a little pressure past turn-in.")
    assert later.cue is not None
    assert (later.cue.priority, later.cue.burst_id) == (2, 8)
    assert later.cue.emotion == "encouraging"


def test_over_the_grip_is_said_at_once_and_restarts_the_cooldown() -> None:
    engine = engine_of(small())
    engine.analyze(FAST._replace(distance_m=300.0), 0.0)

    slide = engine.analyze(LOADED._replace(max_combo_g=2.5), 0.5)
    early = engine.analyze(FAST._replace(distance_m=350.0), 3.4)
    late = engine.analyze(FAST._replace(distance_m=350.0), 3.5)

    assert slide.cue is not None
    assert (slide.cue.priority, slide.pace_note) == (3, slide.coaching)
    assert (early.pace_note != "", late.pace_note != "") == (False, True)


def test_a_held_word_is_said_with_the_distance_of_its_moment() -> None:
    slow = FAST._replace(avg_speed_kmh=40.0)
    engine = engine_of(track(corner(1, 500, 540, 600, bz=None)))
    engine.analyze(slow._replace(distance_m=260.0), 0.0)
    engine.analyze(slow._replace(distance_m=270.0), 1.0)

    later = engine.analyze(slow._replace(distance_m=244.0), 3.0)

    assert later.pace_note.startswith("Turn 1 in 260 m")


def test_advice_begins_earlier_where_the_car_is_fast() -> None:
    def note(speed_kmh: float) -> str:
        burst = FAST._replace(avg_speed_kmh=speed_kmh, distance_m=120.0)
        return engine_of(small()).analyze(burst, 0.0).pace_note

    assert note(100.0) == ""
    assert note(200.0).startswith("Turn 1 in 380 m")


def test_an_empty_burst_gets_a_general_word() -> None:
    for of in (None, small(), larkfell()):
        found = engine_of(of).analyze(Burst(), 0.0)

        assert "corner" not in found.coaching
        assert (found.pace_note, found.burst_id, found.cue) == ("", 0, None)


def test_a_corner_that_is_only_assumed_is_not_spoken_of() -> None:
    said = {
        far: engine_of(small()).analyze(FAST._replace(dist_to_next_corner_m=far), 0.0)
        for far in (None, 60.0)
    }

    assert [tone.layer for tone in said[None].cues] == ["brake_approach"]
    assert "orner" not in said[None].coaching
    assert "orner" in said[60.0].coaching


def test_a_burst_without_a_session_leaves_no_trace() -> None:
    engine = engine_of(small())

    notes = [engine.analyze(FAST._replace(session_id="", distance_m=300.0), 0.0) for _ in range(3)]

    assert all(note.pace_note for note in notes)
    assert len(engine) == 0


def test_sessions_do_not_hear_each_other() -> None:
    engine = engine_of(small())

    notes = [
        engine.analyze(FAST._replace(session_id=name, distance_m=300.0), 0.0).pace_note
        for name in ("a", "b", "a", "b")
    ]

    assert [note != "" for note in notes] == [True, True, False, False]


def test_only_so_many_sessions_are_remembered() -> None:
    engine = engine_of(None, sessions=3)

    for number in range(10):
        engine.feed(straight(0.0, 0.0, session=f"s{number}"))

    assert len(engine) == 3


def test_the_level_is_that_of_the_burst_else_of_the_session_else_the_usual_one() -> None:
    engine = engine_of(small(), level="beginner", level_of={"p": "pro"}.get)
    burst = FAST._replace(distance_m=300.0)

    found = [
        engine.analyze(burst._replace(session_id=name, driver_level=level), 0.0).pace_note
        for name, level in (("a", None), ("p", None), ("b", "intermediate"), ("c", "wizard"))
    ]

    assert [text.split()[0] for text in found] == ["Turn", "T1", "Turn", "Turn"]
    assert [len(text.split()) for text in found] == [8, 11, 15, 8]


def test_the_throttle_tone_needs_two_bursts_behind_the_apex() -> None:
    engine = engine_of(None)
    burst = LOADED._replace(past_apex=True, avg_throttle_pct=10.0, max_lateral_g=0.5)

    layers = [[tone.layer for tone in engine.analyze(burst, now).cues] for now in (0.0, 1.0)]

    assert layers == [["grip"], ["grip", "throttle"]]


@pytest.fixture(scope="module")
def driven() -> Drive:
    return drive(larkfell(), 3, seed=4, noise=USUAL)


def frames_of(driven: Drive) -> list[LiveFrame]:
    columns = {name: driven.frames.columns[name].tolist() for name in WIDE}
    return [
        LiveFrame("s", "can", {name: values[at] for name, values in columns.items()})
        for at in range(len(columns["timestamp"]))
    ]


def listen(engine: CueEngine, frames: list[LiveFrame]) -> list[tuple[float, Cue]]:
    return [(one.t, cue) for one in frames for cue in engine.feed(one)]


@pytest.mark.parametrize("level", ["beginner", "intermediate", "pro"])
def test_a_new_circuit_is_told_once_and_a_driver_without_faults_hears_little_after(
    driven: Drive, level: Level
) -> None:
    heard = listen(engine_of(larkfell(), level=level), frames_of(driven))

    assert {cue.priority for _, cue in heard} <= {1, 2}
    assert all(b - a >= 8.0 for (a, _), (b, _) in pairwise(heard))
    notes = [cue.corner for _, cue in heard if cue.priority == 1]
    assert len(notes) >= 6
    assert max(Counter(notes).values()) <= (2 if level == "beginner" else 1)
    last = driven.crossings_s[-2]
    assert len([t for t, _ in heard if t >= last]) <= 2


def test_a_driver_is_told_before_he_must_brake(driven: Drive) -> None:
    heard = listen(engine_of(larkfell()), frames_of(driven))

    told = [cue for _, cue in heard if "rake" in cue.text and cue.concept == "look_ahead"]
    assert {cue.corner for cue in told} >= {"Turn 1", "Turn 4"}
    for cue in told:
        about = larkfell().corner(cue.corner or "")
        assert about is not None
        assert about.brake is not None
        assert cue.distance_m is not None
        left = (about.entry.distance_m - cue.distance_m) % larkfell().length_m
        assert left > about.brake.before_entry_m + 50.0


def test_nothing_is_said_of_the_corner_behind() -> None:
    frames = [
        straight(at / 200, at / 4, g_lat=0.0 if at < 2000 or at > 2480 else -0.8)
        for at in range(1000, 3600, 5)
    ]
    braked = [
        one._replace(wide={**one.wide, "brake_bar": 50.0, "throttle_pct": 0.0})
        if 440 <= one.wide["distance_m"] < 495
        else one
        for one in frames
    ]

    heard = listen(engine_of(track(corner(1, 500, 560, 620, bz=60.0))), braked)

    assert [cue for t, cue in heard if 500.0 <= 50.0 * t % 2000.0 <= 1500.0] == []


def test_a_car_in_the_paddock_is_left_alone() -> None:
    slow = [straight(at / 10, 300.0 + at / 2, speed_ms=5.0) for at in range(300)]

    assert listen(engine_of(small()), slow) == []


def test_frames_without_positions_and_channels_are_taken_too() -> None:
    heard = listen(
        engine_of(larkfell()), [straight(at / 10, NAN, speed_ms=NAN) for at in range(50)]
    )

    assert heard == []


def reckoned(driven: Drive, *, source: str = "ingest", told: bool = False) -> list[LiveFrame]:
    """The same drive of a car without positions."""
    return [
        one._replace(
            source=source,  # type: ignore[arg-type]
            wide={**one.wide, "lat": NAN, "lon": NAN},
            device_distance_m=one.wide["distance_m"] if told else NAN,
        )
        for one in frames_of(driven)
    ]


@pytest.mark.parametrize("channels", [(), ("brake_bar", "throttle_pct")])
@pytest.mark.parametrize("source", ["ingest", "can", "replay"])
def test_nobody_speaks_of_corners_to_a_car_that_tells_only_its_speed(
    driven: Drive, source: str, channels: tuple[str, ...]
) -> None:
    sent = ("timestamp", "distance_m", "speed_ms", *channels)
    bare = [
        one._replace(wide={n: v if n in sent else NAN for n, v in one.wide.items()})
        for one in reckoned(driven, source=source)
    ]
    made: list[Burst] = []

    heard = listen(engine_of(larkfell(), heard=made.append), bare)

    assert {cue.concept for _, cue in heard} <= {"full_commitment"}
    for cue in (cue for _, cue in heard):
        assert (cue.corner, cue.distance_m) == (None, None)
        assert not re.search(r"orner|urn|apex|brake point", cue.text)
    assert all(one.distance_m is None for one in made)
    assert len(made) > 100


@pytest.mark.parametrize(
    ("source", "speaks"), [("ingest", True), ("can", False), ("replay", False)]
)
def test_a_distance_that_counts_on_is_believed_of_those_who_send_frames(
    driven: Drive, source: str, *, speaks: bool
) -> None:
    heard = listen(engine_of(larkfell()), reckoned(driven, source=source, told=True))

    assert any(cue.corner for _, cue in heard) is speaks


def test_a_bus_that_counts_the_metres_of_each_lap_is_believed_from_the_second_on() -> None:
    frames = [straight(at / 50, at % 2000.0)._replace(source="can") for at in range(1000, 6000, 2)]

    heard = listen(engine_of(small()), frames)

    first = next(t for t, cue in heard if cue.corner)
    assert first > 20.0  # it passed the line at 20 s


@pytest.mark.parametrize(
    ("glat", "spoken"), [(NAN, ["full_commitment"]), (0.1, ["full_commitment"]), (0.6, [])]
)
def test_coasting_is_told_without_any_place(glat: float, spoken: list[str]) -> None:
    coasting = [
        straight(at / 10, NAN, throttle_pct=0.0, g_lat=glat)._replace(device_distance_m=NAN)
        for at in range(100)
    ]

    heard = listen(engine_of(small()), coasting)

    assert [cue.concept for _, cue in heard] == spoken
    assert all(cue.text.endswith("be on the throttle or on the brake.") for _, cue in heard)


def test_a_car_that_is_elsewhere_may_coast() -> None:
    road = [
        straight(at / 10, NAN, throttle_pct=0.0, lat=45.0, lon=7.0)._replace(device_distance_m=NAN)
        for at in range(100)
    ]

    assert listen(engine_of(larkfell()), road) == []


def test_over_the_grip_is_said_without_any_place() -> None:
    slide = [
        straight(at / 10, NAN, combo_g=2.6)._replace(device_distance_m=NAN) for at in range(10)
    ]

    assert [cue.priority for _, cue in listen(engine_of(small()), slide)] == [3]


def test_what_is_posted_and_what_is_heard_live_have_one_voice() -> None:
    frames = [straight(at / 10, at * 5.0) for at in range(60)]
    burst = FAST._replace(distance_m=300.0)
    after, before = engine_of(small()), engine_of(small())

    heard = listen(after, frames[:15])
    refused = after.analyze(burst, 5000.0).pace_note
    listen(before, frames[:5])
    said = before.analyze(burst, 5000.0).pace_note

    assert [round(t, 1) for t, _ in heard] == [1.1]
    assert (refused, said != "") == ("", True)
    assert listen(before, frames[5:]) == []
