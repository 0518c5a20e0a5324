"""Markdown text as plain words, one string for each paragraph, list, table or heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LINK: Final = re.compile(r"\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\](?:\([^)]*\)|\[[^\]\n]*\])")
_DEFINITION: Final = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[^\n]*", re.MULTILINE)
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\n]+\]:?")
_ALERT: Final = re.compile(r"\[!([A-Z]+)\]")
# A star is emphasis unless it stands between two blanks or inside a word, as in 2*3.
_STAR: Final = re.compile(r"\*(?<!\\\*)(?!(?<=\s\*)\s)(?!(?<=\w\*)\w)")
_UNDERSCORE: Final = re.compile(r"_(?<!\\_)(?!(?<=\w_)\w)(?!(?<=\s_)\s)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_LONG_SPAN: Final = re.compile(r"(`{2,})\s?(.+?)\s?\1", re.DOTALL)
_CODE: Final = "\x00"  # stands for a code span; no source file holds this character
_STRUCTURED: Final = frozenset("|>#-*+0123456789")


def units(markdown: str) -> list[str]:
    """Each block of *markdown* (no fenced code) without its marks; lists and tables keep lines."""
    found: list[str] = []
    for raw in words(markdown).split("\n\n"):
        block = raw.strip()
        if not block:
            continue
        if block[0] not in _STRUCTURED:
            found.append(" ".join(block.split()) if "\n" in block else block)
        elif _is_plain_list(block):
            found.append(block[2:].replace("\n- ", "\n"))
        elif text := "\n".join(_lines(block)):
            found.append(text)
    return found


def _is_plain_list(block: str) -> bool:
    """Whether each line is an item of its own, without a box to tick."""
    return (
        block.startswith("- ") and block.count("\n- ") == block.count("\n") and "- [" not in block
    )


def words(text: str) -> str:
    """*text* without inline marks: link texts, alternative texts, code and emphasis stay."""
    if "``" in text:
        text = _LONG_SPAN.sub(lambda found: f"`{found[2].replace('`', '')}`", text)
    if "[" in text:
        text = _without_links(text)
    if "`" not in text:
        return _bare(text)
    parts = text.split("`")
    parts[::2] = _bare(_CODE.join(parts[::2])).split(_CODE)
    return "".join(parts)


def _without_links(text: str) -> str:
    """*text* with links, images, footnotes and alerts cut down to their words."""
    if "[!" in text:
        text = _ALERT.sub(lambda found: f"{found[1].capitalize()}:", text)
    if "[^" in text:
        text = _FOOTNOTE.sub("", text)
    if "]:" in text:
        text = _DEFINITION.sub("", text)
    return _LINK.sub(r"\1", text.replace("![", "["))


def _bare(text: str) -> str:
    """Text between code spans without emphasis and escapes."""
    if "*" in text:
        text = _STAR.sub("", text)
    if "_" in text:
        text = _UNDERSCORE.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return text


def _lines(block: str) -> Iterator[str]:
    """The lines of a list, table, quotation or heading; wrapped lines of one item are joined."""
    current: list[str] = []
    for raw in block.split("\n"):
        line = raw.strip().lstrip("> ")
        whole = _whole(line)
        item = None if whole is not None else _ITEM.match(line)
        if current and (item or whole is not None):
            yield " ".join(current)
            current = []
        if whole:
            yield whole
        elif whole is None:
            current.append(line[item.end() :] if item else line)
    if current:
        yield " ".join(current)


def _whole(line: str) -> str | None:
    """What a line that stands for itself says (a heading, a table row, a rule), else None."""
    mark = line[:1]
    if mark == "|":
        row = line.strip("| \t")
        if not row.strip("|:- \t"):
            return ""
        return _sentence(row.replace(" | ", ", ").replace("|", ", "))
    if mark == "#":
        return _sentence(line.strip("# \t"))
    return None if line.strip("-_ \t") else ""


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?:" else f"{text}."
