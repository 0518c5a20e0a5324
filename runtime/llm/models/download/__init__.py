"""Downloads of model files: resumed after a break, checked whole, from permitted places only."""
