"""Whole columns hold the values to the bit that cantools gives frame by frame."""

import random
from collections.abc import Sequence
from pathlib import Path

import cantools
import numpy as np
import pytest
from cantools.database.can import Database, Message

from runtime.bridge.can.dbc import DbcError, load_dbc, parse_dbc
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.frames import to_batch

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "data"


Frame = tuple[float, int, bytes]


def decode(decoder: Decoder, rows: Sequence[Frame]) -> list[dict[str, float]]:
    frames: list[list[tuple[int, str, float]]] = [[] for _ in rows]
    for column in decoder.decode(to_batch(*zip(*rows, strict=True))):
        for row, value in zip(column.rows.tolist(), column.values.tolist(), strict=True):
            frames[row].append((column.place, column.name, value))
    return [{name: value for _, name, value in sorted(frame)} for frame in frames]


def decode_with_cantools(message: Message, data: bytes) -> dict[str, float] | None:
    try:
        values = message.decode(data, decode_choices=False, allow_truncated=True)
    except (cantools.Error, ValueError, OverflowError):
        return None  # cantools cannot tell; ours may
    return {name: float(value) for name, value in values.items()}  # type: ignore[union-attr,arg-type]


def compare(messages: dict[int, Message], seed: int, count: int) -> int:
    """How many values were equal; fails at the first that is not."""
    chance = random.Random(seed)
    compared = 0
    for key, message in messages.items():
        longest = 64 if message.length > 8 else 8
        rows = []
        for at in range(count):
            length = chance.randrange(longest + 1) if at % 4 == 0 else message.length
            rows.append((float(at), key, chance.randbytes(length)))
        decoded_rows = decode(Decoder(messages), rows)
        for (_, _, data), ours in zip(rows, decoded_rows, strict=True):
            expected = decode_with_cantools(message, data)
            if expected is None:
                continue
            assert list(ours) == list(expected), message.name
            both = np.array([list(ours.values()), list(expected.values())])
            assert np.array_equal(both[0], both[1], equal_nan=True), message.name
            compared += len(expected)
    return compared


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.dbc")), ids=lambda path: str(path.stem))
def test_real_databases_are_decoded_like_by_cantools(path: Path) -> None:
    try:
        pack = load_dbc(path)
    except DbcError:
        pytest.skip("cantools does not read this one")
    assert compare(dict(pack.messages), 2, 24) > 20


def generate(seed: int) -> str:
    """A database of messages with signals of every kind that do not overlap."""
    chance = random.Random(seed)
    lines = ['VERSION ""', "NS_ :", "BS_:", "BU_: X"]
    floats = []
    for number in range(12):
        width = chance.choice([1, 3, 8, 8, 8, 24, 64])
        lines.append(f"BO_ {256 + number} M{number}: {width} X")
        at, index = 0, 0
        big = chance.random() < 0.5
        while at < width * 8:
            bits = min(chance.choice([1, 3, 7, 8, 12, 16, 31, 32, 33, 57, 63, 64]), width * 8 - at)
            start = 8 * (at // 8) + 7 - at % 8 if big else at
            real = bits in (32, 64) and chance.random() < 0.4
            scale = chance.choice(["1", "0.1", "2", "-0.25", "1e-7", "1000003"])
            offset = chance.choice(["0", "-40", "0.5"])
            sign = "-" if real or chance.random() < 0.5 else "+"
            lines.append(
                f" SG_ S{number}_{index} : {start}|{bits}@{0 if big else 1}{sign} "
                f'({scale},{offset}) [0|0] "" X'
            )
            if real:
                floats.append(f"SIG_VALTYPE_ {256 + number} S{number}_{index} : {bits // 32};")
            at, index = at + bits + chance.choice([0, 0, 1, 5]), index + 1
    return "\n".join([*lines, "", *floats, ""])


@pytest.mark.parametrize("seed", range(4))
def test_generated_databases_are_decoded_like_by_cantools(seed: int) -> None:
    pack = parse_dbc(generate(seed).encode(), "generated.dbc")
    assert compare(dict(pack.messages), seed, 30) > 300


MULTIPLEXED = """VERSION ""
NS_ :
BS_:
BU_: X
BO_ 256 M: 8 X
 SG_ kind M : 0|2@1+ (1,0) [0|0] "" X
 SG_ always : 8|8@1- (0.5,1) [0|0] "" X
 SG_ a m0 : 16|16@1+ (1,0) [0|0] "" X
 SG_ b m1 : 16|8@1+ (1,0) [0|0] "" X
 SG_ b2 m1 : 24|16@1+ (0.1,0) [0|0] "" X
"""


def test_multiplexed_values_are_there_only_where_they_were_sent() -> None:
    database = cantools.database.load_string(MULTIPLEXED, "dbc")
    assert isinstance(database, Database)
    messages = {256: database.messages[0]}
    assert compare(messages, 4, 100) > 100
    decoder = Decoder(messages)
    rows = [(0.0, 256, bytes([kind, 8, 1, 2, 3, 0, 0, 0])) for kind in (0, 1, 3)]
    assert [set(row) for row in decode(decoder, rows)] == [
        {"kind", "always", "a"},
        {"kind", "always", "b", "b2"},
        {"kind", "always"},
    ]
    assert decoder.unknown_multiplexer == 1


def test_unknown_and_short_frames_are_counted() -> None:
    pack = load_dbc(ROOT / "data" / "dbc" / "paddock-dash.dbc")
    decoder = Decoder(pack.messages)
    rows = [(0.0, 0x7FF, b"1"), (0.1, 0x420, b"12345678"), (0.2, 0x420, b"12"), (0.3, 0x7FF, b"")]
    assert [set(row) for row in decode(decoder, rows)] == [
        set(),
        {"rpm", "speed_mph", "gear", "water_temp_f"},
        {"rpm"},
        set(),
    ]
    assert decoder.unknown == {0x7FF: 2}
    assert (decoder.decoded, decoder.truncated) == (2, 1)
