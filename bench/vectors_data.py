"""Makes the texts and vectors of the comparison from seeds, and tells how good an answer is."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

WIDTH: Final = 384
NEAREST: Final = 10
LATENT: Final = 48
"""Directions in which topics differ: sentence vectors fill far fewer than their width."""
SPREAD: Final = 0.9
"""How far a vector lies from the middle of its cluster, where middles lie 1 from their mean."""
NOISE: Final = 0.2
"""How much of it is in no direction that topics have."""
PER_CLUSTER: Final = 50
SAME: Final = 1e-6
"""Scores that differ by less are equal: each method adds up in its own order."""
BLOCK: Final = 5_000

WORDS: Final = tuple(
    """about above across after again against along already although always among animal another
    answer appear area around arrive autumn balance because become before begin behind believe
    below beside better between beyond black blue board boat body book both bottom box branch brave
    bread break breakfast bridge bright bring brother brown build building burn business busy button
    buy call camera captain careful carry castle catch cause centre certain chair chance change
    cheap child choose circle city clean clear climb clock close cloud coast coat coffee cold colour
    come common company complete consider contain cook copper corner correct cost count country
    course cover create cross crowd cup current curtain customer daily dance danger dark daughter
    decide deep degree deliver depend describe desert design detail develop difference difficult
    dinner direction discover distance divide doctor double doubt draw dream dress drink drive dry
    during early earth east easy edge effect effort eight electric empty engine enjoy enough enter
    equal evening event every exact example except excite exercise expect explain eye face fact
    factory fail fair fall family famous farm fast father favour fear feather feel fence field fight
    figure fill final find fine finger finish fire fish five flat float floor flow flower follow
    food foot force forest forget form forward four fresh friend front fruit full garden gather
    general gentle glass gold good govern grand grass great green grey ground group grow guess guide
    hair half hall hand happen happy harbour hard harvest head hear heart heat heavy height help
    history hold holiday home honest hope horse hospital hotel hour house however hundred hunt hurry
    idea imagine important include increase industry inside instead interest iron island join
    journey judge juice jump keep kitchen knife know ladder lake lamp land language large late laugh
    law lead learn leather leave left lesson letter level library life light limit line list listen
    little local long look lose loud love lower lunch machine main manage map mark market matter
    meadow measure medicine meet memory message metal method middle mild mile milk minute mirror
    modern moment money month moon morning mother motion mountain mouth move music narrow nation
    natural near necessary neighbour never news night noise north notice number object ocean offer
    office often old open opinion orange order other outside over own page paint paper parent park
    part party pass past path patient pattern pay peace people perhaps period picture piece place
    plain plan plant plate play please pocket point poor possible pour power practice prepare
    present press price print probable problem produce promise proper protect provide public pull
    purpose push quality quarter question quick quiet railway rain raise reach read ready reason
    receive record region remain remember repair repeat reply report require rest result return rice
    rich right ring rise river road rock roof room rope rough round rule run safe sail salt same
    sand save school science season second secret seed seem sentence separate serve settle seven
    shade shape share sharp sheep shelf ship shoe shop short shoulder show side sign silence silver
    simple since single sister six size skill sleep slow small smile smoke smooth snow soft soil
    soldier solve song soon sound south space speak special speed spend spoon spring square stage
    stand star start state station steady steam steel step stone stop store storm story straight
    strange street strong student study subject sudden sugar suggest summer supply support sure
    surface surprise sweet swim table tail talk tall taste teach team tell ten test thank theatre
    thick thin think thousand thread three through thunder ticket time together tomorrow tool top
    touch toward tower town trade train travel tree trouble true trust turn twelve under understand
    until upon useful usual valley value various vegetable village visit voice wait walk wall warm
    wash watch water wave weather week weight west wheel while white whole wide wild wind window
    winter wire wish without wonder wood word work world write wrong yard year yellow yesterday
    young""".split()
)


class Cloud(NamedTuple):
    """Unit vectors in clusters, and queries out of the same clusters."""

    vectors: Matrix
    queries: Matrix
    owners: Numbers
    """Cluster of each vector."""
    asked: Numbers
    """Cluster of each query."""


def sentences(count: int, words: int, seed: int = 0) -> list[str]:
    """Texts of exactly *words* English words."""
    chooser = random.Random(f"{seed} {words}")
    return [" ".join(chooser.choices(WORDS, k=words)).capitalize() + "." for _ in range(count)]


def odd_texts() -> list[str]:
    """Texts by which two tokenizers may come apart; the last is longer than the model reads."""
    return [
        "Brake in a straight line, then release the pedal as you turn in.",
        "Überholen: wer später bremst, fährt länger schnell — ça va?",
        "tyre_temp >= 90°C && lap > 3 // e.g. 1:31.250, 212 km/h",
        "赛车 🏎️ на повороте\tand\nlines",
        "x",
        sentences(1, 200, 5)[0],
        sentences(1, 400, 6)[0],
    ]


def clustered(count: int, queries: int, seed: int = 0) -> Cloud:
    """*count* vectors in clusters of about 50 that overlap, and queries of the same mixture."""
    chance = np.random.default_rng((seed, count))
    into = chance.standard_normal((LATENT, WIDTH), dtype=np.float32) / np.float32(LATENT**0.5)
    clusters = max(1, count // PER_CLUSTER)
    middles = chance.standard_normal((clusters, LATENT), dtype=np.float32)

    def drawn(many: int) -> tuple[Matrix, Numbers]:
        owners = chance.integers(clusters, size=many)
        rows = np.empty((many, WIDTH), np.float32)
        for at in range(0, many, BLOCK):
            some = owners[at : at + BLOCK]
            off = chance.standard_normal((len(some), LATENT), dtype=np.float32)
            noise = chance.standard_normal((len(some), WIDTH), dtype=np.float32)
            block = (middles[some] + np.float32(SPREAD) * off) @ into + np.float32(NOISE) * noise
            rows[at : at + BLOCK] = block / np.linalg.norm(block, axis=1, keepdims=True)
        return rows, owners

    vectors, owners = drawn(count)
    asked, theirs = drawn(queries)
    return Cloud(vectors, asked, owners, theirs)


def nearest(vectors: Matrix, query: Matrix, k: int = NEAREST) -> Numbers:
    """The *k* rows with the highest inner product, best first: all are compared."""
    scores = vectors @ query
    k = min(k, len(scores))
    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    return best[np.argsort(-scores[best])]


class Truth:
    """The right answers to some queries, against which found rows are held."""

    def __init__(self, vectors: Matrix, queries: Matrix, k: int = NEAREST) -> None:
        self._vectors = vectors
        self._queries = queries
        self._wanted = min(k, len(vectors))
        last = [vectors[nearest(vectors, query, k)[-1]] @ query for query in queries]
        self._limits = [float(score) - SAME for score in last]

    def recall(self, found: Sequence[Sequence[int]]) -> float:
        """Share of the nearest that was found, over all queries; equal scores are as good.

        A row counts once however often it was returned. Raises ValueError for a missing answer.
        """
        good = 0
        for query, limit, ids in zip(self._queries, self._limits, found, strict=True):
            own = np.array(sorted(set(ids)), np.int64)
            hits = int(np.count_nonzero(self._vectors[own] @ query >= limit))
            good += min(hits, self._wanted)
        return good / (self._wanted * len(self._limits))


def write(matrix: Matrix, path: Path) -> None:
    """Store rows as bare little-endian float32."""
    matrix.astype("<f4", copy=False).tofile(path)


def read(path: Path) -> Matrix:
    """All rows of a file that `write` wrote."""
    return np.fromfile(path, "<f4").reshape(-1, WIDTH).astype(np.float32, copy=False)


def blocks(path: Path, rows: int = BLOCK) -> Iterator[tuple[int, Matrix]]:
    """The rows in parts, each with the number of its first one: never the whole file in memory."""
    with path.open("rb") as file:
        first = 0
        while data := file.read(rows * WIDTH * 4):
            part = np.frombuffer(data, "<f4").reshape(-1, WIDTH).astype(np.float32, copy=False)
            yield first, part
            first += len(part)


def least_cosine(one: Matrix, other: Matrix) -> float:
    """The lowest cosine of two rows at the same place; raises ValueError for other shapes."""
    if one.shape != other.shape:
        raise ValueError(f"vectors of {one.shape} and {other.shape}")
    dots = np.einsum("ij,ij->i", one.astype(np.float64), other.astype(np.float64))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(np.min(dots / lengths))
