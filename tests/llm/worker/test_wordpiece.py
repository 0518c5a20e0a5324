"""WordPiece ids, worked out by hand from a small vocabulary and held against the reference."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.implementations import BertWordPieceTokenizer

from runtime.llm.engine.worker.onnx import MAX_VOCABULARY, WordPieces, read_vocabulary
from runtime.llm.engine.worker.resources import Refused

TOKENS = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] "  # 0 to 4
    "the lap time corner cafe naive "  # 5 to 10
    "##s ##ing brak a ##b ##c "  # 11 to 16
    "漢 字 . , ! ' - 1 ##2 $ strasse straße b"  # 17 to 29
).split()

LONG = ["a" + "b" * 99, "a" + "b" * 100]  # as long as a word may be, and longer


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(TOKENS) + "\n", encoding="utf-8")
    return path


@given(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(LONG),
        st.lists(st.sampled_from([*TOKENS, "É", "ñ", "\u0301", "ǅ", "İ", "..", "x"])).map(" ".join),
        st.lists(st.sampled_from([*TOKENS, "ab", "\ufeff", "\u00ad", "\u06f1"])).map("".join),
    )
)
def test_any_text_has_the_ids_of_the_reference(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "words.txt"
    path.write_text("\n".join(TOKENS) + "\n", encoding="utf-8")
    reference = BertWordPieceTokenizer(str(path), lowercase=True)

    assert WordPieces(read_vocabulary(str(path))).encode(text) == reference.encode(text).ids


def test_a_long_text_keeps_its_special_tokens(vocabulary: Path) -> None:
    words = WordPieces(read_vocabulary(str(vocabulary)))
    assert words.cut("the lap time", 5) == ([2, 5, 6, 7, 3], False)
    assert words.cut("the lap time", 4) == ([2, 5, 6, 3], True)
    assert words.cut("the lap time", 3) == ([2, 5, 3], True)


FILES: dict[str, tuple[bytes, dict[str, int]]] = {
    "lines of Windows": (b"[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n", {"a": 4}),
    "no line end at the end": (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na", {"a": 4}),
    "of two equal lines the later": (b"a\n[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", {"a": 5}),
    "an empty line has a number": (b"\n[PAD]\n[UNK]\n\n[CLS]\n[SEP]\na\n", {"a": 6, "": 3}),
    "a byte-order mark": (b"\xef\xbb\xbf[PAD]\n[UNK]\n[CLS]\n[SEP]\n", {"[PAD]": 0}),
}


@pytest.mark.parametrize(("data", "ids"), FILES.values(), ids=FILES)
def test_the_number_of_a_line_is_the_id(data: bytes, ids: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(data)
    vocabulary = read_vocabulary(str(path))
    assert {token: vocabulary[token] for token in ids} == ids
    WordPieces(vocabulary)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    for data, reason in (
        (b"\xff\xfe[\0", "not UTF-8"),
        (b"a" * (MAX_VOCABULARY + 1), "larger than 5 MiB"),
        (b"", r"lacks .* \[PAD\]"),
    ):
        path.write_bytes(data)
        with pytest.raises(Refused, match=reason):
            read_vocabulary(str(path))
    os.mkfifo(tmp_path / "pipe")
    for name in ("absent", "pipe", "nul\0"):
        with pytest.raises(Refused, match="cannot be read"):
            read_vocabulary(str(tmp_path / name))
