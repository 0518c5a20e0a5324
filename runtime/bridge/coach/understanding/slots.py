"""Slots of a question: the names in it, and the quantity, spot and order it mentions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, cast, get_args

from runtime.bridge.coach.fact import Unit, Value
from runtime.bridge.coach.need import UNITS as NEED_UNITS
from runtime.bridge.coach.need import (
    Group,
    Language,
    Lap,
    LapWord,
    Quantity,
    Ranked,
    Side,
    Slots,
    Spot,
    Strange,
    Their,
    Units,
)
from runtime.bridge.coach.understanding.mentions import (
    FACTORS,
    CornerNames,
    Kind,
    Mention,
    Names,
    Reader,
    Topic,
    split_pieces,
    words_of,
)

__all__ = ["CornerNames", "Names", "find_units", "mask_names", "read_slots"]

PLAIN: Final = (
    *"why where all_laps improves mine ranked whether between supposes wishes".split(),
    *(
        "counts",
        "every_corner",
        "offers",
        "within",
        "tally",
        "differs",
        "adds",
        "enough",
        "other_day",
        "counts_laps",
        "blames_kit",
    ),
)
"""Slots that a single phrase of the tables fills."""
OPPOSITES: Final = (("early", "late"), ("more", "fewer"), ("high", "low"))
ENDS: Final = ("most", "least", "worst", "earliest", "latest")
LIMITED: Final[Mapping[Unit, Quantity]] = {
    "g": "total_g",
    "km/h": "speed",
    "bar": "brake_pressure",
    "rpm": "rpm",
    "deg": "steering",
}
"""The quantity of an amount if no other is named."""
_PLACED: Final[Mapping[str, Quantity]] = {
    "brake": "brake_point",
    "throttle": "throttle_point",
    "full_throttle": "full_point",
}
"""What is measured of a pedal in metres."""
_G_OF: Final[Mapping[str, Quantity]] = {"brake": "brake_g", "throttle": "accel_g"}
"""Whose g are meant with a pedal."""
_PLACES: Final = ("corner", "sector", "straight")
_LEADS: Final = ("gains", "loses", "than_me")
UNITS: Final[tuple[Units, ...]] = ("metric", "imperial")


def read_slots(text: str, language: Language, names: Names) -> Slots:
    """Read the names in a question; what depends on earlier questions is left out.

    A count of laps is an amount without a unit.
    """
    reader, tables = Reader(text, language, names), words_of(language).tables
    mentions = reader.mentions()
    plain = _join_words(reader, mentions)
    theirs = _Theirs(reader, mentions, language)
    mentions = theirs.mark(mentions, plain)
    spoken, accented = _join_words(reader, ()), _join_words(reader, (), accents=True)
    laps, without = _split_excluded(reader, mentions, "lap")
    corners, besides = _split_excluded(reader, mentions, "corner")
    place, of_those = _find_place(plain, language)
    amounts = tuple(m.value for m in mentions if isinstance(m.value, Value))
    words, words_without, unranked, amounts = _find_lap_words(
        plain, language, amounts, place, theirs
    )
    words = [lap for lap in words if lap != "odd" or not (laps or without)]  # 6, the odd one
    topic, tokens = names.topic or Topic(), set(plain.split())
    which = _find_which(plain, language, None if laps or corners else topic.end)
    placed = topic.measured or not tokens.isdisjoint(("cornerx", "sectorx"))
    if which in ("corner", "sector") or (which == "lap" and placed):  # its best is not a lap
        spoken_laps = which != "lap" and not words_of(language).lists["lap"].isdisjoint(tokens)
        words = [lap for lap in words if spoken_laps or not _is_end(lap)]
        unranked = unranked if spoken_laps else plain
    several = len(laps) > 1 and tables["asks"]["open"].search(plain) is not None
    if (several or which == "lap") and len(laps) > 1:  # which of the two is the best
        words = [lap for lap in words if not _is_end(lap)]
    quantity, spot, also = _find_measured(plain, language)
    flags = {
        name: pattern.search(spoken) is not None or pattern.search(accented) is not None
        for name, pattern in tables["flags"].items()
    }
    leaves_out = bool(without or words_without or besides)
    denied = _remove_harmless(spoken, language, quantity, leaves_out=leaves_out)
    asks = _find_asks(plain, unranked, denied, language)
    pedal, quantity = _find_pedal(plain, language, quantity)
    quantity = _measure_pedal(quantity, pedal, asks)
    if (first := _find_between(reader, corners, spot, asks, why=flags["why"])) is not None:
        corners, spot, also = [first], "after", ()
    either = any(all(tables["orders"][o].search(unranked) for o in pair) for pair in OPPOSITES)
    apart = laps or words or asks["ranked"] or any(what for what, _ in also)
    order = _find_order(unranked, language, which, quantity, apart=bool(apart))
    varies = order == "spread" or asks["same"] or bool(tables["orders"]["spread"].search(plain))
    if asks["same"] or tables["orders"]["alike"].search(plain):  # always so, closest to my best
        order = "alike"
        flags["where"] &= asks["open"] or which is not None  # brake where Ben does
    if (
        asks["how_fast"]
        and (laps or words)
        and "corner" not in {mention.kind for mention in mentions}
    ):
        quantity = "time"  # how fast a lap was
    held = asks["held_against"] and words == ["best"] and not laps
    held &= flags["where"] or which == "sector"
    if held and (asks["loses"] or not asks["gains"]):  # where is it lost against my best lap
        words, quantity, order = [], quantity or "time", "most" if asks["loses"] else order
    over = next((int(a.number) for a in amounts if not a.unit), 0) * asks["over_laps"]
    if over:
        amounts, asks["above"] = tuple(a for a in amounts if a.unit), False
    side = next((side for side in get_args(Side) if asks[side]), None)
    limits = side or (flags["claims"] and (quantity or spot or corners))
    if limits and not amounts and (bare := _find_bare(plain, language)):
        of_laps = not (corners or spot or words_of(language).lists["lap"].isdisjoint(tokens))
        minutes = names.minutes * of_laps  # laps under 54
        quantity, amounts = _complete_limit(bare, quantity, topic.amount, find_units(text), minutes)
    quantity = _find_limited(quantity, amounts, sided=side is not None)
    lowest = spot == "apex" or (quantity == "speed" and corners and amounts)
    if lowest and order in ("most", "least") and flags["claims"]:  # the slowest point
        order = _find_more(unranked, language) or (None if amounts else order)
    if quantity == "brake_pressure" and spot == "entry" and not asks["at_entry"]:
        spot = None  # into turn 1
    of_lap = which == "lap" and not (laps or words or placed or theirs.others)
    quantity, order = _rank_lost(quantity, order, asks, of_lap=of_lap)
    named = laps or words or quantity or placed
    if which == "lap" and order == "total" and tables["orders"]["most"].search(unranked):
        order = "most"  # on which lap the most in total
    if which == "lap" and not named and order in ("most", "least", "worst"):
        end: Literal["best", "slowest"] = "best" if order == "most" else "slowest"
        words = [end if place == 1 else Ranked(end, place)]
    asks["open"] |= either
    asks["whether"] &= not asks["open"]
    asserts = flags.get("asserts", False) or _ranks((*laps, *words), plain, language)
    if asks["whether"] and which == "corner" and " cornerx " in plain:  # is it the worst one
        asserts |= order in ("worst", "most", "least")
    people = cast(tuple[str, ...], _values(mentions, "driver"))
    drivers = tuple(name for name in people if name != names.asker)
    single = len(names.drivers) == 1 and not drivers  # the only driver a pronoun can mean
    pointed = single and (flags["rival"] or flags["rival_leads"])
    drivers = drivers or names.drivers * (flags["who"] or pointed)
    if asks["as_rule"] and drivers:
        order = "mean"
    if flags["where"] and not drivers and order in ("more", "fewer"):
        order = "most" if order == "more" else "least"
    before, met, _ = plain.partition(" driverx ")  # the driver leads unless after "than"
    behind = f" {' '.join(before.split()[1:][-1:])} "
    leads = (single and flags["rival_leads"]) or (
        bool(met) and theirs.others[0] and not tables["asks"]["joined"].search(behind)
    )
    where_ahead = bool(drivers) and flags["where"] and order == "most"  # where am I quickest
    mine = not words_of(language).lists["mine"].isdisjoint(plain.split())
    if mine and any(isinstance(lap, Their) for lap in (*laps, *words)):  # hers against mine
        drivers = drivers or names.drivers * (len(names.drivers) == 1)
    compares = asks["beside"] or names.asker in people
    alone = len(drivers) == 1 and not (flags["who"] or compares)
    all_laps = tuple(dict.fromkeys((*laps, *words)))
    out = (*without, *words_without)
    if alone or not drivers:  # then nobody else's laps are meant
        all_laps, out = (tuple(map(_drop_owner, row)) for row in (all_laps, out))
    read = Slots(
        corners=tuple(corners),
        laps=all_laps,
        without=out,
        besides=tuple(besides),
        sectors=cast(tuple[int, ...], _values(mentions, "sector")),
        straights=cast(tuple[str, ...], _values(mentions, "straight")),
        drivers=drivers,
        strange=tuple(m.value for m in mentions if isinstance(m.value, Strange)),
        quantity=quantity,
        pedal=pedal,  # type: ignore[arg-type]
        spot=spot,
        also=also,
        order=order,  # type: ignore[arg-type]
        amounts=amounts,
        concept=_find_first("concepts", plain, language),
        claims=(flags["claims"] or asserts) and (either or not asks["open"]),
        negated=tables["flags"]["negated"].search(denied) is not None,
        which=which,
        than_me=(asks["than_me"] or (leads and not flags["who"])) and bool(drivers),
        alone=alone,
        either=either,
        gains=False if asks["loses"] else True if asks["gains"] or where_ahead else None,
        open=asks["open"] or flags["why"],
        place=place,
        of_those=of_those,
        varies=varies,
        group=next((group for group in get_args(Group) if asks[group]), None),
        side=side,
        over=over,
        count=_find_count(plain, language),
    )
    plainly: dict[str, Any] = {name: {**flags, **asks}[name] for name in PLAIN}
    return settle_spot(replace(read, **plainly))


def _rank_lost(
    quantity: Quantity | None, order: str | None, asks: Mapping[str, bool], *, of_lap: bool
) -> tuple[Quantity | None, str | None]:
    """Turn the lap on which most was lost into the slowest, if *of_lap*."""
    lost = of_lap and quantity == "time" and asks["loses"] and order in ("more", "most")
    return (None, "worst") if lost else (quantity, order)


def _find_pedal(
    text: str, language: Language, quantity: Quantity | None
) -> tuple[str | None, Quantity | None]:
    """Return the pedal that a text names, and the quantity: of "brake for it or just lift" the
    brake."""
    pedal = _find_first("pedals", text, language)
    both = pedal == "lift" and words_of(language).tables["pedals"]["brake"].search(text)
    return ("brake", "brake_point") if both else (pedal, quantity)


def _measure_pedal(
    quantity: Quantity | None, pedal: str | None, asks: Mapping[str, bool]
) -> Quantity | None:
    """Return what is measured of a pedal if it is asked how long or how far."""
    lasts = asks["how_long"] and not (asks["loses"] or asks["gains"])
    if lasts and pedal == "brake" and quantity in (None, "time", "brake_point"):
        return "brake_time"
    if asks["how_far"]:
        of = pedal if quantity in (None, "speed") else quantity  # fr: à combien … je freine
        return _PLACED.get(of or "", quantity)
    return quantity


def _find_between(
    reader: Reader,
    corners: Sequence[str],
    spot: Spot | None,
    asks: Mapping[str, bool],
    *,
    why: bool,
) -> str | None:
    """Return the first of two corners if the way between them is meant: from its exit to the other,
    or where time is lost."""
    means = asks["from_to"] and (spot == "entry_exit" or asks["loses"] or why)
    return reader.find_before(corners) if means else None


def _remove_harmless(
    text: str, language: Language, quantity: Quantity | None, *, leaves_out: bool
) -> str:
    """The words without those of denial that deny nothing: "isn't it", "without lap 6" where that
    *leaves_out* something, and those that name the *quantity*: without either pedal."""
    tables = words_of(language).tables
    text = tables["flags"]["claims"].sub("", text)
    if leaves_out:
        text = remove_words(text, words_of(language).lists["without"])
    for names in (tables["names"], tables["quantities"]):
        text = names[quantity].sub(" ", text) if quantity and quantity in names else text
    return text


def _find_asks(text: str, unranked: str, denied: str, language: Language) -> dict[str, bool]:
    """Read how it asks; of alternatives the first says who gains: quicker than Ben, or is he
    quicker.

    *unranked* lacks the words that name a lap by its place, *denied* those that exclude something.
    """
    tables = words_of(language).tables
    asks = {name: pattern.search(text) is not None for name, pattern in tables["asks"].items()}
    asks["gains"] &= tables["asks"]["gains"].search(unranked) is not None
    asks["enough"] &= tables["flags"]["negated"].search(denied) is None
    if offer := tables["asks"]["offers"].search(text):
        first = text[: offer.start() + 1]
        leads = {name: tables["asks"][name].search(first) is not None for name in _LEADS}
        asks |= leads if leads["gains"] or leads["loses"] else {}
    return asks


def _find_order(
    text: str, language: Language, which: str | None, quantity: Quantity | None, *, apart: bool
) -> str | None:
    """Find the requested end of the values; with both ends, how far apart they are, unless each may
    belong to something else (*apart*). Pressure is not early or late but more or less: more, if he
    brakes earlier."""
    orders = words_of(language).tables["orders"]
    both = orders["least"].search(text) and orders["most"].search(orders["least"].sub(" ", text))
    if both and not apart:  # the slowest and the quickest
        return "most" if which in ("corner", "straight") else "spread"
    order = _find_first("orders", text, language)
    if quantity == "brake_pressure" and order in ("early", "late"):
        return _find_more(text, language) or order
    return order


def _find_more(text: str, language: Language) -> str | None:
    """Find whether more or less of it is mentioned."""
    orders = words_of(language).tables["orders"]
    return next((order for order in ("more", "fewer") if orders[order].search(text)), None)


def settle_spot(slots: Slots) -> Slots:
    """Drop the spot if the quantity has one value per corner: "braking into turn 1", or coasting
    before it, which counts from its approach."""
    if slots.pedal == "lift" and slots.spot in ("straight", "after"):
        return slots
    named = slots.quantity or slots.pedal or ""
    pedal = named.startswith(("brake", "throttle", "full_point"))
    if (
        (slots.spot in ("before", "after", "apex_exit") and pedal)
        or (slots.spot == "before" and slots.quantity == "coasting")
        or (slots.spot == "straight" and pedal and slots.corners)
        or (slots.spot == "entry" and named.startswith("brake") and named != "brake_pressure")
    ):
        return replace(slots, spot=None)
    return slots


def find_units(text: str, of: str = "") -> Units | None:
    """Find the units a question asks for without a number: in feet, metric please; *of*
    ``_speeds``: those of speeds alone, in mph."""
    lists = words_of("en").lists
    pieces = [piece.word for piece in split_pieces(text) if piece.word != "/"]
    bare = [
        word
        for before, word in zip(("", *pieces), pieces, strict=False)
        if word != "," and not before[:1].isdigit()
    ]
    joined = f" {' '.join(bare)} "
    places = {
        units: [at for word in lists[units + of] if (at := joined.find(f" {word} ")) >= 0]
        for units in UNITS
    }
    present = [units for units in UNITS if places[units]]
    return min(present, key=lambda units: min(places[units]), default=None)


def find_spoken(text: str) -> Language | None:
    """Find the language a question asks for: in French, auf Deutsch."""
    words = f" {' '.join(piece.word for piece in split_pieces(text))} "
    lists = words_of("en").lists
    phrases = {language: lists[f"speak_{language}"] for language in get_args(Language)}
    return next(
        (language for language, names in phrases.items() if any(f" {n} " in words for n in names)),
        None,
    )


def mask_names(text: str, language: Language, names: Names) -> str:
    """Return the text in lower case with each name replaced by the word of its class.

    The words: cornerx, lapx, timex, driverx, sectorx, straightx, amountx. An excluded corner is
    removed.
    """
    reader, at, parts = Reader(text, language, names), 0, []
    for mention in reader.mentions():
        start = reader.pieces[mention.first].start
        if start >= at:  # those inside `laps 3 to 7` have no place of their own
            leaves = mention.kind == "corner" and reader.leaves_out(
                mention.first, mention.end, kind="corner"
            )
            parts += [text[at:start], "" if leaves else f"{mention.kind}x"]
            at = reader.pieces[mention.end - 1].end
    return " ".join("".join((*parts, text[at:])).casefold().split())


def _join_words(reader: Reader, mentions: Iterable[Mention], *, accents: bool = False) -> str:
    """Join the words with spaces on both sides, mentions as the word of their class, without marks;
    a count of laps keeps its noun."""
    classes = {mention.first: f"{mention.kind}x" for mention in mentions}
    hidden = {
        i
        for _, first, end, value in mentions
        for i in range(first, end - (isinstance(value, Value) and not value.unit))
    }
    words = (
        classes.get(i) or (piece.written.casefold() if accents else piece.word)
        for i, piece in enumerate(reader.pieces)
        if i in classes or (i not in hidden and piece.word[0].isalnum())
    )
    return f" {' '.join(words)} "


def _values(mentions: Iterable[Mention], kind: Kind) -> tuple[object, ...]:
    """Return what is named of a kind, each once, in order."""
    values = (m.value for m in mentions if m.kind == kind and not isinstance(m.value, Strange))
    return tuple(dict.fromkeys(values))


def _split_excluded(
    reader: Reader, mentions: Iterable[Mention], kind: Kind
) -> tuple[list[Any], list[Any]]:
    """Separate what is named of a kind from what is excluded."""
    kept: list[Any] = []
    out: list[Any] = []
    end, leaving = -9, False
    for mention in mentions:
        if mention.kind == kind and not isinstance(mention.value, Strange):
            leaves = reader.leaves_out(mention.first, mention.end, max(end, 0), kind=kind)
            if len(kept) == 1 and mention.first - end == 1:  # lap 3 minus lap 4
                leaves &= reader.pieces[end].word not in reader.words.lists["minus"]
            leaving = leaves or (leaving and mention.first - end <= 2)
            end = mention.end
            (out if leaving else kept).append(mention.value)
    return [value for value in dict.fromkeys(kept) if value not in out], list(dict.fromkeys(out))


def _find_lap_words(
    text: str, language: Language, amounts: tuple[Value, ...], place: int, theirs: "_Theirs"
) -> tuple[list[Lap], list[Lap], str, tuple[Value, ...]]:
    """Return laps named by a word, the excluded ones, the text without such words, and the amounts
    that do not count such laps."""
    hits: list[tuple[int, Lap]] = []
    words = words_of(language)
    rest = text
    ends = [words.tables["bare_laps"][key] for key in ("best", "slowest")]
    joins = words.lists["list"]
    links = joins.union(*(words.lists[n] for n in ("range", "articles", "mine", "suffixes")))
    several = sum(len(pattern.findall(text)) for pattern in ends) > 1 or " driverx " in text

    def place_in(nearby: Iterable[str]) -> int:
        """Return the ordinal next to the word; a single word takes any ordinal."""
        own = next((n for word in nearby if (n := words.ordinals.get(word, 0)) > 1), 1)
        return own if several else max(own, place)

    def others_before(start: int, own: int) -> list[int]:
        """Return further places named before it: 2 of "my second and my third best"."""
        behind, places = "", list[int]()
        for word in reversed(rest[:start].split()):
            number = int(word) if word.isdigit() and behind in words.lists["suffixes"] else 0
            number, behind = words.ordinals.get(word, number), word
            if number < 1 and word not in links:
                break
            places += [number] if number > 0 and number != own else []
        return places

    slips: set[int] = set()
    for key, pattern in words.tables["laps"].items():
        for match in pattern.finditer(rest):
            word = cast("LapWord", "odd" if key == "slip" else key)
            if _is_end(word) and _is_of_place(rest[: match.start()], match[0], language):
                continue
            if key == "slip":
                slips.add(match.start())
            if word == "best" or word == "slowest":
                nearby = [*rest[: match.start()].split()[-1:], *match[0].split()]
                own = place_in(nearby)
                of_word, amounts = _places(nearby, own, language, amounts)
                places = (*others_before(match.start(), own), *of_word)
                laps = [theirs.of(_nth(word, at), text, *match.span()) for at in places]
                hits += [(match.start(), lap) for lap in laps]
            else:
                hits.append((match.start(), word))
            if key != "each":
                blank = "_" * (len(match[0]) - 1)
                rest = f"{rest[: match.start()]}{blank} {rest[match.end() :]}"
    kinds = {"cornerx", "sectorx", "straightx"}.union(*(words.lists[n] for n in _PLACES))
    bare = not hits and several and kinds.isdisjoint(text.split())  # my best and my second best
    if hits or bare or " lapx " in text or " driverx " in text:  # the quickest and the slowest lap
        nouns = words.lists["lap"] | words.lists["asks"] | words.lists["of_whom"] | {""}
        for key, pattern in words.tables["bare_laps"].items():
            for match in pattern.finditer(rest):
                behind = rest[match.end() :].split(" ", 1)[0]
                joined = not joins.isdisjoint(rest[: match.start()].split()[-3:])
                word, before = cast("LapWord", key), rest[: match.start()].split()[-1:]
                at = place_in([*before, *match[0].split()]) if several else 1
                lap = theirs.of(_nth(word, at), text, *match.span())
                joined = (joined or isinstance(lap, Their)) and behind in nouns
                if (joined or behind in joins) and lap not in {lap for _, lap in hits}:
                    hits.append((match.start(), lap))
    if bare and " driverx " not in text and not any(isinstance(lap, Ranked) for _, lap in hits):
        hits = []
    kept: list[Lap] = []
    out: list[Lap] = []
    leaves = False
    for at, lap in sorted(hits, key=lambda hit: hit[0]):
        before = text[:at].split()
        near = f" {' '.join(before[-4:])} "
        goes_on = leaves and not joins.isdisjoint(before[-2:])  # without the best and the worst
        leaves = goes_on or remove_words(near, words.lists["without"]) != near
        if leaves or at not in slips:  # the lap of a slip only where it is left out
            (out if leaves and lap != "each" else kept).append(lap)
    return kept, out, rest, amounts


def _is_of_place(before: str, end: str, language: Language) -> bool:
    """Whether the end of a ranking is said of a place: "turn 4 is the slowest"."""
    lists = words_of(language).lists
    words, spoken = before.split(), lists["lap"].isdisjoint(end.split())
    while words and words[-1] in lists["articles"] | lists["mine"]:
        words.pop()
    links = len(words) > 1 and words[-1] in lists["copulas"]
    return spoken and links and words[-2] in ("cornerx", "sectorx", "straightx")


def _drop_owner(lap: Lap) -> Lap:
    return lap.lap if isinstance(lap, Their) else lap


class _Theirs:
    """Tells which laps are the named other driver's."""

    def __init__(self, reader: Reader, mentions: Iterable[Mention], language: Language) -> None:
        lists = words_of(language).lists
        self.mine, self.theirs, self.of_whom = lists["mine"], lists["theirs"], lists["of_whom"]
        self.ordinals = words_of(language).ordinals
        drivers = [mention for mention in mentions if mention.kind == "driver"]
        self.others = [mention.value != reader.names.asker for mention in drivers]
        ends = [reader.pieces[mention.end - 1].written.casefold() for mention in drivers]
        self.own = [end.endswith("s") for end in ends]
        """Whether each driver's name stands in the genitive, in order."""

    def mark(self, mentions: Sequence[Mention], plain: str) -> list[Mention]:
        """Mark the numbered laps that are the other driver's."""
        places = iter(re.finditer("(?<= )lapx ", plain))
        firsts = dict.fromkeys(mention.first for mention in mentions if mention.kind == "lap")
        spots = {first: place.span() for first, place in zip(firsts, places, strict=False)}
        return [
            mention._replace(value=self.of(mention.value, plain, *spots[mention.first]))
            if mention.first in spots and isinstance(mention.value, int)
            else mention
            for mention in mentions
        ]

    def of(self, lap: Any, text: str, start: int, end: int) -> Any:
        """Return the lap at *start* to *end*, marked if it is the other driver's."""
        before, behind = text[:start].split(), text[end:].split()[:2]
        near = [*before[-2:], *text[start:end].split()]
        owners = [word for word in near if word in self.mine | self.theirs]
        at = text.count(" driverx ", 0, start) - 1
        while before and before[-1] in self.ordinals:
            before.pop()
        if before[-1:] == ["driverx"] and self.own[at] and self.others[at]:
            return Their(lap)
        if behind[1:] == ["driverx"] and behind[0] in self.of_whom and self.others[at + 1]:
            return Their(lap)
        return Their(lap) if owners and owners[-1] in self.theirs else lap


def _find_bare(text: str, language: Language) -> float | None:
    """Find a limit without a unit, from 20 up; its unit is the quantity's, else that of speed."""
    spelt = words_of(language).numbers
    numbers = (int(word) if word.isdigit() else spelt.get(word, 0.0) for word in text.split())
    return next((float(number) for number in numbers if 20 <= number < 1000), None)


def _is_end(lap: Lap) -> bool:
    """Whether a lap is named by its place in the ranking of times."""
    return lap in ("best", "slowest") or isinstance(lap, Ranked)


def _complete_limit(
    bare: float,
    quantity: Quantity | None,
    previous: Value | None,
    units: Units | None,
    minutes: int,
) -> tuple[Quantity | None, tuple[Value, ...]]:
    """Return the quantity and value of a limit without a unit; *previous* is the limit before it,
    *minutes* those of a lap time if laps are limited, else 0."""
    if quantity is None and minutes and bare < 60:
        return None, (Value(60.0 * minutes + bare, "lap_time"),)
    if quantity is None and previous is not None:
        before = previous.number // 60 * 60 if previous.unit == "lap_time" else 0
        return None, (Value(before + bare, previous.unit),)
    if quantity is None or quantity == "speed":
        factor, unit = FACTORS["mph" if units == "imperial" else "km/h"]
        return "speed", (Value(bare * factor, unit),)
    measured = quantity in NEED_UNITS and quantity != "time"
    return quantity, (Value(bare, NEED_UNITS[quantity]),) if measured else ()


def _find_limited(
    quantity: Quantity | None, amounts: tuple[Value, ...], *, sided: bool
) -> Quantity | None:
    """Return the quantity; that of the amounts if none is named, or if none of their units fits a
    one-sided limit: more than 60 bar of brake."""
    units = {amount.unit for amount in amounts}
    if quantity and "m" in units:  # on the throttle 30 m after the apex
        quantity = _PLACED.get(quantity, quantity)
    named = "time" if sided and "lap_time" in units and quantity is None else quantity
    limited = next((LIMITED[amount.unit] for amount in amounts if amount.unit in LIMITED), None)
    unlike = sided and named is not None and NEED_UNITS.get(named) not in {None, *units}
    return limited or named if named is None or unlike else named


def _find_which(text: str, language: Language, end: Any) -> Any:
    """Find the kind that "which" asks about; *end* if it names a bare end."""
    words, tokens = words_of(language), set(text.split())
    ends = any(words.tables["orders"][order].search(text) for order in ENDS)
    alone = ends and tokens.isdisjoint(words.nouns | {"sectorx", "straightx"})
    return _find_first("which", text, language) or (end if alone else None)


def _nth(lap: LapWord, place: int) -> Lap:
    """The lap at a place from the end that the word names."""
    if (lap == "best" or lap == "slowest") and place > 1:
        return Ranked(lap, place)
    return lap


def _places(
    near: list[str], place: int, language: Language, amounts: tuple[Value, ...]
) -> tuple[range, tuple[Value, ...]]:
    """Return the named places from one end, the first three of "three best laps", else the one at
    *place*; and the amounts that are not that count."""
    if place > 1:
        return range(place, place + 1), amounts
    if "amountx" in near and (count := next((a for a in amounts if not a.unit), None)):
        return range(1, int(count.number) + 1), tuple(a for a in amounts if a is not count)
    numbers = words_of(language).numbers
    counts = (int(word) if word.isdigit() else int(numbers.get(word, 0.0)) for word in near)
    return range(1, 1 + next((count for count in counts if count > 1), 1)), amounts


def _ranks(laps: Collection[Lap], text: str, language: Language) -> bool:
    """Whether it asks if a lap is the best or worst one: two laps that nothing joins."""
    lists, tables = words_of(language).lists, words_of(language).tables
    joined = not lists["list"].isdisjoint(text.split())
    asks = tables["asks"]["open"].search(text) is not None
    two = len(laps) == 2 and "each" not in laps
    return two and sum(map(_is_end, laps)) == 1 and not (joined or asks)


def remove_words(text: str, listed: Collection[str]) -> str:
    """Remove the listed words from a text with spaces on both sides."""
    return re.sub(rf"(?<= )(?:{'|'.join(map(re.escape, listed))}) ", "", text)


def _find_count(text: str, language: Language) -> int:
    """Return how many tips, corners or mistakes are asked for; 0: not stated."""
    words, tokens = words_of(language), text.split()
    for at, noun in enumerate(tokens):
        if noun in words.lists["countable"]:
            for word in tokens[max(at - 2, 0) : at]:
                number = int(word) if word.isdigit() else words.numbers.get(word, 0.0)
                if 1 < number < 10:
                    return int(number)
    return 0


def _find_place(text: str, language: Language) -> tuple[int, bool]:
    """Find a named place from an end, 2 of "the second best sector", or in an earlier list: "the
    second of those"."""
    words, tables = text.split(), words_of(language)
    for at, word in enumerate(words):
        number = tables.ordinals.get(word, 0)
        if word.isdigit() and words[at + 1 : at + 2] and words[at + 1] in tables.lists["suffixes"]:
            number = int(word)
        near = f" {' '.join(words[at + 1 : at + 5])} "
        if number > 0 and tables.tables["asks"]["of_those"].search(near):
            return number, True
        orders = tables.tables["orders"]
        if number > 1 and any(orders[end].search(near) for end in (*ENDS, "spread")):
            return number, False
    return 1, False


def _find_measured(
    text: str, language: Language
) -> tuple[Quantity | None, Spot | None, tuple[tuple[Quantity | None, Spot | None], ...]]:
    """Find the named quantity and spot, and further ones."""
    parts = words_of(language).tables["asks"]["all_of"].split(text)
    if len(parts) == 2:
        sides = [f" {part.strip()} " for part in parts]
        quantities = [_find_quantity(side, language) for side in sides]
        if any(quantities) and not _find_first("names", text, language):  # braking and apex speed
            quantities = [
                quantity or _PLACED.get(_find_first("pedals", side, language) or "")
                for quantity, side in zip(quantities, sides, strict=True)
            ]
        if all(quantities) and quantities[0] != quantities[1]:
            spots = [next(iter(_find_spots(side, language)), None) for side in sides]
            return quantities[0], spots[0], ((quantities[1], spots[1]),)
    spot, *more = _find_spots(text, language) or (None,)
    return _find_quantity(text, language), spot, tuple((None, extra) for extra in more)


def _find_quantity(text: str, language: Language) -> Quantity | None:
    """Find what is measured; words that name it count before words that only suggest it, and g are
    those of the pedal."""
    if (name := _find_first("names", text, language)) is None:
        name = _find_first("quantities", text, language)
        if name == "total_g":
            name = _G_OF.get(_find_first("pedals", text, language) or "", name)
    return cast("Quantity | None", name)


def _find_first(name: str, text: str, language: Language) -> str | None:
    """Return the first key of a table that matches, else of the English one."""
    table = words_of(language).tables[name]
    match = next((key for key, pattern in table.items() if pattern.search(text)), None)
    if match is None and language != "en":
        return _find_first(name, text, "en")
    return match


def find_concepts(text: str, language: Language) -> list[str]:
    """The terms that a text names, in its order; a term inside a longer one is not named."""
    pieces = (piece.word for piece in split_pieces(text) if piece.word[0].isalnum())
    words = f" {' '.join(pieces)} "
    starts: dict[str, int] = {}
    for concept, pattern in words_of(language).tables["concepts"].items():
        if match := pattern.search(words):
            starts[concept] = match.start()
            words = f"{words[: match.start()]}{'_' * (len(match[0]) - 1)} {words[match.end() :]}"
    return sorted(starts, key=lambda concept: starts[concept])


def _find_spots(text: str, language: Language) -> list[Spot]:
    """Find the spots in the order named; from one to another counts as one spot."""
    tables = words_of(language).tables
    starts = {key: match.start() for key, p in tables["spots"].items() if (match := p.search(text))}
    if "straight" in starts and "exit" in starts:  # the one out of it
        starts["after"] = starts.pop("exit")
    if "straight" in starts and not {"before", "after"}.isdisjoint(starts):
        del starts["straight"]
    spots = cast("list[Spot]", sorted(starts, key=lambda key: starts[key]))
    inner = [spot for spot in get_args(Spot)[:3] if spot in starts]
    if len(inner) == 2 and tables["asks"]["from_to"].search(text):
        return [cast("Spot", f"{inner[0]}_{inner[-1]}")]
    several = len(inner) == len(spots) > 1 and tables["asks"]["all_of"].search(text)
    return inner if several else spots[:1]
