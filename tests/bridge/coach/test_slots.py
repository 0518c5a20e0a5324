"""What a question names: places, laps, drivers, amounts, and what it speaks of; four languages."""

from dataclasses import fields
from typing import Final

import pytest

from runtime.bridge.coach.fact import Value
from runtime.bridge.coach.need import Language, Slots, Units
from runtime.bridge.coach.understanding.language import find_language
from runtime.bridge.coach.understanding.slots import (
    CornerNames,
    Names,
    find_units,
    mask_names,
    read_slots,
)
from tests.bridge.analysis.lapkit import TRACKS

LARKFELL: Final = TRACKS["larkfell"]
NAMES: Final = Names(
    tuple(CornerNames(c.name, c.number, c.nicknames, c.severity) for c in LARKFELL.corners),
    tuple(range(1, 10)),
    tuple(sector.name for sector in LARKFELL.sectors),
    tuple(straight.name for straight in LARKFELL.straights),
    "Ana",
    ("Ben",),
)
UNNAMED: Final = Names(tuple(CornerNames(f"C{n}", n) for n in range(1, 6)), (1, 2, 3))

CORNERS: Final[tuple[tuple[Language, str, tuple[int, ...]], ...]] = (
    ("en", "am I breaking too early into turn for", (4,)),
    ("en", "hard on the brakes into 4", (4,)),
    ("en", "how was the exit of 9", (9,)),
    ("en", "T4, T5 and 8", (4, 5, 8)),
    ("en", "from turn 3 to 5", (3, 4, 5)),
    ("en", "turns 3-5", (3, 4, 5)),
    ("en", "turn four or turn five", (4, 5)),
    ("en", "speed at the hairpin and the kink", (4, 7)),
    ("en", "chappel and kittywake", (10, 9)),
    ("en", "the last corner", (11,)),
    ("en", "the 3rd corner", (3,)),
    ("en", "weather in heather", (6,)),
    ("en", "where do I turn to", ()),
    ("en", "what should I do in 20 minutes", ()),
    ("en", "brake for 4 more laps", ()),
    ("de", "Kurve vier", (4,)),
    ("de", "dritte Kurve", (3,)),
    ("de", "in der 4 zu früh auf der Bremse?", (4,)),
    ("de", "zu spät am Gas in der Haarnadel", (4,)),
    ("de", "voll im Knick?", (7,)),
    ("de", "die 3 Sektoren", ()),
    ("fr", "virage n°4", (4,)),
    ("fr", "je perds où dans le 4", (4,)),
    ("fr", "troisième virage", (3,)),
    ("fr", "à la sortie de l'épingle", (4,)),
    ("es", "la 4", (4,)),
    ("es", "curva cuatro", (4,)),
    ("es", "salida de la horquilla", (4,)),
)
LAPS: Final[tuple[tuple[Language, str, tuple[object, ...], tuple[object, ...]], ...]] = (
    ("en", "laps 2 to 8 without lap 5", (2, 3, 4, 6, 7, 8), (5,)),
    ("en", "lap 3 vs 8", (3, 8), ()),
    ("en", "compare laps 3, 4 and 5", (3, 4, 5), ()),
    ("en", "the 3rd lap and the last lap", (3, "last"), ()),
    ("en", "average without my slowest lap", (), ("slowest",)),
    ("en", "my second best lap", ("second",), ()),
    ("en", "time lost in the last 3 laps", (7, 8, 9), ()),
    ("en", "lap by lap", ("each",), ()),
    ("de", "Rundenzeiten 2 bis 4", (2, 3, 4), ()),
    ("de", "3. Runde gegen 8", (3, 8), ()),
    ("de", "Runde 9 weglassen", (), (9,)),
    ("de", "beste Runde gegen letzte Runde", ("best", "last"), ()),
    ("fr", "tours 2 à 4 sans le tour 3", (2, 4), (3,)),
    ("fr", "3e tour et dernier tour", (3, "last"), ()),
    ("es", "vueltas 2 a 4 sin la 3", (2, 4), (3,)),
    ("es", "mejor vuelta contra la última vuelta", ("best", "last"), ()),
)
STRANGE: Final[tuple[tuple[Language, str, str, str], ...]] = (
    ("en", "speed at turn 14", "corner", "turn 14"),
    ("en", "how did I do at the bus stop", "corner", "bus stop"),
    ("en", "how was lap 30", "lap", "lap 30"),
    ("en", "was I faster than Marco in turn 4?", "driver", "Marco"),
    ("en", "How fast was Lewis Hamilton in turn 4?", "driver", "Lewis Hamilton"),
    ("de", "ist Ben schneller als Marco?", "driver", "Marco"),
    ("fr", "partout sauf dans le secteur 4, non ?", "sector", "secteur 4"),
    ("es", "en q vuelta se salio en la curva 14?", "corner", "curva 14"),
)
OTHERS: Final[tuple[tuple[Language, str, str, object], ...]] = (
    ("en", "why is my second sector so slow", "sectors", (2,)),
    ("en", "sector two and S3", "sectors", (2, 3)),
    ("en", "the Moor sector", "sectors", (2,)),
    ("de", "zweiter Sektor", "sectors", (2,)),
    ("en", "Top speed down the macker straight", "straights", ("Machair Straight",)),
    ("de", "Machair-Gerade Vmax", "straights", ("Machair Straight",)),
    ("fr", "ligne droite Machair", "straights", ("Machair Straight",)),
    ("en", "give it me straight", "straights", ()),
    ("en", "compare me with Ben's best lap", "drivers", ("Ben",)),
    ("en", "3mph more", "amounts", (Value(4.828032, "km/h"),)),
    ("en", "20 feet later", "amounts", (Value(6.096, "m"),)),
    ("en", "half an hour", "amounts", (Value(1800.0, "s"),)),
    ("en", "I have 10 laps left", "amounts", (Value(10.0, ""),)),
    ("en", "a one fifty-two", "amounts", (Value(112.0, "lap_time"),)),
    ("fr", "1'52 c'est possible ?", "amounts", (Value(112.0, "lap_time"),)),
    ("de", "drei Zehntel", "amounts", (Value(0.3, "s"),)),
    ("es", "dos décimas", "amounts", (Value(0.2, "s"),)),
    ("en", "how late am I getting back on the loud pedal", "quantity", "throttle_point"),
    ("en", "how hard was I hitting the middle pedal", "quantity", "brake_pressure"),
    ("en", "am I braking too early", "quantity", "brake_point"),
    ("en", "what gear was I in", "quantity", "gear"),
    ("de", "Wie lange rollt sie da?", "quantity", "coasting"),
    ("de", "Topspeed auf der Geraden", "quantity", "speed"),
    ("fr", "son rythme cardiaque", "quantity", "heart_rate"),
    ("es", "presión de freno máxima", "quantity", "brake_pressure"),
    ("en", "speed at the apex", "spot", "apex"),
    ("de", "Tempo am Kurvenausgang", "spot", "exit"),
    ("fr", "vitesse en entrée", "spot", "entry"),
    ("es", "velocidad en el vértice", "spot", "apex"),
    ("en", "braking too early", "order", "early"),
    ("de", "bremse ich zu spät", "order", "late"),
    ("fr", "en moyenne", "order", "mean"),
    ("en", "my best lap", "order", None),
    ("en", "what is trail braking", "concept", "trail_brake"),
    ("de", "was ist der Kammsche Kreis", "concept", "friction_circle"),
    ("en", "why is that", "why", True),
    ("es", "porque cree que ha sido lenta", "why", False),
    ("fr", "où je perds du temps", "where", True),
    ("fr", "elle progresse ou elle stagne", "where", False),
    ("en", "I was flat on every lap wasn't I", "claims", True),
    ("en", "I was flat on every lap wasn't I", "negated", False),
    ("en", "I was flat on every lap wasn't I", "all_laps", True),
    ("en", "I never brake in turn 7, right?", "negated", True),
    ("es", "¿cómo freno en la 4?", "claims", False),
    ("de", "hat sie gegengelenkt", "person", "third"),
    ("fr", "J'aimerais voir son tour 3", "person", "third"),
    ("en", "what's he doing that I'm not", "person", "you"),
)
UNITS: Final[tuple[tuple[str, Units | None], ...]] = (
    ("top speed in mph please", "imperial"),
    ("in mph please none of that kilometre nonsense", "imperial"),
    ("how many feet before the corner", "imperial"),
    ("en km/h por favor", "metric"),
    ("brake pressure in bar", "metric"),
    ("what if I carried 3 mph more", None),
    ("what time does the bar open", None),
)
MASKS: Final[tuple[tuple[Language, str, str], ...]] = (
    ("en", "Compare lap 3 and 8 in Turn 4", "compare lapx and lapx in cornerx"),
    (
        "en",
        "Can I do a 1:52.0 or 3mph more than Ben?",
        "can i do a timex or amountx more than driverx?",
    ),
    ("de", "Wie war Sektor 2 auf der Machair Straight?", "wie war sectorx auf der straightx?"),
    ("fr", "tours 3 à 7", "lapx à lapx"),
)
LANGUAGES: Final[tuple[tuple[str, Language | None, Language], ...]] = (
    ("where am I losing the most time", None, "en"),
    ("max Bremsdruck vor der Haarnadel, Runde für Runde", "en", "de"),
    ("Pourquoi son dernier tour est aussi lent ?", "de", "fr"),
    ("y eso donde lo pierde mas, frenando o saliendo?", "en", "es"),
    ("et Ben?", "fr", "fr"),
    ("ok", "de", "de"),
    ("T4?", "es", "es"),
    ("T4?", None, "en"),
    ("no motivation", None, "en"),
)


@pytest.mark.parametrize(("language", "text", "numbers"), CORNERS)
def test_corners_are_read(language: Language, text: str, numbers: tuple[int, ...]) -> None:
    slots = read_slots(text, language, NAMES)
    assert slots.corners == tuple(f"Turn {number}" for number in numbers)


@pytest.mark.parametrize(("language", "text", "laps", "without"), LAPS)
def test_laps_are_read(
    language: Language, text: str, laps: tuple[object, ...], without: tuple[object, ...]
) -> None:
    slots = read_slots(text, language, NAMES)
    assert (slots.laps, slots.without) == (laps, without)


@pytest.mark.parametrize(("language", "text", "kind", "said"), STRANGE)
def test_what_is_not_there_is_strange(language: Language, text: str, kind: str, said: str) -> None:
    assert read_slots(text, language, NAMES).strange == ((kind, said),)


@pytest.mark.parametrize(("language", "text", "slot", "value"), OTHERS)
def test_a_slot_is_read(language: Language, text: str, slot: str, value: object) -> None:
    assert getattr(read_slots(text, language, NAMES), slot) == value


@pytest.mark.parametrize(("text", "units"), UNITS)
def test_units_are_asked_for_without_a_number(text: str, units: Units | None) -> None:
    assert find_units(text) == units


@pytest.mark.parametrize(("language", "text", "masked"), MASKS)
def test_names_are_masked(language: Language, text: str, masked: str) -> None:
    assert mask_names(text, language, NAMES) == masked


@pytest.mark.parametrize(("text", "last", "language"), LANGUAGES)
def test_the_language_is_found(text: str, last: Language | None, language: Language) -> None:
    assert find_language(text, last) == language


def test_corners_without_names_are_read_by_number() -> None:
    assert read_slots("C4 and turn 2", "en", UNNAMED).corners == ("C4", "C2")
    assert read_slots("turn 9", "en", UNNAMED).strange == (("corner", "turn 9"),)
    assert read_slots("how was the hairpin", "en", UNNAMED).corners == ()


@pytest.mark.parametrize("text", ["", "   ", "?", "4", "turn", "lap 0", "1:99:99", "T" * 4000])
def test_no_text_breaks_the_reader(text: str) -> None:
    slots = read_slots(text, "en", Names())
    assert {field.name for field in fields(slots)} == {field.name for field in fields(Slots)}
    assert mask_names(text, "en", NAMES) == " ".join(mask_names(text, "en", NAMES).split())
