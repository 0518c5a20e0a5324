"""Which models an engine may be given and how large, by their declaration and their file."""

import asyncio

from runtime.llm.errors import LocalInitFailed, NotForChat
from runtime.llm.models.catalog import Entry
from runtime.llm.models.gguf import BadModelFile, Header
from runtime.llm.models.gguf import read as read_header


def check_declared(entry: Entry) -> None:
    """Raise `LocalInitFailed` for a model that its declaration keeps from chatting here."""
    if entry.fault is not None:
        raise LocalInitFailed(entry.fault)
    if entry.backend == "LOCAL_NPU":
        raise LocalInitFailed("this build of the engine has no NPU backend")
    if entry.kind == "embedding":
        raise NotForChat(entry.id)


async def check_file(entry: Entry) -> Header:
    """The header of a file that an engine may be given; raises `LocalInitFailed`."""
    try:
        header = await asyncio.to_thread(read_header, entry.path)
    except BadModelFile as error:
        raise LocalInitFailed(f"the file of {entry.id} is no usable model: {error}") from error
    except OSError as error:
        raise LocalInitFailed(f"the file of {entry.id} cannot be read") from error
    if header.embedding_only:
        raise NotForChat(entry.id)
    return header


def model_budget(entry: Entry, header: Header, default_context: int) -> int:
    """Total tokens a model is run with when the request does not ask for fewer."""
    if entry.context_tokens is not None:
        return entry.context_tokens
    trained = header.context_length
    return min(trained, default_context) if trained else default_context
