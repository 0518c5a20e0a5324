"""The telemetry and coaching bridge."""

from typing import Final

import runtime.bridge.can.leancan  # noqa: F401 - before anything loads python-can

VERSION: Final = "0.1.0"
