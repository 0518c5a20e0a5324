"""Pack everything that an installation without network needs into one archive.

    python -m tools.bundle [--out dist] [--no-search-model]

The archive holds the wheels for this system and version of Python, in the versions of uv.lock, the
built course, the embedding model, and install.py. The engine is the prebuilt one, so that neither
this machine nor the other one needs a compiler.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from runtime import VERSION

ROOT: Final = Path(__file__).resolve().parents[1]
EXTRAS: Final = ("all", "prebuilt")
NO_COMPILER: Final = {
    "SKBUILD_WHEEL_CMAKE": "false",
    "PIP_CACHE_DIR": str(ROOT / ".venv" / "bundle-cache"),
}
"""Skips compiling llama.cpp, and keeps that wheel out of the shared cache."""


def run(*words: str | Path, env: Mapping[str, str] | None = None) -> None:
    """Run a command in the project's folder; exit if it fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=ROOT, env={**os.environ, **(env or {})}, check=False
    )
    if done.returncode:
        sys.exit(f"bundle: {words[0]} failed")


def collect_wheels(folder: Path, scratch: Path) -> None:
    """Put the wheel of this project and those of all its dependencies into *folder*."""
    own = ROOT / ".venv" / "tools" / "bin" / "uv"
    uv = str(own) if own.exists() else "uv"
    versions = scratch / "versions.txt"
    chosen = [word for extra in EXTRAS for word in ("--extra", extra)]
    quiet = ("--quiet", "--output-file", versions)
    run(uv, "export", "--locked", "--no-dev", "--no-hashes", "--no-emit-project", *chosen, *quiet)
    wanted = f"{ROOT}[{','.join(EXTRAS)}]"
    pip = (sys.executable, "-m", "pip", "wheel", "-qq", "--wheel-dir", folder)
    run(*pip, "--constraint", versions, wanted, env=NO_COMPILER)


def main(argv: Sequence[str]) -> int:
    """Write the archive; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.bundle", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the archive")
    parser.add_argument(
        "--no-search-model", action="store_true", help="leave out the embedding model (90 MB)"
    )
    chosen = parser.parse_args(argv)
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    name = f"paddock-{VERSION}-{python}-{sysconfig.get_platform()}"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        collect_wheels(folder / "wheels", Path(scratch))
        run(sys.executable, "build.py", "build", "--quiet", "--no-cache", "--out", folder / "site")
        if not chosen.no_search_model:
            pull = ("-m", "runtime", "llm", "pull", "minilm")
            run(sys.executable, *pull, "--models-dir", folder / "models")
        shutil.copyfile(ROOT / "deploy" / "install.py", folder / "install.py")
        for left in folder.glob(".site.*"):
            left.unlink()
        chosen.out.mkdir(parents=True, exist_ok=True)
        archive = chosen.out / f"{name}.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as packed:  # wheels are compressed
            packed.add(folder, name)
    print(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
