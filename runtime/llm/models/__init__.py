"""The models on offer: files, facts, downloads."""
