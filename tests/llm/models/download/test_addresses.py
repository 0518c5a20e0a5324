"""Which addresses are ours to talk to, and which are traps."""

import asyncio

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from runtime.llm.models.addresses import (
    GuardedResolver,
    Rule,
    is_loopback,
    is_public,
    is_reachable,
)
from runtime.llm.models.download import TransferFailed, check_hop, check_source
from runtime.web.access import address_of


@pytest.mark.parametrize(
    ("ip", "rules"),
    [
        ("127.0.0.1", {is_loopback, is_reachable}),
        ("::1", {is_loopback, is_reachable}),
        ("::ffff:127.0.0.1", {is_loopback, is_reachable}),
        ("10.1.2.3", {is_reachable}),
        ("fd12::1", {is_reachable}),
        ("1.1.1.1", {is_reachable, is_public}),
        ("2606:4700::1111", {is_reachable, is_public}),
        ("169.254.169.254", set()),
        ("::ffff:169.254.169.254", set()),
        ("fe80::1", set()),
        ("fd00:ec2::254", set()),
        ("100.100.100.200", set()),
        ("0.0.0.0", set()),
        ("::", set()),
        ("224.0.0.251", set()),
    ],
)
def test_an_address_falls_under_its_rules(ip: str, rules: set[Rule]) -> None:
    address = address_of(ip)

    assert address is not None
    assert {rule for rule in (is_loopback, is_reachable, is_public) if rule(address)} == rules


class Answers(AbstractResolver):
    """A name server that anybody may have written."""

    def __init__(self, *hosts: str) -> None:
        self._hosts = hosts

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        await asyncio.sleep(0)
        return [
            ResolveResult(hostname=host, host=ip, port=port, family=family, proto=0, flags=0)
            for ip in self._hosts
        ]

    async def close(self) -> None:
        pass


async def test_a_name_that_leads_elsewhere_is_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolver = GuardedResolver(is_loopback)
    monkeypatch.setattr(resolver, "_inner", Answers("10.0.0.1", "127.0.0.1", "fe80::1%eth0"))

    assert [found["host"] for found in await resolver.resolve("fm.localhost")] == ["127.0.0.1"]
    monkeypatch.setattr(resolver, "_inner", Answers("169.254.169.254"))
    with pytest.raises(OSError, match="not permitted"):
        await resolver.resolve("fm.localhost")


@pytest.mark.parametrize(
    "url",
    ["https://models.example/a.gguf", "file:///srv/a.gguf", "http://127.0.0.1:8000/a.gguf"],
)
def test_a_model_may_come_from_there(url: str) -> None:
    assert check_source(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/a.gguf",
        "http://10.0.0.1/a.gguf",
        "file://server/share/a.gguf",
        "file:relative.gguf",
        "ftp://models.example/a.gguf",
        "https://169.254.169.254/a.gguf",
        "https:///a.gguf",
        "https://user:pw@models.example/a.gguf",
        "/srv/a.gguf",
        "",
    ],
)
def test_a_model_may_not_come_from_there(url: str) -> None:
    with pytest.raises(ValueError, match="must"):
        check_source(url)


@pytest.mark.parametrize(
    ("first", "hop", "rule"),
    [
        ("https://a.example/x", "https://b.example/x", is_public),
        ("https://a.example/x", "https://a.example/y", is_reachable),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:2/y", is_loopback),
        ("http://127.0.0.1:1/x", "https://cdn.example/y", is_public),
        ("https://a.example/x", "http://b.example/x", None),
        ("https://a.example/x", "http://127.0.0.1/x", None),
        ("https://a.example/x", "https://127.0.0.1/x", None),
        ("https://a.example/x", "https://10.0.0.1/x", None),
        ("https://a.example/x", "https://[::ffff:10.0.0.1]/x", None),
        ("https://a.example/x", "https://169.254.169.254/x", None),
        ("https://a.example/x", "file:///etc/passwd", None),
        ("http://127.0.0.1:1/x", "file:///etc/passwd", None),
        ("http://127.0.0.1:1/x", "http://models.example/x", None),
        ("http://127.0.0.1:1/x", "https://10.0.0.1/x", None),
    ],
)
def test_a_redirect_never_leads_inwards(first: str, hop: str, rule: Rule | None) -> None:
    if rule is not None:
        assert check_hop(first, hop) is rule
        return
    with pytest.raises(TransferFailed) as failure:
        check_hop(first, hop)
    assert failure.value.reason == "redirect_refused"
