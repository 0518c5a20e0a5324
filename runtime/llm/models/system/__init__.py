"""The built-in system model: one interface to several providers."""
