"""Single facts about a session as such, and beside the driver's one before it; pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Final

from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_tools import SAME_S
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.session.ranking import time_text
from runtime.bridge.storage.values import SessionRow

TOOL: Final = "session_facts"


def session_fact(topic: Topic, row: SessionRow, driven_m: float | None) -> Found:
    """What the session itself says; *driven_m* is how far it went."""
    began = datetime.fromtimestamp(row.started_at / 1000, UTC)
    match topic.what:
        case "distance":
            if driven_m is None:
                return Found(TOOL, "How far you drove is not recorded in this session.", empty=True)
            fact = Fact("distance", driven_m / 1000, "km")
            return Found(TOOL, f"You drove {fact.text} in this session.", (), (fact,))
        case "duration":
            if row.t_start is None or row.t_end is None:
                return Found(TOOL, "This session has no telemetry yet.", empty=True)
            minutes = (row.t_end - row.t_start) / 60
            fact = Fact("length of the session", minutes, "min")
            return Found(TOOL, f"The session is {fact.text} long.", (), (fact,))
        case "car":
            text = f"You drove {row.car}." if row.car else "The session names no car."
        case "driver":
            text = f"{row.driver} drove." if row.driver else "The session names no driver."
        case _:
            text = f"The session began on {began:%Y-%m-%d} at {began:%H:%M} UTC."
    return Found(TOOL, text)


def session_count(driver: str, count: int) -> Found:
    """How many sessions a driver has."""
    who = driver or "Nobody"
    text = f"{who} has {count} session{'s' if count != 1 else ''} here."
    return Found(TOOL, text, (), (Fact("sessions", count),), empty=not driver)


def beside_driver(
    own: str, name: str, best_s: float | None, own_best_s: float | None, *, faster: bool = False
) -> Found:
    """Another driver's best lap here beside that of the session.

    *faster*: it is asked whether that one is faster.
    """
    whose = f"This session was driven by {own}" if own else "This session names no driver"
    if best_s is None:
        text = f"{whose}, and no session of {name} here has a complete lap."
        return Found("other_driver", text, empty=True)
    facts = [Fact(f"best lap of {name}", best_s, "lap")]
    text = f"{name}'s best lap here is {time_text(best_s)}"
    if own_best_s is not None:
        gap = own_best_s - best_s
        facts.append(Fact("best lap of this session", own_best_s, "lap"))
        side = "slower" if gap > 0 else "faster"
        if faster:
            text = f"{'No' if gap > 0 else 'Yes'}: {text}"
        text += f"; the best of this session, {time_text(own_best_s)}, is {abs(gap):.3f} s {side}"
    more = f"{whose}: for what {name} did, ask about a session of {name}."
    return Found("other_driver", f"{text}.", (more,), tuple(facts))


def ever(
    driver: str, driven: Sequence[DriverSession], session_id: str, *, beaten: bool = False
) -> Found:
    """The driver's best lap on the circuit, and whether a session holds it.

    *beaten*: it is asked whether the session holds it.
    """
    best = {one.session_id: one.summary.best_s for one in driven if one.summary.best_s is not None}
    if not best:
        whose = f"of {driver} " if driver else ""
        return Found("last_session", f"No session {whose}here has a complete lap.", empty=True)
    fastest = min(best.values())
    facts = [Fact("best lap ever", fastest, "lap")]
    own = best.get(session_id)
    others = [seconds for name, seconds in best.items() if name != session_id]
    if own is None or not others:
        return Found(
            "last_session", f"Your best lap here ever is {time_text(fastest)}.", (), tuple(facts)
        )
    old = min(others)
    gap = own - old
    facts += [Fact("best lap of this session", own, "lap"), Fact("gap", gap, "s", 3)]
    if gap < 0:
        summary = (
            f"Your best lap here ever is {time_text(own)}, of this session: {-gap:.3f} s faster"
            f" than before."
        )
    else:
        summary = (
            f"Your best lap here ever is {time_text(old)}; this session's best, {time_text(own)},"
            f" is {gap:.3f} s slower."
        )
    if beaten:
        summary = f"{'Yes' if gap < 0 else 'No'}: {summary[:1].lower()}{summary[1:]}"
    return Found("last_session", summary, (), tuple(facts))


def before(driver: str, driven: Sequence[DriverSession], session_id: str) -> Found:
    """A session's best lap beside that of the one before it; *driven* in the order of time.

    Without a session, the latest one.
    """
    with_lap = [one for one in driven if one.summary.best_s is not None]
    at = next((i for i, one in enumerate(with_lap) if one.session_id == session_id), None)
    if at is None and not session_id:
        at = len(with_lap) - 1 if with_lap else None
    whose = f"of {driver} " if driver else ""
    if at is None:
        return Found("last_session", "This session has no complete lap yet.", empty=True)
    now = with_lap[at].summary
    best = now.best_s or 0.0
    if at == 0:
        text = f"There is no earlier session {whose}here with a complete lap"
        text = f"{text}; your best is {time_text(best)}."
        return Found("last_session", text, empty=True)
    last = with_lap[at - 1].summary
    then = last.best_s or 0.0
    gain = then - best
    facts = [
        Fact("best lap of this session", best, "lap"),
        Fact("best lap of the session before", then, "lap"),
        Fact("best lap before less this one", gain, "s", 3),
    ]
    times = f"{time_text(best)} to {time_text(then)}"
    if abs(gain) < SAME_S:
        summary = f"Level: your best lap is that of your last session, {time_text(best)}."
    else:
        answer, word = ("Yes", "faster") if gain > 0 else ("No", "slower")
        change = f"{abs(gain):.3f} s {word} than in your last session, {times}"
        summary = f"{answer}: your best lap is {change}."
    own, old = (median(lap.time_s for lap in one.laps) for one in (now, last))
    more = old - own
    facts.append(Fact("middle lap before less this one", more, "s", 3))
    word = "faster" if more >= 0 else "slower"
    middles = f"{time_text(own)} to {time_text(old)}"
    details = [f"The middle of your laps is {abs(more):.3f} s {word}, {middles}."]
    least = min(one.summary.best_s or best for one in with_lap)
    if least < best - SAME_S and least < then - SAME_S:
        facts.append(Fact("best lap ever", least, "lap"))
        details.append(f"Your best here ever is {time_text(least)}.")
    return Found("last_session", summary, tuple(details), tuple(facts))
