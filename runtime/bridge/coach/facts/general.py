"""The facts that every domain uses: what is not recorded, and what there is none of."""

from typing import Final

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term
from runtime.bridge.coach.need import Slots, Strange
from runtime.bridge.coach.scene import Scene
from runtime.bridge.track import model

_MOST_NAMES: Final = 6
"""More names of drivers or straights than that are no help in a sentence."""


NO_COMPLETE_LAP: Final = Fact("no-complete-lap")
"""The session has none, so that nothing of laps and corners is known."""
NO_CIRCUIT: Final = Fact("no-circuit")
"""There is no file of the session's circuit: no names, dangers or plan of it."""
NO_CORNERS: Final = Fact("no-corners")
"""Neither a track file nor positions tell where the corners are."""
NO_SESSION: Final = Fact("no-session")
"""None was named, or none of that driver is stored."""


def not_recorded(quantity: str) -> Fact:
    """The loggers did not record a quantity: a key of the messages ``quantity-…``."""
    return Fact("not-recorded", {"quantity": Term("quantity", quantity)})


def no_rival(scene: Scene) -> Fact:
    """No other driver has a session on this circuit."""
    return Fact("no-rival", driver=scene.driver)


def no_earlier(scene: Scene) -> Fact:
    """The driver has no session on this circuit before this one."""
    return Fact("no-earlier", driver=scene.driver)


def no_lap(said: str, drive: Drive) -> Fact:
    """The session has no lap of that name."""
    laps = [lap.number or 0 for lap in drive.counted]
    return Fact("no-lap", {"said": said, "count": len(laps), "first": laps[0], "last": laps[-1]})


def need_outing(scene: Scene) -> tuple[Fact, ...]:
    """Why nothing can be said of a session; empty where there is one with laps."""
    if scene.outing is not None:
        return ()
    return (NO_COMPLETE_LAP if scene.without_laps else NO_SESSION,)


def corners_of(scene: Scene) -> tuple[model.Corner, ...]:
    """The corners of the session's circuit in lap order, from its file or as driven."""
    if scene.outing is not None:
        try:
            return scene.outing.drive.corners
        except NoCorners:
            return ()
    return tuple(scene.track.in_lap_order()) if scene.track is not None else ()


def correct_strange(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """What the question names and this circuit or session does not have; at most two."""
    return tuple(_correct(scene, strange) for strange in slots.strange[:2])


def _correct(scene: Scene, strange: Strange) -> Fact:
    said: dict[str, Cell] = {"said": strange.text}
    circuit = scene.track.name if scene.track is not None else ""
    match strange.kind:
        case "corner":
            corners = corners_of(scene)
            if not corners:
                return Fact("no-corner-known", said)
            ends: dict[str, Cell] = {
                "count": len(corners),
                "first": Corner(corners[0].name),
                "last": Corner(corners[-1].name),
                "named": "yes" if circuit else "no",
                "circuit": circuit,
            }
            return Fact("no-corner", {**said, **ends})
        case "lap":
            return no_lap(strange.text, scene.outing.drive) if scene.outing else NO_COMPLETE_LAP
        case "sector":
            count = len(scene.outing.drive.sectors) if scene.outing else 3
            return Fact("no-sector", {**said, "count": count})
        case "straight":
            straights = scene.outing.drive.straights if scene.outing else ()
            return _name_others("no-straight", said, [each.name for each in straights])
        case _:
            return _name_others("no-driver", said, list(scene.rivals))


def _name_others(kind: str, said: dict[str, Cell], names: list[str]) -> Fact:
    """There is none of that name; the names that there are, if they are few."""
    if not 0 < len(names) <= _MOST_NAMES:
        return Fact(f"{kind}-known", said)
    return Fact(kind, {**said, "names": tuple(names)})
