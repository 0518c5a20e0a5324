"""Python client of the telemetry bridge: sessions, laps and signals as pandas data frames.

It imports only the standard library until a method returns a data frame, which needs pandas;
`Session.frames` also needs pyarrow.
"""

import io
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

ADDRESS: Final = "http://127.0.0.1:8765"
ANSWER_S: Final = 30.0
SLOW_S: Final = 180.0
"""A question may wait for a language model, and a long recording for the disk."""
RETRIES: Final = 2
PAUSE_S: Final = 0.25
"""Pause before the first retry; it doubles with each further one."""
LONGEST_PAUSE_S: Final = 10.0
SESSION_COLUMNS: Final = (
    *("session_id", "started_at", "ended_at", "driver", "driver_level", "car"),
    *("track", "track_id", "track_by", "lap_count", "best_lap_s", "note"),
)
"""The columns of an empty list of sessions."""
SAFE: Final = "/%:?&=,;@!$'()*+~#[]"
"""Characters of a path that are not quoted."""
BUSY: Final = frozenset({429, 502, 503, 504})
"""Temporary statuses."""
Json = dict[str, Any]
_DIRECT: Final = build_opener(ProxyHandler({}))
"""The bridge is on this machine or network, so no proxy is used."""


class BridgeError(Exception):
    """The bridge refused a request, or could not be reached."""

    def __init__(self, message: str, code: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        """The bridge's message, if there is one."""
        self.code = code
        """The bridge's error code; else `unreachable`, `timeout` or `no_bridge`."""
        self.status = status
        """The HTTP status; None without an answer."""
        self.retry_after_s: float | None = None
        """The pause that a busy bridge asks for."""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in BUSY if self.status else self.code in ("unreachable", "timeout")


class Event(NamedTuple):
    """An event of a live or replayed session."""

    name: str
    """hello, telemetry, cue, lap, sector, notification, state, loop or end."""
    data: Json


class Comparison(NamedTuple):
    """Laps compared with the first one."""

    laps: "pd.DataFrame"
    """A row for each lap: session, number, time, driver and car, indexed by the requested name."""
    channels: "pd.DataFrame"
    """Columns by channel and lap, at each place of the lap in metres from the line."""
    corners: "pd.DataFrame"
    """Seconds, seconds behind the first lap and lowest speed, by corner and lap."""


class Bridge:
    """A bridge at an address. Threads may share it."""

    def __init__(
        self, address: str = ADDRESS, *, timeout_s: float = ANSWER_S, retries: int = RETRIES
    ) -> None:
        """*timeout_s* limits the time without data from the bridge.

        A request that only reads is retried up to *retries* times if the bridge is busy or
        unreachable.
        """
        if not address.lower().startswith(("http://", "https://")):
            raise ValueError("the address must begin with http:// or https://")
        if not _is_reachable(address):
            raise ValueError("the address is not one of a server, as http://127.0.0.1:8765 is")
        self.address = address.rstrip("/")
        self._timeout_s = timeout_s
        self._retries = retries

    def get(self, path: str, **query: object) -> Json:
        """GET any route; parameters that are None are omitted."""
        return _object(self.read(path, **query))

    def read(self, path: str, **query: object) -> bytes:
        """GET a route that does not answer JSON; return the bytes."""
        return self._read(self._request("GET", path, query))

    def post(
        self,
        path: str,
        body: Mapping[str, object] | bytes,
        *,
        kind: str = "application/json",
        timeout_s: float | None = None,
    ) -> Json:
        """POST a JSON object, or bytes of the media type *kind*; never retried."""
        request = self._request("POST", path)
        request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.add_header("Content-Type", kind)
        return _object(self._read(request, timeout_s))

    def sessions(
        self, *, driver: str | None = None, track: str | None = None, limit: int = 500
    ) -> "pd.DataFrame":
        """Return the sessions, newest first; `started_at` and `ended_at` are in UTC."""
        import pandas as pd

        rows = self.get("/sessions", driver=driver, track=track, limit=limit)["sessions"]
        frame = pd.DataFrame(rows, columns=None if rows else SESSION_COLUMNS)
        for name in ("started_at", "ended_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def session(self, session_id: str) -> "Session":
        """Return one session; sends no request yet."""
        return Session(self, session_id)

    def compare(
        self, first: str, *others: str, channels: tuple[str, ...] = (), points: int = 1000
    ) -> Comparison:
        """Two to six laps of any sessions of one circuit.

        A lap is `session:number` or `session:best`; among the *others* also `session:ideal`,
        `record`, or a time such as `1:35.2`. Without *channels* the result has all that were
        recorded, at *points* places of the lap.
        """
        import pandas as pd

        names = (first, *others)
        answer = self.get(
            "/compare",
            laps=",".join(names),
            channels=",".join(channels) or None,
            points=points,
        )
        laps, corners = answer["laps"], answer["corners"]
        facts = [
            {name: value for name, value in lap.items() if not isinstance(value, dict | list)}
            for lap in laps
        ]
        columns = {
            (channel, name): lap["channels"][channel]
            for channel in dict.fromkeys(channel for lap in laps for channel in lap["channels"])
            for name, lap in zip(names, laps, strict=True)
            if channel in lap["channels"]
        }
        places = pd.Index(answer["axis_m"], name="lap_distance_m")
        rows = [
            {"corner": corner["name"], "lap": name, **part}
            for corner in corners
            for name, part in zip(names, corner["laps"], strict=True)
        ]
        return Comparison(
            pd.DataFrame(facts, index=pd.Index(names, name="lap")),
            pd.DataFrame(columns, index=places, dtype=float),
            pd.DataFrame(rows).set_index(["corner", "lap"]) if rows else pd.DataFrame(),
        )

    def ask(
        self,
        question: str,
        *,
        session: str = "",
        driver: str = "",
        timeout_s: float = SLOW_S,
        **choices: object,
    ) -> Json:
        """Return the coach's `answer` with its `facts`, in the language of the question."""
        fields = {"question": question, "session_id": session, "driver_id": driver, **choices}
        body = {name: value for name, value in fields.items() if value not in ("", None)}
        return self.post("/coach/ask", body, timeout_s=timeout_s)

    def upload(
        self,
        recording: str | PathLike[str] | BinaryIO,
        *,
        filename: str | None = None,
        timeout_s: float = SLOW_S,
        **about: object,
    ) -> "Session":
        """Import the file of a logger, and give the session that it became.

        *recording* is a path, or an open binary file with a *filename*, whose suffix tells the
        format. *about* may name driver, car, track, note, session_id and what else the route
        `/session/upload` takes.
        """
        if isinstance(recording, str | PathLike):
            path = Path(recording)
            with path.open("rb") as file:
                return self._upload(file, filename or path.name, about, timeout_s)
        return self._upload(recording, filename or "", about, timeout_s)

    def _upload(
        self, file: BinaryIO, filename: str, about: Mapping[str, object], timeout_s: float
    ) -> "Session":
        request = self._request("POST", "/session/upload", {"filename": filename, **about})
        length = file.seek(0, io.SEEK_END)
        file.seek(0)
        request.data = file
        request.add_header("Content-Type", "application/octet-stream")
        request.add_header("Content-Length", str(length))
        return self.session(_object(self._read(request, timeout_s))["session_id"])

    def live(
        self,
        session: str = "SIM",
        *,
        topics: tuple[str, ...] = ("telemetry", "cues", "timing"),
        signals: tuple[str, ...] = (),
        hz: float | None = None,
    ) -> Iterator[Event]:
        """What happens from now on, until the loop is left; `SIM` is the session that is driven.

        A connection that breaks is made again, and cues, laps and sectors that were missed are
        given then. Raises `BridgeError` where no event comes any more after all retries.
        """
        query = {
            "session_id": session,
            "topics": ",".join(topics),
            "signals": ",".join(signals) or None,
            "hz": hz,
        }
        last, failures = "", 0
        while True:
            request = self._request("GET", "/stream", query)
            if last:
                request.add_header("Last-Event-ID", last)
            try:
                with self._open(request) as answer:
                    for number, event in _events(answer):
                        last, failures = number or last, 0
                        yield event
                raise BridgeError("the bridge ended the stream", "unreachable")
            except BridgeError as error:
                failures += 1
                if failures > self._retries or not error.may_pass:
                    raise
                _wait(failures, error)

    def _request(
        self, method: str, path: str, query: Mapping[str, object] | None = None
    ) -> Request:
        parameters = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None
        }
        url = self.address + quote(path, SAFE, errors="replace")
        if parameters:
            url += f"?{urlencode(parameters, errors='replace')}"
        return Request(url, method=method)  # noqa: S310 - http, see __init__

    def _read(self, request: Request, timeout_s: float | None = None) -> bytes:
        """The whole answer; a GET is sent again where that may help."""
        retries = self._retries if request.method == "GET" else 0
        failures = 0
        while True:
            try:
                with self._open(request, timeout_s) as answer:
                    return answer.read()
            except BridgeError as error:
                failures += 1
                if failures > retries or not error.may_pass:
                    raise
                _wait(failures, error)

    @contextmanager
    def _open(self, request: Request, timeout_s: float | None = None) -> Iterator[HTTPResponse]:
        """The answer while it comes in; whatever goes wrong meanwhile is a `BridgeError`."""
        try:
            with _DIRECT.open(request, timeout=timeout_s or self._timeout_s) as answer:
                yield answer
        except HTTPError as refusal:
            raise _read_error(refusal) from None
        except (OSError, HTTPException) as problem:
            slow = isinstance(getattr(problem, "reason", problem), TimeoutError)
            raise BridgeError(
                f"{self.address} does not answer as a bridge does: {problem}",
                "timeout" if slow else "unreachable",
            ) from problem


class Session:
    """A session of a bridge; each method asks for what there is now."""

    def __init__(self, bridge: Bridge, session_id: str) -> None:
        self.bridge = bridge
        self.id = session_id

    def get(self, path: str = "", **query: object) -> Json:
        """What a route below `/session/ID` answers, as `session.get("/stats")`."""
        return self.bridge.get(self._path(path), **query)

    def laps(self) -> "pd.DataFrame":
        """The complete laps by number, with `sector_1_s` to `sector_3_s`."""
        import pandas as pd

        rows = []
        for lap in self.get("/lap_time_table")["laps"]:
            times = {f"sector_{n}_s": part["time_s"] for n, part in enumerate(lap["sectors"], 1)}
            rows.append({name: lap[name] for name in lap if name != "sectors"} | times)
        return pd.DataFrame(rows).set_index("lap_number")

    def frames(self) -> "pd.DataFrame":
        """Every frame as it was recorded, by `timestamp`: seconds of the session's clock."""
        import pandas as pd

        table = pd.read_parquet(io.BytesIO(self.bridge.read(self._path("/export.parquet"))))
        return table.drop(columns=["session_id", "frame_idx"]).set_index("timestamp")

    def signals(self, *names: str, lap: int | None = None, **choices: object) -> "pd.DataFrame":
        """Return any signals on one axis, of the whole session or of one *lap*.

        *choices* are parameters of the route: `axis="distance"` with `step_m`, `rate_hz`, `interp`,
        `t_from`, `t_to`. The index is the distance with that axis, else the time.
        """
        import pandas as pd

        answer = self.get("/signals", names=",".join(names), lap=lap, **choices)
        axis = "distance_m" if answer["axis"] == "distance" else "t"
        frame = pd.DataFrame(answer["rows"], columns=[axis, *answer["names"]], dtype=float)
        return frame.set_index(axis)

    def corners(self, lap: int | None = None) -> "pd.DataFrame":
        """Return the grade of each corner, the time lost there and why; in lap order."""
        import pandas as pd

        frame = pd.DataFrame(self.get("/scorecard", lap=lap)["corners"])
        return frame.set_index("corner") if len(frame) else frame

    def compare(self, lap: int | str, *others: int | str, **choices: Any) -> Comparison:
        """Compare a lap of this session, a number or `best`, with *others* as in `Bridge.compare`.

        Numbers, `best` and `ideal` among these refer to this session.
        """
        return self.bridge.compare(f"{self.id}:{lap}", *map(str, others), **choices)

    def ask(self, question: str, **choices: Any) -> Json:
        """Return the coach's `answer` about this session, with its `facts`."""
        return self.bridge.ask(question, session=self.id, **choices)

    def _path(self, path: str) -> str:
        return f"/session/{quote(self.id, safe='', errors='replace')}{path}"


def _is_reachable(address: str) -> bool:
    """Whether a request can be sent there: a host, a port if any, and nothing odd."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - raises ValueError for an invalid port
        named = bool((parts.hostname or "").encode("idna"))
    except ValueError:
        return False
    whole = not parts.query and not parts.fragment
    return whole and named and address.isascii() and address.isprintable() and " " not in address


def _wait(failures: int, error: BridgeError) -> None:
    pause = PAUSE_S * 2 ** (failures - 1) if error.retry_after_s is None else error.retry_after_s
    time.sleep(min(pause, LONGEST_PAUSE_S))


def _read_error(refusal: HTTPError) -> BridgeError:
    """Convert an HTTP error into a `BridgeError`."""
    with refusal:
        try:
            body = json.loads(refusal.read())
            error = BridgeError(str(body["error"]), str(body["code"]), refusal.code)
        except (OSError, HTTPException, ValueError, KeyError, TypeError):
            text = f"the address answers {refusal.code}, and not as a bridge does"
            error = BridgeError(text, "no_bridge", refusal.code)
    after = refusal.headers.get("Retry-After", "")
    error.retry_after_s = float(after) if after.isdecimal() else None
    return error


def _object(text: bytes) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BridgeError("the answer is not a JSON object, so this is not a bridge", "no_bridge")
    return value


def _events(answer: HTTPResponse) -> Iterator[tuple[str, Event]]:
    """Parse server-sent events; yield each with its id, or an empty string."""
    name = number = data = ""
    for line in answer:
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "id":
            number = value
        elif field == "data":
            data += value
        elif not field and not value and data:
            yield number, Event(name or "message", json.loads(data))
            name = number = data = ""
