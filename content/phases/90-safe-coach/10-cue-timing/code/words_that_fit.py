"""Words that fit between a 250 m window and the brake point of four corners."""

WINDOW_M = 250.0
# approach speed in km/h, brake point in m before the corner entry
CORNERS = {"T1": (190, 130), "T4": (170, 40), "T6": (120, 60), "T9": (100, 45)}


def words_that_fit(seconds: float, chain_s: float) -> int:
    """Whole words that can be spoken and acted on in the given time."""
    return max(0, int((seconds - chain_s - ACT_S) / WORD_S))


print("corner  window_s  by_position  by_1s_burst  4_words_need")
for name, (speed_kmh, brake_m) in CORNERS.items():
    speed_ms = speed_kmh / 3.6
    window_s = (WINDOW_M - brake_m) / speed_ms
    fits = [words_that_fit(window_s, chain_s) for chain_s in (CHAIN_S, CHAIN_S + 1)]
    need_m = brake_m + lead_s(4) * speed_ms
    print(f"{name:6}  {window_s:8.1f}  {fits[0]:11}  {fits[1]:11}  {need_m:10.0f} m")
