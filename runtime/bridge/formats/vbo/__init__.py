"""VBO files, the text format of GPS loggers: read into a recording, every guess reported."""
