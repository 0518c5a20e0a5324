"""Facts about laps, sectors, other drivers and earlier sessions, against what is true on paper."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from statistics import mean, median, pstdev
from typing import Any, Final

import pytest

from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.analysis.reference import References, make_reference
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.fact import Corner, Fact, Term, Value
from runtime.bridge.coach.facts.laps import find_last_run
from runtime.bridge.coach.facts.tellers import tell
from runtime.bridge.coach.facts.view import pick_lap
from runtime.bridge.coach.need import (
    Beside,
    Lap,
    Need,
    NeedKind,
    Order,
    Ranked,
    Slots,
    Strange,
    Their,
)
from runtime.bridge.coach.scene import Scene
from runtime.bridge.session.recording import TIMESTAMP, Frames
from tests.bridge.coach.truthkit import (
    TRACK,
    Truth,
    number,
    outing_of,
    record,
    scene_of,
    session_of,
)

NEAR: Final = pytest.approx


@cache
def truth_of(seed: int, count: int = 5, skill: float = 0.8) -> Truth:
    return Truth(TRACK, session_of(TRACK, count, seed=seed, skill=skill))


@cache
def scene() -> Scene:
    """Ana on five laps; Ben, quicker, on three."""
    return scene_of(record(truth_of(1).frames), record(truth_of(2, 3, 0.9).frames))


def ask(kind: NeedKind, told_of: Scene | None = None, **slots: object) -> dict[str, Fact]:
    """The facts by kind; the first of each."""
    facts = tell(told_of or scene(), Need(kind, Slots(**slots)))  # type: ignore[arg-type]
    return {fact.kind: fact for fact in reversed(facts)}


def corner_of(fact: Fact) -> str:
    corner = fact.values["corner"]
    assert isinstance(corner, Corner)
    return corner.name


def behind_s(fact: Fact) -> float:
    """The gap that a fact tells, above 0 where the own side is slower."""
    return number(fact, "gap") * {"behind": 1, "ahead": -1, "level": 0}[str(fact.values["side"])]


ANA: Final = truth_of(1)
BEN: Final = truth_of(2, 3, 0.9)
TIMES: Final = [ANA.time(lap) for lap in ANA.laps]


def test_the_best_lap_and_its_lead_are_true_with_it_or_without_it() -> None:
    ranked = sorted(TIMES)
    for out, at in (((), 0), (("best",), 1)):
        facts = ask("best_lap", without=out)
        best = facts["lap-best"]
        assert best.laps == (TIMES.index(ranked[at]) + 1,)
        assert number(best, "time") == NEAR(ranked[at], abs=0.01)
        assert number(facts["lap-lead"], "gap") == NEAR(ranked[at + 1] - ranked[at], abs=0.02)


def test_a_lap_is_found_by_word_and_number() -> None:
    for lap, expected in (("slowest", ANA.slowest), ("last", 5), ("first", 1), (3, 3)):
        facts = ask("lap_time", laps=(lap,))
        fact = facts.get("lap-time") or facts["lap-best"]
        assert fact.values["lap"] == expected
        assert number(fact, "time") == NEAR(ANA.time(expected), abs=0.01)


def test_average_and_spread_honour_the_laps_left_out() -> None:
    rest = TIMES[:-1]
    average = ask("lap_average", without=("last",))["lap-average"]
    assert number(average, "mean") == NEAR(mean(rest), abs=0.01)
    assert number(average, "median") == NEAR(median(rest), abs=0.01)
    assert average.values["named"] == (5,)
    spread = ask("lap_average", without=(5,), varies=True)["lap-spread"]
    assert number(spread, "spread") == NEAR(pstdev(rest), abs=0.01)
    runs = tell(scene(), Need("lap_average", Slots(laps=(1, 2, 4, 5))))
    means = [number(fact, "mean") for fact in runs]
    assert means == NEAR([mean(TIMES[:2]), mean(TIMES[3:])], abs=0.01)


def test_laps_are_counted_without_out_lap_and_in_lap_and_under_a_limit() -> None:
    facts = ask("lap_count")
    assert facts["lap-count"].values["count"] == 5
    assert facts["lap-count-rest"].values["which"] == "both"
    limit = sorted(TIMES)[2] + 0.02
    named = ask("lap_count", amounts=(Value(limit, "lap_time"),))["measure-limit"]
    assert named.values["count"] == 3
    for gains in (True, False):
        beside = ask("lap_average", order="mean", gains=gains, tally=True)["measure-limit"]
        assert number(beside, "limit") == NEAR(mean(TIMES), abs=0.01)
        hits = [lap for lap, t in enumerate(TIMES, 1) if (t < mean(TIMES)) == gains]
        assert beside.values["named"] == tuple(hits)


def test_a_lap_that_there_is_not_is_put_right() -> None:
    for slots in ({"laps": (30,)}, {"strange": (Strange("lap", "30"),)}):
        assert set(ask("lap_explain", **slots)) == {"no-lap"}
    assert ask("lap_count", laps=(4,), drivers=("Ben",))["no-lap"].values["count"] == 3


def test_a_slow_lap_is_explained_by_a_corner_that_cost_most() -> None:
    facts = ask("lap_explain", laps=("slowest",))
    assert number(facts["lap-explain"], "behind") == NEAR(max(TIMES) - min(TIMES), abs=0.02)
    lost = facts["lap-lost"]
    over = {
        corner.name: ANA.corner_time(corner.number, ANA.slowest)
        - median(ANA.corner_time(corner.number, lap) for lap in ANA.laps)
        for corner in TRACK.corners
    }
    assert over[corner_of(lost)] >= sorted(over.values())[-3] - 0.02
    assert lost.place is not None
    assert lost.place.corner == corner_of(lost)
    assert lost.basis == "usual"


@pytest.mark.parametrize("corners", [(), ("Turn 8",)])
def test_what_was_done_differently_on_a_lap_stands_beside_the_usual_one(
    corners: tuple[str, ...],
) -> None:
    slots = Slots(laps=(ANA.slowest,), corners=corners, differs=True)
    first, *ways = tell(scene(), Need("lap_explain", slots))
    over = {
        corner.name: ANA.corner_time(corner.number, ANA.slowest)
        - median(ANA.corner_time(corner.number, lap) for lap in ANA.laps)
        for corner in TRACK.corners
        if not corners or corner.name in corners
    }
    assert abs(over[corner_of(first)]) >= max(map(abs, over.values())) - 0.05
    assert first.kind == ("lap-lost" if over[corner_of(first)] > 0 else "lap-gained")
    assert ways
    for way in ways:
        assert (way.values["own_of"], way.values["against"]) == ("lap", "usual")
        assert way.laps == (ANA.slowest,)
        assert way.place == first.place


@pytest.mark.parametrize(("laps", "verdict"), [(("each",), "no"), ((), None)])
def test_whether_every_lap_was_under_a_time(laps: tuple[Lap, ...], verdict: str | None) -> None:
    limit = Value(sorted(TIMES)[1] + 0.001, "lap_time")
    slots = Slots(amounts=(limit,), side="below", all_laps=bool(laps))
    told = tell(scene(), Need("lap_count", slots))
    assert (told[0].verdict, told[0].values["count"]) == (verdict, 2)
    assert [number(fact, "time") for fact in told[1:]] == [NEAR(max(TIMES), abs=0.02)] * len(laps)


def test_an_incident_is_told_of_its_lap_which_is_not_the_one_to_show() -> None:
    columns = {name: values.copy() for name, values in ANA.frames.columns.items()}
    begin = ANA.passed(ANA.best, 1600.0)
    there = (columns[TIMESTAMP] > begin) & (columns[TIMESTAMP] < begin + 2.0)
    columns["lat"][there] += 0.0002  # 22 m beside the line
    off_line = scene_of(record(Frames(columns)))
    told = ask("lap_explain", off_line, laps=(ANA.best,))["incident"]
    assert told.values["kind"] == Term("incident", "off_line")
    assert (told.values["placed"], told.laps) == ("yes", (ANA.best,))
    second = sorted(ANA.laps, key=ANA.time)[1]
    facts = ask("video", off_line)
    assert facts["video-lap"].values["lap"] == second
    assert facts["incident"].values["lap"] == ANA.best


def test_two_laps_are_compared_and_the_quicker_one_is_named() -> None:
    told = ask("lap_compare", laps=(2, 4), corners=("Turn 1",))
    assert "lap-loses" not in told  # of all corners only
    assert (told["compare"].values["lap"], told["compare"].values["target_lap"]) in ((2, 4), (4, 2))
    fact = ask("lap_compare", laps=(2, 4))["lap-compare"]
    assert fact.values["lap"] == min(2, 4, key=ANA.time)
    assert number(fact, "gap") == NEAR(abs(ANA.time(2) - ANA.time(4)), abs=0.02)


def test_the_laps_that_are_closest_are_told_and_the_one_closest_to_a_named_lap() -> None:
    apart = {
        frozenset(pair): abs(ANA.time(pair[0]) - ANA.time(pair[1]))
        for pair in combinations(ANA.laps, 2)
    }
    for laps in ((), (2,)):
        fact = ask("lap_compare", order="alike", laps=laps)["lap-alike"]
        pairs = [pair for pair in apart if pair.issuperset(laps)]
        assert {fact.values["lap"], fact.values["other"]} == min(
            pairs, key=lambda pair: apart[pair]
        )


def test_a_lap_of_each_driver_stands_beside_the_other() -> None:
    own, other = truth_of(1), truth_of(2, 3, 0.9)
    ranked = sorted(own.laps, key=own.time)
    laps = (Their("slowest"), Ranked("best", 2))
    told = ask("rival_gap", drivers=("Ben",), laps=laps)["rival-gap"]
    assert (told.values["other_lap"], told.values["lap"]) == (other.slowest, ranked[1])
    apart = own.time(ranked[1]) - other.time(other.slowest)
    assert behind_s(told) == NEAR(apart, abs=0.02)
    told = ask("rival_where", drivers=("Ben",), laps=laps, corners=("Turn 4",))["rival-corner"]
    assert (told.values["on"], told.values["other_lap"]) == ("named", other.slowest)
    without = (Their("slowest"), 2)
    told = ask("rival_spread", drivers=("Ben",), without=without)["rival-spread"]
    times = [own.time(lap) for lap in own.laps if lap != 2]
    its = [other.time(lap) for lap in other.laps if lap != other.slowest]
    spreads = [number(told, name) for name in ("spread", "other_spread")]
    assert spreads == NEAR([pstdev(times), pstdev(its)], abs=0.01)


@pytest.mark.parametrize(
    ("laps", "order", "whose"),
    [
        (("best",), None, ["Ben"]),
        ((Their("slowest"),), None, ["Ana"]),
        ((), None, ["Ana", "Ben"]),
        ((), "mean", ["Ana", "Ben"]),
    ],
)
def test_the_laps_that_beat_the_others_lap_are_counted(
    laps: tuple[Lap, ...], order: Order | None, whose: list[str]
) -> None:
    own, other = truth_of(1), truth_of(2, 3, 0.9)
    told = tell(
        scene(), Need("measure", Slots(drivers=("Ben",), laps=laps, order=order, tally=True))
    )
    times = [[side.time(lap) for lap in side.laps] for side in (own, other)]
    bars = {"Ana": max(times[1]) if laps == (Their("slowest"),) else min(times[1])}
    bars["Ben"] = min(times[0])
    if order:
        bars = {"Ana": mean(times[1]), "Ben": mean(times[0])}
    assert [fact.values["whose"] for fact in told] == whose
    for fact in told:
        name = str(fact.values["whose"])
        mine = times[0] if name == "Ana" else times[1]
        hits = tuple(at for at, time in enumerate(mine, 1) if time < bars[name])
        assert fact.values["named"] == hits
        assert number(fact, "time") == NEAR(bars[name], abs=0.02)


@pytest.mark.parametrize(("off_s", "verdict"), [(0.0, "right"), (0.4, "wrong")])
def test_the_average_gap_that_is_claimed_is_held_against_the_means(
    off_s: float, verdict: str
) -> None:
    sides = (truth_of(1), truth_of(2, 3, 0.9))
    own, other = (mean(truth.time(lap) for lap in truth.laps) for truth in sides)
    said = Value(round(own - other + off_s, 2), "s")
    slots = Slots(drivers=("Ben",), order="mean", claims=True, gains=True, than_me=True)
    need = Need("rival_gap", replace(slots, amounts=(said,)))
    (told,) = (fact for fact in tell(scene(), need) if fact.kind == "rival-mean")
    assert number(told, "gap") == NEAR(own - other, abs=0.02)
    assert told.verdict == verdict


def test_the_lap_beside_another_and_the_oddest_are_picked() -> None:
    laps = scene().outing.drive.counted  # type: ignore[union-attr]
    own = truth_of(1)
    for lap, wanted in ((Beside(3, -1), 2), (Beside(3, 1), 4), (Beside("best", 0), own.best)):
        picked = pick_lap(laps, lap)
        assert picked is not None
        assert picked.number == wanted
    assert pick_lap(laps, Beside(1, -1)) is None
    usual = median(map(own.time, own.laps))
    odd = pick_lap(laps, "odd")
    assert odd is not None
    assert odd.number == max(own.laps, key=lambda lap: abs(own.time(lap) - usual))


def test_sectors_and_the_ideal_lap_are_those_on_paper() -> None:
    best = {s: min(ANA.sector_time(s, lap) for lap in ANA.laps) for s in (1, 2, 3)}
    loss = {s: ANA.sector_loss(s) for s in best}
    second = ask("sector_times", sectors=(2,))["measure-peak"]
    assert number(second, "value") == NEAR(best[2], abs=0.03)
    times = {lap: ANA.sector_time(2, lap) for lap in ANA.laps}
    quickest = min(times, key=lambda lap: times[lap])
    for end, place in (("most", 1), ("worst", -1)):
        slots: dict[str, Any] = {"which": "lap", "order": end, "without": (quickest,)}
        other = ask("sector_times", sectors=(2,), **slots)["measure-peak"]
        assert number(other, "value") == NEAR(sorted(times.values())[place], abs=0.03)
    order = sorted(loss, key=lambda s: -loss[s])
    for place, sector in enumerate(order, 1):
        (ranked,) = tell(scene(), Need("sector_rank", Slots(place=place)))
        assert ranked.place
        assert ranked.place.sector == sector
        assert ranked.gain_s == NEAR(loss[sector], abs=0.03)
    (best_one,) = tell(scene(), Need("sector_rank", Slots(order="most")))
    assert best_one.place
    assert best_one.place.sector == order[-1]
    ideal = ask("ideal_lap")["ideal-lap"]
    assert number(ideal, "time") == NEAR(sum(best.values()), abs=0.05)
    shared = sum(min(t.sector_time(s, lap) for t in (ANA, BEN) for lap in t.laps) for s in best)
    assert number(ask("ideal_lap", drivers=("Ben",))["ideal-shared"], "time") == NEAR(
        shared, abs=0.05
    )
    assert "ideal-shared" not in ask("ideal_lap", drivers=("Ben",), alone=True)
    lead = tell(scene(), Need("sector_explain", Slots(sectors=(2,))))[0]
    assert lead.gain_s == NEAR(loss[2], abs=0.03)


def test_who_drove_first_is_told_first() -> None:
    for earlier in ("Ana", "Ben"):
        sides = []
        for name, truth in (("Ana", ANA), ("Ben", BEN)):
            t = truth.column(TIMESTAMP) + (0 if name == earlier else 3600)
            sides.append(record(Frames({**truth.frames.columns, TIMESTAMP: t})))
        there = scene_of(sides[0], sides[1])
        told = tell(there, Need("session_time", Slots(drivers=("Ben",))))
        assert [fact.kind for fact in told] == ["session-time", "session-time"]
        assert told[0].driver == earlier


def test_the_gap_to_a_rival_and_the_corner_where_it_lies_are_true() -> None:
    fact = ask("rival_gap", drivers=("Ben",))["rival-gap"]
    assert behind_s(fact) == NEAR(min(TIMES) - BEN.time(BEN.best), abs=0.02)
    assert (fact.basis, fact.other) == ("driver", "Ben")
    gaps = {}
    for corner in TRACK.corners:
        begin = corner.entry.distance_m - ANA.approach_m(corner.number)
        own, other = (t.spent(t.best, begin, corner.exit.distance_m) for t in (ANA, BEN))
        gaps[corner.name] = own - other
    assert gaps[corner_of(ask("rival_where")["rival-corner"])] >= sorted(gaps.values())[-3] - 0.02


def test_what_is_wrong_about_a_rival_is_put_right() -> None:
    assert set(ask("rival_gap", strange=(Strange("driver", "Tom"),))) == {"no-driver"}
    assert set(ask("rival_gap", replace(scene(), rivals={}))) == {"no-rival"}
    for car, same in (("V8", "yes"), ("V6", "no"), ("", "unknown")):
        ben = replace(scene(), rivals={"Ben": outing_of(record(BEN.frames), "Ben", car)})
        assert ask("rival_car", ben)["rival-car"].values["same"] == same
    facts = ask("rival_spread", drivers=("Ben",), amounts=(Value(9.0, ""),))
    assert facts["rival-laps"].values["count"] == 3
    assert number(facts["rival-spread"], "spread") == NEAR(pstdev(TIMES), abs=0.01)


@pytest.mark.parametrize("kind", ["tips", "drill", "loss_rank", "strength", "summary"])
def test_what_another_driver_has_to_do_is_told_of_that_session(kind: NeedKind) -> None:
    there = scene()
    ben = there.rivals["Ben"]
    swapped = replace(there, driver="Ben", outing=ben, rivals={})
    lead, *told = tell(there, Need(kind, Slots(drivers=("Ben",), alone=True)))
    assert lead.values["who"] == "Ben"
    assert told == list(tell(swapped, Need(kind)))[:3]
    assert all(fact.driver in ("", "Ben") for fact in told)


def test_a_sector_beside_a_rival_says_who_is_quicker() -> None:
    gap = ANA.sector_time(2, ANA.best) - BEN.sector_time(2, BEN.best)
    for kind in ("sector_explain", "rival_how", "rival_where"):
        fact = ask(kind, sectors=(2,), drivers=("Ben",))["rival-sector"]
        assert behind_s(fact) == NEAR(gap, abs=0.03)
    facts = ask("rival_where", strange=(Strange("sector", "4"),), drivers=("Ben",))
    assert {"no-sector", "rival-sectors"} <= set(facts)


def test_where_somebody_is_quicker_is_told_before_where_they_are_not() -> None:
    gaps = {at: ANA.sector_time(at, ANA.best) - BEN.sector_time(at, BEN.best) for at in (1, 2, 3)}
    for gains, order in ((False, None), (True, None), (False, "most")):
        slots: dict[str, Any] = {"which": "sector", "gains": gains, "order": order}
        told = ask("rival_where", drivers=("Ben",), **slots)["rival-sector"]
        asked = (min if gains else max)(gaps, key=lambda at: gaps[at])
        assert told.values["sector"] == asked
    first, second = (
        tell(scene(), Need("rival_where", Slots(drivers=("Ben",), place=place))) for place in (1, 2)
    )
    assert first[0] not in second
    assert second[0] == first[1]


def earlier_of(*seeds: int) -> tuple[DriverSession, ...]:
    """Sessions a week apart before that of the scene."""
    week = 7 * 86_400_000
    return tuple(
        DriverSession(f"e{at}", 1_795_603_000_000 - at * week, summarise(drive.laps, drive.track))
        for at, seed in reversed(list(enumerate(seeds, 1)))
        for drive in [record(truth_of(seed).frames)]
    )


def test_progress_is_that_to_the_session_before() -> None:
    before = truth_of(3)
    fact = ask("progress", replace(scene(), earlier=earlier_of(3)))["progress-last"]
    assert behind_s(fact) == NEAR(min(TIMES) - before.time(before.best), abs=0.02)
    assert fact.values["date"] == "2026-11-18"
    for kind in ("progress", "no_progress"):
        assert "no-earlier" in ask(kind)


def test_a_reference_lap_on_file_is_the_first_plan() -> None:
    reference = replace(make_reference(record(BEN.frames)), track=TRACK.id)
    planned = replace(scene(), references=References({TRACK.id: reference}))
    fact = ask("theory", planned)["theory-reference"]
    assert number(fact, "time") == NEAR(BEN.time(BEN.best), abs=0.01)
    assert "theory-speeds" in ask("theory")


@pytest.mark.parametrize(
    ("times", "run"),
    [
        ([52.0, 56.0, 52.2, 53.0, 54.0], [52.2, 53.0, 54.0]),
        ([52.0, 54.0, 53.0, 52.5], [54.0, 53.0, 52.5]),
        ([52.0, 53.0, 52.5], [53.0, 52.5]),
        ([52.0, 53.0, 53.0], [53.0]),
    ],
)
def test_last_laps_that_are_each_slower_or_quicker_make_a_run(
    times: list[float], run: list[float]
) -> None:
    assert find_last_run(times) == run
