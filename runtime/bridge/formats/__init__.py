"""Importing of recordings: files opened safely, and the reader that fits each."""
