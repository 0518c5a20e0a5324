"""The writer thread: it commits together all writes that arrived during the last commit."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from runtime.bridge.storage import sessions
from runtime.bridge.storage.backend import Engine
from runtime.bridge.storage.errors import Damaged, StoreDamaged
from runtime.bridge.storage.records import Figures
from runtime.bridge.storage.transaction import State, Transaction
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

Write: TypeAlias = Callable[[Transaction], Any]
"""Changes the store. Raises `ApiError` before its first change, or not at all."""
Steps: TypeAlias = Generator[Write, None, Any]
"""Long work: each yielded write is committed alone, between the groups. An error is raised at its
yield; writes yielded after that undo the work."""

GROUP_ROWS: Final = 20_000
"""Most rows of a commit; a larger write is committed alone."""
MOST_WAITING: Final = 4_096
MOST_ROWS: Final = 1_500_000
"""Most rows that wait, some 250 MB; a single write may be larger."""
MOST_STEPPED: Final = 4
"""Most imports that wait or run."""
QUIET_S: Final = 5.0
"""A session without writes for this long is settled."""
_REMEMBERED: Final = 512


@dataclass(slots=True, eq=False)
class Job:
    """A write, or long work, and its result."""

    work: Write | Steps
    future: "asyncio.Future[Any] | None"
    rows: int = 1
    result: object = None
    error: Exception | None = None


class Writer:
    """Takes writes from any thread; *answer* is called on the writer's thread, once per group.

    Every accepted write is answered after its commit, even during `close`.
    """

    def __init__(
        self,
        engine: Engine,
        state: State,
        answer: Callable[[list[Job]], None],
        reload: Callable[[Engine], tuple[State, Write | None]],
        count: Callable[[int], None],
        owed: Write | None = None,
    ) -> None:
        """Call *count* with the number of frames after each commit, and before one that deletes
        some with the number to come; *owed* is written first."""
        self._engine = engine
        self._state = state
        self._answer = answer
        self._reload = reload
        self._count = count
        self._owed = owed
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._rows = 0
        """Rows of all waiting writes."""
        self._long: deque[Job] = deque()
        self._closing = False
        self._quiet: dict[str, float] = {}
        """The last write to each session that must be settled (monotonic seconds)."""
        self._looked = 0.0
        self._untended = self._checkpoint = False
        self._commits: deque[tuple[float, int]] = deque(maxlen=_REMEMBERED)
        """Seconds and writes of the latest commits."""
        self.damaged = False
        """Whether a write has found damage to the file."""
        self._n_commits = self._n_failed = self._n_refused = 0
        self._thread = threading.Thread(target=self._run, name="bridge-writer", daemon=True)
        self._thread.start()

    def offer(self, job: Job) -> bool:
        """Queue a write for the next `wake`. Return False if too much is waiting, or if closing."""
        with self._changed:
            full = len(self._waiting) >= MOST_WAITING or (
                self._waiting and self._rows + job.rows > MOST_ROWS
            )
            if self._closing or full:
                self._n_refused += 1
                return False
            self._waiting.append(job)
            self._rows += job.rows
        return True

    def wake(self) -> None:
        """Start with the queued writes, after a group that is being written."""
        with self._changed:
            self._changed.notify()

    def step(self, steps: Steps, future: "asyncio.Future[Any] | None" = None) -> bool:
        """Queue long work, done between the groups. Return False if too much of it is waiting.

        Work without a future is always accepted.
        """
        with self._changed:
            waiting = sum(other.future is not None for other in self._long)
            if self._closing or (future is not None and waiting >= MOST_STEPPED):
                self._n_refused += 1
                return False
            self._long.append(Job(steps, future))
            self._changed.notify()
        return True

    def figures(self) -> Figures:
        """Return figures of the writer."""
        seconds, sizes = np.array(list(self._commits) or [(0.0, 0)]).T
        p50, p99 = np.percentile(seconds * 1000.0, (50, 99))
        return Figures(
            commits=self._n_commits,
            failed=self._n_failed,
            refused=self._n_refused,
            group_mean=float(sizes.mean()),
            commit_p50_ms=float(p50),
            commit_p99_ms=float(p99),
            queued=len(self._waiting),
        )

    def close(self) -> None:
        """Refuse new writes, finish the accepted ones, settle every session. Blocks."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._long or self._closing):
                    if not self._changed.wait(1.0 if self._quiet else None):
                        break
                group = self._next_group()
                long = self._long[0] if self._long else None
                ended = self._closing and not group and long is None
            if group:
                self._commit_group(group)
            if long is not None:
                self._advance(long)
            self._settle_quiet(everything=ended)
            self._maintain()
            if ended:
                return

    def _next_group(self) -> list[Job]:
        group: list[Job] = []
        rows = 0
        while self._waiting and (not group or rows + self._waiting[0].rows <= GROUP_ROWS):
            group.append(self._waiting.popleft())
            rows += group[-1].rows
        self._rows -= rows
        return group

    def _commit_group(self, group: list[Job]) -> None:
        if (error := self._commit(group)) is not None:
            for job in group:  # find the one that fails
                alone = error if len(group) == 1 else self._commit([job])
                job.error = alone or job.error
        self._n_failed += sum(job.error is not None for job in group)
        self._answer(group)

    def _commit(self, group: Sequence[Job]) -> Exception | None:
        """Commit the writes of *group*. Return an error if nothing was changed."""

        def together(tx: Transaction) -> None:
            for job in group:
                before = tx.changes
                job.error = None
                try:
                    job.result = job.work(tx)  # type: ignore[operator] # long work is in no group
                except ApiError as error:
                    if tx.changes != before:
                        raise
                    job.error = error

        return self._transact(together, len(group))

    def _transact(self, write: Write, size: int = 1) -> Exception | None:
        """Commit *write*. Return the error for its callers if it failed and left no trace."""
        owed, self._owed = self._owed, None
        if owed is not None and (error := self._transact(owed)) is not None:
            self._owed = owed
            return error
        connection = self._engine.writer
        started = time.perf_counter()
        tx = Transaction(connection, self._state)
        try:
            connection.begin(write=True)
            write(tx)
            tx.flush()
            if (fewer := tx.count_frames()) < self._state.n_frames:
                self._count(fewer)  # in advance, in case of a crash right after the commit
            connection.commit()
        except ApiError as error:
            self._roll_back()
            return error
        except Exception as error:  # noqa: BLE001 - the writer must go on
            self._roll_back()
            reason = self._translate_error(error)
            self._reopen(error)
            return reason
        tx.apply()
        self._count(self._state.n_frames)
        self._commits.append((time.perf_counter() - started, size))
        self._n_commits += 1
        now = time.monotonic()
        for session in tx.list_changed():
            if session.dirty:
                self._quiet[session.session_id] = now
        self._untended = True
        self._checkpoint = self._checkpoint or tx.checkpoint
        return None

    def _maintain(self) -> None:
        """Do the maintenance that the latest commits left, now that they are answered."""
        if not self._untended:
            return
        checkpoint, self._checkpoint, self._untended = self._checkpoint, False, False
        try:
            if checkpoint:
                self._engine.checkpoint()
            self._engine.maintain()
        except Exception as error:
            log.warning("the log could not be moved into the database", exc_info=True)
            self._reopen(error)

    def _reopen(self, error: Exception) -> None:
        """Reload the state from disk if the engine cannot continue otherwise."""
        try:
            if self._engine.reopen(error):
                fresh, owed = self._reload(self._engine)
                self._owed = self._owed or owed
                self._state.take_over(fresh)
                log.warning("the database was reopened")
        except Exception:
            log.exception("the database cannot be reopened")

    def _translate_error(self, error: Exception) -> Exception:
        reason = self._engine.translate_error(error)
        if isinstance(reason, Damaged):
            self.damaged = True
            reason = StoreDamaged()
        log.error("a write failed: %s", reason, exc_info=error)
        return reason

    def _roll_back(self) -> None:
        try:
            self._engine.writer.rollback()
        except Exception:
            log.warning("a failed write could not be rolled back", exc_info=True)

    def _advance(self, long: Job) -> None:
        """Do a step of long work; its error is that of the previous step."""
        failure, long.error = long.error, None
        steps: Steps = long.work  # type: ignore[assignment] # of the queue of long work
        try:
            write = next(steps) if failure is None else steps.throw(failure)
            long.error = self._transact(write)
            return
        except StopIteration as stop:
            long.result = stop.value
        except ApiError as refused:
            long.error = refused
        except Exception as failed:  # noqa: BLE001 - the writer must go on
            long.error = failed if failed is failure else self._translate_error(failed)
        with self._changed:
            self._long.popleft()
        self._answer([long])

    def _settle_quiet(self, *, everything: bool) -> None:
        now = time.monotonic()
        if not everything and now - self._looked < 1.0:
            return
        self._looked = now
        for session_id, last in list(self._quiet.items()):
            if everything or now - last >= QUIET_S:
                del self._quiet[session_id]
                self._transact(partial(sessions.settle, session_id=session_id))
