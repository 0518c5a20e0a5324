"""Reads the template files once and gives them typed."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

TOPIC_FILES: Final = ("concepts", "technique", "trackcraft")
Texts = tuple[str, ...]


class Topic(BaseModel):
    """A subject of the coach: how it is called and what there is to say about it."""

    model_config = ConfigDict(frozen=True)

    id: str
    concept: bool
    noun: Texts
    verb: Texts = ()
    ask: Texts = ()
    answers: dict[str, Texts]
    """Aspect (what, why, tip, drill, when, wrong) to texts."""


class Talk(BaseModel):
    """Questions that get one kind of fixed reply: small talk or a refusal."""

    model_config = ConfigDict(frozen=True)

    id: str
    weight: int = 1
    ask: Texts
    reply: Texts


@cache
def table(name: str) -> dict[str, Any]:
    """Read the file `data/<name>.toml`."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


def section(name: str, *keys: str) -> Mapping[str, Any]:
    """Return a table of a file."""
    branch = table(name)
    for key in keys:
        branch = branch[key]
    return branch


def texts(name: str, *keys: str) -> Texts:
    """Return a list of texts of a file."""
    return tuple(section(name, *keys[:-1])[keys[-1]])


@cache
def topics() -> tuple[Topic, ...]:
    """Every topic; the nine concepts first."""
    fields = Topic.model_fields.keys()
    return tuple(
        Topic(
            concept=name == "concepts",
            answers={aspect: row[aspect] for aspect in sorted(row.keys() - fields)},
            **{field: row[field] for field in row.keys() & fields},
        )
        for name in TOPIC_FILES
        for row in table(name)["topic"]
    )


def topic(topic_id: str) -> Topic:
    """Return the topic with this id; raises KeyError."""
    return {topic.id: topic for topic in topics()}[topic_id]


@cache
def small_talk() -> tuple[Talk, ...]:
    """Greetings, questions about the coach, thanks and the like."""
    return tuple(Talk(**row) for row in table("social")["talk"])


@cache
def off_topic() -> tuple[Talk, ...]:
    """Questions that the coach turns down."""
    usual = {"reply": texts("offtopic", "unknown", "reply")}
    return tuple(Talk(**{**usual, **row}) for row in table("offtopic")["category"])
