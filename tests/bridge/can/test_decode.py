"""From payloads to signals: the same values as cantools gives."""

import logging
import math
import random
from pathlib import Path

import pytest
from cantools import Error as CantoolsError

from runtime.bridge.can.carfile import parse_car
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.dbc import load_dbc, parse_dbc
from runtime.bridge.can.decode import Decoder, known_messages
from runtime.bridge.can.pipeline import compile_plan
from runtime.bridge.can.statistics import Known
from runtime.bridge.can.values import CanFrame

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data"
SHARED = ROOT.parent / "shared" / "data"
ODD = b"""VERSION ""
BU_: X
BO_ 256 MOTOROLA: 8 X
 SG_ a : 7|12@0- (0.5,-3) [0|0] "" X
 SG_ b : 11|20@0+ (1,0) [0|0] "" X
BO_ 257 MIXED: 8 X
 SG_ c : 7|16@0- (2,10) [0|0] "" X
 SG_ d : 16|16@1- (0.25,0) [0|0] "" X
 SG_ e : 32|32@1- (1,0) [0|0] "" X
BO_ 258 SWITCH: 8 X
 SG_ m M : 0|8@1+ (1,0) [0|0] "" X
 SG_ f m0 : 8|16@1+ (1,0) [0|0] "" X
 SG_ g m1 : 8|16@1- (0.1,0) [0|0] "" X
BO_ 2147484160 LONG: 64 X
 SG_ h : 0|64@1+ (1,0) [0|0] "" X
 SG_ i : 448|64@1- (3,1) [0|0] "" X
 SG_ j : 100|7@1- (0.001,0) [0|0] "" X
SIG_VALTYPE_ 257 e : 1;
VAL_ 256 b 0 "zero" 1 "one" ;
"""


def packs() -> list[Path | bytes]:
    shared = ["opendbc-vw_mqb.dbc", "cantools-multiplex_2.dbc", "moteclog-sample_can_spec.dbc"]
    return [ODD, DATA / "dbc" / "paddock-dash.dbc", *(SHARED / name for name in shared)]


@pytest.mark.parametrize("pack", packs(), ids=lambda pack: getattr(pack, "name", "odd"))
def test_values_are_those_of_cantools(pack: Path | bytes, caplog: pytest.LogCaptureFixture) -> None:
    if isinstance(pack, Path) and not pack.exists():
        pytest.skip("the folder of files of others is not there")
    caplog.set_level(logging.CRITICAL)
    messages = (load_dbc(pack) if isinstance(pack, Path) else parse_dbc(pack, "odd")).messages
    decoder = Decoder(messages)
    chance = random.Random(1)
    compared = refused = 0
    for key, message in messages.items():
        for n in range(40):
            length = message.length if n % 4 else chance.randrange(message.length + 3)
            frame = CanFrame(0.0, key, chance.randbytes(length))
            try:
                expected = message.decode(frame.data, decode_choices=False, allow_truncated=True)
            except CantoolsError:
                assert decoder.decode(frame) == {}
                refused += 1
                continue
            assert isinstance(expected, dict)
            finite = {
                name: float(value)
                for name, value in expected.items()
                if isinstance(value, int | float) and math.isfinite(value)
            }
            assert decoder.decode(frame) == finite
            compared += len(finite)
    assert compared > 0
    assert decoder.failed == refused


def test_the_frames_of_a_real_car_decode_without_fault() -> None:
    log = SHARED / "moteclog-can_sample.head5000.log"
    if not log.exists():
        pytest.skip("the folder of files of others is not there")
    decoder = Decoder(load_dbc(SHARED / "moteclog-sample_can_spec.dbc").messages)
    values = unknown = 0
    for line in log.read_text().splitlines():
        stamp, _, text = line.split()
        number, data = text.split("#")
        found = decoder.decode(CanFrame(float(stamp[1:-1]), int(number, 16), bytes.fromhex(data)))
        values += len(found or {})
        unknown += found is None
    assert values > 1000
    assert unknown > 1000
    assert decoder.failed == 0


def test_an_id_without_a_message_is_told_from_a_frame_without_values() -> None:
    decoder = Decoder(parse_dbc(ODD, "odd").messages)
    assert decoder.decode(CanFrame(0.0, 0x123, bytes(8))) is None
    assert decoder.decode(CanFrame(0.0, 256 | 1 << 31, bytes(8))) is None  # same number, 29 bits
    assert decoder.decode(CanFrame(0.0, 256, b"")) == {}


def test_an_unknown_multiplexer_value_is_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    decoder = Decoder(parse_dbc(ODD, "odd").messages)
    for _ in range(5):
        assert decoder.decode(CanFrame(0.0, 258, b"\x07" + bytes(7))) == {}
    assert decoder.decode(CanFrame(0.0, 258, b"\x01\x0a" + bytes(6))) == {"m": 1.0, "g": 1.0}
    assert decoder.failures == {258: 5}
    assert len(caplog.records) == 1


def test_the_car_file_turns_bus_signals_into_those_of_the_car() -> None:
    messages = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages
    decoder = Decoder(messages, load_car(DATA / "cars" / "oberling-vesper-30.yaml").plan)
    raw = {"steer_angle_deg": 30, "yaw_rate_degs": 1, "lateral_accel_g": 0.5, "inline_accel_g": 0}
    found = decoder.decode(CanFrame(0.0, 0x423, messages[0x423].encode(raw)))
    assert found is not None
    assert found["steering_deg"] == pytest.approx(-30.0)  # that car's sensor counts to the left
    assert found["g_lat"] == pytest.approx(0.5)


def test_a_reset_forgets_the_values_of_the_drive_before() -> None:
    car = b"car: {make: M}\nderived: {s: {formula: a + m, bind: {a: a, m: m}}}\n"
    decoder = Decoder(parse_dbc(ODD, "odd").messages, compile_plan(parse_car(car)))
    decoder.decode(CanFrame(0.0, 256, bytes(8)))
    assert "s" in (decoder.decode(CanFrame(0.0, 258, bytes(8))) or {})
    decoder.reset()
    assert "s" not in (decoder.decode(CanFrame(0.0, 258, bytes(8))) or {})


def test_frames_that_bring_nothing_leave_no_trace() -> None:
    decoder = Decoder(parse_dbc(ODD, "odd").messages)
    frames = [CanFrame(1.0, 0x99, b"1"), CanFrame(2.0, 258, bytes(8)), CanFrame(3.0, 258, b"\xff")]
    (stamped,) = [stamped for stamped in decoder.decode_all(frames) if stamped.t == 2.0]
    assert stamped.signals == {"m": 0.0, "f": 0.0}


def test_expected_rates_come_of_the_car_file_else_of_the_dbc() -> None:
    messages = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages
    known = known_messages(messages, {0x420: 12.5})
    assert known[0x420] == Known("DASH_ENGINE", 12.5)
    assert known[0x421] == Known("DASH_OIL_WATER", 50.0)
    assert known[0x453] == Known("DASH_TIRE_PRESSURES", None)
