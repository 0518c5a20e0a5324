"""The telemetry and coaching bridge."""
