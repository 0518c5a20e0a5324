"""What an imported session is called, and where, by whom and in what it was driven."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from runtime.bridge.can.cars import SUFFIXES
from runtime.bridge.session.names import slug
from runtime.bridge.session.recording import Recording
from runtime.bridge.session.series import series
from runtime.bridge.storage.values import SessionMeta
from runtime.bridge.track.identity import identify_circuit
from runtime.bridge.track.library import Library

UNNAMED: Final = "session"


def name_session(
    recording: Recording,
    asked: SessionMeta,
    session_id: str | None,
    library: Library,
) -> tuple[str, SessionMeta]:
    """The id of a session, and what it keeps: as *asked*, else as the file says.

    The id is that of the circuit, which the positions may tell, and of the moment of recording, or
    of import where that is not known.
    """
    car, decoded = asked.car, recording.facts.get("car", "none")
    if decoded != "none" and (not car or car.endswith(SUFFIXES)):
        car = decoded
    track = asked.track or recording.facts.get("venue", "")
    place = identify_circuit(series(recording.frames), track, library).name
    driver = asked.driver or recording.facts.get("driver") or asked.driver
    begun = recording.created if recording.created is not None else time.time()
    moment = datetime.fromtimestamp(begun, UTC)
    name = session_id or f"{slug(place) or UNNAMED}-{moment:%Y%m%d-%H%M%S}"
    return name, replace(asked, driver=driver, track=track, car=car)


def car_file_name(folder: Path, car: str | None) -> str | None:
    """*car* where it names a car file; None where it is just what a car is called."""
    if not car:
        return None
    if car.endswith(SUFFIXES):
        return car
    plain = "/" not in car and "\\" not in car and "\0" not in car
    there = plain and any((folder / f"{car}{suffix}").is_file() for suffix in SUFFIXES)
    return car if there else None
