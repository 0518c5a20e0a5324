"""The one thread that writes: it commits together what came in while the last commit ran."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np

from runtime.bridge.storage.backend import Engine
from runtime.bridge.storage.errors import Damaged, StoreDamaged
from runtime.bridge.storage.importing import Step
from runtime.bridge.storage.operations import Operation
from runtime.bridge.storage.records import Settle
from runtime.bridge.storage.state import State
from runtime.bridge.storage.transaction import Transaction
from runtime.bridge.storage.values import Figures
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

Ticket = TypeVar("Ticket")

GROUP_ROWS: Final = 20_000
GROUP_BYTES: Final = 4 << 20
"""A commit takes no further operation beyond either; one larger operation goes alone."""
MOST_WAITING: Final = 4_096
MOST_BYTES: Final = 256 << 20
"""What may wait; a single operation may be larger."""
MOST_STEPPED: Final = 4
"""Imports that may wait or run."""
BREATH_S: Final = 0.002
BREATH_SHARE: Final = 0.1
"""Longest wait behind a group for as many operations as it had; where that is longer, a share of
the time that the group took. Those who are answered often write again at once: together they are
one group, without the wait they would be two or three."""
BREATH_FROM: Final = 4
"""Operations of a group that is followed by such a wait."""
QUIET_S: Final = 5.0
"""A session without writes for this long is settled."""
_REMEMBERED: Final = 512


class Finished(NamedTuple, Generic[Ticket]):
    """What became of an operation."""

    ticket: Ticket
    result: object
    error: Exception | None


@dataclass(slots=True)
class _Job(Generic[Ticket]):
    operation: Operation[object]
    ticket: Ticket
    rows: int
    nbytes: int


@dataclass(slots=True)
class _Stepped(Generic[Ticket]):
    work: Step
    steps: Iterator[Operation[object]]
    ticket: Ticket | None
    error: Exception | None = None


class Writer(Generic[Ticket]):
    """Takes operations from any thread; *answer* is called on the writer's, once a group.

    Every accepted operation is answered, after the commit that holds it, even by `close`.
    """

    def __init__(
        self,
        engine: Engine,
        state: State,
        answer: Callable[[list[Finished[Ticket]]], None],
        reload: Callable[[Engine], tuple[State, Operation[None] | None]],
        owed: Operation[None] | None = None,
    ) -> None:
        """*owed* is written first of all, as soon as it can be."""
        self._engine = engine
        self._state = state
        self._answer = answer
        self._reload = reload
        self._owed = owed
        self._changed = threading.Condition()
        self._waiting: deque[_Job[Ticket]] = deque()
        self._stepped: deque[_Stepped[Ticket]] = deque()
        self._bytes = 0
        self._closing = False
        self._breath_until = 0.0
        """Until when (monotonic seconds) the next group waits for more; 0: it does not."""
        self._awaited = 0
        self._quiet: dict[str, float] = {}
        """When a session that has to be settled was written to last (monotonic seconds)."""
        self._looked = 0.0
        self._untended = self._checkpoint = False
        self._commits: deque[tuple[float, int]] = deque(maxlen=_REMEMBERED)
        self.damaged = False
        """Whether a write has met a broken place of the file."""
        self._totals = [0, 0, 0, 0]  # commits, operations, failed, refused
        self._thread = threading.Thread(target=self._run, name="bridge-writer", daemon=True)
        self._thread.start()

    def offer(self, operation: Operation[object], ticket: Ticket) -> bool:
        """Have it written; False: too much is waiting, or the writer is closing."""
        weight = operation.weight
        with self._changed:
            full = len(self._waiting) >= MOST_WAITING or (
                self._waiting and self._bytes + weight.nbytes > MOST_BYTES
            )
            if self._closing or full:
                self._totals[3] += 1
                return False
            self._waiting.append(_Job(operation, ticket, weight.rows, weight.nbytes))
            self._bytes += weight.nbytes
            self._wake(1)
        return True

    def _wake(self, came: int) -> None:
        """Let the thread go on, unless it waits for more operations than have come."""
        self._awaited -= came
        if not self._breath_until or self._awaited <= 0:
            self._breath_until = 0.0
            self._changed.notify()

    def step(self, work: Step, ticket: Ticket | None) -> bool:
        """Have long work done between the groups; False: too much of it is waiting.

        Without a ticket nobody waits for it, and it is always taken.
        """
        with self._changed:
            waiting = sum(other.ticket is not None for other in self._stepped)
            if self._closing or (ticket is not None and waiting >= MOST_STEPPED):
                self._totals[3] += 1
                return False
            self._stepped.append(_Stepped(work, work.steps(), ticket))
            self._changed.notify()
        return True

    def figures(self) -> Figures:
        """How it does."""
        commits = list(self._commits)
        taken = np.array([seconds for seconds, _ in commits]) * 1000.0
        p50, p99 = np.percentile(taken, (50, 99)) if commits else (0.0, 0.0)
        done, operations, failed, refused = self._totals
        return Figures(
            commits=done,
            operations=operations,
            failed=failed,
            refused=refused,
            group_mean=float(np.mean([n for _, n in commits])) if commits else 0.0,
            commit_p50_ms=float(p50),
            commit_p99_ms=float(p99),
            queued=len(self._waiting),
            queued_bytes=self._bytes,
        )

    def close(self) -> None:
        """Refuse what comes, finish what was accepted, settle every session. Blocks."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._wait()
                group = self._taken()
                stepped = self._stepped[0] if self._stepped else None
                ended = self._closing and not group and stepped is None
            if group:
                self._commit_group(group)
            if stepped is not None:
                self._advance(stepped)
            self._settle_quiet(everything=ended)
            self._tend()
            if ended:
                return

    def _wait(self) -> None:
        while self._breath_until and not self._closing:
            left = self._breath_until - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                self._breath_until = 0.0
        while not (self._waiting or self._stepped or self._closing):
            if not self._changed.wait(1.0 if self._quiet else None):
                return

    def _taken(self) -> list[_Job[Ticket]]:
        group: list[_Job[Ticket]] = []
        rows = nbytes = 0
        while self._waiting:
            job = self._waiting[0]
            if group and (rows + job.rows > GROUP_ROWS or nbytes + job.nbytes > GROUP_BYTES):
                break
            group.append(self._waiting.popleft())
            rows, nbytes = rows + job.rows, nbytes + job.nbytes
        self._bytes -= nbytes
        return group

    def _commit_group(self, group: Sequence[_Job[Ticket]]) -> None:
        began = time.monotonic()
        finished = self._committed(group)
        if isinstance(finished, Exception) and len(group) > 1:  # find out which of them spoils it
            finished = [one for job in group for one in self._alone(job)]
        elif isinstance(finished, Exception):
            finished = [Finished(group[0].ticket, None, finished)]
        self._totals[1] += len(finished)
        self._totals[2] += sum(one.error is not None for one in finished)
        if len(group) >= BREATH_FROM:
            with self._changed:
                # Those who wait already do not count: the groups of both would alternate for ever.
                now = time.monotonic()
                self._awaited = len(group)
                self._breath_until = now + max(BREATH_S, BREATH_SHARE * (now - began))
        self._answer(finished)

    def _alone(self, job: _Job[Ticket]) -> list[Finished[Ticket]]:
        finished = self._committed([job])
        if isinstance(finished, Exception):
            return [Finished(job.ticket, None, finished)]
        return finished

    def _committed(self, group: Sequence[_Job[Ticket]]) -> list[Finished[Ticket]] | Exception:
        """What became of each; an error where nothing at all was changed."""
        finished: list[Finished[Ticket]] = []

        def work(tx: Transaction) -> None:
            for job in group:
                before = tx.changes
                try:
                    finished.append(Finished(job.ticket, job.operation.apply(tx), None))
                except ApiError as error:
                    if tx.changes != before:
                        raise
                    finished.append(Finished(job.ticket, None, error))

        return self._transact(work, len(group)) or finished

    def _transact(self, work: Callable[[Transaction], object], size: int = 1) -> Exception | None:
        """Commit *work*; the error for its callers, if it failed and left no trace."""
        owed, self._owed = self._owed, None
        if owed is not None and (error := self._transact(owed.apply)) is not None:
            self._owed = owed
            return error
        connection = self._engine.writer
        started = time.perf_counter()
        tx = Transaction(connection, self._state)
        try:
            connection.begin(write=True)
            work(tx)
            tx.flush()
            connection.commit()
        except ApiError as error:
            self._roll_back()
            return error
        except Exception as error:  # noqa: BLE001 - whatever happened, the writer goes on
            self._roll_back()
            told = self._told(error)
            self._revive(error)
            return told
        tx.draft.settle()
        self._commits.append((time.perf_counter() - started, size))
        self._totals[0] += 1
        now = time.monotonic()
        for session in tx.draft.changed():
            if session.dirty:
                self._quiet[session.session_id] = now
        self._untended = True
        self._checkpoint = self._checkpoint or tx.checkpoint
        return None

    def _tend(self) -> None:
        """What the last commits have left to do, now that they are answered."""
        if not self._untended:
            return
        checkpoint, self._checkpoint, self._untended = self._checkpoint, False, False
        try:
            if checkpoint:
                self._engine.checkpoint()
            self._engine.tend()
        except Exception as error:
            log.warning("the log could not be brought into the database", exc_info=True)
            self._revive(error)

    def _revive(self, error: Exception) -> None:
        """Begin again with what is on disk, if the engine can go on in no other way."""
        try:
            if self._engine.revive(error):
                fresh, owed = self._reload(self._engine)
                self._owed = self._owed or owed
                self._state.become(fresh)
                log.warning("the database was opened anew")
        except Exception:
            log.exception("the database cannot be opened anew")

    def _told(self, error: Exception) -> Exception:
        known = self._engine.translated(error)
        if isinstance(known, Damaged):
            self.damaged = True
            known = StoreDamaged()
        log.error("a write failed: %s", known, exc_info=error)
        return known

    def _roll_back(self) -> None:
        try:
            self._engine.writer.rollback()
        except Exception:
            log.warning("a failed write could not be rolled back", exc_info=True)

    def _advance(self, stepped: _Stepped[Ticket]) -> None:
        """One step of long work."""
        error: Exception | None = None
        operation = None
        try:
            operation = next(stepped.steps, None)
        except ApiError as refused:
            error = refused
        except Exception as failed:  # noqa: BLE001 - whatever happened, the writer goes on
            error = self._told(failed)
        if operation is not None:
            error = self._transact(operation.apply)
        if error is not None and stepped.error is None:
            stepped.error, stepped.steps = error, stepped.work.undo()
        elif error is not None or operation is None:
            with self._changed:
                self._stepped.popleft()
            if stepped.ticket is not None:
                result = None if stepped.error else stepped.work.result
                self._answer([Finished(stepped.ticket, result, stepped.error)])

    def _settle_quiet(self, *, everything: bool) -> None:
        now = time.monotonic()
        if not everything and now - self._looked < 1.0:
            return
        self._looked = now
        for session_id, last in list(self._quiet.items()):
            if everything or now - last >= QUIET_S:
                del self._quiet[session_id]
                self._transact(Settle(session_id).apply)
