"""Embeddings over HTTP: order, caps, formats, the stock client, and models that cannot embed."""

import asyncio
import base64
import math
import shutil
from pathlib import Path

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI

from tests.llm import tinymodel
from tests.llm.conftest import Start
from tests.llm.engine.onnxkit import write_tiny
from tests.llm.serverkit import WORDS, Answer, Json, Server
from tests.llm.worker import ggufbert

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATH = "/v1/embeddings"
TINY = "tiny-embed"
NARROW = "narrow"
TEXTS = [
    "brake later into the corner",
    "brake",
    "the animal learns to spell a letter",
    "brake later into the corner",
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two encoders, one of which may be shortened, and a chat model."""
    folder = tmp_path_factory.mktemp("encoders")
    write_tiny(folder, TINY)
    write_tiny(folder, NARROW, width=48, seed=3)
    tinymodel.write_recall(folder / "recall.gguf", WORDS)
    (folder / "catalog.toml").write_text(
        f'[models.{NARROW}]\nmatryoshka = true\nmax_seq = 8\nquery_prefix = "query: "\n',
        encoding="utf-8",
    )
    return folder


async def embed(server: Server, given: Json, model: Json = TINY, **fields: Json) -> Answer:
    return await server.request("POST", PATH, json={"input": given, "model": model, **fields})


def vectors(answer: Answer) -> list[list[float]]:
    assert answer.status == 200, answer.body
    assert [one["index"] for one in answer.json["data"]] == list(range(len(answer.json["data"])))
    return [one["embedding"] for one in answer.json["data"]]


async def test_vectors_are_of_unit_length_and_in_the_order_of_the_texts(shared: Server) -> None:
    together = vectors(await embed(shared, TEXTS))
    alone = [vectors(await embed(shared, text))[0] for text in TEXTS]
    assert [len(vector) for vector in together] == [384] * 4
    for vector, same in zip(together, alone, strict=True):
        assert math.isclose(math.fsum(x * x for x in vector), 1.0, abs_tol=1e-5)
        assert np.allclose(vector, same, atol=1e-5)
    assert together[0] == together[3]
    assert np.dot(together[0], together[1]) > np.dot(together[0], together[2])


async def test_base64_holds_the_same_numbers(shared: Server) -> None:
    (numbers,) = vectors(await embed(shared, "corner", encoding_format="float"))
    answer = await embed(shared, "corner", encoding_format="base64")
    text: str = answer.json["data"][0]["embedding"]
    assert np.frombuffer(base64.b64decode(text), "<f4").tolist() == numbers


async def test_the_answer_counts_tokens_with_special_ones_and_without_padding(
    shared: Server,
) -> None:
    answer = await embed(shared, ["brake", "brake later than you did"])
    usage = answer.json["usage"]
    one = (await embed(shared, "brake")).json["usage"]["prompt_tokens"]
    assert one == 3
    two = (await embed(shared, "brake later than you did")).json["usage"]["prompt_tokens"]
    assert usage == {"prompt_tokens": one + two, "total_tokens": one + two}
    assert answer.json["model"] == TINY
    assert answer.json["object"] == "list"
    assert "truncated" not in answer.json


async def test_a_text_that_is_cut_is_counted(shared: Server) -> None:
    answer = await embed(shared, ["brake", "brake " * 50, "corner " * 50], model=NARROW)
    assert answer.json["truncated"] == 2
    assert answer.json["usage"]["prompt_tokens"] == 3 + 8 + 8


async def test_fewer_dimensions_are_given_where_the_model_allows_it(shared: Server) -> None:
    (whole,) = vectors(await embed(shared, "corner", model=NARROW))
    (short,) = vectors(await embed(shared, "corner", model=NARROW, dimensions=16))
    (same,) = vectors(await embed(shared, "corner", model=NARROW, dimensions=48))
    head = np.array(whole[:16])
    assert np.allclose(short, head / np.linalg.norm(head), atol=1e-6)
    assert same == whole


async def test_too_many_characters_are_413(start: Start) -> None:
    async with start(max_prompt_chars=512) as server:
        answer = await embed(server, ["a" * 300, "b" * 213])
        assert (answer.status, answer.error["param"]) == (413, "input")
        assert (await embed(server, ["a" * 300, "b" * 212])).status == 200
        body = await embed(server, "a" * 80_000)
        assert (body.status, body.error["type"]) == (413, "invalid_request_error")


async def test_without_an_embedding_model_both_list_and_refusal_say_how_to_get_one(
    start: Start, models: Path, tmp_path: Path, shared: Server
) -> None:
    folder = tmp_path / "chat-only"
    folder.mkdir()
    shutil.copy(models / "recall.gguf", folder)
    async with start(models=folder, data_dir=tmp_path / "other") as bare:
        refused = await embed(bare, "a", model="all-minilm-l6-v2")
        assert "python -m runtime.llm pull minilm" in refused.error["message"]
        listed = await bare.get("/v1/models")
        assert "python -m runtime.llm pull minilm" in listed.json["hints"][0]
    assert "hints" not in (await shared.get("/v1/models")).json


@pytest.mark.asyncio(loop_scope="function")
async def test_an_encoder_shows_in_the_list_and_in_health_once_it_is_loaded(
    server: Server,
) -> None:
    async def entry() -> Json:
        return (await server.get(f"/v1/models/{TINY}")).json

    before = await entry()
    assert (before["meta"]["kind"], before["meta"]["loaded"]) == ("embedding", False)
    assert (await server.get("/health")).json["embedding_engines"] == []

    await embed(server, "a")

    assert (await entry())["meta"]["loaded"] is True
    health = (await server.get("/health")).json
    (record,) = health["embedding_engines"]
    assert record["key"].startswith(TINY)
    assert record["attempts"][0]["result"] == "ok"
    assert health["engines_loaded"] == 0
    samples = await server.metrics()
    assert samples["llmsvc_embedding_texts_total"] == 1
    assert samples["llmsvc_embedding_engines_loaded"] == 1


@pytest.mark.asyncio(loop_scope="function")
async def test_an_encoder_is_made_ready_ahead_of_time(server: Server) -> None:
    warm = await server.request("POST", f"/health/warm?model={TINY}")
    assert warm.status == 200
    assert warm.json["status"] == "warm"
    assert len((await server.get("/health")).json["embedding_engines"]) == 1
    unloaded = await server.request("POST", "/v1/engines/unload")
    assert unloaded.json == {"unloaded": 1}
    assert (await server.get("/health")).json["embedding_engines"] == []


async def test_a_damaged_encoder_is_an_error_with_a_reason_and_the_server_lives(
    start: Start, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(models, folder)
    whole = (folder / f"{TINY}.onnx").read_bytes()
    (folder / f"{TINY}.onnx").write_bytes(whole[:-1000] + b"\xff" * 1000)
    async with start(models=folder) as server:
        answer = await embed(server, "a")
        assert answer.status in (404, 500)
        assert str(folder) not in answer.error["message"]
        assert (await embed(server, "a", model=NARROW)).status == 200


async def test_a_model_that_is_copied_in_later_is_found(
    start: Start, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "later"
    folder.mkdir()
    async with start(models=folder) as server:
        assert (await embed(server, "a")).status == 404
        await asyncio.to_thread(write_tiny, folder, TINY)
        (first,) = vectors(await embed(server, "a"))
        await asyncio.to_thread(write_tiny, folder, TINY, seed=9)
        (second,) = vectors(await embed(server, "a"))
    assert first != second


async def test_a_gguf_encoder_gives_the_vectors_of_the_same_onnx_encoder(
    start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "both"
    await asyncio.to_thread(write_tiny, folder, "as-onnx", width=48)
    await asyncio.to_thread(ggufbert.write, folder / "as-gguf.gguf")
    async with start(models=folder, embedding_cache_size=2) as server:
        listed = (await server.get("/v1/models")).json["data"]
        kinds = {one["id"]: one["meta"]["kind"] for one in listed}
        assert kinds["as-gguf"] == kinds["as-onnx"] == "embedding"
        first = vectors(await embed(server, TEXTS, model="as-onnx"))
        second = vectors(await embed(server, TEXTS, model="as-gguf"))
        assert np.allclose(first, second, atol=2e-3)
        assert (await server.ask("as-gguf")).error["code"] == "LOCAL_INIT_FAILED"


async def test_the_stock_client_gets_floats_by_its_defaults(shared: Server) -> None:
    url = f"{shared.url}/v1"
    async with AsyncOpenAI(base_url=url, api_key="none", timeout=30) as client:
        one = await client.embeddings.create(model=TINY, input="brake later")
        many = await client.embeddings.create(model=TINY, input=TEXTS)
        raw = await client.embeddings.create(model=TINY, input="a", encoding_format="float")
        with pytest.raises(openai.NotFoundError) as caught:
            await client.embeddings.create(model="nothing", input="a")
        with pytest.raises(openai.BadRequestError):
            await client.embeddings.create(model=TINY, input=[1, 2, 3])
    assert len(one.data[0].embedding) == 384
    assert all(isinstance(x, float) for x in one.data[0].embedding)
    assert [item.index for item in many.data] == [0, 1, 2, 3]
    assert many.data[0].embedding == many.data[3].embedding
    assert len(raw.data[0].embedding) == 384
    assert caught.value.type == "model_not_found"
