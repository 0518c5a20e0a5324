def distance_m(kmh: list[float]) -> list[float]:
    """Position on the lap at each sample: the trapezoid sum of speed."""
    position = [START_M]
    for before, after in pairwise(kmh):
        position.append(position[-1] + (before + after) / 2 / 3.6 * STEP_S)
    return position


def between(xs: list[float], ys: list[float], x: float) -> float:
    """Value of y at x by linear interpolation; xs must rise."""
    i = next(k for k in range(1, len(xs)) if xs[k] >= x)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + share * (ys[i] - ys[i - 1])


def report(name: str) -> str:
    """One table line: where braking starts and ends, how hard, and the time."""
    kmh, e = speed_kmh[name], brake_event(brake_bar[name])
    t_s = [i * STEP_S for i in range(len(kmh))]
    position = distance_m(kmh)
    v0, v1 = between(t_s, kmh, e.start_s), between(t_s, kmh, e.end_s)
    mean_g = (v0 - v1) / 3.6 / (e.end_s - e.start_s) / 9.81
    return (
        f"{name:>3} {between(t_s, position, e.start_s):8.1f}"
        f" {between(t_s, position, e.end_s):7.1f} {mean_g:7.2f}"
        f" {between(position, kmh, TURN_IN_M):13.1f}"
        f" {between(position, t_s, TURN_IN_M):12.2f}"
    )


HEADER = "lap  start m   end m  mean g  turn-in km/h  time to it s"
print(HEADER)
for name in ("A", "B"):
    print(report(name))
