"""What the pages of the bridge ship of others is what they published."""

import hashlib
from typing import Final

import pytest

from tests.bridge.bridgekit import ROOT

VENDORED: Final = {
    # Of the npm package uplot 1.6.32, whose tarball has the SHA-256
    # 4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d.
    "uPlot.esm.js": "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}


@pytest.mark.parametrize("name", VENDORED)
def test_uplot_is_the_published_one(name: str) -> None:
    content = (ROOT / "runtime/bridge/pages/vendor/uplot" / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == VENDORED[name]
