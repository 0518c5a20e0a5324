"""Turns facts into sentences: message files by language, numbers by system of units."""
