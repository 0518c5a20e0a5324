class LeakyView(View):
    """A view with three mistakes of a kind that passes a quick look."""

    def names(self) -> list[str]:
        """Names of the notes, in order."""
        return sorted(
            name for owner, name in self._notes if owner.startswith(self._tenant)
        )

    def search(self, word: str) -> list[str]:
        """Names of the notes that hold a word."""
        found = [key for key, text in self._notes.items() if word in text]
        return [name for owner, name in found[:3] if owner == self._tenant]

    def delete(self, name: str) -> bool:
        """Remove a note; False if there is none of that name."""
        for owner, key in list(self._notes):
            if key == name:
                del self._notes[owner, key]
                return True
        return False


def check(view: type[View]) -> dict[str, bool]:
    """Which operations of a view stay inside one tenant; so far only one is tried."""
    notes: dict[tuple[str, str], str] = {}
    mia, ben = view(notes, "mia"), view(notes, "ben")
    mia.add("turn-5", "brake earlier")
    ben.add("turn-5", "brake later")
    return {"add": notes["mia", "turn-5"] == "brake earlier"}


print("LeakyView: add ok" if check(LeakyView)["add"] else "LeakyView: add CROSSES")
