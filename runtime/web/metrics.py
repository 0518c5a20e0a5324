"""Metrics in the text format of Prometheus."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sample:
    """A value; labels keep their order. *suffix* extends the name, for example ``_bucket``."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of a name, with their description."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[Sample, ...] = ()


def counter(name: str, help_text: str, value: float) -> Family:
    """A family with one sample that only increases."""
    return Family(name, "counter", help_text, (Sample(value),))


def gauge(name: str, help_text: str, value: float) -> Family:
    """A family with one sample that goes up and down."""
    return Family(name, "gauge", help_text, (Sample(value),))


def to_samples(values: Iterable[tuple[Labels, float]]) -> tuple[Sample, ...]:
    """Samples from label maps."""
    return tuple(Sample(value, tuple(labels.items())) for labels, value in values)


@dataclass(frozen=True, slots=True)
class Counts:
    """A histogram; the last entry of *counts* is for values above the last of *bounds*."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @classmethod
    def empty(cls, bounds: Sequence[float]) -> "Counts":
        """A histogram without observations; *bounds* increase."""
        return cls(tuple(bounds), (0,) * (len(bounds) + 1), 0.0)

    def observe(self, value: float) -> "Counts":
        """Return the histogram with another observation."""
        place = next((i for i, bound in enumerate(self.bounds) if value <= bound), len(self.bounds))
        counts = tuple(n + (i == place) for i, n in enumerate(self.counts))
        return Counts(self.bounds, counts, self.total + value)

    def samples(self) -> tuple[Sample, ...]:
        """Cumulative buckets, sum and count."""
        buckets: list[Sample] = []
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            buckets.append(Sample(running, (("le", number(bound)),), "_bucket"))
        return (*buckets, Sample(self.total, suffix="_sum"), Sample(running, suffix="_count"))


def render(families: Iterable[Family]) -> str:
    """Return the exposition text of *families*, in order."""
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escape(family.help, quotes=False)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for sample in family.samples:
            named = ",".join(f'{name}="{_escape(value)}"' for name, value in sample.labels)
            braces = f"{{{named}}}" if named else ""
            lines.append(f"{family.name}{sample.suffix}{braces} {number(sample.value)}")
    return "".join(f"{line}\n" for line in lines)


def number(value: float) -> str:
    """Format integers plainly, other values with at most six decimals and no exponent."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value):
        return str(int(value))
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _escape(text: str, *, quotes: bool = True) -> str:
    plain = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\n")
    return plain.replace('"', '\\"') if quotes else plain
