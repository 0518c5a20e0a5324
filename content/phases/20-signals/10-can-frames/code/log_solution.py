"""Solution: a small signal table, bit extraction, and the braking event."""

from typing import NamedTuple

LOG = """\
3.000 420#EA1A9E0300007007 3.001 422#0000102700000400 3.002 423#0600020001001300
3.021 422#00000A0F00000200 3.041 422#740000000100F5FF 3.047 7DF#02010D0000000000
3.061 422#D00100000100D0FF 3.062 423#FCFFFFFF0000E1FF 3.081 422#F20200000100D9FF
3.100 420#B61A970300007007 3.101 422#000300000100F9FF 3.102 423#02000100FFFFA2FF
"""


class Signal(NamedTuple):
    """Where a little-endian number lies in the frame, and what one step means."""

    name: str
    start_bit: int
    bits: int
    signed: bool
    scale: float

    def value(self, data: bytes) -> float:
        """Physical value of this signal in *data*."""
        raw = int.from_bytes(data, "little") >> self.start_bit & (1 << self.bits) - 1
        if self.signed and raw >> (self.bits - 1):
            raw -= 1 << self.bits
        return raw * self.scale


SIGNALS = {
    0x420: [Signal("speed_kmh", 16, 16, False, 0.1 * 1.609344)],
    0x422: [
        Signal("brake_bar", 0, 16, False, 0.0689476),
        Signal("throttle_pct", 16, 16, False, 0.01),
    ],
    0x423: [Signal("long_g", 48, 16, True, 0.01)],
}

words = LOG.split()
for stamp, frame in zip(words[::2], words[1::2], strict=True):
    frame_id, data = int(frame[:3], 16), bytes.fromhex(frame[4:])
    known = SIGNALS.get(frame_id, [])
    texts = [f"{s.name} {s.value(data):6.2f}" for s in known] or ["unknown identifier"]
    print(f"{stamp}  0x{frame_id:03X}  {'  '.join(texts)}")
