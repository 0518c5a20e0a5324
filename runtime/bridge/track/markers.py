"""The markers of a circuit, by corner and by kind."""

from runtime.bridge.track.model import Marker, Track


def select(track: Track, *, corner: str | None = None, kind: str | None = None) -> list[Marker]:
    """The markers by distance; of the corner of that exact name or number, of that kind.

    A kind may be given by its first word, as ``brake`` for ``brake_ref``; an unknown kind or
    corner has none.
    """
    chosen = list(track.markers)
    if corner is not None:
        known = track.corner(corner)
        name = known.name if known else None
        chosen = [m for m in chosen if name is not None and m.corner == name]
    if kind is not None:
        chosen = [m for m in chosen if kind in (m.kind, m.kind.removesuffix("_ref"))]
    return chosen
