"""What makes the model files that the repository holds."""
