"""The search index: words of lessons and of what leads to them, in files that a browser ranks."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import sub
from typing import Any, Final

import orjson

from course.publish.shell import plain

SHARD_ABOVE: Final = 1000  # lessons; up to here the whole index is one file
LEVELS: Final = (1, 2, 4, 8)  # weighted count from which a level holds; a posting keeps the level
STEP: Final = 1 + len(LEVELS)  # below them all, level 0: words that only questions and such have
RARE: Final = (
    30  # lessons; a word in more of them loses its single mentions in running text and below
)
TITLE, OBJECTIVE, HEADING = 4, 3, 2  # weight of one occurrence; running text counts 1
KINDS: Final = ("pathway", "role", "domain", "project")  # what is found besides lessons

# English words that carry no meaning alone; a query does without them, too.
_COMMON: Final = (
    "an and are as at be but by can do does for from has have how if in into is it its no not of "
    "on or so than that the their then there these they this to was were what when where which "
    "while why will with you your"
)
_IGNORED: Final = frozenset({*string.ascii_lowercase, *string.digits, *_COMMON.split()})
_WORD: Final = re.compile(r"[^\W_]+")
_SEPARATORS: Final = bytes(c if c < 128 and chr(c).isalnum() else 32 for c in range(256))
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_LATIN_MARK: Final = re.compile("[\u0300-\u036f]+")
_CJK: Final = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
_SINGLE_FORMS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"}
)


def fold(text: str) -> str:
    """Lower case without accents; the browser's script folds a query by the same steps."""
    lower = text.lower()
    if lower.isascii():
        return lower
    bare = _LATIN_MARK.sub("", unicodedata.normalize("NFKD", lower))
    return unicodedata.normalize("NFC", bare).translate(_SINGLE_FORMS)


def tokenize(text: str) -> list[str]:
    """Words of *text* in order; CJK runs as pairs of characters."""
    folded = fold(text)
    if folded.isascii() or not any(map(str.isalnum, "".join(_NOT_ASCII.findall(folded)))):
        return folded.encode("ascii", "replace").translate(_SEPARATORS).decode().split()
    words: list[str] = []
    pattern = re.compile(_CJK)  # 2 ms the first time: most courses are spared them
    for word in _WORD.findall(folded):
        runs = pattern.findall(word)
        for run in runs:
            words.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        words.extend(part for part in pattern.split(word) if part)
    return words


def index_lesson(lesson: Mapping[str, Any], prose: str = "") -> dict[str, Any]:
    """Return the index entry of one lesson resource and its *prose*, as JSON-able data.

    ``terms`` has one string of space-separated words for each level: first the words that stand
    in :func:`_asides` and nowhere else, then one of :data:`LEVELS` after the other. ``length`` is
    the number of words weighted by field, without numbers, so that a table makes no lesson longer.
    Single letters and digits are left out.
    """
    counts = dict(Counter(tokenize(prose)))
    _add(counts, _fields(lesson))
    return {
        "id": lesson["id"],
        "title": plain(lesson["title"]),
        "summary": plain(lesson["summary"]),
        "planned": lesson["status"] == "planned",
        "length": sum(count for word, count in counts.items() if not word.isdigit()),
        "terms": [_asides(lesson, counts), *_by_level(counts)],
    }


def index_page(kind: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the index entry of a resource of one of :data:`KINDS`, from its title and summary."""
    counts: dict[str, int] = {}
    _add(counts, ((TITLE, entry["title"]), (HEADING, entry["summary"])))
    return {
        "url": entry["url"],
        "title": plain(entry["title"]),
        "summary": plain(entry["summary"]),
        "planned": entry.get("status") == "planned",
        "kind": 1 + KINDS.index(kind),
        "terms": ["", *_by_level(counts)],
    }


def _add(counts: dict[str, int], fields: Iterable[tuple[int, str]]) -> None:
    """Count the words of weighted *fields*, without those that are never searched for."""
    count = counts.get
    for weight, text in fields:
        for word in tokenize(text):
            counts[word] = count(word, 0) + weight
    for word in counts.keys() & _IGNORED:
        del counts[word]


def _asides(lesson: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """Words of questions, evidence and references that *counts* does not hold."""
    lines = [*lesson.get("evidence", ())]
    lines += [entry["title"] for entry in lesson.get("references", ())]
    if "content" in lesson:
        lines.append(lesson["check"]["prompt"])
        lines += [entry["prompt"] for entry in lesson["quiz"]["questions"]]
    return " ".join(sorted(set(tokenize("\n".join(lines))).difference(counts, _IGNORED)))


def _by_level(counts: Mapping[str, int]) -> list[str]:
    levels: tuple[list[str], ...] = ([], [], [], [])
    once = levels[0].append
    for word, count in counts.items():
        if count == 1:
            once(word)
        else:
            levels[1 + (count >= LEVELS[2]) + (count >= LEVELS[3])].append(word)
    return [" ".join(words) for words in levels]


def _fields(lesson: Mapping[str, Any]) -> Iterable[tuple[int, str]]:
    yield TITLE, lesson["title"]
    yield OBJECTIVE, "\n".join(lesson["objectives"])
    lines = [lesson["summary"]]
    lines += [name.replace("_", " ") for name in (*lesson["concepts"], *lesson["tags"])]
    if "content" in lesson:
        lines += [entry["title"] for entry in lesson["content"]["toc"]]
    yield HEADING, "\n".join(lines)


def build_index(
    entries: Sequence[Mapping[str, Any]],
    shard_above: int = SHARD_ABOVE,
    others: Sequence[Mapping[str, Any]] = (),
    synonyms: Sequence[Sequence[str]] = (),
) -> dict[str, bytes]:
    """The files of ``search/`` from the results of :func:`index_lesson`, in course order.

    *others* are results of :func:`page_terms`; their numbers follow those of the lessons, and
    each counts as long as the average lesson, so that its few words do not outrank lessons.
    *synonyms* are groups of phrases that stand for one another in a query.

    A posting is ``STEP * lesson + level``; a word's postings ascend and are stored as differences.
    One mention in passing is no reason to list a lesson under a common word (:data:`RARE`).
    Above *shard_above* lessons the words move to one file for each first letter.
    """
    postings = _postings([*entries, *others])
    vocabulary = sorted(postings)
    head: dict[str, Any] = {
        "version": 2,
        "common": _COMMON,
        "lessons": [
            [e["id"], e["title"], e["summary"], int(e["planned"]), e["length"]] for e in entries
        ],
    }
    if synonyms:
        head["synonyms"] = [[" ".join(tokenize(phrase)) for phrase in group] for group in synonyms]
    if others:
        length = sum(entry["length"] for entry in entries) // max(1, len(entries))
        head["others"] = [
            [e["url"], e["title"], e["summary"], int(e["planned"]), length, e["kind"]]
            for e in others
        ]
    if len(entries) <= shard_above:
        head |= _words(vocabulary, postings)
        return {"search/index.json": orjson.dumps(head)}
    shards: dict[str, list[str]] = {}
    for word in vocabulary:
        shards.setdefault(choose_shard(word), []).append(word)
    head["shards"] = sorted(shards)
    files = {"search/index.json": orjson.dumps(head)}
    for name in head["shards"]:
        files[f"search/{name}.json"] = orjson.dumps(_words(shards[name], postings))
    return files


def _postings(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """The postings of every word; a common one keeps no place that hardly speaks of it."""
    postings: dict[str, list[int]] = defaultdict(list)
    beside: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(entries):
        aside, *levels = entry["terms"]
        code = STEP * number
        for word in aside.split():
            beside[word].append(code)
        for words in levels:
            code += 1
            for word in words.split():
                postings[word].append(code)
    for word, codes in postings.items():
        if len(codes) > RARE:
            postings[word] = [code for code in codes if code % STEP > 1] or codes
    for word, codes in beside.items():
        own = postings[word]
        if not own or len(own) + len(codes) <= RARE:
            postings[word] = sorted(own + codes)
    return postings


def choose_shard(word: str) -> str:
    """Name of the file that holds *word*: its first letter if that is a to z, else "other"."""
    return word[0] if "a" <= word[0] <= "z" else "other"


def _words(vocabulary: Sequence[str], postings: Mapping[str, list[int]]) -> dict[str, Any]:
    return {
        "words": " ".join(vocabulary),
        "postings": [_differences(postings[word]) for word in vocabulary],
    }


def _differences(codes: list[int]) -> list[int]:
    return [codes[0], *map(sub, codes[1:], codes)]
