def overlap_m(p: Lap) -> int:
    """Metres in which brake pressure exceeds 10 bar while g_lat exceeds 0.1 g."""
    both = [b > 10 and g > 0.1 for b, g in zip(p.brake_bar, p.g_lat, strict=True)]
    return 5 * sum(both)


def trail_quality(p: Lap) -> float | None:
    """1 at the target pressure at the apex, 0 far from it, None without trail."""
    peak, apex_bar = max(p.brake_bar), p.brake_bar[position_m.index(APEX_M)]
    if peak < 10 or apex_bar < 1:
        return None
    target = max(0.10 * peak, 3)
    return max(0.0, 1 - abs(apex_bar - target) / max(0.20 * peak, 5))


print("lap       overlap m  weakest g   time s  quality")
for name, p in LAPS.items():
    quality = trail_quality(p)
    shown = "none" if quality is None else f"{quality:.2f}"
    low = weakest_g(p)[0]
    print(f"{name:9} {overlap_m(p):9} {low:10.2f} {time_s(p):8.2f} {shown:>8}")
