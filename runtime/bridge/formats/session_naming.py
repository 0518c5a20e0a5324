"""What an imported session is called, and where, by whom and in what it was driven."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from runtime.bridge.can.cars import SUFFIXES
from runtime.bridge.session.names import slugify
from runtime.bridge.session.recording import TIMESTAMP, Recording
from runtime.bridge.session.series import build_series
from runtime.bridge.storage.records import SessionMeta, SessionRow
from runtime.bridge.track.identity import identify_circuit
from runtime.bridge.track.library import Library

UNNAMED: Final = "session"


def name_session(
    recording: Recording,
    asked: SessionMeta,
    session_id: str | None,
    library: Library,
    stored: Callable[[str], SessionRow | None],
) -> tuple[str, SessionMeta]:
    """The id of a session, and what it keeps: as *asked*, else as the file says.

    The id is that of a session that was handed out before, else that of the circuit, which the
    positions may tell, and of the moment of recording, or of import where that is not known.
    Where *stored* has another recording of that id, ``-2``, ``-3``, … follows.
    """
    facts = recording.facts
    car, decoded = asked.car, facts.get("car", "none")
    if decoded != "none" and (not car or car.endswith(SUFFIXES)):
        car = decoded
    track = asked.track or facts.get("venue", "")
    place = identify_circuit(build_series(recording.frames), track, library).name
    meta = replace(
        asked,
        driver=asked.driver or facts.get("driver"),
        driver_level=asked.driver_level or facts.get("driver_level", "intermediate"),
        track=track,
        car=car,
        note=asked.note or facts.get("note"),
    )
    if session_id:
        return session_id, meta
    begun = recording.created if recording.created is not None else _first_moment(recording)
    moment = datetime.fromtimestamp(begun, UTC)
    name = first = facts.get("session_id") or f"{slugify(place) or UNNAMED}-{moment:%Y%m%d-%H%M%S}"
    number = 1
    while (row := stored(name)) is not None and row.n_frames and not _is_of(row, recording):
        number += 1
        name = f"{first}-{number}"
    return name, meta


def _first_moment(recording: Recording) -> float:
    """Unix seconds of the first frame, now where its clock has no date."""
    times = recording.frames.columns[TIMESTAMP]
    return float(times[0]) if len(times) and recording.is_dated(times[0]) else time.time()


def _is_of(row: SessionRow, recording: Recording) -> bool:
    """Whether a session was made of the very same recording."""
    distance = recording.frames.columns["distance_m"]
    known = distance[~np.isnan(distance)]
    last = float(known[-1]) if len(known) else None
    return row.n_frames == len(recording.frames) and row.distance_m == last


def car_file_name(folder: Path, car: str | None) -> str | None:
    """*car* where it names a car file; None where it is just what a car is called."""
    if not car:
        return None
    if car.endswith(SUFFIXES):
        return car
    plain = "/" not in car and "\\" not in car and "\0" not in car
    there = plain and any((folder / f"{car}{suffix}").is_file() for suffix in SUFFIXES)
    return car if there else None
