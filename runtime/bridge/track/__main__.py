"""Writes the invented circuits: `python -m runtime.bridge.track FOLDER`."""

import sys
from pathlib import Path

from runtime.bridge.track.design import all_tracks
from runtime.bridge.track.write import track_text


def main(folder: Path) -> int:
    """Write the files, over those of the same names."""
    for track in all_tracks():
        path = folder / f"{track.id}.json"
        path.write_text(track_text(track), encoding="utf-8", newline="\n")
        sys.stdout.write(f"{path}: {track.length_m:.1f} m, {len(track.corners)} corners\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/tracks")))
