"""How much of a short brake stab does a logger see at different rates?"""

PEAK_BAR = 60.0
RISE_S = 0.15  # straight up in 0.15 s, straight down in 0.15 s
SPEED_MS = 150 / 3.6


def stab_bar(t_s: float) -> float:
    """Brake pressure of a triangular stab whose peak is at t = 0."""
    return max(0.0, PEAK_BAR * (1 - abs(t_s) / RISE_S))


print(" Hz  step_ms  m_per_sample  samples  worst_peak_bar")
for rate_hz in (5, 10, 20, 50, 100):
    step_s = 1 / rate_hz
    inside = 2 * RISE_S * rate_hz
    # Worst case: the peak lies exactly between two samples.
    worst_bar = stab_bar(step_s / 2)
    print(
        f"{rate_hz:3d}  {step_s * 1000:7.0f}  {SPEED_MS * step_s:12.2f}"
        f"  {inside:7.1f}  {worst_bar:14.0f}"
    )
