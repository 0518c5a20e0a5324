"""The CAN bus: what is read, what comes, what went wrong."""

import asyncio
from collections.abc import Sequence

from aiohttp import web

from runtime.bridge.api.shapes import iso, rounded
from runtime.bridge.can.devices import Kind, UsbDevice, usb_devices
from runtime.bridge.can.reader import NO_READER, State
from runtime.bridge.can.statistics import IdCount
from runtime.bridge.service import SERVICE, Service
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("diagnostics")


class KnownId(Wire):
    """A message that is decoded."""

    can_id: str
    message: str | None
    count: int
    hz: float
    expected_hz: float | None
    age_s: float | None


class UnknownId(Wire):
    """An id that no message is known of."""

    can_id: str
    count: int
    hz: float


class UsbRecord(Wire):
    """A device that is plugged in."""

    device: str
    vid: str | None
    pid: str | None
    description: str
    manufacturer: str | None
    model: str | None
    kind: Kind
    is_known: bool


class CanDiagnostics(Wire):
    """The CAN reader; rates are those of the last five seconds."""

    loaded: bool
    connected: bool
    state: State
    interface: str | None
    channel: str | None
    bitrate: int | None
    session_id: str | None
    frames_total: int
    frames_unknown: int
    frames_error: int
    malformed: int
    frames_per_second: float
    bus_load_pct: float | None
    last_frame_age_s: float | None
    unknown_ids: list[UnknownId]
    ids: list[KnownId]
    last_error: str | None
    last_error_at: str | None
    reconnects: int
    next_retry_in_s: float | None
    dropped_rows: int
    dbc_files: list[str]
    car_id: str | None
    usb_devices: list[UsbRecord]


@routes.get("/diagnostics/can")
async def can(request: web.Request) -> CanDiagnostics:
    """Show the state of the CAN reader, and the adapters that are plugged in."""
    return await can_state(request.app[SERVICE])


async def can_state(service: Service) -> CanDiagnostics:
    """All there is to say about the bus."""
    devices = await asyncio.to_thread(usb_devices)
    now = service.bus.snapshot() if service.bus is not None else NO_READER
    wiring = service.wiring
    return CanDiagnostics(
        loaded=now.loaded,
        connected=now.connected,
        state=now.state,
        interface=now.interface,
        channel=now.channel,
        bitrate=now.bitrate,
        session_id=service.bus_session(),
        frames_total=now.counts.frames_total,
        frames_unknown=now.counts.frames_unknown,
        frames_error=now.counts.errors,
        malformed=now.counts.malformed,
        frames_per_second=round(now.counts.frames_per_second, 1),
        bus_load_pct=rounded(now.counts.bus_load_pct, 1),
        last_frame_age_s=rounded(now.counts.last_frame_age_s, 3),
        unknown_ids=[
            UnknownId(can_id=one.can_id, count=one.frames, hz=round(one.hz, 1))
            for one in now.counts.unknown_ids
        ],
        ids=_known(now.counts.ids),
        last_error=now.last_error,
        last_error_at=iso(None if now.last_error_at is None else round(now.last_error_at * 1000)),
        reconnects=now.reconnects,
        next_retry_in_s=rounded(now.next_retry_in_s, 1),
        dropped_rows=service.recorder.dropped if service.recorder is not None else 0,
        dbc_files=list(wiring.dbc_files) if now.loaded else [],
        car_id=wiring.car.id if wiring.car is not None else None,
        usb_devices=[_device(one) for one in devices],
    )


def _known(ids: Sequence[IdCount]) -> list[KnownId]:
    return [
        KnownId(
            can_id=one.can_id,
            message=one.message,
            count=one.frames,
            hz=round(one.hz, 1),
            expected_hz=one.expected_hz,
            age_s=rounded(one.age_s, 3),
        )
        for one in ids
    ]


def _device(one: UsbDevice) -> UsbRecord:
    return UsbRecord.model_validate(one._asdict())
