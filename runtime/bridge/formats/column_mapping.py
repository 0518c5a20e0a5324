"""Maps the columns of a file to signals and removes values that stand for no reading."""

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
NO_READINGS: Final = (  # first words of a name, and its number for no reading
    ("gear", 255.0),
    ("clutch", 255.0),
    ("afr", 500.0),
    ("egt", -50.0),
    ("vehicle_speed", 500.0),
)
LARGEST_STEERING_DEG: Final = 500.0
MAPPED_ALWAYS: Final = tuple(name for name in WIDE_TABLE if name not in ("combo_g", "distance_m"))
"""Signals that the mapping of an import lists even without a channel."""
PLACES: Final = ("lat", "lon")
RENAMED: Final = frozenset(
    "coolant_temp_c oil_temp_c oil_press_bar fuel_level_pct battery_v brake_position_pct "
    "heading_deg altitude_m satellites vert_vel_ms avitime_ms".split()
)
"""Signals that replace their column; the columns of all others are kept by name as well."""


class Column(NamedTuple):
    """A column of a file."""

    name: str
    values: Numbers
    unit: str = ""
    described: str = ""
    """Its description in the head, often with a unit."""

    @property
    def key(self) -> str:
        """The name in the form for comparisons."""
        return normalise_name(self.name)


def make_unique(names: Sequence[str]) -> tuple[str, ...]:
    """Append ``_2``, ``_3`` … to repeated names; case is ignored."""
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
    """Return one text per column from a section; short sections belong to the last columns.

    Blank lines in the middle count; a section of one line holds one word per column.
    """
    texts = [line.strip() for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) == 1 and len(texts[0].split()) == count:
        texts = texts[0].split()
    texts = ["" if text.lower() in ("(null)", "null", "-") else text for text in texts[-count:]]
    return ("",) * (count - len(texts)) + tuple(texts)


def find_column(columns: Sequence[Column], names: Sequence[str]) -> Column | None:
    """Return the column with the first of these names that exists."""
    by_key: dict[str, Column] = {}
    for column in columns:
        by_key.setdefault(column.key, column)
    return next((by_key[key] for name in names if (key := normalise_name(name)) in by_key), None)


def identify_logger(form: str, names: Iterable[str]) -> str:
    """Return an id that files of one logger share, from their format and channel names."""
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
    """Match a channel to each signal: chosen by a person, else by *own*, else by its name.

    Saved choices apply if the file has their channels: not every log has every message. A logged
    distance is used only without positions, or if a person chose it. Raises `BadChannelMap` for a
    mapping that does not fit the file.
    """
    saved = {signal: Choice(text, KEPT) for signal, text in options.kept.get(logger, {}).items()}
    saved = {name: choice for name, choice in saved.items() if can_choose(channels, name, choice)}
    if options.mapping is not None:
        saved = {name: Choice(text) for name, text in options.mapping.items()}
    choices = {**(own or {}), **saved}
    try:
        matches = match_channels(channels, choices, stated)
    except BadMapping as problem:
        raise BadChannelMap(str(problem), problem.signal) from None
    placed = all(name in matches and matches[name].channel for name in PLACES)
    if placed and "distance_m" not in choices:
        matches.pop("distance_m", None)
    return matches


def describe_matches(matches: Mapping[str, Match]) -> dict[str, Mapped]:
    """Return the channel of each signal, for the answer to an import."""
    nothing = {name: Mapped(None, "", assumed=False, why="none") for name in MAPPED_ALWAYS}
    mapping = {**nothing, **{signal: match.report() for signal, match in matches.items()}}
    return {name: mapping[name] for name in SIGNALS if name in mapping}


def warn_of_matches(matches: Mapping[str, Match]) -> list[ReadWarning]:
    """Warn about assumed units, and about constant channels that fill no column."""
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


class MappedColumns(NamedTuple):
    """The columns of a file by signal."""

    wide: Mapping[str, Numbers]
    """Latitude and longitude as the file writes them."""
    tall: Mapping[str, Numbers]
    unmapped: tuple[str, ...]
    """Names in *tall* that come from the file."""
    doubts: tuple[ReadWarning, ...]
    mapping: Mapping[str, Mapped]
    logger: str


def map_columns(
    columns: Sequence[Column],
    t: Numbers,
    form: str,
    options: Options,
    own: Mapping[str, Choice] | None = None,
) -> MappedColumns:
    """Map columns to signals, convert them and remove numbers that stand for no reading.

    *t* is finite; see `find_channels` for *own*.
    """
    logger = identify_logger(form, (column.name for column in columns))
    channels = [_describe(column, t) for column in columns]
    matches = find_channels(channels, logger, options, own=own)
    by_name = {column.name: column for column in columns}
    doubts = warn_of_matches(matches)
    wide: dict[str, Numbers] = {}
    tall: dict[str, Numbers] = {}
    for signal, match in matches.items():
        if not match.channel:
            continue
        values = by_name[match.channel].values
        if signal not in PLACES:
            values = _convert(values, match, doubts)
            values = _remove_sentinels(signal, values, match.channel, doubts)
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
        tall[name] = _remove_sentinels(column.name, column.values, column.name, twice)
    return MappedColumns(wide, tall, tuple(kept), tuple(doubts), describe_matches(matches), logger)


def _describe(column: Column, t: Numbers) -> Channel:
    there = np.isfinite(column.values)
    share = float(np.mean(there)) if len(there) else 0.0
    values = describe(Samples(t[there], column.values[there]), share)
    return Channel(column.name, column.unit, column.described, values)


def _convert(values: Numbers, match: Match, doubts: list[ReadWarning]) -> Numbers:
    values = match.scale(values)
    if match.signal == "speed_ms":
        below, above = values < 0.0, values > FASTEST_MS
        if below.any():
            doubts.append(
                ReadWarning("speed_negative", "speeds below zero become null", int(below.sum()))
            )
        if above.any():
            text = f"speeds above {FASTEST_MS * KMH:.0f} km/h are impossible and become null"
            doubts.append(ReadWarning("speed_impossible", text, int(above.sum())))
        if below.any() or above.any():
            return np.where(below | above, np.nan, values)
    return values


def _remove_sentinels(word: str, values: Numbers, name: str, doubts: list[ReadWarning]) -> Numbers:
    """Replace sentinel numbers by NaN; *word* is the signal or the column's own name."""
    words = "_".join(re.findall(r"[^\W_]+", word.casefold())) + "_"
    if words.startswith(("steering_angle_", "steering_deg_")):
        bad = np.abs(values) > LARGEST_STEERING_DEG
    else:
        numbers = [number for begin, number in NO_READINGS if words.startswith(f"{begin}_")]
        bad = np.isin(values, numbers) if numbers else np.zeros(0, bool)
    if not bad.any():
        return values
    text = f"{clean_name(name)}: numbers that stand for no reading"
    doubts.append(ReadWarning("sentinel_values", text, int(bad.sum())))
    return np.where(bad, np.nan, values)
