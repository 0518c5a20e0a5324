"""The CAN bus: adapters, frames, decoding and live telemetry."""
