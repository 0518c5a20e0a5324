"""The words of danger: of what a driver tells, and of what is asked about a risk; patterns only."""

import re
from typing import Final

from runtime.bridge.coach.agents import danger_told as told
from runtime.bridge.coach.agents.crash_words import HIT, LOST
from runtime.bridge.coach.agents.topic_words import Pattern, Words


def _any(*patterns: str) -> Pattern:
    """Any of the patterns, as whole words."""
    return re.compile(r"(?<![A-Za-z])(?:" + "|".join(patterns) + r")(?![A-Za-z])")


_AIDS: Final = r"(?:abs|esc|esp|dsc|tcs?|traction(?: control)?|stability(?: control)?)"
HAZARDS: Final[Words] = (
    (
        "fire",
        _any(
            r"(?:on|a|caught) fire",
            "flames?",
            r"smok(?:e|es|ing)",
            "burning smell",
            r"smell\w* (?:of )?(?:burn\w*|fuel|petrol|gas)",
            r"fuel (?:is )?leak\w*",
            "leaking fuel",
        ),
    ),
    (
        "flag",
        _any(r"(?:red|yellow|black|blue|white|waved) flags?", "safety car", "code 60", "marshals?"),
    ),
    ("worn", told.WORN),
    (
        "ill",
        _any(
            "dizzy",
            r"faint(?:ed|ing)?",
            r"nause\w+",
            r"concuss\w+",
            "bleeding (?:from|badly)",
            r"injur\w+",
            "passed out",
            r"black(?:ed)? out",
            "unwell",
            "chest pain",
            r"i(?:'m| am| feel)(?: \w+)? (?:ill|sick|hurt)",
            r"(?:can'?t|cannot) breathe",
            r"(?:can'?t|cannot) see(?: (?:anything|nothing|out|well|properly|clearly|straight"
            r"|the (?:track|road)))*(?=[.,!?]|$| (?:and|any ?more|because|through)\b)",
            r"(?:i'm|i am|(?:hands|legs|arms) are) (?:\w+ )?(?:shaking|trembling|numb)",
            r"blurr\w+",
            "hurt (?:my|myself)",
            r"my (?:head|neck|chest|back|arm|hand|leg)\w* (?:\w+ )?hurts?",
        ),
    ),
    (
        "brakes",
        _any(
            r"(?:brakes?|pedal)\b(?: \w+){0,4} (?:fail\w*|fad(?:e|es|ed|ing)|gone|broken|broke"
            r"|to the floor|spongy|not work\w*|do(?:es)?n'?t work"
            r"|won'?t (?:work|stop|hold)|leak\w*)",
            r"brakes?(?: pedal)? (?:feel\w*|are|is|were|was|seem\w*|get\w*|got|go\w*|went|became)"
            r" (?:\w+ ){0,2}(?:soft|spongy|mushy|weak|weird|funny|odd|strange|long)",
            r"(?:soft|spongy|mushy) (?:brakes|pedal)",
            r"(?:no|lost (?:my |the )?) ?brakes",
            "brake (?:failure|fade)",
            r"pedal (?:is|feels|goes|went|gets) (?:\w+ )?(?:soft|long)",
        ),
    ),
    ("brakes", told.BRAKES),
    ("crash", told.HIT_ME),
    ("others", told.OTHERS),
    (
        "crash",
        _any(
            r"i(?:'ve| have)?(?: just| nearly| almost| also)? (?:crashed|spun|rolled"
            rf"|went (?:straight )?off|{HIT}"
            r"|had an? (?:\w+ )?(?:accident|crash|spin|shunt)"
            rf"|{LOST})",
            "^(?:crashed|spun)",
            "crashed (?:the|my) car",
            "in(?:to)? the (?:wall|barriers?)",
        ),
    ),
    ("stranded", told.STRANDED),
    (
        "track",
        _any(
            r"(?<!do )(?<!does )(?:oil|fluid|fuel|debris|gravel|diesel|coolant|animals?|deer"
            r"|people|somebody|someone)"
            r" (?:\w+ )?on (?:the )?(?:track|line|circuit|road)",
            "oil (?:spill|slick)",
        ),
    ),
    ("track", told.THINGS),
    ("throttle", told.THROTTLE),
    (
        "car",
        _any(
            r"(?:steering|throttle|wheel|suspension)\b(?: \w+){0,3}"
            r" (?:fail\w*|broken?|came off|stuck|coming off|wobbl\w*)",
            r"punctur\w+",
            "blow-?out",
            "(?:flat|burst) (?:tyre|tire)",
            r"(?:tyre|tire) (?:\w+ )?burst",
            r"overheat(?:s|ed|ing)?",
            r"(?:warning|fuel|oil|engine|temperature|battery|brake warning) (?:warning )?light",
        ),
    ),
    ("car", told.CONTROL),
    ("car", told.DRIVE),
    ("car", told.SENSED),
    (
        "drunk",
        _any(
            r"(?:beers?|wine|whisk(?:e)?y|vodka|gin|schnapps|alcohol\w*|drunk|tipsy|hung ?over"
            r"|hangover)",
            r"(?:a|few|some|couple of|two|three|\d) (?:\w+ )?(?:drinks|pints?|shots of)",
            r"(?:had|having|have) (?:a|another) (?:drink|pint|joint)",
            r"(?:weed|cannabis|stoned|cocaine|drugs?|sleeping pills?|painkillers?)",
        ),
    ),
    (
        "gear",
        _any(
            r"without (?:(?:a|my|the|any) )?(?:helmet|(?:seat ?)?belts?|harness|gloves|hans"
            r"|overalls?)",
            r"(?:no|skip|leave off|take off) (?:(?:my|the) )?(?:helmet|(?:seat ?)?belts?|harness)",
            r"(?:need|wear|have to wear) (?:a |my |the )?(?:helmet|(?:seat ?)?belts?|harness)",
            r"(?:helmet|(?:seat ?)?belts?|harness) (?:off|undone|loose|open)",
        ),
    ),
    (
        "road",
        _any(
            r"(?:on|down|along|at) (?:the |a |my )?(?:(?:public|open|normal) roads?|highway"
            r"|motorway"
            r"|streets?|autobahn|freeway|interstate|expressway)",
            r"(?:drive|race|do (?:that|this)) (?:\w+ ){0,2}on the road"
            r"(?: like (?:that|this))?",
            r"street rac\w+",
        ),
    ),
    (
        "aids",
        _any(
            rf"(?:switch|turn|take|put|disabl\w*|deactivat\w*"
            rf"|pull)\b.{{0,25}}\b{_AIDS}\b.{{0,12}}\boff",
            rf"(?:switch|turn|take)\w* off (?:the |my )?{_AIDS}",
            rf"(?:disabl\w*|deactivat\w*|(?:drive|driving|go|race|run) without) (?:the "
            rf"|my )?{_AIDS}",
            rf"(?:with|drive with) (?:the |my )?{_AIDS} off",
            rf"{_AIDS} off",
        ),
    ),
)
"""Danger that is told of, or asked about; the first that fits counts."""
ASKS: Final = re.compile(r"(?:did|have|has|where|when|which|how (?:many|often)|any)\b")
"""How a question begins that asks for what happened, and tells of no danger now."""
CAREFUL: Final = _any(
    r"(?:crash|accident|spin|fail|fear|frighten|panic|injur|pain|smok|burn|danger|risk|rain)\w*",
    r"(?:slipper|aquaplan|overheat|punctur|overtak|fog|snow)\w*",
    "spun|shunt|roll(?:ed|over)|scared?|scary|afraid|terrified|nervous|hurts?|ill|sick|dizzy",
    r"faint\w*|tired|exhausted|unwell|fire|flames?|flags?|marshals?|(?:un)?safe(?:ly|ty)?|flat",
    "wet|damp|greasy|puddles?|ice|icy|walls?|barriers?|oil|debris|emergency|die|died|killed?",
    r"without (?:braking|brakes|lifting)|brakes? (?:\w+ )?(?:gone|fad\w+)",
    "pedal (?:goes|went|is|feels)",
)
"""Too grave for a model."""
WET: Final = _any(
    "wet", r"rain\w*", "damp", "greasy", r"slipper\w*", r"aquaplan\w*", "puddles?", "wetter"
)
FOUL: Final = _any(
    r"wet(?:ter)?|rain\w*|damp|greasy|slipper\w*|aquaplan\w*|puddles?|standing water",
    r"snow\w*|hail\w*|ic[ey]|icy|frost\w*|storm\w*|thunder\w*|drizzl\w*|fog\w*|mist\w*|flood\w*",
)
"""Weather of which no file of a circuit knows whether it is there."""
FLAT: Final = _any(
    r"(?:can|could|should|may|shall|must|would|safe|ok(?:ay)?|possible|dare|try|want|tell|going)\b"
    r".{0,40}\b(?:flat|full throttle|without (?:a )?(?:brak\w*|lift\w*)|skip (?:the )?brak\w*)",
    r"is CORNER (?:\w+ )?flat(?: ?-?out)?(?! or| (?:up|down))",
)
RISKS: Final[Words] = (
    ("overtake", _any(r"overtak\w*", "pass (?:somebody|someone|him|her|a car|another)")),
    ("wall", _any("walls?", "barriers?", "armco", "run-?off")),
    ("fear", _any("scared", "afraid", "fear", "frightened", "terrified", r"frightens\w*")),
    ("safe", _any("(?:un)?safe(?:ly|ty)?", r"danger\w*", r"risk\w*")),
)
WHICH_DANGER: Final = _any(
    r"(?:which|what|where)\b.{0,30}\b(?:danger\w*|risk\w*|safest)",
    r"(?:which|what|where)\b.{0,20}\b(?:could|can|might|would|may|am i likely to|is it easy to"
    r"|do (?:people|others|drivers|most)|not to) (?:\w+ )?(?:crash|spin|go off|get hurt|hit)\w*",
    r"where\b.{0,20}\b(?:careful|cautious|take (?:\w+ )?care|be wary|watch out|look out|respect"
    r"|go wrong|leave (?:a )?margin)(?! (?:last|on lap))",
    r"(?:what|which (?:corner|turn|place|spot|bend)s?) (?:should|must|do) i (?:\w+ )?(?:watch out"
    r"|look out|be careful|take care|respect|fear)\b.{0,12}",
    r"(?:where(?:'s| is| are)|which corners? ha(?:s|ve)) (?:the |there )?(?:an? )?(?:walls?"
    r"|barriers?|armco|guard ?rails?)",
)
MAY: Final = _any(r"(?:is it |are they )?(?:ok(?:ay)?|all ?right|fine|safe)", "(?:can|may|could) i")
"""Asks leave."""
IF_WET: Final = re.compile(
    r"(?:(?:and|but|so|what about|how about|what if|what|if|ok(?:ay)?|then)[, ]+)*"
    r"(?:it |it's |when |its )*(?:was |is |were |starts |in the |in |to |turns |gets )*"
    r"(?:wet|rain\w*|damp|greasy|slippery)[?!. ]*"
)
"""Nothing but whether it were wet."""
BOARD: Final = re.compile(r"\b(\d{2,3}) ?(?:m\b|met(?:er|re)s?|board|marker|sign)")
