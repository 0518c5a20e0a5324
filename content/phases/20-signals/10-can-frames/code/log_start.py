"""Starter: split a short log into time, identifier and data bytes."""

from collections import Counter

LOG = """\
(3.000) can0 420#EA1A9E0300007007
(3.001) can0 422#0000102700000400
(3.002) can0 423#0600020001001300
(3.021) can0 422#00000A0F00000200
(3.041) can0 422#740000000100F5FF
(3.047) can0 7DF#02010D0000000000
(3.061) can0 422#D00100000100D0FF
(3.062) can0 423#FCFFFFFF0000E1FF
(3.081) can0 422#F20200000100D9FF
(3.100) can0 420#B61A970300007007
(3.101) can0 422#000300000100F9FF
(3.102) can0 423#02000100FFFFA2FF
"""


def frames(log: str) -> list[tuple[float, int, bytes]]:
    """Time in s, identifier and data of every line."""
    found: list[tuple[float, int, bytes]] = []
    for line in log.splitlines():
        stamp, _bus, frame = line.split()
        identifier, _, payload = frame.partition("#")
        t_s = float(stamp.strip("()"))
        found.append((t_s, int(identifier, 16), bytes.fromhex(payload)))
    return found


for frame_id, count in sorted(Counter(f[1] for f in frames(LOG)).items()):
    print(f"0x{frame_id:03X}  {count} frames")
