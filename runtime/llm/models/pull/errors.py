"""What ends a pull early, in words for the person at the terminal."""


class PullFailed(Exception):
    """The model was not brought; the text is one plain line."""

    status = 1


class Misused(PullFailed):
    """The command line asks for something that cannot be; nothing was begun."""

    status = 2
