"""The cars that the bridge knows."""

import asyncio

from aiohttp import web

from runtime.bridge.can.cars import CarEntry, NoCarsDir, load_cars
from runtime.bridge.service import SERVICE
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent

routes = Routes("cars")


class DashLogger(Wire):
    """The logger that rebroadcasts the car's channels."""

    make: str
    model: str
    protocol: str
    total_frames: int
    total_channels: int


class CanBus(Wire):
    """The bus that is read."""

    name: str
    bitrate_bps: int
    frame_format: str
    id_width: int


class CarChannel(Wire):
    """A channel of the bus."""

    name: str
    frame_id: str
    rate_hz: float | None
    role: str


class CarRecord(Wire):
    """A car."""

    id: str
    loaded: bool
    make: str
    model: str
    chassis: str
    engine: str
    year: int | None
    dash_logger: DashLogger
    can_bus: CanBus
    frame_count: int
    channel_count: int
    channels: list[CarChannel]
    error: str | None = absent("why the file cannot be used")


class CarList(Wire):
    """Cars by id."""

    cars: list[CarRecord]
    loaded_id: str
    cars_dir: str


@routes.get("/cars", errors=(NoCarsDir,))
async def cars(request: web.Request) -> CarList:
    """List the cars of the data folder."""
    service = request.app[SERVICE]
    folder = service.settings.cars_dir
    found = await asyncio.to_thread(load_cars, folder, service.loaded_car)
    return CarList(
        cars=[_record(entry) for entry in found],
        loaded_id=service.loaded_car,
        cars_dir=str(folder),
    )


def _record(entry: CarEntry) -> CarRecord:
    car, logger, bus = entry.car, entry.dash_logger, entry.can_bus
    return CarRecord(
        id=entry.id,
        loaded=entry.loaded,
        make=car.make,
        model=car.model,
        chassis=car.chassis,
        engine=car.engine,
        year=car.year,
        dash_logger=DashLogger(
            make=logger.make,
            model=logger.model,
            protocol=logger.protocol,
            total_frames=logger.total_frames,
            total_channels=logger.total_channels,
        ),
        can_bus=CanBus(
            name=bus.name,
            bitrate_bps=bus.bitrate_bps or 0,
            frame_format=bus.frame_format,
            id_width=bus.id_width or 0,
        ),
        frame_count=entry.frame_count,
        channel_count=entry.channel_count,
        channels=[
            CarChannel(
                name=channel.name,
                frame_id=channel.frame_id,
                rate_hz=channel.rate_hz,
                role=channel.role,
            )
            for channel in entry.channels
        ],
        error=entry.error,
    )
