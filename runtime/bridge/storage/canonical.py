"""The one form in which numbers and text are stored, so that both back-ends keep the same bytes.

And the frame that a sample belongs to, which must not depend on the back-end either.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import WIDE, Frames, Numbers, Samples
from runtime.bridge.storage.errors import BadFrames

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def text(value: str) -> str:
    """NFC, without NUL and without halves of surrogate pairs."""
    whole = value.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return unicodedata.normalize("NFC", whole)


def number(name: str, value: float) -> float | None:
    """NaN is null and -0.0 is 0.0. Raises `BadFrames` for infinities."""
    if value != value:
        return None
    if value in (np.inf, -np.inf):
        raise BadFrames(f"{name} is infinite")
    return value + 0.0


def row(given: R) -> R:
    """A record with its texts and numbers in canonical form; an empty optional text is null."""
    changed: dict[str, object] = {}
    for field in fields(given):
        value = getattr(given, field.name)
        if isinstance(value, str):
            plain = text(value)
            changed[field.name] = None if not plain and field.default is None else plain
        elif isinstance(value, float):
            changed[field.name] = number(field.name, value)
        elif isinstance(value, tuple):
            changed[field.name] = tuple(text(item) for item in value)
    return replace(given, **changed)


def matrix(frames: Frames) -> Numbers:
    """The frames as rows of `WIDE`, a column a frame; NaN is null and -0.0 is 0.0.

    Raises `BadFrames` for infinities, a timestamp that is no number, columns that are missing or
    differ in length.
    """
    columns = frames.columns
    try:
        numbers = np.concatenate([columns[name] for name in WIDE]).reshape(len(WIDE), -1)
        if any(len(columns[name]) != numbers.shape[1] for name in WIDE):
            raise ValueError
    except KeyError as error:
        raise BadFrames(f"the column {error.args[0]} is missing") from error
    except ValueError as error:
        raise BadFrames("the columns of the frames differ in length") from error
    numbers += 0.0
    infinite = np.isinf(numbers)
    if infinite.any():
        column = int(np.argmax(infinite.any(axis=1)))
        raise BadFrames(f"{WIDE[column]} holds an infinite number")
    if np.isnan(numbers[0]).any():
        raise BadFrames(f"{WIDE[0]} holds something that is no number")
    return numbers


def samples(name: str, given: Samples) -> Samples:
    """By time, each time once: of equal times the later sample wins. Raises `BadFrames`."""
    t = np.asarray(given.t, np.float64) + 0.0
    value = np.asarray(given.value, np.float64) + 0.0
    if t.shape != value.shape or t.ndim != 1:
        raise BadFrames(f"times and values of {name} differ in length")
    if not (np.isfinite(t).all() and np.isfinite(value).all()):
        raise BadFrames(f"{name} holds something that is no finite number")
    if len(t) > 1 and not (np.diff(t) > 0).all():
        order = np.argsort(t, kind="stable")
        t, value = t[order], value[order]
        last = np.append(np.diff(t) > 0, True)
        t, value = t[last], value[last]
    return Samples(t, value)


def signals(given: Mapping[str, Samples]) -> dict[str, Samples]:
    """The signals under their canonical names, without those that have no sample.

    Where two names become one the later samples win. Raises `BadFrames`.
    """
    named: dict[str, Samples] = {}
    for name, values in given.items():
        plain = text(name)
        if not plain:
            raise BadFrames("a signal has no name")
        if not len(values.t):
            continue
        if plain in named:
            values = Samples(*map(np.concatenate, zip(named[plain], values, strict=True)))
        named[plain] = samples(plain, values)
    return named


def empty_cells(
    numbers: Numbers, name: str, given: Samples
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The frames (rows of `WIDE`) whose empty cells samples of a wide column fill, and by which."""
    at = nearest(numbers[0], given.t)
    fits = at >= 0
    fits[fits] = np.isnan(numbers[WIDE.index(name), at[fits]])
    return at[fits], fits


def nearest(frames: Numbers, t: Numbers) -> npt.NDArray[np.int64]:
    """For each of *t* the index of the nearest of *frames* (s, in any order); -1: none is near.

    Near is half a nominal period, which is the median of the positive steps between frames. Of two
    samples at one frame the first one has it.
    """
    found = np.full(len(t), -1, np.int64)
    steps = np.diff(frames)
    steps = steps[steps > 0]
    if not len(frames) or not len(t):
        return found
    reach = float(np.median(steps)) / 2.0 if len(steps) else 0.0
    order = np.argsort(frames, kind="stable")
    ordered = frames[order]
    right = np.clip(np.searchsorted(ordered, t), 0, len(ordered) - 1)
    left = np.maximum(right - 1, 0)
    closer = np.where(np.abs(ordered[left] - t) <= np.abs(ordered[right] - t), left, right)
    # A hair more than half, since a sample in the middle of two frames is near to one of them.
    near = np.abs(ordered[closer] - t) <= reach * (1 + 1e-9)
    found[near] = order[closer[near]]
    taken, first = np.unique(found, return_index=True)
    alone = np.full(len(t), -1, np.int64)
    alone[first] = taken
    return alone
