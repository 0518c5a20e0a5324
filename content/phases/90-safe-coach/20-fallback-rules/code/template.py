"""An answer that needs no model: facts in, sentences out."""

FACTS = {"corner": "T1", "loss_s": 0.23, "late_m": 11.0, "laps": 4}


def template(facts: dict[str, str | float]) -> str:
    """Say what the facts hold, and say so when one of them is missing."""
    if "corner" not in facts or "loss_s" not in facts:
        return "No corner stands out in this session."
    parts = [f"{facts['corner']} costs you {facts['loss_s']:.2f} s a lap."]
    if "late_m" in facts:
        side = "later" if float(facts["late_m"]) > 0 else "earlier"
        parts.append(
            f"You brake {abs(float(facts['late_m'])):.0f} m {side} than on your best lap."
        )
    else:
        parts.append("Your braking was not recorded, so I cannot say why.")
    if float(facts.get("laps", 0)) < 3:
        parts.append("That is from few laps: look again after the next session.")
    return " ".join(parts)


print(template(FACTS))
print(template({"corner": "T1", "loss_s": 0.23, "laps": 2}))
print(template({}))
