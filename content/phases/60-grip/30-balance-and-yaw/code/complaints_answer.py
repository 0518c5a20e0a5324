Pass = tuple[int, str, str, int, float, str]


def balance(one: Pass) -> str:
    """What a pass shows; small differences are noise."""
    _, _, _, extra_deg, turns_in_dps, _ = one
    if extra_deg <= -10 or turns_in_dps >= 3:
        return "oversteer"
    return "understeer" if extra_deg >= 10 else "neutral"


def cause(passes: list[Pass]) -> str:
    """Where to begin: with the driver, the tyres or the set-up."""
    bad = [one for one in passes if balance(one) != "neutral"]
    good = [one for one in passes if balance(one) == "neutral"]
    if all(one[5] for one in bad):
        return "driver: it comes with an unusual input"
    if good and min(one[0] for one in bad) > max(one[0] for one in good):
        return "tyres: it was not there on the early laps"
    if not good and len({one[1] for one in bad}) > 1:
        return "set-up: every lap, more than one corner"
    return "not clear: collect more laps"


for complaint, passes in COMPLAINTS.items():
    names = [balance(one) for one in passes]
    print(f"{complaint}: {', '.join(names)}")
    print(f"  {cause(passes)}")
