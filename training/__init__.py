"""Programs that make the shipped model files."""
