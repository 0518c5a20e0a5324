def crossing(view: type[View]) -> dict[str, bool]:
    """Which operations of a view stay inside one tenant, tried with hostile neighbours."""
    notes: dict[tuple[str, str], str] = {}
    ben, mia, mia2 = (view(notes, name) for name in ("ben", "mia", "mia2"))
    for number in range(5):
        ben.add(f"note-{number}", "brake here")
    ben.add("turn-5", "brake later")
    mia2.add("tyres", "1.8 bar")
    mia.add("turn-5", "brake earlier")
    found = {
        "add": notes["ben", "turn-5"] == "brake later",
        "list": mia.names() == ["turn-5"],
        "search": mia.search("brake") == ["turn-5"],
    }
    before = {key: text for key, text in notes.items() if key[0] != "mia"}
    mia.delete("turn-5")
    others = {key: text for key, text in notes.items() if key[0] != "mia"}
    return found | {"delete": others == before and ("mia", "turn-5") not in notes}


for kind in (View, LeakyView):
    tried = crossing(kind).items()
    told = ", ".join(f"{name} {'ok' if stays else 'CROSSES'}" for name, stays in tried)
    print(f"{kind.__name__:9}  {told}")
