"""Which chunks have the same vector: a graph of many equal points leads nowhere, so it has one."""

import hashlib
import struct
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from runtime.llm.documents.vectors import Ids, Matrix

FORMAT: Final = "groups 1"
"""Of what `append` writes."""
_MARK_BYTES: Final = 8
_FOOT: Final = struct.Struct("<QQ")
_PER_NODE: Final = 256
_PER_MEMBER: Final = 256


class Groups:
    """Chunks by vector; a group's node is the chunk that came first, and stays when that goes."""

    def __init__(self) -> None:
        self._node_of: dict[int, int] = {}
        """The node of a vector, by the vector's mark."""
        self._mark_of: dict[int, int] = {}
        self._members: dict[int, set[int]] = {}
        """The chunks of each group that is not just its node."""
        self._joined: dict[int, int] = {}
        """The node of each chunk that is none."""
        self._chunks = 0

    def __len__(self) -> int:
        return self._chunks

    @property
    def nbytes(self) -> int:
        """Memory, near enough."""
        return _PER_NODE * len(self._mark_of) + _PER_MEMBER * len(self._joined)

    @property
    def nodes(self) -> int:
        """How many different vectors there are."""
        return len(self._mark_of)

    def ids(self) -> Ids:
        """All chunks."""
        alone = self._mark_of.keys() - self._members.keys()
        together = [id_ for members in self._members.values() for id_ in members]
        return np.asarray([*alone, *together], np.int64)

    def node_ids(self) -> Ids:
        """All nodes."""
        return np.fromiter(self._mark_of, np.int64, len(self._mark_of))

    def members(self, node: int) -> Collection[int]:
        """The chunks of a node's group; not to be changed."""
        return self._members.get(node, (node,))

    def add(self, ids: Sequence[int], rows: Matrix) -> list[int]:
        """Take chunks in that are not there yet; the positions of those that are new nodes.

        Raises ValueError for a chunk whose vector is not the one that it had before.
        """
        new: list[int] = []
        for at, (id_, row) in enumerate(zip(ids, rows, strict=True)):
            if id_ in self._joined:
                continue
            mark = _mark(row)
            node = self._node_of.get(mark)
            known = self._mark_of.get(id_)
            if known is not None and known != mark:
                raise ValueError("the vector of a chunk never changes")
            if node is None:
                self._node_of[mark] = id_
                self._mark_of[id_] = mark
                self._chunks += 1
                new.append(at)
            elif id_ not in self.members(node):
                self._join(node, id_)
                self._chunks += 1
        return new

    def remove(self, ids: Iterable[int]) -> list[int]:
        """Take chunks out; the nodes that have no chunk left, which are gone."""
        gone: list[int] = []
        for id_ in ids:
            node = self._joined.pop(id_, id_)
            if node not in self._mark_of or id_ not in self.members(node):
                continue
            self._chunks -= 1
            left = self._members.get(node, {node})
            left.discard(id_)
            if not left:
                gone.append(node)
                self._members.pop(node, None)
                del self._node_of[self._mark_of.pop(node)]
            elif left == {node}:
                del self._members[node]
        return gone

    def append(self, path: Path) -> None:
        """Write them behind what is in a file."""
        pairs = [(node, id_) for node, group in self._members.items() for id_ in group]
        with path.open("ab") as file:
            file.write(np.fromiter(self._mark_of.keys(), "<i8").tobytes())
            file.write(np.fromiter(self._mark_of.values(), "<u8").tobytes())
            file.write(np.asarray(pairs, "<i8").tobytes())
            file.write(_FOOT.pack(len(self._mark_of), len(pairs)))

    @classmethod
    def at_end_of(cls, path: Path) -> "Groups":
        """Those of a file that is known to be whole."""
        groups = cls()
        with path.open("rb") as file:
            end = file.seek(-_FOOT.size, 2)
            nodes, pairs = _FOOT.unpack(file.read(_FOOT.size))
            file.seek(end - 16 * (nodes + pairs))
            ids = np.frombuffer(file.read(8 * nodes), "<i8").tolist()
            marks = np.frombuffer(file.read(8 * nodes), "<u8").tolist()
            together = np.frombuffer(file.read(16 * pairs), "<i8").reshape(-1, 2).tolist()
        groups._node_of = dict(zip(marks, ids, strict=True))
        groups._mark_of = dict(zip(ids, marks, strict=True))
        for node, id_ in together:
            groups._members.setdefault(node, set()).add(id_)
            if node != id_:
                groups._joined[id_] = node
        groups._chunks = len(ids) - len(groups._members) + len(together)
        return groups

    def _join(self, node: int, id_: int) -> None:
        self._members.setdefault(node, {node}).add(id_)
        if id_ != node:
            self._joined[id_] = node


def _mark(row: Matrix) -> int:
    """Says which vectors are the same: two of a million differ unseen once in 30 million stores."""
    digest = hashlib.blake2b(row.tobytes(), digest_size=_MARK_BYTES).digest()
    return int.from_bytes(digest, "little")
