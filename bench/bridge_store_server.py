"""The bridge with a slower disk: ``bridge_store_server.py MILLISECONDS FLAGS…``."""

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.bridge_store import slowed
from runtime.bridge.server import main
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Choice, SignalRow

_open = Store.open


def slow_store(sleep_ms: float) -> None:
    """Have each commit of the store take that much longer."""

    async def opened(path: Path, backend: Choice = "auto", seed: Sequence[SignalRow] = ()) -> Store:
        store = await _open(path, backend, seed)
        slowed(store, sleep_ms)
        return store

    Store.open = opened  # type: ignore[method-assign]


if __name__ == "__main__":
    if float(sys.argv[1]):
        slow_store(float(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
