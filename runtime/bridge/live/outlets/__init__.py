"""Live telemetry, cues and laps for other programs: InfluxDB and MQTT, each one more listener."""
