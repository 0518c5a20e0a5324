"""Questions are understood by examples, slots and the question before."""

from pathlib import Path
from typing import Final, get_args

import numpy as np
import pytest

from runtime.bridge.coach.fact import Value
from runtime.bridge.coach.need import Beside, Language, NeedKind, Ranked, Reading, Slots
from runtime.bridge.coach.roles import FORCED, intent_of
from runtime.bridge.coach.understanding.classify import (
    LEARNT,
    digest_examples,
    list_traits,
    part_kinds,
)
from runtime.bridge.coach.understanding.read import read_question
from runtime.bridge.coach.understanding.slots import CornerNames, Names, read_slots
from runtime.bridge.coach.understanding.tidy import tidy
from runtime.bridge.coach.wording.words import name_terms

NAMES: Final = Names(
    corners=tuple(
        CornerNames(f"Turn {number}", number, severity=1 if number == 4 else 3)
        for number in range(1, 12)
    ),
    laps=tuple(range(1, 10)),
    sectors=("Cliffs", "Moor", "Harbour"),
    straights=("Machair Straight", "Harbour Straight"),
    asker="Ana",
    drivers=("Ben",),
    circuit="Larkfell Circuit",
)
TABLE: Final = tuple(
    line.split("\t")
    for line in Path(__file__).with_name("questions.tsv").read_text("utf-8").splitlines()
)
"""Questions that are no examples: language, kind, text."""


def ask(*turns: str, intent: str = "") -> Reading:
    """The last of some turns of one conversation."""
    last: Reading | None = None
    for turn in turns:
        last = read_question(turn, NAMES, last, intent=intent)
    assert last is not None
    return last


def kinds(*turns: str) -> list[NeedKind]:
    return [need.kind for need in ask(*turns).needs]


@pytest.mark.parametrize("language", get_args(Language))
def test_most_questions_are_understood_and_hardly_one_is_taken_for_another(
    language: Language,
) -> None:
    pairs = [(kinds(text), kind) for written, kind, text in TABLE if written == language]
    right = sum(found[:1] == [kind] for found, kind in pairs)
    wrong = sum(bool(found) and found[0] != kind for found, kind in pairs)
    assert right >= 0.9 * len(pairs)
    assert wrong <= 0.06 * len(pairs)


@pytest.mark.parametrize(
    ("turns", "kind"),
    [
        (("did Ben beat me", "where"), "rival_where"),
        (("did Ben beat me", "where", "how does he do it"), "rival_how"),
        (("cuánto me saca Ben", "y eso dónde"), "rival_where"),
        (("cuánto me saca Ben", "por qué"), "rival_how"),
        (("how was turn 5", "why"), "corner_explain"),
        (("where do I lose most", "what is that over ten laps"), "loss_rank"),
        (("où je perds le plus", "et sur dix tours ça ferait combien"), "loss_rank"),
        (("how was turn 5", "how do I fix it"), "corner_advice"),
        (("any tips?", "how will I know if I've done it"), "target"),
        (("any tips?", "any exercise for that?"), "drill"),
        (("apex speed turn 4 on lap 2", "is that slow?"), "measure"),
        (("any incidents?", "was that the rear stepping out?"), "incident_explain"),
        (("compare lap 3 and lap 8", "did I get better or was it the track"), "lap_trend"),
        (("average lap time", "and without lap 3?"), "lap_average"),
        (("where am I losing time", "how much"), "loss_rank"),
        (("wie war Kurve 4", "warum?"), "corner_explain"),
        (("tips pour le virage 5", "et le virage 9 ?"), "corner_advice"),
        (("what gear in turn 3", "and turn 4?"), "unrecorded"),
        (("what is a slip angle", "and am I using enough of it"), "unrecorded"),
        (("how was turn 5", "what was my best lap"), "best_lap"),
        (("how was turn 5", "ok thanks"), "thanks"),
        (("how was turn 5", "where is the apex of turn 7"), "circuit"),
        (("what was my best lap", "where is turn 4"), "circuit"),
        (("what does trail braking mean", "turn 3"), "trail_brake"),
        (("what does coasting mean", "where"), "coasting"),
        (("what is understeer", "do I have that"), "balance"),
        (("what is understeer", "what was my best lap"), "best_lap"),
        (("what is understeer", "how was turn 4"), "corner_review"),
        (("qué es el sobreviraje", "tuve eso en la curva 9"), "balance"),
        (("what is a brake point", "and at turn 5?"), "measure"),
        (("c'est quoi mon meilleur tour", "et le pire"), "lap_time"),
        (("beste Runde", "und die vom Ben"), "rival_gap"),
        (("brake pressure turn 1", "on the worst lap"), "measure"),
        (("brake pressure turn 1", "and 9"), "measure"),
        (("full throttle share", "is ben more"), "measure"),
        (("where do I lose most", "and the one after that"), "loss_rank"),
        (("where do I lose most", "et après ça"), "loss_rank"),
        (("what was my best lap", "and the second best"), "lap_time"),
        (("what happened on lap 6", "what about the lap before"), "lap_explain"),
        (("what does trail braking mean", "do I do it into turn 8"), "trail_brake"),
        (("am I slower than Ben at turn 4", "what am I doing wrong there then"), "rival_how"),
        (("¿Ben es más rápido en la curva 1?", "¿y qué hago mal ahí?"), "rival_how"),
        (("what was my second worst lap", "ok and where did that one go wrong"), "lap_explain"),
        (("Runde 7 war langsam oder", "und woran lag's"), "lap_explain"),
        (("how was turn 11", "is it the way in or the way out that costs me there"), "choice"),
        (("how many laps under 1:54", "and which was the worst of them"), "lap_time"),
        (("do I coast more than Ben", "which corners is that"), "coasting"),
        (("how was turn 5", "did I go off anywhere"), "incidents"),
        (("how was turn 5", "why was lap 2 slower than lap 3"), "lap_compare"),
        (("how many laps under 1:54", "in which corners is Ben faster"), "rival_where"),
        (("where do I lose most", "what did I do differently there on lap 5"), "lap_explain"),
        (("wie war Kurve 4", "und was hab ich da in Runde 5 anders gemacht"), "lap_explain"),
        (("Sektorzeiten von Runde 3?", "welcher davon war der schlechteste?"), "sector_rank"),
        (
            ("twenty minutes left, what do I work on", "and after that goes well, what comes next"),
            "tips",
        ),
        (("how consistent was I", "Ben's, same measure"), "rival_spread"),
        (("brake point turn 1", "how big is the spread there"), "corner_spread"),
        (("how was turn 5 lap by lap",), "measure"),
        (("am I steadier than Ben", "even if you take lap 6 out"), "rival_spread"),
        (("how consistent was I", "and the average without the worst one"), "lap_average"),
        (("how much do I coast", "where, mostly?"), "coasting"),
        (("standard deviation of the brake points in each corner",), "corner_spread"),
        (("what happened on lap 6", "and what did that cost"), "lap_explain"),
        (("what happened on lap 6", "might it have been a slide"), "incident_explain"),
        (("kettle's on and the lads are here: gimme two things to sort out",), "tips"),
        (("throttle too late in turn 8?", "and was that slow there on lap 7"), "corner_explain"),
        (("what's trail braking", "so do I do any of that at turn 11 in the end"), "trail_brake"),
        (("brake point turn 1", "is Ben's spread there tighter than mine"), "measure"),
        (("am I later on the throttle in turn 8", "cost in seconds per lap?"), "corner_explain"),
        (("I think I lose most in sector 3, right?",), "sector_explain"),
        (("how does today compare with my test in September",), "progress"),
        (("was my last lap my best",), "measure"),
        (("how does Ben's ideal lap compare with mine",), "ideal_lap"),
        (("where do I lose most", "so how do I get there"), "tips"),
        (("brake point turn 4", "und wie krieg ich das besser hin"), "corner_advice"),
        (("how was turn 4", "how much is that worth"), "what_if"),
        (("vitesse mini au virage 8", "pourquoi si lent"), "corner_explain"),
        (("how many laps did Ben do", "and his best?"), "lap_time"),
        (("hola", "¿Hice todas las vueltas por debajo de 1:54?"), "lap_count"),
        (("hallo", "Bin ich eigentlich jede Runde unter 1:53 geblieben?"), "lap_count"),
    ],
)
def test_a_follow_up_goes_on_from_the_last_question(turns: tuple[str, ...], kind: NeedKind) -> None:
    assert kinds(*turns) == [kind]


def test_strange_words_about_a_lap_in_a_corner_are_answered_after_a_word_of_caution() -> None:
    asked = ask("what the bloody hell happened at turn 9 on lap 6, nearly needed new trousers")
    assert asked.hazard == "unsure"
    assert [need.kind for need in asked.needs] == ["corner_explain"]


@pytest.mark.parametrize(
    "before", ["what is my ideal lap", "what's trail braking", "compare me with Ben", "top speed"]
)
@pytest.mark.parametrize(
    "text",
    [
        "How fast am I in turn 4?",
        "What's my top speed?",
        "Am I consistent?",
        "What's my best sector 1?",
    ],
)
def test_a_complete_question_is_not_bent_by_the_one_before(before: str, text: str) -> None:
    assert ask(before, text).needs == ask(text).needs


def test_the_second_of_two_questions_is_about_the_corner_of_the_first() -> None:
    first, second = ask("apex speed in turn 11 on laps 4 and 9, and how hard did I brake?").needs
    assert (second.slots.quantity, second.slots.corners) == ("brake_pressure", first.slots.corners)


def test_a_follow_up_replaces_what_it_names_and_keeps_the_rest() -> None:
    turns = ("apex speed turn 4 on lap 2", "and turn 8?", "what about lap 5", "and the exit?")
    slots = ask(*turns).needs[0].slots
    assert (slots.corners, slots.laps, slots.spot) == (("Turn 8",), (5,), "exit")
    assert slots.quantity == "speed"


@pytest.mark.parametrize(
    ("turns", "slots"),
    [
        (
            ("what was my slowest corner by apex speed", "and the quickest?"),
            {"quantity": "speed", "order": "most", "which": "corner", "laps": ()},
        ),
        (
            ("qué curva hago más lenta", "¿y la más rápida?"),
            {"order": "most", "which": "corner", "laps": ()},
        ),
        (
            ("Mon meilleur secteur par rapport à Ben c'est lequel ?", "et le pire alors"),
            {"order": "worst", "which": "sector", "drivers": ("Ben",)},
        ),
        (("wo verliere ich am meisten auf Ben", "und danach?"), {"place": 2, "drivers": ("Ben",)}),
        (("dónde pierdo más con Ben", "y después de esa cual"), {"place": 2, "drivers": ("Ben",)}),
        (
            ("which sector varies most", "and if you leave lap 6 out"),
            {"without": (6,), "which": "sector", "varies": True},
        ),
        (
            ("mi sector 2 vuelta por vuelta", "y quitando la cuatro, ¿cuál es la mejor?"),
            {"without": (4,), "besides": (), "sectors": (2,), "which": "lap", "order": "most"},
        ),
        (("apex speed turn 4 and exit speed turn 9 on lap 3",), {"laps": (3,), "spot": "apex"}),
        (("how late do I brake for turn 4", "and the one before?"), {"corners": ("Turn 3",)}),
        (("Bremspunkt Kurve 4", "ok und in der nächsten Kurve?"), {"corners": ("Turn 5",)}),
        (
            ("vitesse mini au virage 5 au tour 3", "et au tour suivant"),
            {"corners": ("Turn 5",), "laps": (Beside(3, 1),), "quantity": "speed"},
        ),
        (
            ("welche war meine langsamste Runde", "und ohne die, welcher Schnitt wäre das"),
            {"without": ("slowest",), "order": "mean"},
        ),
        (("sector 1 me against Ben", "and the middle one"), {"sectors": (2,), "drivers": ("Ben",)}),
        (("sector por sector contra Ben", "y en el 2 por qué tanto"), {"sectors": (2,)}),
        (
            ("wie viel Zeit verliere ich in Kurve 4 auf Ben", "und hinterm Scheitel?"),
            {"corners": ("Turn 4",), "drivers": ("Ben",), "spot": "apex_exit", "quantity": "time"},
        ),
        (("Wer ist in Sektor 1 schneller, Ben oder ich", "und insgesamt?"), {"sectors": ()}),
        (("what does understeer mean", "and the other one, oversteer"), {"concept": "oversteer"}),
        (("what is trail braking", "do I do any in turn 2"), {"corners": ("Turn 2",)}),
        (
            ("wer ist im zweiten Sektor schneller, Ben oder ich", "und im letzten?"),
            {"sectors": (3,), "drivers": ("Ben",)},
        ),
        (("time on lap 6", "and the next one?"), {"laps": (Beside(6, 1),)}),
        (("quel temps au tour 6", "et celui d'avant ?"), {"laps": (Beside(6, -1),)}),
        (("wo bremse ich vor Kurve 1", "wie fest?"), {"quantity": "brake_pressure"}),
        (("dónde freno en la curva 1", "¿y él?"), {"drivers": ("Ben",), "corners": ("Turn 1",)}),
        (("Einlenktempo Kurve 8",), {"quantity": "speed", "spot": "entry"}),
        (("me puedes decir la presión de freno en la curva 6",), {"whether": False}),
        (("mit welchem Tempo komme ich aus der 6 raus",), {"corners": ("Turn 6",), "besides": ()}),
        (("T8: me v Ben in seconds",), {"corners": ("Turn 8",), "drivers": ("Ben",)}),
        (("average lap", "and without the mistake?"), {"without": ("odd",)}),
        (
            ("wer ist in Kurve 1 schneller, Ben oder ich", "und in der nächsten?"),
            {"corners": ("Turn 2",)},
        ),
        (
            ("how many laps under one fifty four", "and under 53?"),
            {"amounts": (Value(113, "lap_time"),), "side": "below"},
        ),
        (
            ("how many laps under 1:54", "and Ben, how many did he"),
            {"amounts": (Value(114, "lap_time"),), "drivers": ("Ben",)},
        ),
        (("Zeit in Runde 9", "ist das besser als die 8?"), {"laps": (9, 8), "corners": ()}),
        (
            ("turn 11 minimum speed against Ben, on average", "and on the two fastest laps?"),
            {
                "corners": ("Turn 11",),
                "drivers": ("Ben",),
                "laps": ("best", Ranked("best", 2)),
                "order": None,
            },
        ),
        (
            ("am I too slow in turn 11", "give me the braking there in metres"),
            {"corners": ("Turn 11",), "quantity": "brake_point", "order": None, "spot": None},
        ),
        (
            ("do I coast more than Ben", "which corners is that"),
            {"which": "corner", "drivers": ("Ben",), "order": None},
        ),
        (("how was my lap 5", "how was turn 5 on my best lap"), {"corners": ("Turn 5",)}),
        *(
            ((first, then), {"drivers": ("Ben",), "alone": True, "count": 3, "order": "least"})
            for first, then in (
                ("whats my three slowest corners", "and bens?"),
                ("was sind meine drei langsamsten Kurven", "und die von Ben?"),
                ("cuáles son mis tres curvas más lentas", "¿y las de Ben?"),
            )
        ),
        *(
            ((first, then), {"corners": ("Turn 1", *more)})
            for first, then, *more in (
                ("what would fixing turn 1 bring", "and eleven on top of that?", "Turn 11"),
                ("was brächte Kurve 1 wie in der besten Runde", "und die 11 auch noch?", "Turn 11"),
                ("que gagnerais-je si je corrigeais le virage 1", "et le 11 en plus ?", "Turn 11"),
                ("cuánto ganaría si arreglara la curva 1", "¿y la 11 además?", "Turn 11"),
            )
        ),
        (("what would fixing turn 1 bring", "and turn 11?"), {"corners": ("Turn 11",)}),
        *(
            ((first, then), {"laps": (3,), "which": "sector", "quantity": "time"})
            for first, then in (
                ("Sektorzeiten von Runde 3?", "welcher davon war am weitesten weg von der Besten"),
                ("sector times of lap 3", "which of those was furthest off my best?"),
                ("tiempos por sector de la vuelta 3", "¿cuál de esos está más lejos de mi mejor?"),
            )
        ),
        (("mi sector 2 vuelta por vuelta", "¿cuál de esas es la mejor?"), {"which": "lap"}),
        (("sector times of lap 3", "and of my best lap?"), {"laps": ("best",), "which": None}),
    ],
)
def test_a_follow_up_says_how_it_differs_and_the_rest_stays(
    turns: tuple[str, ...], slots: dict[str, object]
) -> None:
    need = ask(*turns).needs[0]
    assert {name: getattr(need.slots, name) for name in slots} == slots


def test_a_follow_up_points_into_what_was_named_before() -> None:
    def slots(*turns: str) -> Slots:
        return ask(*turns).needs[0].slots

    polite = "could I please have entry, slowest and exit speed in turn 5 on my best lap"
    assert slots(polite).laps == ("best",)
    assert not slots(polite).whether
    assert slots("my two slowest laps", "what happened on the second of those").laps == (
        Ranked("slowest", 2),
    )
    assert slots("where do I lose most", "and the next one").place == 2
    assert slots("brake pressure turn 1", "and eleven").corners == ("Turn 11",)
    assert slots("Ben's apex speed turn 4", "and me").drivers == ()
    assert slots("what happened on lap 6", "what about the lap before").laps == (Beside(6, -1),)


def test_nothing_to_point_back_to_is_asked_about() -> None:
    assert ask("was it better?").needs == ()


def test_what_is_seldom_recorded_is_asked_for_by_its_own_name() -> None:
    for question, quantity in (
        ("how are my tyres", "tyre_temperature"),
        ("which gears did I use", "gear"),
        ("battery voltage?", "battery"),
    ):
        (need,) = ask("how hot was the oil", question).needs
        assert (need.kind, need.slots.quantity) == ("unrecorded", quantity)


def test_the_best_sector_is_no_best_lap() -> None:
    assert ask("which sector is my best").needs[0].slots.laps == ()
    assert ask("which sector on my best lap").needs[0].slots.laps == ("best",)


def test_another_topic_keeps_nothing_of_the_last_one() -> None:
    slots = ask("how was turn 5 on lap 3", "how steady were my lap times").needs[0].slots
    assert slots.corners == ()
    assert slots.laps == ()


@pytest.mark.parametrize(
    ("question", "both"),
    [
        ("what was my best lap and where do I lose time", ["best_lap", "loss_rank"]),
        ("brake point turn 4 and is that too late", ["measure", "measure"]),
        ("my best lap and where is turn 4", ["best_lap", "circuit"]),
        ("turn 5 entry speed best lap and what did I leave the corner at", ["measure"] * 2),
        ("How was turn 3? And what should I work on next?", ["corner_review", "corner_advice"]),
        ("qué es la vuelta ideal y cuál es la mía", ["explain", "ideal_lap"]),
        ("c'est quoi le tour idéal et c'est quoi le mien", ["explain", "ideal_lap"]),
        ("what's the difference between understeer and oversteer", ["explain"] * 2),
        ("Untersteuern oder Übersteuern, was ist da der Unterschied", ["explain"] * 2),
        ("la différence entre survirage et sous-virage", ["explain"] * 2),
        ("en qué se diferencian subviraje y sobreviraje", ["explain"] * 2),
        ("what is trail braking and do I do it", ["explain", "trail_brake"]),
        ("what's trail braking and how good is mine", ["explain", "trail_brake"]),
        (
            "spread of my brake point in turn 4, and can the logger even resolve that",
            ["corner_spread", "resolution"],
        ),
    ],
)
def test_a_question_of_two_parts_has_two_needs(question: str, both: list[NeedKind]) -> None:
    assert kinds(question) == both


@pytest.mark.parametrize("question", ["asdf qwer", "flib flab", "?", "", "und oder"])
def test_what_is_not_understood_gets_suggestions(question: str) -> None:
    asked = ask(question)
    assert asked.needs == ()
    assert 2 <= len(asked.suggestions) <= 3


def test_what_was_learnt_is_of_the_examples_on_file() -> None:
    with np.load(LEARNT) as learnt:
        assert str(learnt["key"]) == digest_examples(), "learn anew: docs/architecture.md"


def test_a_short_question_in_another_language_is_found_by_the_examples() -> None:
    assert (ask("merci beaucoup").language, kinds("merci beaucoup")) == ("fr", ["thanks"])
    assert (ask("gracias").language, kinds("gracias")) == ("es", ["thanks"])


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("I braked at 90 m in turn 4, right?", "measure"),
        ("which gear in turn 6", "unrecorded"),
        ("did my throttle use change from the early laps to the late ones", "lap_trend"),
        ("a mi frenada le cambió algo entre el comienzo y el final", "lap_trend"),
        ("how hard do I corner in turn 3", "measure"),
        ("How do I approach the first laps while the tyres are cold", "run_plan"),
        ("wo bin ich am längsten weder auf der Bremse noch am Gas", "coasting"),
        ("où suis-je le plus longtemps sans frein ni gaz", "coasting"),
        ("dónde estoy más tiempo sin freno ni gas", "coasting"),
        ("lap 3 and lap 8, what was different", "lap_compare"),
        ("was Ben the steadier one", "rival_spread"),
        ("How much of the gap is in Turn 1", "rival_where"),
        ("wie viele Zehntel des Rückstands liegen in Kurve 8", "rival_where"),
        ("20 minutes left, what should I do", "run_plan"),
        ("wo darf ich auf keinen Fall rausfliegen", "danger"),
        ("dónde no me puedo salir", "danger"),
        ("who has the higher top speed, me or Ben", "measure"),
        ("quién es más rápido en la recta machair", "rival_gap"),
        ("wer bremst in Kurve 11 später", "measure"),
        ("Ben did more laps than me, no?", "lap_count"),
        ("der Ben ist doppelt so viele Runden gefahren wie ich", "lap_count"),
        ("Ben only brakes later because he has better brakes", "rival_car"),
        ("how long is Larkfell", "circuit"),
        ("turn 10, do I brake for it or just lift off", "measure"),
        ("au virage 9 on freine pareil, Ben et moi ?", "measure"),
        ("combien de temps en roue libre en moyenne", "measure"),
        ("¿mi primer sector es el mejor, no?", "sector_rank"),
    ],
)
def test_slots_decide_where_they_can(question: str, kind: NeedKind) -> None:
    assert kinds(question) == [kind]


def test_what_is_named_but_does_not_exist_keeps_its_kind() -> None:
    need = ask("how was turn 14").needs[0]
    assert need.kind == "corner_review"
    assert need.slots.strange[0].kind == "corner"


def test_a_hazard_that_ends_the_conversation_leaves_no_need() -> None:
    asked = ask("I crashed and my neck hurts, can I go on?")
    assert asked.hazard is not None
    assert asked.needs == ()


@pytest.mark.parametrize("intent", sorted(FORCED))
def test_an_intent_of_the_request_decides(intent: str) -> None:
    assert [need.kind for need in ask("tell me more", intent=intent).needs] == [FORCED[intent]]


def test_a_finer_kind_of_the_wanted_intent_stays() -> None:
    assert [n.kind for n in ask("how do I fix turn 4", intent="corner").needs] == ["corner_advice"]


def test_an_answer_names_the_intent_of_its_question() -> None:
    assert intent_of(ask("how was my session").needs) == "debrief"
    assert intent_of(ask("apex speed in turn 4").needs) == "corner"
    assert intent_of(ask("what was my top speed").needs) == "telemetry"
    assert intent_of(ask("asdf qwer").needs) == "telemetry"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Vmin T4 L3?", "apex speed T4 lap 3?"),
        ("wher do i brake to early", "where do i brake too early"),
        ("what the hell is going on in turn 4", "what is going on in turn 4"),
        ("when am I off the loud pedal", "when am I off the throttle"),
        ("please", "please"),
    ],
)
def test_slang_fillers_and_misspellings_give_way_to_plain_words(text: str, plain: str) -> None:
    assert tidy(text, "en") == plain


def test_a_slip_of_the_keys_is_understood() -> None:
    assert ask("what is my consistancy like").needs[0].kind == "lap_spread"


def test_the_second_part_of_a_question_is_about_the_same_corner_and_lap() -> None:
    first, second = ask("turn 5 entry speed best lap and what was my speed at the exit").needs
    assert (second.slots.corners, second.slots.laps) == (first.slots.corners, first.slots.laps)
    assert (first.slots.spot, second.slots.spot) == ("entry", "exit")


@pytest.mark.parametrize(
    "question",
    ["I never lift in turn 7, do I", "lap 2 wasn't slow was it", "he swears he was"],
)
def test_what_a_driver_asserts_is_a_claim(question: str) -> None:
    assert read_slots(question, "en", NAMES).claims


@pytest.mark.parametrize(
    "question", ["how do I boil an egg", "who won the football", "what time does the bar open"]
)
def test_what_is_not_about_driving_gets_no_fact(question: str) -> None:
    assert [need.kind for need in ask(question).needs] in ([], ["off_topic"])


@pytest.mark.parametrize("language", get_args(Language))
def test_what_a_term_of_the_glossary_means_is_told(language: Language) -> None:
    asks = {
        "en": "What is {}?",
        "de": "was bedeutet {}",
        "fr": "C'est quoi {} ?",
        "es": "Qué es {}",
    }

    for term, name in name_terms(language).items():
        (need,) = ask(asks[language].format(name.lower())).needs
        assert (need.kind, need.slots.concept) == ("explain", term)


def test_what_a_question_names_is_a_trait_of_it_and_not_which_one() -> None:
    traits = [
        set(list_traits(read_slots(text, "en", NAMES)))
        for text in (
            "how much quicker is Ben in turn 4 on lap 3",
            "how much quicker is Ben in turn 9 on lap 5",
            "how much quicker is Ben in turn 9 on my best lap",
            "turn 4 and turn 9",
        )
    ]
    assert traits[0] == traits[1] >= {"drivers", "corners", "laps", "laps int", "order more"}
    assert traits[2] - traits[1] == {"laps best"}
    assert traits[3] >= {"corners", "corners several"}


def test_kinds_are_parted_by_their_vectors() -> None:
    middles = np.random.default_rng(1).normal(size=(3, 8))
    of = np.arange(300) % 3
    vectors = middles[of] + np.random.default_rng(2).normal(scale=0.4, size=(300, 8))
    weights = part_kinds(vectors, of, 3)
    sides = vectors / np.linalg.norm(vectors, axis=1)[:, None] @ weights[:-1] + weights[-1]
    right = (sides.argmax(axis=1) == of).mean()
    assert right > 0.95
    assert (sides[np.arange(300), of] > 0).mean() > 0.9
    assert (sides > 0).sum(axis=1).mean() == pytest.approx(1.0, abs=0.1)
