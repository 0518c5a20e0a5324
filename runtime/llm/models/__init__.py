"""The available models: files, metadata, downloads, system model, upstreams."""
