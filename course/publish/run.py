"""One run between its steps: the cache, and the crew that reads and renders lessons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from course.options import Options
from course.publish import cache
from course.publish.fingerprint import fingerprint
from course.publish.parallel import Alone, Crew, Forked, workers
from course.publish.shell import SiteInfo
from course.publish.target import Target
from course.publish.unit import Unit
from course.publish.workshop import Preparing, Reading, Rendering, Task, Workshop
from course.read.lesson import Lesson, Parts, Setup

_LATER: Final = 6  # of so many lessons, one is given out last
_PORTION: Final = 8  # lessons


class Run:
    """The state of one run; *meanwhile* is done once while other processes read lessons."""

    def __init__(self, options: Options, target: Target, meanwhile: Callable[[], object]) -> None:
        self.options = options
        self.target = target
        self.shards = cache.Shards(options.cache) if options.cache else None
        self.keys: dict[str, str] = {}
        self.crew: Crew | None = None
        self._meanwhile = meanwhile
        self._parts: dict[str, Parts] = {}
        self._setup: Setup | None = None
        self._readers: dict[str, int] = {}

    def close(self) -> None:
        """End the other processes."""
        if self.crew is not None:
            self.crew.close()

    def _gather(self, setup: Setup, items: int) -> Crew:
        """The crew for *items* lessons; other processes are started where they pay."""
        size = workers(self.options.jobs, items)
        if self.crew is None or (isinstance(self.crew, Alone) and size > 1):
            shop = Workshop(self._parts, setup, self.target, apart=size > 1)
            self.crew = Forked(shop, size, shop.ahead) if size > 1 else Alone(shop)
        return self.crew

    def read(self, parts: list[Parts], setup: Setup) -> Iterator[Lesson]:
        """Begin to read lessons through the cache; the records come in the order of *parts*."""
        self._setup, self._parts = setup, {one.folder: one for one in parts}
        found: dict[str, Lesson] = {}
        if self.shards and self.shards.kept():
            self._find_keys()
            for one in parts:
                if record := self.shards.record(one, self.keys[one.folder]):
                    found[one.folder] = record
        fresh = [one.folder for one in parts if one.folder not in found]
        crew = self._gather(setup, len(fresh))
        for member in range(crew.size):
            share = fresh[member :: crew.size]
            self._readers |= dict.fromkeys(share, member)
            crew.ask(member, Reading(share))
        return self._records(crew, found)

    def _find_keys(self) -> None:
        if self._setup is not None and not self.keys:
            shared = cache.setup_key(self._setup, fingerprint())
            self.keys = {name: cache.lesson_key(one, shared) for name, one in self._parts.items()}

    def _records(self, crew: Crew, found: dict[str, Lesson]) -> Iterator[Lesson]:
        self._find_keys()
        self._meanwhile()
        for record in crew.answers():
            found[record.folder] = record
        for folder in self._parts:
            yield found[folder]

    def render(self, tasks: list[Task], site: SiteInfo, page_kib: int) -> Iterator[Unit]:
        """Begin to render *tasks*, each by the member that has read its lesson."""
        if self._setup is None:
            return iter(())
        crew = self._gather(self._setup, len(tasks))
        shares: list[list[Task]] = [[] for _ in range(crew.size)]
        for number, task in enumerate(tasks):
            shares[self._readers.get(task.folder, number % crew.size)].append(task)
        left = [_portions(share) if crew.size > 1 else [] for share in shares]
        for member, share in enumerate(shares):
            crew.ask(member, Preparing(site, page_kib))
            crew.ask(member, Rendering(share))
        return self._rendered(crew, left)

    def _rendered(self, crew: Crew, left: list[list[Rendering]]) -> Iterator[Unit]:
        def more(member: int) -> Rendering | None:
            """What is left for *member*; else what is farthest from its turn elsewhere."""
            if left[member]:
                return left[member].pop(0)
            longest = max(left, key=len)
            return longest.pop() if len(longest) > 1 else None

        yield from crew.answers(more)
        crew.dismiss()


def _portions(share: list[Task]) -> list[Rendering]:
    """Take the last part of *share* away, in portions that may go to whoever is done first.

    Lessons that go to another process are read again there, which is better than to wait.
    """
    at = len(share) - len(share) // _LATER
    later, share[at:] = share[at:], []
    return [Rendering(later[n : n + _PORTION]) for n in range(0, len(later), _PORTION)]
