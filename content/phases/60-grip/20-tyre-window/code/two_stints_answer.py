def change(early: dict[str, float], late: dict[str, float], channel: str) -> float:
    """Relative change of a channel from the early laps to the late ones."""
    return late[channel] / early[channel] - 1


for name, (early, late) in STINTS.items():
    asks_as_much = change(early, late, "peak") > -0.05
    needs_more_lock = change(early, late, "lock") > 0.05
    hotter = late["hot"] - early["hot"] > 0.05
    if asks_as_much and needs_more_lock and hotter:
        verdict = "overheated tyre"
    elif not asks_as_much and not needs_more_lock and not hotter:
        verdict = "driver has slowed down"
    else:
        verdict = "not clear, look at the laps"
    changes = ", ".join(f"{c} {change(early, late, c):+.0%}" for c in early)
    print(f"{name}: {verdict} ({changes})")
