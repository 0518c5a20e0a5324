"""Whether a repeated loss is worth a cue, or silence."""

from statistics import median

LEAST_S = 0.10  # below this the driver cannot feel the success
LEAST_SHARE = 0.75  # of the laps that must show the loss


def verdict(losses_s: list[float], signals: int) -> str:
    """What to do about a corner, from its loss on each clear lap."""
    usual_s = median(losses_s)
    share = sum(loss_s > LEAST_S / 2 for loss_s in losses_s) / len(losses_s)
    if usual_s < LEAST_S:
        return "silence: too small"
    if share < LEAST_SHARE:
        return "silence: not repeated"
    if signals < 2:
        return "silence: the cause is a guess"
    return "cue"


# loss against the driver's best pass on each clear lap in s, signals that show one cause
SESSION = {
    "T1": ([0.22, 0.26, 0.24, 0.19], 2),
    "T4": ([0.02, 0.61, 0.48, 0.03], 2),
    "T6": ([0.15, 0.18, 0.14, 0.17], 1),
    "T9": ([0.06, 0.05, 0.08, 0.04], 2),
}

for corner, (losses_s, signals) in SESSION.items():
    print(f"{corner}  usual {median(losses_s):.2f} s  {verdict(losses_s, signals)}")
