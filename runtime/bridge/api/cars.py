"""The cars that the bridge knows."""

import asyncio

from aiohttp import web

from runtime.bridge.can.cars import CarRecord, NoCarsDir, load_cars
from runtime.bridge.service import SERVICE
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("cars")


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
    return CarList(
        cars=await asyncio.to_thread(load_cars, folder, service.loaded_car),
        loaded_id=service.loaded_car,
        cars_dir=str(folder),
    )
