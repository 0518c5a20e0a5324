"""The process of a model file: llama.cpp, its KV cache and the cached conversations."""
