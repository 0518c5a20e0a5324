"""The telemetry and coaching bridge."""

from typing import Final

VERSION: Final = "0.1.0"
