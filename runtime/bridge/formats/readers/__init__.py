"""Readers of one file format each, with the parts that only they use."""
