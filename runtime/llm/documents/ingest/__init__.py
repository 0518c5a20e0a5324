"""Loads a built course into the document store: ``python -m runtime.llm ingest SITE``."""
