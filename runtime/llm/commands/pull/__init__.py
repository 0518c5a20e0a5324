"""Brings model files into the models folder: ``python -m runtime.llm pull``."""
