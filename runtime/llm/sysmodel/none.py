"""The provider for a machine without a system model: always unavailable, with the reason why."""

from collections.abc import AsyncGenerator

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.sysmodel.base import Availability, Limits, ProbeError, Status, SystemChat
from runtime.llm.sysmodel.cells import every_cell
from runtime.llm.sysmodel.replies import Reply
from runtime.llm.values import Generation


class NoSystemModel:
    """Answers every question with "there is none"."""

    name = "none"

    def __init__(self, reason: str = "not_configured") -> None:
        self._state = Availability(Status.UNAVAILABLE, reason)

    @property
    def limits(self) -> Limits:
        """The smallest there are."""
        return Limits()

    async def probe(self) -> Availability:
        """Unavailable."""
        return self._state

    async def probe_configs(self) -> dict[str, Availability | ProbeError]:
        """Four times unavailable."""
        return every_cell({}, self._state)

    async def download(self) -> Availability:
        """Raises `SysmodelUnavailable`: there is nothing to download."""
        raise SysmodelUnavailable("no system model is configured, so there is nothing to download")

    def generate(self, chat: SystemChat) -> Generation:
        """Raises `SysmodelUnavailable` at the first piece."""
        return Reply(_refuse)

    async def warm(self) -> None:
        """Raises `SysmodelUnavailable`."""
        raise _none()

    async def idle(self) -> None:
        """Holds nothing to give back."""

    async def close(self) -> None:
        """Has nothing to stop."""


_NO_PIECES: tuple[str, ...] = ()


async def _refuse(_reply: Reply) -> AsyncGenerator[str, None]:
    for piece in _NO_PIECES:  # what makes this a generator
        yield piece
    raise _none()


def _none() -> SysmodelUnavailable:
    return SysmodelUnavailable("no system model is configured on this machine")
