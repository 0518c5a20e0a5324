"""Models that other OpenAI-compatible servers answer with, such as vLLM and llama-server."""
