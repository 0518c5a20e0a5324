"""The commands behind `python -m runtime.llm`: pull, ingest."""
