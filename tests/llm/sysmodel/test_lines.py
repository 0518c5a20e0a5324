"""Cutting a stream into lines and events, however the network slices it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.sysmodel.lines import Cutter, Events, Lines, Overlong
from runtime.llm.sysmodel.replies import Characters


def fed(cutter: Cutter, *chunks: bytes) -> list[str]:
    found = [text for chunk in chunks for text in cutter.feed(chunk)]
    return found + cutter.end()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data:a\r\n\r\n", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b": ka\n\nevent: x\nid: 1\ndata: a\n\n", ["a"]),
        (b"data: a\n", ["a"]),
        (b"data: [DO", []),
        (b"<html><body>no stream</body></html>\n", []),
        (b"data: \xc3\xa9\n\n", ["é"]),
        (b"", []),
    ],
)
def test_events_are_the_data_of_a_stream(stream: bytes, events: list[str]) -> None:
    assert fed(Events(), stream) == events


def test_lines_skip_blank_ones_and_take_an_unclosed_last_one() -> None:
    assert fed(Lines(), b'{"a":1}\n\n  \r\n{"b":2}\r\n{"c":3}') == ['{"a":1}', '{"b":2}', '{"c":3}']


@given(st.lists(st.binary(max_size=12), max_size=12), st.sampled_from([Lines, Events]))
def test_the_slicing_of_the_network_changes_nothing(
    chunks: list[bytes], cutter: type[Lines] | type[Events]
) -> None:
    assert fed(cutter(), *chunks) == fed(cutter(), b"".join(chunks))


@pytest.mark.parametrize("cutter", [Lines, Events])
@pytest.mark.parametrize("chunks", [[b"x" * 101], [b"x"] * 101, [b"a\n" + b"x" * 101 + b"\n"]])
def test_a_line_over_the_cap_is_refused(
    cutter: type[Lines] | type[Events], chunks: list[bytes]
) -> None:
    with pytest.raises(Overlong):
        fed(cutter(100), *chunks)


def test_an_event_of_endless_short_lines_is_refused() -> None:
    with pytest.raises(Overlong):
        fed(Events(100), *[b"data: x\n"] * 60)


@given(st.text())
def test_halves_of_a_character_are_joined(text: str) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    halves = [
        units[n : n + 2].decode("utf-16-le", "surrogatepass") for n in range(0, len(units), 2)
    ]
    characters = Characters()

    pieces = [characters.feed(half) for half in halves]

    assert "".join(pieces) == text
    assert all(piece.encode() is not None for piece in pieces)


def test_half_a_character_alone_becomes_the_mark_for_damage() -> None:
    characters = Characters()

    assert characters.feed("a\ud83d") + characters.feed("b\ude00") == "a\ufffdb\ufffd"
