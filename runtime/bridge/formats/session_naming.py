"""Chooses the id of an imported session and its driver, track and car."""

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
    requested: SessionMeta,
    session_id: str | None,
    library: Library,
    stored: Callable[[str], SessionRow | None],
) -> tuple[str, SessionMeta]:
    """Choose the id and details of a session: as *requested*, else from the file.

    The id is *session_id*, else that of an exported session, else it joins the circuit, which the
    positions may identify, and the time of recording, or of import if that is unknown. If *stored*
    has another recording of that id, ``-2``, ``-3``, … is appended.
    """
    facts = recording.facts
    car, decoded = requested.car, facts.get("car", "none")
    if decoded != "none" and (not car or car.endswith(SUFFIXES)):
        car = decoded
    track = requested.track or facts.get("venue", "")
    place = identify_circuit(build_series(recording.frames), track, library).name
    meta = replace(
        requested,
        driver=requested.driver or facts.get("driver"),
        driver_level=requested.driver_level or facts.get("driver_level", "intermediate"),
        track=track,
        car=car,
        note=requested.note or facts.get("note"),
    )
    if session_id:
        return session_id, meta
    begun = recording.created if recording.created is not None else _find_start(recording)
    moment = datetime.fromtimestamp(begun, UTC)
    name = first = facts.get("session_id") or f"{slugify(place) or UNNAMED}-{moment:%Y%m%d-%H%M%S}"
    number = 1
    while (row := stored(name)) is not None and row.n_frames and not _is_from(row, recording):
        number += 1
        name = f"{first}-{number}"
    return name, meta


def _find_start(recording: Recording) -> float:
    """Return the Unix seconds of the first frame, or of now if its clock has no date."""
    times = recording.frames.columns[TIMESTAMP]
    return float(times[0]) if len(times) and recording.is_dated(times[0]) else time.time()


def _is_from(row: SessionRow, recording: Recording) -> bool:
    """Return whether a session comes from the very same recording."""
    distance = recording.frames.columns["distance_m"]
    distance = distance[~np.isnan(distance)]
    last = float(distance[-1]) if len(distance) else None
    return row.n_frames == len(recording.frames) and row.distance_m == last


def find_car_file_name(folder: Path, car: str | None) -> str | None:
    """Return *car* if it names a car file, None if it is only a description."""
    if not car:
        return None
    if car.endswith(SUFFIXES):
        return car
    plain = "/" not in car and "\\" not in car and "\0" not in car
    exists = plain and any((folder / f"{car}{suffix}").is_file() for suffix in SUFFIXES)
    return car if exists else None
