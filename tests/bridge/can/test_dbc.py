"""CAN databases: the one that is shipped, real ones, broken ones."""

from pathlib import Path

import cantools
import pytest
from cantools.database.can import Database

from runtime.bridge.can.dbc import (
    DbcError,
    load_dbc,
    merge_messages,
    parse_dbc,
)
from runtime.bridge.can.frames import EXTENDED


@pytest.fixture
def path(root: Path) -> Path:
    return root / "data" / "dbc" / "paddock-dash.dbc"


@pytest.fixture
def real(root: Path) -> Path:
    folder = root.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the collection of real files is not beside the project")
    return folder


def test_the_shipped_pack_is_valid_by_the_strictest_reading(path: Path) -> None:
    database = cantools.database.load_file(path, strict=True)
    assert isinstance(database, Database)
    assert len(database.messages) == 12
    sent = [message for message in database.messages if message.cycle_time]
    assert [message.frame_id for message in sent] == [*range(0x420, 0x425), 0x450, 0x451, 0x452]
    assert sum(len(message.signals) for message in sent) == 29
    assert sum(1000 / (message.cycle_time or 1) for message in sent) == 10 + 4 * 50 + 2 * 10 + 20
    for message in database.messages:
        assert (message.length, message.is_extended_frame) == (8, False)
        assert message.comment
        assert all(signal.byte_order == "little_endian" for signal in message.signals)


def test_real_packs_load_or_are_refused_with_a_line(real: Path) -> None:
    packs, refused = {}, {}
    for path in sorted(real.glob("*.dbc")):
        try:
            packs[path.name] = load_dbc(path)
        except DbcError as error:
            refused[path.name] = str(error).split(":")[1]
    assert {name: len(pack.messages) for name, pack in packs.items()} == {
        "cantools-multiplex_2.dbc": 4,
        "moteclog-sample_can_spec.dbc": 8,
        "opendbc-vw_mqb.dbc": 113,
    }
    assert refused == {"opendbc-chrysler_cusw.dbc": "182", "opendbc-mazda_2017.dbc": "273"}


ONE = 'VERSION ""\nBU_: A\nBO_ {id} {name}: 8 A\n SG_ s : 0|8@1+ (1,0) [0|0] "" A\n'


def test_a_later_pack_wins_and_wide_ids_stand_apart(tmp_path: Path) -> None:
    for name, id_ in (("one", 5), ("two", 5), ("wide", 5 | EXTENDED)):
        (tmp_path / f"{name}.dbc").write_text(ONE.format(id=id_, name=name))
    messages = merge_messages(load_dbc(tmp_path / f"{name}.dbc") for name in ("one", "two", "wide"))
    assert messages[5].name == "two"
    assert messages[5 | EXTENDED].name == "wide"
    with pytest.raises(DbcError, match=r"missing\.dbc"):
        load_dbc(tmp_path / "missing.dbc")


HEAD = 'VERSION ""\nBU_: A\n'
LYING = [
    (HEAD + 'BO_ 1 M: 8 A\n SG_ s : 0|300000000@1+ (1,0) [0|0] "" A\n', 4),
    (HEAD + 'BO_ 1 M: 8 A\n SG_ s : 300000000|8@1+ (1,0) [0|0] "" A\n', 4),
    (HEAD + "BO_ 1 M: 300000000 A\n", 3),
    (HEAD + ONE.format(id=1, name="M")[len(HEAD) :] + "SG_MUL_VAL_ 1 s a 1-2000000000;\n", 5),
    (HEAD + ONE.format(id=3000, name="M")[len(HEAD) :], 3),
    (HEAD + ONE.format(id=1, name="2M")[len(HEAD) :], 3),
    (HEAD + ONE.format(id=1, name="M")[len(HEAD) :] + 'BA_ "Unknown" 3;\n', 5),
]


@pytest.mark.parametrize(("text", "line"), LYING)
def test_a_bad_line_is_named_at_once(text: str, line: int) -> None:
    with pytest.raises(DbcError) as caught:
        parse_dbc(text.encode(), "bad.dbc")
    assert str(caught.value).startswith(f"bad.dbc:{line}: ")


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 100, HEAD.encode(), b"#" * ((8 << 20) + 1), b"BO_ 1 a: 8 A\n" * 5001]
)
def test_what_is_no_pack_is_refused(data: bytes) -> None:
    with pytest.raises(DbcError):
        parse_dbc(data, "bad.dbc")


def test_a_message_for_transport_protocols_is_left_out() -> None:
    text = HEAD + "BO_ 1 LONG: 1785 A\n" + ONE.format(id=2, name="M")[len(HEAD) :]
    assert list(parse_dbc(text.encode(), "j.dbc").messages) == [2]


def test_comments_in_the_windows_alphabet_are_read() -> None:
    text = ONE.format(id=1, name="M") + 'CM_ SG_ 1 s "Öltemperatur in °C";\n'
    for encoding in ("cp1252", "utf-8"):
        signal = parse_dbc(text.encode(encoding), "x.dbc").messages[1].signals[0]
        assert signal.comment == "Öltemperatur in °C"
