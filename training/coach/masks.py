"""Says which tokens of a conversation the model is taught to write."""

from collections.abc import Sequence


def taught(ids: Sequence[int], head: Sequence[int], end: int) -> list[bool]:
    """Marks what follows each *head*, up to and with the next *end*."""
    marks = [False] * len(ids)
    inside = False
    for at, token in enumerate(ids):
        marks[at] = inside
        if token == end:
            inside = False
        elif token == head[-1] and list(ids[at + 1 - len(head) : at + 1]) == list(head):
            inside = True
    return marks
