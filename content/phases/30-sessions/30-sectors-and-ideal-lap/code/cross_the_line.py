"""Find when a car crosses a line that lies between two samples."""

from itertools import pairwise

# Time and signed distance to the start line, 10 Hz, two passages of one car.
FIRST_PASSAGE = [(12.10, -9.8), (12.20, -4.7), (12.30, 0.4), (12.40, 5.5)]
SECOND_PASSAGE = [(110.00, -7.5), (110.10, -2.4), (110.20, 2.7), (110.30, 7.8)]


def first_sample_after(samples: list[tuple[float, float]]) -> float:
    """Return the time of the first sample at or past the line."""
    return next(t_s for t_s, to_line_m in samples if to_line_m >= 0)


def crossing(samples: list[tuple[float, float]]) -> float:
    """Return the time at which the distance to the line passes zero."""
    for (t0_s, d0_m), (t1_s, d1_m) in pairwise(samples):
        if d0_m < 0 <= d1_m:
            return t0_s + (t1_s - t0_s) * -d0_m / (d1_m - d0_m)
    raise ValueError("the samples never cross the line")


print("method                 start_s    end_s    lap_s")
for name, rule in (("first sample after", first_sample_after), ("crossing", crossing)):
    start_s, end_s = rule(FIRST_PASSAGE), rule(SECOND_PASSAGE)
    print(f"{name:20}  {start_s:8.3f} {end_s:8.3f} {end_s - start_s:8.3f}")
