"""The telemetry and coaching bridge."""

import runtime.bridge.can.leancan  # noqa: F401 - before anything loads python-can
