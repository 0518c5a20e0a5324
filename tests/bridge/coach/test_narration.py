"""What of a model's words reaches the driver: what the facts bear out, and no false number."""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.coach.bearing import Evidence
from runtime.bridge.coach.fact import Cell, Fact, Place, Value
from runtime.bridge.coach.narration import schema_of, split_sentences, weigh
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.slots import CornerNames, Names
from runtime.bridge.coach.wording.words import Words

NICKNAMES: Final = {4: ("Storm Hook", "the hairpin"), 7: ("The Wink",)}
NAMES: Final = Names(
    tuple(CornerNames(f"Turn {at}", at, NICKNAMES.get(at, ())) for at in range(1, 12)),
    tuple(range(1, 10)),
    asker="Ana",
    drivers=("Ben",),
)


class Told(Words):
    """Words that say of each fact what the test says."""

    def sentence(self, fact: Fact) -> str:
        return str(fact.values["text"])


def told(text: str, corner: str = "", laps: Sequence[int] = (), **values: Cell) -> Fact:
    """A fact that *text* words; what to do begins with a star."""
    kind = "advice" if text.startswith("*") else "fact"
    place = Place(corner) if corner else None
    return Fact(kind, {"text": text.lstrip("*"), **values}, place, tuple(laps))


LOSS: Final = (
    told(
        "Turn 1 costs most: 0.82 s on the usual lap against the best lap.",
        "Turn 1",
        loss=Value(0.823, "s"),
    ),
    told(
        "Cause: braking 21 m earlier; also coasting between brake and throttle and a low minimum"
        " speed.",
        "Turn 1",
        amount=Value(21.2, "m"),
    ),
    told(
        "Next: Turn 11, 0.27 s, and Turn 8, 0.22 s.",
        first=Value(0.271, "s"),
        second=Value(0.219, "s"),
    ),
    told(
        "*Turn 1: brake later, 5 m at a time at most, from 127 m to 106 m before the corner."
        " Reached already on lap 4, worth up to 0.82 s a lap.",
        "Turn 1",
        laps=(4,),
        step=Value(5, "m"),
        now=Value(127.2, "m"),
        aim=Value(106.0, "m"),
        loss=Value(0.823, "s"),
    ),
)
RIVAL: Final = (
    told(
        "Turn 11: 0.20 s lost to Ben; cause: braking early, by 7.4 m.",
        "Turn 11",
        lost=Value(0.198, "s"),
        by=Value(7.4, "m"),
    ),
    told(
        "Turn 11: Ben coasts 0.90 s less, 0.20 s, not 1.10 s.",
        "Turn 11",
        less=Value(0.9, "s"),
        his=Value(0.2, "s"),
        own=Value(1.1, "s"),
    ),
    told("Turn 11: Ben is back on the throttle 11 m earlier.", "Turn 11", by=Value(11.3, "m")),
    told(
        "Turn 11: the minimum speed of Ben is 1.8 km/h higher, 89.2 km/h, not 87.4 km/h.",
        "Turn 11",
        by=Value(1.8, "km/h"),
        his=Value(89.2, "km/h"),
        own=Value(87.4, "km/h"),
    ),
)
LAPS: Final = (
    told(
        "Best lap: 1:52.204, lap 4, of 9 that count.",
        laps=(4,),
        time=Value(112.204, "lap_time"),
        count=9,
    ),
    told("That is 1.48 s ahead of the next best, lap 3.", laps=(4, 3), gap=Value(1.481, "s")),
    told(
        "Lap times are fairly steady: ±0.91 s (standard deviation) over all 9 laps; from 1:52.204"
        " to 1:55.972, a range of 3.77 s.",
        spread=Value(0.912, "s"),
        low=Value(112.204, "lap_time"),
        high=Value(115.972, "lap_time"),
        width=Value(3.768, "s"),
        count=9,
    ),
)
CORNER: Final = (
    told("Turn 4 costs no measurable time on the usual lap against the best lap.", "Turn 4"),
    told(
        "Turn 4, brake point: 90 m before the corner, best lap 91 m.",
        "Turn 4",
        own=Value(90.1, "m"),
        best=Value(90.8, "m"),
    ),
    told(
        "Turn 4: slowest point 47.6 km/h, exit 63.3 km/h; best lap 47.6 km/h and 63.3 km/h.",
        "Turn 4",
        low=Value(47.6, "km/h"),
        leave=Value(63.3, "km/h"),
    ),
)
GERMAN: Final = (
    told(
        "Kurve 1 kostet am meisten: 0,82 s in der üblichen Runde gegen die beste Runde.",
        "Turn 1",
        loss=Value(0.823, "s"),
    ),
    told("Ursache: Bremsen 21 m früher.", "Turn 1", amount=Value(21.2, "m")),
    told(
        "*Kurve 1: später bremsen, höchstens 5 m auf einmal, von 127 m auf 106 m vor der Kurve.",
        "Turn 1",
        step=Value(5, "m"),
        now=Value(127.2, "m"),
        aim=Value(106.0, "m"),
    ),
)
FRENCH: Final = (
    told(
        "Virage 1 coûte le plus : 0,82 s au tour habituel par rapport au meilleur tour.",
        "Turn 1",
        loss=Value(0.823, "s"),
    ),
    told("Cause : freinage 21 m plus tôt.", "Turn 1", amount=Value(21.2, "m")),
    told("*Virage 1 : freiner plus tard, de 127 m à 106 m.", "Turn 1", aim=Value(106.0, "m")),
)
SPANISH: Final = (
    told(
        "La curva 1 es la que más cuesta: 0,82 s en la vuelta habitual frente a la mejor.",
        "Turn 1",
        loss=Value(0.823, "s"),
    ),
    told("Causa: frenar 21 m antes.", "Turn 1", amount=Value(21.2, "m")),
    told("*Curva 1: frenar más tarde, de 127 m a 106 m.", "Turn 1", aim=Value(106.0, "m")),
)


class Case(NamedTuple):
    language: Language
    facts: tuple[Fact, ...]
    true: str
    false: str


CASES: Final = (
    Case(
        "en",
        LOSS,
        """
        Turn 1 is where you lose the most time: 0.82 s a lap against your best lap.
        The biggest loss is Turn 1, about eight tenths a lap.
        You brake about 21 m earlier than on your best lap at Turn 1.
        That early braking costs you 0.82 s in Turn 1.
        At Turn 1 you are braking 21 metres too early.
        Because you brake early, you end up coasting between the brake and the throttle.
        After Turn 1, Turn 11 costs 0.27 s and Turn 8 costs 0.22 s.
        Next biggest is Turn 11 with 0.27 s.
        Turn 8 is worth another 0.22 s.
        Move your braking point at Turn 1 from 127 m to 106 m, 5 m at a time.
        Try braking a few metres later at Turn 1 and keep your eyes on the apex.
        You already braked that late on lap 4, so you know it works.
        You did it on lap 4.
        Focus on Turn 1 next session; leave the others alone.
        Braking later at Turn 1 is worth up to 0.82 s a lap.
        Pick a marker at 106 m and commit to it.
        Take it in small steps of 5 m.
        The minimum speed at Turn 1 is low too.
        Turn 1 first, then Turn 11.
        Your best lap shows the time is there.
        There is up to 0.82 s to gain at Turn 1.
        Brake later at Turn 1, 5 m at a time.
        Look for a fixed reference beside the track and brake there.
        Release the brake smoothly as you turn in.
        Keep your eyes up and trust your marker.
        Work on one corner at a time.
        Once the braking is later, the coasting will shrink by itself.
        Turn 1 costs 0.8 seconds on your usual lap.
        The cause is simple: you brake 21 m earlier.
        Well done, the speed is there on lap 4.
        Turn 11 and Turn 8 come after that, with 0.27 s and 0.22 s.
        Turn 1 alone is worth more than Turn 11 and Turn 8.
        Going from 127 m to 106 m is a big step, so take it 5 m at a time.
        If you brake at 106 m as on lap 4, you gain up to 0.82 s a lap.
        Stay patient and build it up lap by lap.
        You roll between brake and throttle at Turn 1.
        """,
        """
        Turn 1 costs 1.4 s a lap.
        Turn 2 costs you 0.82 s.
        Turn 11 costs 0.82 s.
        You brake 35 m too early at Turn 1.
        You brake 21 m too late at Turn 1.
        You brake too late at Turn 1.
        Brake earlier at Turn 1.
        Turn 8 costs more than Turn 1.
        You lost 0.27 s at Turn 8.
        Turn 12 was bad.
        You gain 0.82 s at Turn 1 against your best lap.
        You were faster at Turn 1 than on your best lap.
        Turn 1 is your best corner.
        You locked up at Turn 1.
        You spun on lap 6.
        Your tyres were too hot.
        You were in third gear at Turn 1.
        Move the brake point from 106 m to 90 m.
        You never coast.
        You lose 0.82 s at every corner.
        Your best lap was lap 7.
        Your exit speed at Turn 1 was 88 km/h.
        The apex speed was 97 km/h.
        You lose half a second at Turn 1.
        You lose two seconds at Turn 1.
        Turn 1 costs less than 0.3 s.
        Copse was slow too.
        You did not brake early at Turn 1.
        Turn 5 and Turn 6 cost 0.5 s.
        Go flat out through Turn 7.
        You reached it on lap 5.
        Ben is faster there.
        In the wet it would be worse.
        The hairpin costs you most.
        Turn 1 costs least.
        """,
    ),
    Case(
        "en",
        RIVAL,
        """
        At Turn 11 you lose 0.20 s to Ben.
        Ben brakes about 7 m later than you at Turn 11.
        You brake 7.4 m earlier than Ben into Turn 11.
        Ben coasts 0.90 s less there.
        Ben only coasts for 0.20 s where you coast for 1.10 s.
        You coast 1.1 s at Turn 11, Ben 0.2 s.
        Ben gets back on the throttle 11 m earlier.
        He picks up the throttle 11 metres sooner at Turn 11.
        Ben carries 1.8 km/h more through the slowest point of Turn 11.
        His minimum speed is 89.2 km/h against your 87.4 km/h.
        You are 1.8 km/h slower than Ben at the slowest point of Turn 11.
        So the gap at Turn 11 is two tenths.
        Brake a little later at Turn 11 and get back to power sooner.
        Try to shorten the coasting at Turn 11.
        The difference is mostly in the coasting and the throttle.
        Go straight from the brake to the throttle.
        Ben is 0.20 s quicker through Turn 11.
        Copy his braking point in small steps.
        """,
        """
        Ben brakes 7 m earlier than you at Turn 11.
        You coast 0.90 s less than Ben.
        Ben is 0.90 s faster at Turn 11.
        Ben carries 5 km/h more.
        Ben's minimum speed is lower.
        You are quicker than Ben at Turn 11.
        You lose 0.20 s at Turn 4 to Ben.
        Tom brakes later than you.
        Ben has the faster car.
        Ben gets on the throttle 21 m earlier.
        Ben lost 0.20 s to you at Turn 11.
        You gain 0.20 s on Ben at Turn 11.
        Ben is 0.20 s slower at Turn 11.
        Ben brakes 7 m harder.
        Your exit speed is 89.2 km/h.
        Ben used 60 bar.
        """,
    ),
    Case(
        "en",
        LAPS,
        """
        Your best lap was 1:52.204 on lap 4.
        Lap 4 was the best of your 9 laps.
        That is 1.48 s quicker than lap 3, the next best.
        It stands 1.48 s ahead of the next best lap.
        Your laps were fairly steady, with a spread of 0.91 s.
        The range was 3.77 s, from 1:52.204 to 1:55.972.
        Nine laps count.
        A standard deviation of 0.91 s is fairly steady.
        Your quickest lap, lap 4, was a 1:52.2.
        Aim to repeat lap 4.
        """,
        """
        Your best lap was 1:51.204.
        Your best lap was lap 3.
        Lap 6 was your best.
        Lap 4 was your slowest lap.
        Seven laps count.
        Your laps were very uneven.
        You improved every lap.
        The spread was 1.91 s.
        Lap 3 was 1.48 s quicker than lap 4.
        You were 3.77 s faster at the end.
        The range was 0.91 s.
        """,
    ),
    Case(
        "en",
        CORNER,
        """
        Turn 4 is fine: it costs no measurable time.
        You brake 90 m before the corner, practically the same as the 91 m of your best lap.
        Your slowest point is 47.6 km/h, the same as on your best lap.
        You leave Turn 4 at 63.3 km/h.
        There is nothing to gain at Turn 4 for now.
        Keep Turn 4 as it is.
        Your exit speed of 63.3 km/h matches your best lap.
        """,
        """
        Turn 4 costs 0.4 s.
        You brake 90 m too late.
        Your exit speed is 47.6 km/h.
        You are slower than your best lap at Turn 4.
        You brake earlier than on your best lap.
        Turn 4 has the biggest loss.
        Your apex is at 63.3 km/h.
        """,
    ),
    Case(
        "de",
        GERMAN,
        """
        Kurve 1 kostet 0,82 s, das ist der größte Brocken.
        In Kurve 1 verlierst du 0,82 s pro Runde.
        Du bremst dort rund 21 m zu früh.
        Das frühe Bremsen kostet dich acht Zehntel.
        Brems in Kurve 1 später, in Schritten von 5 m.
        Versuche, den Bremspunkt von 127 m auf 106 m zu verschieben.
        Schau früh zum Scheitel und bleib ruhig am Lenkrad.
        Konzentrier dich in der nächsten Session nur auf Kurve 1.
        Such dir bei 106 m eine feste Marke.
        """,
        """
        Kurve 1 kostet 1,4 s.
        Kurve 7 kostet am meisten.
        Du bremst 21 m zu spät.
        In Kurve 1 gewinnst du 0,82 s.
        Brems in Kurve 1 früher.
        Du hast dich in Runde 6 gedreht.
        Kurve 1 kostet nicht viel.
        In Kurve 15 war es gut.
        Deine Reifen waren zu heiß.
        """,
    ),
    Case(
        "fr",
        FRENCH,
        """
        Le virage 1 te coûte 0,82 s par tour.
        Tu freines environ 21 m trop tôt.
        Le freinage trop tôt coûte huit dixièmes.
        Freine plus tard au virage 1, par petits pas.
        Essaie de passer de 127 m à 106 m.
        Garde le regard loin devant.
        """,
        """
        Le virage 1 coûte 1,2 s.
        Le virage 5 coûte 0,82 s.
        Tu freines 21 m trop tard.
        Freine plus tôt au virage 1.
        Tu as fait un tête-à-queue.
        Tu gagnes 0,82 s au virage 1.
        """,
    ),
    Case(
        "es",
        SPANISH,
        """
        La curva 1 te cuesta 0,82 s por vuelta.
        Frenas unos 21 m antes de tiempo.
        Frena más tarde en la curva 1, poco a poco.
        Intenta pasar de 127 m a 106 m.
        Mira lejos y mantén la calma.
        """,
        """
        La curva 1 cuesta 1,5 s.
        La curva 9 cuesta 0,82 s.
        Frenas 21 m tarde.
        Hiciste un trompo en la vuelta 6.
        Ganas 0,82 s en la curva 1.
        """,
    ),
)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.fixture(params=CASES, ids=lambda case: f"{case.language}-{case.facts[0].id}")
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def test_nine_of_ten_true_sentences_reach_the_driver() -> None:
    kept, dropped = 0, []
    for case in CASES:
        evidence = Evidence(case.facts, Told(case.language), NAMES)
        for line in lines(case.true):
            if evidence.refute(line) is None:
                kept += 1
            else:
                dropped.append(line)
    assert kept >= 0.9 * (kept + len(dropped)), dropped


def test_no_lie_reaches_the_driver(case: Case) -> None:
    evidence = Evidence(case.facts, Told(case.language), NAMES)
    assert [line for line in lines(case.false) if evidence.refute(line) is None] == []


@pytest.mark.parametrize("corner", range(1, 15))
@pytest.mark.parametrize("wording", ["{0} cost you {1}.", "At {0} you were {1} slower."])
def test_no_number_is_moved_to_another_corner(corner: int, wording: str) -> None:
    evidence = Evidence(LOSS, Told("en"), NAMES)
    for number in ("0.82 s", "1.9 s", "three tenths"):
        true = (corner, number) == (1, "0.82 s")
        sentence = wording.format(f"Turn {corner}", number)
        if not true and (corner, number) != (11, "three tenths"):
            assert evidence.refute(sentence) is not None, sentence


@given(st.floats(0.0, 400.0), st.integers(0, 2), st.sampled_from(["s", "m", "km/h", "bar", "%"]))
def test_no_false_number_passes_whatever_its_unit(value: float, digits: int, unit: str) -> None:
    written = f"{value:.{digits}f}"
    known = {"s": (0.823, 0.271, 0.219), "m": (21.2, 5.0, 127.2, 106.0)}.get(unit, ())
    near = [one for one in known if abs(one - float(written)) <= 0.5 * 10.0**-digits + 0.01]
    evidence = Evidence(LOSS, Told("en"), NAMES)
    if not near:
        assert evidence.refute(f"Look for {written} {unit} there.") is not None


@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    narration = weigh(text, LOSS, Told("en"), NAMES)
    assert narration.order == (1, 2, 3)


def test_a_model_orders_the_facts_behind_the_first_and_adds_what_is_true() -> None:
    remark = "You brake 21 m too early at Turn 1. Turn 1 costs 3.1 s. [EMOTION: proud]"
    reply = {"order": [3, 1, 2], "links": ["then", "also", "because"], "remark": remark}
    narration = weigh(json.dumps(reply), LOSS, Told("en"), NAMES)
    assert narration.order == (3, 1, 2)
    assert narration.links == ("then", "also", "")
    assert narration.remark == "You brake 21 m too early at Turn 1."
    assert (narration.dropped, narration.used, narration.reason) == (1, True, None)


@pytest.mark.parametrize(
    "reply",
    [
        {"order": [0, 1, 2], "links": [], "remark": ""},
        {"order": [1, 1, 2], "remark": 7},
        {"order": "all", "links": {"a": 1}},
        [],
        7,
    ],
)
def test_an_order_that_is_none_changes_nothing(reply: object) -> None:
    narration = weigh(json.dumps(reply), LOSS, Told("en"), NAMES)
    assert narration.order == (1, 2, 3)
    assert (narration.links, narration.remark) == (("", "", ""), "")


def test_an_answer_without_json_counts_as_sentences_and_repeats_nothing() -> None:
    text = "- Cause: braking 21 m earlier.\n2. **Look ahead.** It took 1:52.204. Good."
    assert split_sentences(text) == [
        "Cause: braking 21 m earlier.",
        "Look ahead.",
        "It took 1:52.204.",
        "Good.",
    ]
    same = weigh(str(LOSS[0].values["text"]), LOSS, Told("en"), NAMES)
    assert (same.remark, same.used, same.dropped) == ("", False, 0)
    false = weigh("You spun at Turn 9.", LOSS, Told("en"), NAMES)
    assert (false.remark, false.reason) == ("", "ungrounded")


def test_the_schema_leaves_the_first_fact_where_it_is() -> None:
    order = schema_of(4)["properties"]["order"]  # type: ignore[index]
    assert (order["items"]["minimum"], order["items"]["maximum"]) == (1, 3)
    assert (order["maxItems"], schema_of(1)["properties"]["order"]["maxItems"]) == (3, 0)  # type: ignore[index]
