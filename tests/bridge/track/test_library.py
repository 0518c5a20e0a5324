"""The folder of circuits, and what may be asked for by a request."""

import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.bridge.session.names import slugify
from runtime.bridge.settings import DEFAULT_TRACK
from runtime.bridge.track.library import Library, is_safe_id, read_track
from runtime.bridge.track.model import TrackError
from tests.bridge.track.examples import DATA, text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "round.json").write_text(text())
    (tmp_path / "far.json").write_text(
        text(name="Älg Väg", start_finish={"lat": 46.03, "lon": 7.0, "heading": 0})
    )
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "doubt.json").write_text(
        text(name="Doubtful", sectors=[{}], start_finish={"lat": -30, "lon": 7.0, "heading": 0})
    )
    (tmp_path / "note.txt").write_text("no circuit")
    return tmp_path


def test_a_folder_is_read_whole_and_says_what_is_wrong(folder: Path) -> None:
    library = Library.read(folder)

    assert list(library.tracks) == ["doubt", "far", "round"]
    assert list(library.unreadable) == ["bad"]
    assert library.unreadable["bad"].startswith("bad.json: line 1")
    assert list(library.doubts) == ["doubt"]


def test_an_absent_folder_has_no_circuits(tmp_path: Path) -> None:
    assert Library.read(tmp_path / "none").tracks == {}


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("round", "round"),
        ("ROUND", "round"),
        ("Round Thing", "round"),
        ("  round_thing ", "round"),
        ("alg vag", "far"),
        ("Rounder", None),
        ("", None),
        ("---", None),
    ],
)
def test_a_circuit_is_found_by_its_name_or_id(folder: Path, name: str, result: str | None) -> None:
    track = Library.read(folder).by_name(name)

    assert (track.id if track else None) == result


def test_a_library_with_another_circuit_has_another_digest(folder: Path) -> None:
    whole = Library.read(folder)
    assert whole.digest == Library.read(folder).digest
    some = dict(list(whole.tracks.items())[1:])
    moved = {**whole.tracks, **{key: replace(track, length_m=9.0) for key, track in some.items()}}
    assert len({whole.digest, Library(some).digest, Library(moved).digest}) == 3


@pytest.mark.parametrize("name", ["larkfell", "Brands Hatch", "a.b", "é"])
def test_ids_may_hold_blanks_and_letters(name: str) -> None:
    assert is_safe_id(name)


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", "a\0", "../x", " a", "x" * 129])
def test_ids_lead_out_of_no_folder(name: str) -> None:
    assert not is_safe_id(name)


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"{}"])
def test_a_file_that_is_no_circuit_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)

    with pytest.raises(TrackError, match=r"x\.json: "):
        read_track(path)
    with pytest.raises(TrackError, match="does not exist"):
        read_track(tmp_path)


def test_a_slug_is_small_letters_and_hyphens() -> None:
    assert slugify("  Nürburgring + GP/Sprint 2_b ") == "nurburgring-gp-sprint-2-b"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("\u00d8resund Stra\u00dfe \u0141\u00f3d\u017a", "oresund-strasse-lodz"),
        ("\u0130stanbul Park", "istanbul-park"),
        ("\u2116 1", "no-1"),
        ("!!!", ""),
        (" ", ""),
    ],
)
def test_latin_letters_of_a_slug_lose_their_accents(name: str, plain: str) -> None:
    assert slugify(name) == plain


def test_names_of_other_letters_have_plain_slugs_that_differ() -> None:
    fuji = "\u5bcc\u58eb\u30b9\u30d4\u30fc\u30c9\u30a6\u30a7\u30a4"
    unvoiced = fuji.replace("\u30d4", "\u30d2").replace("\u30c9", "\u30c8")
    names = [
        *(fuji, unvoiced, f"Fuji {fuji}", "\u03a9\u043c\u0435\u0433\u0430", "\u0663\u0663"),
        *("\u0928\u093e\u0917\u092a\u0941\u0930", "\U0001f3c1", "\U0001f697"),
        *("a" * 300, "a" * 299, "a" * 80, "Fuji " + "\u5bcc" * 300),
    ]

    slugs = [slugify(name) for name in names]

    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", item) and len(item) <= 80 for item in slugs)
    assert len(set(slugs)) == len(names)
    assert [slugify(item) for item in slugs] == slugs
    assert slugify(unicodedata.normalize("NFD", fuji)) == slugify(f" {fuji} ") == slugs[0]
    assert slugs[2].startswith("fuji-")


def test_a_circuit_has_one_key_however_it_is_named(folder: Path) -> None:
    library = Library.read(folder)
    track = next(iter(library.tracks.values()))

    assert library.key(track.id) == library.key(f" {track.name.upper()} ") == slugify(track.id)
    assert library.key("Somewhere Else") == "somewhere-else"
    assert library.key("") == ""


def test_the_default_circuit_is_there() -> None:
    library = Library.read(DATA)

    assert DEFAULT_TRACK in library.tracks
    assert (dict(library.unreadable), dict(library.doubts)) == ({}, {})
