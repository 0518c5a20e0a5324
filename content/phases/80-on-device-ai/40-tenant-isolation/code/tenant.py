"""The tenant of a request, from what its headers say about themselves."""

import hashlib

LONGEST = 128
DIGEST = 16


def fold(name: str) -> str:
    """Lower case, one space between words."""
    return " ".join(name.lower().split())


def tenant_of(headers: dict[str, str]) -> str:
    """X-Client-Id first, then User-Agent, then a name for all the others."""
    for header in ("X-Client-Id", "User-Agent"):
        name = fold(headers.get(header, ""))
        if len(name) > LONGEST:
            digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST]
            name = f"{name[: LONGEST - DIGEST - 1]}~{digest}"
        if name:
            return name
    return "anonymous"


for headers in (
    {"X-Client-Id": "Mia", "User-Agent": "lap-notes/1.2"},
    {"X-Client-Id": "  MIA ", "User-Agent": "curl/8.5.0"},
    {"X-Client-Id": "", "User-Agent": "lap-notes/1.2"},
    {},
):
    print(f"{tenant_of(headers):13} from {headers}")
print("two long names stay apart:", tenant_of({"X-Client-Id": "a" * 200})[-19:])
