"""Whatever comes in, nothing breaks, nothing is said that JSON or a driver cannot take."""

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.bridge.cues.model import LEVELS, Analysis, Burst, Cue
from runtime.bridge.session.recording import WIDE_SIGNALS, LiveFrame
from tests.bridge.cues.coachkit import NAN, larkfell, small
from tests.bridge.cues.coachkit import engine as engine_of

finite = st.floats(allow_nan=False, allow_infinity=False)
near = st.sampled_from([0.0, 0.5, 1.0, 2.5, 20.0, 45.0, 80.0, 150.0, 260.0, 480.0, 500.0, 1960.0])
number = near | finite | st.just(-1.0)
count = st.integers(0, 2**31)
bursts = st.builds(
    Burst,
    session_id=st.sampled_from(["", "a", "b"]),
    burst_id=st.integers(-(2**53), 2**53),
    avg_speed_kmh=number,
    max_combo_g=number,
    max_lateral_g=number,
    max_brake_bar=number,
    avg_throttle_pct=number,
    coast_frames=count,
    trail_brake_frames=count,
    frame_count=count,
    distance_m=st.none() | number,
    in_corner=st.booleans(),
    past_apex=st.booleans(),
    driver_level=st.none() | st.sampled_from([*LEVELS, "?"]),
    dist_to_next_corner_m=st.none() | number,
    next_corner_severity=st.none() | st.integers(1, 6),
)
channel = st.one_of(near, st.just(NAN), st.floats())
frames = st.builds(
    lambda session, source, t, values, told: LiveFrame(
        session,
        source,
        {"timestamp": t, **dict(zip(WIDE_SIGNALS, values, strict=True))},
        device_distance_m=told,
    ),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["can", "replay", "ingest"]),
    st.floats(-1e5, 1e6),
    st.tuples(*(channel for _ in WIDE_SIGNALS)),
    channel,
)
tracks = st.sampled_from([None, small(), larkfell()])


def is_sound(made: Analysis | Cue) -> None:
    json.dumps(made._asdict(), allow_nan=False)
    text = made.coaching if isinstance(made, Analysis) else made.text
    assert 0 < len(text.split()) <= 20
    assert len(text) < 200


@settings(max_examples=60)
@given(tracks, st.lists(st.tuples(bursts, st.floats(0, 1e6)), max_size=8))
def test_any_bursts_are_answered(of: object, sent: list[tuple[Burst, float]]) -> None:
    engine = engine_of(of)  # type: ignore[arg-type]

    for burst, now in sent:
        found = engine.analyze(burst, now)
        is_sound(found)
        assert found.cues == tuple(found.cues)
        for tone in found.cues:
            assert math.isfinite(tone.frequency)
            assert 0 <= tone.volume <= 1
        assert (found.cue is None) is (burst.session_id == "")


@settings(max_examples=60)
@given(tracks, st.lists(frames, max_size=12))
def test_any_frames_are_heard(of: object, sent: list[LiveFrame]) -> None:
    made: list[Burst] = []
    engine = engine_of(of, heard=made.append)  # type: ignore[arg-type]

    for one in sent:
        for cue in engine.feed(one):
            is_sound(cue)

    for burst in made:
        is_sound(engine_of(of).analyze(burst, 0.0))  # type: ignore[arg-type]
