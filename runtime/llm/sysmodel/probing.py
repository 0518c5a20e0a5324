"""Reads the state of the system model cheaply: cached, shared, never waited for long."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.sysmodel.base import Availability, ProbeError, Provider, Status
from runtime.llm.sysmodel.refusals import refusal

FRESH_S = 2.0
WAIT_S = 0.5
LIMIT_S = 10.0
CONFIGS_S = 5.0
_SLOW = "the system model's provider did not answer in time"


class CachedProbe:
    """The last answer for two seconds, then a new probe that a caller waits half a second for.

    A probe that takes longer goes on in the background; meanwhile the last answer stands.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait_s: float = WAIT_S,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._wait_s = wait_s
        self._limit_s = limit_s
        self._task: asyncio.Task[None] | None = None
        self._last: Availability | ProbeError | None = None
        self._stale_at = 0.0

    @property
    def last(self) -> Availability | None:
        """What the last probe found, without a new one; None where that is not known."""
        return self._last if isinstance(self._last, Availability) else None

    async def read(self) -> Availability:
        """The state. Raises `ProbeError` when it cannot be known."""
        state = await self.state()
        if isinstance(state, ProbeError):
            # A new one each time: a raised exception collects the traceback of who raised it.
            raise ProbeError(str(state))
        return state

    async def state(self) -> Availability | ProbeError:
        """As `read`, with the failure as a value."""
        if self._last is not None and self._clock() < self._stale_at:
            return self._last
        if self._task is None:
            self._task = asyncio.create_task(self._probe(), name="sysmodel-probe")
        await asyncio.wait({self._task}, timeout=self._wait_s)
        return self._last or ProbeError(_SLOW)

    async def configs(self) -> dict[str, Availability | ProbeError]:
        """The four cells, read anew. Raises `ProbeError` when they cannot be had."""
        try:
            async with asyncio.timeout(CONFIGS_S):
                return await self._provider.probe_configs()
        except TimeoutError:
            raise ProbeError(_SLOW) from None

    def forget(self) -> None:
        """Make the next reader probe anew, as after a download was started."""
        self._stale_at = 0.0

    async def preflight(
        self, local_models: Sequence[str] = (), *, auto_download: bool = False
    ) -> None:
        """Return if the system model can answer now, else raise the `RichError` that says why.

        *local_models* are offered as a way out. With *auto_download* a model that can be
        downloaded and was not tried in vain starts to be.
        """
        state = await self.state()
        if auto_download and state == Availability(Status.DOWNLOADABLE):
            with suppress(SysmodelUnavailable):  # then the state as it was says enough
                state = await self._provider.download()
            self.forget()
        if (refused := refusal(state, local_models)) is not None:
            raise refused

    async def close(self) -> None:
        """Stop a probe under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _probe(self) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                self._last = await self._provider.probe()
        except TimeoutError:
            self._last = ProbeError(_SLOW)
        except ProbeError as failure:
            self._last = ProbeError(str(failure))
        finally:
            self._stale_at = self._clock() + FRESH_S
            self._task = None
