"""Live telemetry, cues and laps for InfluxDB and MQTT; each outlet is a listener of the hub."""
