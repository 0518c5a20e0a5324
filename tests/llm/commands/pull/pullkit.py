"""What the tests of ``pull`` share: running the command, and what it left behind."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.llm.commands.pull.command import main


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line on standard error."""
        return self.err.strip().rpartition("\n")[2]


class Puller:
    """Runs ``pull`` on a models folder of the test's own."""

    def __init__(self, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.models = models
        self._capsys = capsys

    def run(self, *words: str) -> Said:
        self._capsys.readouterr()
        try:
            status = main([*words, "--models-dir", str(self.models)])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        out, err = self._capsys.readouterr()
        return Said(status, out, err)

    async def __call__(self, *words: str) -> Said:
        """As the program does it: in a thread without an event loop."""
        return await asyncio.to_thread(self.run, *words)

    @property
    def left(self) -> list[str]:
        """Every file in the models folder and below."""
        paths = self.models.rglob("*")
        return sorted(str(path.relative_to(self.models)) for path in paths if path.is_file())

    @property
    def listed(self) -> list[str]:
        """The files that do not wait for a later attempt."""
        return [path for path in self.left if not path.startswith(".pull/")]
