"""Prints conversations of the corpus: python -m training.coach.corpus [count] [seed]."""

import sys
from itertools import islice

from training.coach.corpus.dialogue import chatml, conversations


def main() -> None:
    """Write a few conversations to the standard output."""
    count, seed = (int(text) for text in (sys.argv[1:] + ["12", "1"][len(sys.argv) - 1 :])[:2])
    for messages in islice(conversations(seed), count):
        sys.stdout.write(chatml(messages) + "\n")


if __name__ == "__main__":
    main()
