"""A stored drive that is replayed is coached in the same words at the same places at any pace."""

from itertools import pairwise
from typing import NamedTuple

from runtime.bridge.cues.model import SAFETY, Cue
from runtime.bridge.session.recording import Frames, LiveFrame
from runtime.bridge.storage.records import SessionMeta
from tests.bridge.bridgekit import Bridge
from tests.bridge.cues.coachkit import larkfell
from tests.bridge.cues.test_habits import with_fault
from tests.bridge.live.replaykit import Stage
from tools.drive import drive

PACES = (1, 4, 20)
EACH = 5
"""Of the frames every fifth is stored: ten a second."""


class Heard(NamedTuple):
    """A cue, and when of the recording it was told."""

    t: float
    frame_idx: int
    cue: Cue


async def replay(bridge: Bridge, session_id: str, pace: int) -> list[Heard]:
    """What a driver hears of a replay whose clock stands in the test's hand."""
    service, heard, now = bridge.service, [], LiveFrame("", "replay", {"timestamp": 0.0})
    assert service.live is not None
    live = service.live

    def publish(frame: LiveFrame) -> None:
        nonlocal now
        now = frame
        live.publish(frame)

    def publish_cue(cue: Cue) -> None:
        heard.append(Heard(now.t, now.frame_idx or 0, cue))

    stage = Stage(service, publish)
    service.replays = stage.replays
    whole, service.hub.publish_cue = service.hub.publish_cue, publish_cue  # type: ignore[method-assign]
    await bridge.ok(
        "POST", "/session/replay/start", {"source_session_id": session_id, "speed": pace}
    )
    await stage.end()
    service.hub.publish_cue = whole  # type: ignore[method-assign]
    return heard


async def test_a_replay_is_coached_alike_at_any_pace(bridge: Bridge) -> None:
    track = larkfell()
    corner = next(one for one in track.corners if one.number == 8)
    driven = drive(track, 4, seed=3, skill=0.98)
    whole = with_fault(driven, corner, "brakes_early")
    columns = {name: values[::EACH] for name, values in whole.items()}
    await bridge.service.db.append_frames(
        "ride", Frames(columns), {}, SessionMeta(track="larkfell")
    )

    heard = {pace: await replay(bridge, "ride", pace) for pace in PACES}

    first = [(one.frame_idx, one.cue.text, one.cue.distance_m) for one in heard[1]]
    for pace in PACES[1:]:
        assert [(one.frame_idx, one.cue.text, one.cue.distance_m) for one in heard[pace]] == first
    losses = [one for one in heard[1] if one.cue.priority == 2]
    assert {one.cue.corner for one in losses} == {corner.name}
    crossings = driven.crossings_s
    assert losses[0].t - heard[1][0].t < 3.75 * (crossings[-1] - crossings[0]) / 4
    quiet = [one.t for one in heard[1] if one.cue.priority < SAFETY]
    assert all(later - earlier >= 8.0 for earlier, later in pairwise(quiet))
