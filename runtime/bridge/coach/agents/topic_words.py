"""The words by which a question asks for one fact or another; patterns, and nothing else.

They fit a text as `naming.named` leaves it: small letters, and CORNER, LAP, SECTOR, STRAIGHT in
place of names.
"""

import re
from typing import Final, TypeAlias

from runtime.bridge.coach.agents.crash_words import HIT, LOST

Pattern: TypeAlias = re.Pattern[str]
Words: TypeAlias = tuple[tuple[str, Pattern], ...]


def _any(*patterns: str) -> Pattern:
    """Any of the patterns, as whole words."""
    return re.compile(r"(?<![A-Za-z])(?:" + "|".join(patterns) + r")(?![A-Za-z])")


MEASURES: Final[Words] = (
    ("trail_brake", _any(r"trail ?-?brak\w*")),
    (
        "brake_release",
        _any(
            r"(?:let|come|coming|get|got|came|am|was) off (?:of )?the brakes?",
            r"releas\w* (?:the |my )?brak\w*",
            r"brak\w* release",
            r"(?:end|stop|finish)\w* (?:of )?(?:my )?braking",
        ),
    ),
    ("g_brake", _any(r"braking g\w*", r"gs? (?:under|while|when|in|on) brak\w*", r"decelerat\w*")),
    (
        "brake_pressure",
        _any(
            r"how (?:hard|much)\b.{0,30}\bbrak\w*",
            r"brak\w* (?:pressure|force)",
            r"hard(?:er|est)? brak\w*",
            r"brak\w* (?:the )?(?:so |too |very )?(?:hard|soft|light)\w*",
            r"(?:how many |peak |max |most )bar",
            r"brak\w* enough",
        ),
    ),
    (
        "brake_point",
        _any(
            r"(?:where|when|what point|which point|how (?:late|early|far|soon))\b.{0,40}\bbrak\w*",
            r"brak\w* (?:point|marker|distance|reference|board|zone)s?",
            r"brak\w* (?:too |so |any )?(?:late|early|sooner|later|earlier)",
            r"(?:late|early|later|earlier) (?:on|with) the brakes?",
            r"start\w* (?:to )?brak\w*",
            r"brak\w* (?:the )?(?:latest|earliest)",
            r"(?:m|met(?:er|re)s) (?:before|in front of) CORNER\b.{0,20}\bbrak\w*",
            r"brak(?:e|es|ed|ing) (?:for|at|into|in) CORNER",
        ),
    ),
    (
        "g_accel",
        _any(r"accelerat\w* gs?", r"gs? (?:under|while|when) accelerat\w*", "acceleration"),
    ),
    ("g_total", _any(r"(?:combined|total|combo) (?:g|acceleration)\w*")),
    (
        "g_lat",
        _any(
            r"lateral\w*(?: g\w*)?",
            r"cornering (?:g|force)\w*",
            r"(?:how (?:many|much)|max\w*|peak|most|highest|what) gs?(?:-?forces?)?",
            r"g'?s",
            r"g ?-?forces?",
            r"gs? (?:do|did) i pull",
        ),
    ),
    ("corrections", _any(r"correct(?:ion|ing|ed)?s?", "sawing")),
    ("steering", _any(r"steering", r"steer(?:ed)?", r"wheel angle", r"how much lock")),
    (
        "coast",
        _any(r"coast\w*", r"(?:neither|no|off both) pedals?", r"between (?:the )?pedals"),
    ),
    (
        "throttle_on",
        _any(
            r"(?:when|where|how (?:early|late|soon))\b.{0,40}\b(?:throttle|gas|power|accelerat\w*)",
            r"(?:throttle|gas|power|accelerat\w*)\b.{0,15}\b(?:early|late|soon|earlier|later|sooner)",
            r"(?:early|late|soon)\w*\b.{0,12}\bon (?:the )?(?:throttle|gas|power)",
        ),
    ),
    (
        "throttle_exit",
        _any(
            r"(?:throttle|gas|power|accelerator)\b.{0,30}\bexit\w*",
            r"exit\b.{0,20}\b(?:throttle|power)",
        ),
    ),
    ("throttle", _any(r"full throttle", r"flat ?-?out", r"wide open", "throttle", r"on the gas")),
    ("rpm", _any(r"revs?", r"rpms?", r"engine speed", "revving", r"rev limit\w*")),
    (
        "speed",
        _any(
            r"\w*speeds?",
            r"too (?:slow|fast)",
            r"how (?:fast|slow|quick)\w*",
            r"fast(?:est)? (?:was|did|do|am|were) i",
            r"v-?max",
            r"km ?/?h",
            "kph",
            "mph",
            r"where\b.{0,15} (?:fastest|quickest)(?! lap)",
            r"(?:fastest|quickest|slowest) (?:corner|turn|straight|point|part|place)s?",
        ),
    ),
    ("time", _any(r"how long", "seconds", r"time (?:in|through|for|at)", r"my time", "times?")),
)
"""What can be measured; the first that fits counts."""
SPOTS: Final[Words] = (
    ("exit", _any(r"exit\w*", "out of", r"leav\w+", "coming out")),
    ("slowest", _any(r"min\w*", r"lowest", r"slowest(?: point)?")),
    ("apex", _any(r"apex\w*", r"mid-?(?: ?corner)?", "middle")),
    ("entry", _any(r"entr(?:y|ies)", r"enter\w*", r"turn-?in", "going into", "into CORNER")),
)
LATE: Final[Words] = (
    ("late", _any(r"(?:too |so |very )?late", "later than", "early enough")),
    ("early", _any(r"(?:too |so |very )?early", "earlier than", "late enough")),
)
JUDGED: Final = _any("too", "enough", r"am i \w+ing")
"""Whether something was as it should be."""
HOW: Final[Words] = (
    ("each", _any(r"(?:each|every|per|by|all|all the|all my) (?:laps?|corners?|turns?|sectors?)")),
    ("mean", _any(r"average\w*", "mean", r"usual\w*", r"typical\w*", "median", "normally")),
    ("least", _any(r"min\w*", "lowest", "slowest", "least", "smallest", "slow")),
    ("most", _any("top", r"max\w*", "highest", "peak", "fastest", "hardest", "most", "biggest")),
)
WHERE: Final = _any("where", r"(?:which|what) (?:corner|turn|straight|part|bend|place)s?")
WHICH_LAP: Final = _any(r"(?:which|what) lap", "on which lap", "when")
WHY: Final = _any("why", "how come", r"what (?:made|went wrong)", "reason")
SHOULD: Final = _any(
    r"(?:should|could|can|must|ought|need|shall|would) (?:i|we)",
    r"how (?:can|could|should|to)",
    r"how do (?:i|we|you) (?:fix|improve|get|go|become|take|drive|brake|correct|approach)",
    "help",
    "tips?",
    "improve",
    "advice",
    r"(?:go|be|get) (?:faster|quicker|better)",
    "work on",
    "do differently",
)
COUNT: Final = _any(
    r"(?:how many|number of|total|count of|amount of) (?:\w+ ){0,3}?"
    r"(laps?|corners?|turns?|sectors?|sessions?|straights?)"
)
LIMIT: Final = re.compile(
    r"\b(under|below|faster than|quicker than|over|above|slower than) (?:a )?(?:(\d{1,2}):)?"
    r"(\d{1,3}(?:\.\d+)?)(?![\d:])(?! ?(?:km|bar|m\b|g\b|laps))"
)
ABOVE: Final = frozenset({"over", "above", "slower than"})
AMOUNT: Final = _any("what", r"how (?:fast|slow|much|quick)")
GRADE: Final = _any(r"grades?", r"grading", r"scores?", r"rank(?:ing)?", "letter")
EVER: Final = _any(
    r"(?:best|fastest|quickest|pb|record|LAP|time) (?:lap |time |here )?(?:ever|of all time)",
    r"all[- ]time (?:best|fastest|record)",
    "lap record",
    r"(?:beat|beaten|break|broke|broken) (?:my |the )?(?:\w+ )?(?:pb|best|record|LAP)",
)
PLANNED: Final = _any(
    "i have", "left", "available", "should i", r"(?:to|can i|could i|will i|must i) (?:do|drive)"
)
MISHAPS: Final[Words] = (
    (
        "spin",
        _any(
            r"(?<!wheel )sp[iu]n(?:s|ning|ned)?",
            LOST,
            "loop",
        ),
    ),
    (
        "off_line",
        _any(
            r"(?:go|went|gone|going|run|ran|running|been|slide|slid) (?:\w+ )?(?:off|wide)",
            "offs",
            r"off[- ]?(?:track|road)",
            r"(?:leave|left|leaving) the (?:track|road)",
            "track limits?",
            "excursions?",
            r"in(?:to)? the (?:gravel|grass)",
        ),
    ),
    ("stopped", _any("did i (?:ever )?(?:stop|stall)", "stalled", "stand(?:ing)? still")),
    ("lock", _any(r"lock(?:ed|ing)? ?-?ups?", r"lock(?:ed|ing)? (?:a|the|my|up)\b.{0,12}", "abs")),
    (
        "any",
        _any(
            r"crash(?:ed|es)?",
            "accidents?",
            "incidents?",
            HIT,
            r"(?:close|near) (?:calls?|miss(?:es)?)",
        ),
    ),
)
BEFORE: Final = _any(
    r"(?:better|faster|quicker|slower|worse|improv\w*|compare\w*|progress\w*|change\w*|differ\w*"
    r"|gain\w*|than|beat|lost|vs)\b.{0,40}\b(?:last|previous|prior|yesterday'?s?|past"
    r"|earlier (?:session|time|outing|run|visit|day|event|week)s?)\b"
    r"(?! (?:lap|corner|turn|sector)) ?(?:session|time|outing|run|visit|day|event|week)?",
    r"(?:last|previous|earlier|prior) (?:session|outing|visit|track ?day|time out)",
    r"(?:than|beat|since|to) (?:yesterday|last time|before)",
)
WEAK: Final = _any(
    r"slow(?:er|est)?",
    r"weak(?:est|er|ness)?",
    "worst",
    r"los(?:e|ing|t|es|s)",
    "most time",
    r"costs?(?:ing)?",
    "bad",
    "poor(?:est)?",
    r"improve\w*",
    "work on",
    r"struggl\w+",
    "behind",
    r"(?:leav\w+|find|gain|most) (?:\w+ )?time",
    "focus",
    "potential",
)
STRONG: Final = _any(r"best", r"strong(?:est)?", r"fast(?:est)?", r"quick(?:est)?", "good", "well")
LOSS: Final = _any(
    r"(?:los(?:e|ing|t|es)|leav\w+|find|gain|win|wast\w+|bleed\w*|save|give away|pick up)\b.{0,25}"
    r"\b(?:time|most|tenths?|seconds?)",
    r"where\b.{0,25}\b(?:los\w+|slow(?:er|est)?|weak\w*|time|improve|behind)(?! lap)",
    r"where\b.{0,25}\b(?:faster|quicker)",
    r"time\b.{0,20}\b(?:los\w+|leav\w+|left|wast\w+)",
    r"(?:weakest|worst|biggest|weak|problem|bad) (?:corner|turn|bend|point|area|spot|part|loss)\w*",
    r"weakness(?:es)?",
    r"(?:which|what) (?:corner|turn|bend|part)s?\b.{0,40}\b(?:slow\w*|weak\w*|worst|los\w+|cost\w*"
    r"|improve|work|bad|struggl\w*|focus|most time)",
    r"what (?:should|can|do|must|could) (?:i|we) (?:\w+ ){0,2}(?:improve|work on|focus on|fix)",
    r"biggest (?:loss|gain|problem|mistake)",
    r"(?:costing|slowing|holding|costs?) me",
    r"how (?:can|do|could) i (?:go|get|be|become) (?:faster|quicker)",
)
STRENGTH: Final = _any(
    r"(?:best|strongest|favou?rite|cleanest) (?:corner|turn|bend|part)s?",
    r"(?:which|what) (?:corner|turn|bend)s?\b.{0,30}\b(?:best|good|great|strong\w*|well|keep)",
    r"where\b.{0,20}\b(?:best|strong\w*|good)(?! lap)",
    r"strengths?",
    r"(?:something|anything) good",
    r"(?:am i|i'm) any good",
    r"what (?:did|do) i do (?:well|right|best)",
)
SPREAD: Final = _any(
    r"(?:in)?consisten\w*",
    r"repeatab\w*",
    "spread",
    r"var(?:y|ies|iance|iation)",
    "steady",
    "steadiest",
    r"how close\b.{0,20}\blaps?",
)
SHAPES: Final[Words] = (
    (
        "direction",
        _any(
            r"left or (?:a )?right",
            r"right or (?:a )?left",
            r"(?:left|right)[- ]?hand(?:er|ed)?",
            r"which (?:way|direction|side)",
            r"is CORNER (?:a |an |to the |going )?(?:left|right)",
            "direction",
            r"CORNER (?:go|goes|turn|turns|bend|bends) (?:to the )?(?:left|right)",
            r"does CORNER (?:go|turn|bend)(?! (?:up|down))",
        ),
    ),
    (
        "slope",
        _any(r"(?:up|down) ?-?hill", r"climb\w*", "slope", "rises?", "elevation", "crest", "flat"),
    ),
    (
        "severity",
        _any(
            r"tight\w*", r"sharp\w*", "hairpin", "radius", r"what (?:kind|type|sort)", "how long is"
        ),
    ),
    (
        "tip",
        _any(
            "line",
            r"how (?:do|should|to|would) (?:(?:i|you|we|one) )?(?:drive|take|approach|tackle)",
            r"(?:should|would|do) (?:i|you) (?:drive|take|approach|tackle)",
            "markers?",
        ),
    ),
    ("name", _any("called", r"nickname\w*", r"name", r"where is CORNER", r"what is CORNER")),
)
CIRCUIT: Final[Words] = (
    (
        "length",
        _any(
            r"how long is (?:the |this |a |one )?(?:track|lap|circuit|course)",
            r"(?:track|circuit|lap) length",
            r"length of (?:the |a )?(?:track|lap|circuit)",
        ),
    ),
    (
        "name",
        _any(
            r"(?:which|what) (?:track|circuit)",
            r"name of (?:the|this) (?:track|circuit)",
            r"where (?:did|do|am|was) i (?:drive|driving|racing)",
        ),
    ),
    ("corners", _any(r"(?:list|name|what are) (?:me )?(?:all )?(?:the )?(?:corners|turns)")),
)
SESSION: Final[Words] = (
    (
        "distance",
        _any(
            r"how far (?:did|have) (?:i|we) (?:drive|driven|gone|go)",
            r"(?:total )?distance (?:did|have|driven|covered)",
            r"how many (?:km|kilomet\w+|miles)",
            "total distance",
        ),
    ),
    (
        "duration",
        _any(
            r"how long (?:did|have|was|were) (?:i|we|(?:my|the|this) (?:session|run)|it)",
            r"session (?:length|duration)",
            "time on track",
        ),
    ),
    ("car", _any(r"(?:which|what) car")),
    ("driver", _any(r"who (?:drove|was driving|is the driver|am i)")),
    (
        "start",
        _any(r"when (?:did|was) (?:i|we|this|the|my) (?:\w+ )?(?:session|start|begin|drive)"),
    ),
)
IDEAL: Final = _any(
    r"(?:ideal|theoretical(?:ly)?|optimal|optimum|perfect|potential) (?:best )?(?:lap|time)",
    r"possible (?:best )?(?:lap|time)",
    r"(?:ideal|theoretical(?:ly)?|optimal|perfect|potential) LAP",
    "theoretical(?:ly)? best",
    "my potential",
    r"how much (?:time )?(?:could|can|would|might) i (?:gain|find|save|improve)",
    r"how much (?:faster|quicker|time) (?:can|could|might) i (?:go|be|gain|find)",
    r"sum of (?:my |the )?(?:best )?sectors",
    "all together",
    "best sectors together",
    r"gap to (?:my |the )?(?:ideal|potential|theoretical|optimum|best possible)",
    "off the pace",
)
CORNER_RANK: Final = _any(r"(?:fastest|quickest|slowest) (?:corner|turn|bend)s?")
GREETING: Final = _any(
    "hello", "hi", "hey", "thanks?(?: you)?", "ok(?:ay)?", "great", "help", "cool"
)
BRAKE: Final = _any(r"brak\w+")
LIST: Final = _any(
    "lap ?times",
    r"(?:show|tell|give) (?:me )?(?:my |the )?laps",
    r"all (?:my |the )?laps",
    r"list (?:of )?(?:my |the )?laps",
)
USUAL: Final = _any(
    r"(?:average|mean|median|typical|usual|normal) (?:lap|pace|lap ?time)s?",
    "pace on average",
    r"how(?:'s| is| was) my pace",
)
BEST_TIME: Final = _any(
    r"(?:best|fastest|quickest|top) (?:lap ?)?times?",
    r"(?:pb|personal best)",
    r"my (?:best|fastest)",
)
HOW_QUICK: Final = _any(
    r"how (?:fast|slow|quick|good|bad)\w* (?:was|is|were) (?:the |my )?LAP",
    r"(?:speed|pace) of LAP",
)
OWN: Final = _any("my", "mine", "i", "me", "we", "am i", "did i")


def first(words: Words, text: str) -> str:
    """The name of the first pattern that fits; empty where none does."""
    return next((name for name, pattern in words if pattern.search(text)), "")
