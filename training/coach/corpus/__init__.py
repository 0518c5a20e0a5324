"""Short driving-coach conversations, made from templates, the same for the same seed."""
