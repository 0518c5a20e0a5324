"""The rows of notifications and of spectators' tokens: how they are written and read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.operations import LIGHT, Weight
from runtime.bridge.storage.transaction import Transaction


class NotificationRow(NamedTuple):
    """Something to tell a driver; times are Unix milliseconds."""

    id: int
    driver: str
    """Empty: nobody in particular."""
    kind: str
    payload: str
    """The JSON that listeners get."""
    created_at: int
    delivered_at: int | None = None


class TokenRow(NamedTuple):
    """What is kept of a spectator's token; times are Unix milliseconds."""

    token_hash: str
    session_id: str
    created_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class AddNotification:
    """A notification with a number that is larger than every one before; the oldest go."""

    row: NotificationRow
    kept: int
    """How many stay."""

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        return Weight(1, 1024 + 4 * len(self.row.payload))

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        tx.run("DELETE FROM notifications WHERE id <= ?", (self.row.id - self.kept,))
        tx.run("INSERT INTO notifications VALUES (?, ?, ?, ?, ?, ?)", tuple(self.row))


@dataclass(frozen=True, slots=True)
class MarkDelivered:
    """Somebody has got these notifications."""

    ids: Sequence[int]
    now_ms: int

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        for number in self.ids:
            tx.run(
                "UPDATE notifications SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL",
                (self.now_ms, number),
            )


@dataclass(frozen=True, slots=True)
class AddToken:
    """A token, of which only the digest is kept; tokens that have expired go."""

    row: TokenRow

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        tx.run("DELETE FROM spectator_tokens WHERE expires_at <= ?", (self.row.created_at,))
        tx.run("INSERT INTO spectator_tokens VALUES (?, ?, ?, ?, NULL)", tuple(self.row))


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """A token is good for nothing from now on."""

    token_hash: str
    now_ms: int

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        tx.run(
            "UPDATE spectator_tokens SET revoked_at = ?"
            " WHERE token_hash = ? AND revoked_at IS NULL",
            (self.now_ms, self.token_hash),
        )


def notifications(connection: Connection, limit: int) -> list[NotificationRow]:
    """The last *limit*, oldest first."""
    rows = connection.rows(
        "SELECT id, driver, kind, payload, created_at, delivered_at FROM notifications"
        " ORDER BY id DESC LIMIT ?",
        (limit,),
    )
    return [NotificationRow(*row) for row in reversed(rows)]


def tokens(connection: Connection, now_ms: int) -> list[TokenRow]:
    """Those that are good at *now_ms*."""
    rows = connection.rows(
        "SELECT token_hash, session_id, created_at, expires_at FROM spectator_tokens"
        " WHERE revoked_at IS NULL AND expires_at > ? ORDER BY token_hash",
        (now_ms,),
    )
    return [TokenRow(*row) for row in rows]
