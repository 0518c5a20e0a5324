"""Whether the facts bear out what a model says: no number, place or direction but theirs."""
