"""Session analytics: pure functions from a session's arrays to numbers."""
