"""Questions are understood by examples, slots and the question before."""

from typing import Final

import pytest

from runtime.bridge.coach.need import Asked, Language, NeedKind
from runtime.bridge.coach.understanding.read import INTENTS, intent_of, read_question
from runtime.bridge.coach.understanding.slots import CornerNames, Names, read_slots
from runtime.bridge.coach.understanding.tidy import tidy

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
)
QUESTIONS: Final[dict[Language, tuple[tuple[str, str], ...]]] = {
    "en": (
        ("quickest one of the day, what time?", "best_lap"),
        ("time on lap 5 pls", "lap_time"),
        ("give me the whole list of times", "lap_list"),
        ("did my out lap count or how many proper laps is that", "lap_count"),
        ("average if you chuck lap 2 away", "lap_average"),
        ("are my lap times all over the place", "lap_spread"),
        ("was lap 4 a fluke", "lap_luck"),
        ("lap 2 next to lap 7, whats different", "lap_compare"),
        ("what on earth went wrong on lap 3", "lap_explain"),
        ("did I fade towards the end of the stint", "lap_trend"),
        ("stitch my best sectors together for me", "ideal_lap"),
        ("would anybody really manage that lap or is it just maths", "ideal_honest"),
        ("how far am I from what the track file reckons is possible", "theory"),
        ("sector splits for lap 6", "sector_times"),
        ("which third of the lap is my weakest", "sector_rank"),
        ("what's going wrong in sector 3", "sector_explain"),
        ("speed at the end of the back straight", "measure"),
        ("how many bar into turn 9", "measure"),
        ("where do I hit the brakes for turn 1 on my best lap", "measure"),
        ("which corner am I slowest in, km/h", "measure_rank"),
        ("where do I brake the hardest", "measure_rank"),
        ("do I get on the gas too late in turn 5", "measure_judge"),
        ("is 54 km/h ok for the hairpin", "measure_judge"),
        ("I never lifted in turn 7, right?", "claim"),
        ("pretty sure I braked at 80 metres every lap", "claim"),
        ("how'd turn 10 go", "corner_review"),
        ("why do I bleed so much in turn 8", "corner_explain"),
        ("help me with turn 3", "corner_advice"),
        ("which bend do I drive differently every time", "corner_spread"),
        ("biggest chunk of time up for grabs?", "loss_rank"),
        ("what am I actually decent at", "strength"),
        ("how do I come off the brake pedal, gently or all at once", "trail_brake"),
        ("how many seconds am I on neither pedal", "coasting"),
        ("am I using all the tyre or is there more in it", "grip"),
        ("does it push or is it loose", "balance"),
        ("any spins today?", "incidents"),
        ("what did the wheel do when it snapped", "incident_explain"),
        ("should I go for a later brake point or earlier throttle", "choice"),
        ("what would 5 km/h more at the apex of turn 4 be worth", "what_if"),
        ("how exact are those brake distances", "resolution"),
        ("am I quicker than Ben", "rival_gap"),
        ("in which corners is Ben faster", "rival_where"),
        ("what's Ben's trick in turn 9", "rival_how"),
        ("his car must be better though", "rival_car"),
        ("is Ben steadier than me", "rival_spread"),
        ("any better than last month?", "progress"),
        ("what am I still rubbish at after all these sessions", "no_progress"),
        ("which bits have I got better at", "improved"),
        ("what now", "tips"),
        ("so what should I do differently", "tips"),
        ("what number should I look for to know it's fixed", "target"),
        ("got a drill for that?", "drill"),
        ("8 laps left, how do I use them", "run_plan"),
        ("what if I get stuck behind slower cars", "traffic"),
        ("what lap time should I shoot for", "lap_goal"),
        ("how was my session", "summary"),
        ("anything to think about before I head out", "brief"),
        ("make me some pace notes to listen to", "voice_script"),
        ("I'm rubbish at this, might as well sell the car", "mood"),
        ("how long is this place", "circuit"),
        ("which corners bite", "danger"),
        ("is it hot out there today", "conditions"),
        ("how do you drive this in the wet", "wet"),
        ("what does understeer mean", "explain"),
        ("which lesson covers trail braking", "lesson"),
        ("which gear for turn 6", "unrecorded"),
        ("what were the tyre pressures", "unrecorded"),
        ("which lap should I post on youtube", "video"),
        ("morning!", "greeting"),
        ("ta very much", "thanks"),
        ("am I chatting with a human", "who"),
        ("what sort of stuff can I ask you", "abilities"),
        ("keep it shorter", "style"),
        ("who won the football", "off_topic"),
    ),
    "de": (
        ("meine schnellste Runde?", "best_lap"),
        ("Rundenzeiten bitte alle", "lap_list"),
        ("was war in Runde 3 los", "lap_explain"),
        ("bin ich konstant gefahren", "lap_spread"),
        ("wo lass ich am meisten liegen", "loss_rank"),
        ("wie schnell am Scheitel in Kurve 4", "measure"),
        ("brems ich zu früh in Kurve 1", "measure_judge"),
        ("wie lief Kurve 9", "corner_review"),
        ("wie krieg ich Kurve 8 besser hin", "corner_advice"),
        ("ist Ben schneller als ich", "rival_gap"),
        ("was macht er anders", "rival_how"),
        ("wo hab ich Reserven beim Grip", "grip"),
        ("irgendwelche Dreher?", "incidents"),
        ("was soll ich als nächstes üben", "tips"),
        ("hab noch 15 Minuten, wie aufteilen", "run_plan"),
        ("was heißt eigentlich Trailbraking", "explain"),
        ("welchen Gang hatte ich in Kurve 2", "unrecorded"),
        ("bin ich besser als letztes Mal", "progress"),
        ("Idealrunde?", "ideal_lap"),
        ("danke dir", "thanks"),
        ("ich bin so frustriert, geht gar nix heute", "mood"),
    ),
    "fr": (
        ("mon meilleur tour c'est lequel", "best_lap"),
        ("où est-ce que je perds le plus", "loss_rank"),
        ("vitesse à la corde du virage 4", "measure"),
        ("je freine trop tôt au virage 1 ?", "measure_judge"),
        ("comment était le virage 9", "corner_review"),
        ("pourquoi je perds du temps dans le secteur 2", "sector_explain"),
        ("je suis régulier ou pas", "lap_spread"),
        ("Ben va plus vite que moi ?", "rival_gap"),
        ("il fait quoi de mieux que moi", "rival_how"),
        ("un conseil ?", "tips"),
        ("j'ai encore 20 minutes, je fais quoi", "run_plan"),
        ("c'est quoi le sous-virage", "explain"),
        ("combien d'essence il me reste", "unrecorded"),
        ("j'ai fait des têtes-à-queue ?", "incidents"),
        ("bilan de la séance", "summary"),
        ("merci beaucoup", "thanks"),
    ),
    "es": (
        ("cuál fue mi mejor vuelta", "best_lap"),
        ("dónde pierdo más tiempo", "loss_rank"),
        ("velocidad en el ápice de la curva 4", "measure"),
        ("freno demasiado pronto en la curva 1?", "measure_judge"),
        ("qué tal la curva 9", "corner_review"),
        ("cómo mejoro en la horquilla", "corner_advice"),
        ("soy constante?", "lap_spread"),
        ("Ben es más rápido que yo?", "rival_gap"),
        ("qué hace él que yo no", "rival_how"),
        ("qué entreno ahora", "tips"),
        ("me quedan 10 vueltas, cómo las uso", "run_plan"),
        ("qué es el subviraje", "explain"),
        ("qué marcha llevaba en la curva 2", "unrecorded"),
        ("hubo algún trompo", "incidents"),
        ("resumen de la sesión", "summary"),
        ("gracias", "thanks"),
    ),
}
"""Questions that are no examples, with their kind."""


def ask(*turns: str, intent: str = "") -> Asked:
    """The last of some turns of one conversation."""
    last: Asked | None = None
    for turn in turns:
        last = read_question(turn, NAMES, last, intent=intent)
    assert last is not None
    return last


def kinds(*turns: str) -> list[NeedKind]:
    return [need.kind for need in ask(*turns).needs]


@pytest.mark.parametrize("language", QUESTIONS)
def test_most_questions_are_understood_and_hardly_one_is_taken_for_another(
    language: Language,
) -> None:
    pairs = [(kinds(question), kind) for question, kind in QUESTIONS[language]]
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
        (("how was turn 5", "how do I fix it"), "corner_advice"),
        (("any tips?", "how will I know if I've done it"), "target"),
        (("any tips?", "any exercise for that?"), "drill"),
        (("apex speed turn 4 on lap 2", "is that slow?"), "measure_judge"),
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
    ],
)
def test_a_follow_up_goes_on_from_the_last_question(turns: tuple[str, ...], kind: NeedKind) -> None:
    assert kinds(*turns) == [kind]


def test_a_follow_up_replaces_what_it_names_and_keeps_the_rest() -> None:
    turns = ("apex speed turn 4 on lap 2", "and turn 8?", "what about lap 5", "and the exit?")
    slots = ask(*turns).needs[0].slots
    assert (slots.corners, slots.laps, slots.spot) == (("Turn 8",), (5,), "exit")
    assert slots.quantity == "speed"
    assert "last" in ask(*turns).used


def test_another_topic_keeps_nothing_of_the_last_one() -> None:
    slots = ask("how was turn 5 on lap 3", "how steady were my lap times").needs[0].slots
    assert slots.corners == ()
    assert slots.laps == ()


@pytest.mark.parametrize(
    ("question", "both"),
    [
        ("what was my best lap and where do I lose time", ["best_lap", "loss_rank"]),
        ("brake point turn 4 and is that too late", ["measure", "measure_judge"]),
        ("turn 5 entry speed best lap and what did I leave the corner at", ["measure"] * 2),
        ("How was turn 3? And what should I work on next?", ["corner_review", "corner_advice"]),
    ],
)
def test_a_question_of_two_parts_has_two_needs(question: str, both: list[NeedKind]) -> None:
    assert kinds(question) == both


@pytest.mark.parametrize("question", ["asdf qwer", "blue cheese monday", "?", "", "und oder"])
def test_what_is_not_understood_gets_suggestions(question: str) -> None:
    asked = ask(question)
    assert asked.needs == ()
    assert 2 <= len(asked.suggestions) <= 3


def test_a_short_question_in_another_language_is_found_by_the_examples() -> None:
    assert (ask("merci beaucoup").language, kinds("merci beaucoup")) == ("fr", ["thanks"])
    assert (ask("gracias").language, kinds("gracias")) == ("es", ["thanks"])


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("I braked at 90 m in turn 4, right?", "claim"),
        ("which gear in turn 6", "unrecorded"),
        ("lap 3 and lap 8, what was different", "lap_compare"),
        ("was Ben the steadier one", "rival_spread"),
        ("20 minutes left, what should I do", "run_plan"),
        ("select lap from laps", "query"),
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


@pytest.mark.parametrize("intent", sorted(INTENTS))
def test_an_intent_of_the_request_decides(intent: str) -> None:
    assert [need.kind for need in ask("tell me more", intent=intent).needs] == [INTENTS[intent]]


def test_a_finer_kind_of_the_wanted_intent_stays() -> None:
    assert [n.kind for n in ask("how do I fix turn 4", intent="corner").needs] == ["corner_advice"]


def test_an_answer_names_the_intent_of_its_question() -> None:
    assert intent_of(ask("how was my session")) == "debrief"
    assert intent_of(ask("apex speed in turn 4")) == "corner"
    assert intent_of(ask("what was my top speed")) == "telemetry"
    assert intent_of(ask("asdf qwer")) == "telemetry"


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
