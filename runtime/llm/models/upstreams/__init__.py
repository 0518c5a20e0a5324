"""Models of other OpenAI-compatible servers, such as vLLM and llama-server."""
