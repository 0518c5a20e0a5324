"""What is said, by rule, by tone and by concept: short, with the numbers of the moment."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.cues.advice import make_occasion, read_inputs
from runtime.bridge.cues.circuit import Circuit
from runtime.bridge.cues.concepts import CONCEPTS, Inputs
from runtime.bridge.cues.model import Burst, Level
from runtime.bridge.cues.phrases import (
    PHRASES,
    Occasion,
    grip_note,
    phrase,
    rule_phrase,
    zone_note,
)
from runtime.bridge.track.model import Marker
from tests.bridge.cues.coachkit import NAN, QUIET, circuit, corner, larkfell, track

LEVELS: tuple[Level, ...] = ("beginner", "intermediate", "pro")
BY_ID = {concept.id: concept for concept in CONCEPTS}


@pytest.mark.parametrize(
    ("burst", "expected"),
    [
        (Burst(max_combo_g=2.11, coast_frames=9, frame_count=10), "rule-grip"),
        (Burst(max_combo_g=2.10, coast_frames=26, frame_count=100), "rule-coasting"),
        (Burst(avg_speed_kmh=80, coast_frames=25, frame_count=100), "rule-neutral"),
        (Burst(trail_brake_frames=1, max_combo_g=1.51), "rule-trail-brake"),
        (Burst(avg_speed_kmh=59.9), "rule-slow"),
        (Burst(avg_speed_kmh=120.1), "rule-fast"),
        (Burst(), "rule-slow"),
        (Burst(avg_speed_kmh=NAN, max_combo_g=NAN), "rule-neutral"),
    ],
)
def test_the_first_rule_that_fits_speaks(burst: Burst, expected: str) -> None:
    said = rule_phrase(burst)

    assert said.phrase_id == expected
    assert 0 < len(said.text.split()) <= 20


def occasion(concept: str, of: Circuit, at: float, **changes: float) -> Occasion:
    place = of.place(at)
    usual = QUIET._replace(to_entry=place.to_entry, bz=place.bz, dz=place.dz)
    inputs = Inputs(**{**usual._asdict(), "in_corner": place.corner is not None, **changes})
    return make_occasion(BY_ID[concept], inputs, of, place)


SAID: list[tuple[str, float, tuple[str, str, str]]] = [
    (
        "late_apex",
        850.0,
        (
            "Turn 4: brake just after the 100 m board.",
            "Turn 4 in 240 m, right hairpin. Brake just after the 100 m board. Late apex.",
            "T4 right 1. In 240. Brake 87. Late apex.",
        ),
    ),
    (
        "downhill_braking",
        1160.0,
        (
            "Turn 5: brake at the marshal post 5. Downhill.",
            "Turn 5 in 150 m, medium left. Brake at the marshal post 5. Downhill. Longer stop.",
            "T5 left 3. In 150. Brake 34. Downhill 6. Longer stop.",
        ),
    ),
    (
        "late_apex",
        1620.0,
        (
            "Turn 7: turn in at the seam in the asphalt.",
            "Turn 7 in 90 m, right kink. Downhill. Late apex.",
            "T7 right 6. In 90. Downhill 6. Late apex.",
        ),
    ),
    (
        "downhill_braking",
        1620.0,
        (
            "Turn 7: turn in at the seam in the asphalt.",
            "Turn 7 in 90 m, right kink. Downhill.",
            "T7 right 6. In 90. Downhill 6.",
        ),
    ),
    (
        "look_ahead",
        3400.0,
        (
            "Turn 1: brake at the 100 m board. Uphill.",
            "Turn 1 in 420 m, medium right. Brake at the 100 m board. Uphill. Look far ahead.",
            "T1 right 3. In 420. Brake 104. Uphill 6. Eyes up.",
        ),
    ),
]


@pytest.mark.parametrize("level", range(3), ids=LEVELS)
@pytest.mark.parametrize(("concept", "at", "expected"), SAID)
def test_a_corner_to_come_is_told_by_level(
    concept: str, at: float, expected: tuple[str, str, str], level: int
) -> None:
    found = phrase(occasion(concept, Circuit(larkfell()), at), LEVELS[level])

    assert found == expected[level]


def test_a_place_without_a_track_is_told_by_the_distance() -> None:
    told = Occasion(BY_ID["late_apex"], QUIET._replace(to_entry=63.0))

    assert [phrase(told, level) for level in LEVELS] == [
        "Corner ahead: turn in late.",
        "Corner in 65 m. Late apex.",
        "65. Late apex.",
    ]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (20, "Turn 4 in 240 m, right hairpin. Brake just after the 100 m board. Late apex."),
        (14, "Turn 4 in 240 m, right hairpin. Brake just after the 100 m board."),
        (9, "Right hairpin. Brake just after the 100 m board."),
        (2, "Right hairpin."),
        (1, ""),
        (0, ""),
    ],
)
def test_what_matters_most_is_said_where_time_is_short(most: int, expected: str) -> None:
    told = occasion("late_apex", Circuit(larkfell()), 850.0)

    assert phrase(told, "intermediate", most) == expected


def test_a_landmark_is_called_as_it_is_written_only_where_it_bears_a_name() -> None:
    marks = [
        Marker("a", "brake_ref", "Pine Cone", 420.0, "Pine"),
        Marker("b", "brake_ref", "The Oak", 620.0, "Turn 2"),
        Marker("c", "brake_ref", "Yellow sign that says Slow Down Now", 920.0, "Turn 3"),
        Marker("d", "brake_ref", "Far Board", 1180.0, "Turn 4"),
    ]
    corners = (
        corner(1, 500, 540, 550, name="Pine"),
        corner(2, 700, 740, 750),
        corner(3, 1000, 1040, 1050, name="A corner with quite a long name"),
        corner(4, 1300, 1340, 1350),
    )
    of = Circuit(track(*corners, markers=tuple(marks)))

    found = [phrase(occasion("late_apex", of, at), "beginner") for at in (350, 600, 900, 1150)]

    assert found == [
        "Pine: brake at the Pine Cone.",
        "Turn 2: brake at the Oak.",
        "Turn 3: brake 80 m before.",
        "Turn 4: brake 80 m before.",
    ]


def test_a_landmark_that_was_passed_is_not_told() -> None:
    near, past = (
        phrase(occasion("late_apex", Circuit(larkfell()), at), "beginner") for at in (980.0, 990.0)
    )

    assert "100 m board" in near
    assert "100 m board" not in past


@given(
    at=st.floats(0, 3613),
    concept=st.sampled_from(CONCEPTS),
    level=st.sampled_from(LEVELS),
    most=st.integers(0, 30),
    given_m=st.none() | st.floats(0.001, 499.9),
    thr=st.floats(0, 100),
    brake=st.floats(-1e300, 1e300),
    glat=st.floats(0, 1e300),
    v=st.floats(0, 1e300),
)
def test_no_phrase_is_long_and_every_number_is_of_the_moment(
    at: float,
    concept: object,
    level: Level,
    most: int,
    given_m: float | None,
    thr: float,
    brake: float,
    glat: float,
    v: float,
) -> None:
    of = Circuit(larkfell()) if given_m is None else None
    place = of.place(at) if of else None
    burst = Burst(
        avg_speed_kmh=v,
        max_lateral_g=glat,
        max_brake_bar=brake,
        avg_throttle_pct=thr,
        dist_to_next_corner_m=given_m,
        in_corner=place is not None and place.corner is not None,
    )
    chosen = next(one for one in CONCEPTS if one is concept)
    told = make_occasion(chosen, read_inputs(burst, place), of, place)

    text = phrase(told, level, most)

    assert len(text.split()) <= min(most, 20)
    assert text == "" or (text[0] == text[0].upper() and text[-1] == ".")
    near = told.inputs.to_entry
    known = {round(value) for value in (min(max(brake, 0), 999), thr, min(v, 999), told.inputs.bz)}
    known |= {abs(round(told.inputs.dz)), int(f"{min(glat, 9.9):.1f}"[0])}
    known |= {int(f"{min(glat, 9.9):.1f}"[2])}
    spoken = re.sub(r"\bT(?:urn )?\d+|the [\w ]*?\d+(?: m board)?\b|(?:left|right) \d", "", text)
    for number in map(int, re.findall(r"\d+", spoken)):
        assert number in known or abs(number - near) <= 5, text


@pytest.mark.parametrize("level", LEVELS)
def test_warnings_are_short(level: Level) -> None:
    (zone,) = circuit().zones

    texts = [
        zone_note(zone, 62.0, level).text,
        grip_note(level).text,
        *(one.text for one in PHRASES.tones.values()),
    ]

    assert "223" in texts[0]
    assert str(round(zone.reference_ms * 3.6)) in texts[0]
    assert max(len(text.split()) for text in texts) <= 12
