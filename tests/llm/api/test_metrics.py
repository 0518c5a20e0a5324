"""The metrics: which there are, in what order and form, and that they say what happened."""

import json
import re
from pathlib import Path

from tests.llm.conftest import Start
from tests.llm.serverkit import Server

SAMPLE = re.compile(
    r'([a-z_]+)(?:\{([a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*)\})?'
    r" (-?[0-9]+(?:\.[0-9]{1,6})?)"
)


async def test_each_family_is_one_block_of_help_type_and_samples(server: Server) -> None:
    await server.ask("recall", session_id="a")
    await server.ask("nothing")
    text = (await server.get("/metrics")).body.decode()
    blocks = re.findall(r"# HELP (\S+) \S.*\n# TYPE (\S+) (\S+)\n((?:[^#].*\n)*)", text)

    assert "".join(f"# HELP {name}" for name, *_ in blocks).count("# HELP") == text.count("# HELP")
    for name, again, kind, samples in blocks:
        assert name == again
        assert kind in ("counter", "gauge", "histogram")
        for line in samples.splitlines():
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert re.fullmatch(name + "(_bucket|_sum|_count)?", match[1])
            assert name == match[1] or kind == "histogram"


async def test_counters_say_what_happened(start: Start) -> None:
    async with start(rate_limit_per_sec=0.001, rate_limit_burst=6.0) as server:
        await server.ask("recall", "<red>")
        events = await server.stream("recall", "<red>")
        await server.ask("nothing")
        async with server.streaming("endless") as running:
            await running.piece()
            during = await server.metrics()
        await server.idle()
        await server.ask("recall", messages=[])
        await server.ask("recall", "<red>", session_id="a")
        await server.ask("recall")
        found = await server.metrics()

    contents = sum('"content"' in event for event in events)
    assert during["llmsvc_inflight"] == 1
    assert during["llmsvc_requests_total"] == 4
    assert found["llmsvc_requests_total"] == 5
    assert found["llmsvc_requests_completed_total"] == 3
    assert found["llmsvc_requests_errored_total"] == 1
    assert found["llmsvc_requests_cancelled_total"] == 1
    assert found["llmsvc_stream_chunks_total"] >= 2 + contents + 1
    assert found['llmsvc_requests_rejected_total{reason="rate"}'] == 1
    assert found['llmsvc_requests_rejected_total{reason="queue"}'] == 0
    assert found["llmsvc_completion_tokens_total"] == 9
    assert found["llmsvc_prompt_tokens_total"] == 3 * 20
    assert found["llmsvc_session_misses_total"] == 1
    assert found["llmsvc_sessions_cached"] == 1
    assert found['llmsvc_client_requests_total{client="tester"}'] == 5
    assert found["llmsvc_queue_wait_seconds_count"] == 3
    assert found["llmsvc_first_token_seconds_count"] == 3
    assert found["llmsvc_queue_depth"] == found["llmsvc_inflight"] == 0
    engine = 'llmsvc_engine_loaded{key="recall_model_LOCAL_CPU",backend="LOCAL_CPU"}'
    assert found[engine] == 1
    seconds, mean = found["llmsvc_inference_seconds_total"], found["llmsvc_inference_seconds_avg"]
    assert abs(mean - seconds / 3) < 1e-5
    assert mean > 0


async def test_clients_are_escaped_and_bounded(server: Server) -> None:
    names = ['quote " and \\ slash', *(f"client-{n}" for n in range(60))]
    for name in names:
        await server.ask("nothing", headers={"User-Agent": name})
    text = (await server.get("/metrics")).body.decode()

    series = [line for line in text.splitlines() if line.startswith("llmsvc_client_requests")]
    assert r'llmsvc_client_requests_total{client="quote \" and \\ slash"} 1' in series
    assert len(series) == 33
    assert 'llmsvc_client_requests_total{client="other"} 29' in series
    assert sum(int(line.rpartition(" ")[2]) for line in series) == 61
    assert all(SAMPLE.fullmatch(line) for line in series)


async def test_there_is_every_metric_that_the_dashboard_shows(server: Server, root: Path) -> None:
    board = json.loads((root / "deploy" / "grafana" / "servers.json").read_text())
    asked = {
        name.removesuffix("_bucket")
        for panel in board["panels"]
        for target in panel.get("targets", ())
        for name in re.findall(r"\bllmsvc_[a-z_]+", target["expr"])
    }
    text = (await server.get("/metrics")).body.decode()
    assert len(asked) > 20
    assert asked - set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) == set()
