"""A drive beside what the bridge says of it: an independent timer."""

import numpy as np

from tests.bridge.truth.asking import View
from tests.bridge.truth.circuits import Numbers
from tests.bridge.truth.drives import Drive


class Seen:
    """A drive, and what the bridge says of it."""

    def __init__(self, made: Drive, view: View) -> None:
        self.made, self.view = made, view
        self.plan = made.plan
        self.clock_s = made.columns["timestamp"][0] - view.full["t_start"]

    @property
    def gate_m(self) -> float:
        """Where the laps begin: the median, going round, of the drive's places at their edges."""
        laps = self.view.laps
        moments = [lap["t_start"] for lap in laps] + [lap["t_end"] for lap in laps[-1:]]
        length = self.made.circuit.length_m
        places = np.array([self.made.station_at(t + self.clock_s) for t in moments])
        around = (places - places[0] + length / 2) % length - length / 2
        return float(places[0] + np.median(around)) % length

    @property
    def lap_times(self) -> Numbers:
        """Seconds between the passes of the gate, the way out of the pits and in left out."""
        return np.diff(self.made.lap_edges(self.gate_m))
