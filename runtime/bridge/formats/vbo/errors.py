"""The one exception for a file that cannot be read."""


class VboError(ValueError):
    """The file cannot be read as telemetry; the text says why and names no path."""
