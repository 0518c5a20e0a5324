"""Columns of files: what they are called, which signals they are, and which values are none."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.options import BadChannelMap, Options
from runtime.bridge.session.channels import (
    FRACTION,
    KEPT,
    SIGNALS,
    WIDE_TABLE,
    BadMapping,
    Channel,
    Choice,
    Match,
    Stated,
    can_choose,
    describe,
    match_channels,
    normalise_name,
)
from runtime.bridge.session.motion import FASTEST_MS
from runtime.bridge.session.names import LONGEST_NAME, clean_name
from runtime.bridge.session.recording import WIDE, Mapped, Numbers, ReadWarning, Samples
from runtime.bridge.session.units import KMH

TIME: Final = ("time", "utc_time", "utc", "timestamp")
VIDEO_FILE: Final = ("avifileindex", "avi_file_index")
NO_NUMBERS: Final = (  # the first words of a name, and the number that stands for no reading
    ("gear", 255.0),
    ("clutch", 255.0),
    ("afr", 500.0),
    ("egt", -50.0),
    ("vehicle_speed", 500.0),
)
LARGEST_STEERING_DEG: Final = 500.0
MAPPED_ALWAYS: Final = tuple(name for name in WIDE_TABLE if name not in ("combo_g", "distance_m"))
"""An import tells of these signals where no channel was found, too."""
PLACES: Final = ("lat", "lon")
RENAMED: Final = frozenset(
    "coolant_temp_c oil_temp_c oil_press_bar fuel_level_pct battery_v brake_position_pct "
    "heading_deg altitude_m satellites vert_vel_ms avitime_ms".split()
)
"""Signals whose column has no other name any more; what is another signal keeps its own as well."""


class Column(NamedTuple):
    """A column as the file has it."""

    name: str
    values: Numbers
    unit: str = ""
    described: str = ""
    """What the head says about it, often with a unit."""

    @property
    def key(self) -> str:
        """The name in the form in which names are compared."""
        return normalise_name(self.name)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, later ones of a kind with a suffix ``_2``, ``_3`` …; case does not tell apart."""
    taken = {name.casefold() for name in names}
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        seen[name.casefold()] += 1
        if seen[name.casefold()] > 1:
            number = seen[name.casefold()]
            while f"{name}_{number}".casefold() in taken:
                number += 1
            name = f"{name}_{number}"
            taken.add(name.casefold())
        unique.append(name)
    return tuple(unique)


def align_texts(lines: Sequence[str], count: int) -> tuple[str, ...]:
    """One text a column from a section; shorter sections belong to the last columns.

    Blank lines in the middle count; a section of one line holds one word a column.
    """
    texts = [line.strip() for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) == 1 and len(texts[0].split()) == count:
        texts = texts[0].split()
    texts = ["" if text.lower() in ("(null)", "null", "-") else text for text in texts[-count:]]
    return ("",) * (count - len(texts)) + tuple(texts)


def first_of(columns: Sequence[Column], names: Sequence[str]) -> Column | None:
    """The column with the earliest of these names."""
    by_key: dict[str, Column] = {}
    for column in columns:
        by_key.setdefault(column.key, column)
    return next((by_key[key] for name in names if (key := normalise_name(name)) in by_key), None)


def logger_of(form: str, names: Iterable[str]) -> str:
    """What files of one logger have in common: the format, and the names of their channels."""
    text = "\n".join((form, *sorted(set(names))))
    return f"{form}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def find_channels(
    channels: Sequence[Channel],
    logger: str,
    options: Options,
    *,
    stated: Stated = (),
    own: Mapping[str, Choice] | None = None,
) -> dict[str, Match]:
    """The channel of each signal, as a person said, else *own*, else by the table.

    What was kept counts as far as the file has the channels: not every log has every message.
    A distance of the source counts only where it has no positions, or where a person said so.
    Raises `BadChannelMap` for a mapping that does not fit the file.
    """
    kept = {signal: Choice(text, KEPT) for signal, text in options.kept.get(logger, {}).items()}
    kept = {name: choice for name, choice in kept.items() if can_choose(channels, name, choice)}
    given = options.mapping
    choices = {
        **(own or {}),
        **(kept if given is None else {name: Choice(text) for name, text in given.items()}),
    }
    try:
        matches = match_channels(channels, choices, stated)
    except BadMapping as problem:
        raise BadChannelMap(str(problem), problem.signal) from None
    placed = all(name in matches and matches[name].channel for name in PLACES)
    if placed and "distance_m" not in choices:
        matches.pop("distance_m", None)
    return matches


def tell_matches(matches: Mapping[str, Match]) -> dict[str, Mapped]:
    """Which channel each signal was taken from, for whoever imports the file."""
    nothing = {name: Mapped(None, "", assumed=False, why="none") for name in MAPPED_ALWAYS}
    told = {signal: match.report() for signal, match in matches.items()}
    return {name: {**nothing, **told}[name] for name in SIGNALS if name in {**nothing, **told}}


def doubts_of(matches: Mapping[str, Match]) -> list[ReadWarning]:
    """Warnings of what was assumed, and of channels that never change and fill no column."""
    doubts = []
    for signal, match in matches.items():
        if match.assumed and match.unit == FRACTION:
            word = signal.partition("_")[0]
            doubts.append(ReadWarning(f"{word}_fraction", f"{word} runs from 0 to 1: times 100"))
    names = dict.fromkeys(
        name
        for signal, match in matches.items()
        if signal in WIDE_TABLE
        for name in match.dead
        if name != match.channel
    )
    if names:
        detail = f"channels that never change fill no column: {', '.join(names)}"
        doubts.append(ReadWarning("dead_channels", detail, len(names)))
    return doubts


class Sorted(NamedTuple):
    """Columns where they belong."""

    wide: Mapping[str, Numbers]
    """Latitude and longitude as the file writes them."""
    tall: Mapping[str, Numbers]
    unmapped: tuple[str, ...]
    """The names of *tall* that are the file's own."""
    doubts: tuple[ReadWarning, ...]
    mapping: Mapping[str, Mapped]
    logger: str


def sort_columns(
    columns: Sequence[Column],
    t: Numbers,
    form: str,
    options: Options,
    own: Mapping[str, Choice] | None = None,
) -> Sorted:
    """Map columns to signals, converted and without the numbers that stand for no reading.

    *t* is finite; see `find_channels` for *own*.
    """
    logger = logger_of(form, (column.name for column in columns))
    channels = [_describe(column, t) for column in columns]
    matches = find_channels(channels, logger, options, own=own)
    by_name = {column.name: column for column in columns}
    doubts = doubts_of(matches)
    wide: dict[str, Numbers] = {}
    tall: dict[str, Numbers] = {}
    for signal, match in matches.items():
        if not match.channel:
            continue
        values = by_name[match.channel].values
        if signal not in PLACES:
            values = _converted(values, match, doubts)
            values = _without_sentinels(signal, values, match.channel, doubts)
        (wide if signal in WIDE_TABLE else tall)[signal] = values
    kept: list[str] = []
    taken = {*WIDE, *RENAMED, *tall}
    signal_of = {match.channel: signal for signal, match in matches.items()}
    for column in columns:
        signal = signal_of.get(column.name, "")
        if signal in WIDE_TABLE or signal in RENAMED:
            continue
        name, number = clean_name(column.name), 2
        kept.append(name)
        if name == signal:
            continue
        while name.casefold() in taken and name.casefold() != signal:
            name = f"{clean_name(column.name)[: LONGEST_NAME - 8]}_{number}"
            number += 1
        kept[-1] = name
        taken.add(name.casefold())
        twice = [] if signal else doubts
        tall[name] = _without_sentinels(column.name, column.values, column.name, twice)
    return Sorted(wide, tall, tuple(kept), tuple(doubts), tell_matches(matches), logger)


def _describe(column: Column, t: Numbers) -> Channel:
    there = np.isfinite(column.values)
    share = float(np.mean(there)) if len(there) else 0.0
    values = describe(Samples(t[there], column.values[there]), share)
    return Channel(column.name, column.unit, column.described, values)


def _converted(values: Numbers, match: Match, doubts: list[ReadWarning]) -> Numbers:
    values = match.scale(values)
    if match.signal == "speed_ms":
        below, above = values < 0.0, values > FASTEST_MS
        if below.any():
            doubts.append(
                ReadWarning("speed_negative", "speeds below zero are null", int(below.sum()))
            )
        if above.any():
            text = f"speeds above {FASTEST_MS * KMH:.0f} km/h, which no car can have, are null"
            doubts.append(ReadWarning("speed_impossible", text, int(above.sum())))
        if below.any() or above.any():
            return np.where(below | above, np.nan, values)
    return values


def _without_sentinels(word: str, values: Numbers, name: str, doubts: list[ReadWarning]) -> Numbers:
    """*word* is the signal, or the column's own name."""
    words = "_".join(re.findall(r"[^\W_]+", word.casefold())) + "_"
    if words.startswith(("steering_angle_", "steering_deg_")):
        bad = np.abs(values) > LARGEST_STEERING_DEG
    else:
        numbers = [number for begin, number in NO_NUMBERS if words.startswith(f"{begin}_")]
        bad = np.isin(values, numbers) if numbers else np.zeros(0, bool)
    if not bad.any():
        return values
    text = f"{clean_name(name)}: numbers that stand for no reading"
    doubts.append(ReadWarning("sentinel_values", text, int(bad.sum())))
    return np.where(bad, np.nan, values)
