"""What events look like on the wire."""

import json
import math

import numpy as np
import pytest

from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import (
    encode_frame,
    encode_object,
    insert_dropped,
    make_cue_event,
)
from runtime.bridge.session.recording import WIDE
from runtime.web import sse
from tests.bridge.live.streamkit import frame, parsed

CLIENT = (
    "timestamp distance speed g_lat g_long combo_g brake_pressure throttle steering rpm lat lon"
).split()


def test_a_frame_has_the_names_of_clients_and_those_of_its_columns() -> None:
    numbers = {name: float(at) + 0.5 for at, name in enumerate(WIDE)}
    told = json.loads(encode_frame(frame()._replace(wide=numbers)))
    assert [told[name] for name in CLIENT] == [told[name] for name in WIDE]
    assert [told[name] for name in CLIENT] == [at + 0.5 for at in range(len(WIDE))]
    assert (told["session_id"], told["frame_idx"], told["source"]) == ("s", None, "can")
    assert "replay_id" not in told


def test_what_is_no_number_is_null() -> None:
    told = json.loads(encode_frame(frame(speed_ms=math.nan, rpm=math.inf)))
    assert told["timestamp"] == 1.0
    assert {told[name] for name in CLIENT if name != "timestamp"} == {None}


def test_further_signals_come_under_their_names_and_displace_nothing() -> None:
    extras = {"water_temp_c": 90.5, "speed": 1.0, "session_id": 2.0, "gear": np.float64(3)}
    told = json.loads(
        encode_frame(
            frame(speed_ms=40.0)._replace(extras=extras, replay_id="replay-0", frame_idx=7)
        )
    )
    assert (told["water_temp_c"], told["gear"]) == (90.5, 3)
    assert (told["speed"], told["session_id"]) == (40.0, "s")
    assert (told["replay_id"], told["frame_idx"]) == ("replay-0", 7)


def test_a_cue_has_every_field_and_both_forms() -> None:
    made = make_cue_event(Cue("s", "Brake\nlater", 2, "trail", "rule", corner="T1"), 5, 12.3456)
    plain, named = parsed(made.plain), parsed(made.named)
    assert (plain.name, named.name) == ("message", "cue")
    assert plain.data == named.data
    assert plain.id == plain.data["id"] == 5
    assert (plain.data["timestamp"], plain.data["ts"]) == (12346, 12.346)
    assert plain.data["text"] == "Brake\nlater"
    wanted = "id timestamp ts session_id burst_id phrase_id text priority emotion source pace_note"
    wanted += " concept corner expected_tts_ms"
    assert set(wanted.split()) <= set(plain.data)


def test_half_a_surrogate_pair_does_not_stop_a_cue() -> None:
    assert json.loads(encode_object({"text": "go \ud83d", "n": 1})) == {"text": "go ?", "n": 1}


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b'{"a":1}', {"dropped": 3, "a": 1}),
        (b"{}", {"dropped": 3}),
        (b'{"a":"data: {"}', {"dropped": 3, "a": "data: {"}),
    ],
)
def test_a_gap_is_told_in_the_event_behind_it(data: bytes, wanted: object) -> None:
    whole = insert_dropped(sse.frame(data, "telemetry", 9), 3)
    assert parsed(whole).data == wanted
    assert parsed(whole)._replace(data=None) == parsed(sse.frame(data, "telemetry", 9))._replace(
        data=None
    )
