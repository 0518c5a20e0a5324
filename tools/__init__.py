"""Programs for the development of the project."""
