"""Corners where mistakes are punished, by the danger zones of the circuit's file."""

from collections.abc import Mapping
from typing import Final, cast

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.track.model import DANGERS, Corner, DangerZone, Track

AROUND_M: Final = 100.0
"""So far around a corner a danger counts as one of it."""


def zones_at(corner: Corner, track: Track | None) -> list[DangerZone]:
    """The danger zones at a corner, the gravest first."""
    if track is None:
        return []
    length = track.length_m
    begin = corner.entry.distance_m - AROUND_M
    reach = (corner.exit.distance_m + AROUND_M - begin) % length
    found = [
        zone
        for zone in track.danger_zones
        if (zone.start_m - begin) % length <= reach
        or (begin - zone.start_m) % length <= (zone.end_m - zone.start_m) % length
    ]
    return sorted(found, key=lambda zone: DANGERS.index(zone.severity))


def dangers(drive: Drive) -> Mapping[str, DangerZone]:
    """The gravest danger zone of every corner that has one. Raises `NoGeometry`."""
    if "dangers" not in drive.memo:
        at = {one.name: zones_at(one, drive.track) for one in drive.corners}
        drive.memo["dangers"] = {name: zones[0] for name, zones in at.items() if zones}
    return cast(Mapping[str, DangerZone], drive.memo["dangers"])
