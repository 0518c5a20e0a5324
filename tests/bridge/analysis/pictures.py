"""Draws the map and the friction circle of a session: ``python -m tests.bridge.analysis.pictures``.

Reads the JSON of the routes as any client would, and writes two PNG files into a folder.
"""

import asyncio
import colorsys
import struct
import sys
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.bridge.analysis.lapkit import TRACKS
from tests.bridge.bridgekit import Json, bridging, settings_for
from tools.drive import USUAL, drive

Colour = tuple[int, int, int]
Pixels = npt.NDArray[np.uint8]
SIZE: Final = 900
MARGIN: Final = 40
PAPER: Final = 255
GREY: Final[Colour] = (200, 200, 200)
BLACK: Final[Colour] = (0, 0, 0)
RED: Final[Colour] = (220, 40, 30)


class View(NamedTuple):
    """Where a plane of numbers lies in a picture."""

    left: float
    top: float
    scale: float
    """Pixels a unit."""

    def pixels(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], ...]:
        """Columns and rows of points."""
        column = MARGIN + (np.asarray(x) - self.left) * self.scale
        row = MARGIN + (self.top - np.asarray(y)) * self.scale
        return np.rint(column).astype(np.intp), np.rint(row).astype(np.intp)


def paper() -> Pixels:
    """A white picture."""
    return np.full((SIZE, SIZE, 3), PAPER, dtype=np.uint8)


def dots(picture: Pixels, view: View, x: Json, y: Json, colour: Colour, size: int = 1) -> None:
    """Squares at points."""
    columns, rows = view.pixels(x, y)
    for dx in range(-(size // 2), size - size // 2):
        for dy in range(-(size // 2), size - size // 2):
            c, r = columns + dx, rows + dy
            seen = (c >= 0) & (c < SIZE) & (r >= 0) & (r < SIZE)
            picture[r[seen], c[seen]] = colour


def path(picture: Pixels, view: View, points: Json, colour: Colour, size: int = 1) -> None:
    """A line through points of [latitude, longitude]."""
    lat, lon = np.array(points).T
    fine = np.linspace(0, len(lat) - 1, 8 * len(lat))
    at = np.arange(len(lat))
    dots(picture, view, np.interp(fine, at, lon), np.interp(fine, at, lat), colour, size)


def draw_map(found: Json) -> Pixels:
    """The map as its answer gives it: centre line, laps by speed, corners by grade, pins."""
    (south, west), (north, east) = found["bounds"]
    squeeze = np.cos(np.radians(south))
    scale = (SIZE - 2 * MARGIN) / max((east - west) * squeeze, north - south)
    view = View(west * squeeze, north, scale)

    def flat(points: Json) -> Json:
        return [[lat, lon * squeeze] for lat, lon in points]

    picture = paper()
    path(picture, view, flat([*found["centerline"], found["centerline"][0]]), GREY, 11)
    speeds = [v for lap in found["lap_speeds"].values() for v in lap if v is not None]
    low, high = min(speeds, default=0.0), max(speeds, default=1.0)
    for number, points in found["lap_polylines"].items():
        for (lat, lon), speed in zip(points, found["lap_speeds"][number], strict=True):
            hue = 0.66 * (1 - ((speed or low) - low) / max(high - low, 1e-9))
            r, g, b = (round(255 * part) for part in colorsys.hsv_to_rgb(hue, 1.0, 0.9))
            dots(picture, view, [lon * squeeze], [lat], (r, g, b), 2)
    for pin in found["marker_pins"]:
        if pin["lat"] is not None:
            dots(picture, view, [pin["lon"] * squeeze], [pin["lat"]], BLACK, 5)
    for corner in found["corners"]:
        if corner["lat"] is not None:
            hexed = corner["colour"]
            colour = (int(hexed[1:3], 16), int(hexed[3:5], 16), int(hexed[5:7], 16))
            dots(picture, view, [corner["lon"] * squeeze], [corner["lat"]], BLACK, 19)
            dots(picture, view, [corner["lon"] * squeeze], [corner["lat"]], colour, 15)
    return picture


def draw_friction(found: Json) -> Pixels:
    """The friction circle: right turns to the right, accelerating up; the histogram below."""
    circle = found["friction"]
    reach = 1.2 * max(circle["max_combo_g_observed"] or 0.0, circle["envelope_g"] or 1.0)
    view = View(-reach, reach, (SIZE - 2 * MARGIN) / (2 * reach))
    picture = paper()
    angle = np.linspace(0, 2 * np.pi, 4000)
    for g in np.arange(0.25, reach, 0.25):
        dots(picture, view, g * np.sin(angle), g * np.cos(angle), GREY)
    axis = np.linspace(-reach, reach, 2000)
    dots(picture, view, axis, 0 * axis, GREY)
    dots(picture, view, 0 * axis, axis, GREY)
    envelope = circle["envelope_g"] or 0.0
    dots(picture, view, envelope * np.sin(angle), envelope * np.cos(angle), RED, 2)
    lat = [one["gLat"] for one in circle["samples"]]
    dots(picture, view, lat, [one["gLong"] for one in circle["samples"]], (30, 90, 200), 3)
    for tenth, share in enumerate(circle["histogram_pct"]):
        left = MARGIN + tenth * 30
        picture[SIZE - 10 - round(2 * (share or 0.0)) : SIZE - 10, left : left + 24] = (90, 90, 90)
    return picture


def png(picture: Pixels) -> bytes:
    """The picture as a PNG file."""
    height, width, _ = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)

    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            chunk(b"IDAT", zlib.compress(rows, 6)),
            chunk(b"IEND", b""),
        ]
    )


async def drawn(folder: Path, track_id: str) -> list[Path]:
    """Drive a circuit, ask a bridge for both answers, draw them."""
    driven = drive(TRACKS[track_id], 4, hz=20.0, skill=0.85, seed=5, noise=USUAL)
    with tempfile.TemporaryDirectory() as place:
        async with bridging(settings_for(Path(place))) as bridge:
            await bridge.ok("POST", "/session/start", {"session_id": "s", "track": track_id})
            await bridge.service.db.append_frames("s", driven.frames)
            answers = [
                await bridge.ok("GET", f"/session/s/{name}") for name in ("map", "friction_circle")
            ]
    made = []
    for name, picture in (("map", draw_map(answers[0])), ("friction", draw_friction(answers[1]))):
        made.append(folder / f"{track_id}-{name}.png")
        made[-1].write_bytes(png(picture))
    return made


def main(argv: Sequence[str]) -> None:
    """Draw the circuits that are named, into the folder named first."""
    folder, *tracks = argv
    for track_id in tracks or TRACKS:
        for made in asyncio.run(drawn(Path(folder), track_id)):
            sys.stdout.write(f"{made}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
