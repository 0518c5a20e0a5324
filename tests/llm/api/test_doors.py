"""What every route has in common: key, hosts, origins, methods, ids, cross-origin answers."""

from pydantic import SecretStr

from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, Server

KEY = "k3y"
GOOD = {"Authorization": f"Bearer {KEY}"}
OPEN = [("GET", "/health"), ("GET", "/metrics")]
GATED = [
    ("GET", "/"),
    ("GET", "/openapi.json"),
    ("POST", "/health/warm"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/recall"),
    ("POST", CHAT),
    ("GET", "/v1/sysmodel/status"),
    ("GET", "/v1/sysmodel/benchmark"),
    ("POST", "/v1/sysmodel/benchmark"),
    ("POST", "/v1/sysmodel/download"),
    ("GET", "/v1/requests"),
    ("DELETE", "/v1/requests/1"),
    ("POST", "/v1/engines/unload"),
    ("GET", "/v1/nothing"),
    ("PUT", CHAT),
]


async def test_without_the_key_only_the_open_routes_answer(start: Start) -> None:
    async with start(api_key=SecretStr(f" {KEY} ")) as server:
        for method, path in OPEN:
            assert (await server.request(method, path)).status == 200
        for method, path in GATED:
            for headers in ({}, {"Authorization": KEY}, {"Authorization": "Bearer wrong"}):
                answer = await server.request(method, path, headers=headers, data=b"{")
                assert answer.status == 401, (method, path)
                error = answer.error
                assert (error["type"], error["code"]) == ("invalid_api_key", 401)
                assert "key" in error["message"]
                assert answer.headers["WWW-Authenticate"] == "Bearer"
                assert int(answer.headers["X-Request-Id"]) > 0
        with_key = await server.request("POST", CHAT, headers=GOOD, data=b"{")
        health = await server.get("/health")

    assert with_key.status == 400
    assert health.json["auth"] == "key"
    assert KEY not in health.body.decode()


async def test_a_refused_key_costs_nothing(start: Start) -> None:
    async with start(
        api_key=SecretStr(KEY), rate_limit_per_sec=0.01, rate_limit_burst=1.0
    ) as server:
        before = server.service.last_activity
        refused = [await server.request("POST", CHAT, data=b"{") for _ in range(5)]
        touched = server.service.last_activity != before
        allowed = await server.request("POST", CHAT, data=b"{", headers=GOOD)

    assert {answer.status for answer in refused} == {401}
    assert allowed.status == 400  # the one token of the bucket was still there
    assert not touched


async def test_a_web_page_of_another_site_gets_nowhere(server: Server) -> None:
    for headers in [
        {"Host": "rebound.example"},
        {"Host": "0.0.0.0"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ]:
        for method, path in (*OPEN, *GATED):
            answer = await server.request(method, path, headers=headers)
            assert answer.status == 403, (method, path)
            assert (answer.error["type"], answer.error["code"]) == ("permission_error", 403)
            assert int(answer.headers["X-Request-Id"]) > 0
        assert server.service.admission.totals.admitted == 0


async def test_a_page_of_a_listed_origin_may_read_the_headers_of_the_queue(start: Start) -> None:
    origin = "https://app.example"
    async with start(allow_cors=True, cors_origins=[origin]) as server:
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        preflight = await server.request("OPTIONS", CHAT, headers=asked)
        answer = await server.ask("nothing", headers={"Origin": origin})
        other = await server.ask("nothing", headers={"Origin": "https://evil.example"})

    assert preflight.status == 204
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    exposed = {name.strip() for name in answer.headers["Access-Control-Expose-Headers"].split(",")}
    assert exposed >= {"X-Request-Id", "X-Queue-Position", "X-Estimated-Wait-Ms", "Retry-After"}
    assert other.status == 403
    assert "Access-Control-Allow-Origin" not in other.headers
