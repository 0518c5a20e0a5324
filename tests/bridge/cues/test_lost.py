"""A car that tells no position, over HTTP: nobody speaks of corners to it; on both databases."""

import asyncio
from collections.abc import Mapping
from typing import Final

import pytest

from runtime.bridge.cues.model import Cue
from tests.bridge.bridgekit import Bridge
from tests.bridge.cues.coachkit import larkfell
from tools.drive import USUAL, drive

DRIVEN: Final = drive(larkfell(), 1, seed=4, noise=USUAL).frames
BATCH: Final = 40
SENT: Final[Mapping[str, tuple[str, ...]]] = {
    "its speed": ("timestamp", "speed_ms"),
    "speed and pedals": ("timestamp", "speed_ms", "brake_bar", "throttle_pct"),
    "a distance": ("timestamp", "speed_ms", "brake_bar", "throttle_pct", "distance_m"),
    "positions": ("timestamp", "speed_ms", "brake_bar", "throttle_pct", "lat", "lon"),
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Cue]:
    """The cues that were published."""
    heard: list[Cue] = []
    monkeypatch.setattr("runtime.bridge.live.hub.Hub.publish_cue", lambda _, cue: heard.append(cue))
    return heard


@pytest.mark.parametrize("channels", SENT)
@pytest.mark.parametrize("each", [False, True])
async def test_corners_are_spoken_of_only_where_the_car_tells_its_place(
    bridge: Bridge,
    told: list[Cue],
    monkeypatch: pytest.MonkeyPatch,
    channels: str,
    *,
    each: bool,
) -> None:
    monkeypatch.setattr("runtime.bridge.live.live.Live._coaches", lambda *_: True)
    start = {"session_id": "s", "track": larkfell().name}
    await bridge.ok("POST", "/session/start", start)
    names = SENT[channels]
    rows = list(zip(*(DRIVEN.columns[name].tolist() for name in names), strict=True))[:1600]
    frames = [dict(zip(names, row, strict=True)) for row in rows]

    if each:
        for one in frames[::8]:
            await bridge.ok("POST", "/session/s/frame", one)
    else:
        for at in range(0, len(frames), BATCH):
            await bridge.ok("POST", "/session/s/frames", {"frames": frames[at : at + BATCH]})
    await asyncio.sleep(0)

    corners = {cue.corner for cue in told} - {None}
    stored = await bridge.service.db.read_frames("s")
    assert stored.columns["distance_m"][-1] > 500.0, "the distance is reckoned all the same"
    assert bool(corners) is (channels in ("a distance", "positions"))
