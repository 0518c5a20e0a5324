"""A small circuit, frames and bursts for the tests of the coach."""

import math
from functools import cache
from typing import Final

import numpy as np

from runtime.bridge.cues.circuit import Circuit, circuit_for
from runtime.bridge.cues.concepts import Inputs
from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.session.recording import WIDE, Gate, LiveFrame
from runtime.bridge.track.library import read_track
from runtime.bridge.track.model import (
    BrakePoint,
    Corner,
    DangerZone,
    Direction,
    Marker,
    Profile,
    Speeds,
    Spot,
    Track,
)
from tests.bridge.track.examples import DATA

NAN: Final = math.nan
LENGTH: Final = 2000.0
LINEAR: Final = tuple(float(at) for at in range(0, 2001, 100))
QUIET: Final = Inputs(
    in_corner=False,
    past_apex=False,
    brake=0.0,
    thr=100.0,
    glat=0.0,
    v=150.0,
    to_entry=999.0,
    bz=0.0,
    dz=0.0,
)
"""Full throttle on a straight with no corner in reach."""


def corner(
    number: int,
    entry: float,
    apex: float,
    leave: float,
    *,
    direction: Direction = "left",
    severity: int = 3,
    bz: float | None = 80.0,
    name: str = "",
) -> Corner:
    return Corner(
        name or f"Turn {number}",
        number,
        direction,
        severity,
        Spot(entry),
        Spot(apex),
        Spot(leave),
        speeds=Speeds(30.0, 20.0, 25.0),
        brake=None if bz is None else BrakePoint(bz, 50.0),
    )


def track(*corners: Corner, length: float = LENGTH, **more: object) -> Track:
    """A circuit of distances only, flat unless *more* says otherwise."""
    fields: dict[str, object] = {"elevation": None, **more}
    start = Gate(0.0, 0.0, 0.0)
    return Track("small", "Small", length, start, corners=corners, **fields)  # type: ignore[arg-type]


def small() -> Track:
    """Two corners, the second over start/finish, a fall towards the first, a danger zone."""
    heights = np.interp(LINEAR[:-1], [0.0, 300.0, 500.0, 1500.0], [0.0, 0.0, -20.0, 0.0])
    return track(
        corner(1, 500, 540, 600),
        corner(2, 1950, 1990, 50, direction="right", severity=1, bz=None),
        elevation=Profile(np.array(LINEAR[:-1]), heights),
        danger_zones=(DangerZone("wall", 480.0, 620.0, "a wall", "high"),),
        markers=(
            Marker("a", "brake_ref", "Old Bollard", 425.0, "Turn 1"),
            Marker("b", "turn_in_ref", "Seam in the asphalt", 1948.0, "Turn 2"),
        ),
    )


@cache
def larkfell() -> Track:
    found, doubts = read_track(DATA / "larkfell.json")
    assert doubts == ()
    return found


def circuit(of: Track | None = None) -> Circuit:
    return circuit_for(of or small())


def engine(of: Track | None, **options: object) -> CueEngine:
    """An engine all of whose sessions drive on one track."""
    return CueEngine(lambda _: of, **options)  # type: ignore[arg-type]


def frame(t: float, session: str = "s", **numbers: float) -> LiveFrame:
    """A live frame that a device sent; what is not named was not measured."""
    wide = {**dict.fromkeys(WIDE, NAN), "timestamp": t, **numbers}
    return LiveFrame(session, "ingest", wide, device_distance_m=wide["distance_m"])


def straight(t: float, distance: float, session: str = "s", **numbers: float) -> LiveFrame:
    """Full throttle straight on at 180 km/h."""
    usual = {
        "distance_m": distance,
        "speed_ms": 50.0,
        "g_lat": 0.0,
        "g_long": 0.2,
        "brake_bar": 0.0,
        "throttle_pct": 100.0,
    }
    return frame(t, session, **{**usual, **numbers})
