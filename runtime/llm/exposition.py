"""The server's counters as metric families in their documented order."""

from collections.abc import Iterator, Mapping

from runtime.llm.documents.store import Figures
from runtime.llm.service import Service
from runtime.web.metrics import Counts, Family, Sample, to_samples


def collect_families(service: Service, stored: Figures) -> Iterator[Family]:
    """Yield all families of the exposition."""
    yield from _chat(service)
    yield from _caches(service)
    yield from _embeddings(service)
    yield from _upstreams(service)
    yield from _documents(stored)


def _counter(name: str, text: str, value: float) -> Family:
    return Family(f"llmsvc_{name}_total", "counter", text, (Sample(value),))


def _gauge(name: str, text: str, value: float) -> Family:
    return Family(f"llmsvc_{name}", "gauge", text, (Sample(value),))


def _counters(name: str, text: str, label: str, values: Mapping[str, float]) -> Family:
    samples = to_samples(({label: key}, value) for key, value in values.items())
    return Family(f"llmsvc_{name}_total", "counter", text, samples)


def _histogram(name: str, text: str, counts: Counts) -> Family:
    return Family(f"llmsvc_{name}", "histogram", text, counts.samples())


def _chat(service: Service) -> Iterator[Family]:
    totals, local, engines = (
        service.admission.totals,
        service.chats.local,
        service.pool.list_engines(),
    )
    seconds = totals.inference_s
    mean = seconds / totals.completed if totals.completed else 0.0
    rate = totals.completed_chunks / seconds if seconds else 0.0
    yield _counter("requests", "Admitted chat requests.", totals.admitted)
    yield _counter("requests_completed", "Completed chat requests.", totals.completed)
    failed = "Chat requests that failed or timed out after admission."
    yield _counter("requests_errored", failed, totals.errored)
    yield _counter("requests_cancelled", "Cancelled chat requests.", totals.cancelled)
    yield _counter("stream_chunks", "Content frames of finished requests.", totals.chunks)
    yield _counter("inference_seconds", "Generation time of completed requests.", seconds)
    yield _gauge("inference_seconds_avg", "Mean generation time of completed requests.", mean)
    frames = "Content frames of completed requests per second of generation."
    yield _gauge("chunks_per_second_avg", frames, rate)
    yield _gauge("queue_depth", "Requests waiting in the local lane.", local.waiting)
    yield _gauge("inflight", "Requests generating in the local lane.", local.running)
    yield _gauge("engines_loaded", "Local engines in memory.", len(engines))
    loaded = to_samples(({"key": engine.key, "backend": engine.backend}, 1) for engine in engines)
    yield Family("llmsvc_engine_loaded", "gauge", "1 for each local engine in memory.", loaded)
    clients = service.clients
    admitted = {name: figures.admitted for name, figures in clients.items()}
    text = "Admitted chat requests of a client."
    yield _counters("client_requests", text, "client", admitted)
    means = to_samples(
        ({"client": name}, figures.seconds / figures.completed)
        for name, figures in clients.items()
        if figures.completed
    )
    text = "Mean generation time of a client's completed requests."
    yield Family("llmsvc_client_inference_seconds_avg", "gauge", text, means)
    text = "Rejected chat requests."
    yield _counters("requests_rejected", text, "reason", service.rejects)


def _caches(service: Service) -> Iterator[Family]:
    sessions, tokens, system = service.pool.sessions, service.tokens, service.chats.system
    busy = system.running if system is not service.chats.local else 0
    yield _gauge("sysmodel_inflight", "Requests that the system model is answering.", busy)
    states = "3 available, 2 downloadable, 1 downloading, 0 unavailable, -1 unknown."
    last = service.probing.last
    yield _gauge("sysmodel_status", f"System model: {states}", -1 if last is None else last.code)
    yield _gauge("sessions_cached", "Conversations in the KV cache.", len(sessions))
    yield _counter("session_hits", "Turns that continued a cached conversation.", sessions.hits)
    yield _counter("session_misses", "Conversations that started without a cache.", sessions.misses)
    yield _counter("session_evictions", "Conversations evicted from the cache.", sessions.evictions)
    rebuilt = "Cached conversations that were rebuilt."
    yield _counters("session_rebuilds", rebuilt, "reason", sessions.rebuilds)
    yield _counter("prompt_tokens", "Prompt tokens.", tokens.prompt)
    yield _counter("cached_tokens", "Prompt tokens served from the cache.", tokens.cached)
    yield _counter("completion_tokens", "Generated tokens.", tokens.completion)
    first = "Time from the start of generation to the first text."
    yield _histogram("first_token_seconds", first, service.first_token)
    waited = "Time from admission to the start of generation."
    yield _histogram("queue_wait_seconds", waited, service.queue_wait)


def _embeddings(service: Service) -> Iterator[Family]:
    embedder, totals = service.embedder, service.embedder.totals
    yield _counter("embedding_requests", "Embedding requests.", totals.requests)
    refused = "Embedding requests refused because the queue was full."
    yield _counter("embedding_requests_refused", refused, totals.refused)
    failed = "Embedding requests that failed."
    yield _counter("embedding_requests_errored", failed, totals.errors)
    yield _counter("embedding_texts", "Embedded texts.", totals.texts)
    yield _counter("embedding_tokens", "Tokens of embedded texts.", totals.tokens)
    yield _counter("embedding_seconds", "Time in which an encoder was busy.", totals.seconds)
    yield _gauge("embedding_waiting", "Requests waiting for an encoder.", embedder.waiting)
    loaded = len(service.pool.list_engines("embedding"))
    yield _gauge("embedding_engines_loaded", "Embedding models in memory.", loaded)


def _upstreams(service: Service) -> Iterator[Family]:
    upstreams, lane = service.upstreams, service.chats.forwarded
    ups = to_samples(({"upstream": server.url}, int(server.up)) for server in upstreams.all)
    yield Family("llmsvc_upstream_up", "gauge", "1 for each upstream that is up.", ups)
    tried = {server.url: server.requests for server in upstreams.all}
    yield _counters("upstream_requests", "Requests sent to an upstream.", "upstream", tried)
    failed = {server.url: server.errors for server in upstreams.all}
    yield _counters("upstream_errors", "Requests an upstream failed.", "upstream", failed)
    text = "Requests that moved on to another upstream."
    yield _counter("upstream_failovers", text, upstreams.failovers)
    text = "Replies that broke off after their first token."
    yield _counter("upstream_broken_replies", text, upstreams.cut)
    yield _gauge("upstream_queue_depth", "Requests waiting for upstreams.", lane.waiting)
    yield _gauge("upstream_inflight", "Requests that upstreams are answering.", lane.running)


def _documents(stored: Figures) -> Iterator[Family]:
    yield _gauge("document_tenants", "Tenants with documents.", stored.tenants)
    yield _gauge("documents", "Documents in the store.", stored.documents)
    yield _gauge("document_chunks", "Chunks in the store.", stored.chunks)
    yield _gauge("document_store_bytes", "Size of the store on disk.", stored.bytes)
    full = "1 if the last write found no room on the disk."
    yield _gauge("document_disk_full", full, int(stored.full))
    refused = "Writes that found no room on the disk."
    yield _counter("document_disk_full", refused, stored.refusals)
