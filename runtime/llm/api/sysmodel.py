"""Routes of the built-in system model: state, download, benchmark."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.llm.api.wire import Clamped
from runtime.llm.errors import BenchmarkFailed, BenchmarkMissing, SysmodelUnavailable
from runtime.llm.models.system.benchmark import BenchmarkRecord, BenchmarkRefused
from runtime.llm.models.system.state import SLOW, Status
from runtime.llm.service import SERVICE, Service, body_cap
from runtime.web.errors import ApiError, TooLarge, TooMany
from runtime.web.routes import Reply, Routes
from runtime.web.wire import Wire, absent

routes = Routes("sysmodel")


class Cell(Wire):
    """The state of one release stage and preference."""

    code: int
    label: str


class CellsError(Wire):
    """Why the breakdown is not available."""

    error: str


class SysmodelStatus(Wire):
    """The system model and the machine it runs on."""

    model_id: Literal["sysmodel-builtin"] = "sysmodel-builtin"
    status_code: int = Field(description="0 to 3; -1 if the state is unknown")
    status: str
    available: bool
    soc_model: str
    device: str
    manufacturer: str
    provider: str
    error: str | None = absent("why the state is unknown")
    reason: str | None = absent("a code word")
    progress: float | None = absent("0 to 1 while downloading")
    bytes_done: int | None = absent()
    bytes_total: int | None = absent()
    configs: dict[str, Cell] | CellsError | None = absent("only with probe=all")


class StatusQuery(Wire):
    """Level of detail of the status."""

    probe: str = ""


class BenchmarkRequest(Wire):
    """Prompts to measure; everything is optional."""

    prompts: list[str] | None = Field(None, description="at most 32; blank ones are dropped")
    warmup: Clamped | None = Field(None, description="unmeasured runs before, 0 to 5")


class DownloadAnswer(Wire):
    """State of the download."""

    status_code: int
    status: str
    progress: float | None = absent("0 to 1")


class AlreadyHere(ApiError):
    """The system model is already available."""

    status, code = 409, "already_available"

    def __init__(self) -> None:
        super().__init__(
            "the system model is already available", headers={"x-should-retry": "false"}
        )


@routes.get("/v1/sysmodel/status")
async def sysmodel_status(request: web.Request, *, query: StatusQuery) -> SysmodelStatus:
    """Report the state of the system model, and the machine."""
    service = request.app[SERVICE]
    state = await service.probing.state()
    cells = await _cells(service) if query.probe == "all" else None
    return SysmodelStatus(
        status_code=state.code,
        status=state.label,
        available=state.code == Status.AVAILABLE,
        provider=service.provider.name,
        configs=cells,
        **vars(state),
        **service.host._asdict(),
    )


@routes.post("/v1/sysmodel/download", errors=(AlreadyHere, SysmodelUnavailable))
async def sysmodel_download(request: web.Request) -> Reply[DownloadAnswer]:
    """Start the download of the system model, or join a running one."""
    service = request.app[SERVICE]
    service.touch()
    state = await service.provider.download()
    service.probing.forget()
    if state.code == Status.AVAILABLE:
        raise AlreadyHere
    answer = DownloadAnswer(status_code=state.code, status=state.label, progress=state.progress)
    return Reply(answer, status=202)


@routes.post(
    "/v1/sysmodel/benchmark",
    lenient_body=True,
    body_cap=body_cap,
    errors=(BenchmarkRefused, BenchmarkFailed, TooLarge, TooMany),
)
async def run_benchmark(request: web.Request, *, body: BenchmarkRequest) -> BenchmarkRecord:
    """Measure how fast the system model answers."""
    service = request.app[SERVICE]
    service.touch()
    warmup = 1 if body.warmup is None else body.warmup
    return await service.benchmark.run(body.prompts or (), warmup)


@routes.get("/v1/sysmodel/benchmark", errors=(BenchmarkMissing,))
async def last_benchmark(request: web.Request) -> BenchmarkRecord:
    """Return the figures of the last benchmark."""
    return request.app[SERVICE].benchmark.last


async def _cells(service: Service) -> dict[str, Cell] | CellsError:
    try:
        states = await service.probing.configs()
    except TimeoutError:
        return CellsError(error=SLOW)
    return {name: Cell(code=state.code, label=state.label) for name, state in states.items()}
