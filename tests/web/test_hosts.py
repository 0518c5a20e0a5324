"""Which hosts and web pages are let in."""

import pytest
from multidict import CIMultiDict

from runtime.web.access import (
    LOOPBACK_ORIGINS,
    HostPolicy,
    cors_headers,
    is_loopback,
    preflight_headers,
    refusal,
)
from runtime.web.errors import BadHost, CrossSite

LOOPBACK = HostPolicy.bound_to("127.0.0.1", allowed_hosts=["My-Box.example", " pi.local. "])
LAN = HostPolicy.bound_to("0.0.0.0", allowed_hosts=["car.example"])

ALWAYS = [
    "localhost",
    "LOCALHOST:8080",
    "localhost.",
    "127.0.0.1",
    "127.0.0.1:8080",
    "127.1.2.3",
    "[::1]",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
]
NEVER = [
    "",
    " ",
    "localhost:",
    "localhost:x",
    "localhost:65536",
    "localhost:-1",
    "localhost:8080:8080",
    "localhost..",
    ".localhost",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example#localhost",
    "user@localhost",
    "user:pass@127.0.0.1",
    "127.0.0.1/",
    "http://localhost",
    "0.0.0.0",
    "0.0.0.0:8080",
    "[::]",
    "[::]:8080",
    "[::ffff:0.0.0.0]",
    "0",
    "127.1",
    "2130706433",
    "0x7f000001",
    "017700000001",
    "127.0.0.01",
    "[::1",
    "::1",
    "[127.0.0.1]x",
    "[fe80::1%25eth0]",
    "localhost\x00",
    "localhost, evil.example",
    "ⓛocalhost",
    "\uff11\uff12\uff17.0.0.1",
]


@pytest.mark.parametrize("policy", [LOOPBACK, LAN], ids=["loopback", "lan"])
def test_this_machine_is_let_in_and_what_rebinding_could_use_is_not(policy: HostPolicy) -> None:
    assert [host for host in (*ALWAYS, *NEVER) if policy.answers_to(host)] == ALWAYS


@pytest.mark.parametrize(
    ("host", "loopback", "lan"),
    [
        ("my-box.example:8080", True, False),
        ("pi.local", True, False),
        ("car.example", False, True),
        ("192.168.1.20:8080", False, True),
        ("[fe80::1]", False, True),
        ("8.8.8.8", False, True),
        ("api.localhost", False, True),
        ("host.docker.internal", False, True),
    ],
)
def test_names_and_addresses_depend_on_the_bind(host: str, loopback: bool, lan: bool) -> None:
    assert (LOOPBACK.answers_to(host), LAN.answers_to(host)) == (loopback, lan)


def test_the_machine_is_known_by_its_name_on_the_local_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "Pit-Box")
    lan = HostPolicy.bound_to("::")
    assert lan.answers_to("pit-box")
    assert lan.answers_to("pit-box.local:8080")
    assert not HostPolicy.bound_to("::1").answers_to("pit-box.local")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.2", False),
        ("pit-box", False),
    ],
)
def test_only_loopback_binds_are_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


LISTED = HostPolicy.bound_to(
    "127.0.0.1", origins=["https://app.example", "http://localhost:*"], pages=["/"]
)
ORIGINS = [
    ({}, None),
    ({"Sec-Fetch-Site": "none"}, None),
    ({"Sec-Fetch-Site": "same-origin"}, None),
    ({"Sec-Fetch-Site": "cross-site"}, CrossSite),
    ({"Sec-Fetch-Site": "same-site"}, CrossSite),
    ({"Sec-Fetch-Site": "Cross-Site"}, CrossSite),
    ({"Sec-Fetch-Site": "new-word"}, CrossSite),
    ({"Origin": "http://localhost:8080"}, None),
    ({"Origin": "http://127.0.0.1:8080"}, CrossSite),
    ({"Origin": "null"}, CrossSite),
    ({"Origin": ""}, CrossSite),
    ({"Origin": "https://evil.example"}, CrossSite),
    ({"Origin": "https://app.example"}, None),
    ({"Origin": "HTTPS://APP.EXAMPLE", "Sec-Fetch-Site": "cross-site"}, None),
    ({"Origin": "https://app.example.evil"}, CrossSite),
    ({"Origin": "http://app.example"}, CrossSite),
    ({"Origin": "https://app.example:444"}, CrossSite),
    ({"Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"}, None),
    ({"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, None),
    ({"Origin": "http://localhost"}, None),
    ({"Origin": "http://localhost.evil"}, CrossSite),
    ({"Origin": "http://localhost:3000.evil"}, CrossSite),
    ({"Host": "evil.example", "Origin": "https://app.example"}, BadHost),
    ({"Host": "evil.example", "Origin": "http://evil.example"}, BadHost),
    ({"Host": "0.0.0.0:8080", "Sec-Fetch-Site": "same-origin"}, BadHost),
]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_pages_of_other_sites_are_refused_on_every_method(method: str) -> None:
    for headers, expected in ORIGINS:
        sent = CIMultiDict({"Host": "localhost:8080", **headers})
        found = refusal(LISTED, sent, method=method, path="/v1/x")
        assert type(found) is (expected or type(None)), headers


OWN, LIST, EVIL = "http://127.0.0.1:8080", "https://app.example", "https://evil.example"
REPEATED = [
    ([("Origin", OWN), ("Origin", EVIL)], False),
    ([("Origin", EVIL), ("Origin", OWN)], False),
    ([("Origin", LIST), ("Origin", EVIL)], False),
    ([("Origin", EVIL), ("Origin", LIST)], False),
    ([("Origin", LIST), ("Origin", OWN)], True),
    ([("Origin", LIST), ("Origin", OWN), ("Sec-Fetch-Site", "cross-site")], False),
    ([("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "cross-site")], False),
    ([("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "none")], False),
    ([("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "same-origin")], True),
]


@pytest.mark.parametrize(("headers", "allowed"), REPEATED)
def test_every_one_of_repeated_headers_has_to_pass(
    headers: list[tuple[str, str]], allowed: bool
) -> None:
    sent = CIMultiDict([("Host", "127.0.0.1:8080"), *headers])
    assert (refusal(LISTED, sent, method="POST", path="/v1/x") is None) is allowed


@pytest.mark.parametrize("modes", [("navigate", "cors"), ("cors", "navigate")])
def test_a_repeated_fetch_mode_opens_no_page(modes: tuple[str, str]) -> None:
    sent = CIMultiDict([("Host", "localhost"), ("Sec-Fetch-Site", "cross-site")])
    for mode in modes:
        sent.add("Sec-Fetch-Mode", mode)
    assert refusal(LISTED, sent, method="GET", path="/") is not None


@pytest.mark.parametrize(
    ("method", "path", "mode", "allowed"),
    [
        ("GET", "/", "navigate", True),
        ("GET", "/", "no-cors", False),
        ("POST", "/", "navigate", False),
        ("GET", "/v1/x", "navigate", False),
    ],
)
def test_a_link_on_another_site_may_open_a_page_only(
    method: str, path: str, mode: str, allowed: bool
) -> None:
    sent = CIMultiDict(
        {"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode}
    )
    assert (refusal(LISTED, sent, method=method, path=path) is None) is allowed


@pytest.mark.parametrize(
    ("hosts", "old_local", "allowed"),
    [
        ([], True, True),
        ([], False, False),
        (["evil"], True, False),
        (["localhost"] * 2, True, False),
    ],
)
def test_no_host_is_for_old_clients_on_this_machine(
    hosts: list[str], old_local: bool, allowed: bool
) -> None:
    sent = CIMultiDict([("Host", host) for host in hosts])
    found = refusal(LOOPBACK, sent, method="GET", path="/", old_local=old_local)
    assert (found is None) is allowed


@pytest.mark.parametrize(
    ("origins", "origin", "expected"),
    [
        (("*",), "https://any.example", True),
        (("*",), "null", False),
        (("null",), "null", True),
        ((), "http://localhost", False),
        (LOOPBACK_ORIGINS, "http://[::1]:9", True),
        (LOOPBACK_ORIGINS, "https://127.0.0.1", True),
        (LOOPBACK_ORIGINS, "http://127.0.0.1:99999999", False),
        (("HTTPS://App.Example",), "https://app.example", True),
    ],
)
def test_origins_are_listed_exactly_by_port_or_all(
    origins: tuple[str, ...], origin: str, expected: bool
) -> None:
    assert HostPolicy.bound_to("127.0.0.1", origins=origins).lists(origin) is expected


def test_answers_name_the_one_origin_that_asked() -> None:
    assert dict(cors_headers(LISTED, "https://app.example", ["X-A", "X-B"])) == {
        "Vary": "Origin",
        "Access-Control-Allow-Origin": "https://app.example",
        "Access-Control-Expose-Headers": "X-A, X-B",
    }
    assert dict(cors_headers(LISTED, "https://evil.example")) == {"Vary": "Origin"}
    assert dict(cors_headers(LISTED, None)) == {"Vary": "Origin"}
    assert not cors_headers(LOOPBACK, "https://app.example")


PREFLIGHT = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("content-type, authorization", "content-type, authorization"),
        ("x-a,x-b", "x-a,x-b"),
        ("x-a\r\nSet-Cookie: a", None),
        ("x a", None),
        ("", None),
    ],
)
def test_a_preflight_reflects_names_that_are_names(wanted: str, expected: str | None) -> None:
    sent = CIMultiDict({**PREFLIGHT, "Access-Control-Request-Headers": wanted})
    found = preflight_headers(LISTED, sent)
    assert found is not None
    assert found.get("Access-Control-Allow-Headers") == expected
    assert found["Access-Control-Max-Age"] == "600"


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "https://app.example"}, {**PREFLIGHT, "Origin": "https://evil.example"}],
)
def test_what_is_no_preflight_of_a_listed_origin_gets_no_answer(headers: dict[str, str]) -> None:
    assert preflight_headers(LISTED, CIMultiDict(headers)) is None
