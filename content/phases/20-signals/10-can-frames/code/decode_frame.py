"""Decode one frame by hand: four signed numbers of two bytes each."""

FRAME = "423#A901D5005700DDFF"  # identifier in hex, then the data bytes
SIGNALS = [
    ("steer_angle_deg", 0, 0.1),
    ("yaw_rate_degs", 2, 0.1),
    ("lateral_accel_g", 4, 0.01),
    ("inline_accel_g", 6, 0.01),
]

frame_id, _, payload = FRAME.partition("#")
data = bytes.fromhex(payload)
print(f"id 0x{frame_id}, {len(data)} bytes: {data.hex(' ')}")
print("signal           bytes     raw    value")
for name, first, scale in SIGNALS:
    two = data[first : first + 2]
    raw = int.from_bytes(two, "little", signed=True)
    print(f"{name:15}  {two.hex(' ')}  {raw:6d}  {raw * scale:7.2f}")
