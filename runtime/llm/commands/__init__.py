"""The commands of `python -m runtime.llm`: pull and ingest."""
