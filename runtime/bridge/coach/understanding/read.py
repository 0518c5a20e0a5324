"""Reads what a question asks for: the whole of understanding."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import BaseModel

from runtime.bridge.coach.need import (
    UNITS,
    UNRECORDED,
    Beside,
    Language,
    Need,
    NeedKind,
    Quantity,
    Ranked,
    Reading,
    Slots,
    Their,
    find_runs,
)
from runtime.bridge.coach.roles import FORCED, intent_of
from runtime.bridge.coach.understanding.classify import Classifier, load_classifier
from runtime.bridge.coach.understanding.hazards import (
    GOES_ON,
    find_hazard,
    may_be_danger,
)
from runtime.bridge.coach.understanding.language import find_language, likely_languages
from runtime.bridge.coach.understanding.mentions import Noun, Topic, split_pieces, words_of
from runtime.bridge.coach.understanding.phrases import read_yaml
from runtime.bridge.coach.understanding.slots import (
    LIMITED,
    Names,
    find_concepts,
    find_spoken,
    find_units,
    mask_names,
    read_slots,
    settle_spot,
)
from runtime.bridge.coach.understanding.tidy import fold, spell, tidy
from runtime.bridge.coach.wording.words import name_terms
from runtime.bridge.session.recording import Numbers

SURE: Final = 0.7
"""The least score for a kind; measured on questions that are not examples."""
SURE_TWICE: Final = 0.75
"""The least score of both parts of a question read as two."""
SURE_OTHER: Final = 0.9
"""The least score to read a question in another language than it seemed to be in."""
CERTAIN: Final = 0.6
"""Share of `FULL` from which a part or a follow-up counts on its own."""
FULL: Final = 1.6
"""Score that counts as certain."""
SPENT: Final = ("fuel", "tyre_wear")
"""What a run uses up: whether it lasts is not known."""
SHORT: Final = 6
"""The most words of a question that may be only a follow-up."""

USUAL: Final[tuple[NeedKind, ...]] = ("summary", "loss_rank", "tips")
"""Offered if nothing is likely."""
_TALK: Final[frozenset[NeedKind]] = frozenset(
    {"greeting", "thanks", "who", "abilities", "style", "off_topic", "speed_of_coach", "mood"}
)
_KNOWLEDGE: Final[frozenset[NeedKind]] = frozenset(
    {"explain", "lesson", "wet", "conditions", "circuit", "traffic", "rules", "session_time"}
)
Moves: TypeAlias = Mapping[NeedKind, NeedKind]


class SlotMoves(BaseModel, frozen=True, extra="forbid"):
    """How kinds move if the slots show all of these signs."""

    signs: tuple[str, ...]
    moves: Moves


class AfterMoves(BaseModel, frozen=True, extra="forbid"):
    """How kinds of a follow-up move after these kinds."""

    last: tuple[NeedKind, ...]
    moves: Moves


class MoveFile(BaseModel, frozen=True, extra="forbid"):
    """Content of `moves.yaml`."""

    scopes: Mapping[NeedKind, Mapping[str, NeedKind]]
    by_slots: tuple[SlotMoves, ...]
    after: tuple[AfterMoves, ...]
    terms: Mapping[str, NeedKind]
    cues: Mapping[str, Moves]
    uses: Mapping[str, frozenset[NeedKind]]
    cue_words: Mapping[str, frozenset[str]]
    small_words: frozenset[str]


_ENDS: Final = frozenset("most least worst earliest latest spread".split())
"""Orders that ask which, not how."""
_READ: Final = "laps bare_laps which orders spots flags".split()
_FOLLOW: Final = "leads points_back people starts".split()
_ASKS: Final = (
    "whether above below of_those same ranked all_of than_me every_corner adds over_laps".split()
)
_MEASURED: Final = "names quantities pedals".split()
"""Tables of phrases that say how a question differs from the last one."""
_OF_PEDALS: Final[Mapping[str, Quantity]] = {
    "brake": "brake_point",
    "throttle": "throttle_point",
    "lift": "throttle",
}
"""The quantity of a pedal after another quantity."""
ORDERS: Final = ("more", "fewer", "high", "low", "most", "least")
_CLASSES: Final = frozenset("cornerx lapx driverx sectorx straightx".split())
_PLACES: Final = ("corners", "sectors", "straights")
_SPREADS: Final[frozenset[NeedKind]] = frozenset(
    {"measure", "lap_spread", "corner_spread", "rival_spread", "sector_times", "lap_average"}
)
"""Kinds that can describe variation."""
_KEPT: Final = frozenset((*_PLACES, "laps", "without", "drivers", "quantity", "spot"))
"""Slots that a kind must use; if it cannot, the question is not of that kind."""
_ADVICE: Final[frozenset[NeedKind]] = frozenset({"tips", "drill", "target", "run_plan"})
"""Kinds about the most valuable action; the next one follows."""
_RANKS: Final[frozenset[NeedKind]] = frozenset(
    {"measure", "corner_spread", "loss_rank", "sector_rank", "coasting", "grip", "rival_where"}
)
"""Kinds that leave the place of the last question if they ask for a place."""
LONGEST: Final = 1000
"""The most characters read; a question states its request before that."""


def read_question(
    text: str,
    names: Names,
    last: Reading | None,
    *,
    intent: str = "",
    classifier: Classifier | None = None,
    vector: Numbers | None = None,
) -> Reading:
    """Read what *text* asks for, after the question *last*.

    *vector* is the embedding of `text_to_embed`; an *intent* of `FORCED` forces a kind.
    """
    language = _find_spoken_language(text[:LONGEST], names, last)
    for spoken in dict.fromkeys((language, *get_args(Language))):
        if (term := find_term(text, spoken)) is not None:
            slots = replace(read_slots(text[:LONGEST], spoken, names), concept=term)
            return Reading(text, spoken, needs=(Need("explain", slots),))
    hazard = find_hazard(text, names)
    text = text[:LONGEST]
    brief = words_of(language).tables["asks"]["brief"].search(f" {fold(text)} ") is not None
    units, speeds = find_units(text), find_units(text, "_speeds")
    reading = Reading(text, language, units, hazard, speeds=speeds, brief=brief)
    if hazard is not None and hazard not in GOES_ON:
        return reading
    reader = _Reader(language, names, last, classifier or load_classifier())
    needs = reader.read(text, vector)
    if needs[0].score * FULL < SURE:
        for other in likely_languages(tidy(text, language)):
            second = _Reader(other, names, last, reader.classifier)
            if other != language and second.read(text, None)[0].score * FULL >= SURE_OTHER:
                reader, needs = second, second.read(text, vector)
    reading = replace(reading, language=find_spoken(text) or reader.language)
    if (forced := FORCED.get(intent)) and intent_of(needs) != intent:
        return replace(
            reading,
            needs=(Need(forced, read_slots(reader.plain(text), reader.language, names)),),
        )
    if needs[0].score * FULL >= SURE:
        return replace(reading, needs=needs)
    masked = mask_names(text, reader.language, names)
    if hazard is None and needs[0].slots.strange:
        return replace(reading, needs=needs)
    if hazard is None and may_be_danger(text, masked, reader.language, names):
        reading = replace(reading, hazard="unsure")
    if hazard is None and (kind := _grammar(needs[0].slots)) is not None:
        return replace(reading, needs=(Need(move(kind, needs[0].slots), needs[0].slots),))
    return replace(reading, suggestions=reader.suggest(text, vector))


def asks_to_keep(reading: Reading) -> bool:
    """Whether the driver asks to store the statement."""
    keeps = words_of(reading.language).tables["follow"]["keeps"]
    return keeps.search(f" {fold(reading.text)} ") is not None


def text_to_embed(text: str, names: Names, last: Reading | None) -> str:
    """Return the text whose embedding helps to understand the question."""
    language = _find_spoken_language(text, names, last)
    return mask_names(tidy(text, language), language, names)


def _find_spoken_language(text: str, names: Names, last: Reading | None) -> Language:
    """Find the language of a question; the names of places and drivers are of none."""
    places = (name for corner in names.corners for name in corner.nicknames)
    named = "|".join(map(re.escape, (*places, *names.straights, *names.drivers)))
    plain = re.sub(rf"\b(?:{named})\b", " ", text, flags=re.IGNORECASE) if named else text
    return find_language(tidy(plain, "en"), last.language if last else None)


class _Reader:
    """Reads questions of one language after one *last* question."""

    def __init__(
        self,
        language: Language,
        names: Names,
        last: Reading | None,
        classifier: Classifier,
    ) -> None:
        self.language = language
        self.words = words_of(language)
        self.names = names
        self.last = last.needs[-1] if last and last.needs else None
        self.place = last.place if last else None
        self.topic = _topic(self.last) if self.last else None
        self.classifier = classifier

    def read(self, text: str, vector: Numbers | None) -> tuple[Need, ...]:
        """Read the one or two needs of a question."""
        text = self.plain(text)
        whole = self._read(text, vector)
        parts = [part for part in self.words.splits.split(text) if len(part.split()) > 2]
        parts = parts if len(parts) > 1 else self._part_measures(text) or parts
        further = _Reader(self.language, self.names, None, self.classifier)
        needs = [self._read(part, None, part=True) for part in parts[:1] if len(parts) > 1]
        needs += [further._read(part, None) for part in parts[1:]]  # points to the first part
        first = needs[0] if len(parts) == 2 else whole
        _, colon, tail = text.rpartition(": ")
        leads_in = colon and not any(_list_filled(further._slots(text[: -len(tail)])))
        needs += [further._read(tail, None)] if leads_in else []
        needs = [need for need in needs if need.kind not in _TALK]
        if len(parts) == 2 and first in needs and first.score * FULL >= SURE_TWICE:
            after = _Reader(
                self.language, self.names, Reading(text, needs=(first,)), self.classifier
            )
            second = after._read(parts[1], None)
            measures = first.kind == second.kind == "measure" and not second.slots.where
            joins = measures and not (any(_places(second.slots)) or second.slots.order == "total")
            if joins or second.slots.spot in ("entry", "apex", "exit"):
                second = replace(second, slots=_overlay(second.slots, first.slots, second.kind))
            if measures:
                laps = first.slots.laps or second.slots.laps
                first = replace(first, slots=replace(first.slots, laps=laps))
                laps = second.slots.laps or laps
                second = replace(second, slots=replace(second.slots, laps=laps))
            names_own = (
                len(list(_list_filled(read_slots(parts[1], self.language, self.names)))) > 0
                or second.score >= CERTAIN
            )
            alone = {"laps", "order"}.issuperset(
                _list_filled(second.slots)
            ) and whole.kind == "measure"
            if alone and first.kind == "measure":  # its metres for each lap
                return (whole,)
            asks = second.score * FULL >= SURE_TWICE and second.kind not in _TALK
            if names_own and asks and second != first:
                return first, second
        best = max(needs, key=lambda need: need.score, default=whole)
        best = replace(best, slots=replace(best.slots, without=whole.slots.without))
        if not best.slots.drivers and self._follows("people", fold(text).split()):
            drivers, alone = whole.slots.drivers, whole.slots.alone
            best = replace(best, slots=replace(best.slots, drivers=drivers, alone=alone))
        sure = whole.score * FULL >= SURE and whole.kind not in _TALK
        best = whole if sure or best.score * FULL < SURE else best
        terms = find_concepts(text, self.language) if best.kind == "explain" else []
        if len(terms) > 1:  # what tells them apart
            return tuple(replace(best, slots=replace(best.slots, concept=t)) for t in terms[:2])
        return (best,)

    def _part_measures(self, text: str) -> list[str]:
        """Return the two halves of a question that names a quantity and a place in each."""
        between = self.words.tables["asks"]["from_to"].search(f" {fold(text)} ")
        for joined in self.words.joined.finditer(text) if not between else ():
            halves = [text[: joined.start()], text[joined.end() :]]
            slots = [read_slots(half, self.language, self.names) for half in halves]
            if all(half.quantity and any(_places(half)) for half in slots):
                return halves
        return []

    def rank(self, text: str, slots: Slots, vector: Numbers | None) -> list[tuple[NeedKind, float]]:
        """Rank kinds by score, best first."""
        return self.classifier.rank(self._mask(text), self.language, slots, vector)

    def plain(self, text: str) -> str:
        """Return the text without slang and misspellings."""
        counts = self.classifier.words(self.language)
        common, circuit = self.words.lists["circuit_words"], self.names.circuit
        rare = [word for word in circuit.split() if len(word) > 3 and fold(word) not in common]
        if rare:
            named = "|".join(map(re.escape, (circuit, *rare)))
            text = re.sub(rf"\b(?:{named})\b", self.words.circuit, text, flags=re.IGNORECASE)
        own, straights = self.words.vocabulary, self.words.lists["straight"]
        return spell(tidy(text, self.language), counts, self.names, own, straights)

    def _slots(self, text: str) -> Slots:
        slots = read_slots(text, self.language, self._about(text))
        if self.last is not None and not slots.without:
            leaves = self._follows("leaves_it", fold(text).split())
            slots = replace(slots, without=self.last.slots.laps * leaves)
        return slots

    def _mask(self, text: str) -> str:
        return mask_names(text, self.language, self._about(text))

    def _about(self, text: str, *, ends: bool = False) -> Names:
        """Return the names, with the topic of the last question if this one may follow it; *ends*:
        even without saying so."""
        words = fold(text).split()
        leads, topic = self._follows("leads", words), self.topic
        back = self._follows("points_back", words)
        if topic is None or len(words) > SHORT * (1 + (leads or back)):
            return self.names
        ends = ends or leads or back
        return replace(self.names, topic=topic if ends else topic._replace(end=None))

    def suggest(self, text: str, vector: Numbers | None) -> tuple[Need, ...]:
        """Suggest the three likeliest needs."""
        text = self.plain(text)
        slots = self._slots(text)
        ranked = self.rank(text, slots, vector)[:8]
        likely = [kind for kind, score in ranked if score > SURE / 2]
        kinds = dict.fromkeys(move(kind, slots) for kind in (*likely, *USUAL))
        return tuple(Need(kind, slots, 0.0) for kind in kinds if kind not in _TALK)[:3]

    def _read(self, text: str, vector: Numbers | None, *, part: bool = False) -> Need:
        slots = self._slots(text)
        if (term := find_term(text, self.language)) is not None:
            return Need("explain", replace(slots, concept=term))
        words = fold(self._mask(text)).split()
        while len(words) > 1 and words[0] in self.words.lists["fillers"]:
            words.pop(0)
        ranked = self.rank(text, slots, vector)
        kind, score = ranked[0]
        if kind == "style":  # it may ask for something else too
            other = next((r for r in ranked if r[0] not in _TALK and r[1] >= SURE), ranked[0])
            kind, score = other
        sure = score >= CERTAIN * FULL
        talked = self.last is not None and self.last.kind in _TALK
        if kind in _TALK and slots.claims and slots.order and self.last is not None:
            kind, score = self.last.kind, SURE  # that's early
        goes_on = self._follows("leads", words)
        place = kind == "circuit" and score >= SURE and any(_list_filled(slots)) and not goes_on
        if self.last is not None and not (talked or place):
            if need := self._apply_term(words, slots, self.last, score):
                return need
            ends = read_slots(text, self.language, self._about(text, ends=True))
            if not part and (need := self._differ(words, ends, self.last)):
                return need
        says_something = any(_list_filled(slots)) or set(words) - read_moves().small_words
        if not says_something and (kind not in _TALK or not sure):
            score = 0.0
        points = self.last is None and self._follows("points_back", words)
        if points and not sure and kind not in _TALK and not any(_list_filled(slots)):
            score = min(score, SURE / 2) if len(words) <= SHORT else score  # at nothing
        if self.last is not None:
            kind = (_grammar(slots) if score < SURE else None) or kind
            whole = score >= SURE and bool(slots.corners and slots.laps)
            if not whole or self._follows("leads", words):
                asked, sure = self._find_cue(words, slots), place or sure
                kind, slots = self._follow(kind, slots, words, self.last, sure)
                of = read_moves().cues.get(asked, {}).get(self.last.kind)
                if of is not None and (score < SURE or (asked == "why" and len(words) < SHORT)):
                    kind, score = of, SURE
                    slots = _overlay(slots, self._locate_last(self.last), of)
                if slots.drivers and not self.last.slots.drivers and kind == "measure":
                    score = max(score, SURE)  # how much more is that than hers
        return Need(move(kind, slots), slots, min(score / FULL, 1.0))

    def _differ(self, words: list[str], slots: Slots, last: Need) -> Need | None:
        """Read a question that only says how it differs from the last one: another place, end, lap
        or driver; where, why, how; the next one; other units."""
        short, named = len(words) <= SHORT, set(_list_filled(slots))
        leads = self._follows("leads", words)
        back = short and (slots.of_those or self._follows("points_back", words))
        back = back and not (slots.whether and slots.where)  # is there anywhere
        if short and self._follows("self", words):
            return Need(last.kind, replace(last.slots, drivers=(), alone=False, than_me=False))
        several = last.kind == "sector_times" and not last.slots.sectors
        if several and slots.order and self._follows("picks", words):
            laps = tuple(lap for lap in slots.laps if lap != "best")  # off my best
            slots = replace(slots, laps=laps, which="sector")
            return Need("sector_rank", _overlay(slots, last.slots, "sector_rank"))
        after = self._lap_beside(words, last) or self._rank_after(words, slots, last)
        if (short or leads) and after is not None:
            return after
        turned = self._turn(words, slots, named, last) if leads or short else None
        if turned is not None:
            return turned
        moves, kind = read_moves(), last.kind
        rest = self._rest(words, kind if leads else None)
        if (
            short
            and named - {"alone"} == {"drivers"}
            and not (rest or last.slots.drivers or kind != "measure")
        ):
            return Need(kind, replace(last.slots, drivers=slots.drivers, alone=True))
        if slots.without or slots.besides:
            rest -= {word for phrase in self.words.lists["without"] for word in phrase.split()}
        cues = moves.cue_words.items() if rest and (leads or short) else ()
        cue = next((cue for cue, of in cues if of.issuperset(rest)), "")
        if not rest and (leads or back or len(words) <= SHORT / 2):
            cue = "where" if slots.where else "why" if slots.why else ""
        other = slots.which not in (None, "lap") and kind not in _RANKS
        if other or (slots.varies and not (last.slots.varies or kind in _SPREADS)):
            return None
        asks = slots.open or slots.whether or slots.claims or slots.where or slots.order
        starts = self._follows("starts", words) or _CLASSES.intersection(words)
        bare = short and starts and not asks
        if cue:
            kind = moves.cues[cue].get(kind, kind)
            if kind == "explain" or (cue == "how" and named):
                return None
        elif not rest and named and (leads or back or bare):
            mean = slots.order == "mean" and last.kind.startswith("lap_")
            kind = "lap_average" if mean else last.kind
        elif any(find_units(" ".join(words), of) for of in ("", "_speeds")) and (
            len(words) < SHORT or not (named or slots.open or slots.whether)
        ):
            return last
        else:
            return None
        if slots.spot and last.slots.corners and kind not in moves.uses["spot"]:
            kind, slots = "measure", replace(slots, quantity=slots.quantity or "time", concept=None)
            named.discard("concept")
        if slots.pedal and slots.pedal != last.slots.pedal and slots.quantity is None:
            slots = replace(slots, quantity=_OF_PEDALS[slots.pedal])
        places = back and not (slots.which or slots.where)
        slots = _overlay(slots, self._locate_last(last) if places else last.slots, kind)
        kind = move(kind, slots)
        uses = {**moves.uses, "drivers": moves.uses["drivers"] | moves.uses["alone"]}
        fits = all(kind in uses[name] for name in named.intersection(_KEPT))
        return Need(kind, slots) if fits else None

    def _turn(self, words: Sequence[str], slots: Slots, named: set[str], last: Need) -> Need | None:
        """Read what the last answer is worth or cost, the same of the other laps, of another term
        or of the whole lap."""
        for asked in ("worth", "lost"):
            of = read_moves().cues[asked].get(last.kind)
            if of is not None and self._follows(asked, words):
                over = _overlay(slots, self._locate_last(last), of)
                return Need(move(of, over), over)
        if slots.all_laps and last.slots.laps and not named:
            return Need(last.kind, replace(last.slots, laps=(), without=last.slots.laps))
        if last.kind == "explain" and slots.concept and not named - {"concept", "order"}:
            return Need("explain", replace(last.slots, concept=slots.concept))
        if named == {"order"} and slots.order == "total" and any(_places(last.slots)):
            whole = replace(last.slots, corners=(), sectors=(), straights=(), spot=None)
            kind: NeedKind = "rival_gap" if last.kind.startswith("rival") else last.kind
            return Need(move(kind, whole), whole)
        return None

    def _rest(self, words: Sequence[str], kind: NeedKind | None) -> set[str]:
        """Return the words that say more than how a question differs from the last one; *kind*: of
        a question that says it follows."""
        text, tables = f" {' '.join(words)} ", self.words.tables
        rest = text
        names = (*_READ, *(_MEASURED if kind in read_moves().uses["quantity"] else ()))
        patterns = [pattern for name in names for pattern in tables[name].values()]
        patterns += [tables["asks"][name] for name in _ASKS]
        for pattern in (*patterns, *(tables["follow"][name] for name in _FOLLOW)):
            for match in pattern.finditer(text):
                start, end = match.span()
                rest = f"{rest[:start]}{'_' * (end - start - 1)} {rest[end:]}" if match[0] else rest
        small = {*self.words.numbers, *self.words.ordinals, *read_moves().small_words}
        return {word for word in rest.split() if word.strip("_") and not word.isdigit()} - small

    def _lap_beside(self, words: Sequence[str], last: Need) -> Need | None:
        """Read the lap before or after that of the last question."""
        by = self._follows("lap_after", words) - self._follows("lap_before", words)
        lap = last.slots.laps[-1] if last.slots.laps else None
        if not by or lap is None or isinstance(lap, Their):
            return None
        if isinstance(lap, Beside):
            by += lap.by
            lap = lap.lap
        return Need(last.kind, replace(last.slots, laps=(Beside(lap, by),)))

    def _rank_after(self, words: Sequence[str], slots: Slots, last: Need) -> Need | None:
        """Read the next of a ranking, or another place in it: "and the second biggest"."""
        by = self._follows("next", words) - self._follows("prev", words)
        if by < 0:
            before = self._find_next_place(self._locate_last(last), by)
            return Need(last.kind, replace(last.slots, **before)) if before else None
        after = last.slots.place + 1 if by else 0
        nth = slots.place if slots.place > 1 else after
        if not nth or slots.of_those or slots.corners or slots.sectors:
            return None
        if after and (beyond := self._find_next_place(last.slots)):
            beyond |= {"drivers": slots.drivers} if slots.drivers else {}
            return Need(last.kind, replace(last.slots, **beyond))
        if last.kind in _RANKS:
            return Need(last.kind, replace(last.slots, place=nth))
        if last.kind in _ADVICE:
            return Need("tips", replace(last.slots, place=nth))
        if last.kind in ("best_lap", "lap_time"):
            lap = last.slots.laps[-1] if last.slots.laps else None
            if after and isinstance(lap, int):
                return Need(last.kind, replace(last.slots, laps=(Beside(lap, 1),)))
            end: Literal["best", "slowest"] = "slowest" if "slowest" in last.slots.laps else "best"
            return Need("lap_time", Slots(laps=(Ranked(end, nth),), place=nth))
        return None

    def _find_next_place(self, last: Slots, by: int = 1) -> dict[str, Any]:
        """Return the corner or sector behind the only one that was named, or before it; empty:
        several, none."""
        corners = [corner.name for corner in self.names.corners]
        sectors = list(range(1, len(self.names.sectors) + 1))
        for name, places in (("corners", corners), ("sectors", sectors)):
            named = getattr(last, name)
            if len(named) == 1 and named[0] in places:
                return {name: (places[(places.index(named[0]) + by) % len(places)],)}
        return {}

    def _apply_term(
        self, words: Sequence[str], slots: Slots, last: Need, score: float
    ) -> Need | None:
        """Read what a short question asks of the drive after a term was defined."""
        if last.kind != "explain" or slots.concept is not None or len(words) > 2 * SHORT:
            return None
        moves = read_moves()
        alone = moves.small_words.issuperset(words)
        alone |= slots.where and len(words) <= SHORT / 2 and not self._rest(words, None)
        longest = SHORT * (1 + self._follows("leads", words)) + 1
        back = self._follows("points_back", words) and len(words) <= longest
        says = slots.where or any(_places(slots)) or back or alone
        if not says or (score >= SURE and not alone and (slots.quantity or not back)):
            return None
        measured: NeedKind = "measure" if last.slots.quantity else "corner_review"
        if slots.where and not slots.corners:
            measured = "measure" if last.slots.quantity else "lesson"
        kind = moves.terms.get(last.slots.concept or "", measured)
        slots = _overlay(slots, last.slots, kind)
        return Need(move(kind, slots), slots)

    def _follows(self, how: str, words: Sequence[str]) -> bool:
        return self.words.tables["follow"][how].search(f" {' '.join(words)} ") is not None

    def _find_cue(self, words: Sequence[str], slots: Slots) -> str:
        """Return what a question that follows asks of the last one: why, or how; else nothing."""
        follows = self._follows("leads", words) or self._follows("points_back", words)
        asked = "why" if slots.why else "how" if self._follows("how_to", words) else ""
        follows |= asked in ("why", "how") and len(words) <= 2 * SHORT
        return asked if follows and not any(_places(slots)) else ""

    def _follow(
        self, kind: NeedKind, slots: Slots, words: list[str], last: Need, sure: bool
    ) -> tuple[NeedKind, Slots]:
        """Return kind and slots of a question that may follow the *last* one."""
        leads = self._follows("leads", words)
        named = last.slots.drivers and self._follows("people", words)
        back = named or slots.of_those or self._follows("points_back", words)
        back = back and len(words) <= 3 * SHORT
        if kind in _TALK or not (leads or back or len(words) <= SHORT):
            return kind, slots
        placed = any(_places(last.slots))
        if kind == "loss_rank" and placed and not (slots.where or slots.which):
            back = True  # what that costs
        lap = kind == "lap_explain" or (kind == "lap_time" and not sure)
        if placed and lap and ((back and slots.laps) or (leads and slots.why)):
            kind = "corner_explain"
        if kind in ("lap_spread", "rival_spread") and placed and (leads or back):
            kind = "corner_spread"
        for after in read_moves().after:
            if last.kind in after.last and (leads or back or not sure):
                kind = after.moves.get(kind, kind)
        if slots.over and last.kind in read_moves().uses["over"]:
            kind = last.kind
        if back and placed and slots.which == "lap":
            kind = "measure"
        cue = "where" if slots.where else "why" if slots.why else ""
        if cue and not sure:
            kind = read_moves().cues[cue].get(last.kind, kind)
        whole = slots.quantity or (slots.open and not (leads or back))
        if last.kind == "measure" and not (sure and whole):
            how = slots.order in (*ORDERS, "early", "late", "mean") or slots.which == "lap"
            more = (how or kind.startswith("rival")) and (back or len(words) <= SHORT)
            kind = "measure" if more or (slots.spot is not None and not sure) else kind
        whole = sure or (slots.quantity is not None and slots.order is not None)
        if whole and not (leads or back) and slots.open:
            return kind, slots
        located = back or kind == "corner_advice"
        before = self._locate_last(last) if located else last.slots
        measured = move(kind, slots) == "measure"
        over = _overlay(slots, before, "measure" if measured else kind)
        if kind in _ADVICE and last.kind not in _ADVICE and not (leads or back):  # own advice
            over = replace(over, drivers=slots.drivers, alone=slots.alone)
        return kind, over

    def _locate_last(self, last: Need) -> Slots:
        """Return the slots of the last question; if they name no place, with the place of its
        answer."""
        if self.place is None or any(_places(last.slots)):
            return last.slots
        answered = self.place
        places = {
            "corners": answered.corner,
            "sectors": answered.sector,
            "straights": answered.straight,
        }
        met: dict[str, Any] = {name: (place,) for name, place in places.items() if place}
        return replace(last.slots, **met)


def _grammar(slots: Slots) -> NeedKind | None:
    """Return the kind of a question unlike any example, if its slots say enough: a quantity and a
    view of it, a place, a lap, another day or driver, several things to do."""
    if slots.between:
        return "choice"
    if slots.quantity in UNRECORDED:
        return "unrecorded"
    if slots.other_day and not slots.drivers:
        return "progress"
    if "count said" in _signs(slots):
        return "lap_count"
    if "alike laps" in _signs(slots):
        return "lap_compare"
    if "time limit" in _signs(slots) and not (slots.supposes or slots.wishes):
        return "lap_count"
    if slots.which == "sector" and (slots.order or slots.drivers):
        return "rival_where" if slots.drivers else "sector_rank"
    how = {*_list_filled(slots), *(["side"] if slots.side else [])} - {"quantity", "concept"}
    measurable = slots.quantity in UNITS and slots.quantity != "time"
    everywhere = slots.every_corner and slots.drivers
    if slots.order == "mean" and slots.quantity in (None, "time") and not any(_places(slots)):
        return "lap_average"
    if (
        (measurable and (how or slots.open))
        or (slots.where and slots.order in ORDERS)
        or everywhere
        or slots.spot in ("straight", "after")
    ):
        return "measure"
    if slots.concept == "sector" and not slots.sectors:
        of_lap: NeedKind = "sector_times" if slots.laps else "sector_rank"
        return "rival_where" if slots.drivers else of_lap
    if slots.sectors:
        return "rival_where" if slots.drivers else "sector_explain"
    if slots.straights:
        return "measure"
    if slots.corners:
        return "corner_explain" if slots.laps else "corner_review"
    if slots.laps:
        return "lap_time"
    if slots.count > 1:
        return "tips"
    return "rival_gap" if slots.drivers and not slots.alone else None


def find_term(text: str, language: Language) -> str | None:
    """Return the glossary term if a question asks only for its meaning."""
    asks, rest = _part_term(text, language)
    return _terms(language).get(rest) if asks else None


@cache
def _terms(language: Language) -> Mapping[str, str]:
    """Return the terms by their names."""
    return {_part_term(name, language)[1]: term for term, name in name_terms(language).items()}


def _part_term(text: str, language: Language) -> tuple[bool, str]:
    """Return whether a text asks for a meaning, and its other words."""
    lists = words_of(language).lists
    words = [piece.word for piece in split_pieces(text) if piece.word[0].isalnum()]
    rest = [word for word in words if word not in lists["defining"] | lists["defining_too"]]
    return not lists["defining"].isdisjoint(words), " ".join(rest)


@cache
def read_moves() -> MoveFile:
    """Read the moves on file."""
    return MoveFile.model_validate(read_yaml(Path(__file__).parent / "moves.yaml"))


def move(kind: NeedKind, slots: Slots) -> NeedKind:
    """Correct the kind by the slots."""
    if slots.quantity == "traffic" and slots.laps:  # laps show something of it
        return "corner_explain" if slots.corners else "lap_explain"
    plans = kind == "run_plan" and slots.quantity not in SPENT
    if slots.quantity in UNRECORDED and kind not in _TALK | _KNOWLEDGE and not plans:
        return "unrecorded"
    signs, moves = set(_signs(slots)), read_moves()
    kind = next((to for sign, to in moves.scopes.get(kind, {}).items() if sign in signs), kind)
    for rule in moves.by_slots:
        if signs.issuperset(rule.signs):
            kind = rule.moves.get(kind, kind)
    return kind


def _signs(slots: Slots) -> Iterator[str]:
    """List the signs of the slots, as `moves.yaml` names them."""
    strange = {item.kind for item in slots.strange}
    place = bool(slots.corners or slots.straights or "corner" in strange)
    sector = bool(slots.sectors or "sector" in strange)
    own = [lap for lap in slots.laps if lap != "each" and not isinstance(lap, Their)]
    laps = bool(own) or "lap" in strange
    timed = slots.quantity in (None, "time") and not (place or slots.amounts)
    driver = bool(slots.drivers or "driver" in strange)
    spot = slots.spot in ("entry", "apex", "exit")
    faster = slots.quantity == "speed" and slots.order in ("more", "fewer")
    unmeasured = not (spot or (slots.pedal and slots.order)) and (
        slots.quantity is None or (faster and not (place or slots.spot))
    )
    signs = {
        "corner": place,
        "sector": sector,
        "sector against driver": sector and driver and not slots.alone,
        "lap": laps,
        "no place": not (place or sector),
        "asked": slots.open and not slots.why,
        "happened": not (slots.supposes or slots.wishes),
        "mean speed": slots.quantity == "mean_speed",
        "way between": slots.spot in ("straight", "after") and slots.why,
        "two corners": len(slots.corners) == 2
        and (slots.order in ("more", "fewer") or slots.gains is not None),
        "count said": slots.claims
        and not (place or driver or slots.quantity)
        and any(not amount.unit for amount in slots.amounts),
        "alike": slots.order == "alike",
        "alike laps": slots.order == "alike" and slots.which == "lap" and not place,
        "two laps": len(own) == 2,
        "two runs": bool(find_runs(own)),
        "gains": slots.gains is not None or slots.improves,
        "best": slots.laps == ("best",),
        "their lap": any(isinstance(lap, Their) for lap in slots.laps),
        "beaten": driver and slots.tally and timed and bool(slots.laps or slots.gains is not None),
        "offers corners": slots.offers and len(slots.corners) > 1,
        "times asked": slots.quantity in (None, "time") and not slots.claims and not place,
        "slowest": slots.laps == ("slowest",),
        "driver": driver,
        "no driver": not driver,
        "driver alone": slots.alone,
        "trail braking": slots.concept == "trail_brake",
        "ideal lap": slots.concept == "ideal_lap",
        "several spots": bool(slots.also) and slots.quantity is None,
        "claim": slots.claims,
        "no claim": not slots.claims,
        "end": slots.order in ("most", "least", "worst"),
        "best alone": slots.laps == ("best",) and not (slots.amounts or slots.within),
        "lap at an end": len(own) == 1 and slots.order in ("most", "least"),
        "lap by lap": slots.order == "each" and place,
        "which corner": slots.which == "corner",
        "which sector": slots.which == "sector",
        "which lap": slots.which == "lap",
        "between": slots.between,
        "spread": slots.varies,
        "supposes": slots.supposes,
        "either pedal": slots.either and slots.pedal is not None,
        "loses": slots.gains is False and slots.quantity == "time",
        "counts": slots.counts,
        "counts laps": slots.counts_laps,
        "blames kit": slots.blames_kit,
        "every corner": slots.every_corner,
        "many laps": len(slots.laps) > 2,
        "ranked laps": any(isinstance(lap, Ranked) for lap in slots.laps) and slots.order != "mean",
        "mean": slots.order == "mean" and slots.quantity in (None, "time") and not place,
        "rank said": slots.claims
        and len(slots.laps) == 2
        and slots.order not in ("more", "fewer")
        and sum(lap in ("best", "slowest") for lap in slots.laps) == 1,
        "limit": slots.side is not None
        and any(
            amount.unit in LIMITED or (sector and amount.unit == "s") for amount in slots.amounts
        ),
        "time limit": slots.side is not None and any(a.unit == "lap_time" for a in slots.amounts),
        "channel": not unmeasured
        and (
            slots.quantity not in {None, "time", *UNRECORDED}
            or (slots.quantity is None and place and spot and slots.order in ORDERS)
            or (slots.pedal and place and slots.order == "alike")
        ),
        "no quantity": unmeasured,
        "why": slots.why,
        "differs": slots.differs,
        "where": slots.where,
        "quantity": slots.quantity is not None and slots.quantity not in UNRECORDED,
    }
    return (sign for sign, shown in signs.items() if shown)


def _list_filled(slots: Slots) -> Iterator[str]:
    """List the slots that a question fills."""
    empty, uses = Slots(), read_moves().uses
    for field in fields(Slots):
        if field.name in uses and getattr(slots, field.name) != getattr(empty, field.name):
            yield field.name


def _places(slots: Slots) -> Iterator[object]:
    return (getattr(slots, name) for name in _PLACES)


def _topic(last: Need) -> Topic:
    """Return what a follow-up to a question is about."""
    slots, kind = last.slots, last.kind
    of_laps = kind.startswith("lap_") or kind == "best_lap"
    timed = slots.quantity == "time" and slots.side is not None
    listed = of_laps or timed or "each" in slots.laps or slots.all_laps
    ranks = kind in _RANKS and slots.where and not any(_places(slots))
    end = slots.which or ("lap" if listed else "corner" if ranks else None)
    end = "sector" if kind == "sector_rank" or len(slots.sectors) > 1 else end
    number: Noun = "lap" if slots.laps or of_laps else "corner"
    sectors = slots.sectors or kind.startswith("sector_") or slots.concept == "sector"
    number = "corner" if slots.corners else "sector" if sectors else number
    left_out: Noun = "corner" if end == "corner" else "lap"
    measured = slots.quantity not in (None, "time") or any(_places(slots))
    amount = next(iter(slots.amounts), None) if slots.side else None
    return Topic(number, left_out, end, measured, amount)


def _overlay(slots: Slots, last: Slots, kind: NeedKind) -> Slots:
    """Combine the slots with those of the *last* question that the kind uses and the question does
    not replace."""
    if slots.of_those:
        at = slice(slots.place - 1, slots.place)
        slots = replace(slots, laps=last.laps[at], corners=last.corners[at], place=1)
    if slots.adds and kind == "what_if":
        slots = replace(slots, corners=tuple(dict.fromkeys((*last.corners, *slots.corners))))
    lasts = last.quantity not in (None, "time") and UNITS.get(last.quantity) == "s"
    if lasts and slots.quantity == "time" and not any(_places(slots)):
        slots = replace(slots, quantity=None)  # how long: of what was measured before
    compares = kind == "lap_compare" or slots.order in ("more", "fewer")
    if compares and len(slots.laps) == 1 and last.laps[:1] not in ((), ("each",), slots.laps):
        slots = replace(slots, laps=(last.laps[0], *slots.laps))  # better than lap 8
    gone = _find_replaced(slots, last, kind)
    uses = read_moves().uses
    extra = {"laps"} if last.drivers and kind.startswith("rival") else set[str]()
    extra |= {"drivers"} if last.alone and kind in uses["alone"] else set()
    taken = {
        name: getattr(last, name)
        for name in _list_filled(last)
        if name not in gone and (kind in uses[name] or name in extra)
    }
    if "drivers" in taken:
        taken |= {"alone": last.alone}
        about_me = slots.gains is not None or slots.claims  # and I brake too early
        taken |= {} if about_me else {"than_me": last.than_me}
    if slots.spot == "straight" and "corners" in taken:
        slots = replace(slots, spot="after")
    of_which = {"laps"} if last.which == "lap" else _PLACES
    if slots.which is None and kind in _RANKS and gone.isdisjoint(of_which):
        taken |= {"which": last.which, "varies": slots.varies or last.varies}
    return settle_spot(replace(slots, **taken))


def _find_replaced(slots: Slots, last: Slots, kind: NeedKind) -> set[str]:
    """Return the slots of the last question that the new ones replace."""
    named = set(_list_filled(slots))
    ranks = slots.where and kind in _RANKS and (kind != "measure" or slots.order is not None)
    picks = slots.order == "mean" or (slots.which == "lap" and slots.order is not None)
    picks |= "time limit" in _signs(slots)
    goes = {
        _PLACES: ranks or not named.isdisjoint(_PLACES),
        ("pedal", "spot"): "quantity" in named,
        ("side", "amounts"): "quantity" in named or bool(slots.pedal or slots.which or slots.where),
        ("order",): "quantity" in named and last.order not in _ENDS,
        ("order", "laps"): "laps" in named and last.order in ("mean", "each"),
        ("amounts", "side", "laps"): "laps" in named and last.quantity == "time",
        ("laps",): picks or ("without" in named and last.laps == ("each",)),
    }
    return named.union(*(names for names, so in goes.items() if so))
