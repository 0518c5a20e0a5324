"""Replies to telemetry: what the numbers show, with those numbers, and what to do."""

import random
from collections.abc import Mapping
from functools import cache
from typing import Final

from training.coach.corpus import data, grammar, records, values, wire
from training.coach.corpus.data import Texts
from training.coach.corpus.exchange import NOWHERE, Exchange, ask, dress, pick
from training.coach.corpus.records import Record

NAMED: Final = 0.3  # share of the records of a concept that also name it
TYRES: Final = 0.1
FULL_PASS: Final = frozenset({"entry", "apex", "exit"})
# Findings after which the three speeds of the pass are said first.
WITH_SPEEDS: Final = frozenset(
    {"trail_brake", "early_brake_release", "exit_speed", "clean_exit"} | {"entry_exit"}
)
# What a second turn about the finding is about; concepts stand for themselves.
TOPIC: Final[Mapping[str, str]] = {
    "clean_exit": "exit_speed",
    "entry_exit": "exit_speed",
    "ref_apex": "trail_brake",
    "ref_exit": "exit_speed",
    "ref_entry": "turn_in",
    "ref_point": "braking",
    "time_lost": "data",
    "time_won": "consistency",
    "coasting_corner": "full_commitment",
    "tyre_hot": "tyres",
    "tyre_cold": "cold_tyres",
    "tyre_good": "tyres",
}


@cache
def findings() -> Mapping[str, tuple[Texts, Texts]]:
    """Finding id to what to say about the numbers and what to do."""
    sayings: dict[str, tuple[Texts, Texts]] = {}
    rows = data.table("telemetry")["finding"]
    assert isinstance(rows, list)
    for row in rows:
        sayings[row["id"]] = (tuple(row["say"]), tuple(row.get("advice", ())))
    return sayings


def _places(label: str) -> dict[str, str]:
    if not label:
        nothing = dict.fromkeys(("at", "to", "of", "from", "where"), "")
        return nothing | {"c": NOWHERE, "c_end": f" {NOWHERE}"}
    return {
        "at": f" at {label}",
        "to": f" to {label}",
        "of": f" of {label}",
        "from": f" {label}",
        "where": f" {label}",
        "c": label,
        "c_end": f" {label}",
    }


def comment(record: Record, rng: random.Random) -> str:
    """What the coach says about the record; every number in it is one of the record."""
    say, advice = findings()[record.finding]
    available = set(record.fields) | set(_places(""))
    full = record.fields.keys() >= FULL_PASS and record.finding in WITH_SPEEDS
    usable = [text for text in say if grammar.slots(text) <= available]
    # The sentence that uses most of the numbers says the most about this very pass.
    most = max((len(grammar.slots(text) - _places("").keys()) for text in usable), default=0)
    usable = [
        text for text in usable if len(grammar.slots(text) - _places("").keys()) >= min(most, 2)
    ]
    parts = []
    if full:
        speeds = rng.choice(findings()["speeds"][0])
        parts.append(grammar.fill(speeds, _places(record.label) | dict(record.fields)))
    if usable:
        places = _places("" if full else record.label)
        parts.append(grammar.fill(rng.choice(usable), places | dict(record.fields)))
    parts.append(pick(advice, rng))
    return grammar.tidy(" ".join(parts))


def _tyre(rng: random.Random) -> Exchange:
    finding, low, high = rng.choice(
        (("tyre_hot", 108, 140), ("tyre_good", 75, 98), ("tyre_cold", 12, 58))
    )
    slots = {
        "wheel": rng.choice(values.WHEELS),
        "temp": str(rng.randint(low, high)),
        "deg": "degrees",
    }
    prompt, _ = ask(rng.choice(data.texts("telemetry", "tyre", "ask")), slots, rng)
    say, advice = findings()[finding]
    body = grammar.fill(f"{pick(say, rng)} {pick(advice, rng)}", slots)
    return Exchange("reading", prompt, grammar.tidy(body), TOPIC[finding])


def about_record(record: Record, rng: random.Random) -> Exchange:
    """The record as a question, and the comment on it."""
    concept = ""
    if record.finding in {topic.id for topic in data.topics() if topic.concept}:
        concept = record.finding if rng.random() < NAMED else ""
    prompt = wire.write(record, rng, concept)
    topic = TOPIC.get(record.finding, record.finding)
    reply = dress(comment(record, rng), rng, closing=False)
    return Exchange("reading", prompt, reply, topic, record.label or NOWHERE)


def about_numbers(rng: random.Random) -> Exchange:
    """Numbers of a corner or of a tyre, and the comment on them."""
    if rng.random() < TYRES:
        return _tyre(rng)
    return about_record(records.draw(rng), rng)
