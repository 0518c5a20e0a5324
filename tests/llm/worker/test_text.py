"""Token bytes become text in whole characters, and nothing from a stop text on is shown."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.llm.engine.worker.text import Decoder, StopScanner, markers_of


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=60), st.lists(st.integers(0, 1000), max_size=8))
def test_pieces_join_to_the_text_of_all_bytes_wherever_they_are_cut(
    data: bytes, places: list[int]
) -> None:
    decoder = Decoder()
    shown = "".join(decoder.feed(piece) for piece in cut(data, places)) + decoder.flush()
    assert shown == data.decode("utf-8", "replace")


def test_a_character_is_shown_only_when_it_is_complete() -> None:
    decoder = Decoder()
    assert [decoder.feed(bytes([byte])) for byte in "🏁".encode()] == ["", "", "", "🏁"]


@settings(deadline=None)  # the machine may be busy
@given(
    st.text("ab<|>", max_size=40),
    st.lists(st.text("ab<|>", min_size=1, max_size=5), max_size=3),
    st.lists(st.integers(0, 1000), max_size=10),
)
def test_the_cut_at_a_stop_text_does_not_depend_on_the_pieces(
    text: str, stops: list[str], places: list[int]
) -> None:
    scanner = StopScanner(stops)
    pieces = [piece.decode() for piece in cut(text.encode(), places)]
    shown = "".join(scanner.feed(piece) for piece in pieces) + scanner.flush()
    found = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    assert scanner.stopped == bool(found)
    assert shown == (text[: min(found)[1]] if found else text)


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["brake <|im", "_end|> now"], ["brake ", ""]),
        (["brake <|im", "ola|>"], ["brake ", "<|imola|>"]),
        (["a", "b"], ["a", "b"]),
        (["<", "<|im_end|>"], ["", "<"]),
    ],
)
def test_an_end_that_may_begin_a_stop_text_is_held_back(
    pieces: list[str], shown: list[str]
) -> None:
    scanner = StopScanner(["<|im_end|>"])
    assert [scanner.feed(piece) for piece in pieces] == shown


def test_an_empty_stop_text_stops_nothing() -> None:
    scanner = StopScanner([""])
    assert scanner.feed("go") == "go"
    assert not scanner.stopped


def test_only_markers_that_the_template_writes_are_looked_for() -> None:
    assert markers_of("{{ m }}<|im_end|>\n</s>") == ("<|im_end|>", "</s>")
