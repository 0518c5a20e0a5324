"""Checks the pictures and colours of a course."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from course.diagnostics import Problem, nearest
from course.read import images

# The tool's own colours, light and dark, as site.css has them.
DEFAULTS: Final = {
    "accent": ("#00634a", "#52d0a0"),
    "paper": ("#f5f7f6", "#0f1413"),
    "sheet": ("#ffffff", "#161d1b"),
    "ink": ("#151b19", "#e4ebe8"),
}
ON_ACCENT: Final = ("#ffffff", "#06130e")
THEMES: Final = ("light", "dark")
READABLE: Final = 4.5  # contrast of text and its ground, by WCAG 2.2, level AA


def compute_luminance(colour: str) -> float:
    """Return the relative luminance (0 black, 1 white) of a colour such as ``#8a3b12``, by WCAG."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(first: str, second: str) -> float:
    """Contrast of two colours: 1 for equal ones, 21 for black on white."""
    low, high = sorted((compute_luminance(first), compute_luminance(second)))
    return (high + 0.05) / (low + 0.05)


def check(
    course: Mapping[str, Any], media: Mapping[str, bytes], refused: frozenset[str], file: str
) -> Iterator[Problem]:
    """Yield the problems of the looks in the valid data of ``course.yaml``.

    *media* holds the files of ``content/media`` by path below ``content/``; *refused* names those
    of which something is said already.
    """
    used: dict[str, tuple[str | int, ...]] = {}
    if "hero" in course:
        used[course["hero"]["image"]] = ("hero", "image")
    if "logo" in course:
        used.setdefault(course["logo"], ("logo",))
        if not course["logo"].endswith(".svg"):
            message, hint = "the logo of a course must be an SVG", "draw it as an SVG"
            yield Problem("CFG013", file, message, ("logo",), got=course["logo"], hint=hint)
    if "social" in course:
        used.setdefault(course["social"], ("social",))
        if not course["social"].endswith((".png", ".jpg", ".jpeg")):
            message, hint = "other sites show PNG and JPEG only", "save it as a PNG"
            picture = course["social"]
            yield Problem("CFG013", file, message, ("social",), got=picture, hint=hint)
    folder = file.rpartition("/")[0]
    for name, path in used.items():
        if name in media:
            yield from images.check(name, media[name], f"{folder}/{name}")
        elif name not in refused:
            message = f"there is no picture {name} in {folder}/"
            hint = nearest(name, media) or f"put the file into {folder}/media/, or remove the line"
            yield Problem("CFG013", file, message, path, got=name, hint=hint)
    for name in media:
        if name not in used:
            yield Problem("MD010", f"{folder}/{name}", "course.yaml does not use this picture")
    yield from _check_contrast(course.get("colours", {}), file)


def _check_contrast(colours: Mapping[str, Mapping[str, str]], file: str) -> Iterator[Problem]:
    """CFG014 for each colour that the course chose and that text cannot be read with."""
    for at, theme in enumerate(THEMES):
        own = {name: pair[theme] for name, pair in colours.items()}
        palette = {name: pair[at] for name, pair in DEFAULTS.items()} | own
        grounds = [(name, ground) for name in ("ink", "accent") for ground in ("paper", "sheet")]
        pairs = [(name, ground, palette[ground]) for name, ground in grounds]
        pairs.append(("accent", "the text on buttons", ON_ACCENT[at]))
        reported: set[str] = set()
        for name, ground, colour in sorted(
            pairs, key=lambda row: compute_contrast(palette[row[0]], row[2])
        ):
            chosen = name if name in own else ground
            ratio = compute_contrast(palette[name], colour)
            if chosen not in own or chosen in reported or ratio >= READABLE:
                continue
            reported.add(chosen)
            darker = (theme == "light") == (name == chosen)
            yield Problem(
                "CFG014",
                file,
                f"{name} and {ground} ({colour}) are too similar on {theme} pages",
                ("colours", chosen, theme),
                expected=f"a contrast of {READABLE} or more",
                got=f"{ratio:.1f}",
                hint=f"choose a {'darker' if darker else 'lighter'} {chosen}",
            )
