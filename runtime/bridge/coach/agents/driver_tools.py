"""What is known of a driver, a circuit and the day; and what the answering itself took."""

from collections.abc import Sequence
from statistics import median
from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.driver import DriverSession, progress, steps
from runtime.bridge.analysis.grip import slip_bands
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined
from runtime.bridge.session.ranking import time_text
from runtime.bridge.storage.coaching import TraceRow
from runtime.bridge.track.model import Corner, DangerZone, Track, inside, phase_at

SAME_S: Final = 0.0005
LINES: Final = 8
"""Phrases of a script at most."""
USUAL_LAPS: Final = 12
LONG_RUN: Final = 8
MANY_CORRECTIONS: Final = 2.0
"""Changes of the steering's side in one pass, from which on a car is called unsettled."""

NO_STATION: Final = (
    "The bridge has no weather station, so it cannot tell whether it rains or how wet the surface"
    " is: trust your eyes, the marshals and the flags."
)
WET_HINT: Final = (
    "In the wet or in fog come up to your pace in small steps, with a margin everywhere, and come"
    " in if you cannot see or hold the car."
)


def progress_report(driver_id: str, driven: Sequence[DriverSession]) -> Found:
    """How the best laps of a driver developed over the sessions."""
    ordered = [one for one in steps(driven) if one.best_s is not None]
    found = progress(driven)
    if found is None or not ordered:
        who = driver_id or "this driver"
        return Found("progress_report", f"No session of {who} has a complete lap yet.", empty=True)
    facts = [
        Fact("sessions with a lap", len(ordered)),
        Fact("best lap of the first session", found.first_s, "lap"),
        Fact("best lap of the latest session", found.latest_s, "lap"),
        Fact("best lap ever", found.best_s, "lap"),
        *(Fact(f"session {one.index}, best lap", one.best_s or 0.0, "lap") for one in ordered[-6:]),
    ]
    if len(ordered) == 1:
        text = f"There is one session so far, with a best lap of {time_text(found.best_s)}."
        return Found("progress_report", text, facts=tuple(facts))
    gain = found.first_s - found.latest_s
    change = (
        "level with the first"
        if abs(gain) < SAME_S
        else f"{abs(gain):.3f} s {'faster' if gain > 0 else 'slower'} than in the first"
    )
    facts.append(Fact("first best lap less latest", gain, "s", 3))
    summary = f"Over {len(ordered)} sessions your latest best lap is {change}."
    details = [f"It went from {time_text(found.first_s)} to {time_text(found.latest_s)}."]
    if found.latest_s - found.best_s > SAME_S:
        details.append(f"Your best ever is {time_text(found.best_s)}.")
    if found.plateau:
        details.append("The last three best laps lie within 0.1 s: time to change one thing.")
    if found.gain is not None:
        kmh = found.gain.delta_kmh
        facts.append(Fact(f"{found.gain.corner}, apex speed gained", kmh, "km/h"))
        details.append(f"Most was won in {found.gain.corner}: {kmh:.1f} km/h at the apex.")
    return Found("progress_report", summary, tuple(details), tuple(facts))


def setup_indicators(drive: Drive, references: References = NONE) -> Found:
    """What the controls show of the car's balance; the car itself is not measured."""
    means: dict[str, float] = {}
    for name, passes in passes_of(drive).items():
        known = [one.steering_corrections for one in passes]
        counts = [float(one) for one in known if one is not None]
        if counts:
            means[name] = sum(counts) / len(counts)
    bands = slip_bands(drive, references)
    facts = [Fact(f"{name}, steering corrections a pass", n, "", 1) for name, n in means.items()]
    details = []
    if bands is not None:
        details.append(bands.interpretation)
        facts += [
            Fact(f"time {name.replace('_', ' ')}", share, "%")
            for name, share in bands.pct_per_band.items()
        ]
    if not means:
        text = "Without the steering angle the data show nothing of the car's balance."
        return Found("setup_indicators", text, tuple(details), tuple(facts), empty=bands is None)
    worst = max(means.items(), key=lambda pair: pair[1])
    if worst[1] == 0:
        summary = "The hands correct nowhere, so nothing points to an unsettled car."
    elif worst[1] < MANY_CORRECTIONS:
        summary = f"The steering is calm everywhere: {worst[1]:.1f} corrections a pass at most."
    else:
        summary = f"The car is least settled in {worst[0]}: {worst[1]:.1f} corrections a pass."
        details.insert(
            0,
            "Before a spanner: try the corner once with a slower entry. If it calms down, it was"
            " the entry and not the car.",
        )
    return Found("setup_indicators", summary, tuple(details), tuple(facts))


def weather_context(track: Track | None, hour: int, *, wet: bool = False) -> Found:
    """What the surface is like at this hour of the day, by the circuit's file.

    *wet*: rain, fog or ice is spoken of, and the file knows nothing of that.
    """
    if wet:
        return Found("weather_context", NO_STATION, (WET_HINT,))
    phase = phase_at(hour, track)
    where = f" at {track.name}" if track else ""
    facts = (
        Fact("local hour", hour),
        Fact("phase of the day", phase.id.replace("_", " ")),
        Fact("surface", phase.surface_state),
    )
    summary = f"At this hour the surface{where} is usually: {phase.surface_state}."
    hint = "The bridge has no weather station, so trust your eyes before this."
    note = f"As a rule at this hour: {phase.coaching_note}"
    return Found("weather_context", summary, (note, hint), facts)


def session_plan_context(count: int | None, weak: Sequence[str] = ()) -> Found:
    """A plan for so many laps: find the rhythm, work on two things, put it together."""
    laps = count or USUAL_LAPS
    facts = [Fact("laps to drive", laps)]
    if laps < 4:
        text = f"With {laps} lap{'s' if laps != 1 else ''} choose one thing and drive it cleanly."
        return Found("session_plan_context", text, facts=tuple(facts))
    warm = max(1, round(laps * 0.2))
    final = max(1, round(laps * 0.25))
    work = laps - warm - final
    facts += [
        Fact("laps to find the rhythm", warm),
        Fact("laps to work", work),
        Fact("laps to put it together", final),
    ]
    aims = f" on {joined(list(weak[:2]))}" if weak else " on one corner at a time"
    summary = f"Split your {laps} laps into {warm}, {work} and {final}."
    details = [
        f"Drive the first {warm} at eight tenths: markers, sight lines, temperatures.",
        f"Work{aims} for {work} laps, and change one thing only per lap.",
        f"Then put together {final} whole lap{'s' if final != 1 else ''}, and change nothing.",
    ]
    if laps > LONG_RUN:
        details.append("Come in once between the blocks and look at the data.")
    return Found("session_plan_context", summary, tuple(details), tuple(facts))


def day_brief(track: Track | None, weak: Sequence[str] = (), tip: str = "") -> Found:
    """What to have in mind before the first lap: danger zones and the corner to work on, with the
    *tip* for it, a sentence without its capital and its end."""
    zones = track.danger_zones if track else ()
    order = {"high": 0, "medium": 1, "low": 2}
    ranked = sorted(zones, key=lambda zone: (order[zone.severity], zone.start_m))
    details = [_zone(track, zone) for zone in ranked[:2] if track is not None]
    facts = tuple(Fact(zone.id.replace("-", " "), zone.description) for zone in ranked)
    if weak:
        summary = f"Work on {weak[0]} today: most is to be won there."
        details = [*([f"{tip[:1].upper()}{tip[1:]}."] if tip else []), *details]
    else:
        summary = "Find your rhythm first; there is no graded lap yet that names a corner."
    return Found("day_brief", summary, tuple(details), facts)


def _zone(track: Track, zone: DangerZone) -> str:
    corner = next(
        (
            one.name
            for one in track.in_lap_order()
            if inside(one.apex.distance_m, zone.start_m, zone.end_m, track.length_m)
        ),
        None,
    )
    place = f"at {corner}" if corner else f"from {zone.start_m:.0f} m to {zone.end_m:.0f} m"
    return f"Take care {place}. {zone.description}"


def audio_script_context(track: Track | None, corner: str | None = None) -> Found:
    """Short phrases for the ear, in the order of the lap."""
    corners = list(track.in_lap_order()) if track else []
    if corner is not None:
        corners = [one for one in corners if one.name == corner]
    if not corners:
        text = "There is no track file whose corners could be spoken of."
        return Found("audio_script_context", text, empty=True)
    lines = [_spoken(one) for one in corners[:LINES]]
    facts = tuple(Fact(one.name, line) for one, line in zip(corners, lines, strict=False))
    first = f"{len(lines)} phrase{'s' if len(lines) != 1 else ''} for {_named(track)}."
    return Found("audio_script_context", first, tuple(lines), facts)


def _spoken(corner: Corner) -> str:
    """Direction and severity as a co-driver says them, then the first half of the tip."""
    name = corner.nicknames[0] if corner.nicknames else corner.name
    tip = corner.coaching_tip.split(";")[0].split(":")[0].strip().rstrip(".")
    words = f"{name}: {corner.direction} {corner.severity}"
    return f"{words}. {tip}." if tip else f"{words}."


def _named(track: Track | None) -> str:
    return track.name if track else "the circuit"


def agent_telemetry(rows: Sequence[TraceRow]) -> Found:
    """How long the answers took, by who gave them; *rows* are the newest steps."""
    took: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    for row in rows:
        if row.event_type == "agent":
            took.setdefault(row.agent_name, []).append(row.latency_ms)
        if row.event_type == "error" or not row.success:
            failed[row.agent_name] = failed.get(row.agent_name, 0) + 1
    if not took:
        return Found("agent_telemetry", "No question has been answered yet.", empty=True)
    ranked = sorted(took.items(), key=lambda pair: (-median(pair[1]), pair[0]))
    facts = []
    for name, times in ranked:
        facts.append(Fact(f"{name}, answers", len(times)))
        facts.append(Fact(f"{name}, middle time", median(times), "ms", 0))
        facts.append(Fact(f"{name}, longest time", max(times), "ms", 0))
        facts.append(Fact(f"{name}, steps that failed", failed.get(name, 0)))
    name, times = ranked[0]
    summary = (
        f"{name} is the slowest: {_took(median(times))} in the middle of"
        f" {len(times)} answer{'s' if len(times) != 1 else ''}."
    )
    details = []
    if len(ranked) > 1:
        quick, quickest = ranked[-1]
        details.append(f"{quick} is the quickest with {_took(median(quickest))}.")
    total = sum(failed.values())
    steps_failed = f"{total} step{'s' if total != 1 else ''} failed" if total else "no step failed"
    details.append(f"Over {sum(map(len, took.values()))} answers {steps_failed}.")
    return Found("agent_telemetry", summary, tuple(details), tuple(facts))


def _took(ms: float) -> str:
    return f"{ms / 1000:.2f} s" if ms >= 1000 else f"{ms:.0f} ms"
