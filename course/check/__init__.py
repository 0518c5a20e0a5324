"""Checks across sources, of templates and of the built pages."""
