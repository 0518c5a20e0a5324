"""The same two bytes, read correctly and in three wrong ways."""

two = bytes.fromhex("DDFF")  # inline acceleration, scale 0.01 g

readings = [
    ("little-endian, signed", int.from_bytes(two, "little", signed=True), 0.01),
    ("little-endian, unsigned", int.from_bytes(two, "little"), 0.01),
    ("big-endian, signed", int.from_bytes(two, "big", signed=True), 0.01),
    ("right bytes, scale 0.1", int.from_bytes(two, "little", signed=True), 0.1),
]
for how, raw, scale in readings:
    print(f"{how:24} raw {raw:6d}  value {raw * scale:8.2f} g")
