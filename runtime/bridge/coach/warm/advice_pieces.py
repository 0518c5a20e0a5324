"""The pieces of which instructions to a driver are made, as patterns; data."""

from typing import Final

PIECES: Final = {
    "P": r"(?: (?:at|for|into|there|here))?",
    "IN": r"(?: (?:at|in|through|into|there|here))?",
    "OUT": r"(?: (?:at|of|out of|there|here))?",
    "STEPS": r"(?: (?:in small steps|stepwise))?",
    "A_BIT": r"(?:(?:just )?(?:a (?:little|touch|bit|little bit|few met(?:re|er)s)|slightly) )?",
    "D": r"(?:(?:the|your) )?",
    "SOFT": (
        r"(?:(?:very )?(?:smoothly|gently|slowly|gradually|progressively|calmly|softly|cleanly"
        r"|steadily|evenly|patiently)|in onemovement)"
    ),
    "BRAKE": r"(?:(?:the|your) )?brakes?(?: pedal| pressure)?",
    "GAS": r"(?:the )?(?:throttle|power|gas)",
    "WHEEL": r"(?:the|your) (?:steering wheel|wheel|steering)",
    "TURNING": (
        r"(?:(?:as|while|when) you turnin|as you (?:add|wind on) (?:the )?steering"
        r"|as the (?:car|nose) (?:turns|turnin|rotates)|to(?:wards)? the apex"
        r"|from turnin to the apex"
        r"|past (?:the )?turnin|into the apex|(?:all the way|down|on the way) to the apex"
        r"|until the apex|(?:on the way )?into the corner|into)"
    ),
    "OPENING": (
        r"(?:(?:as|when|while) you (?:unwind|open|open up|straighten|can unwind) (?:the|your) "
        r"(?:wheel|steering|hands)|as (?:the|your) (?:wheel|steering|hands) "
        r"(?:opens?(?: up)?|unwinds?|straightens?|comes? straight)|from the apex(?: on(?:wards)?)?"
        r"|after the apex|(?:at|on|towards) the exit|when the wheel (?:is straight|opens)"
        r"|when you (?:can )?see the exit|when the car (?:is turned|points straight))"
    ),
    "UNTIL_OPEN": (
        r"until (?:you (?:can )?(?:unwind|open|straighten) the (?:wheel|steering)"
        r"|you (?:can )?see the exit|the (?:wheel|steering) (?:opens|unwinds|is straight)"
        r"|the apex|the car (?:is turned|points straight))"
    ),
    "AHEAD": (
        r"(?:(?:far |further |well |early )?ahead|up|up and ahead|far ahead(?: on the straights?)?"
        r"|early to the (?:apex|exit)"
        r"|(?:up |ahead |early |far ahead |through (?:the corner )?|past the apex )?"
        r"(?:on|at|to|towards?|for) the (?:next )?(?:apex|exit|corner|corner exit|horizon)"
        r"(?: early)?"
        r"|(?:on|at|to|for) the next (?:marker|corner|reference|braking marker)"
        r"|through (?:the corner|to the exit)(?: to(?:wards)? the exit)?)"
    ),
    "SEEING": (
        r"(?: (?:before you (?:reach the (?:apex|turnin)|turnin)|from the apex on"
        r"|as you (?:come|go|drive) through(?: the corner)?|as you (?:turnin|unwind the wheel)"
        r"|on the straights?))?"
    ),
    "QUIET": r"(?:quiet|calm|steady|relaxed|light|soft|smooth|loose)",
    "IDLE": (
        r"(?:minimi[sz]ing|reducing|cutting|avoiding|less)(?: (?:the|your))? "
        r"(?:coasting|coast)(?: time)?"
    ),
}


def filled(pattern: str) -> str:
    """A pattern with its pieces."""
    for _ in range(3):
        for name, piece in PIECES.items():
            pattern = pattern.replace(f"{{{name}}}", piece)
    return pattern
