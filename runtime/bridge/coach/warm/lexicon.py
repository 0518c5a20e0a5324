"""The words that a sentence about driving may be made of, by what they claim; data.

A word that stands in none of these tables is not understood, and its sentence is not shown.
"""

from typing import Final


def _table(rows: dict[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, words in rows.items() for word in words.split()}


PREPOSITIONS: Final[dict[str, frozenset[str]]] = {
    word: frozenset(allowed.split())
    for word, allowed in {
        "at": "corner name measure entry apex exit",
        "in": "corner lap measure pass usualpass refpass session lapword",
        "on": "lap brake throttle lapword bestlap",
        "of": "corner lap measure letter coast roll laptime lapword brake time vsref",
        "to": "gain",
        "for": "corner measure",
        "with": "measure letter ideal",
        "by": "measure",
        "through": "corner apex",
        "into": "corner",
        "against": "measure vsref",
        "versus": "measure vsref",
        "vs": "measure",
        "instead": "measure",
        "about": "measure",
        "around": "measure",
        "roughly": "measure",
        "approximately": "measure",
        "too": "early late slow",
        "during": "session",
    }.items()
}
"""What may stand behind a word, its articles left out: kinds of tokens and concepts.

Anything else makes of a place, a cause or a comparison what nobody has checked.
"""
ARTICLES: Final = frozenset("a an the your its".split())
FUNCTION: Final = frozenset(
    """
    you is was were are has have had do did does went go goes came come comes reach
    reaches taken got get gets took takes take car spent spend spending posted set lie lies pull
    pulled
    """.split()
).union(PREPOSITIONS, ARTICLES)
"""They claim nothing by themselves."""
POINTING: Final = frozenset("it its that this there here they them these those".split())
"""What they mean stands in another sentence, or before in this one."""
CONCEPTS: Final = _table(
    {
        "lose": """lost lose loses losing loss losses cost costs costing behind missing short
            bled bleed bleeding leaked leaking leak surrendered dropped dropping
            drop drops wasted waste wasting gap deficit adrift away""",
        "gain": """gained gain gains gaining won win wins saved save saves saving ahead
            found advantage""",
        "improve": "improved improve improves improvement improving better",
        "slower": "slower",
        "slow": "slow",
        "faster": "faster quicker",
        "togain": "opportunity opportunities",
        "more": "more higher extra additional raised",
        "less": "less lower fewer reduced",
        "early": "early earlier sooner prematurely",
        "late": "late later",
        "best": "best strongest",
        "fastest": "fastest quickest",
        "slowest": "slowest",
        "worst": "worst weakest poorest",
        "most": "most biggest largest greatest main",
        "least": "least smallest lowest",
        "max": "max maximum peak highest hardest peaked reached",
        "good": "well good great nice strong",
        "bad": "bad poor weak messy untidy",
        "time": "time",
        "second": "second third fourth fifth last final previous",
        "entry": "entry entrance entering entered enter turnin",
        "apex": "apex apexes midcorner",
        "exit": "exit exits exiting leaving exited",
        "speed": "speed speeds pace",
        "brake": "brake brakes braking braked",
        "pressure": "pressure",
        "point": "point",
        "throttle": "throttle",
        "coast": "coast coasted coasting coasts",
        "roll": "roll rolled rolling rolls",
        "steering": "steering hands wheel",
        "correct": "corrected correction corrections correcting",
        "spread": "spread apart within range",
        "score": "score scored grade graded grades earned earns earn points",
        "lapword": "lap laps",
        "corner": "corner turn turns",
        "pass": "pass",
        "session": "session today",
        "sector": "sector sectors",
        "ideal": "ideal theoretical combined together",
        "average": "average mean",
        "grip": "grip load",
        "lateral": "lateral cornering sideways",
        "acceleration": "acceleration",
        "took": "lasted took taking",
        "drive": "drove driven drive complete completed completing recorded",
        "carry": "carried carrying carries held",
        "left": "left left-hander left-hand left-handed",
        "right": "right right-hander right-hand right-handed",
        "not": "not no never without none neither nor nothing hardly cannot",
        "focus": "priority focus",
        "personal": "personal",
    }
)
"""What a word says in a statement."""
PHRASES: Final = (
    (r"turn(?:ing)?[- ]in\b", "turnin"),
    (r"mid[- ]corner|middle of the corner", "midcorner"),
    (
        r"slowest point(?: of the corner)?|(?:minimum|lowest|min) (?:corner )?speed",
        "midcorner",
    ),
    (r"there (?:is|are|was|were)", "is"),
    (
        (
            r"(?P<lead>behind|off|adrift of|short of|ahead of|than|against|to|from|versus|vs\.?"
            r"|compared (?:to|with)|beside) (?:your|the) (?:own )?(?:session(?:'s)? )?"
            r"(?:best|fastest|quickest) lap(?! time)"
        ),
        "{lead} vsbestlap",
    ),
    (r"best lap time|fastest lap time|quickest lap time", "bestlap laptime"),
    (r"lap times?", "laptime"),
    (r"(?:top|highest|maximum|max|peak) speed|v-?max", "topspeed"),
    (r"gave away|(?<=you )give away|giving away|gave up|threw away|left behind", "lost"),
    (r"picked up|clawed back|made up|pulled back|won back|took back", "gained"),
    (r"is lost time", ""),
    (r"(?<=you )(?:start(?:ed)?|begin|began) (?:to brake|braking)", "braked"),
    (r"(?<=you )put in (?=\d)", "drove "),
    (r"(?<=you )hit a (?=topspeed)", "had a "),
    (
        r"(?:by |if you |when you )?(?:put|putting) (?:all )?(?:your|the) best sectors together",
        "ideal",
    ),
    (r"(?:of|from) each other|as well", ""),
    (r"than (?:in|on|during) (?=your |the )", "than "),
    (r"down (?=at (?:the|its) (?:apex|exit|entry))", "slower "),
    (r"best sectors(?: together)?", "ideal"),
    (r"down on|shy of", "behind"),
    (
        (
            r"(?:ideal|theoretical) (?:best )?lap (?:is|was|would be)"
            r"(?=[^,;]* (?:faster|quicker))"
        ),
        "ideal togain",
    ),
    (r"would (?:be|gain|bring|give|save|make)(?: you)?", "togain"),
    (
        (
            r"(?:good|nice|great|solid) (?:job|work|effort) (?:on |over |with |for )?"
            r"(?:(?:completing|finishing) )?(?=\d)"
        ),
        "bravo, completed ",
    ),
    (r"(?:a|the|your) reference of", "vsref"),
    (r"you (?:left|leave)", "you exit"),
    (
        r"(?:(?<=you )come|came|coming) out(?: of(?: it)?)?|onto the (?:next |following )?straight",
        "exit",
    ),
    (r"(?:(?<=you )(?:come|go)|came|went|coming) in(?:to)?|you arrived?", "entry"),
    (
        (
            r"(?:on no pedal|off both pedals|on neither pedal|without (?:any|a) pedal|"
            r"without (?:either )?brake (?:or|and|nor) throttle|between (?:the )?pedals|"
            r"between (?:the )?brakes? and (?:the )?throttle)"
        ),
        "nopedal",
    ),
    (
        (
            r"to (?:be )?(?:gain(?:ed)?|found|find|win|won|be had)|(?:left )?on the table|in hand|"
            r"(?:could|can|may|might) (?:still )?(?:be )?(?:gain(?:ed)?|find|found|win|won|saved?)|"
            r"up for grabs|(?:is|are|be) available|(?:is|are) worth"
        ),
        "togain",
    ),
    (r"you slow too much|you slowed too much", "apex slower"),
    (r"(?<=laps )in the books?", "completed"),
    (r"overall,", ""),
    (r"up to|as much as", "reached"),
    (
        (
            r"(?P<lead>behind|off|adrift of|short of|ahead of|than|against|to|of|from|versus|vs\.?"
            r"|with|compared (?:to|with)|beside)? ?(?:your|the) (?:own )?"
            r"(?:session(?:'s)? )?"
            r"(?:best|fastest|quickest) (?:pass(?:es)?|one)\b"
        ),
        "{lead} vsbest",
    ),
    (
        (
            r"(?P<lead>behind|off|adrift of|short of|ahead of|than|against|to|from|versus|vs\.?"
            r"|compared (?:to|with)|beside)"
            r" (?:your|the) (?:own )?(?:session(?:'s)? )?(?:best|fastest|quickest)"
            r"(?! (?:lap|sector|corner|turn|exit|entry|apex|speed|time))\b"
        ),
        "{lead} vsbest",
    ),
    (
        (
            r"(?P<lead>behind|off|adrift of|short of|ahead of|than|against|to|from|versus|vs\.?|in"
            r"|compared (?:to|with)|beside)? ?(?:the|your|a) reference(?: lap| pass)?"
            r"(?! (?:apex|exit|entry|speed))"
        ),
        "{lead} vsref",
    ),
    (r"(?:the |your )?reference (?=apex|exit|entry|speed)", "vsref "),
    (
        (
            r"than (?:ever )?before|than (?:in )?(?:the |your )?(?:earlier|previous) sessions?"
            r"|than (?:the |your )?(?:old|previous|former) best|(?:on|than) the sessions before"
            r"|on (?:the |your )?(?:old|previous|former) best"
        ),
        "vsbefore",
    ),
    (r"than in (?:the|your) first pass", "vsfirst"),
    (r"(?:in )?(?:a|the|your) (?:usual|typical|middle) pass(?:es)?", "usualpass"),
    (r"(?:best|fastest|quickest) lap", "bestlap"),
    (r"(?:slowest|worst) lap", "worstlap"),
    (r"best (?:pass|at best)|at best", "atbest"),
    (r"worth the work", "focus"),
)
"""Words that mean something together, as patterns, and what stands for them."""
PHRASE_CONCEPTS: Final = frozenset(
    """midcorner laptime topspeed nopedal togain vsbest vsref vsbefore vsfirst usualpass bestlap
    worstlap atbest turnin vsbestlap refpass""".split()
)
COMPARED: Final = frozenset({"vsany", "vsbest", "vsref", "vsbefore", "vsfirst"})
"""With what something is compared."""
JOINING: Final = frozenset("but while whereas although though because so which where and".split())
CHEER: Final = frozenset(
    """
    a an the and all at by for go going good great nice well very really so much today day this
    that it is was work job drive driving driven session effort start run stint one your you my
    done keep up on in enjoy fun smile be can proud of yourself to trust calm confident happy
    thanks thank welcome back hello hi hey morning afternoon evening bravo super fine ok okay
    right ready let's lets us step steps little building patience patient relax relaxed breathe
    deep breath have with out there see next time again i am we are stay positive lovely
    wonderful solid
    """.split()
)
"""Words of which encouragement is made, that claims nothing."""
