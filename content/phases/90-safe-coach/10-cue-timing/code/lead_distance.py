"""Distance before the action point at which a spoken cue must be triggered."""

WORD_S = 0.35  # about 170 words a minute
CHAIN_S = 0.3  # from the position sample to the first sound
ACT_S = 1.0  # from the last word to the foot on the pedal


def lead_s(words: int, chain_s: float = CHAIN_S) -> float:
    """Time from the trigger to the driver's action."""
    return chain_s + words * WORD_S + ACT_S


speeds_kmh = (80, 120, 160, 200)
print("words  lead_s" + "".join(f"  {kmh:3} km/h" for kmh in speeds_kmh))
for words in (1, 2, 4, 6, 8):
    row = "".join(f"  {lead_s(words) * kmh / 3.6:6.0f} m" for kmh in speeds_kmh)
    print(f"{words:5}  {lead_s(words):6.2f}{row}")
