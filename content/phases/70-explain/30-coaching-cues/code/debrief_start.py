# Per corner: what changed against the last session in s a lap (below zero: better),
# the usual loss in s, how many signals show the cause, the cause and a cue for it.
CORNERS = {
    "T1": (
        0.02,
        0.23,
        2,
        "brakes 11 m late, throttle 14 m late",
        "Brake at the marshal post",
    ),
    "T2": (-0.18, 0.03, 2, "releases with the steering", ""),
    "T3": (0.05, 0.29, 1, "slower in all three parts", "Hold the speed to the apex"),
    "T5": (-0.04, 0.12, 2, "lifts once at the exit", "Open once, at the kerb"),
}

for corner, (_, loss_s, _, cause, _) in CORNERS.items():
    print(f"{corner}: you lose {loss_s:.2f} s, {cause}.")
