"""What the reading of one sitemap file yields: columns, children, a verdict, or why it is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemon_spider.core.sitemap.metadata import NO_METADATA, MetadataRows

if TYPE_CHECKING:
    from sitemon_spider.core.reasons import Kind, Reason

MAX_ENTRIES: Final = 50_000  # in one file (sitemaps.org)
LOC_LENGTH: Final = 2_048  # characters a loc must be shorter than (sitemaps.org)
_BATCH: Final = 1 << 14  # rows that are Python objects at once


@dataclass(frozen=True, slots=True)
class ParsedSitemap:
    """What one file lists.

    `locs` (never null, never empty) are the URL entries' addresses as written: entities decoded,
    blanks trimmed [C2], relative ones not yet resolved. `lastmods`, row-aligned, are the texts as
    written, null where there is none. `children` are the files a sitemap index lists, in order and
    with duplicates. `cut` is the reason why entries may be missing. `notes` counts repairs and
    oddities by code. `metadata` is row-aligned too (its columns: METADATA), None if not asked for.
    """

    kind: Kind
    locs: pa.StringArray
    lastmods: pa.StringArray
    children: tuple[str, ...] = ()
    cut: Reason | None = None
    notes: Counter[str] = field(default_factory=Counter)
    metadata: pa.Table | None = None


class NotASitemap(ValueError):  # noqa: N818  # the name says what the file is
    """The bytes are no sitemap in any known form; `reason` says what they are instead."""

    def __init__(self, reason: Reason, notes: Counter[str] | None = None) -> None:
        super().__init__(reason.sentence)
        self.reason = reason
        self.notes: Counter[str] = Counter() if notes is None else notes


class Rows:
    """The columns of a file while it is read: appended to a row at a time, packed by batches.

    `locs` and `lastmods` are the open batch, `metadata` that of what else is wanted, if anything;
    whoever appends to them calls `pack` when `len(locs)` reaches `batch`. `lost` counts entries
    that are there but could not be read whole, `news` the rows with a `news:news` child.
    """

    __slots__ = (
        "_packed",
        "batch",
        "children",
        "lastmods",
        "locs",
        "lost",
        "metadata",
        "news",
        "notes",
    )

    def __init__(self, notes: Counter[str], *, metadata: bool = False) -> None:
        self.batch = _BATCH
        self.locs: list[str] = []
        self.lastmods: list[str | None] = []
        self.metadata = MetadataRows() if metadata else None
        self.children: list[str] = []
        self.lost = self.news = 0
        self.notes = notes
        self._packed: list[tuple[pa.StringArray, pa.StringArray, pa.Table | None]] = []

    def __len__(self) -> int:
        return len(self.locs) + sum(len(locs) for locs, _, _ in self._packed)

    def note(self, code: str, count: int = 1) -> None:
        """Count an oddity, if there is any."""
        if count:
            self.notes[code] += count

    def pack(self) -> None:
        """Turn the open batch into arrays."""
        locs, lastmods = pa.array(self.locs, pa.string()), pa.array(self.lastmods, pa.string())
        self._packed.append((locs, lastmods, self.metadata.pack() if self.metadata else None))
        self.locs.clear()
        self.lastmods.clear()

    def add(
        self,
        locs: pa.StringArray,
        lastmods: pa.StringArray,
        metadata: pa.Table | None,
        news: int,
    ) -> None:
        """Append rows that are columns already, `news` of them with a `news:news` child."""
        self._packed.append((locs, lastmods, metadata))
        self.news += news

    def append(self, loc: str, lastmod: str | None = None) -> None:
        """Append a row of which nothing else is known."""
        self.locs.append(loc)
        self.lastmods.append(lastmod)
        if self.metadata:
            self.metadata.append(NO_METADATA)
        if len(self.locs) == self.batch:
            self.pack()

    def parsed(self, kind: Kind, cut: Reason | None) -> ParsedSitemap:
        """All rows as columns."""
        self.pack()
        locs = pa.concat_arrays([locs for locs, _, _ in self._packed])
        lastmods = pa.concat_arrays([lastmods for _, lastmods, _ in self._packed])
        self.note("loc_too_long", _too_long(locs))
        self.note("too_many_entries", max(len(locs), len(self.children)) > MAX_ENTRIES)
        return ParsedSitemap(
            kind, locs, lastmods, tuple(self.children), cut, self.notes, self._all_metadata()
        )

    def _all_metadata(self) -> pa.Table | None:
        if self.metadata is None:
            return None
        tables = [table for _, _, table in self._packed if table is not None]
        return pa.concat_tables(tables).combine_chunks()


def _too_long(locs: pa.StringArray) -> int:
    if pc.binary_length(locs).to_numpy().max(initial=0) < LOC_LENGTH:
        return 0  # no text has fewer bytes than characters
    return int(np.count_nonzero(pc.utf8_length(locs).to_numpy() >= LOC_LENGTH))
