"""Where the time in a corner went, and the sentence that says so."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.reference import Taken

LEAST_S: Final = 0.05
"""A smaller loss is not looked into."""
OFF: Final = "brake off, throttle under 10 %"
"""What a pass counts as coasting; a throttle may be held below that."""


class Cause(NamedTuple):
    """A part of the time that a pass lost."""

    cause: str
    seconds: float
    detail: str
    """What was done, in numbers."""


class _Found(NamedTuple):
    cause: str
    seconds: float
    share: float
    """Of the loss that the cause may explain at most."""
    detail: str


ADVICE: Final = {
    "early_brake": "brake later: {}",
    "late_brake": "brake a little earlier to have the car settled at turn-in: {}",
    "low_apex_speed": "carry more speed to the apex: {}",
    "low_exit_speed": "open the car up sooner for the exit: {}",
    "early_lift": "be fuller on the throttle at the exit: {}",
    "coast_in_corner": "stay on a pedal through the corner: {}",
    "nothing_time": "go from brake to throttle without a pause: {}",
    "exit_understeer": "calm the hands and wait with the throttle until the car points out: {}",
}

BOLD: Final = frozenset({"early_brake", "low_apex_speed", "low_exit_speed", "early_lift"})
"""Causes whose remedy is more speed or a later brake point."""
STEADY: Final = "keep your usual speed and brake point, for a danger zone lies there"
"""What is said of them where mistakes are punished."""


def calm(causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Those of the causes whose remedy asks for no more speed."""
    return tuple(one for one in causes if one.cause not in BOLD)


def attribution(own: Pass, target: Taken) -> tuple[Cause, ...]:
    """What the loss against *target* is made of, the largest part first.

    Nothing for 0.05 s or less. Each cause explains no more than its share of the loss, and all
    together no more than the loss.
    """
    loss = own.corner_time_s - target.corner_time_s
    if not loss > LEAST_S:
        return ()
    found = [
        Cause(one.cause, min(one.seconds, one.share * loss), one.detail)
        for one in (*_pedals(own, target), *_speeds(own, target), *_idle(own))
    ]
    total = sum(cause.seconds for cause in found)
    scale = min(1.0, loss / total) if total > 0 else 1.0
    scaled = [cause._replace(seconds=cause.seconds * scale) for cause in found]
    return tuple(sorted(scaled, key=lambda cause: -cause.seconds))


def phrase(
    corner: str, causes: tuple[Cause, ...], *, good: bool = True, danger: bool = False
) -> str:
    """One sentence for the driver: what to do about the largest cause, praise where there is none.

    *causes* come from `attribution`; *good*: the grade of the corner is worth more than that;
    *danger*: mistakes are punished there.
    """
    if causes and danger:
        first = next(iter(calm(causes)), None)
        advice = ADVICE[first.cause].format(first.detail) if first is not None else STEADY
        return f"{corner}: {advice}."
    if not causes:
        return f"{corner}: {'well driven' if good else 'no time lost here'}, do the same again."
    return f"{corner}: {ADVICE[causes[0].cause].format(causes[0].detail)}."


def _pedals(own: Pass, target: Taken) -> Iterator[_Found]:
    """Braking and throttle beside the target's."""
    if own.brake_point_m is not None and target.brake_point_m is not None:
        earlier = own.brake_point_m - target.brake_point_m
        if earlier > 5:
            detail = f"the brakes came {earlier:.0f} m early"
            yield _Found("early_brake", 0.04 * earlier / 5, 0.3, detail)
        if earlier < -3:
            detail = f"the brakes came {-earlier:.0f} m late"
            yield _Found("late_brake", 0.05 * -earlier / 5, 0.4, detail)
    lifted = _less(own.throttle_at_exit_pct, target.throttle_at_exit_pct)
    if lifted > 15:
        detail = f"the throttle was {lifted:.0f} points lower at the exit"
        yield _Found("early_lift", 0.001 * lifted, 0.3, detail)


def _speeds(own: Pass, target: Taken) -> Iterator[_Found]:
    apex = _less(own.apex_speed_kmh, target.apex_speed_kmh)
    if apex > 1.5:
        detail = f"{apex:.1f} km/h were missing at the apex"
        yield _Found("low_apex_speed", 0.025 * apex, 0.5, detail)
    leave = _less(own.exit_speed_kmh, target.exit_speed_kmh)
    if leave > 1.5:
        detail = f"{leave:.1f} km/h were missing at the exit"
        yield _Found("low_exit_speed", 0.05 * leave, 0.6, detail)


def _idle(own: Pass) -> Iterator[_Found]:
    """What a pass wastes by itself."""
    coast, nothing = own.coast_seconds or 0.0, own.nothing_time_s or 0.0
    if coast > 0.2:
        detail = f"the car coasted for {coast:.1f} s ({OFF})"
        yield _Found("coast_in_corner", 0.85 * coast, 0.5, detail)
    if nothing > 0.3:
        detail = f"{nothing:.1f} s passed between the brake and 10 % throttle"
        yield _Found("nothing_time", 0.6 * nothing, 0.4, detail)
    corrections = own.steering_corrections or 0
    if corrections >= 3:
        detail = f"the steering was corrected {corrections} times"
        yield _Found("exit_understeer", 0.04 * corrections, 0.25, detail)


def _less(own: float | None, target: float | None) -> float:
    """How much smaller the own value is; 0 where either is unknown."""
    return target - own if own is not None and target is not None else 0.0
