"""Reads the data that the bridge ships with: known signals, CAN databases, cars."""
