"""The table of wheels: what covers which system and version of Python."""

from tools.wheels import PYTHONS, Locked, make_rows

ADDRESS = "https://example.org/files"


def package(name: str, *wheels: str, **more: object) -> dict[str, object]:
    listed = [{"url": f"{ADDRESS}/{name}-1.0-{wheel}.whl"} for wheel in wheels]
    return {"name": name, "version": "1.0", "wheels": listed, **more}


def test_a_row_says_for_which_systems_and_pythons_there_is_a_wheel() -> None:
    each = [f"cp{python.replace('.', '')}" for python in PYTHONS]
    lock = {
        "package": [
            {
                "name": "paddock",
                "dependencies": [{"name": "stable"}, {"name": "text"}, {"name": "old"}],
                "optional-dependencies": {
                    "bridge": [{"name": "source"}],
                    "llm": [{"name": "mac", "marker": "sys_platform == 'darwin'"}],
                    "prebuilt": [],
                },
            },
            package(
                "stable",
                "cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
                "cp39-abi3-win_amd64",
                "cp39-abi3-macosx_11_0_arm64",
                "cp313-abi3-manylinux_2_28_aarch64",
            ),
            package("text", "py3-none-any", dependencies=[{"name": "below"}]),
            package("below", *(f"{tag}-{tag}-macosx_10_9_universal2" for tag in each)),
            package("old", "cp311-cp311-win_amd64", "cp314-cp314t-win_amd64", "cp39-cp39-win32"),
            package("source"),
            package("mac", "py3-none-macosx_11_0_arm64"),
        ]
    }
    rows, pure = make_rows(Locked(lock))
    none, everywhere = "**none**", "course, bridge, llm"
    assert rows == [
        ("below", everywhere, none, none, "yes", none),
        ("mac", "llm", "not needed", "not needed", "yes", "not needed"),
        ("old", everywhere, none, none, none, "3.11"),
        ("source", "bridge", none, none, none, none),
        ("stable", everywhere, "yes", "3.13 to 3.14", "yes", "yes"),
    ]
    assert pure == 1
