"""Who tells the facts of each need."""

from typing import Final

from runtime.bridge.coach.facts import (
    claims,
    drivers,
    handling,
    judgements,
    knowledge,
    laps,
    measures,
    plans,
    reviews,
    sectors,
)
from runtime.bridge.coach.scene import Tellers

_OF_SESSION: Final[Tellers] = {
    **laps.TELLERS,
    **sectors.TELLERS,
    **drivers.TELLERS,
    **measures.TELLERS,
    **judgements.TELLERS,
    **claims.TELLERS,
    **handling.TELLERS,
    **reviews.TELLERS,
    **plans.TELLERS,
}
TELLERS: Final[Tellers] = {
    **_OF_SESSION,
    **knowledge.tellers_of(_OF_SESSION["strength"], _OF_SESSION["tips"]),
}
"""By kind of need; `query` alone has none: see `queries`."""
