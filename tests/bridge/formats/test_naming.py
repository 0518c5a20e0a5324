"""What imported sessions are called."""

import re

import numpy as np
import pytest

from runtime.bridge.api.shapes import check_session_id
from runtime.bridge.formats.session_naming import name_session
from runtime.bridge.session.recording import WIDE, Frames, Recording
from runtime.bridge.storage.records import SessionMeta, SessionRow
from runtime.bridge.track.library import Library


@pytest.mark.parametrize(
    ("track", "begins"),
    [
        ("Larkfell Circuit", "larkfell-circuit-"),
        ("", "session-"),
        ("\u5bcc\u58eb\u30b9\u30d4\u30fc\u30c9\u30a6\u30a7\u30a4", "track-"),
        ("Suzuka \u9234\u9e7f", "suzuka-"),
        ("x" * 256, "xxx"),
    ],
)
def test_a_session_of_any_circuit_has_an_id_that_can_be_asked_for(track: str, begins: str) -> None:
    frames = Frames({name: np.zeros(0) for name in WIDE})
    recording = Recording(frames, created=1_600_000_000.0)
    name, meta = name_session(recording, SessionMeta(track=track), None, Library(), lambda _: None)

    assert meta.track == track
    assert check_session_id(name) == name
    assert name.startswith(begins)
    assert re.search("-20200913-122640$", name)


def test_another_recording_of_the_same_second_has_an_id_of_its_own() -> None:
    times = 1_700_000_000.0 + np.arange(20.0)
    columns = {name: np.full(20, np.nan) for name in WIDE}
    columns |= {"timestamp": times, "distance_m": np.arange(20.0)}
    recording = Recording(Frames(columns), facts={"time_base": "utc"})
    rows: dict[str, SessionRow] = {}

    def name() -> str:
        return name_session(recording, SessionMeta(), None, Library(), rows.get)[0]

    first = name()
    assert first == "session-20231114-221320"
    rows[first] = SessionRow(first, n_frames=20, distance_m=19.0)
    assert name() == first  # the same recording: it is refused
    rows[first] = SessionRow(first, n_frames=20, distance_m=500.0)
    assert name() == f"{first}-2"
    rows[f"{first}-2"] = SessionRow(first, n_frames=7, distance_m=19.0)
    assert name() == f"{first}-3"
