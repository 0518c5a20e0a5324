"""Dangers that a driver tells of are answered first, by class; look-alikes stay data."""

import asyncio
from typing import Final

import pytest

from runtime.bridge.coach.agents.safety import careful, first_of_all, hazard
from runtime.bridge.coach.agents.strangers import stranger
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import ask, filled

TOLD: Final = (
    ("Someone's dropped oil at turn 8, what do I do?", "track"),
    ("Throttle is sticking", "throttle"),
    ("The car in front is spinning", "others"),
    ("Someone spun in front of me at turn 3", "others"),
    ("Someone is stopped at turn 8", "others"),
    ("A car is stopped on track", "others"),
    ("Red car parked on the racing line", "others"),
    ("There's a dog on the track", "track"),
    ("An animal on track", "track"),
    ("There's gravel on the track at turn 4", "track"),
    ("The steering wheel is pulling left under braking", "car"),
    ("The belts feel loose", "worn"),
    ("My seat moved", "worn"),
    ("I hear a knocking from the rear", "car"),
    ("Visor is fogged up, what now?", "worn"),
    ("Is my helmet visor fogging dangerous?", "worn"),
    ("Water temperature is 130, carry on?", "hot"),
    ("Rain has started", "rain"),
    ("It's raining", "rain"),
    ("It started to rain at turn 3", "rain"),
    ("The track is getting wet", "rain"),
    ("Drops on my visor", "rain"),
    ("The brake warning light is on", "car"),
    ("I've got a wheel wobble above 180", "car"),
    ("There's smoke in the cockpit", "fire"),
    ("I smell petrol", "fire"),
    ("Somebody is walking across the track", "track"),
    ("There's debris in the middle of turn 5", "track"),
    ("Another driver has crashed at turn 2", "others"),
    ("Bo stopped in front of me", "others"),
    ("There is fluid all over the exit of turn 6", "track"),
    ("A wheel feels loose", "car"),
    ("The gearbox is stuck in third", "car"),
    ("It jumps out of gear", "car"),
    ("There's a strange noise from the engine", "car"),
    ("The whole car vibrates above 150", "car"),
    ("I can smell hot brakes", "car"),
    ("My helmet strap came undone", "worn"),
    ("The harness won't stay tight", "worn"),
    ("The HANS slipped off", "worn"),
    ("Oil temp is at 145 and climbing", "hot"),
    ("The temperature is in the red", "hot"),
    ("Engine is running hot", "car"),
    ("The steering feels loose", "car"),
    ("The throttle won't close", "throttle"),
    ("The accelerator is stuck", "throttle"),
    ("I am stuck in the gravel at turn 4", "stranded"),
    ("My car won't restart", "stranded"),
    ("A deer ran across turn 9", "track"),
    ("Slow car on the racing line", "others"),
    ("The bonnet came open", "car"),
    ("Oil pressure is dropping", "car"),
    ("I lost third gear", "car"),
    ("The clutch is slipping", "car"),
    ("My tyre is flat", "car"),
    ("A car is facing the wrong way at turn 3", "others"),
    ("Somebody hit me from behind", "crash"),
    ("The car pulls to the right when I brake", "car"),
    ("My brakes are squealing", "brakes"),
    ("My belt is undone", "worn"),
    ("My visor won't close", "worn"),
    ("The windscreen is fogging", "worn"),
    ("The track's gone slippery", "rain"),
    ("I'm aquaplaning", "rain"),
    ("Something is hanging off the car", "car"),
    ("The wheel nuts are loose", "car"),
    ("The engine keeps cutting out", "car"),
    ("Is it safe to drive with water at 120 degrees?", "hot"),
    ("Somebody dropped a bumper at turn 8", "track"),
    ("There are people on the track", "track"),
    ("Someone just rolled at turn 1", "others"),
    ("the guy ahead lost it", "others"),
    ("Oil on the line at turn 7!", "track"),
    ("coolant is leaking", "car"),
)
HARMLESS: Final = (
    "What was my oil temperature in turn 8?",
    "How smooth is my steering?",
    "oil temperature in turn 8",
    "How hot did the water get?",
    "What was the highest water temperature?",
    "Did the engine overheat?",
    "Was my oil temperature above 120?",
    "My water temp was 95, right?",
    "Did I spin?",
    "Where did I stop?",
    "Did I stop on track?",
    "How much throttle do I use in turn 3?",
    "Do I stay on the throttle too long?",
    "Is my throttle smooth?",
    "Should I stick to my brake points?",
    "What gear am I in at turn 3?",
    "Which gear in turn 3?",
    "How many gear changes per lap?",
    "How loose is the rear in turn 5?",
    "The car slides at the exit of turn 2",
    "Is the car nervous in turn 5?",
    "I can't see why turn 4 is slow",
    "Where do I lose the most time?",
    "Was it raining on lap 12?",
    "How do I brake in the wet?",
    "What if it rains?",
    "Will it rain today?",
    "Where should I brake in the wet?",
    "Where am I leaking time?",
    "Who passed me in turn 4?",
    "How fast was the car in front?",
    "Does turn 9 pull to the left?",
    "Do I pull more g to the left than to the right?",
    "How much seat time did I get?",
    "What is the seating position for a good driver?",
    "Should I knock a second off?",
    "Did I knock two tenths off?",
    "Is my steering trace noisy?",
    "Is the throttle channel stuck?",
    "How steady is my steering in turn 5?",
    "Where is the car on the racing line in turn 4?",
    "When do I open the throttle in turn 4?",
    "Do I open the throttle too late in turn 11?",
    "What's my fuel per lap?",
    "How late do I brake for the hairpin?",
    "Am I off the brakes too early?",
    "How heavy do I brake?",
    "Does the throttle open before the apex?",
    "What is my brake temperature?",
    "Tyre pressures?",
    "How many laps did I do?",
    "Was I stuck in third gear on lap 2?",
    "Do I lock the wheels in turn 4?",
    "Which wheel locks first?",
    "How long was I stopped?",
    "Which corner is my best?",
    "Is the wheel straight at the exit?",
    "Where does the steering wheel turn most?",
    "what's my water temp at 130 km/h",
    "Which helmet is best?",
    "Was the track wet last time?",
    "Is turn 3 tighter than turn 6?",
    "How do I warm my tyres?",
    "Who had the quickest car?",
    "Do I brake softer when someone is behind me?",
    "Compare my speed with the car in front",
    "How do I follow a car in front?",
    "The exit of turn 4 feels slow",
    "I feel slow today",
    "It feels good in turn 4",
    "I stopped braking too early",
    "I'm coming off the brakes too fast, right?",
    "The steering is too much in turn 3, right?",
    "Turn 9 drops away at the exit, right?",
    "I did 130 in turn 8, right?",
    "It is 130 m before turn 4, right?",
    "How do people drive on track?",
    "Is there a car setup I should try?",
    "Does a parked foot on the brake cost time?",
    "Where do I park the car at the apex?",
    "The tyres are at 90 degrees, is that in the data?",
    "How's the sound of the coach?",
    "What does lift and coast mean?",
    "My oil temperature was 128 on lap 3, wasn't it?",
    "Which lap had the highest oil temperature?",
    "the car turns left too slow",
    "how do i stop the car pushing wide",
    "Why is the car slow?",
    "I went wide at turn 4",
    "I got stuck in traffic on lap 3",
    "does it get slower when wet",
    "I opened the throttle late",
)
GRAVEST: Final = "The gravest danger on file is at Turn 4"
WALL: Final = "A wall is on file at Turn 2: The wall stands close"
PLACES: Final = (
    ("Where could I crash?", GRAVEST),
    ("Where could I spin?", GRAVEST),
    ("Where should I be careful?", GRAVEST),
    ("Where should I take care?", GRAVEST),
    ("Where do I have to watch out?", GRAVEST),
    ("What should I watch out for?", GRAVEST),
    ("Where's the wall?", WALL),
    ("Where are the walls?", WALL),
)
DATA: Final = ("oil temperature in turn 8", "How smooth is my steering?", "Where did I crash?")
WET: Final = ("Is it raining?", "Will it rain today?", "Is the track wet?", "Is there fog?")
STRANGERS: Final = (
    ("How fast was Verstappen in turn 4?", "Verstappen"),
    ("how fast was verstappen in turn 4?", "Verstappen"),
    ("Where does Lewis Hamilton brake for turn 1?", "Hamilton"),
    ("Was I quicker than Tomas in turn 3?", "Tomas"),
)
OWN: Final = (
    "Is Chapel faster than Harbour Bend?",
    "Is Larkfell a fast track?",
    "How fast was I in Turn 4?",
    "Is Lap 3 better than Lap 2?",
    "How do I drive like Verstappen?",
    "Who is Senna?",
    "HOW FAST WAS I IN TURN 4",
    "How Fast Was Turn Four On Lap Two",
    "Was I faster than on Monday?",
)
NAMES: Final = ("Turn 3", "Chapel", "Harbour Bend", "Larkfell", "Moor")


@pytest.mark.parametrize(("text", "kind"), TOLD)
def test_what_is_told_as_a_danger_is_known(text: str, kind: str) -> None:
    assert hazard(text) == kind
    assert careful(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_look_alike_tells_of_no_danger(text: str) -> None:
    assert hazard(text) == ""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every question, each in a conversation of its own."""
    asked = (*(text for text, _ in (*TOLD, *PLACES, *STRANGERS)), *DATA, *WET)

    async def work() -> dict[str, Json]:
        async with bridging(settings_for(tmp_path_factory.mktemp("told"))) as bridge:
            await filled(bridge)
            found = {}
            for text in asked:
                found[text] = await ask(bridge, text)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            await ask(bridge, "Where do I brake for turn 4?")
            found["rain then"] = await ask(bridge, "It's raining now")
            return found

    return asyncio.run(work())


@pytest.mark.parametrize("text", [text for text, _ in TOLD])
def test_the_fixed_answer_is_all_that_is_said(text: str, answered: dict[str, Json]) -> None:
    found = answered[text]
    fixed = first_of_all(text)
    assert found["answer"] == " ".join((fixed.summary, *fixed.details))
    assert [one["tool"] for one in found["sources"]] == ["safety"]
    assert found["source"] == "template"
    assert found["emotion"] == "concerned"
    assert "flying" not in found["answer"]


@pytest.mark.parametrize(("text", "begins"), PLACES)
def test_where_to_take_care_is_told_by_the_danger_zones(
    text: str, begins: str, answered: dict[str, Json]
) -> None:
    assert answered[text]["answer"].startswith(begins)


@pytest.mark.parametrize("text", DATA)
def test_words_that_mean_data_stay_data(text: str, answered: dict[str, Json]) -> None:
    assert answered[text]["sources"][0]["tool"] not in ("safety", "risk_facts")


@pytest.mark.parametrize("text", WET)
def test_no_hour_of_the_day_speaks_for_rain(text: str, answered: dict[str, Json]) -> None:
    found = answered[text]["answer"]
    assert found.startswith("The bridge has no weather station")
    assert "flying" not in found
    assert "optimal" not in found


@pytest.mark.parametrize(("text", "name"), STRANGERS)
def test_a_stranger_is_not_answered_with_ones_own_pass(
    text: str, name: str, answered: dict[str, Json]
) -> None:
    assert name in stranger(text, NAMES)
    found = answered[text]["answer"]
    assert f"{name} here has a complete lap" in found
    assert "km/h" not in found


@pytest.mark.parametrize("text", OWN)
def test_a_place_or_a_teacher_is_no_stranger(text: str) -> None:
    assert stranger(text, NAMES) == ""


def test_rain_in_a_conversation_comes_first_too(answered: dict[str, Json]) -> None:
    assert [one["tool"] for one in answered["rain then"]["sources"]] == ["safety"]
