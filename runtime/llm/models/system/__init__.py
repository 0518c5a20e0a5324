"""The built-in system model: one interface, several providers behind it."""
