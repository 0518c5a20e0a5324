"""The words by which a driver tells of a danger: on the track, of a control, of the safety gear, of
a temperature, of rain; patterns only."""

import re
from typing import Final, TypeAlias

Pattern: TypeAlias = re.Pattern[str]


def _any(*patterns: str) -> Pattern:
    """Any of the patterns, as whole words."""
    return re.compile(r"(?<![A-Za-z])(?:" + "|".join(patterns) + r")(?![A-Za-z])")


RECORDED: Final = re.compile(
    r"(?:(?:and|so|but|ok(?:ay)?),? )?(?:did|(?:was|were) (?!there)|(?:on )?which laps?|compare"
    r"|plot"
    r"|(?:when|where) (?:did|was|were) (?:i|my|the)|how (?:many|much|often|fast|high|long|hard)"
    r"|what(?:'s|'re| is| are| was| were) (?:my|the) (?:\w+ )?(?:top|max\w*|highest|average|mean"
    r"|peak))\b(?!.*\b(?:can|may|should|must) i\b)"
)
"""How a question begins that asks for what was recorded, and tells of nothing now."""
MAY: Final = re.compile(
    r"(?:(?:and|so|but),? )?(?:(?:can|may|could|should|shall|must) i"
    r"|(?:is it|would it be) (?:ok(?:ay)?|fine|safe|all ?right))\b"
)
"""How leave is asked."""
_SIGNAL: Final = re.compile(
    r"\b(?:channels?|sensors?|signals?|traces?|graphs?|charts?|plots?|columns?|csv|filters?)\b"
)
"""What is said of these is said of a recording."""

_BE: Final = r"(?:'s|'re| is| are| has| have| was| were| just| been| got| keeps?| feels?| seems?)*"
_SOFT: Final = r"(?: (?:\w+ )?(?:really|very|too|so|a (?:bit|little)|quite|completely|slightly))?"

# -- what is on the track, and who

_LIQUID: Final = r"(?:oil|fluid|coolant|fuel|petrol|diesel|antifreeze|grease)"
_ANIMAL: Final = (
    r"(?:animals?|dogs?|cats?|deers?|fox(?:es)?|birds?|rabbits?|hares?|boars?|sheep|cows?|cattle"
    r"|goats?|horses?|ducks?|geese|pigs?|badgers?|hedgehogs?|kangaroos?|snakes?|gulls?)"
)
_PERSON: Final = (
    r"(?:people|persons?|(?<!driver )man|woman|men|women|child|children|kids?|pedestrians?"
    r"|spectators?|photographers?|cyclists?|somebody|someone|drivers?)"
)
_THING: Final = (
    r"(?:debris|gravel|dirt|mud|sand|stones?|rocks?|glass|carbon|bodywork|rubbish|litter|bumpers?"
    r"|tyres?|tires?|wheels?|exhaust|mirrors?|wing|cones?|branch(?:es)?|trees?|planks?|bottles?"
    r"|bits|pieces|parts|bolts?|metal|leaves|ladder|box|bag|cement|kitty litter)"
)
_THERE: Final = (
    r"(?:there(?:'s| is| are|'re)|(?:i|we) (?:just |can )?(?:see|saw|spotted|passed|nearly hit)"
    r"|watch out,?(?: for)?|look out,?(?: for)?)(?: (?:a|an|the|some|lots of|fresh|more|big|loose"
    r"|of|bits|pieces|parts|huge|small|dead))*"
)
_ON: Final = (
    r"(?:on|onto|across|over|in|at|into|beside|near) (?:the |my |this )?(?:\w+ )?(?:racing line"
    r"|line"
    r"|track|circuit|road|tarmac|asphalt|straight|kerbs?|exit|entry|apex|corner|chicane|hairpin"
    r"|middle"
    r"|turn \w+|t ?\d+)"
)
_STOOD: Final = (
    r"(?:spun|spins|spinning|crashed|crashing|stopped|stops|stopping|stalled|parked|stranded|stuck"
    r"|broken down|broke down|rolled|rolling|rolls|stationary|standing still|upside down|sideways"
    r"|facing (?:me|us|backwards|the wrong way)|on (?:its|his|her|the) (?:roof|side)"
    r"|in the (?:wall|barriers?|gravel|grass|way|middle)|hit the (?:wall|barriers?|fence)"
    r"|went (?:into the|off)|lost (?:it|control)|coming (?:backwards|the wrong way|back onto)"
    r"|driving the wrong way|reversing|on fire|going the wrong way|crawling)"
)
_VEHICLE: Final = r"(?:car|kart|truck|van|bike|motorbike|ambulance|tractor|vehicle|digger|buggy)"
_OTHER: Final = (
    rf"(?:some(?:one|body)|(?:a|an|another|the other|one|that)(?: \w+)? (?:{_VEHICLE}|driver|guy)"
    rf"|(?:the |my )?(?:{_VEHICLE}|driver|guy|one|friend|mate|team ?mate) (?:right |just )?"
    r"(?:in front|ahead|behind|before me)(?: of (?:me|us))?"
    r"|(?:the )?(?:red|blue|white|black|green|yellow|orange|grey|gray|silver|pink|purple|slow"
    rf"|broken|other|safety|recovery|rescue) {_VEHICLE}|(?:a|the) {_VEHICLE}s? of another"
    r"|the (?:leader|pack|field) (?:in front|ahead))"
)
OTHERS: Final = _any(
    rf"(?<!did )(?<!than )(?<!like ){_OTHER}(?:'s| is| are| has| was| just| have| had| got| nearly"
    rf"| almost| ahead| at [\w ]{{1,12}}?)*,? {_STOOD}",
    r"(?:spun|spinning|crash(?:ed|es|ing)|stopp(?:ed|ing)|stalled|rolled|parked|braked|swerved)"
    r" (?:right |just |directly )?(?:in front of|ahead of|before) (?:me|us)",
    rf"{_STOOD} {_VEHICLE}s?(?: (?:ahead|in front|{_ON}))",
    rf"(?:parked|stranded|crashed|spinning|stalled|broken(?: |-)down|slow) {_VEHICLE}",
    rf"there(?:'s| is| are)(?: (?:a|an|another|some|two|three))+ (?:\w+ )?{_VEHICLE}s? {_ON}",
    r"(?:accident|crash|pile-?up|spin|shunt|collision) (?:right |just )?(?:ahead|in front)",
    r"there(?:'s| is| has been)(?: been)? an? (?:\w+ )?(?:accident|crash|pile-?up|shunt|collision)",
)
THINGS: Final = _any(
    rf"(?:some(?:one|body)|\w+|he|they|car)(?:'s|'ve| has| have| just| is| must have)*"
    r" (?:dropped|dropping|spilt|spilled|spilling|dumped|dumping|put down|laid)"
    rf" (?:\w+ ){{0,2}}(?:{_LIQUID}|{_THING}|water|bits)",
    rf"{_THERE} (?:{_LIQUID}(?! (?:temp|press|level|light))|{_ANIMAL}|{_THING} {_ON}|debris)",
    rf"{_THERE} (?:\w+ )?{_PERSON} (?:\w+ )?(?:{_ON}|walking|running|standing|crossing)",
    rf"(?<!do )(?<!does ){_PERSON}(?:'s| is| are| was| just)* (?:walk|runn|stand|cross"
    rf"|climb)ing (?:{_ON}|the track)",
    rf"{_LIQUID} (?:all )?{_ON}(?! ?\?)(?=.*[.!,]|\W*$)",
    rf"(?<!do )(?<!does )(?:{_ANIMAL}|{_THING}|{_PERSON})(?: \w+)? (?:on|across|onto"
    rf"|over) (?:the |my )?(?:racing )?"
    r"(?:line|track|circuit|road)",
    rf"^(?:an? |the )?(?:{_ANIMAL}|debris|{_PERSON}) {_ON}",
    rf"(?:{_ANIMAL})(?: \w+)? (?:ran|run|running|runs|walk\w*|cross\w*|jump\w*|loose)",
    r"hit (?:an? |the )?(?:oil|oily) (?:patch|spill|slick)",
)
STRANDED: Final = _any(
    r"(?:i(?:'m| am|'ve| have)?|we(?:'re| are)?|(?:my |the )car(?:'s| is| has)?)(?: just| now| been"
    r"| got)*"
    rf" (?:stopped|stranded|stuck|stalled|parked|broken down|broke down) (?:{_ON}"
    r"|in the (?:gravel|grass|run-?off|sand))(?! (?:lap|sector))",
    r"(?:i(?:'m| am)|we(?:'re| are)|(?:my |the )car is) (?:facing|pointing) (?:the wrong way"
    r"|backwards)",
    r"(?:i(?:'m| am)|we(?:'re| are)) (?:stranded|beached|upside down|broken down)",
    r"(?:my |the )car (?:won't|will not|doesn't|does not) (?:restart|start|move|go)",
)
HIT_ME: Final = _any(
    r"(?:hit|rear-?ended|rammed|ran into|drove into|crashed into|t-?boned) (?:me|us|my (?:car|side"
    r"|rear|door))",
    r"i (?:was|got|have been|'ve been) (?:\w+ )?(?:hit|rammed|rear-?ended)",
    r"(?:had|made) contact with",
)

# -- what a driver wears and sits in

_GEAR: Final = (
    r"(?:(?:seat ?)?belts?|harness(?:es)?|straps?|buckles?|seat|helmet|chin ?strap|visor|hans"
    r"(?: device)?|head ?rest|window net|goggles|glasses|gloves?|shoes?|boots?|wind(?:screen"
    r"|shield)"
    r"|head restraint|overalls?)"
)
WORN: Final = _any(
    rf"{_GEAR}{_BE}(?: (?:to be|coming|come|came|not|n't|won't|doesn't|gone|going|too|very|a bit"
    r"|a little|really|so|completely|all|up|right|starting to|started to|starts to))*"
    r" (?:loose\w*|undone|open(?:ed|s)?|unbuckled|unlatched|unclipped|off|mov(?:ed|es|ing)"
    r"|slid(?:es"
    r"|ing)?|slip(?:s|ped|ping)|broken?|broke|torn|rip(?:ped|s)|twisted|fogg?\w*|steam\w*|mist\w*"
    r"|dirty|scratched|crack\w*|smeared|stuck|jammed|tight|lock(?:ed|s)?|latch\w*|clos(?:e|ed|es)"
    r"|fit|fits|stay\w*|rattl\w*|wobbl\w*|fell|fail\w*|slack\w*|hurts?|chok\w*|shift(?:ed|s|ing)"
    r"|lift(?:s|ed|ing)|pop(?:s|ped)|fall\w*|strange|weird|funny|wrong|out|wet)",
    rf"(?:loose|undone|broken|open|cracked|fogged|foggy|torn|twisted|steamed) (?:up )?{_GEAR}",
    rf"(?:forgot|lost|without) (?:to (?:do up|close|fasten|put on) )?my {_GEAR}",
    rf"{_GEAR} (?:fog|mist|steam)\w*",
    r"oil (?:all )?(?:on|over) my (?:visor|windscreen|windshield|helmet)",
)

# -- a control, a wheel, a sound, a smell

_STICK: Final = (
    r"(?:stick(?:s|ing|y)?|stuck|jam(?:s|med|ming)?|hang(?:s|ing)?(?: open)?|hung"
    r"|(?:won't|will not|doesn't|does not|didn't|not) (?:clos\w*|return\w*|com\w* back|releas\w*"
    r"|lift"
    r"|go back|respond\w*|work\w*|do anything)|stay(?:s|ed|ing)? (?:open|down|on)"
    r"|wide open by itself"
    r"|goes? down (?:by|on) itself|open(?:s|ed) by itself|dead|cut\w* out|fail\w*|broken?|broke)"
)
THROTTLE: Final = _any(
    rf"(?:throttle|gas|accelerator|go)(?: pedal| cable| body)?{_BE}(?: (?:really|sometimes|now"
    rf"|a bit"
    rf"|a little|still|often|half|getting))* {_STICK}(?!(?: at)? \d)",
    r"(?:sticking|stuck|sticky|jammed|hanging) (?:throttle|accelerator|gas pedal)",
    r"(?:car|engine|it) (?:keeps (?:on )?accelerating|accelerates|revs|speeds up) (?:by|on) (?:its"
    r"|it)\w*(?: own)?",
)
_STRANGE: Final = (
    r"(?:wrong|weird|funny|odd|strange|loose|heavy|stiff|vague|dead|crooked|bent|broken|notchy"
    r"|sloppy)"
)
_PART: Final = (
    r"(?:bonnet|hood|door|boot lid|tailgate|trunk|wing|spoiler|splitter|bumper|bodywork|exhaust"
    r"|suspension|wishbone|damper|shock|spring|mirror|undertray|diffuser|fender|driveshaft|axle"
    r"|roll ?cage|battery|panel|camera)"
)
_BROKE: Final = (
    r"(?:open(?:ed)?|loose|flapp\w*|hang\w*|drag\w*|broken?|broke|bent|came (?:off|loose|open)"
    r"|coming (?:off|loose|open)|com(?:e|es) (?:off|loose|open)|fell off|fallen off|missing|snapped"
    r"|gone|scrap\w*|torn off|cracked|collapsed)"
)
CONTROL: Final = _any(
    r"(?:steering(?: wheel)?|wheel|car|it)(?:'s| is| keeps?| starts?| started| has)*(?: \w+ly)?"
    r" (?:pull(?:s|ing|ed)?|drift(?:s|ing)?|veer\w*)(?: (?:to|hard|badly|heavily|slightly|a bit"
    r"|the))*"
    r" (?:left|right|one side|sideways)",
    rf"steering(?: wheel)?(?:'s| is| has| feels?| felt| got| went| gone| seems| goes| gets"
    rf"| became){_SOFT} {_STRANGE}",
    r"steering(?: wheel)?(?:'s| is| has| just)* (?:lock(?:ed|s|ing)(?: up)?|seized|gone|jam\w*"
    r"|stuck|off[- ]?cent\w*|not (?:work\w*|straight|cent\w*)|shak\w*|com(?:ing|es|e) off)",
    r"(?:lost|no|losing) (?:the |my )?(?:power )?steering(?! angle)",
    r"(?:steering|wheel)(?: \w+){0,2} (?:has|with) (?:\w+ )?play|play in (?:the |my )?steering",
    r"(?:wheels?|wheel (?:nut|bolt|stud)s?|(?:lug|wheel) ?nuts?)"
    rf"{_BE}{_SOFT} (?:loose\w*|wobbl\w*|came (?:off|loose)|coming (?:off|loose)|fell off"
    r"|fallen off|missing|shak\w*|broken?|bent|cracked|undone)",
    r"(?:loose|wobbly|bent|cracked|missing|wobbling) wheel(?: (?:nut|bolt)s?)?",
    r"(?:lost|losing) a wheel(?: nut)?|wheel ?wobble",
    rf"{_PART}(?:'s| is| has| are| just)* {_BROKE}|(?:loose|broken|bent|missing) {_PART}",
    r"something (?:is |has |just |came |feels? |felt |seems )+(?:\w+ )?(?:loose|broken?|broke"
    r"|wrong|off|bent"
    r"|fell off|snapped)(?: (?:with|on|in|off|at|under) (?:the |my )?(?:car|rear|front|wheel|engine"
    r"|suspension|steering|brakes?))?",
)
DRIVE: Final = _any(
    r"(?:gear ?box|transmission|clutch|gear ?(?:lever|stick)|shifter|diff(?:erential)?|gears"
    r"|drive ?shaft)"
    rf"{_BE}{_SOFT}(?: (?:starts? to|starting to|started to))?"
    r" (?:stuck|jam\w*|slip(?:s|ping|ped)|grind\w*|crunch\w*|fail\w*|broken?|broke|gone|noisy"
    r"|whin\w*"
    r"|overheat\w*|burn\w*|stiff|weird|strange|funny|odd|jump\w*|pop\w* out|hot|leak\w*"
    r"|(?:won't|doesn't|not|can't) (?:shift\w*|engag\w*|go|work\w*|com\w*|change|disengag\w*"
    r"|select))",
    r"(?:jump|pop|fall)(?:s|ed|ped|ing|ping)? out of (?:\w+ )?gear|stuck in (?:\w+ )?(?:gear"
    r"|neutral)",
    r"(?:lost|losing|no|can'?t (?:get|find|select|engage)(?: it)?(?: in| into)?)"
    r" (?:first|second|third|fourth|fifth|sixth|1st|2nd|3rd|4th|5th|6th|any|reverse|a"
    r"|into)(?: gears?)",
    r"(?:won't|doesn't|can't) (?:go|get|shift) (?:in|into) (?:\w+ )?gear",
    r"engine(?:'s| is| has| just| keeps?| suddenly| sounds?)* (?:cut\w*(?: out)?|died|dying|dies"
    r"|stall(?:s|ing)|misfir\w*|stutter\w*|seiz\w*|blew(?: up)?|blown|los(?:t|ing) power|fail\w*"
    r"|quit"
    r"|stopp(?:ed|ing)|rough|running (?:rough|hot)|surg\w*|weird|strange|funny|wrong|odd)",
    r"(?:i |car |engine |we |it )(?:'ve |have |has |just )*lost (?:all )?(?:the )?power"
    r"|(?:limp|fail-?safe) (?:home )?mode",
    r"(?:tyre|tire)s?(?:'s| is| are| has| have| just)* (?:flat|blew|blown|burst|exploded"
    r"|delaminat\w*"
    r"|los(?:t|ing) (?:air|pressure)|deflat\w*|going (?:flat|down)|shredded|off the rim|bulging"
    r"|coming apart|falling apart)|(?:tyre|tire) blew",
    r"(?:abs|check engine|oil pressure|engine management|battery|charging|brake|temp\w*)"
    r" (?:light|lamp|alarm|warning)(?:'s| is| came| has| just| comes| keeps| flash\w*)* ?(?:on"
    r"|up|flash\w*"
    r"|blink\w*|red)?|check engine|warning lamp|(?:alarm|buzzer)(?:'s| is| keeps)* (?:on|going"
    r"|beep\w*"
    r"|ringing|sounding)",
    r"(?:oil|fuel) pressure(?:'s| is| has| just| reads| at| shows| warning"
    r"| keeps)* (?:\w+ )?(?:low|zero|0"
    r"|dropp\w*|fall\w*|gone|lost)|(?:no|lost|losing) oil pressure",
    rf"(?:{_LIQUID}|water|hydraulics?|gearbox|something|car|it|engine|tank)(?:'s| is| are| keeps)*"
    r"(?: \w+)? leak(?:s|ing|ed)?(?! (?:\w+ )?(?:time|tenths?|seconds?))",
    rf"leak(?:s|ing)? (?:\w+ )?(?:{_LIQUID}|water|hydraulic\w*)|(?:{_LIQUID}|water|an?) leak",
    r"i(?:'m| am|'ve been)? los(?:ing|t) (?:\w+ )?(?:oil|coolant|fluid|water|fuel)",
    rf"{_LIQUID} (?:under|dripping|pouring|coming (?:out|from))",
)
_NOISE: Final = (
    r"(?:knock(?:s|ing)?|rattl(?:e|es|ing)|bang(?:s|ing)?|clunk\w*|grind(?:s|ing)|scrap(?:es|ing)"
    r"|squeal\w*|squeak\w*|whin(?:e|es|ing)|nois(?:e|es)|thump\w*|click(?:s|ing)|hiss\w*"
    r"|rumbl(?:e|es|ing)"
    r"|clatter\w*|tapping|rubbing|howl\w*|screech\w*|sounds?|tick(?:s|ing))"
)
_WHERE: Final = (
    r"(?:engine|gear ?box|suspension|rear|front|back|brakes?|diff|wheels?|car|something|clutch"
    r"|transmission|exhaust|left|right|steering|axle|it|underneath|floor|motor|bearing)"
)
SENSED: Final = _any(
    rf"(?:hear|heard|hearing)\b[^.?!]{{0,25}} {_NOISE}",
    r"(?:strange|weird|odd|funny|loud|bad|awful|unusual|nasty|metallic|terrible|horrible|new)"
    r" (?:\w+ )?(?:nois(?:e|es)|sounds?|bang|knock\w*|rattle|smell|vibration)",
    rf"(?:{_NOISE}|vibrat\w*|shak\w*) (?:\w+ )?(?:from|in|at|under|on|behind|near) (?:the "
    rf"|my )?(?:\w+ )?"
    rf"{_WHERE}(?! trace)",
    rf"{_WHERE}(?:'s| is| are| has| keeps| started| starts| just| was)* (?:knock(?:s|ing)"
    rf"|rattl(?:es|ing)"
    r"|bang(?:s|ing)|clunk(?:s|ing)|grind(?:s|ing)|scrap(?:es|ing)|squeal(?:s|ing)|screech(?:es"
    r"|ing)"
    r"|mak\w+ (?:\w+ ){0,2}(?:nois(?:e|es)|sounds?)|shak(?:es|ing)|sound(?:s|ing) (?:\w+ )?"
    r"(?:rough|bad|wrong|funny|strange|weird|different|odd))",
    r"(?:vibrat|judder|shudder)\w*",
    r"knocking(?: nois\w*| sound\w*)",
    r"(?:i|we|you) (?:can |could |just )?(?:smell|smelled|smelt) (?:\w+ ){0,2}(?:something|oil"
    r"|rubber|hot|brakes?"
    r"|clutch|plastic|electric\w*|coolant|sweet|sulphur|sulfur|diesel|exhaust|it|that)",
    r"smell(?:s|ing)? (?:of |like )?(?:\w+ )?(?:oil|rubber|hot|brakes?|clutch|plastic"
    r"|electric\w*|coolant"
    r"|diesel|exhaust|bad|strange|weird|funny)",
    r"(?:rubber|brake|clutch|oil|plastic|electrical|hot|sweet|fuel|petrol|acrid) smell",
    r"(?:sparks|steam)\b(?! (?:ahead|of interest))",
)
BRAKES: Final = _any(
    r"brakes?(?:'s| is| are| have| has| keeps?| started| start| just)*(?: (?:to|me|really))?"
    r" (?:grind\w*|squeal\w*|judder\w*|vibrat\w*|shudder\w*|dragg\w*|bind\w*|stuck|jammed"
    r"|pull(?:s|ing)?"
    r" (?:\w+ ){0,2}(?:left|right|one side)|glow\w*|lock(?:ed)? on|not (?:respond\w*|bit\w*"
    r"|stopp\w*))",
    r"(?:car|it) (?:won't|doesn't|does not|isn't|will not) (?:stop|stopping|slow"
    r"|slowing)(?: down)?",
    r"brake (?:fluid|line)(?:'s| is| has)* (?:boil\w*|low|gone|leak\w*|cut|burst|broken?)"
    r"|boil\w* brake fluid",
)

# -- what a gauge is told to show

_GAUGE: Final = (
    r"(?:(?:water|oil|coolant|engine|gear ?box|transmission|brakes?|tyres?|tires?|motor|temp\w*"
    r"|radiator|intake|battery)(?:'s)?(?: temp\w*| gauge)?|temps?|temperatures?|it)"
)
_HOT: Final = re.compile(
    rf"\b{_GAUGE}(?:'s|'re| is| are| at| reads?| shows?| says| hit| just| has| have| keeps?"
    rf"| reached"
    r"| now| went| goes| gone| getting| over| above| past| to| of| climb\w*| ris\w*| went up| up"
    r"| about| around| nearly| already)+ ?(\d{2,3})(?![\d:.])"
    r"(?! ?(?:km|kph|mph|m\b|met|bar|s\b|sec|%|laps|rpm|psi))"
)
_READ: Final = re.compile(r"\b(\d{2,3}) ?(?:degrees?|°|c\b|celsius|deg)")
_TEMPERATURE: Final = re.compile(r"\b(?:temp\w*|coolant|water|oil|engine|gearbox|brakes?)\b")
_RED: Final = re.compile(
    rf"\b(?!it\b){_GAUGE}(?:'s|'re| is| are| has| have| just| keeps?| getting| goes| going| went"
    rf"| gone"
    r"| feels?| looks?| seems?| running| gauge| needle| still| now| on)*(?: (?:way|too|very"
    r"|really|so"
    r"|extremely|dangerously|quite|through|off|in|into|on))*(?: the)?"
    r" (?:high|hot|ris(?:ing|es)|climb\w*|red(?: zone)?|roof|scale|critical|alarm\w*|boil\w*"
    r"|spik\w*"
    r"|overheat\w*|maxed|cooking)\b"
)
_GRAVE_C: Final = 105.0
"""What water does not reach, and oil seldom; who asks whether to go on is answered from there."""
_GRAVE_OIL: Final = 130.0
_ASKED: Final = re.compile(
    r"(?:(?:and|so|but|ok(?:ay)?),? )?(?:is|are|was|were|did|do|does|what|how|when|where|which|on"
    r"|show|tell|compare|has|have|why)\b"
)
_GO_ON: Final = re.compile(
    r"\b(?:carry on|go on|continue|keep (?:going|driving|on)|stop|pit|come in|what now|what do i do"
    r"|what should i do|danger\w*|safe|ok(?:ay)?|too hot|bad|normal|fine|problem|worr\w*)\b"
)


def hot(text: str) -> bool:
    """Whether a driver tells of a temperature that alarms, in plain *text*."""
    asked, go_on = _ASKED.match(text) is not None, _GO_ON.search(text) is not None
    if (asked and not go_on) or RECORDED.match(text):
        return False
    if not asked and _RED.search(text):
        return True
    found = _HOT.search(text) or (_READ.search(text) if _TEMPERATURE.search(text) else None)
    if found is None or ("it" in found[0].split() and not _TEMPERATURE.search(text)):
        return False
    limit = _GRAVE_OIL if re.search(r"\b(?:oil|gearbox|tyres?|tires?)\b", text) else _GRAVE_C
    if re.search(r"\bbrakes?\b", text):
        return go_on
    return float(found[1]) >= (_GRAVE_C if go_on else limit)


# -- rain

_BEGAN: Final = _any(
    r"rain(?:'s| has| is)* (?:just |now |really )*(?:started|begun|began|starting|coming down"
    r"|falling"
    r"|here|getting (?:heavier|worse|stronger)|heavier|set in|pouring|back|arrived|on)",
    r"(?:started|starting|starts|begun|began|beginning) (?:to )?(?:rain|drizzl|spit|pour|snow"
    r"|hail)\w*",
    r"it(?:'s| is)(?: just| now| really| already)* (?:rain|drizzl|pour|snow|hail|chuck|spitt)ing",
    r"it (?:just )?(?:rains|pours|drizzles|snows|hails|rained)(?! (?:on|in) lap)",
    r"^(?:rain|raining|rain now|heavy rain|drizzle|it rains)(?: (?:now|here|at|in|on) [\w ]+)?\W*$",
    r"(?:rain|rain ?drops?|drops|water|drizzle|snow) (?:\w+ )?(?:on|over) (?:the |my )?(?:visor"
    r"|wind(?:screen|shield)|screen|glass|helmet|track|line|circuit)",
    r"(?:first|feel|feeling|some|few|see|seeing|there(?:'s| is)) (?:rain|(?:rain ?)?drops"
    r"|spots of rain|drizzle)",
    r"(?:heavy|light|sudden|pouring) (?:rain|shower|downpour) (?:now|here|ahead|at|in turn|on)",
    r"(?:standing water|puddles?|river|ice|snow|hail) (?:\w+ )?(?:on|at|in|across|everywhere)",
    r"there(?:'s| is| are)(?: some| a)? (?:standing water|puddles?|ice|snow|hail|thunder\w*"
    r"|lightning)",
    r"(?:i(?:'m| am)?|car(?:'s| is)?|we(?:'re)?) (?:just )?aquaplan\w*",
    r"(?:track|road|surface|circuit|line|it|turn \d+)(?:'s| is| has| just| now| feels?| felt"
    r"| gone| went"
    r"| got)+(?: (?:just|now|getting|turning|going|gone|very|really|so|completely|all|a bit"
    r"|quite|too|become"
    r"|becoming))*"
    r" (?:wet|soaked|soaking|flooded|icy|slippery|greasy|damp|drenched)",
)
_NOT_TOLD: Final = re.compile(
    r"(?:(?:and|so|but|ok(?:ay)?|then),? )*(?:was|were|did|will|is|are|what if|what happens|how"
    r"|would|if|when|where|which|do|does"
    r"|had|has|can|could|should|may|might|why)\b"
)
_IF: Final = re.compile(
    r"\b(?:if|when|in case|whenever|was|last (?:time|session|lap)|on lap \d+|yesterday)\b"
)


def rain(text: str) -> bool:
    """Whether a driver tells of rain, or of a wet track, in plain *text*."""
    found = _BEGAN.search(text)
    return found is not None and not (_NOT_TOLD.match(text) or _IF.search(text[: found.end() + 12]))


def of_a_signal(text: str) -> bool:
    """Whether a plain *text* speaks of a recording and not of a car."""
    return _SIGNAL.search(text) is not None
