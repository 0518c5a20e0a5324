"""Hostile images: only drawings and pictures that can be read are published."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course.coursekit import READ_A_LAP, SVG, built, codes, edited, write_course

SVG_TEXT = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{}</svg>'


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<SCRIPT/>",
        "<svg:script xmlns:svg='http://www.w3.org/2000/svg'>alert(1)</svg:script>",
        "<foreignObject><body/></foreignObject>",
        "<rect onclick='x()'/>",
        '<rect ONLOAD = "x()"/>',
        "<image href='https://evil.example/x.png'/>",
        "<use xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='//evil.example/x#y'/>",
        "<a href='javascript:alert(1)'><rect/></a>",
        "<a href='java&#115;cript:alert(1)'><rect/></a>",
        "<use href='other.svg#x'/>",
        "<style>@import 'https://evil.example/x.css';</style>",
        "<rect style='fill: url(https://evil.example/x)'/>",
        "<rect style='fill: URL( \"https://evil.example/x\" )'/>",
        "<animate attributeName='href' values='javascript:alert(1)'/>",
        "<set attributeName='onload' to='alert(1)'/>",
        "<image href='data:image/svg+xml;base64,AAAA'/>",
        "<iframe src='https://evil.example/'/>",
        "<rect style='background: image-set(\"https://evil.example/x\" 1x)'/>",
        "<style>a { background: \\75rl(https://evil.example/x) }</style>",
        "<handler type='application/ecmascript'>alert(1)</handler>",
        "<image\nhref\n=\n'https://evil.example/x.png'/>",
    ],
    ids=range(22),
)
def test_an_svg_that_could_act_is_refused(inside: str, tmp_path: Path) -> None:
    root = write_course(tmp_path, {SVG: SVG_TEXT.format(inside)})
    assert codes(built(root)) == {"SRC012"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an image",
        b"<svg/>",
        b'<svg viewBox="0 0 0 0"/>',
        b'<svg viewBox="0 0 1e999 5"/>',
        b'<svg viewBox="a b c d"/>',
        b'<svg viewBox="0 0 9 9">',
        '<svg viewBox="0 0 9 9"/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="UTF-7"?><svg viewBox="0 0 9 9"/>',
        b'<!DOCTYPE svg [<!ENTITY a "b">]><svg viewBox="0 0 9 9">&a;</svg>',
        b"\x89PNG\r\n\x1a\n",
        b"<svg " + b"a " * 100_000 + b"/>",
        b"<svg viewBox=" * 20_000,
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{"<g>" * 50_000}'.encode(),
        b'<?xml-stylesheet href="x.css"?><svg/>',
    ],
    ids=range(15),
)
def test_a_broken_image_is_refused(data: bytes, tmp_path: Path) -> None:
    assert codes(built(write_course(tmp_path, {SVG: data}))) & {"SRC011", "SRC012"}


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("suffix", ["png", "webp"])
@pytest.mark.parametrize("data", [b"", b"x" * 100, b"RIFF" + bytes(40), PNG, PNG + bytes(40)])
def test_a_broken_picture_is_refused(data: bytes, suffix: str, tmp_path: Path) -> None:
    name = READ_A_LAP.replace("lesson.md", f"media/x.{suffix}")
    root = write_course(tmp_path, {name: data})
    edited(root, READ_A_LAP, ("## Example", f"![A picture](media/x.{suffix})\n\n## Example"))
    assert codes(built(root)) == {"SRC011"}
