"""What is said to a driver while driving: rules on telemetry, phrases, and when to keep quiet."""
