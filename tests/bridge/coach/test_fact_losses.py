"""What is lost where, and by what: faults planted in a driven lap are found, sized and worded."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Final, get_args

import numpy as np
import pytest

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.analysis.grading import CALM, REMEDY, grade_session
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Loss,
    find_passes,
    find_usual_passes,
    measure_losses,
)
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.fact import Corner as CornerCell
from runtime.bridge.coach.fact import Fact, Term, Value
from runtime.bridge.coach.facts import laps, reviews, sectors
from runtime.bridge.coach.facts.measures import measure
from runtime.bridge.coach.facts.tellers import TELLERS, tell
from runtime.bridge.coach.need import UNITS, Language, Need, Slots, Strange
from runtime.bridge.coach.scene import Scene
from runtime.bridge.coach.wording.words import words_of
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Numbers
from runtime.bridge.track.model import Corner, Track
from tests.bridge.coach.truthkit import TRACK, number, record, scene_of
from tools.drive import drive

LENGTH: Final = round(TRACK.length_m)
SCENES: Final = (
    *("usual", "rival", "no pedals", "no throttle", "unnamed", "one lap", "one lap, rival"),
    *("no positions", "nothing"),
)
WORDED: Final[set[tuple[str, ...]]] = set()
"""Forms of facts that another session had already."""


@dataclass(frozen=True)
class Lap:
    """A lap at every metre of the circuit; speed in m/s."""

    speed: Numbers
    brake: Numbers
    throttle: Numbers

    @property
    def time_s(self) -> float:
        return float(np.sum(1.0 / self.speed))


@cache
def clean() -> Lap:
    """The lap that all others are bent from."""
    driven = drive(TRACK, 2, skill=1.0)
    frames = driven.frames
    t = frames.columns[TIMESTAMP]
    speed = frames.columns["speed_ms"]
    way = np.concatenate([[0.0], np.cumsum(np.diff(t) * (speed[1:] + speed[:-1]) / 2)])
    begin, end = np.interp(driven.crossings_s[1:3], t, way)
    places = begin + (end - begin) * np.arange(LENGTH) / LENGTH
    columns = [np.interp(places, way, frames.columns[n]) for n in ("brake_bar", "throttle_pct")]
    return Lap(np.interp(places, way, speed), *columns)


def corner(name: str) -> Corner:
    return next(each for each in TRACK.corners if each.name == name)


def brake_early(lap: Lap, name: str, metres: int) -> Lap:
    """Brakes so many metres earlier, and rolls to where the clean lap is as slow."""
    apex = round(corner(name).apex.distance_m)
    begin = apex - 200
    slowest = begin + int(np.argmin(lap.speed[begin : apex + 40]))
    window = np.arange(begin, slowest - metres)
    speed, brake, throttle = lap.speed.copy(), lap.brake.copy(), lap.throttle.copy()
    speed[window] = np.minimum(lap.speed[window], lap.speed[window + metres])
    brake[window], throttle[window] = lap.brake[window + metres], lap.throttle[window + metres]
    rolling = slice(slowest - metres, slowest)
    speed[rolling], brake[rolling], throttle[rolling] = lap.speed[slowest], 0.0, 0.0
    return Lap(speed, brake, throttle)


def slow_apex(lap: Lap, name: str, share: float) -> Lap:
    """Is slower by a share of its speed at the apex, and by less and less around it."""
    apex = corner(name).apex.distance_m
    near = np.clip(1.0 - np.abs(np.arange(LENGTH) - apex) / 40.0, 0.0, None)
    return replace(lap, speed=lap.speed * (1.0 - share * near))


def late_throttle(lap: Lap, name: str, metres: int, reach: int = 200) -> Lap:
    """Accelerates so many metres later; *reach* metres behind the apex it is as quick again."""
    apex = round(corner(name).apex.distance_m)
    slowest = apex - 30 + int(np.argmin(lap.speed[apex - 30 : apex + 40]))
    window = np.arange(slowest, slowest + reach)
    lag = metres * np.clip((reach - np.arange(reach)) / reach, 0.0, 1.0)
    speed, throttle = lap.speed.copy(), lap.throttle.copy()
    behind = np.maximum(window - lag, slowest)
    speed[window] = np.minimum(lap.speed[window], np.interp(behind, np.arange(LENGTH), lap.speed))
    throttle[window] = np.interp(behind, np.arange(LENGTH), lap.throttle)
    throttle[slowest : slowest + metres] = 15.0
    return replace(lap, speed=speed, throttle=throttle)


def part_throttle(lap: Lap, name: str, metres: int) -> Lap:
    """Holds half throttle so many metres behind the apex, and gains less speed there."""
    apex = round(corner(name).apex.distance_m)
    speed, throttle = lap.speed.copy(), lap.throttle.copy()
    throttle[apex : apex + metres] = np.minimum(throttle[apex : apex + metres], 50.0)
    slower = 0.05 * np.clip(np.arange(250) / metres, 0.0, 1.0) * np.linspace(1.0, 0.0, 250)
    speed[apex : apex + 250] *= 1.0 - slower
    return replace(lap, speed=speed, throttle=throttle)


def driven(laps: list[Lap], track: Track | None = TRACK, without: tuple[str, ...] = ()) -> Drive:
    """A session of these laps at 10 Hz, from 150 m before the line to 300 m behind it."""
    parts = [(laps[0], slice(-150, None)), *((lap, slice(None)) for lap in laps)]
    parts.append((laps[-1], slice(300)))
    joined = {
        name: np.concatenate([getattr(lap, name)[part] for lap, part in parts])
        for name in ("speed", "brake", "throttle")
    }
    t = np.concatenate([[0.0], np.cumsum(1.0 / joined["speed"])[:-1]])
    moments = np.arange(0.0, t[-1], 0.1)
    way = np.interp(moments, t, np.arange(len(t)) - 150.0)
    line = TRACK.line
    assert line is not None
    lat, lon = line.plane.latlon(*line.ring.at(way % LENGTH * TRACK.length_m / LENGTH))
    columns = {name: np.full(len(moments), np.nan) for name in WIDE}
    columns |= {TIMESTAMP: moments + 1e9, "lat": lat, "lon": lon}
    for name, channel in zip(joined, ("speed_ms", "brake_bar", "throttle_pct"), strict=True):
        columns[channel] = np.interp(moments, t, joined[name])
    return record(Frames(columns), track, without)


def lost(laps: list[Lap]) -> tuple[Loss, ...]:
    """What the usual lap of a session loses against its best."""
    own = driven(laps)
    return measure_losses(find_usual_passes(own), find_passes(own, own.best.number or 0), own)


@cache
def faulty() -> Lap:
    """Three faults of different size."""
    lap = brake_early(clean(), "Turn 1", 25)
    return late_throttle(slow_apex(lap, "Turn 5", 0.1), "Turn 8", 20)


@cache
def usual_session() -> Drive:
    return driven([faulty(), faulty(), clean(), faulty()])


@pytest.mark.parametrize(
    ("name", "bent", "cause", "amount", "slack"),
    [
        ("Turn 1", brake_early(clean(), "Turn 1", 25), "early_brake", 25.0, 6.0),
        ("Turn 11", brake_early(clean(), "Turn 11", 15), "early_brake", 15.0, 6.0),
        ("Turn 5", slow_apex(clean(), "Turn 5", 0.1), "slow_apex", 7.0, 1.5),
        ("Turn 8", late_throttle(clean(), "Turn 8", 20), "late_throttle", 20.0, 8.0),
        ("Turn 10", part_throttle(clean(), "Turn 10", 90), "part_throttle", 70.0, 25.0),
    ],
)
def test_a_planted_fault_is_found_with_its_size_and_its_cause(
    name: str, bent: Lap, cause: str, amount: float, slack: float
) -> None:
    loss = lost([bent, bent, clean(), bent])[0]
    planted = bent.time_s - clean().time_s
    assert loss.corner == name
    assert loss.seconds == pytest.approx(planted, abs=max(0.03, 0.1 * planted))
    assert loss.causes[0][0] == cause
    assert loss.causes[0][1] == pytest.approx(amount, abs=slack)


def test_what_a_bad_exit_costs_on_the_straight_counts_for_its_corner() -> None:
    bent = late_throttle(clean(), "Turn 8", 20)
    loss = next(each for each in lost([bent, bent, clean()]) if each.corner == "Turn 8")
    planted = bent.time_s - clean().time_s
    assert loss.exit_s == pytest.approx(planted, abs=0.03)
    assert loss.own.corner_time_s - loss.other.corner_time_s < 0.8 * planted


def test_the_corners_of_two_laps_add_up_to_the_difference_of_the_laps() -> None:
    own = usual_session()
    slow, best = own.lap(1), own.best
    losses = measure_losses(find_passes(own, 1), find_passes(own, best.number or 0), own)
    assert len(losses) == len(TRACK.corners)
    total = slow.duration_s - best.duration_s
    assert sum(loss.seconds for loss in losses) == pytest.approx(total, abs=0.002)
    for loss in losses:
        assert loss.entry_s + loss.apex_s + loss.exit_s == pytest.approx(loss.seconds, abs=1e-6)


def test_a_fault_of_every_lap_shows_beside_another_driver() -> None:
    scene = scene_of(driven([faulty()] * 3), driven([clean()] * 2))
    alone = reviews.compare(scene)
    assert max(abs(loss.seconds) for loss in alone.lost) < WORTH_S
    fact = TELLERS["loss_rank"](scene, Slots())
    assert next(each.place.corner for each in fact if each.place) == "Turn 1"
    assert {each.other for each in fact} == {"Ben"}
    quicker = scene_of(driven([clean()] * 3), driven([faulty()] * 2))
    strong = TELLERS["strength"](quicker, Slots(drivers=("Ben",)))[0]
    assert (strong.kind, strong.values["corner"]) == ("strong-quicker", CornerCell("Turn 1"))


def test_the_largest_loss_is_told_first_with_its_cause_and_what_to_do() -> None:
    facts = TELLERS["loss_rank"](scene_of(usual_session()), Slots())
    assert [fact.kind for fact in facts] == ["loss-most", "loss-cause", "loss-next", "advice"]
    planted = brake_early(clean(), "Turn 1", 25).time_s - clean().time_s
    assert facts[3].gain_s == number(facts[0], "loss") == pytest.approx(planted, rel=0.1)
    assert (facts[1].values["cause"], facts[3].concept) == ("early_brake", "brake_end_focus")


def test_a_named_corner_or_sector_is_kept_to() -> None:
    scene = scene_of(usual_session())
    sector = TELLERS["loss_rank"](scene, Slots(sectors=(2,)))[0]
    assert sector.values["corner"] in (CornerCell("Turn 5"), CornerCell("Turn 8"))
    corner = TELLERS["loss_rank"](scene, Slots(corners=("Turn 3",)))
    assert [fact.kind for fact in corner] == ["loss-even"]
    strange = Slots(strange=(Strange("corner", "Turn 14"),))
    assert tell(scene, Need("corner_advice", strange))[0].kind == "no-corner"
    assert TELLERS["loss_rank"](scene, Slots(laps=(17,)))[0].kind == "no-lap"
    either = TELLERS["choice"](scene, Slots(corners=("Turn 3", "Turn 1")))
    assert [each.values["corner"] for each in either] == [
        CornerCell(name) for name in ("Turn 1", "Turn 3", "Turn 1")
    ]


def test_a_corner_that_is_left_out_is_said_and_not_told_of() -> None:
    scene = scene_of(usual_session())
    first, *_ = tell(scene, Need("loss_rank", Slots()))
    aside, most, *rest = tell(scene, Need("loss_rank", Slots(besides=("Turn 1",))))
    assert first.values["corner"] == CornerCell("Turn 1")
    assert (aside.kind, aside.values["corners"]) == ("left-out", (CornerCell("Turn 1"),))
    assert most.values["corner"] != CornerCell("Turn 1")
    assert all("Turn 1" not in str(each.place) for each in (most, *rest))


@pytest.mark.parametrize("name", ["Turn 2", "Turn 4", "Turn 7"])
def test_nobody_is_asked_for_more_speed_where_mistakes_are_punished(name: str) -> None:
    bent = slow_apex(brake_early(clean(), name, 12), name, 0.08)
    scene = scene_of(driven([bent, bent, clean(), bent]))
    for kind in ("corner_advice", "tips", "voice_script", "target", "drill"):
        for fact in TELLERS[kind](scene, Slots(corners=(name,))):
            calm = {*CALM, "steady", "none", None}
            assert fact.values.get("cause") in calm or fact.kind == "loss-cause"
            assert fact.values.get("danger", "yes") == "yes"


def test_the_scorecard_advises_what_the_coach_advises() -> None:
    bent = slow_apex(
        late_throttle(brake_early(clean(), "Turn 1", 20), "Turn 8", 30), "Turn 7", 0.08
    )
    drive = driven([bent, bent, clean(), bent])
    card = {grade.corner: grade for grade in grade_session(drive).corners}
    view = reviews.compare(scene_of(drive))

    told = {loss.corner: loss for loss in reviews.list_losses(view)}
    assert {"Turn 1", "Turn 7", "Turn 8"} <= set(told)
    for name, loss in told.items():
        cause = str(reviews.advise(view, loss).values["cause"])
        assert card[name].phrase.startswith(f"{name}: {REMEDY[cause].partition('{')[0]}")
    metres = card["Turn 1"].brake_point_delta_m
    assert dict(told["Turn 1"].causes)["early_brake"] == pytest.approx(metres)
    assert f": {metres:.0f} m earlier" in card["Turn 1"].phrase
    assert "danger zone" in card["Turn 7"].phrase


def test_an_earlier_throttle_is_asked_for_behind_a_danger_only() -> None:
    causes = {}
    for name in ("Turn 2", "Turn 4"):
        bent = late_throttle(clean(), name, 20)
        slots = Slots(corners=(name,))
        fact = TELLERS["corner_advice"](scene_of(driven([bent, bent, clean(), bent])), slots)[0]
        causes[name] = fact.values["cause"]
        assert fact.values["danger"] == "yes"
    assert causes == {"Turn 2": "steady", "Turn 4": "late_throttle"}


def test_a_throttle_that_is_held_is_not_picked_up_yet() -> None:
    bent = late_throttle(clean(), "Turn 8", 30)
    held = replace(bent, throttle=np.where(bent.throttle == 15.0, 25.0, bent.throttle))
    own = driven([held, held, clean(), held])
    points = measure(own, "throttle_point", "Turn 8")
    late = median(points[lap].number for lap in (1, 2, 4)) - points[3].number
    assert late == pytest.approx(30.0, abs=12.0)


def test_two_laps_have_no_usual_one_and_a_moment_is_no_habit() -> None:
    bent = slow_apex(clean(), "Turn 8", 0.7)
    scene = scene_of(driven([clean(), bent]))
    lead, *_, advice = TELLERS["loss_rank"](scene, Slots())
    planted = bent.time_s - clean().time_s
    assert (lead.kind, lead.values["lap"]) == ("loss-most", 2)
    assert number(lead, "loss") == pytest.approx(planted, rel=0.1)
    assert advice.values["cause"] == "match"
    assert laps.TELLERS["lap_explain"](scene, Slots())[0].kind == "lap-compare"
    assert [fact.kind for fact in sectors.TELLERS["lap_goal"](scene, Slots())] == ["goal-lap"]


def test_what_a_later_brake_point_brings_agrees_with_what_is_lost_there() -> None:
    scene = scene_of(usual_session())
    loss = next(each for each in reviews.compare(scene).lost if each.corner == "Turn 1")
    metres = (loss.own.brake_point_m or 0.0) - (loss.other.brake_point_m or 0.0)

    def gain(amount: float) -> float:
        slots = Slots(corners=("Turn 1",), order="late", amounts=(Value(amount, "m"),))
        return number(TELLERS["what_if"](scene, slots)[0], "gain")

    assert gain(metres) == pytest.approx(loss.entry_s)
    assert gain(metres / 2) == pytest.approx(loss.entry_s / 2)
    assert loss.entry_s < gain(metres + 10.0) < 2.0 * loss.entry_s


@pytest.mark.parametrize(("turn", "verdict"), [("Turn 1", "no"), ("Turn 8", "yes")])
def test_what_is_lost_on_an_exit_is_no_other_part_of_the_corner(turn: str, verdict: str) -> None:
    slots = Slots(corners=(turn,), spot="exit", quantity="time", gains=False, whether=True)
    first = TELLERS["corner_explain"](scene_of(usual_session()), slots)[0]
    assert (first.kind, first.verdict) == ("loss-parts", verdict)


def test_a_slow_apex_is_explained_by_the_pedals_not_by_itself() -> None:
    bent = brake_early(slow_apex(clean(), "Turn 5", 0.25), "Turn 5", 12)
    scene = scene_of(driven([clean(), clean(), bent, clean()]))
    slots = Slots(corners=("Turn 5",), laps=(3,), why=True)
    lead, *ways = TELLERS["corner_explain"](scene, slots)
    assert lead.kind == "loss-corner"
    told = {str(each.values.get("what")): each for each in ways}
    early = told[str(Term("measured", "brake_point"))]
    assert number(early, "difference") == pytest.approx(12.0, abs=6.0)
    assert told.keys().isdisjoint({"None", str(Term("measured", "speed_corner"))})


def test_a_later_brake_point_is_reached_in_steps() -> None:
    scene = scene_of(usual_session())
    advice = TELLERS["tips"](scene, Slots())[0]
    line = TELLERS["voice_script"](scene, Slots())[0]
    now = number(advice, "now")
    assert now - number(advice, "aim") == pytest.approx(25.0, abs=6.0)
    assert now - number(line, "aim") == pytest.approx(reviews.STEP_M)


@pytest.mark.parametrize(
    ("amount", "kind", "focus"),
    [(Value(1200.0, "s"), "plan-run", 7), (Value(6, ""), "plan-laps", 4), (None, "plan-laps", 4)],
)
def test_a_plan_fits_the_time(amount: Value | None, kind: str, focus: int) -> None:
    amounts = (amount,) if amount else ()
    lead, *others = TELLERS["run_plan"](scene_of(usual_session()), Slots(amounts=amounts))
    assert (lead.kind, lead.values["focus"]) == (kind, focus)
    assert [fact.kind for fact in others] == ["advice"]
    assert others[0].values["corner"] == lead.values["corner"]  # also where only the first is told


@pytest.mark.parametrize("language", get_args(Language))
def test_what_a_corner_costs_over_some_laps_is_so_many_times_what_one_loses(
    language: Language,
) -> None:
    need = Need("corner_explain", Slots(corners=("Turn 1",), over=10))
    lost, sums, *_ = tell(scene_of(usual_session()), need)
    each = round(number(lost, "loss"), 2)
    assert (sums.kind, sums.values["total"]) == ("over-laps", Value(each * 10, "s"))
    assert words_of(language, "metric").sentence(sums).count("10") == 2
    even = tell(scene_of(usual_session()), Need("summary", Slots(over=10)))
    assert "over-laps" not in {fact.kind for fact in even}


@cache
def scenes() -> Mapping[str, Scene]:
    """Sessions of every kind."""
    pedals = ("brake_bar", "throttle_pct")
    laps = [faulty(), clean(), faulty()]
    before = driven([clean()] * 2)
    earlier = DriverSession("e", -1, summarise(before.laps, before.track))
    made = (
        replace(scene_of(usual_session()), earlier=(earlier,)),
        scene_of(usual_session(), driven([clean()] * 2)),
        scene_of(driven(laps, without=pedals), driven(laps)),
        scene_of(driven(laps, without=("throttle_pct",))),
        scene_of(driven(laps, track=None), track=None),
        scene_of(driven([faulty()])),
        scene_of(driven([faulty()]), driven([clean()] * 2)),
        scene_of(driven(laps, track=None, without=("lat", "lon")), track=None),
        Scene("Ana"),
    )
    return dict(zip(SCENES, made, strict=True))


def questions(scene: Scene) -> Iterator[Fact]:
    """Every teller of the coach asked in several ways."""
    drive = scene.outing.drive if scene.outing else None
    named = [each.name for each in drive.corners][:3] if drive and drive.geometry else ["Turn 4"]
    rivals = tuple(scene.rivals)
    corner = Slots(corners=tuple(named[:1]), spot="exit", amounts=(Value(5.0, "m"),))
    ways = [Slots(), corner, replace(corner, corners=tuple(named), drivers=rivals)]
    ways += [Slots(laps=(1, 2), without=("slowest",), order="each"), Slots(laps=("best",))]
    ways += [Slots(sectors=(2,), order="late", drivers=rivals, amounts=(Value(118.0, "s"),))]
    for teller in TELLERS.values():
        for way in ways:
            yield from teller(scene, way)
    for quantity in UNITS if rivals else ():
        about = replace(corner, quantity=quantity)
        for asked in (
            replace(about, order="most"),
            replace(about, order="late"),
            replace(about, order="more", open=True, laps=(1, 2)),
            replace(about, order="more", drivers=rivals),
            replace(about, order="spread"),
            replace(about, order="most", claims=True),
            replace(about, order="more", claims=True, laps=(1, 2)),
            replace(about, corners=(), order="least", where=True),
            replace(about, corners=(), spot=None, order="most"),
            replace(about, corners=(), spot=None, order="spread", drivers=rivals),
            replace(about, corners=(), order="early", where=True, drivers=rivals),
        ):
            facts = TELLERS["measure"](scene, asked)
            assert 0 < len(facts) <= 4
            yield from facts


def form_of(fact: Fact) -> tuple[str, ...]:
    """By what a message chooses its words."""
    chosen = (f"{n}={v}" for n, v in fact.values.items() if isinstance(v, str | Term))
    return (fact.kind, *chosen)


@pytest.mark.parametrize("name", SCENES)
def test_every_fact_is_worded_and_names_no_cause_that_was_not_recorded(name: str) -> None:
    facts = list(questions(scenes()[name]))
    fresh = {form_of(fact): fact for fact in facts if form_of(fact) not in WORDED}
    WORDED.update(fresh)
    for language in get_args(Language):
        for units in ("metric", "imperial"):
            words = words_of(language, units)
            for fact in fresh.values():
                assert not re.search(r"\bnan\b|  ", words.sentence(fact) + words.say(fact))
                assert not re.search(r"±|\d\s?(?:km/h|s|m|%)(?!\w)", words.say(fact))
    causes = {fact.values.get("cause") for fact in facts}
    if name == "no pedals":
        assert "early_slowing" in causes
        assert not causes & {"early_brake", "long_brake", "late_brake"}
    if name in ("no pedals", "no throttle"):
        assert not causes & {"coasting", "late_throttle"}
