"""What a finding is called: its paragraph, its numbers, what the next run should show; pure."""

from collections.abc import Mapping
from typing import Final

from runtime.bridge.analysis.grading import OFF, CornerGrade, TimeLoss
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.coach.warm.findings import Finding, more
from runtime.bridge.coach.warm.room import Room
from runtime.bridge.track.model import Corner

USUAL_PASSES: Final = 3
"""Of so many passes the middle one is a usual one."""
_MORE: Final[Mapping[str, tuple[str, str]]] = {
    "coast_in_corner": (", {:.1f} s more than {}", "coast_more_s"),
    "nothing_time": (", {:.1f} s more than {}", "pause_more_s"),
    "exit_understeer": (", {:.0f} times more than {}", "corrections_more"),
}


def paragraph(
    one: Finding,
    corner: Corner | None,
    before: Finding | None = None,
    *,
    alone: bool = False,
) -> str:
    """A problem with its numbers; *before* it another one is told.

    *alone*: the session has one lap, whose number says nothing.
    """
    name = called(one.corner, corner)
    if not one.causes:
        same = before is not None and not before.causes and before.family == one.family
        lead = "shows the same" if same else "has time to win"
        return f"{name} {lead}: {_where(one, alone)}{room_said(one)}."
    grade = one.grade
    assert grade is not None
    said = [f"{name}: {_beside(one, grade)}."]
    for at, cause in enumerate(one.causes):
        detail = _detailed(cause, grade)
        if not detail:
            continue
        said.append(f"{'And ' if at else ''}{detail if at else _large(detail)}.")
    return " ".join(one for one in said if one)


def evidence_said(one: Finding) -> str:
    """What was done, in numbers, without a point."""
    if one.causes and one.grade is not None:
        return _detailed(one.causes[0], one.grade) or _beside(one, one.grade)
    return room_said(one)


def called(name: str, corner: Corner | None) -> str:
    """A corner with the name that drivers use, in bold."""
    if not name:
        return "**The whole lap**"
    nick = corner.nicknames[0] if corner is not None and corner.nicknames else ""
    return f"**{name}** ({nick})" if nick else f"**{name}**"


def room_said(one: Finding) -> str:
    """What there is to win, in numbers."""
    room = one.room
    assert room is not None
    now, beside = room.now, room.beside or 0.0
    if not room.corner:
        return f"{now:.0f} % of the time the car coasts ({OFF})"
    said: Mapping[str, str] = {
        "coast_in_corner": f"the car coasts for {now:.1f} s ({OFF}), {beside:.0f} % of the corner",
        "rolling": f"the car rolls for {now:.1f} s ({OFF}), {beside:.0f} % of the corner",
        "late_throttle": f"the throttle opens {now:.0f} m behind the apex",
        "exit_understeer": f"the steering was corrected {now:.0f} times",
        "slow_apex": f"{now:.0f} km/h at the apex, where a good lap here has {beside:.0f} km/h",
        "unused_grip": f"{now:.2f} g of the {beside:.2f} g that the car held in this session",
    }
    return said[room.cause]


def goal(one: Finding) -> str:
    """The number that the mark of the cause asks for; empty where it asks for none."""
    if one.room is not None:
        return _won(one.room)
    grade, cause = one.grade, one.cause
    assert grade is not None
    own, target = grade.own, grade.target
    if own is None or target is None:
        return ""
    if cause == "low_exit_speed":
        return _instead(own.exit_speed_kmh, target.exit_speed_kmh, "km/h", 0)
    if cause == "low_apex_speed":
        return _instead(own.apex_speed_kmh, target.apex_speed_kmh, "km/h", 0)
    if cause == "coast_in_corner":
        return _instead(own.coast_seconds, target.coast_seconds, "s", 1)
    if cause == "nothing_time":
        return _instead(own.nothing_time_s, target.nothing_time_s, "s", 1)
    halved = {
        "uneven": f"{one.lost_s / 2:.2f} s",
        "early_brake": f"{max((grade.brake_point_delta_m or 0.0) / 2, 1.0):.0f} m",
    }
    return halved.get(cause, "")


def facts(one: Finding) -> dict[str, object]:
    """Its numbers, fit for JSON."""
    known: dict[str, object] = {"corner": one.corner or None, "cause": one.cause}
    if one.room is not None:
        known |= _room_facts(one.room)
    elif one.grade is not None:
        known |= _loss_facts(one, one.grade)
    return {key: value for key, value in known.items() if value is not None}


def _room_facts(room: Room) -> dict[str, object]:
    now, aim, beside = round(room.now, 2), round(room.aim, 2), _r(room.beside, 2)
    if not room.corner:
        return {"coast_pct": round(room.now, 1)}
    known: Mapping[str, dict[str, object]] = {
        "late_throttle": {"throttle_behind_apex_m": now, "goal_throttle_behind_apex_m": aim},
        "exit_understeer": {"steering_corrections": int(room.now)},
        "slow_apex": {
            "apex_speed_kmh": now,
            "good_lap_apex_speed_kmh": beside,
            "goal_apex_speed_kmh": aim,
        },
        "unused_grip": {
            "max_combo_g": now,
            "session_max_combo_g": beside,
            "apex_speed_kmh": _r(room.at, 2),
            "goal_apex_speed_kmh": aim,
        },
    }
    coasting: dict[str, object] = {"coast_seconds": now, "coast_pct": beside, "goal_coast_s": aim}
    return {"lap": room.lap, **known.get(room.cause, coasting)}


def _loss_facts(one: Finding, grade: CornerGrade) -> dict[str, object]:
    known: dict[str, object] = {
        "lap": grade.own.lap if grade.own is not None else None,
        "delta_time_s": _r(grade.delta_time_s, 3),
        "goal": goal(one) or None,
    }
    for cause in one.causes:
        known[f"{cause.cause}_detail"] = _detailed(cause, grade) or None
        extra = more(cause.cause, grade)
        if extra and cause.cause in _MORE:
            known[_MORE[cause.cause][1]] = round(extra, 2)
    return known


def _where(one: Finding, alone: bool) -> str:
    """In which pass."""
    room, grade = one.room, one.grade
    if room is None or not room.corner or alone:
        return ""
    if grade is not None and grade.basis == "reference_file":
        return f"in your best pass (lap {room.lap}), "
    if grade is not None and grade.n_passes >= USUAL_PASSES:
        return f"in a usual pass (lap {room.lap}), "
    return f"on lap {room.lap}, "


def _beside(one: Finding, grade: CornerGrade) -> str:
    """Which pass was slower than which, and by how much."""
    assert grade.own is not None
    lap, loss = grade.own.lap, one.lost_s
    if one.basis == "reference":
        return f"your best pass (lap {lap}) is {loss:.2f} s slower than the reference"
    best = grade.target.lap if isinstance(grade.target, Pass) else lap
    if best == lap:  # a session without a complete lap that passed the corner more than once
        return f"your usual pass is {loss:.2f} s slower than your best one"
    if grade.n_passes < USUAL_PASSES:
        return f"on lap {lap} you were {loss:.2f} s slower here than on lap {best}"
    return f"your usual pass (lap {lap}) is {loss:.2f} s slower than your best one (lap {best})"


def _detailed(cause: TimeLoss, grade: CornerGrade) -> str:
    """What was done, and how much more of it than in the pass that is compared with."""
    extra = more(cause.cause, grade)
    if not extra or cause.cause not in _MORE:
        return cause.detail
    other = "the reference"
    if isinstance(grade.target, Pass):
        same = grade.own is not None and grade.own.lap == grade.target.lap
        other = "in the best one" if same else f"on lap {grade.target.lap}"
    return cause.detail + _MORE[cause.cause][0].format(extra, other)


def _won(room: Room) -> str:
    """The aim of what is there to win."""
    if not room.corner:
        return f"less than {room.aim:.0f} % of the lap"
    if room.cause == "late_throttle":
        return _instead(room.now, room.aim, "m", 0)
    if room.cause == "exit_understeer":
        return ""
    if room.cause in ("slow_apex", "unused_grip"):
        return _instead(room.at or room.now, room.aim, "km/h", 0)
    return _instead(room.now, room.aim, "s", 1)


def _instead(now: float | None, aim: float | None, unit: str, digits: int) -> str:
    if now is None or aim is None:
        return ""
    return f"{aim:.{digits}f} {unit} instead of {now:.{digits}f} {unit}"


def _large(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _r(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
