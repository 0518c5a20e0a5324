"""The corpus: the same for a seed, readable, and never a number that was not given."""

import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from jinja2.sandbox import ImmutableSandboxedEnvironment

from runtime.bridge.cues.concepts import Inputs, choose_concept
from training.coach.corpus import data, dialogue, laps, questions, readings, records, talk
from training.coach.corpus.exchange import Exchange, sentences
from training.coach.shape import CHAT_TEMPLATE
from training.coach.vocabulary import taught

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
ROUNDS = 400
Maker = Callable[[random.Random], Exchange]
NUMBERS: tuple[Maker, ...] = (readings.about_numbers, *laps.KINDS)


def drawn(seed: int = 7, rounds: int = ROUNDS) -> Iterator[list[Exchange]]:
    rng = random.Random(seed)
    return (dialogue.exchanges(rng) for _ in range(rounds))


def test_the_nine_concepts_are_those_of_the_course() -> None:
    listed = yaml.safe_load((ROOT / "content" / "concepts.yaml").read_text("utf-8"))
    ours = [topic.id for topic in data.topics() if topic.concept]
    assert sorted(ours) == sorted(concept["id"] for concept in listed)


def test_a_topic_can_be_asked_about_and_followed_up() -> None:
    for topic in data.topics():
        assert {"tip", "why", "drill"} <= topic.answers.keys(), topic.id
        assert topic.concept <= ({"what", "when", "wrong"} <= topic.answers.keys()), topic.id
        assert all(topic.answers.values()), topic.id
        assert topic.noun, topic.id


@pytest.mark.parametrize("make", NUMBERS, ids=lambda make: str(make.__name__))
def test_a_reply_to_numbers_holds_no_number_that_was_not_given(make: Maker) -> None:
    rng = random.Random(13)
    for _ in range(ROUNDS):
        exchange = make(rng)
        given = set(NUMBER.findall(exchange.prompt))
        assert set(NUMBER.findall(exchange.reply)) <= given, exchange


def test_a_reply_to_telemetry_says_where_and_how_much() -> None:
    rng = random.Random(17)
    for _ in range(ROUNDS):
        record = records.draw(rng)
        exchange = readings.about_record(record, rng)
        assert record.label in exchange.reply, exchange
        assert NUMBER.search(exchange.reply), exchange


def test_a_record_shows_the_concept_that_its_numbers_fire() -> None:
    rng = random.Random(19)
    concepts = {topic.id for topic in data.topics() if topic.concept}
    for _ in range(ROUNDS * 3):
        record = records.draw(rng)
        if record.finding not in concepts:
            continue
        numbers = {name: float(text) for name, text in record.fields.items()}
        in_corner = record.finding in ("trail_brake", "early_brake_release", "exit_speed")
        moment = Inputs(
            in_corner=in_corner,
            past_apex=record.finding == "exit_speed",
            brake=numbers.get("brake", math.nan if in_corner else 0.0),
            thr=numbers.get("throttle", math.nan),
            glat=abs(numbers.get("lat", 0.0)),
            v=numbers.get("speed", math.nan),
            to_entry=numbers.get("to_entry", 999.0),
            bz=70.0,
            dz=numbers.get("height", 0.0),
        )
        assert choose_concept(moment).id == record.finding, record


def test_a_reply_is_one_to_three_finished_sentences() -> None:
    for told in drawn():
        for exchange in told:
            assert 1 <= sentences(exchange.reply) <= 3, exchange
            assert exchange.reply.endswith((".", "?", "!")), exchange
            assert exchange.reply[:1].upper() == exchange.reply[:1] or exchange.label, exchange


def test_no_template_shows_in_a_reply() -> None:
    for told in drawn(23):
        for exchange in told:
            assert not re.search(r"[\[\]{}|]|  |\s[.,]", exchange.reply), exchange


@pytest.mark.parametrize("kind", ["topic", "reading"])
def test_a_second_turn_about_another_corner_names_it(kind: str) -> None:
    rng = random.Random(29)
    before = Exchange(kind, "?", "!", "late_apex", "the first answer's corner")
    after = [dialogue.follow(before, rng) for _ in range(ROUNDS)]
    moved = [exchange for exchange in after if exchange.label != before.label]
    assert len(moved) > ROUNDS / 20
    assert [one for one in moved if one.label not in f"{one.reply} the corner"] == []


def test_what_is_off_topic_is_turned_down_and_says_what_is_possible() -> None:
    rng = random.Random(31)
    for _ in range(ROUNDS):
        reply = talk.refusal(rng).reply
        assert re.search(r"driv|corner|lawyer|doctor", reply), reply


def test_speed_on_public_roads_is_never_encouraged() -> None:
    topic = data.topic("public_road")
    rng = random.Random(37)
    replies = {questions.answer(topic, "ask", "the corner", rng) for _ in range(100)}
    assert all(re.search(r"closed (?:track|circuit)", reply) for reply in replies)


def test_the_chat_template_of_the_file_writes_what_the_model_was_trained_on() -> None:
    messages = next(dialogue.conversations(41))
    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
        CHAT_TEMPLATE
    )
    told = [{"role": message.role, "content": message.content} for message in messages]
    opened = dialogue.chatml(messages) + "<|im_start|>assistant\n"
    assert template.render(messages=told, add_generation_prompt=True) == opened


def test_only_the_words_of_the_assistant_and_their_end_are_taught() -> None:
    start, end, user, coach = 2, 3, 10, 11
    ids = [start, user, 20, 21, end, 30, start, coach, 40, 41, end, 30, start, user, 22, end]
    marked = [
        token for token, mark in zip(ids, taught(ids, [start, coach], end), strict=True) if mark
    ]
    assert marked == [40, 41, end]
