"""Why a replay cannot begin."""

from runtime.web.errors import ApiError


class ReplayRunning(ApiError):
    """One session is replayed at a time."""

    status, code = 409, "replay_running"

    def __init__(self, source_session_id: str) -> None:
        super().__init__("a replay is running; stop it first")
        self.source_session_id = source_session_id


class ReplayUnavailable(ApiError):
    """What is live now cannot be made to wait."""

    status, code = 503, "replay_unavailable"

    def __init__(self) -> None:
        super().__init__("a replay cannot begin now; the server's log says why")
