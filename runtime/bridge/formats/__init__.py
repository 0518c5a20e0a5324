"""Reads recorded files of many formats into recordings."""
