"""A store of notes that is asked through a view of one tenant."""


class Store:
    """Notes of all tenants; nobody but a view reads them."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], str] = {}

    def of(self, tenant: str) -> "View":
        """What one tenant may see and change."""
        return View(self._notes, tenant)


class View:
    """The notes of one tenant: every key that it makes begins with the tenant."""

    def __init__(self, notes: dict[tuple[str, str], str], tenant: str) -> None:
        self._notes, self._tenant = notes, tenant

    def add(self, name: str, text: str) -> None:
        """Store a note, in place of one of the same name."""
        self._notes[self._tenant, name] = text

    def names(self) -> list[str]:
        """Names of the notes, in order."""
        return sorted(name for owner, name in self._notes if owner == self._tenant)

    def search(self, word: str) -> list[str]:
        """Names of the notes that hold a word."""
        return [
            name for name in self.names() if word in self._notes[self._tenant, name]
        ]

    def delete(self, name: str) -> bool:
        """Remove a note; False if this tenant has none of that name."""
        return self._notes.pop((self._tenant, name), None) is not None


store = Store()
mia, ben = store.of("mia"), store.of("ben")
mia.add("turn-5", "brake 15 m earlier than it feels")
ben.add("turn-5", "brake at the hundred")
print("mia finds", mia.search("brake"), "and ben deletes:", ben.delete("turn-5"))
print("mia still has", mia.names())
