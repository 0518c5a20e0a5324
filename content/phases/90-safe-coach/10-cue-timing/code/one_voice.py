"""One arbiter that decides when each proposal is spoken, held or dropped."""

COOLDOWN_S = 3.0
STALE_S = 5.0
STRAIGHT_G = 0.3


class Arbiter:
    """Holds at most one proposal until it may be spoken."""

    def __init__(self) -> None:
        self.last_s = -inf
        self.held: Cue | None = None

    def submit(self, now_s: float, g_lat: float, cue: Cue | None) -> str:
        """Decision at one moment; call it with None while nothing is new."""
        if cue and cue.priority >= 3:
            self.last_s = now_s
            return f"say now: {cue.text}"
        old = self.held
        if cue and (not old or self.stale(old, now_s) or cue.priority >= old.priority):
            self.held = cue
        if not self.held:
            return "silent"
        text = self.held.text
        if self.stale(self.held, now_s):
            self.held = None
            return f"drop, stale: {text}"
        if now_s + lead_s(len(text.split())) > self.held.act_by_s:
            self.held = None
            return f"drop, too late: {text}"
        if g_lat >= STRAIGHT_G or now_s - self.last_s < COOLDOWN_S:
            return f"hold: {text}"
        self.held, self.last_s = None, now_s
        return f"say: {text}"

    def stale(self, cue: Cue, now_s: float) -> bool:
        """True when a cue has waited for more than STALE_S."""
        return now_s - cue.born_s > STALE_S


arbiter = Arbiter()
for t_s, g_lat, cue in LOG:
    print(f"{t_s:5.1f}  {arbiter.submit(t_s, g_lat, cue)}")
