def debrief() -> list[str]:
    """Something to keep, one problem with a number, one focus with its test."""
    best = min(CORNERS, key=lambda corner: CORNERS[corner][0])
    gain_s, *_, habit, _ = CORNERS[best]
    clear = {c: row for c, row in CORNERS.items() if row[1] >= 0.10 and row[2] >= 2}
    worst = max(clear, key=lambda corner: clear[corner][1])
    _, loss_s, _, cause, cue = clear[worst]
    return [
        f"Keep: {best} is {-gain_s:.2f} s better, {habit}.",
        f"Problem: {worst} costs {loss_s:.2f} s a lap, {cause}.",
        f"Focus: {cue}. Done when {worst} costs less than {loss_s / 2:.2f} s.",
    ]


lines = debrief()
for line in lines:
    print(line)
print(f"({len(' '.join(lines).split())} words)")
