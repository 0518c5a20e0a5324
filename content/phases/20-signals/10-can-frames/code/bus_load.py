"""How much of the bus do 250 frames a second take?"""

DATA_BYTES = 8
FRAMES_PER_S = 250
# Start, identifier, control, checksum, acknowledge, end and gap: 47 bits.
PLAIN_BITS = 47 + 8 * DATA_BYTES
PLANNED_BITS = PLAIN_BITS * 1.1  # allow one stuff bit for ten others

print(f"one frame: {PLAIN_BITS} bits, about {PLANNED_BITS:.0f} with stuff bits")
for bitrate in (250_000, 500_000, 1_000_000):
    load = FRAMES_PER_S * PLANNED_BITS / bitrate
    frame_us = PLANNED_BITS / bitrate * 1e6
    print(f"{bitrate // 1000:5d} kbit/s: {frame_us:4.0f} us a frame, load {load:5.1%}")
