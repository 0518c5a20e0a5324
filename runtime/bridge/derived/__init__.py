"""What is computed from stored sessions and kept: their laps, and analytics of them."""
