"""The metrics of the bridge, as families in their documented order."""

from collections.abc import Iterator, Mapping

from runtime.bridge.can.reader import NO_READER
from runtime.bridge.service import Service
from runtime.web.metrics import Family, Sample, counter, gauge, to_samples


def collect_families(service: Service) -> Iterator[Family]:
    """Yield every family of the parts that run."""
    hub, store, bus = service.hub, service.store, service.bus
    yield gauge("bridge_streams", "Open streams.", hub.listeners)
    yield gauge("bridge_spectators", "Streams of spectators.", service.spectators.views)
    yield counter("bridge_events_total", "Events that somebody listened to.", hub.published)
    dropped = "Events that slow listeners did not get."
    yield counter("bridge_events_dropped_total", dropped, hub.dropped)
    refused = "Streams refused because too many were open."
    yield counter("bridge_streams_refused_total", refused, hub.refused)
    if store is not None:
        yield gauge("bridge_sessions", "Stored sessions.", len(store.sessions()))
        writer = store.figures()
        yield counter("bridge_commits_total", "Commits to the database.", writer.commits)
        yield counter("bridge_writes_refused_total", "Writes refused.", writer.refused)
        yield counter("bridge_writes_failed_total", "Writes that failed.", writer.failed)
        yield gauge("bridge_writes_queued", "Writes that wait.", writer.queued)
        yield gauge("bridge_database_damaged", "1: the file is damaged.", int(store.damaged))
    reader = bus.snapshot() if bus is not None else NO_READER
    if reader.loaded:
        counts = reader.counts
        yield gauge("bridge_can_connected", "1: the bus brings frames.", int(reader.connected))
        yield counter("bridge_can_frames_total", "Frames of the bus.", counts.frames_total)
        yield counter("bridge_can_unknown_total", "Frames of unknown ids.", counts.frames_unknown)
        yield counter("bridge_can_errors_total", "Frames that could not be read.", counts.errors)
    if service.recorder is not None:
        lost = "Rows of the bus that were not stored."
        yield counter("bridge_can_rows_dropped_total", lost, service.recorder.dropped)
    if service.outlets:
        yield from _collect_outlets(service)


def _collect_outlets(service: Service) -> Iterator[Family]:
    """Yield what each outlet's server received, labelled by outlet."""
    outlets = {outlet.target.name: outlet for outlet in service.outlets}

    def samples(values: Mapping[str, float]) -> tuple[Sample, ...]:
        return to_samples(({"outlet": name}, value) for name, value in values.items())

    up = {name: int(outlet.state == "up") for name, outlet in outlets.items()}
    yield Family("bridge_outlet_up", "gauge", "1: the server took the last points.", samples(up))
    waiting = {name: outlet.waiting for name, outlet in outlets.items()}
    text = "Events that wait for the server."
    yield Family("bridge_outlet_waiting", "gauge", text, samples(waiting))
    for count, text in (
        ("sent", "Points that the server took."),
        ("dropped", "Events that were dropped while the server took nothing."),
        ("refused", "Points that the server refused."),
    ):
        counts = {name: getattr(outlet, count) for name, outlet in outlets.items()}
        yield Family(f"bridge_outlet_{count}_total", "counter", text, samples(counts))
