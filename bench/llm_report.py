"""Turns the measured figures of the language-model servers into tables and a verdict; pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.llm_figures import Left, Pace, Probes, Speed, Start, TurnTimes
from bench.llm_models import TINY
from bench.llm_peers import DEFAULTS, LLAMA_SERVER, OURS

NOISE: Final = 0.97
"""A ratio of speeds above this is a tie on a shared machine."""


@dataclass
class Figures:
    """Everything that was measured; by shape and server where several were."""

    speeds: dict[str, dict[str, list[Speed]]] = field(default_factory=dict)
    shared: dict[str, dict[str, list[Speed]]] = field(default_factory=dict)
    floor: list[Pace] = field(default_factory=list)
    turns: dict[str, dict[str, list[TurnTimes]]] = field(default_factory=dict)
    left: dict[str, dict[str, list[Left]]] = field(default_factory=dict)
    probes: dict[str, Probes] = field(default_factory=dict)
    starts: dict[str, list[Start]] = field(default_factory=dict)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least *share* of the values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("no values")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column but the first holds numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def speed_table(shape: str, found: Mapping[str, Sequence[Speed]]) -> str:
    """Tokens a second and processor time of a token, each server beside ours."""
    head = [
        *(f"{shape}: streaming", "tok/s best", "tok/s median", "CPU ms/token best"),
        *("first text ms", "ours / theirs, best", "ours / theirs, CPU"),
    ]
    ours = found.get(OURS)
    rows = []
    for name, samples in found.items():
        if not samples:
            rows.append([name, *["failed"] * 6])
            continue
        wall, cpu = [s.token_ms for s in samples], min(s.cpu_ms for s in samples)
        ratios = ["", ""]
        if ours:
            ratios[0] = f"{min(wall) / min(s.token_ms for s in ours):.2f}"
            ratios[1] = f"{min(s.cpu_ms for s in ours) / cpu:.2f}"
        rows.append(
            [
                *(name, f"{1e3 / min(wall):,.1f}", f"{1e3 / statistics.median(wall):,.1f}"),
                *(f"{cpu:.3f}", f"{min(s.first_ms for s in samples):.1f}", *ratios),
            ]
        )
    return table(head, rows)


def floor_table(shape: str, floor: Sequence[Pace], found: Mapping[str, Sequence[Speed]]) -> str:
    """What a server adds to a token over the plain loop."""
    head = [
        *(f"{shape}: a token", "wall ms best", "CPU ms best"),
        *("over the loop, wall us", "over the loop, CPU us"),
    ]
    wall, cpu = min(p.wall_ms for p in floor), min(p.cpu_ms for p in floor)
    rows = [["plain loop", f"{wall:.3f}", f"{cpu:.3f}", "", ""]]
    for name, samples in found.items():
        if samples and not name.endswith(DEFAULTS):
            own = min(s.token_ms for s in samples), min(s.cpu_ms for s in samples)
            more = [f"{(own[0] - wall) * 1e3:.0f}", f"{(own[1] - cpu) * 1e3:.0f}"]
            rows.append([name, f"{own[0]:.3f}", f"{own[1]:.3f}", *more])
    return table(head, rows)


def turns_table(shape: str, found: Mapping[str, Sequence[TurnTimes]]) -> str:
    """Time to the first text of turn 10, kept and whole."""
    head = [
        *(f"{shape}: first text of turn 10", "conversation kept, ms", "sent anew, ms"),
        *("anew / kept", "cached tokens"),
    ]
    rows = []
    for name, times in found.items():
        if times:
            kept = statistics.median(t.kept_ms for t in times)
            whole = statistics.median(t.whole_ms for t in times)
            ratio = f"{whole / kept:.1f}"
            rows.append([name, f"{kept:.0f}", f"{whole:.0f}", ratio, f"{times[0].cached}"])
    return table(head, rows)


def left_table(shape: str, found: Mapping[str, Sequence[Left]]) -> str:
    """First text of the request after a client left during prefill."""
    head = [
        *(f"{shape}: a client left in prefill", "first text idle, ms", "then, ms best"),
        *("median", "theirs / ours"),
    ]
    ours = found.get(OURS)
    rows = []
    for name, times in found.items():
        if times:
            after = [t.after_ms for t in times]
            middle = statistics.median(after)
            ratio = f"{middle / statistics.median(t.after_ms for t in ours):.1f}" if ours else ""
            idle = min(t.idle_ms for t in times)
            rows.append([name, f"{idle:.0f}", f"{min(after):.0f}", f"{middle:.0f}", ratio])
    return table(head, rows)


def probes_table(found: Mapping[str, Probes]) -> str:
    """Health route beside open streams."""
    head = ["/health beside 64 streams", "p50 ms", "p99 ms", "answered", "failed", "p99 / ours"]
    ours = found.get(OURS)
    rows = []
    for name, (times, failed, _) in found.items():
        cells = ["", ""]
        ratio = ""
        if times:
            cells = [f"{percentile(times, 0.5):.2f}", f"{percentile(times, 0.99):.2f}"]
            if ours and ours.times_ms:
                ratio = f"{percentile(times, 0.99) / percentile(ours.times_ms, 0.99):.2f}"
        rows.append([name, *cells, f"{len(times)}", f"{failed}", ratio])
    return table(head, rows)


def starts_table(shape: str, found: Mapping[str, Sequence[Start]]) -> str:
    """Start, first answer, memory; best times, and the memory of the first start."""
    head = [
        *(f"{shape}: start", "ready s", "first text s", "MB when ready, RSS", "PSS"),
        *("MB after a reply, RSS", "PSS", "PSS / ours"),
    ]
    ours = found.get(OURS)
    rows = []
    for name, starts in found.items():
        if not starts:
            continue
        ready = min(s.ready_s for s in starts)
        first = min(s.first_text_s for s in starts)
        alone, loaded = starts[0].alone, starts[0].loaded
        ratio = f"{loaded.proportional / ours[0].loaded.proportional:.2f}" if ours else ""
        memory = [alone.resident, alone.proportional, loaded.resident, loaded.proportional]
        rows.append([name, f"{ready:.2f}", f"{first:.2f}", *(f"{mb:.0f}" for mb in memory), ratio])
    return table(head, rows)


def verdicts(figures: Figures) -> list[str]:
    """One line for each figure that has a goal and was measured: whether it is met."""
    return [
        *_speed_verdicts(figures.speeds),
        *_shared_verdicts(figures.shared),
        *_floor_verdict(figures),
        *_turns_verdicts(figures.turns),
        *_left_verdicts(figures.left),
        *_probes_verdict(figures.probes),
    ]


def _line(what: str, measured: str, *, met: bool) -> str:
    return f"- {'met' if met else 'NOT MET'}: {what}: {measured}"


def _speed_verdicts(speeds: Mapping[str, Mapping[str, Sequence[Speed]]]) -> list[str]:
    lines = []
    for shape, found in speeds.items():
        ours, peer = found.get(OURS), found.get(LLAMA_SERVER)
        if ours and peer and shape in ("125m", "500m"):
            ratio = min(s.token_ms for s in peer) / min(s.token_ms for s in ours)
            what = f"{shape}: tokens/s at least llama-server's, within noise"
            lines.append(_line(what, f"{ratio:.2f} of it", met=ratio >= NOISE))
    return lines


def _shared_verdicts(speeds: Mapping[str, Mapping[str, Sequence[Speed]]]) -> list[str]:
    lines = []
    for shape, found in speeds.items():
        ours, untuned = found.get(OURS + DEFAULTS), found.get(LLAMA_SERVER + DEFAULTS)
        if ours and untuned:
            middle = statistics.median(s.token_ms for s in untuned)
            ratio = middle / statistics.median(s.token_ms for s in ours)
            what = (
                f"{shape}: on shared cores 10 times the median of llama-server, both as installed"
            )
            lines.append(_line(what, f"{ratio:.1f} times", met=ratio >= 10))
    return lines


def _floor_verdict(figures: Figures) -> list[str]:
    ours = figures.speeds.get("5m", {}).get(OURS)
    if not ours or not figures.floor:
        return []
    wall = min(s.token_ms for s in ours) - min(p.wall_ms for p in figures.floor)
    cpu = min(s.cpu_ms for s in ours) - min(p.cpu_ms for p in figures.floor)
    what = "5m: under 60 us a token over the plain loop"
    return [_line(what, f"{wall * 1e3:.0f} us, of CPU {cpu * 1e3:.0f} us", met=wall < 0.060)]


def _turns_verdicts(turns: Mapping[str, Mapping[str, Sequence[TurnTimes]]]) -> list[str]:
    lines = []
    for shape, found in turns.items():
        if (times := found.get(OURS)) and shape != TINY.name:
            kept = statistics.median(t.kept_ms for t in times)
            ratio = statistics.median(t.whole_ms for t in times) / kept
            what = f"{shape}: first text of turn 10 at most 1/8 of stateless"
            lines.append(_line(what, f"1/{ratio:.1f}", met=ratio >= 8))
    return lines


def _left_verdicts(left: Mapping[str, Mapping[str, Sequence[Left]]]) -> list[str]:
    lines = []
    for shape, found in left.items():
        if (times := found.get(OURS)) and shape != TINY.name:
            what = f"{shape}: next first text within 100 ms after a client left in prefill"
            middle = statistics.median(t.after_ms for t in times)
            idle = min(t.idle_ms for t in times)
            lines.append(_line(what, f"{middle:.0f} ms, idle {idle:.0f} ms", met=middle <= 100))
    return lines


def _probes_verdict(probes: Mapping[str, Probes]) -> list[str]:
    if OURS not in probes:
        return []
    times, failed, _ = probes[OURS]
    worst = percentile(times, 0.99) if times else math.inf
    what = "/health p99 under 5 ms beside 64 streams"
    return [_line(what, f"{worst:.2f} ms, {failed} failed", met=worst < 5 and not failed)]
