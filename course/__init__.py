"""The course generator: authored lessons in, a static site and a JSON tree out."""
