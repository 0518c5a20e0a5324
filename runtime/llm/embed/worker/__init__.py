"""The process that holds one embedding model: texts in, unit vectors out."""
