"""The process that holds one model file: llama.cpp, its KV cache and the conversations in it."""
