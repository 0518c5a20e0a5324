"""Slots of a question: what it names, and the quantity, spot and order that it speaks of."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, cast

from runtime.bridge.coach.fact import Value
from runtime.bridge.coach.need import Language, Lap, Slots, Strange, Units
from runtime.bridge.coach.understanding.mentions import (
    CornerNames,
    Kind,
    Mention,
    Names,
    Reader,
    split_pieces,
    words_of,
)
from runtime.bridge.coach.understanding.phrases import Pattern

__all__ = ["CornerNames", "Names", "find_units", "mask_names", "read_slots"]

UNITS: Final[tuple[Units, ...]] = ("metric", "imperial")


def read_slots(text: str, language: Language, names: Names) -> Slots:
    """What a question names; what needs the questions before it is left out.

    A count of laps is an amount without a unit.
    """
    reader, tables = Reader(text, language, names), words_of(language).tables
    mentions = reader.mentions()
    plain = _join_words(reader, mentions)
    spoken, accented = _join_words(reader, ()), _join_words(reader, (), accents=True)
    laps, without = _part_laps(reader, mentions)
    words, words_without, unranked = _lap_words(plain, language)
    which = _find_first("which", plain, language)
    if which in ("corner", "sector"):  # its best or worst one is no lap
        spoken_laps = not words_of(language).lists["lap"].isdisjoint(plain.split())
        words = [lap for lap in words if spoken_laps or lap not in ("best", "slowest")]
    quantity = _find_first("names", plain, language) or _find_first("quantities", plain, language)
    flags = {
        name: pattern.search(spoken) is not None or pattern.search(accented) is not None
        for name, pattern in tables["flags"].items()
    }
    denied = tables["flags"]["claims"].sub("", spoken)
    if without or words_without:
        denied = _remove_words(denied, words_of(language).lists["without"])
    asserts = flags.get("asserts", False)
    asks = {name: pattern.search(plain) is not None for name, pattern in tables["asks"].items()}
    drivers = cast(tuple[str, ...], _values(mentions, "driver")) or names.drivers * flags["who"]
    drivers = tuple(name for name in drivers if name != names.asker)
    read = Slots(
        corners=cast(tuple[str, ...], _values(mentions, "corner")),
        laps=tuple(dict.fromkeys((*laps, *words))),
        without=(*without, *words_without),
        sectors=cast(tuple[int, ...], _values(mentions, "sector")),
        straights=cast(tuple[str, ...], _values(mentions, "straight")),
        drivers=drivers,
        strange=tuple(m.value for m in mentions if isinstance(m.value, Strange)),
        quantity=quantity,  # type: ignore[arg-type]
        spot=_find_earliest(tables, plain),  # type: ignore[arg-type]
        order=_find_first("orders", unranked, language),  # type: ignore[arg-type]
        amounts=tuple(m.value for m in mentions if isinstance(m.value, Value)),
        concept=_find_first("concepts", plain, language),
        why=flags["why"],
        where=flags["where"],
        claims=flags["claims"] or asserts,
        who=flags["who"],
        negated=tables["flags"]["negated"].search(denied) is not None,
        all_laps=flags["all_laps"],
        which=which,  # type: ignore[arg-type]
        than_me=asks["than_me"] and bool(drivers),
        gains=False if asks["loses"] else True if asks["gains"] else None,
        mine=asks["mine"],
        open=asks["open"] or flags["why"],
        between=asks["between"],
        supposes=asks["supposes"],
        wishes=asks["wishes"],
        count=int(_find_first("count", plain, language) or 0),
    )
    return settle_spot(read)


def settle_spot(slots: Slots) -> Slots:
    """Without a spot where the quantity has one value a corner: "braking into turn 1", coasting
    before it, which counts from its approach."""
    pedal = (slots.quantity or "").startswith(("brake", "throttle", "full_point"))
    if (
        (slots.spot in ("before", "after") and pedal)
        or (slots.spot == "before" and slots.quantity == "coasting")
        or (slots.spot == "entry" and (slots.quantity or "").startswith("brake"))
    ):
        return replace(slots, spot=None)
    return slots


def find_units(text: str) -> Units | None:
    """The units that a question asks for, without a number: in mph, in feet, metric please."""
    lists = words_of("en").lists
    pieces = [piece.word for piece in split_pieces(text) if piece.word not in "/,"]
    bare = [
        word
        for before, word in zip(("", *pieces), pieces, strict=False)
        if not before[:1].isdigit()
    ]
    asked = f" {' '.join(bare)} "
    places = {
        units: [at for word in lists[units] if (at := asked.find(f" {word} ")) >= 0]
        for units in UNITS
    }
    found = [units for units in UNITS if places[units]]
    return min(found, key=lambda units: min(places[units]), default=None)


def mask_names(text: str, language: Language, names: Names) -> str:
    """The text in lower case, each name replaced by the word of its class.

    The words: cornerx, lapx, timex, driverx, sectorx, straightx, amountx.
    """
    reader, at, parts = Reader(text, language, names), 0, []
    for mention in reader.mentions():
        start = reader.pieces[mention.first].start
        if start >= at:  # of `laps 3 to 7` those between have no place of their own
            parts += [text[at:start], f"{mention.kind}x"]
            at = reader.pieces[mention.end - 1].end
    return " ".join("".join((*parts, text[at:])).casefold().split())


def _join_words(reader: Reader, mentions: Iterable[Mention], *, accents: bool = False) -> str:
    """The words with spaces on both sides, mentions by the word of their class, without marks."""
    classes = {mention.first: f"{mention.kind}x" for mention in mentions}
    hidden = {i for mention in mentions for i in range(mention.first, mention.end)}
    words = (
        classes.get(i) or (piece.written.casefold() if accents else piece.word)
        for i, piece in enumerate(reader.pieces)
        if i in classes or (i not in hidden and piece.word[0].isalnum())
    )
    return f" {' '.join(words)} "


def _values(mentions: Iterable[Mention], kind: Kind) -> tuple[object, ...]:
    """What is named of a kind, once, in order."""
    values = (m.value for m in mentions if m.kind == kind and not isinstance(m.value, Strange))
    return tuple(dict.fromkeys(values))


def _part_laps(reader: Reader, mentions: Iterable[Mention]) -> tuple[list[Lap], list[Lap]]:
    """The laps that are named by number, and those of them that are to be left out."""
    kept: list[Lap] = []
    out: list[Lap] = []
    end, leaving = -9, False
    for lap in mentions:
        if lap.kind == "lap" and isinstance(lap.value, int):
            leaves = reader.leaves_out(lap.first, lap.end, max(end, 0))
            leaving = leaves or (leaving and lap.first - end <= 2)
            end = lap.end
            (out if leaving else kept).append(lap.value)
    return [lap for lap in kept if lap not in out], out


def _lap_words(text: str, language: Language) -> tuple[list[Lap], list[Lap], str]:
    """Laps that are named by a word, those to be left out, and the text without such words."""
    found: list[tuple[int, Lap]] = []
    words = words_of(language)
    rest = text
    for key, pattern in words.tables["laps"].items():
        for match in pattern.finditer(rest):
            found.append((match.start(), key))  # type: ignore[arg-type]
            if key != "each":
                blank = "_" * (len(match[0]) - 1)
                rest = f"{rest[: match.start()]}{blank} {rest[match.end() :]}"
    if found or " lapx " in text:  # the quickest and the slowest lap
        joins, nouns = words.lists["list"], {"", *words.lists["lap"]}
        for key, pattern in words.tables["bare_laps"].items():
            for match in pattern.finditer(rest):
                behind = rest[match.end() :].split(" ", 1)[0]
                joined = not joins.isdisjoint(rest[: match.start()].split()[-3:])
                joined = joined and behind in nouns
                if (joined or behind in joins) and key not in {lap for _, lap in found}:
                    found.append((match.start(), key))  # type: ignore[arg-type]
    kept: list[Lap] = []
    out: list[Lap] = []
    for at, lap in sorted(found, key=lambda each: each[0]):
        before = " ".join(text[:at].split()[-4:])
        leaves = _remove_words(f" {before} ", words.lists["without"]) != f" {before} "
        (out if leaves else kept).append(lap)
    return kept, out, rest


def _remove_words(text: str, listed: Collection[str]) -> str:
    return re.sub(rf"(?<= )(?:{'|'.join(map(re.escape, listed))}) ", "", text)


def _find_first(name: str, text: str, language: Language) -> str | None:
    """The first key of a table that fits; where none does, of the English one."""
    table = words_of(language).tables[name]
    found = next((key for key, pattern in table.items() if pattern.search(text)), None)
    if found is None and language != "en":
        return _find_first(name, text, "en")
    return found


def _find_earliest(tables: Mapping[str, Mapping[str, Pattern]], text: str) -> str | None:
    """The spot that is named first."""
    found = {key: match.start() for key, p in tables["spots"].items() if (match := p.search(text))}
    return min(found, key=lambda key: found[key], default=None)
