"""Files that are sent: they become the sessions that an import makes, or leave nothing behind."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import FormData

from runtime.bridge.api import imports
from runtime.bridge.can.dbc import MAX_BYTES
from tests.bridge.bridgekit import Answer, Bridge
from tests.bridge.coach.modelkit import laps
from tests.bridge.conftest import ONE_BACKEND, Start
from tests.bridge.formats.logkit import own_bus
from tests.bridge.formats.vbo.vbokit import drive, vbo_bytes, write_vbo
from tests.waiting import until

VBO = vbo_bytes(drive(laps=1.2))
RAW = "/session/upload?filename=run.vbo"


def form(content: bytes = VBO, name: str = "run.vbo", **fields: str) -> FormData:
    """A form as a browser sends it."""
    made = FormData()
    for field, value in fields.items():
        made.add_field(field, value)
    made.add_field("file", io.BytesIO(content), filename=name)
    return made


async def send(bridge: Bridge, path: str, data: object, **options: Any) -> Answer:
    return await bridge.request("POST", path, data=data, **options)


async def assert_refused(
    bridge: Bridge, answer: Answer, status: object, code: object, param: object = None
) -> None:
    """It says so, nothing is stored, and nothing lies beside the database."""
    assert (answer.status, answer.json["code"]) == (status, code), answer.body
    assert answer.json.get("param") == param
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0
    folder = bridge.service.settings.database.parent
    assert {path.name.partition("-")[0].split(".")[0] for path in folder.iterdir()} <= {
        bridge.service.settings.database.stem
    }


async def test_an_export_that_is_sent_has_the_same_frames(bridge: Bridge) -> None:
    frames = laps(2)
    await bridge.service.db.append_frames("mine", frames)
    exported = await bridge.get("/session/mine/export.parquet")

    sent = await send(bridge, "/session/upload?filename=friend.parquet", exported.body)

    assert sent.status == 200, sent.body
    assert sent.json["n_frames"] == len(frames)
    stored = [
        await bridge.service.db.read_frames(name) for name in ("mine", sent.json["session_id"])
    ]
    for name in ("timestamp", "lat", "lon", "speed_ms", "g_lat", "brake_bar"):
        mine, its = (one.columns[name] for one in stored)
        np.testing.assert_allclose(its, mine, rtol=1e-9, atol=1e-6, err_msg=name)
    signals = await bridge.get("/session/mine/export.parquet?table=telemetry_signals")
    if signals.status == 200:
        refused = await send(bridge, "/session/upload?filename=s.parquet", signals.body)
        assert (refused.status, refused.json["code"]) == (422, "unparsable_file")
    refused = await send(bridge, "/session/upload?filename=s.parquet", b"PAR1 and nothing else")
    assert (refused.status, refused.json["code"]) == (422, "unparsable_file")


@ONE_BACKEND
async def test_a_file_that_is_sent_becomes_what_its_import_makes(
    bridge: Bridge, tmp_path: Path
) -> None:
    write_vbo(tmp_path / "run.vbo", drive(laps=1.2))
    body = {"path": str(tmp_path / "run.vbo"), "session_id": "path", "driver": "Mia"}
    imported = await bridge.ok("POST", "/session/import", body)

    raw = await send(bridge, f"{RAW}&session_id=raw&driver=Mia", VBO)
    sent = await send(bridge, "/session/upload?driver=Mia", form(session_id="form"))

    assert (raw.status, sent.status) == (200, 200), raw.body + sent.body
    assert raw.json == imported | {"session_id": "raw"}
    assert sent.json == imported | {"session_id": "form"}
    about = [await bridge.ok("GET", f"/session/{name}") for name in ("path", "raw", "form")]
    assert {one["session"]["driver"] for one in about} == {"Mia"}
    assert len({one["n_frames"] for one in about}) == 1
    taken = await send(bridge, f"{RAW}&session_id=raw", VBO)
    assert (taken.status, taken.json["code"]) == (409, "session_exists")


@ONE_BACKEND
async def test_a_file_may_come_in_pieces_of_no_declared_length(bridge: Bridge) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(VBO), 10_000):
            yield VBO[at : at + 10_000]

    assert (await send(bridge, RAW, pieces())).status == 200


@ONE_BACKEND
async def test_a_blank_field_of_a_form_says_nothing(bridge: Bridge) -> None:
    blank = form(session_id="", driver="", driver_level="", mapping="")
    answer = await send(bridge, "/session/upload", blank)
    assert answer.status == 200, answer.body


async def test_a_log_may_come_with_the_dbc_file_of_its_bus(bridge: Bridge, tmp_path: Path) -> None:
    log, dbc = own_bus(tmp_path)

    alone = await send(bridge, "/session/upload", form(log.read_bytes(), log.name))
    both = form(log.read_bytes(), log.name, session_id="own")
    both.add_field("dbc", dbc.read_bytes(), filename=dbc.name)
    sent = await send(bridge, "/session/upload", both)
    bad = form(log.read_bytes(), log.name, session_id="bad")
    bad.add_field("dbc", b"nothing of the kind", filename="bad.dbc")
    refused = await send(bridge, "/session/upload", bad)
    large = form(log.read_bytes(), log.name, session_id="large")
    large.add_field("dbc", io.BytesIO(bytes(MAX_BYTES)), filename="one.dbc")
    large.add_field("dbc", b"x", filename="two.dbc")
    too_large = await send(bridge, "/session/upload", large)

    assert (alone.status, alone.json["code"]) == (422, "bus_not_found")
    assert "the DBC file of its bus" in alone.json["error"]
    assert sent.status == 200, sent.body
    assert sent.json["facts"]["dbc"] == dbc.name
    frames = await bridge.service.db.read_frames("own")
    assert frames.columns["rpm"][[0, -1]] == pytest.approx([3000, 3199], abs=2)
    assert (refused.status, refused.json["param"]) == (422, "dbc")
    assert too_large.status == 413
    assert (await bridge.ok("GET", "/sessions"))["count"] == 1


@ONE_BACKEND
async def test_a_field_that_is_too_long_is_not_called_the_file(bridge: Bridge) -> None:
    answer = await send(bridge, "/session/upload", form(driver="x" * 70_000))
    assert (answer.status, answer.json["error"]) == (413, "a field of the form is over 65536 bytes")


@ONE_BACKEND
async def test_a_mapping_is_written_as_json(bridge: Bridge) -> None:
    mapping = json.dumps({"rpm": None})

    answer = await send(bridge, "/session/upload", form(mapping=mapping))
    wrong = await send(bridge, f"{RAW}&mapping=rpm", VBO)

    assert answer.json["mapping"]["rpm"]["why"] == "given"
    assert (wrong.status, wrong.json["param"]) == (400, "mapping")


def refusals() -> list[tuple[str, object, int, str, str | None]]:
    """Path, body, and what the answer is: status, code and parameter."""
    upload = "/session/upload"
    two = form()
    two.add_field("file", io.BytesIO(VBO), filename="again.vbo")
    none = FormData({"other": "x"}, default_to_multipart=True)
    return [
        (RAW, b"hello", 422, "unparsable_vbo", None),
        (RAW, b"", 400, "bad_request", None),
        (upload, VBO, 400, "bad_field", "filename"),
        (f"{upload}?filename=%2F", VBO, 400, "bad_field", "filename"),
        (f"{upload}?filename=run.exe", VBO, 422, "unparsable_file", None),
        (f"{RAW}&driver_level=genius", VBO, 400, "bad_query", "driver_level"),
        (f"{RAW}&session_id=upload", VBO, 400, "bad_query", "session_id"),
        (upload, form(name="run.exe"), 422, "unparsable_file", None),
        (upload, form(session_id="a b"), 400, "bad_query", "session_id"),
        (f"{upload}?driver=Mia", form(driver="Tom"), 400, "bad_query", "driver"),
        (upload, none, 400, "bad_field", "file"),
        (upload, two, 400, "bad_field", "file"),
    ]


BROKEN = (
    ("multipart/form-data", b"--x--\r\n"),
    ("multipart/form-data; boundary=x", b"hello"),
    ("multipart/form-data; boundary=x", b"--x\r\n\r\nhello\r\n--x--\r\n"),
    (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.vbo"\r\n\r\nhel',
    ),
    (
        "multipart/form-data; boundary=x",
        b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y--\r\n--x--\r\n",
    ),
)


async def test_what_cannot_be_imported_is_told_and_leaves_nothing(start: Start) -> None:
    async with start() as bridge:
        for path, data, *told in refusals():
            await assert_refused(bridge, await send(bridge, path, data), *told)
        for kind, body in BROKEN:
            answer = await send(bridge, "/session/upload", body, headers={"Content-Type": kind})
            assert answer.status == 400, body
            assert answer.json["code"] in ("bad_request", "bad_field")
        assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_a_file_over_the_limit_is_refused_however_it_comes(start: Start) -> None:
    large = VBO + b"\r\n" * (1 << 19)

    async def pieces() -> AsyncIterator[bytes]:
        yield large

    async with start(upload_max_mib=1) as bridge:
        longer = large + b"\r\n" * (1 << 20)
        for data in (io.BytesIO(large), pieces(), form(large), form(longer)):
            path = "/session/upload" if isinstance(data, FormData) else RAW
            answer = await send(bridge, path, data)
            await assert_refused(bridge, answer, 413, "body_too_large")
        assert (await send(bridge, RAW, VBO)).status == 200


async def test_a_full_disk_is_told(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    monkeypatch.setattr(imports, "_make_file", lambda _: full.open("wb", buffering=0))
    async with start() as bridge:
        await assert_refused(bridge, await send(bridge, RAW, VBO), 503, "disk_full")


async def test_a_client_that_leaves_halfway_leaves_nothing(start: Start) -> None:
    async with start() as bridge:
        host, port = bridge.url.removeprefix("http://").split(":")
        uploads = bridge.service.uploads
        free = uploads._value
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {RAW} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(VBO)}\r\n\r\n"
        writer.write(head.encode() + VBO[: len(VBO) // 2])
        await until(lambda: uploads._value < free)
        writer.close()
        await writer.wait_closed()
        await until(lambda: uploads._value == free)
        assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_only_a_few_files_are_taken_at_a_time(start: Start) -> None:
    async with start() as bridge:
        while not bridge.service.uploads.locked():
            await bridge.service.uploads.acquire()
        answer = await send(bridge, RAW, VBO)
        await assert_refused(bridge, answer, 503, "store_busy")
        assert "Retry-After" in answer.headers
        bridge.service.uploads.release()
        assert (await send(bridge, RAW, VBO)).status == 200


async def test_nobody_writes_with_the_token_of_a_spectator(start: Start) -> None:
    async with start(require_token_remote=True) as bridge:
        await bridge.ok("POST", "/session/start", {"session_id": "s"})
        made = await bridge.ok("POST", "/spectator/token", {"session_id": "s"})
        for path, headers in (
            (f"{RAW}&token={made['token']}", {}),
            (RAW, {"Authorization": f"Bearer {made['token']}"}),
            (RAW, {"X-Forwarded-For": "10.0.0.2", "Authorization": f"Bearer {made['token']}"}),
        ):
            answer = await send(bridge, path, VBO, headers=headers)
            assert (answer.status, answer.json["code"]) == (403, "token_scope")
        forwarded = await send(bridge, RAW, VBO, headers={"X-Forwarded-For": "10.0.0.2"})
        assert (forwarded.status, forwarded.json["code"]) == (401, "bad_token")
        other = await send(bridge, RAW, VBO, headers={"Origin": "http://pages.example"})
        assert (other.status, other.json["code"]) == (403, "cross_site")
        assert (await bridge.ok("GET", "/sessions"))["count"] == 1
