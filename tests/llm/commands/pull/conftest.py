"""What every test of ``pull`` needs."""

from pathlib import Path

import pytest

from tests.llm.commands.pull.pullkit import Puller


@pytest.fixture
def pull(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Puller:
    """Runs the command; nothing of this machine's own settings counts."""
    for name in ("LLMSVC_MODELS_DIR", "LLMSVC_DATA_DIR", "LLMSVC_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("runtime.llm.commands.pull.fetch.AGAIN_S", 0.0)
    return Puller(tmp_path / "models", capsys)
