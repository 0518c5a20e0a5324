"""The optional key."""

import pytest

from runtime.web.access import Bearer, under
from runtime.web.errors import Unauthorized

KEY = "s3cret"


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("Bearer s3cret", True),
        ("bearer s3cret", True),
        ("BEARER   s3cret  ", True),
        (None, False),
        ("", False),
        ("Bearer", False),
        ("Bearer ", False),
        ("s3cret", False),
        ("Basic s3cret", False),
        ("Bearers3cret", False),
        ("Bearer s3cret2", False),
        ("Bearer s3cre", False),
        ("Bearer S3CRET", False),
        ("Bearer s3cret s3cret", False),
        ("Bearer é", False),
        ("Bearer \udce9\ud800", False),
    ],
)
def test_only_the_key_itself_opens(header: str | None, accepted: bool) -> None:
    assert Bearer(KEY).accepts(header) is accepted


@pytest.mark.parametrize("key", ["", "   ", "\n"])
def test_an_empty_key_leaves_everything_open(key: str) -> None:
    assert Bearer(key).open
    Bearer(key).check(None)


def test_the_key_is_trimmed_and_may_be_any_text() -> None:
    Bearer("  schlüssel ").check("Bearer schlüssel")


def test_a_refusal_names_the_scheme_and_not_the_key() -> None:
    with pytest.raises(Unauthorized, match="API key") as found:
        Bearer(KEY).check("Bearer wrong")
    assert found.value.headers == {"WWW-Authenticate": "Bearer"}
    assert KEY not in str(found.value)
    assert "wrong" not in str(found.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/v1", True), ("/v1/", True), ("/v1/x/y", True), ("/v10", False), ("/health", False)],
)
def test_a_prefix_covers_whole_path_parts(path: str, expected: bool) -> None:
    assert under(path, ("/v1", "/admin")) is expected
