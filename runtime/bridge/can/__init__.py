"""The CAN bus: adapters, frames, decoding, and the telemetry that comes of them."""
