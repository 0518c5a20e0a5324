"""The telemetry and coaching bridge."""

import runtime.bridge.can.import_python_can  # noqa: F401 - before anything loads python-can
