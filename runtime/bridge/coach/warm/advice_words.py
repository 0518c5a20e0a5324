"""The words of advice, by which it is told from a statement and from a name; data."""

from typing import Final

FRAMES: Final = frozenset(
    """
    brake look keep lift release trail ease bleed fade squeeze hold stay be wait open unwind
    straighten turn turnin stick steer point feed pick get apply roll carry aim use choose find set
    settle let give take breathe relax repeat practise practice build add drive change compare
    review focus work concentrate prioritise prioritize trust commit respect warm check link blend
    match avoid reduce go make leave move start begin finish complete slow smooth remember enjoy
    listen feel have talk visualise visualize picture think reset come rest drink see watch scan try
    eyes vision hands release exit entry apex braking pace line rhythm throttle
    """.split()
)
"""Verbs of instructions, and what they are mostly about."""
NOUNS: Final = frozenset("eyes vision hands exit entry apex braking pace line rhythm".split())
"""Those of them that command nothing."""
FREE: Final = frozenset(
    """
    the a an your you it its them that this there here of in on at to for from with into through
    and or as by all then so too also just only again next run time lap laps session today now first
    little bit touch slightly few more is are be every each corner corners car instead we our own
    long whole metre metres meters midcorner kerb points marker markers board straight straights
    """.split()
)
"""Words that claim nothing by themselves."""
OPENERS: Final = frozenset(
    """
    next run time session lap laps today now then first again also and so please just instead
    remember try let us you should could can need want to the a for in on at of this that onething
    here there aim make sure is simply
    """.split()
)
"""Words that may stand before the verb."""
