"""Reads the template files once and gives them typed."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

TOPIC_FILES: Final = ("concepts", "technique", "trackcraft")
Texts = tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A subject of the coach: how it is called and what there is to say about it.

    `answers` maps an aspect (what, why, tip, drill, when, wrong) to texts.
    """

    id: str
    concept: bool
    noun: Texts
    verb: Texts
    ask: Texts
    answers: Mapping[str, Texts]


@dataclass(frozen=True)
class Talk:
    """Questions that get one kind of fixed reply: small talk or a refusal."""

    id: str
    weight: int
    ask: Texts
    reply: Texts


@cache
def table(name: str) -> Mapping[str, object]:
    """The file `data/<name>.toml` as it stands."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


def section(name: str, *keys: str) -> Mapping[str, object]:
    """A table inside a file; raises TypeError when it is none."""
    found: object = table(name)
    for key in keys:
        found = _mapping(found)[key]
    return _mapping(found)


def texts(name: str, *keys: str) -> Texts:
    """A list of texts inside a file; raises TypeError when it is none."""
    return _texts(section(name, *keys[:-1])[keys[-1]])


@cache
def topics() -> tuple[Topic, ...]:
    """Every topic; the nine concepts first."""
    found = []
    for name in TOPIC_FILES:
        for entry in _list(table(name)["topic"]):
            row = _mapping(entry)
            aspects = row.keys() - {"id", "noun", "verb", "ask"}
            found.append(
                Topic(
                    id=str(row["id"]),
                    concept=name == "concepts",
                    noun=_texts(row["noun"]),
                    verb=_texts(row.get("verb", [])),
                    ask=_texts(row.get("ask", [])),
                    answers={aspect: _texts(row[aspect]) for aspect in sorted(aspects)},
                )
            )
    return tuple(found)


def topic(topic_id: str) -> Topic:
    """The topic of that id; raises KeyError."""
    for candidate in topics():
        if candidate.id == topic_id:
            return candidate
    raise KeyError(topic_id)


@cache
def small_talk() -> tuple[Talk, ...]:
    """Greetings, questions about the coach, thanks and the like."""
    return tuple(_talk(entry, ()) for entry in _list(table("social")["talk"]))


@cache
def off_topic() -> tuple[Talk, ...]:
    """Questions that the coach turns down."""
    usual = texts("offtopic", "unknown", "reply")
    return tuple(_talk(entry, usual) for entry in _list(table("offtopic")["category"]))


def _talk(entry: object, usual: Texts) -> Talk:
    row = _mapping(entry)
    reply = _texts(row["reply"]) if "reply" in row else usual
    return Talk(str(row["id"]), int(str(row.get("weight", 1))), _texts(row["ask"]), reply)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"a table was expected, not {type(value).__name__}")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {type(value).__name__}")
    return value


def _texts(value: object) -> Texts:
    return tuple(str(entry) for entry in _list(value))
