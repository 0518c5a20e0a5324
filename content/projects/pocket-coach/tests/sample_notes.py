"""The sample notes as a store, for the tests."""

from pathlib import Path

from search import Store


def sample_store() -> Store:
    """A store with the notes that lie beside the code under test."""
    store = Store()
    for path in sorted(Path("sample-notes").glob("*.md")):
        store.add(path.stem, path.read_text(encoding="utf-8"))
    return store
