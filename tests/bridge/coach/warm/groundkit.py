"""A session that is known in every detail, for sentences about it."""

from typing import Final

from runtime.bridge.coach.warm.evidence import Evidence, Place, evidence_of

NICKNAMES: Final = {
    4: ("Storm Hook", "the hairpin"),
    5: ("Peat Left",),
    7: ("The Wink", "the kink"),
    10: ("Chapel",),
}
LEFT: Final = frozenset({2, 5, 6, 9})
PLACES: Final = [
    Place(f"Turn {at}", at, NICKNAMES.get(at, ()), "left" if at in LEFT else "right")
    for at in range(1, 12)
]
LAP_TIMES: Final = (134.313, 134.480, 132.987, 135.189, 137.100, 134.632, 132.836, 137.013)


def corner(
    number: int, grade: str, score: float, loss: float, apex: tuple[float, float], *rest: float
) -> dict[str, object]:
    """A corner as fragments hold it; *rest*: exit, its difference, metres of early braking."""
    leave, leave_delta, early = rest
    return {
        "corner": f"Turn {number}",
        "basis": "session_best",
        "grade": grade,
        "score_pct": score,
        "lap": 1,
        "n_passes": 8,
        "delta_time_s": loss,
        "apex_speed_kmh": apex[0],
        "apex_delta_kmh": apex[1],
        "reference_apex_speed_kmh": round(apex[0] - apex[1], 1),
        "exit_speed_kmh": leave,
        "exit_delta_kmh": leave_delta,
        "reference_exit_speed_kmh": round(leave - leave_delta, 1),
        "brake_point_delta_m": early,
    }


def caused(known: dict[str, object], *causes: tuple[str, float, str]) -> dict[str, object]:
    """A corner with what its time went into."""
    names = ("cause", "seconds_lost", "detail")
    rows = [dict(zip(names, one, strict=True)) for one in causes]
    return {**known, "time_loss_attribution": rows}


KNOWN: Final = {
    "telemetry": {
        "track": "Larkfell Circuit",
        "laps": [{"lap": at, "lap_time_s": time} for at, time in enumerate(LAP_TIMES, start=1)],
        "n_laps": 8,
        "best_lap": {"lap": 7, "best_lap_time_s": 132.836},
        "top_speed_kmh": 188.3,
        "max_combo_g": 0.85,
        "max_brake_bar": 43.3,
        "lap_time_spread": 4.264,
        "ideal_gain_s": 0.488,
        "session_grade": "C",
        "corners": [
            caused(
                corner(5, "F", 0.6727, 0.302, (53.0, -4.3), 65.4, -3.7, 5.0),
                ("low_exit_speed", 0.091, "3.7 km/h were missing at the exit"),
                ("coast_in_corner", 0.076, "the car coasted for 1.7 s"),
                ("early_brake", 0.02, "the brakes came 5 m early"),
            ),
            caused(
                corner(10, "D", 0.7958, 0.316, (61.4, -3.1), 73.5, -0.8, 7.8),
                ("coast_in_corner", 0.118, "the car coasted for 2.1 s"),
                ("nothing_time", 0.094, "2.2 s passed between brake and throttle"),
            ),
            caused(
                corner(4, "D", 0.7478, 0.62, (35.1, -2.1), 49.6, 1.1, 15.4),
                ("coast_in_corner", 0.262, "the car coasted for 2.0 s"),
                ("early_brake", 0.104, "the brakes came 15 m early"),
            ),
            corner(8, "D", 0.7723, 0.183, (44.6, -2.3), 55.6, -3.6, 6.0),
            caused(
                corner(7, "C", 0.8775, 0.181, (107.1, -5.4), 108.7, -7.3, 0.3),
                ("early_lift", 0.011, "the throttle was 23 points lower at the exit"),
            ),
            corner(2, "A", 0.97, -0.051, (88.0, 1.2), 101.3, 2.0, 0.1),
        ],
    },
    "highlights": [
        {
            "title": "Late braking into Turn 11",
            "lap": 1,
            "corner": "Turn 11",
            "narrative_seed": "Braked 6 m later than the quickest pass into Turn 11.",
        },
        {"title": "Spread", "narrative_seed": "The grip changed 16 times in 3 s, up to 0.67 g."},
    ],
}
EVIDENCE: Final[Evidence] = evidence_of(KNOWN, PLACES, ["Larkfell Circuit", "Mia", "Exit speed"])
