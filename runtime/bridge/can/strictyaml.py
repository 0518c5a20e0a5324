"""Reads a small, strict part of YAML in which every scalar stays the text that was written."""

from collections.abc import Iterator
from typing import Final, TypeAlias

import yaml

MAX_BYTES: Final = 256 << 10
MAX_DEPTH: Final = 20
_NULLS: Final = ("", "~", "null")
_BEGIN: Final = yaml.MappingStartEvent | yaml.SequenceStartEvent
_END: Final = yaml.MappingEndEvent | yaml.SequenceEndEvent

Tree: TypeAlias = str | list["Tree"] | dict[str, "Tree"] | None


class YamlError(ValueError):
    """A text outside the part of YAML that is read; the message names line and column."""


def parse_yaml(data: bytes) -> Tree:
    """The data of one document: mappings, lists, texts, and None for a plain null.

    Numbers, dates and words such as ``no`` stay texts. Aliases, anchors, tags, directives, further
    documents, keys that come twice and nesting beyond `MAX_DEPTH` raise `YamlError`, as does
    whatever is no YAML in UTF-8 of at most `MAX_BYTES`.
    """
    if len(data) > MAX_BYTES:
        raise YamlError(f"the file is larger than {MAX_BYTES // 1024} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise YamlError("the file is not UTF-8") from None
    try:
        return _document(_events(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{where}{error.problem or 'not readable as YAML'}") from None
    except yaml.YAMLError as error:
        raise YamlError(f"not readable as YAML: {str(error).splitlines()[0]}") from None


def _events(text: str) -> Iterator[yaml.Event]:
    """The events of one document, none of which is forbidden."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _error(event, "aliases are not allowed")
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            raise _error(event, "anchors are not allowed")
        if getattr(event, "tag", None):
            raise _error(event, "tags are not allowed")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.version or event.tags:
                raise _error(event, "one document without directives is allowed")
        elif isinstance(event, _BEGIN):
            depth += 1
            if depth > MAX_DEPTH:
                raise _error(event, f"nested deeper than {MAX_DEPTH}")
        elif isinstance(event, _END):
            depth -= 1
        yield event


def _document(events: Iterator[yaml.Event]) -> Tree:
    tree: Tree = None
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            tree = _node(event, events)
    return tree


def _node(event: yaml.Event, events: Iterator[yaml.Event]) -> Tree:
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(events)
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events)
    if not isinstance(event, yaml.ScalarEvent):
        raise _error(event, "a value was expected")
    value: str = event.value
    return None if not event.style and value in _NULLS else value


def _sequence(events: Iterator[yaml.Event]) -> list[Tree]:
    items: list[Tree] = []
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        items.append(_node(event, events))
    return items


def _mapping(events: Iterator[yaml.Event]) -> dict[str, Tree]:
    entries: dict[str, Tree] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent):
            raise _error(event, "a key must be a text")
        key: str = event.value
        if key in entries:
            raise _error(event, f"the key {key[:80]} comes twice")
        entries[key] = _node(next(events), events)
    return entries


def _error(event: yaml.Event, text: str) -> YamlError:
    mark = event.start_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return YamlError(where + text)
