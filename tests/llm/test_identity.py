"""Client and tenant names made from hostile and ordinary headers."""

import unicodedata
from hashlib import sha256
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.identity import client_id, escape_header, tenant_id

ANY = st.text(st.characters())  # lone surrogates included: so undecodable header bytes arrive


@pytest.mark.parametrize(
    ("header", "client"),
    [
        (None, "anonymous"),
        ("", "anonymous"),
        (" \t ", "anonymous"),
        ("\x00\x1f", "anonymous"),
        ("OpenAI/Python 2.1", "OpenAI/Python 2.1"),
        ("Mixed Case", "Mixed Case"),
        ("a\r\nSet-Cookie: b", "aSet-Cookie: b"),
        ("x" * 300, "x" * 256),
        ("p\u00e9p\u00e9", "p\u00e9p\u00e9"),
        ("Zo\udceb", "Zo\u00eb"),
        ("bad\udcff\udc85", "bad\u00ff\ufffd85"),
        ("half\ud800", "half\ufffd"),
        ("line\u2028break\u2029", "linebreak"),
    ],
)
def test_a_client_is_its_user_agent_without_what_could_do_harm(
    header: str | None, client: str
) -> None:
    assert client_id(header) == client


@pytest.mark.parametrize(
    ("chosen", "agent", "tenant"),
    [
        (None, None, "anonymous"),
        ("", "", "anonymous"),
        ("   ", "curl/8", "curl/8"),
        ("\x00", "curl/8", "curl/8"),
        ("My App", "curl/8", "my app"),
        ("  My \t  App ", None, "my app"),
        ("my\x07app", None, "myapp"),
        (None, "OpenAI/Python 2.1", "openai/python 2.1"),
        ("\u00c4RGER", None, "\u00e4rger"),
        ("I", None, "i"),
        ("x" * 128, None, "x" * 128),
    ],
)
def test_a_tenant_is_the_first_header_that_says_anything_folded(
    chosen: str | None, agent: str | None, tenant: str
) -> None:
    assert tenant_id(chosen, agent) == tenant


def test_a_long_tenant_keeps_its_start_and_ends_in_a_digest() -> None:
    tenant = tenant_id("A" * 129, None)

    assert tenant == "a" * 111 + "~" + sha256(b"a" * 129).hexdigest()[:16]
    assert tenant_id("A" * 130, None) != tenant


@given(ANY)
def test_client_names_are_bounded_clean_and_stable(header: str) -> None:
    client = client_id(header)

    assert 0 < len(client) <= 256
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in client)
    assert client_id(client) == client


@given(ANY, ANY)
def test_tenant_names_are_bounded_clean_and_stable(chosen: str, agent: str) -> None:
    tenant = tenant_id(chosen, agent)

    assert 0 < len(tenant) <= 128
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in tenant)
    assert tenant_id(tenant, "other") == tenant
    tenant.encode()


@given(ANY)
def test_a_header_value_is_printable_ascii_and_can_be_read_back(name: str) -> None:
    client = client_id(name)
    value = escape_header(client)

    assert value.isascii()
    assert value.isprintable()
    assert escape_header(value) == value
    assert client == (value if client.isascii() else unquote(value))


def test_names_of_different_undecodable_bytes_are_different_tenants() -> None:
    names = [f"zo{chr(0xDC00 + byte)}" for byte in range(0x80, 0x100)]
    folded = {tenant_id(name, None) for name in names}
    # Only a capital and its small letter are one tenant, as in any other name.
    capitals = sum(chr(byte).lower() != chr(byte) for byte in range(0xA1, 0x100))
    assert len(folded) == len(names) - capitals
