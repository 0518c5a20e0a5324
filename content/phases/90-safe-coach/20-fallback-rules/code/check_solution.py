def is_grounded(sentence: str, corner: str) -> bool:
    """Whether the sentence has numbers, and all of them are known of its corner."""
    numbers = {(unit, float(n)) for n, unit in NUMBER.findall(sentence)}
    return bool(numbers) and numbers <= KNOWN.get(corner, set())


def answer(reply: str, facts: dict[str, str | float]) -> str:
    """What the driver sees: the rule first, then what is left of the model, marked."""
    kept, dropped = checked(reply)
    note = f"Coach model: {' '.join(kept)}" if kept else "(by rule)"
    return f"{template(facts)}\n{note}\n[{len(dropped)} of {len(kept + dropped)} sentences dropped]"


print(answer(REPLY, FACTS))
