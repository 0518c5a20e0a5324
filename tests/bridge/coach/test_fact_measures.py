"""Quantities, claims and the handling of the car are told as the drive on paper has them."""

from dataclasses import replace
from functools import cache
from statistics import median
from typing import Final

import numpy as np
import pytest

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.coach.fact import Cell, Corner, Fact, Placed, Term, Value
from runtime.bridge.coach.facts import reviews, tellers
from runtime.bridge.coach.facts.measures import measure, orient
from runtime.bridge.coach.need import Need, NeedKind, Order, Quantity, Slots, Strange
from runtime.bridge.coach.scene import Scene
from runtime.bridge.coach.understanding.mentions import CornerNames, Names
from runtime.bridge.coach.understanding.read import read_question
from runtime.bridge.coach.wording.words import words_of
from runtime.bridge.session.recording import TIMESTAMP, Frames
from runtime.bridge.session.units import KMH
from tests.bridge.coach.truthkit import TRACK, Spot, Truth, number, record, scene_of, session_of

OWN: Final = Truth(TRACK, session_of(TRACK, 5, seed=3, skill=0.9))
OTHER: Final = Truth(TRACK, session_of(TRACK, 4, seed=8, skill=0.96))
PEDALS: Final = ("brake_bar", "throttle_pct")


@cache
def scene() -> Scene:
    """Both drivers, everything recorded."""
    return scene_of(record(OWN.frames), record(OTHER.frames))


def tell(kind: NeedKind, slots: Slots, told: Scene | None = None) -> tuple[Fact, ...]:
    return tellers.tell(told or scene(), Need(kind, slots))


def drive_in(told: Scene) -> Drive:
    assert told.outing is not None
    return told.outing.drive


@pytest.mark.parametrize("turn", [1, 4, 8])
@pytest.mark.parametrize("spot", ["entry", "apex", "exit"])
def test_speeds_in_a_corner_are_those_driven(turn: int, spot: Spot) -> None:
    found = measure(drive_in(scene()), "speed", f"Turn {turn}", spot)
    assert list(found) == list(OWN.laps)
    for lap in OWN.laps:
        assert found[lap].number == pytest.approx(OWN.speed_at(turn, spot, lap), abs=0.6)


@pytest.mark.parametrize("turn", [1, 4, 8])
def test_brake_points_are_metres_before_the_corner(turn: int) -> None:
    found = measure(drive_in(scene()), "brake_point", f"Turn {turn}")
    for lap in OWN.laps:
        assert found[lap].number == pytest.approx(OWN.brake_point(turn, lap), abs=3.0)


@pytest.mark.parametrize(
    ("quantity", "channel"),
    [("speed", "speed_ms"), ("brake_pressure", "brake_bar"), ("lateral_g", "g_lat")],
)
def test_a_lap_has_the_largest_of_what_was_recorded(quantity: Quantity, channel: str) -> None:
    found = measure(drive_in(scene()), quantity)
    for lap in OWN.laps:
        top = float(np.abs(OWN.on_lap(lap, channel)).max()) * (KMH if channel == "speed_ms" else 1)
        assert found[lap].number == pytest.approx(top, rel=0.01)


def test_the_throttle_is_picked_up_where_it_opens_for_good() -> None:
    found = measure(drive_in(scene()), "throttle_point", "Turn 4")
    apex = OWN.corner(4).apex.distance_m
    for lap in OWN.laps:
        slowest = OWN.passed(lap, apex - 30.0)
        t, throttle = OWN.column(TIMESTAMP), OWN.column("throttle_pct")
        opened = t[(t > slowest) & (throttle >= 20.0)][0]
        assert OWN.passed(lap, apex + found[lap].number) == pytest.approx(opened, abs=0.25)


def test_without_a_lap_best_and_usual_are_told_apart() -> None:
    (fact,) = tell("measure", Slots(corners=("Turn 4",), quantity="speed", spot="apex"))
    assert fact.kind == "measure-best"
    assert fact.values["lap"] == OWN.best
    assert number(fact, "best") == pytest.approx(OWN.speed_at(4, "apex", OWN.best), abs=0.6)
    speeds = [OWN.speed_at(4, "apex", lap) for lap in OWN.laps]
    assert number(fact, "usual") == pytest.approx(median(speeds), abs=0.6)


def test_each_lap_is_listed_and_a_lap_can_be_left_out() -> None:
    slots = Slots(corners=("Turn 4",), quantity="brake_pressure", order="each")
    assert tell("measure", slots)[0].values["laps"] == tuple(OWN.laps)
    slots = Slots(corners=("Turn 4",), quantity="speed", laps=(2, "slowest"))
    assert tell("measure", slots)[0].values["laps"] == (2, OWN.slowest)
    mean = tell("measure", Slots(quantity="speed", corners=("Turn 4",), order="mean", without=(1,)))
    assert mean[0].values["count"] == len(OWN.laps) - 1


def test_two_drivers_stand_beside_each_other_with_what_leads_onto_a_straight() -> None:
    slots = Slots(straights=("Machair Straight",), quantity="speed", drivers=("Ben",))
    top, bend = tell("measure", slots)
    tops = [number(top, key) for key in ("own", "theirs", "difference")]
    assert abs(tops[0] - tops[1]) == pytest.approx(tops[2])
    assert bend.values["where"] == Corner("Turn 3")
    assert bend.values["at"] == Term("at", "exit")


def test_ranks_name_the_corner_and_the_lap() -> None:
    slowest = tell("measure", Slots(quantity="speed", order="least", where=True))[0]
    speeds = {turn: OWN.speed_at(turn, "apex", OWN.best) for turn in range(1, 12)}
    assert slowest.values["where"] == Corner(f"Turn {min(speeds, key=lambda turn: speeds[turn])}")
    latest = Slots(quantity="brake_point", order="latest", corners=("Turn 1",))
    points = {lap: OWN.brake_point(1, lap) for lap in OWN.laps}
    told = tell("measure", latest)[0]
    assert number(told, "value") == pytest.approx(min(points.values()), abs=3.0)


@pytest.mark.parametrize("order", ["early", "late"])
def test_judgements_follow_the_rival_who_is_named(order: Order) -> None:
    slots = Slots(corners=("Turn 1",), quantity="brake_point", order=order, drivers=("Ben",))
    fact = tell("measure", slots)[0]
    drives = drive_in(scene()), scene().rivals["Ben"].drive
    own, theirs = (
        median(value.number for value in measure(drive, "brake_point", "Turn 1").values())
        for drive in drives
    )
    assert number(fact, "difference") == pytest.approx(abs(own - theirs))
    so = abs(own - theirs) >= 3.0 and (own > theirs) == (order == "early")
    assert (fact.verdict == "no") == (not so)


def test_the_verdict_is_about_whoever_is_measured_against_the_other() -> None:
    own, other = (
        {turn: median(side.speed_at(turn, "apex", lap) for lap in side.laps) for turn in (1, 4, 8)}
        for side in (OWN, OTHER)
    )
    turn = max(own, key=lambda each: abs(own[each] - other[each]))
    slots = Slots((f"Turn {turn}",), drivers=("Ben",), quantity="speed", order="more")
    for than_me in (False, True):
        (fact,) = tell("measure", replace(slots, than_me=than_me))
        so = (own[turn] > other[turn]) != than_me
        assert fact.verdict == ("yes" if so else "no")


def test_a_sector_has_the_top_speed_that_was_driven_in_it() -> None:
    (fact,) = tell("measure", Slots(quantity="speed", order="most", sectors=(2,)))
    assert fact.place is not None
    assert fact.place.sector == 2
    span = TRACK.sectors[1]
    for lap in (int(str(fact.values["lap"])),):
        begin, end = (OWN.passed(lap, place) for place in (span.start_m, span.end_m))
        top = float(OWN.inside(begin, end, "speed_ms").max()) * KMH
        assert number(fact, "value") == pytest.approx(top, abs=1.0)


@pytest.mark.parametrize(("offset_m", "verdict"), [(0.0, "right"), (30.0, "wrong")])
def test_a_claimed_brake_point_is_checked_by_the_unit_that_is_claimed(
    offset_m: float, verdict: str
) -> None:
    usual = median(OWN.brake_point(4, lap) for lap in OWN.laps)
    claimed = (Value(usual + offset_m, "m"),)
    slots = Slots(corners=("Turn 4",), pedal="brake", amounts=claimed, claims=True)
    (fact,) = tell("measure", slots)
    assert number(fact, "usual") == pytest.approx(usual, abs=1.0)
    assert fact.verdict == verdict


@pytest.mark.parametrize("kind", ["rival_gap", "rival_how"])
def test_so_many_seconds_in_a_corner_are_checked_against_what_is_lost_there(
    kind: NeedKind,
) -> None:
    about = Slots(("Turn 4",), drivers=("Ben",), claims=True, than_me=True, gains=True)
    lost_s = tell(kind, about)[0].gain_s
    assert lost_s is not None
    verdicts = [
        tell(kind, replace(about, gains=lost_s > 0, amounts=(Value(claimed_s, "s"),)))[0].verdict
        for claimed_s in (abs(lost_s), abs(lost_s) + 2.0)
    ]
    assert verdicts == ["right", "wrong"]


@pytest.mark.parametrize(("offset_s", "verdict"), [(0.0, "right"), (0.3, "wrong")])
def test_a_claimed_loss_is_checked_by_its_size(offset_s: float, verdict: str) -> None:
    (lost,) = (fact for fact in tell("loss_rank", Slots()) if fact.kind == "loss-most")
    assert lost.place is not None
    assert lost.gain_s is not None
    claimed = (Value(abs(lost.gain_s) + offset_s, "s"),)
    corner = lost.place.corner or ""
    about = Slots(corners=(corner,), quantity="time", gains=False, claims=True, amounts=claimed)
    assert tell("measure", about)[0].verdict == verdict


@pytest.mark.parametrize(("corner", "verdict"), [("Turn 1", "right"), ("Turn 7", "wrong")])
def test_hard_braking_is_checked_beside_the_hardest_of_the_circuit(
    corner: str, verdict: str
) -> None:
    said = Slots(corners=(corner,), quantity="brake_pressure", pedal="brake", claims=True)
    own, hardest = tell("measure", said)
    assert (own.verdict, own.kind, hardest.kind) == (verdict, "measure-best", "rank-places")


@pytest.mark.parametrize("than_me", [False, True])
@pytest.mark.parametrize("slots", [Slots(), Slots(gains=False), Slots(order="fewer")])
def test_who_is_said_to_be_steadier_is_checked_by_the_spread(
    slots: Slots, *, than_me: bool
) -> None:
    uneven = Truth(TRACK, session_of(TRACK, 5, seed=1, skill=0.7))  # 1.2 s; the other 0.1 s
    beside = scene_of(record(uneven.frames), record(OTHER.frames))
    said = replace(slots, drivers=("Ben",), than_me=than_me, claims=True)
    facts = tell("rival_spread", said, beside)
    verdict = next(fact.verdict for fact in facts if fact.verdict)
    assert verdict == ("right" if than_me != (slots != Slots()) else "wrong")


@pytest.mark.parametrize(("more", "verdict"), [(0, "right"), (3, "wrong")])
def test_a_claimed_count_of_laps_is_checked(more: int, verdict: str) -> None:
    count = len(drive_in(scene()).counted) + more
    said = Slots(amounts=(Value(count, ""),), claims=True)
    assert tell("lap_count", said)[0].verdict == verdict


@pytest.mark.parametrize("than_me", [False, True])
def test_who_is_said_to_have_driven_more_laps_is_checked(*, than_me: bool) -> None:
    side = scene()
    more = len(side.rivals["Ben"].drive.counted) > len(drive_in(side).counted)
    said = Slots(drivers=("Ben",), than_me=than_me, counts_laps=True, claims=True)
    assert tell("lap_count", said, side)[0].verdict == ("right" if more == than_me else "wrong")


def test_why_a_straight_is_slow_is_told_by_the_corners_at_its_ends() -> None:
    facts = tell("measure", Slots(straights=("Machair Straight",), quantity="time", why=True))
    assert facts[0].place
    assert facts[0].place.straight == "Machair Straight"
    assert {fact.place.corner for fact in facts[1:] if fact.place} <= {"Turn 3", "Turn 4", None}
    assert len(facts) > 1


def test_what_is_so_in_some_corners_is_not_so_everywhere() -> None:
    asked = Slots(quantity="brake_point", order="early", every_corner=True, whether=True)
    first, *rest = tell("measure", asked)
    assert first.verdict == "somewhere"
    assert not any(fact.verdict for fact in rest)


@pytest.mark.parametrize(("more", "verdict"), [(0.0, "right"), (30.0, "wrong")])
def test_a_claimed_difference_is_checked_by_its_size(more: float, verdict: str) -> None:
    slots = Slots(corners=("Turn 11",), quantity="brake_point", order="early", drivers=("Ben",))
    apart = tell("measure", slots)[0].values["difference"]
    assert isinstance(apart, Value)
    claim = replace(slots, claims=True, amounts=(Value(apart.number + more, "m"),))
    assert tell("measure", claim)[0].verdict == verdict


@pytest.mark.parametrize(("gains", "verdict"), [(True, "wrong"), (False, "right")])
def test_a_claim_to_be_quicker_than_a_rival_is_checked_by_the_lap(
    gains: bool, verdict: str
) -> None:
    said = Slots(drivers=("Ben",), quantity="time", gains=gains, claims=True)
    assert tell("measure", said)[0].verdict == verdict  # Ben, the more skilled, is quicker


@pytest.mark.parametrize(("gains", "verdict"), [(True, "no"), (False, "yes")])
def test_two_corners_are_compared_by_their_speed(gains: bool, verdict: str) -> None:
    asked = Slots(
        ("Turn 4", "Turn 8"), gains=gains, whether=True, order="more" if gains else "fewer"
    )
    assert tell("measure", asked)[0].verdict == verdict


def test_a_why_that_supposes_the_contrary_is_put_right_first() -> None:
    of = scene().rivals["Ben"]
    assert of is not None
    for gains, verdict in ((False, None), (True, "wrong")):
        asked = Slots(("Turn 8",), drivers=("Ben",), why=True, gains=gains)
        assert tell("rival_how", asked)[0].verdict == verdict


def test_never_to_lift_in_a_corner_is_checked_by_the_throttle() -> None:
    slots = Slots(corners=("Turn 1",), pedal="lift", claims=True, negated=True)
    (fact,) = tell("measure", slots)
    assert (fact.kind, fact.verdict) == ("claim-flat", "wrong")


def test_the_lap_of_the_top_speed_is_told_where_its_place_is_asked_for_too() -> None:
    slots = Slots(quantity="speed", order="most", spot="straight", where=True, which="lap")
    (fact,) = tell("measure", slots)
    tops = {lap: float(OWN.on_lap(lap, "speed_ms").max()) for lap in OWN.laps}
    assert fact.values["lap"] == max(tops, key=lambda lap: tops[lap])
    assert number(fact, "value") == pytest.approx(max(tops.values()) * KMH, abs=0.5)


def test_the_longest_full_throttle_is_that_of_the_pedal() -> None:
    (fact,) = tell("measure", Slots(quantity="full_throttle", order="most"))
    open_ = OWN.inside(OWN.driven.crossings_s[0], np.inf, "throttle_pct") >= 95.0
    runs = "".join("x" if each else " " for each in open_).split()
    seconds = max(map(len, runs)) * 0.05
    assert number(fact, "seconds") == pytest.approx(seconds, abs=0.15)


def test_the_least_repeatable_corner_has_the_largest_deviation() -> None:
    drive = drive_in(scene())
    spreads = {
        corner.name: float(np.std([v.number for v in measure(drive, "time", corner.name).values()]))
        for corner in drive.corners
    }
    ranked = sorted(spreads, key=lambda name: -spreads[name])
    for count in (1, 2):
        (fact,) = tell("corner_spread", Slots(count=count))
        assert list(placed(fact.values["loose"])) == ranked[:count]
        steady = [spreads[name] for name in placed(fact.values["steady"])]
        assert steady == pytest.approx(sorted(spreads.values())[:count], abs=1e-6)


@pytest.mark.parametrize("lap", [0, 2, OWN.best])
@pytest.mark.parametrize("quantity", ["speed", "time", "brake_pressure"])
def test_every_corner_is_told_in_lap_order_on_the_lap_named(quantity: Quantity, lap: int) -> None:
    asks, laps = quantity != "time", (lap,) if lap else ()
    slots = Slots(quantity=quantity, laps=laps, every_corner=True, whether=asks, open=not asks)
    (fact,) = tell("measure", slots)
    drive, listed = drive_in(scene()), placed(fact.values["listed"])
    assert list(listed) == [corner.name for corner in TRACK.in_lap_order()]
    for name, told in listed.items():
        values = {at: v.number for at, v in measure(drive, quantity, name).items()}
        assert told == pytest.approx(values.get(lap, median(values.values())))
    assert (fact.values["lap"], fact.verdict) == (lap, "no" if asks else None)


@pytest.mark.parametrize(
    ("slots", "right"),
    [
        (Slots(corners=("Turn 4",), quantity="full_throttle", all_laps=True), False),
        (Slots(corners=("Turn 4",), quantity="full_throttle", negated=True), True),
        (Slots(corners=("Turn 4",), quantity="brake_point"), True),
        (Slots(corners=("Turn 4",), quantity="brake_point", negated=True), False),
        (Slots(quantity="speed", order="high", amounts=(Value(20.0, "km/h"),)), True),
        (Slots(quantity="speed", order="high", amounts=(Value(900.0, "km/h"),)), False),
        (Slots(laps=(OWN.best,), order="most"), True),
        (Slots(laps=(OWN.slowest,), order="most"), False),
        (Slots(laps=(OWN.best, OWN.slowest), order="most"), True),
        (Slots(quantity="speed", corners=("Turn 4",), order="least"), True),
        (Slots(quantity="speed", corners=("Turn 7",), order="least"), False),
        (Slots(laps=(OWN.slowest,), order="worst"), True),
        (Slots(laps=(OWN.best, OWN.slowest), order="more"), True),
    ],
)
def test_claims_are_checked(slots: Slots, *, right: bool) -> None:
    verdict = tell("measure", replace(slots, claims=True))[0].verdict
    assert verdict == ("right" if right else "wrong")


def test_the_same_place_on_every_lap_is_checked_by_its_range() -> None:
    points = [OWN.brake_point(1, lap) for lap in OWN.laps]
    width = max(points) - min(points)
    said = Slots(corners=("Turn 1",), quantity="brake_point", claims=True, varies=True)
    asked: tuple[tuple[NeedKind, Order], ...] = (
        ("measure", "each"),
        ("measure", "alike"),
        ("corner_spread", "alike"),
        ("corner_spread", "spread"),
    )
    for kind, order in asked:
        fact = tell(kind, replace(said, order=order, varies=order != "each"))[0]
        assert number(fact, "width") == pytest.approx(width, abs=4.0)
        right = "right" if number(fact, "width") < 6.0 else "wrong"
        assert fact.verdict == (right if order != "spread" else None), (kind, order)


def test_a_better_exit_is_denied_where_even_the_best_one_is_level_with_the_usual() -> None:
    asked = Slots(quantity="speed", spot="exit", order="most", gains=True, whether=True)
    seen = set()
    for turn in range(1, 12):
        fact = tell("measure", replace(asked, corners=(f"Turn {turn}",)))[0]
        level = abs(number(fact, "value") - number(fact, "usual")) < 1.0
        assert fact.verdict == ("no" if level else None)
        seen.add(level)
    assert seen == {True, False}


def test_the_worst_braking_is_where_the_way_to_the_apex_costs_most() -> None:
    asked = Slots(pedal="brake", order="worst", where=True, open=True)
    ranked = sorted(reviews.compare(scene()).lost, key=lambda loss: -loss.entry_s)
    first, second = (tell("measure", replace(asked, place=place))[0] for place in (1, 2))
    assert (first.kind, number(first, "part")) == ("loss-spot", ranked[0].entry_s)
    assert [one.values["corner"] for one in (first, second)] == [
        Corner(loss.corner) for loss in ranked[:2]
    ]


def test_places_on_both_sides_of_the_entry_are_told_apart() -> None:
    side, values = orient("brake_point", Value(3.0, "m"), Value(-2.0, "m"))
    assert (side.key, *values) == (
        "before-entry",
        Value(3.0, "m"),
        Value(-2.0, "m", side="after-entry"),
    )
    assert orient("brake_point", Value(-3.0, "m"), Value(-2.0, "m"))[0].key == "after-entry"


def test_the_slowest_corner_is_that_of_the_lowest_speed_and_time_means_what_is_lost() -> None:
    slowest = tell("measure", Slots(order="least", where=True))[0]
    assert slowest.values["where"] == Corner("Turn 4")
    assert tell("measure", Slots(quantity="time", order="most", where=True))[0].kind == "loss-most"


def test_any_place_from_an_end_is_told_of_corners_and_of_laps() -> None:
    usual = {
        c.number: median(OWN.speed_at(c.number, "apex", lap) for lap in OWN.laps)
        for c in TRACK.corners
    }
    ranked = sorted(usual, key=lambda turn: usual[turn])
    tops = sorted(float(OWN.on_lap(lap, "speed_ms").max()) * KMH for lap in OWN.laps)
    for place in (1, 2, 3):
        slots = Slots(quantity="speed", order="least", where=True, place=place)
        assert tell("measure", slots)[0].values["where"] == Corner(f"Turn {ranked[place - 1]}")
        slots = Slots(quantity="speed", order="most", which="lap", place=place)
        assert number(tell("measure", slots)[0], "value") == pytest.approx(tops[-place], abs=0.6)


def test_the_straights_are_told_by_the_time_that_they_cost() -> None:
    roads = [road for road in drive_in(scene()).straights if road.start_m < road.end_m]
    lost = {}
    for road in roads:
        times = [OWN.spent(lap, road.start_m, road.end_m) for lap in OWN.laps]
        lost[road.name] = median(times) - min(times)
    told = tell("measure", Slots(quantity="time", order="most", which="straight"))
    assert [fact.gain_s for fact in told] == sorted((fact.gain_s for fact in told), reverse=True)  # type: ignore[type-var]
    for fact in told:
        if fact.place and fact.place.straight in lost:
            assert fact.gain_s == pytest.approx(lost[fact.place.straight], abs=0.1)


def test_the_laps_past_a_limit_are_named() -> None:
    tops = {lap: float(OWN.on_lap(lap, "speed_ms").max()) * KMH for lap in OWN.laps}
    limit = sum(sorted(tops.values())[2:4]) / 2
    for side in ("above", "below"):
        amounts = (Value(limit, "km/h"),)
        (fact,) = tell("measure", Slots(quantity="speed", side=side, amounts=amounts))
        past = tuple(lap for lap in tops if (tops[lap] > limit) == (side == "above"))
        assert fact.values["named"] == past


def placed(cell: Cell) -> dict[str, float]:
    """Names and numbers of a list of places."""
    assert isinstance(cell, tuple)
    found = [each for each in cell if isinstance(each, Placed)]
    assert len(found) == len(cell)
    return {getattr(each.place, "name", str(each.place)): each.value.number for each in found}


def test_laps_are_ranked_by_any_quantity_and_both_ends_of_one_are_told() -> None:
    speeds = {lap: OWN.speed_at(8, "apex", lap) for lap in OWN.laps}
    ranked = sorted(speeds, key=lambda lap: -speeds[lap])
    slots = Slots(corners=("Turn 8",), quantity="speed", spot="apex", order="most")
    (listed,) = tell("measure", replace(slots, ranked=True))
    assert listed.values["laps"] == tuple(ranked)
    (ends,) = tell("measure", replace(slots, which="lap"))
    assert (ends.values["lap"], ends.values["last_lap"]) == (ranked[0], ranked[-1])
    assert f"lap {ranked[-1]}" in words_of("en", "metric").sentence(ends)


@pytest.mark.parametrize("turn", [1, 4, 8, 11])
def test_whether_two_drivers_do_the_same_is_answered_by_how_far_they_are_apart(turn: int) -> None:
    slots = Slots(corners=(f"Turn {turn}",), quantity="brake_point", drivers=("Ben",))
    (fact,) = tell("measure", replace(slots, order="alike", whether=True))
    points = [median(one.brake_point(turn, lap) for lap in one.laps) for one in (OWN, OTHER)]
    assert abs(points[0] - points[1]) == pytest.approx(number(fact, "difference"), abs=3.0)
    assert fact.verdict == ("yes" if number(fact, "difference") < 3.0 else "no")


def test_enough_is_not_too_little() -> None:
    slots = Slots(quantity="brake_pressure", pedal="brake", order="low", whether=True)
    little, enough = (tell("measure", replace(slots, enough=each))[0] for each in (False, True))
    assert {little.verdict, enough.verdict} == {"yes", "no"}


def test_a_claim_of_twice_the_difference_is_not_so() -> None:
    apart = median(OTHER.speed_at(8, "apex", lap) for lap in OTHER.laps)
    apart -= median(OWN.speed_at(8, "apex", lap) for lap in OWN.laps)
    order: Order = "more" if apart > 0 else "fewer"
    for size, verdict in ((1.0, "right"), (2.0, "wrong")):
        amount = Value(abs(apart) * size + (size - 1) * 2, "km/h")
        slots = Slots(corners=("Turn 8",), quantity="speed", spot="apex", drivers=("Ben",))
        said = replace(slots, order=order, than_me=True, claims=True, amounts=(amount,))
        assert tell("measure", said)[0].verdict == verdict


def test_usual_laps_are_compared_where_those_are_asked_about() -> None:
    slots = Slots(drivers=("Ben",), where=True, gains=True, than_me=True, order="mean")
    told = tell("rival_where", slots)
    assert {fact.values["on"] for fact in told if fact.kind == "rival-corner"} == {"usual"}


def test_of_another_day_it_is_said_when_the_recording_was() -> None:
    kinds = [fact.kind for fact in tell("best_lap", Slots(other_day=True))]
    assert kinds[:2] == ["session-time", "lap-best"]


def test_the_corners_below_a_speed_are_counted_and_named() -> None:
    slots = Slots(quantity="speed", spot="apex", side="below", where=True)
    slots = replace(slots, amounts=(Value(60.0, "km/h"),))
    (told,) = tell("measure", slots)
    usual = {
        one.name: median(OWN.speed_at(one.number, "apex", lap) for lap in OWN.laps)
        for one in TRACK.corners
    }
    slow = {name: speed for name, speed in usual.items() if speed < 60.0}
    assert placed(told.values["named"]) == pytest.approx(slow, abs=0.6)
    assert (told.values["count"], told.values["all"]) == (len(slow), len(usual))


def test_the_first_few_of_a_ranking_are_told_in_order() -> None:
    slots = Slots(quantity="speed", order="least", which="corner", where=True, count=3)
    (told,) = tell("measure", slots)
    usual = [
        (median(OWN.speed_at(one.number, "apex", lap) for lap in OWN.laps), one.name)
        for one in TRACK.corners
    ]
    assert list(placed(told.values["listed"])) == [name for _, name in sorted(usual)[:3]]


def test_of_another_driver_alone_that_session_is_told_and_of_both_each() -> None:
    asked = Slots(quantity="speed", drivers=("Ben",), laps=(2,))
    (lowest,) = tell("measure", replace(asked, alone=True, order="least", which="corner"))
    slowest = min(range(1, 12), key=lambda turn: OTHER.speed_at(turn, "apex", 2))
    assert (lowest.driver, lowest.values["lap"]) == ("Ben", 2)
    assert lowest.place is not None
    assert lowest.place.corner == f"Turn {slowest}"
    both = tell("measure", replace(asked, laps=(), every_corner=True))
    assert [fact.driver for fact in both] == ["Ana", "Ben"]
    for fact, truth in zip(both, (OWN, OTHER), strict=True):
        usual = median(truth.speed_at(4, "apex", lap) for lap in truth.laps)
        assert placed(fact.values["listed"])["Turn 4"] == pytest.approx(usual, abs=0.6)


def test_the_lap_that_a_corner_was_worst_on_is_explained() -> None:
    slots = Slots(corners=("Turn 4",), which="lap", order="worst", why=True)
    first, *rest = tell("measure", slots)
    times = measure(drive_in(scene()), "time", "Turn 4")
    worst = max(times, key=lambda lap: times[lap].number)
    assert first.laps == (worst,)
    assert [fact.laps[0] for fact in rest if fact.kind == "loss-corner"] == [worst]
    (best,) = tell("sector_times", Slots(sectors=(2,), order="most", without=(OWN.best,)))
    times = measure(drive_in(scene()), "time", "Sector 2")
    rest_of = {lap: value.number for lap, value in times.items() if lap != OWN.best}
    assert best.laps == (min(rest_of, key=lambda lap: rest_of[lap]),)


@pytest.mark.parametrize("said", ["more", "fewer"])
def test_what_is_said_of_every_corner_is_held_against_each(said: Order) -> None:
    slots = Slots(quantity="speed", spot="apex", order=said, drivers=("Ben",), claims=True)
    (told,) = tell("measure", replace(slots, every_corner=True))
    sign, hits = (1 if said == "more" else -1), set()
    for one in TRACK.corners:
        own, other = (
            median(truth.speed_at(one.number, "apex", lap) for lap in truth.laps)
            for truth in (OWN, OTHER)
        )
        if abs(sign * (own - other) - 1.0) > 0.5:  # not at the limit of what is told apart
            assert (one.name in placed(told.values["named"])) == (sign * (own - other) > 1.0)
            hits.add(sign * (own - other) > 1.0)
    assert told.verdict == ("right" if hits == {True} else "wrong")


def test_a_lift_on_one_lap_alone_is_named() -> None:
    t, throttle = OWN.column(TIMESTAMP), OWN.column("throttle_pct").copy()
    for lap in OWN.laps:
        begin, end = (OWN.passed(lap, place) for place in (1700.0, 1810.0))
        throttle[(t >= begin) & (t <= end)] = 40.0 if lap == 3 else 100.0
    columns = {**OWN.frames.columns, "throttle_pct": throttle}
    truth = Truth(TRACK, OWN.driven._replace(frames=Frames(columns)))
    slots = Slots(corners=("Turn 7",), quantity="full_throttle", all_laps=True)
    (fact,) = tell("measure", replace(slots, claims=True), scene_of(record(truth.frames)))
    assert fact.verdict == "partly"
    assert fact.values["laps"] == (3,)
    said = words_of("en", "metric").sentence(fact)
    assert said == "Not on every lap: Turn 7, throttle lifted on lap 3, to 40% at the lowest."


def test_grip_is_told_beside_what_the_car_reached_here() -> None:
    least, caveat = tell("grip", Slots())
    top = max(v.number for v in measure(drive_in(scene()), "total_g").values())
    assert 0 < number(least, "value") <= number(least, "last_value") <= top + 0.01
    assert number(caveat, "envelope") <= top + 0.01
    lead = tell("grip", Slots(quantity="slip_angle"))[0]
    assert lead.kind == "not-recorded"


def test_what_was_not_recorded_is_said_and_never_a_zero() -> None:
    bare = scene_of(record(OWN.frames, without=PEDALS))
    for quantity in ("brake_point", "brake_pressure", "throttle_point", "coasting"):
        (fact,) = tell("measure", Slots(corners=("Turn 1",), quantity=quantity), bare)
        assert (fact.kind, fact.values["quantity"]) == ("not-recorded", Term("quantity", quantity))
    assert tell("coasting", Slots(), bare)[0].kind == "not-recorded"
    assert tell("measure", Slots(quantity="gear"))[0].kind == "not-recorded"


def test_a_place_or_lap_that_does_not_exist_is_put_right_first() -> None:
    strange = Slots(strange=(Strange("corner", "Turn 14"),), quantity="speed")
    assert tell("measure", strange)[0].kind == "no-corner"
    assert tell("measure", Slots(laps=(44,), quantity="speed"))[0].kind == "no-lap"


def test_whoever_asks_what_to_do_is_told_where_they_stand() -> None:
    corners = tuple(f"Turn {turn}" for turn in range(1, 12))
    seen = set()
    for corner in corners:
        asked = Slots(corners=(corner,), quantity="brake_point", order="late")
        (doubted, *_), (wished, *more) = (
            tell("measure", replace(asked, wishes=wishes)) for wishes in (False, True)
        )
        if doubted.kind != "compare":
            continue
        verdicts = [fact.verdict for fact in (doubted, wished)]
        compared, lost = wished.values["compared"], wished.values["lost"]
        seen.add(compared)
        if [fact.kind for fact in more] == ["danger"]:
            assert verdicts[1] is None
        elif compared == "early" and lost == "yes":
            assert verdicts == ["no", "yes"]
        elif compared == "late":
            assert verdicts[1] == "no"
    assert seen >= {"early"}
    asked = Slots(corners=("Turn 4",), quantity="brake_point", order="late", wishes=True)
    assert [fact.kind for fact in tell("measure", asked)][-1] == "danger"


def test_the_average_speed_is_the_length_over_the_time() -> None:
    found = measure(drive_in(scene()), "mean_speed")
    for lap in drive_in(scene()).counted:
        expected = drive_in(scene()).length_m / lap.duration_s * KMH
        assert found[lap.number or 0].number == pytest.approx(expected)


def test_from_the_entry_to_the_apex_a_speed_is_the_difference_of_both() -> None:
    drive = record(OWN.frames)
    entry, apex = (measure(drive, "speed", "Turn 4", spot) for spot in ("entry", "apex"))

    (fact,) = tell("measure", Slots(corners=("Turn 4",), quantity="speed", spot="entry_apex"))

    differences = [apex[lap].number - entry[lap].number for lap in entry]
    assert number(fact, "usual") == pytest.approx(median(differences))


def test_several_spots_and_quantities_are_each_told() -> None:
    spots = Slots(corners=("Turn 4",), quantity="speed", spot="entry", also=((None, "exit"),))
    both = Slots(corners=("Turn 4",), quantity="brake_point", also=(("speed", "apex"),))

    assert [fact.values["at"] for fact in tell("measure", spots)] == [
        Term("at", "entry"),
        Term("at", "exit"),
    ]
    assert [fact.values["what"] for fact in tell("measure", both)] == [
        Term("measured", "brake_point"),
        Term("measured", "speed_corner"),
    ]


def test_the_corners_without_braking_are_those_where_no_lap_brakes() -> None:
    slots = Slots(quantity="brake_point", where=True, negated=True)

    (fact,) = tell("measure", slots)

    seconds = {c.name: measure(record(OWN.frames), "brake_time", c.name) for c in TRACK.corners}
    without = [n for n, laps in seconds.items() if all(v.number <= 0.05 for v in laps.values())]
    assert fact.kind == "none-where"
    assert fact.values["corners"] == tuple(Corner(name) for name in without)


@pytest.mark.parametrize("than_me", [True, False])
def test_whether_a_rival_is_quicker_is_answered_with_yes_or_no(than_me: bool) -> None:
    slots = Slots(drivers=("Ben",), gains=True, than_me=than_me, whether=True)

    fact = tell("rival_gap", slots)[0]

    assert (fact.verdict == "yes") == ((OTHER.time(OTHER.best) < OWN.time(OWN.best)) == than_me)
    said = words_of("de", "metric").sentence(fact)
    assert said.startswith("Ja: " if fact.verdict == "yes" else "Nein: ")


NAMES: Final = Names(
    tuple(CornerNames(one.name, one.number, one.nicknames) for one in TRACK.corners),
    tuple(OWN.laps),
    tuple(sector.name for sector in TRACK.sectors),
    tuple(straight.name for straight in TRACK.straights),
    "Ana",
    ("Ben",),
)


def verdict_of(text: str) -> bool | None:
    """Whether the answer to a question says that it is so; None: it does not say."""
    (need,) = read_question(text, NAMES, None).needs
    (fact, *_) = tellers.tell(scene(), need)
    said = {"yes": True, "right": True, "no": False, "wrong": False}
    return said.get(fact.verdict or "")


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1), (3, 5), (5, 3)])
def test_what_is_said_of_two_laps_is_answered_as_it_was(first: int, second: int) -> None:
    quicker = OWN.time(first) < OWN.time(second)
    for text, so in (
        (f"was lap {first} quicker than lap {second}", quicker),
        (f"lap {first} was slower than lap {second}, right?", not quicker),
        (f"lap {first} wasn't quicker than lap {second}, was it", not quicker),
        (f"war Runde {first} schneller als Runde {second}", quicker),
        (f"lap {first} was my best lap, wasn't it", first == OWN.best),
        (f"was lap {second} my slowest", second == OWN.slowest),
    ):
        assert verdict_of(text) == so, text


@pytest.mark.parametrize("turn", [1, 4, 8, 11])
def test_what_is_said_of_two_drivers_is_answered_as_it_was(turn: int) -> None:
    points, speeds = [], []
    for truth in (OWN, OTHER):
        points.append(median(truth.brake_point(turn, lap) for lap in truth.laps))
        speeds.append(median(truth.speed_at(turn, "apex", lap) for lap in truth.laps))
    if abs(points[0] - points[1]) > 6.0:  # twice what is told apart
        later = points[0] < points[1]
        assert verdict_of(f"do I brake later than Ben into turn {turn}") == later
        assert verdict_of(f"I brake earlier than Ben into turn {turn}, don't I") != later
        assert verdict_of(f"does Ben brake later than me at turn {turn}") != later
    if abs(speeds[0] - speeds[1]) > 2.0:
        faster = speeds[0] > speeds[1]
        assert verdict_of(f"am I faster than Ben at the apex of turn {turn}") == faster
        assert verdict_of(f"Ben carries more speed than me in turn {turn}, right?") != faster
    limit = round(median(OWN.speed_at(turn, "apex", lap) for lap in OWN.laps)) - 5
    assert verdict_of(f"was I above {limit} km/h at the apex of turn {turn}") is True
    assert verdict_of(f"I was above {limit + 10} km/h at the apex of turn {turn}, right?") is False
