"""What a driver may be advised to do: verbs, and the words that may stand with each; data."""

from typing import Final

OPENERS: Final = frozenset(
    """
    next run time session lap laps today now then first again also and so please just instead
    remember try trying let let's us you your should could can need want may might have to the a an
    for in on at of this that one onething stepwise thing things here there with everywhere only
    still always about think aim focus concentrate work goal task step is be go out before we is:
    begin start each every same i'd would like it's ok okay simple simply keep really more
    """.split()
)
"""Words that may stand before the verb."""
FREE: Final = frozenset(
    """
    the a an your you it its them that this there here of in on at to for from with into through
    and or as by all and then so too also just only one again next run time lap laps session today
    now first little bit touch slightly few more stepwise onething atonce onetime onemovement is
    are be every each corner corners turn car instead we our own both long whole metre metres meters
    entry apex midcorner exit kerb point points marker markers board line straight straights
    """.split()
)
"""Words that may stand anywhere in advice."""
_PLACE: Final = """entry apex midcorner turnin exit kerb point points marker markers board boards
    reference references line spot straight straights horizon track road place"""
_SOFT: Final = """smooth smoothly gentle gently calm calmly slow slowly soft softly progressive
    progressively patient patiently gradual gradually smoother gentler calmer clean cleanly
    steady steadily light lightly quiet quietly precise precisely even evenly easy easily deliberate
    deliberately consistent consistently"""
_SEE: Final = f"""early earlier ahead far further up eyes exit apex turnin entry next past beyond
    where out {_PLACE}"""
_BRAKE: Final = """later earlier sooner straight straightline firm firmly initially car line before
    turnin brake brakes braking smooth smoothly progressive progressively calm calmly clean cleanly
    steady steadily consistent consistently marker board point same"""
_PEDAL: Final = f"""brake brakes pedal pressure power release slowly until off turnin past apex
    pressure {_SOFT}"""
_THROTTLE: Final = f"""throttle power gas pedal progressively squeeze wheel opens open straight
    after exit once early earlier sooner late later {_SOFT}"""
_WHEEL: Final = f"""wheel steering hands straight straighten unwind open exit early earlier sooner
    {_SOFT}"""
_LINE: Final = f"""line rhythm pace lap late later apex wide wider width full track use kerb
    {_SOFT} {_PLACE}"""

FRAMES: Final = {
    verb: frozenset(words.split())
    for verbs, words in {
        "brake": _BRAKE,
        "braking": _BRAKE,
        "look": _SEE,
        "looking": _SEE,
        "see": _SEE,
        "watch": _SEE,
        "scan": _SEE,
        "lift": "eyes vision gaze up early exit apex",
        "eyes": _SEE,
        "vision": _SEE,
        "release": _PEDAL + " earlier later sooner feed",
        "trail": _PEDAL + " in braking",
        "ease": _PEDAL + " off",
        "bleed": _PEDAL,
        "fade": _PEDAL,
        "squeeze": _PEDAL + " throttle on",
        "hold": _PEDAL + " breath brake line speed wheel tight",
        "keep": f"""eyes up hands hand quiet wheel steering brake pedal pressure line rhythm calm
            shoulders grip relaxed open foot feet head hips breathing vision going building working
            doing as exactly habit focus mind flow braking throttle smooth clean exit apex
            trace light past turnin tidy until straight notes {_SOFT}""",
        "stay": f"patient calm relaxed smooth loose focused committed on line throttle {_SOFT}",
        "be": f"""patient calm smooth precise kind ready gentle throttle brakes brake steering hands
            wheel {_SOFT}""",
        "wait": "throttle power wheel straight opens until apex patient patiently for nose",
        "open": "wheel steering hands throttle exit up earlier sooner car line",
        "unwind": _WHEEL,
        "straighten": _WHEEL,
        "turn": f"in late later wheel hands turnin {_SOFT}",
        "turnin": f"late later hands {_SOFT}",
        "stick": "with to marker plan line rhythm",
        "steer": f"once wheel hands {_SOFT}",
        "point": "car exit nose straight",
        "feed": _THROTTLE,
        "pick": _THROTTLE + " marker reference up out fixed a braking brake turnin",
        "get": _THROTTLE + " on back brakes off car settled turned rotated pointed",
        "apply": _THROTTLE,
        "roll": f"speed apex carry throttle on {_SOFT}",
        "carry": "speed apex exit entry midcorner minimum",
        "aim": f"late later apex exit kerb same line speed {_SOFT} {_PLACE}",
        "use": f"""braking turnin same all whole full width track kerb marker board reference point
            eyes hands brake throttle {_SOFT}""",
        "choose": "marker reference point board brake braking turnin fixed one place",
        "find": "marker reference point rhythm line flow brake braking turnin place",
        "set": "car nose up corner early line exit",
        "settle": "car nose before turnin",
        "let": f"""brake car run out exit wheel unwind hands open go up off fade roll pedal
            come {_SOFT}""",
        "give": "yourself time room car",
        "take": "time breath deep moment same line breather notes corner breaths",
        "breathe": "out in deep deeply before straight calmly slowly",
        "relax": "hands shoulders grip arms wheel fingers before",
        "repeat": "same lap laps line what worked braking marker point",
        "practise": f"exit entry brake braking release throttle line lap same turnin {_SOFT}",
        "practice": f"exit entry brake braking release throttle line lap same turnin {_SOFT}",
        "build": "up speed pace rhythm confidence slowly gradually over small steps step",
        "add": "speed pace small steps slowly gradually step",
        "drive": f"same lap laps whole rhythm pace two three clean again {_SOFT}",
        "change": "one thing only line marker nothing else at",
        "compare": "laps trace traces exit entry apex braking points",
        "review": "data trace traces video lap laps braking exit",
        "focus": f"""on minimizing minimising reducing coasting coast time pause inputs smoother
            exit entry apex braking release throttle vision eyes hands line rhythm
            marker turnin smooth smoothness consistency speed this corner work {_SOFT}""",
        "work": f"""on minimizing minimising reducing coasting coast time pause exit entry apex
            braking release throttle vision eyes hands line rhythm
            marker turnin smoothness consistency speed this corner brake {_SOFT}""",
        "concentrate": "on exit entry apex braking release throttle vision eyes hands line rhythm",
        "prioritise": "exit entry line rhythm speed",
        "prioritize": "exit entry line rhythm speed",
        "trust": "braking marker line yourself process eyes hands feeling",
        "commit": "to line brake point marker plan",
        "respect": "kerb damp surface conditions flags track limits grip wet",
        "warm": "tyres tires brakes up slowly gently before",
        "check": "data trace exit wheel marker throttle straight",
        "link": "corners brake throttle release turnin",
        "blend": "brake throttle release turnin steering out off in pedal",
        "match": "brake release steering hands throttle",
        "avoid": """turnin coasting coast rushing rush pause pauses gap between brake throttle
            pedals""",
        "go": """from brake throttle straight directly smoothly pedal to without pause pausing full
            power""",
        "make": "sure exit smooth one movement release hands wheel",
        "leave": "room margin space",
        "move": "brake braking marker point small steps step later earlier",
        "start": "braking brake sooner earlier later slowly calm release gently lap",
        "begin": "braking brake sooner earlier later slowly gently",
        "finish": "braking brake before turnin straight line",
        "slow": "hands down in entry steering inputs car",
        "smooth": "inputs hands out release throttle steering",
        "remember": "rhythm marker markers line eyes breathe",
        "enjoy": "it day drive driving lap rhythm yourself session",
        "listen": "car tyres tires engine",
        "feel": "grip car tyres brake pedal weight front nose rotate",
        "have": "fun patience trust",
        "talk": "through lap line corner",
        "visualise": "lap line corner braking marker",
        "visualize": "lap line corner braking marker",
        "picture": "lap line corner exit",
        "think": "ahead exit smooth line rhythm next",
        "reset": "breathe eyes hands",
        "come": "in back data box pits",
        "rest": "drink water break",
        "drink": "water",
    }.items()
    for verb in verbs.split()
}
"""The words that may stand with a verb."""
HINTS: Final = frozenset(
    """eyes up hands hand quiet wheel steering brake braking release line rhythm vision ahead early
    exit speed entry apex turnin throttle consistency marker markers track patience trail and on the
    a one focus smoothness first both far pace calm quiet patient relaxed soft light""".split()
)
"""Words of a reminder that is no sentence: *eyes up*, *calm hands*."""
GERUNDS: Final = {
    "braking": "brake",
    "looking": "look",
    "keeping": "keep",
    "releasing": "release",
    "trailing": "trail",
    "squeezing": "squeeze",
    "holding": "hold",
    "staying": "stay",
    "waiting": "wait",
    "opening": "open",
    "unwinding": "unwind",
    "straightening": "straighten",
    "turning": "turn",
    "carrying": "carry",
    "using": "use",
    "choosing": "choose",
    "picking": "pick",
    "getting": "get",
    "building": "build",
    "repeating": "repeat",
    "letting": "let",
    "driving": "drive",
    "breathing": "breathe",
    "linking": "link",
    "feeding": "feed",
}
CLAUSES: Final = frozenset(
    "until when as so while before after once if where till because unless".split()
)
"""Words that begin a clause beside advice; a few of them are joined before."""
BESIDE: Final = frozenset(
    """
    the a an your you it its and or to of in on at for from with into as can is are be go goes
    going down up back out off over still straight straighter wheel steering hands hand feet foot
    arms car nose front settled stable balanced calm quiet loaded turned turns turning turnin turn
    points pointing pointed opens open opening unwinds unwound brake brakes braking pedal pressure
    throttle power fades faded released release done finished gone apex exit entry kerb marker
    long next turnin board see reach pass look looking feel feels corner line track road grip
    tyres tires
    rhythm rolls roll takes take keeps keep stays stay easy smooth smoothly clean cleanly
    steady run lap then all comes come until that early free way onemovement atonce onetime
    come through unwind add rotate rotates rotating body weight follow follows ready
    confident natural corner's
    """.split()
)
"""Words of such a clause."""
NEGATED: Final = frozenset(
    """
    the a an your you to it at in on of for with and too tightly tight much hard wheel steering
    brake pedal hands entry corner clock time lap turnin car about other drivers throttle exit
    """.split()
)
"""What stands behind a verb of `HARMS`."""
HARMS: Final = frozenset(
    """
    rush rushing panic force forcing worry chase chasing overdrive overdo snatch snatching stab
    stabbing jerk jerking grip coast coasting hurry hurrying fight fighting tense tensing
    """.split()
)
"""What a driver may be told not to do."""
UNSAFE: Final = (
    (
        r"^(?!.*\b(?:release|trail|ease|bleed|let|fade|look|eyes|light)\b).*"
        r"\b(?:brake|brakes|braking)\b[^,;.]*\b(?:at|after|past|beyond|through|in|until)"
        r" (?:the )?(?:apex|exit|midcorner)"
    ),
    r"\b(?:throttle|power|gas)\b[^,;.]*\b(?:before|until|to|at|through) (?:the )?(?:entry|turnin)",
    r"\b(?:throttle|power|gas)\b[^,;.]*\bbefore (?:the )?(?:apex|midcorner)",
    r"\b(?:release|let|ease)\b[^,;.]*\b(?:brake|brakes|pedal)\b[^,;.]*\bat ?once\b",
    r"\beyes?\b[^,;.]*\b(?:off|down|closed?)\b",
    r"\b(?:hands?|fingers?)\b[^,;.]*\boff\b",
    r"\b(?:wait|without|instead of)\b[^,;.]*\b(?:brake|brakes|braking)\b",
    r"\bthe wall\b",
    r"\bbrake more\b",
    r"\bavoid\b(?!.*\b(?:coast\w*|rush\w*|pauses?|gap)\b)",
    r"^(?!.*\b(?:brake|throttle|pedals?|power|car|wheel|hands?)\b).*\bgo\b",
    r"^(?!.*\bbrak).*\b(?:keep|hold)\b[^,;.]*\bwheel\b[^,;.]*\bstraight\b",
    r"\blet\b[^,;.]*\b(?:wheel|hands?)\b[^,;.]*\b(?:go|off)\b",
    r"\b(?:unwind|straighten|open)\b[^,;.]*\b(?:at|before|on|in) (?:the )?(?:entry|turnin)",
    r"^(?!.*\b(?:straight|exit)\b).*\bfull (?:throttle|power)\b",
    r"\bturn (?:in )?(?:the )?throttle",
    r"\bhard\b[^,;.]*\b(?:throttle|wheel|steering|turn)\b",
    r"\boff (?:the )?(?:track|road)\b",
    r"\bkeep (?:the )?(?:throttle|brake)\b[^,;.]*\b(?:through|open|all)\b",
    r"\bstay on (?:the )?(?:throttle|brakes?)\b",
    r"\bopen\b[^,;.]*\bthrottle\b[^,;.]*\b(?:at|before|past) (?:the )?(?:entry|turnin|apex)",
)
"""What is never advised, whatever the words."""
