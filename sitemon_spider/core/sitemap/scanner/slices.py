"""Slices of a document as columns of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]
    Lengths = npt.NDArray[np.int32]
    Mask = npt.NDArray[np.bool_]

_REFERENCE: Final = re.compile(rb"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_NAMED: Final = {b"amp": "&", b"lt": "<", b"gt": ">", b"quot": '"', b"apos": "'"}
_SECTION: Final = re.compile(rb"<!\[CDATA\[([^<>]*)\]\]>")
_LAST_BLANK: Final = 0x20
_BEYOND_ASCII: Final = 0x80
_MOST_BLANKS: Final = 64


@dataclass(frozen=True, slots=True)
class Slices:
    """Stretches of a document from `starts` to before `ends`, in order and apart from each other.

    `rows` are the entries that they belong to; `sectioned` says which hold CDATA.
    """

    starts: Positions
    ends: Positions
    rows: Positions
    sectioned: Mask

    def __len__(self) -> int:
        return len(self.starts)

    def filter(self, mask: Mask) -> Slices:
        """The slices of a mask."""
        return Slices(self.starts[mask], self.ends[mask], self.rows[mask], self.sectioned[mask])

    @staticmethod
    def concat(parts: list[Slices]) -> Slices:
        """All slices of all parts."""
        return Slices(
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.sectioned for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Escapes:
    """Where a document's characters stand for others.

    `ampersands` are the positions of every `&`, those in CDATA too, `others` those of what is not
    decoded as `&amp;` is: of `&` that begin another reference, and of CR (XML 1.0 §2.11).
    """

    ampersands: Positions
    others: Positions

    @staticmethod
    def concat(parts: list[Escapes]) -> Escapes:
        """All escapes of all parts."""
        return Escapes(
            np.concatenate([part.ampersands for part in parts]),
            np.concatenate([part.others for part in parts]),
        )


def lengths(values: pa.StringArray) -> Lengths:
    """The bytes of each text."""
    return cast("Lengths", pc.binary_length(values).to_numpy())


def within(positions: Positions, starts: Positions, ends: Positions) -> Positions:
    """For each position the row whose slice holds it, or -1."""
    if not len(starts):
        return np.full(len(positions), -1)
    rows = np.searchsorted(starts, positions, "right") - 1
    rows[positions >= ends[rows]] = -1
    return rows


def is_reference(document: bytes, position: int) -> bool:
    """Whether an ampersand begins a reference that XML knows, to a character that it allows."""
    found = _REFERENCE.match(document, position)
    return found is not None and (found[1] is not None or _is_character(_code(found)))


def _code(reference: re.Match[bytes]) -> int:
    return int(reference[2]) if reference[2] else int(reference[3], 16)


def _is_character(code: int) -> bool:
    """XML 1.0 §2.2, Char."""
    return (
        code in {0x9, 0xA, 0xD}
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )


def column(values: pa.StringArray, rows: Positions, count: int) -> pa.StringArray:
    """A column of `count` rows with the values at theirs; null elsewhere and for empty ones."""
    sources = np.full(count, -1)
    sources[rows] = np.where(lengths(values) > 0, np.arange(len(values)), -1)
    return values.take(pa.array(sources, mask=sources < 0))


def texts(document: bytes, slices: Slices, escapes: Escapes) -> pa.StringArray:
    """The trimmed character data of slices, row-aligned."""
    content = np.frombuffer(document, np.uint8)
    starts, ends = slices.starts.copy(), slices.ends.copy()
    before = _trim(content, starts, ends, starts, 0, 1)
    after = _trim(content, starts, ends, ends, -1, -1)
    values = _gather(document, starts, ends)
    if max(content[starts].max(initial=0), content[ends - 1].max(initial=0)) >= _BEYOND_ASCII:
        values = pc.utf8_trim(values, characters=BLANKS)
    mask = _mask(len(values), within(escapes.ampersands, starts, ends))
    if mask.any():
        values = _replace(values, mask, pc.replace_substring(values.filter(mask), "&amp;", "&"))
    mask = slices.sectioned | _mask(
        len(values), within(escapes.others, starts, ends), before, after
    )
    if mask.any():
        raw = (document[starts[row] : ends[row]] for row in np.flatnonzero(mask))
        values = _replace(values, mask, pa.array(map(_text, raw), pa.string()))
    return values


def _gather(document: bytes, starts: Positions, ends: Positions) -> pa.StringArray:
    count = len(starts)
    if not count:
        return pa.array([], pa.string())
    offsets = np.empty(2 * count, np.int32)
    offsets[0::2], offsets[1::2] = starts, ends
    # Slices and what is between them, in turn, are one array over the document's own bytes.
    in_turn = pa.StringArray.from_buffers(
        2 * count - 1, pa.py_buffer(offsets.data), pa.py_buffer(document)
    )
    return in_turn.take(np.arange(0, 2 * count, 2))


def _trim(
    content: npt.NDArray[np.uint8],
    starts: Positions,
    ends: Positions,
    edge: Positions,
    offset: int,
    step: int,
) -> Positions:
    """Move one edge of the slices over ASCII blanks, in place; the rows with too many of them."""
    is_blank = content[edge + offset] <= _LAST_BLANK
    is_blank &= starts < ends
    rows = np.flatnonzero(is_blank)
    for _ in range(_MOST_BLANKS):
        if not len(rows):
            break
        edge[rows] += step
        rows = rows[starts[rows] < ends[rows]]
        rows = rows[content[edge[rows] + offset] <= _LAST_BLANK]
    return rows


def _mask(count: int, *rows: Positions) -> Mask:
    """Which rows are among those given; -1 is none."""
    mask = np.zeros(count + 1, np.bool_)
    for given in rows:
        mask[given] = True
    return mask[:count]


def _replace(values: pa.StringArray, mask: Mask, others: pa.StringArray) -> pa.StringArray:
    return cast("pa.StringArray", pc.replace_with_mask(values, pa.array(mask), others))


def _text(raw: bytes) -> str:
    """The text of one field: entities decoded, sections as they are."""
    parts = _SECTION.split(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    parts[0::2] = [_REFERENCE.sub(_character, part) for part in parts[0::2]]
    return b"".join(parts).decode().strip(BLANKS)


def _character(reference: re.Match[bytes]) -> bytes:
    name = reference[1]
    return (_NAMED[name] if name else chr(_code(reference))).encode()
