"""Writes the review of a session as Markdown."""

from laps import Lap
from sectors import ideal_lap, largest_loss
from session_file import Session


def lap_clock(seconds: float) -> str:
    """A time as minutes:seconds with three decimals, for example 1:05.250."""
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    return f"{minutes}:{rest / 1000:06.3f}"


def report(session: Session, laps: list[Lap], table: list[list[float]]) -> str:
    """The report; says so when the session holds no complete lap."""
    rows = f"{len(session.samples):,} rows used, {session.dropped} dropped."
    if not laps:
        return f"# Lap review\n\n{rows} No complete lap.\n"
    sectors = [f"S{i}" for i in range(1, len(table[0]) + 1)]
    lines = ["# Lap review", "", f"{rows} {len(laps)} complete laps.", ""]
    lines.append("| Lap | Time | " + " | ".join(sectors) + " |")
    lines.append("|---" * (len(sectors) + 2) + "|")
    for lap, times in zip(laps, table, strict=True):
        cells = " | ".join(f"{time:.3f}" for time in times)
        lines.append(f"| {lap.number} | {lap_clock(lap.time_s)} | {cells} |")
    ideal = ideal_lap(table)
    sources = ", ".join(str(laps[n - 1].number) for n in ideal.lap_numbers)
    lines += ["", f"Ideal lap {lap_clock(ideal.time_s)}, sectors from laps {sources}."]
    loss = largest_loss(table)
    lines += [
        "",
        f"Largest repeatable loss: sector {loss.sector}, {loss.seconds:.3f} s "
        f"(median of {len(laps)} laps against its best).",
    ]
    return "\n".join(lines) + "\n"
