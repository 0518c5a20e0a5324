"""Recorded CAN buses: logs read, decoded and turned into recordings, column by column."""
