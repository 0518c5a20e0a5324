"""Where a daemon may be, and what a client reads of its words."""

import pytest

from runtime.llm.models.daemon import parse_address as parse
from runtime.llm.models.daemon import sanitise


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/v1",
        "http://127.9.9.9/v1/",
        "http://localhost:1",
        "http://LOCALHOST.:1",
        "http://fm.localhost/v1",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/v1",
    ],
)
def test_this_machine_is_fine(text: str) -> None:
    assert parse(text).local


@pytest.mark.parametrize(
    "text",
    [
        "http://192.168.1.7:8080/v1",
        "https://models.example/v1",
        "http://0.0.0.0:8080",
        "http://[::]:8080",
        "http://2130706433/",
        "http://127.0.0.1.example/",
        "http://localhost.example/",
        "http://169.254.169.254/latest",
    ],
)
def test_other_machines_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="on another machine"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ftp://127.0.0.1/", "must be http"),
        ("127.0.0.1:8080", "must be http"),
        ("http:///v1", "must be http"),
        ("http://a:b@127.0.0.1/", "own setting"),
        ("http://127.0.0.1/?x=1", "query"),
        ("http://127.0.0.1/#x", "fragment"),
        ("unix:relative.sock", "absolute path"),
        ("unix:", "absolute path"),
        ("", "must be http"),
    ],
)
def test_what_is_no_address_is_told_so(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse(text)


@pytest.mark.parametrize("text", ["unix:/run/fm.sock", "unix:///run/fm.sock"])
def test_a_unix_socket_is_local(text: str) -> None:
    address = parse(text)

    assert (address.socket, str(address.base), address.local) == (
        "/run/fm.sock",
        "http://localhost/v1",
        True,
    )


def test_a_remote_daemon_must_be_permitted_and_encrypted() -> None:
    assert not parse("https://models.example/v1", allow_remote=True).local
    with pytest.raises(ValueError, match="https"):
        parse("http://models.example/v1", allow_remote=True)
    with pytest.raises(ValueError, match="link-local"):
        parse("https://169.254.169.254/", allow_remote=True)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("needs more memory (5.5 GiB)", "needs more memory (5.5 GiB)"),
        ("cannot open /srv/models/a.gguf: gone", "cannot open … gone"),
        ("dial 10.0.0.7:1234 refused", "dial … refused"),
        ("see http://127.0.0.1:9/x?y=1 now", "see … now"),
        ("at localhost:8080", "at …"),
        ("at [::1]:8080", "at …"),
        (r"in C:\models\a.gguf", "in …"),
        ("java.lang.IllegalStateException: x", "…: x"),
        ("ValueError: x", "…: x"),
        ("one\nTraceback of all", "one"),
        ("a\x1b[31mb\x00", "a[31mb"),
    ],
)
def test_addresses_paths_and_class_names_are_removed(said: str, read: str) -> None:
    assert sanitise(said) == read


def test_a_long_complaint_is_cut() -> None:
    assert len(sanitise("x " * 5000)) == 200
