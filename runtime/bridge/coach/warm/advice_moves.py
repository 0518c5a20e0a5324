"""What a driver may be advised to do: whole instructions, each in its phase of the corner; data.

A name in braces stands for the pattern of `PIECES`. Corners and numbers are left out of a sentence
before it is compared, so that a word of place may stand at its end.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from runtime.bridge.coach.warm.advice_pieces import filled

ANY, BRAKING, TURNING, APEX, LEAVING = None, 0, 1, 2, 3
"""Phases of a corner, in their order; `ANY`: an instruction that belongs to none."""


class Move(NamedTuple):
    """An instruction."""

    verb: str
    phase: int | None
    """When in a corner it is done."""
    need: str
    """What must be known of each corner it is given for; a key of `needs`, or none."""
    pattern: re.Pattern[str]
    alone: bool = False
    """Whether no further instruction may stand with it: a *do not* could reach into that."""


_ROWS: Final = r"""
= brake braking brake_later
(?:brake|start braking|start to brake|begin braking|begin to brake){P} {A_BIT}later{P}{STEPS}{P}
(?:move|push|shift) {D}(?:braking|brake) (?:point|marker){P} {A_BIT}later{P}{STEPS}{P}
(?:pick|choose|find|use|try) a (?:slightly |little )?later (?:braking|brake) (?:point|marker\
|reference){P}{STEPS}{P}
look at the (?:place|point)(?: where braking should end)?(?: and begin to brake a little later\
)?{P}
= brake braking brake_earlier
(?:brake|start braking|start to brake|begin braking|begin to brake){P} {A_BIT}(?:earlier\
|sooner){P}{STEPS}{P}
(?:move|shift) {D}(?:braking|brake) (?:point|marker){P} {A_BIT}(?:earlier|sooner\
|back){P}{STEPS}{P}
(?:pick|choose|find|use|try) an (?:slightly )?earlier (?:braking|brake) (?:point|marker\
|reference){P}{STEPS}{P}
= brake braking
brake(?: (?:firmly|smoothly|cleanly))?(?: and)? in a straight line(?: before (?:the \
|you )?turnin)?{P}
(?:finish|complete) (?:most of )?{D}braking (?:before (?:the |you )?turnin|in a straight line){P}
settle the car before (?:the |you )?turnin{P}
= marker braking
(?:pick|choose|find) (?:a|your|onething|one) (?:fixed |clear )?(?:braking|brake) (?:marker|point\
|board|reference)(?: and commit to it)?{P}
commit to it{P}
= keep braking keep_braking
commit to your (?:braking )?marker{P}
(?:keep|use|trust|stick to|repeat) (?:your|the|the same) (?:braking(?: (?:point|marker\
|reference))?|brake (?:point|marker)|marker){P}(?: (?:every|each) lap)?
brake at the same (?:marker|point|board)(?: (?:every|each) lap)?{P}
brake at (?:the|your) (?:marker|board){P}
= keep any keep
(?:keep|repeat|use|stick to) (?:exactly )?(?:this|your|the same) line{IN}(?: (?:every|each) lap)?
keep doing (?:exactly )?(?:what worked|what you do|that){IN}
(?:repeat|keep) (?:exactly )?what (?:worked|you did|you do){IN}
keep it (?:exactly )?(?:as it is|like that|that way){IN}
= release turning losing
(?:release|trail|ease|bleed|fade|let up|ease off|bleed off|trail off) {BRAKE}(?: off)?(?:\
 {SOFT})? {TURNING}(?: {SOFT})?{P}
(?:release|ease|bleed|fade|let up|ease off|bleed off|trail off) {BRAKE}(?: off)? {SOFT}{P}
let the brakes? (?:up|off|fade) {SOFT}(?: {TURNING})?{P}
(?:hold|keep) a (?:little|trace of|touch of|breath of|light) brake(?: pressure)? (?:{TURNING}\
|to the apex){P}
= release turning coast
(?:keep|hold) a (?:little|trace of|touch of) brake\
(?: pressure)?{P} until the throttle takes over(?: onepedal)?{P}
trail the brakes? (?:into|to the apex|towards the apex){P} instead of coasting{P}
= release turning softer
release {BRAKE} (?:{A_BIT}(?:slower|softer|gentler|longer))(?: {TURNING})?{P}
make {D}(?:brake )?release (?:smoother|softer|gentler|slower){P}
= release turning release_sooner
release {BRAKE} {A_BIT}(?:sooner|earlier)(?: {TURNING})?{P}(?: and let the car roll in faster)?\
{STEPS}
= turnin turning
turnin (?:onetime(?: with calm hands)?|in onemovement|smoothly|calmly|with (?:calm|quiet\
|smooth) hands|with onemovement){P}
turn the wheel (?:onetime|in onemovement|smoothly|calmly){P}
steer (?:onetime|smoothly|in onemovement){P}
= turnin turning steering
turnin {A_BIT}later(?: so (?:that )?(?:you can open the exit|the exit opens(?: up)?))?{P}
aim for a later? apex{P}
= carry turning speed_apex
carry (?:a (?:little|bit|touch) )?(?:more |the )?speed (?:to|into|through) (?:the apex\
|the corner){OUT}
carry (?:a (?:little|bit|touch) )?more (?:apex )?speed(?: (?:at|through|there|here))?
= car apex exit_area
have the car turned by the apex{OUT}(?: so (?:that )?the throttle opens onetime and stays open)?
get the car (?:turned|rotated|pointed) by the apex{OUT}(?: so (?:that )?the throttle opens onetime\
 and stays open)?
= car apex coast
pick up a light throttle (?:as soon as|when) the car is turned(?: instead of rolling\
(?: through)?)?{P}
go (?:directly |straight )?from (?:the )?brakes? to (?:the )?throttle(?: without (?:a |any )?\
(?:pause|pausing|coasting|gap))?{P}
go (?:directly|straight) from it to the throttle{P}
= throttle leaving
(?:squeeze|squeeze on|roll on|feed in|ease on|pick up|open|apply|add|get on|get back on\
|squeeze in) {GAS}(?: (?:on|in))?(?: {SOFT})? {OPENING}(?: {SOFT})?{OUT}
(?:squeeze|squeeze on|roll on|feed in|ease on) {GAS}(?: (?:on|in))? {SOFT}
(?:be|stay) patient (?:with|on) {GAS}(?: {UNTIL_OPEN})?{P}
wait (?:with {GAS} )?{UNTIL_OPEN}(?: before you (?:add|open|squeeze) {GAS})?{P}
(?:go (?:to|on)|use|apply|open to) full (?:throttle|power) (?:after|at) the exit{OUT}
go to full (?:throttle|power) when the wheel is straight{OUT}
(?:unwind|open|straighten) {WHEEL}(?: {SOFT})? (?:(?:at|towards|to|on) the exit|after the apex\
|from the apex(?: on)?|before you (?:add|squeeze) {GAS}){OUT}
= throttle leaving exit_safe
use (?:all of the|the whole|the full|the full width of the|the whole width of the) track\
(?: width)? (?:on|at) the exit{OUT}
= throttle leaving throttle_earlier
(?:get|be|go)(?: back)? (?:to|on) {GAS} {A_BIT}(?:earlier|sooner){OUT}
(?:open|squeeze|pick up|apply) {GAS} {A_BIT}(?:earlier|sooner)(?: {OPENING})?{OUT}
unwind {WHEEL} {A_BIT}(?:earlier|sooner){OUT}(?: so (?:that )?the throttle can go down and stay\
 down)?
= look any
(?:look|keep looking|eyes|vision|keep {D}eyes|keep {D}vision|lift {D}eyes|move {D}eyes|let\
 {D}eyes go|turn {D}eyes) {AHEAD}{OUT}{SEEING}{OUT}
(?:look|keep {D}eyes) {AHEAD} with hands on the wheel
look (?:far |further )?(?:at|to|through|ahead to)
look far through the corner{OUT}
look where you want to go
= hands any
keep (?:your|the) (?:hands|wheel|steering|inputs) {QUIET}{IN}
(?:relax|soften) your (?:shoulders|hands and shoulders|shoulders and hands)\
(?: on the straights?)?
relax your (?:hands|arms)(?: on the straights?)?
(?:calm|quiet|soft|smooth|light|relaxed) (?:hands|inputs)
= mind any
(?:just )?breathe(?: (?:in|out|deeply|calmly|slowly|deep))?(?: on the straights?)?
take (?:a|onetime|some) (?:deep |slow |calm )?(?:breath|breather)
(?:stay|be|keep|remain) (?:calm|relaxed|focused|patient|smooth|loose|consistent|precise\
|kind to yourself)(?: and (?:calm|relaxed|focused|patient|smooth|precise))?(?: out there)?
relax
trust (?:yourself|the process|your eyes)
enjoy (?:it|yourself|the (?:drive|day|driving|next (?:run|session)))
have (?:fun|patience)(?: out there)?
(?:keep|find) (?:a|your|the) (?:steady |calm )?rhythm
patience
= rest any off_track
drink (?:some )?water|rest|take (?:a|some) (?:short )?(?:break|rest)
(?:review|check) (?:the|your) (?:data|traces?|video|laps)
= process any
(?:make|change|work on|try|take) (?:stepwise|it stepwise|only onething|onething\
|one change stepwise)
take small steps
(?:take|build) (?:it|up|the pace|up the pace|it up) (?:stepwise|slowly|gradually|in small steps)
keep building(?: on (?:this|it|that))?
compare (?:the|your) (?:laps|traces|exit speeds?|apex speeds?|exit|braking points)
add (?:the )?speed in small steps as long as the car holds its line
= focus any losing
(?:focus|concentrate|work) on {D}(?:vision|eyes|rhythm|consistency){IN}
(?:focus|concentrate|work) on (?:looking|keeping {D}eyes) {AHEAD}{IN}
= focus any steering
(?:focus|concentrate|work) on {D}(?:line|hands|turnin|smoothness){IN}(?: (?:of|through))?
(?:focus|concentrate|work) on (?:smooth|smoother|calm) (?:inputs|hands){IN}
= focus any softer
(?:focus|concentrate|work) on {D}(?:brake )?release{IN}(?: of)?
= focus any losing_here
(?:focus|concentrate|work) on(?: (?:next|there|this corner|that corner))?
= focus any first
(?:focus|concentrate|work) on first
= focus any area_braking
(?:focus|concentrate|work) on {D}(?:braking|brake)(?: (?:point|marker))?{P}
= focus any losing
(?:focus|concentrate|work) on onething
= focus any area_exit
(?:focus|concentrate|work) on onething (?:the|your) exit(?: of)?
(?:focus|concentrate|work) on {D}(?:exit|exit speed|exit of){OUT}
= focus any area_apex
(?:focus|concentrate|work) on {D}(?:apex speed|apex|apex of|midcorner(?: speed)?){OUT}
= focus any throttle_earlier
(?:focus|concentrate|work) on (?:getting (?:back )?(?:to|on) {GAS} {A_BIT}(?:earlier|sooner)\
|an earlier throttle){OUT}
= focus any coast
(?:focus|concentrate|work) on {IDLE}{IN}
= avoid any coast
(?:avoid|reduce) (?:the |your )?coasting(?: time)?{IN}
= not any
(?:do not|never|avoid) (?:rush|rushing)(?: (?:the|your))? (?:turnin|entry|throttle|corner|exit\
|release|it){P}
do not (?:panic|worry|overdrive|hurry|overdo it|force it|tense up|rush)
(?:do not|never) (?:pinch the exit|jerk the wheel|snatch the wheel|stab the brakes?\
|stab the throttle|fight the (?:car|wheel)|grip the wheel too (?:hard|tightly)){P}
do not (?:chase|worry about) (?:the |your )?(?:lap times?|laptimes?|time|clock)
"""
"""Below each verb, its phase and what it needs, the patterns; a backslash joins lines."""
_PHASES: Final = {
    "any": ANY,
    "braking": BRAKING,
    "turning": TURNING,
    "apex": APEX,
    "leaving": LEAVING,
}


def _moves() -> Iterator[Move]:
    verb, phase, need = "", ANY, ""
    for line in _ROWS.replace("\\\n", "").strip().splitlines():
        if line.startswith("= "):
            verb, phase_name, need = f"{line[2:]} ".split(" ")[:3]
            phase = _PHASES[phase_name]
        else:
            pattern = re.compile(f"(?:{filled(line)})(?= |$)")
            yield Move(verb, phase, need, pattern, alone=verb == "not")


MOVES: Final = tuple(_moves())
"""Every instruction."""
_PLACE: Final = r"(?:(?:going )?(?:at|in|for|into|through)|there|here)"
NEXT: Final = (
    r"(?:(?:for |in |on )?(?:the |your )?next (?:time|lap|laps|run|session|stint|one)|next"
    r"|now|today|this time|from now on)"
)
"""When it is to be done."""
_BID: Final = (
    r"(?:try to|try|remember to|remember|let us|let's|aim to|make sure to|make sure you|be sure to"
    r"|you (?:should|could|can|want to|need to)|(?:the|your) (?:next step|goal|job|task) is to"
    r"|(?:here is )?onething|please|so|then)"
)
OPENER: Final = re.compile(rf"(?:{_PLACE}|{NEXT}|{_BID})(?= |$)")
"""What may stand before an instruction; a place stands without its corner."""
CLAUSES: Final = tuple(
    (re.compile(rf"(?:{pattern})(?= |$)"), phases, frozenset(verbs.split()))
    for pattern, phases, verbs in (
        (r"before (?:the turnin|you turnin)", {BRAKING}, "look mind"),
        (r"(?:as|when|while) you turnin", {TURNING}, "look hands"),
        (r"on the way in(?:to)?", {BRAKING, TURNING}, "look hands mind"),
        (r"before you (?:reach the apex|turnin)", set[int](), "look"),
        (
            (
                r"when the (?:wheel|car) is straight|as the wheel opens|as you unwind the wheel"
                r"|when you see the exit|after the apex"
            ),
            {LEAVING},
            "look",
        ),
        (r"on the straights?", set[int](), "look mind hands"),
        (r"before (?:the |your )?next (?:run|session)", set[int](), "mind process rest"),
    )
)
"""Clauses before an instruction: the phases and the verbs that may follow each."""
SETTLED: Final = re.compile(
    r"(?:so (?:that )?the car is (?:settled|calm|balanced|stable) (?:when you turnin|at turnin"
    r"|before (?:the |you )?turnin)"
    r"|(?:when|until) the car is (?:settled|calm|balanced|stable))(?= |$)"
)
"""A clause behind an instruction about braking."""
GERUNDS: Final = {
    "braking": "brake",
    "releasing": "release",
    "trailing": "trail",
    "looking": "look",
    "squeezing": "squeeze",
    "holding": "hold",
    "carrying": "carry",
    "unwinding": "unwind",
    "using": "use",
    "picking": "pick",
    "choosing": "choose",
    "getting": "get",
    "starting": "start",
    "moving": "move",
    "keeping": "keep",
    "opening": "open",
}
"""They stand behind *try*."""
