"""What the quantities of a session are called, in which unit and direction; data."""

from typing import Final, NamedTuple

Words = frozenset[str]


def _set(words: str) -> Words:
    return frozenset(words.split())


LOST: Final = _set("lose slower")
WON: Final = _set("gain faster")
LESS: Final = _set("lose slower slow less")
MORE: Final = _set("gain faster more")
NONE: Final[Words] = frozenset()


class Quantity(NamedTuple):
    """How a sentence must speak of a number, and how it may."""

    unit: str
    needs: tuple[Words, ...] = ()
    """Of each set one."""
    may: Words = NONE
    plus: Words = NONE
    """What is said of a positive value, of which one is needed; none: it has no direction."""
    minus: Words = NONE
    basis: Words = NONE
    """What it may be said to be compared with."""
    scope: str = "any"
    """*corner*, *lap*, *session*, or any of them."""
    untold: bool = False
    """Whether it may be told without its number."""


_BEST: Final = _set("vsbest vsref vsany")
_AT: Final = _set("pass usualpass corner time")
_SPEED: Final = _set("pass usualpass corner speed carry")
QUANTITIES: Final = {
    "lap_time": Quantity(
        "s",
        (_set("lapref laptime bestlap"),),
        _set("time took drive lapword"),
        scope="session",
    ),
    "lap_time_before": Quantity(
        "s", (_set("vsbefore"),), _set("bestlap laptime time"), scope="session"
    ),
    "corner_time": Quantity(
        "s", (_set("took time"), _set("cornerref")), _set("took time pass atbest"), scope="corner"
    ),
    "delta_time": Quantity(
        "s", (), _AT, LOST | {"togain"}, WON, _BEST, scope="corner", untold=True
    ),
    "loss_by_exit": Quantity(
        "s", (_set("exit"),), _AT | {"speed"}, LOST, NONE, _BEST, "corner", True
    ),
    "loss_by_apex": Quantity(
        "s", (_set("apex"),), _AT | {"speed"}, LOST, NONE, _BEST, "corner", True
    ),
    "loss_by_coast": Quantity(
        "s",
        (_set("lose slower"), _set("coast nopedal")),
        _AT | _set("coast nopedal lose slower"),
        LOST,
        NONE,
        _BEST,
        "corner",
        True,
    ),
    "loss_by_early_brake": Quantity(
        "s", (_set("brake"), _set("early")), _AT | {"early"}, LOST, NONE, _BEST, "corner", True
    ),
    "loss_by_late_brake": Quantity(
        "s", (_set("brake"), _set("late")), _AT | {"late"}, LOST, NONE, _BEST, "corner", True
    ),
    "loss_by_throttle": Quantity(
        "s", (_set("throttle"),), _AT | {"exit"}, LOST, NONE, _BEST, "corner", True
    ),
    "loss_by_steering": Quantity(
        "s", (_set("steering"),), _AT | {"exit", "correct"}, LOST, NONE, _BEST, "corner", True
    ),
    "coast": Quantity(
        "s", (_set("coast nopedal"),), _AT | _set("coast nopedal roll"), scope="corner", untold=True
    ),
    "spread": Quantity("s", (_set("spread"),), _set("laptime lapword time"), scope="session"),
    "ideal_gain": Quantity(
        "s",
        (_set("togain"), _set("ideal")),
        _set("togain gain faster ideal time bestlap lapword"),
        scope="session",
    ),
    "improvement": Quantity(
        "s",
        (_set("gain faster improve slower lose"), _set("vsbefore")),
        _set("bestlap laptime time"),
        WON | {"improve"},
        LOST,
        _set("vsbefore"),
        "session",
        True,
    ),
    "lap_gap": Quantity(
        "s",
        (_set("vsref vsbest"), _set("lapword bestlap laptime session")),
        _set("bestlap lapword laptime session"),
        LOST,
        WON,
        _BEST,
        "session",
    ),
    "average_speed": Quantity("km/h", (_set("average"), _set("speed")), scope="session"),
    "top_speed": Quantity("km/h", (_set("topspeed"),), scope="session"),
    "entry_speed": Quantity("km/h", (_set("entry"),), _AT | _set("speed carry"), scope="corner"),
    "apex_speed": Quantity("km/h", (_set("apex"),), _AT | _set("speed carry"), scope="corner"),
    "exit_speed": Quantity("km/h", (_set("exit"),), _AT | _set("speed carry"), scope="corner"),
    "best_apex_speed": Quantity(
        "km/h",
        (_set("apex"), _BEST | {"refpass"}),
        _AT | _set("speed carry"),
        NONE,
        NONE,
        _BEST,
        "corner",
    ),
    "best_exit_speed": Quantity(
        "km/h",
        (_set("exit"), _BEST | {"refpass"}),
        _AT | _set("speed carry"),
        NONE,
        NONE,
        _BEST,
        "corner",
    ),
    "entry_delta": Quantity("km/h", (_set("entry"),), _SPEED, MORE, LESS, _BEST, "corner", True),
    "apex_delta": Quantity("km/h", (_set("apex"),), _SPEED, MORE, LESS, _BEST, "corner", True),
    "exit_delta": Quantity("km/h", (_set("exit"),), _SPEED, MORE, LESS, _BEST, "corner", True),
    "apex_gained": Quantity(
        "km/h",
        (_set("apex"), _set("improve more gain faster")),
        _AT | _set("speed improve"),
        MORE | {"improve"},
        LESS,
        _set("vsbefore"),
        "corner",
    ),
    "brake_peak": Quantity(
        "bar", (_set("brake"),), _set("pressure max pass usualpass carry"), scope="corner"
    ),
    "session_brake_peak": Quantity(
        "bar",
        (_set("brake pressure"), _set("max most")),
        _set("pressure brake max most"),
        scope="session",
    ),
    "brake_delta": Quantity(
        "m",
        (_set("brake"),),
        _set("point pass usualpass"),
        _set("early"),
        _set("late"),
        _BEST,
        "corner",
        True,
    ),
    "brake_point": Quantity("m", (_set("brake"), _set("before"), _set("entry")), _set("point")),
    "throttle_delta": Quantity(
        "%", (_set("throttle"), _set("exit")), _set("score pass"), MORE, LESS, _BEST, "corner"
    ),
    "combined_g": Quantity(
        "g", (_set("max most"),), _set("acceleration max most"), scope="session"
    ),
    "lateral_g": Quantity("g", (_set("lateral"),), _set("grip acceleration max most")),
    "score": Quantity("%", (_set("score"),), _set("score pass usualpass session")),
    "better_by": Quantity("%", (_set("improve"),), _set("improve score"), scope="corner"),
    "n_laps": Quantity("laps", (), _set("drive session lapword"), scope="session"),
    "n_passes": Quantity("passes", (), _set("pass drive"), scope="corner"),
    "corrections": Quantity(
        "times", (_set("steering"), _set("correct")), _set("steering correct pass"), scope="corner"
    ),
    "deviation": Quantity("s", (_set("deviation"),), _set("laptime time"), scope="session"),
}
"""By kind."""
CAUSES: Final = {
    "coast_in_corner": "loss_by_coast",
    "nothing_time": "loss_by_coast",
    "low_exit_speed": "loss_by_exit",
    "low_apex_speed": "loss_by_apex",
    "early_brake": "loss_by_early_brake",
    "late_brake": "loss_by_late_brake",
    "early_lift": "loss_by_throttle",
    "exit_understeer": "loss_by_steering",
}
"""Kind of the seconds that a cause of lost time explains."""
KEYS: Final = {
    "lap_time_s": "lap_time",
    "best_lap_time_s": "lap_time",
    "best_lap_s": "lap_time",
    "time_s": "lap_time",
    "best_lap_time_before_s": "lap_time_before",
    "corner_time_s": "corner_time",
    "delta_time_s": "delta_time",
    "coast_seconds": "coast",
    "nothing_time_s": "coast",
    "lap_time_spread": "spread",
    "ideal_gain_s": "ideal_gain",
    "improvement_s": "improvement",
    "average_speed_kmh": "average_speed",
    "avg_speed_kmh": "average_speed",
    "top_speed_kmh": "top_speed",
    "max_speed_kmh": "top_speed",
    "entry_speed_kmh": "entry_speed",
    "apex_speed_kmh": "apex_speed",
    "min_speed_kmh": "apex_speed",
    "exit_speed_kmh": "exit_speed",
    "reference_apex_speed_kmh": "best_apex_speed",
    "reference_exit_speed_kmh": "best_exit_speed",
    "entry_delta_kmh": "entry_delta",
    "apex_delta_kmh": "apex_delta",
    "exit_delta_kmh": "exit_delta",
    "peak_brake_bar": "brake_peak",
    "max_brake_bar": "session_brake_peak",
    "brake_point_delta_m": "brake_delta",
    "max_combo_g": "combined_g",
    "max_g_lat": "lateral_g",
    "score_pct": "score",
    "score": "score",
    "improvement_pct": "better_by",
    "n_laps": "n_laps",
    "lap_count": "n_laps",
    "n_passes": "n_passes",
    "steering_corrections": "corrections",
    "lap_time_std": "deviation",
}
"""Kind of the value below a key."""
LABELS: Final = (
    (r"time against the reference: (-?\d+(?:\.\d+)?) s", "delta_time"),
    (r"speed at the apex against it: (-?\d+(?:\.\d+)?) km/h", "apex_delta"),
    (r"speed at the exit against it: (-?\d+(?:\.\d+)?) km/h", "exit_delta"),
)
"""How differences are labelled, as patterns of the value, and their kinds."""
SHARES: Final = frozenset({"score_pct", "score"})
"""From 0 to 1, and spoken of in percent."""
