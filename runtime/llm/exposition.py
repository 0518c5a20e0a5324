"""What the server counts, as metric families in their documented order."""

from collections.abc import Iterator

from runtime.llm.documents.store import Figures
from runtime.llm.service import Service
from runtime.web.metrics import Family, counter, gauge, labelled


def families(service: Service, stored: Figures) -> Iterator[Family]:
    """Every family of the exposition."""
    yield from _requests(service)
    yield from _engines(service)
    yield from _clients(service)
    yield from _more(service)
    yield from _embeddings(service)
    yield from _documents(stored)


def _requests(service: Service) -> Iterator[Family]:
    totals = service.admission.totals
    seconds = totals.inference_s
    yield counter("llmsvc_requests_total", "Chat requests that were admitted.", totals.admitted)
    yield counter(
        "llmsvc_requests_completed_total", "Chat requests that completed.", totals.completed
    )
    yield counter(
        "llmsvc_requests_errored_total",
        "Chat requests that failed or timed out after admission.",
        totals.errored,
    )
    yield counter(
        "llmsvc_requests_cancelled_total", "Chat requests whose client left.", totals.cancelled
    )
    yield counter(
        "llmsvc_stream_chunks_total", "Content frames of finished requests.", totals.chunks
    )
    yield counter(
        "llmsvc_inference_seconds_total", "Generation time of completed requests.", seconds
    )
    yield gauge(
        "llmsvc_inference_seconds_avg",
        "Mean generation time of completed requests.",
        seconds / totals.completed if totals.completed else 0.0,
    )
    yield gauge(
        "llmsvc_chunks_per_second_avg",
        "Content frames of completed requests by their generation time.",
        totals.completed_chunks / seconds if seconds else 0.0,
    )
    local = service.chats.local
    yield gauge("llmsvc_queue_depth", "Requests that wait for the local lane.", local.waiting)
    yield gauge("llmsvc_inflight", "Requests that generate in the local lane.", local.running)


def _engines(service: Service) -> Iterator[Family]:
    engines = service.pool.loaded()
    yield gauge("llmsvc_engines_loaded", "Local engines in memory.", len(engines))
    yield Family(
        "llmsvc_engine_loaded",
        "gauge",
        "1 for each local engine in memory.",
        labelled(({"key": engine.key, "backend": engine.backend}, 1) for engine in engines),
    )


def _clients(service: Service) -> Iterator[Family]:
    clients = service.clients.items()
    yield Family(
        "llmsvc_client_requests_total",
        "counter",
        "Chat requests of a client that were admitted.",
        labelled(({"client": name}, figures.admitted) for name, figures in clients),
    )
    yield Family(
        "llmsvc_client_inference_seconds_avg",
        "gauge",
        "Mean generation time of a client's completed requests.",
        labelled(
            ({"client": name}, figures.seconds / figures.completed)
            for name, figures in clients
            if figures.completed
        ),
    )


def _more(service: Service) -> Iterator[Family]:
    sessions, tokens = service.pool.sessions, service.tokens
    yield Family(
        "llmsvc_requests_rejected_total",
        "counter",
        "Chat requests that were not admitted.",
        labelled(({"reason": reason}, n) for reason, n in service.rejects.items()),
    )
    yield gauge(
        "llmsvc_sysmodel_inflight",
        "Requests that the system model answers.",
        service.chats.system.running if service.chats.system is not service.chats.local else 0,
    )
    last = service.probing.last
    yield gauge(
        "llmsvc_sysmodel_status",
        "System model: 3 available, 2 downloadable, 1 downloading, 0 unavailable, -1 unknown.",
        -1 if last is None else last.code,
    )
    yield gauge("llmsvc_sessions_cached", "Conversations in the KV cache.", len(sessions))
    yield counter("llmsvc_session_hits_total", "Turns that continued a cached one.", sessions.hits)
    yield counter("llmsvc_session_misses_total", "Conversations that began.", sessions.misses)
    yield counter(
        "llmsvc_session_evictions_total", "Conversations that lost their place.", sessions.evictions
    )
    yield Family(
        "llmsvc_session_rebuilds_total",
        "counter",
        "Cached conversations that were rebuilt.",
        labelled(({"reason": reason}, n) for reason, n in sessions.rebuilds.items()),
    )
    yield counter("llmsvc_prompt_tokens_total", "Prompt tokens.", tokens.prompt)
    yield counter(
        "llmsvc_cached_tokens_total", "Prompt tokens that were not prefilled again.", tokens.cached
    )
    yield counter("llmsvc_completion_tokens_total", "Generated tokens.", tokens.completion)
    yield Family(
        "llmsvc_first_token_seconds",
        "histogram",
        "From the start of generation to the first text.",
        service.first_token.samples(),
    )
    yield Family(
        "llmsvc_queue_wait_seconds",
        "histogram",
        "From admission to the start of generation.",
        service.queue_wait.samples(),
    )


def _embeddings(service: Service) -> Iterator[Family]:
    embedder = service.embedder
    totals = embedder.totals
    yield counter(
        "llmsvc_embedding_requests_total", "Requests that had texts embedded.", totals.requests
    )
    yield counter(
        "llmsvc_embedding_requests_refused_total",
        "Requests that found too many waiting to be embedded.",
        totals.refused,
    )
    yield counter(
        "llmsvc_embedding_requests_errored_total",
        "Requests whose texts could not be embedded.",
        totals.errors,
    )
    yield counter("llmsvc_embedding_texts_total", "Texts that were embedded.", totals.texts)
    yield counter("llmsvc_embedding_tokens_total", "Tokens of those texts.", totals.tokens)
    yield counter(
        "llmsvc_embedding_seconds_total", "Time in which an encoder was at work.", totals.seconds
    )
    yield gauge("llmsvc_embedding_waiting", "Requests that wait for an encoder.", embedder.waiting)
    yield gauge(
        "llmsvc_embedding_engines_loaded",
        "Embedding models in memory.",
        len(service.pool.loaded("embedding")),
    )


def _documents(stored: Figures) -> Iterator[Family]:
    yield gauge("llmsvc_document_tenants", "Tenants with documents.", stored.tenants)
    yield gauge("llmsvc_documents", "Documents in the store.", stored.documents)
    yield gauge("llmsvc_document_chunks", "Chunks in the store.", stored.chunks)
    yield gauge("llmsvc_document_store_bytes", "The store on disk.", stored.bytes)
    yield gauge(
        "llmsvc_document_disk_full",
        "1 while the last document, or delete, found no room on the disk.",
        int(stored.full),
    )
    yield counter(
        "llmsvc_document_disk_full_total",
        "Documents and deletes that found no room on the disk.",
        stored.refusals,
    )
