"""Photographs, videos, dates and the picture for links: what a page and its neighbours show."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from course.read.images import read_dimensions
from tests.course.coursekit import (
    BRAKE_TRACE,
    TYRE_WINDOW,
    built,
    checked,
    edited,
    put,
    with_body,
    write_course,
)

FOLDER = "content/phases/20-braking/10-brake-trace/media"
PAGE = "site/lessons/brake-trace/index.html"
COURSE = "content/course.yaml"
# The smallest files that say their size: a JPEG with a table before its frame, an AVIF, a video.
JPEG = (
    b"\xff\xd8\xff\xc4\x00\x04\x00\x00\xff\xc2\x00\x0b\x08"
    + struct.pack(">HH", 360, 640)
    + b"\0\xff\xd9"
)
AVIF = b"\0\0\0\x1cftypavif" + b"\0" * 16 + b"\0\0\0\x14ispe\0\0\0\0" + struct.pack(">II", 640, 360)
MP4 = b"\0\0\0\x18ftypisom" + b"\0" * 16
WEBM = b"\x1aE\xdf\xa3" + b"\0" * 16
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1200, 630) + b"\0" * 9
PNG += b"\0\0\0\0IENDcrc4"
WEBP = b"RIFF\x18\0\0\0WEBPVP8X\x0a\0\0\0" + b"\0" * 12
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.jpg", JPEG), ("a.jpeg", JPEG), ("a.avif", AVIF)],
    ids=["jpg", "jpeg", "avif"],
)
def test_a_photograph_has_its_room_on_the_page(name: str, data: bytes, tmp_path: Path) -> None:
    root = with_body(tmp_path, f"\n![A kerb in the rain](media/{name})\n")
    put(root / FOLDER / name, data)
    assert built(root).diagnostics == []
    assert 'width="640" height="360" loading="lazy" alt="A kerb in the rain"' in (
        root / PAGE
    ).read_text("utf-8")


def test_only_a_drawing_with_colours_for_dark_pages_goes_without_a_plate(tmp_path: Path) -> None:
    root = with_body(tmp_path, "\n![A kerb](media/a.svg) ![A wet kerb](media/b.svg)\n")
    dark = "<style>@media (prefers-color-scheme: dark) { svg { color: white } }</style>"
    put(root / FOLDER / "a.svg", f"{SVG}</svg>")
    put(root / FOLDER / "b.svg", f"{SVG}{dark}</svg>")
    assert built(root).diagnostics == []
    html = (root / PAGE).read_text("utf-8")
    assert ["themed" in tag.partition(">")[0] for tag in html.split("<img ")[1:]] == [False, True]


@pytest.mark.parametrize(("name", "data"), [("a.mp4", MP4), ("a.webm", WEBM)])
def test_a_video_is_played_in_the_page(name: str, data: bytes, tmp_path: Path) -> None:
    root = with_body(tmp_path, f"\n![One lap from the cockpit](media/{name})\n\nText.\n")
    put(root / FOLDER / name, data)
    assert built(root).diagnostics == []
    html = (root / PAGE).read_text("utf-8")
    assert '<video controls preload="metadata" src="../../media/brake-trace/a.' in html
    assert ' aria-label="One lap from the cockpit"></video>' in html


@pytest.mark.parametrize("name", ["a.jpg", "a.avif", "a.mp4", "a.webm"])
def test_a_file_of_another_kind_is_refused(name: str, tmp_path: Path) -> None:
    root = with_body(tmp_path, f"\n![A kerb in the rain](media/{name})\n")
    put(root / FOLDER / name, PNG)
    (found,) = checked(root).diagnostics
    assert (found.code, found.file) == ("SRC011", f"{FOLDER}/{name}")


@pytest.mark.parametrize(("name", "data"), [("a.jpg", JPEG), ("a.png", PNG), ("a.webp", WEBP)])
def test_an_image_whose_end_is_missing_is_refused(name: str, data: bytes, tmp_path: Path) -> None:
    root = with_body(tmp_path, f"\n![A kerb in the rain](media/{name})\n")
    put(root / FOLDER / name, data)
    assert checked(root).diagnostics == []
    put(root / FOLDER / name, data[:-1])
    (found,) = checked(root).diagnostics
    assert (found.code, found.message) == ("SRC011", "the end of the image is missing")


@pytest.mark.parametrize(
    ("svg", "place", "code", "said"),
    [
        (
            SVG.replace(' xmlns="http://www.w3.org/2000/svg"', "") + "</svg>",
            (1, 1),
            "SRC011",
            "no xmlns",
        ),
        ("<?xml version='1.0'?>\n<!DOCTYPE svg>\n" + SVG + "</svg>", (2, 14), "SRC012", "DOCTYPE"),
        (SVG + "\n<g>\n</svg>", (3, 3), "SRC011", "mismatched tag"),
        (SVG + "\n<text>a & b</text></svg>", (2, 10), "SRC011", "&amp;"),
        (SVG + "\n<a>b</a></svg>", (2, 1), "SRC012", "<a>"),
    ],
)
def test_the_fault_of_an_svg_is_named_at_its_place(
    svg: str, place: tuple[int, int], code: str, said: str, tmp_path: Path
) -> None:
    root = with_body(tmp_path, "\n![A kerb in the rain](media/a.svg)\n")
    put(root / FOLDER / "a.svg", svg)
    (found,) = checked(root).diagnostics
    assert (found.code, found.line, found.column) == (code, *place)
    assert said in f"{found.message} {found.got} {found.hint}"


@pytest.mark.parametrize("cut", range(0, len(JPEG) - 6, 3))
def test_half_a_photograph_has_no_size(cut: int) -> None:
    assert read_dimensions("jpg", JPEG[:cut]) is None
    assert read_dimensions("avif", AVIF[:cut]) is None


def test_a_lesson_says_when_it_changed(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, BRAKE_TRACE, ("status: authored\n", "status: authored\nupdated: 2026-11-18\n"))
    edited(root, TYRE_WINDOW, ("status: planned\n", "status: planned\nupdated: 2026-11-19\n"))
    assert built(root, base_url="https://example.org/c/").diagnostics == []
    assert '<time datetime="2026-11-18">' in (root / PAGE).read_text("utf-8")
    feed = (root / "site/feed.xml").read_text("utf-8")
    assert feed.count("<updated>2026-11-18T00:00:00Z</updated>") == 1
    assert "<time" not in (root / "site/lessons/read-a-lap/index.html").read_text("utf-8")


def test_a_link_to_the_site_has_a_picture_and_a_feed(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / "content/media/social.png", PNG)
    edited(root, COURSE, ("parts:", "social: media/social.png\nparts:"))
    assert built(root, base_url="https://example.org/c/").diagnostics == []
    html = (root / PAGE).read_text("utf-8")
    image = html.partition('property="og:image" content="')[2].partition('"')[0]
    assert image.startswith("https://example.org/c/assets/social.")
    assert (root / "site" / image.removeprefix("https://example.org/c/")).read_bytes() == PNG
    assert 'type="application/atom+xml"' in html
    assert 'href="../../feed.xml"' in html


def test_a_picture_that_others_do_not_show_is_refused(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / "content/media/social.avif", AVIF)
    edited(root, COURSE, ("parts:", "social: media/social.avif\nparts:"))
    (found,) = checked(root).diagnostics
    assert found.code == "CFG013"
    assert "PNG" in str(found.hint)
