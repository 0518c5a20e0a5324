"""A program that writes to a document store without end and prints each write that is done."""

import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from runtime.llm.documents.store import DocumentStore, StoreSettings
from tests.llm.documents.kit import clustered, document

VECTORS = clustered(400, seed=11, topics=20)
NAMES = 24
TENANTS = ("a", "b", "c")


def say(line: str) -> None:
    """Write a line at once: the next moment may be the last."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    """Write until the process is killed: folder, seed, and how much is searched exactly."""
    folder, seed, exact_max = arguments
    asyncio.run(run(folder, int(seed), int(exact_max)))


async def run(folder: str, seed: int, exact_max: int) -> None:
    store = await DocumentStore.open(Path(folder), StoreSettings(exact_max=exact_max))
    say("open")
    await asyncio.gather(*(write(store, tenant, seed) for tenant in TENANTS))


async def write(store: DocumentStore, tenant: str, seed: int) -> None:
    """Replace and delete a tenant's documents; each version says its number in every chunk."""
    chance, own = random.Random(f"{seed} {tenant}"), store.for_tenant(tenant)
    for version in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        name = f"d{chance.randrange(NAMES):02}"
        if chance.random() < 0.15:
            say(f"delete {tenant} {name} {version}")
            await own.delete(name)
        else:
            count = chance.randrange(1, 9)
            rows = [chance.randrange(len(VECTORS)) for _ in range(count)]
            texts = [f"{version} {number} {row}" for number, row in enumerate(rows)]
            say(f"replace {tenant} {name} {version} {count}")
            await own.replace(document(name, texts, vectors=VECTORS[rows], metadata=version))
        say(f"done {tenant} {version}")
        if chance.random() < 0.1:
            await own.search(VECTORS[chance.randrange(len(VECTORS))].tobytes(), "mini", 5)


if __name__ == "__main__":
    main(sys.argv[1:])
