from statistics import mean, stdev
from typing import NamedTuple


class Pass(NamedTuple):
    """One braking event; positions in metres along the lap."""

    start_m: float  # brake rises through 5 bar
    end_m: float  # brake falls below 2 bar
    end_kmh: float  # speed at end_m
    power_m: float  # throttle rises through 5 %


def nothing_s(p: Pass) -> float:
    """Time on neither pedal, at the speed of the end of braking."""
    return (p.power_m - p.end_m) / (p.end_kmh / 3.6)


turn_7 = [
    Pass(2079.0, 2179.7, 84.0, 2197.0),
    Pass(2080.5, 2175.2, 83.0, 2196.5),
    Pass(2078.0, 2177.7, 84.0, 2198.0),
    Pass(2079.5, 2183.2, 85.0, 2197.5),
    Pass(2080.0, 2173.2, 82.5, 2198.5),
    Pass(2078.5, 2176.5, 83.5, 2197.0),
    Pass(2080.0, 2182.6, 85.0, 2196.0),
    Pass(2079.0, 2175.1, 83.5, 2197.5),
]

print("lap  start m   end m  end km/h  power m  nothing s")
for number, p in enumerate(turn_7, start=1):
    print(
        f"{number:3} {p.start_m:8.1f} {p.end_m:7.1f} {p.end_kmh:9.1f}"
        f" {p.power_m:8.1f} {nothing_s(p):10.2f}"
    )
print(f"spread of start   {stdev(p.start_m for p in turn_7):.1f} m")
print(f"spread of end     {stdev(p.end_m for p in turn_7):.1f} m")
print(f"mean nothing time {mean(nothing_s(p) for p in turn_7):.2f} s")
