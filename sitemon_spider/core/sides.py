"""What was told and what is read now, side by side: the listings of all URLs of interest.

A URL is of interest when a file's listing of it came, went or changed, or when something is owed
for it. All others are the same on both sides, and no array is made for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemon_spider.core.columns import (
    NOTHING,
    Listing,
    concat_listings,
    distinct,
    latest_rows,
    member,
    places,
)
from sitemon_spider.core.lastmod import Moments, differs, moments
from sitemon_spider.core.snapshot import NOTHING_OWED, READER, Owed, read_table
from sitemon_spider.core.urls import identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sitemon_spider.core.columns import Keys, Rows
    from sitemon_spider.core.reading import SiteReading
    from sitemon_spider.core.snapshot import FileEntry, Segments, Snapshot

OWED_SOURCE = 0
"""The source number of the owed table; segments are numbered from 1."""

ALL_ROWS = np.iinfo(np.int64).max
"""More rows than any file has."""


@dataclass(frozen=True, slots=True)
class Side:
    """Listings, a row each: the key, the file (a number), the moment, and where its text stands."""

    keys: Keys
    files: npt.NDArray[np.int32]
    moments: Moments
    sources: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Rows) -> Side:
        """The side of some rows, in the order given."""
        return Side(
            self.keys[rows],
            self.files[rows],
            self.moments.take(rows),
            self.sources[rows],
            self.rows[rows],
        )

    @classmethod
    def of(cls, listing: Listing, rows: Rows, file: int, source: int) -> Side:
        """Some rows of one file's listing."""
        count = len(rows)
        return cls(
            listing.keys[rows],
            np.full(count, file, np.int32),
            listing.moments.take(rows),
            np.full(count, source, np.int32),
            rows.astype(np.int64),
        )

    @classmethod
    def concat(cls, parts: list[Side]) -> Side:
        """The rows of all parts."""
        parts = [*parts, cls.of(NOTHING, np.empty(0, np.intp), 0, 0)]
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.files for part in parts]),
            Moments.concat([part.moments for part in parts]),
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.rows for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file whose listing was read anew: how many URLs are dated on both sides, and changed.

    Only what was read in this run counts, not what is carried behind a cut.
    """

    file: int
    dated: int
    changed: int
    read: Listing


@dataclass(slots=True)
class Sides:
    """Told and read for the keys of interest, and what the guards have to know of the files.

    `addresses` numbers the files in the order of their addresses, so that nothing depends on the
    order in which they were read. `had` counts the URLs told of each file, `seen` how many of its
    rows this run knows to stand: all where it was read in full, none where it was not read.
    """

    addresses: list[str]
    told: Side
    read: Side
    had: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    anew: list[FileChange]
    owed: pa.Table
    owed_by_reason: dict[str, Keys]
    _layout: _Layout

    def text(self, column: str, side: Side) -> pa.ChunkedArray[Any]:
        """A column of the segments (loc, lastmod, first_seen) for the rows of a side."""
        return self._layout.texts.column(column, side)

    def same_urls(self, told: Side, read: Side) -> npt.NDArray[np.bool_]:
        """Where two row-aligned sides show one URL by its text [C2], and not by its key alone."""
        one, other = self.text("loc", told), self.text("loc", read)
        same = np.array(pc.equal(one, other).to_numpy(zero_copy_only=False), bool)
        rows = np.flatnonzero(~same)
        pairs = zip(one.take(rows).to_pylist(), other.take(rows).to_pylist(), strict=True)
        same[rows] = [identity(str(a)) == identity(str(b)) for a, b in pairs]
        return same

    def unaltered(self, left_out: npt.NDArray[np.bool_]) -> Listing:
        """Every URL seen that is not of interest, once, with its latest moment; files left out."""
        return self._layout.unaltered(left_out)

    def owed_keys(self, *reasons: str) -> Keys:
        """The keys owed for one of some reasons."""
        return np.unique(
            np.concatenate([self.owed_by_reason.get(r, NOTHING.keys) for r in reasons])
        )


def lay_out(
    previous: Snapshot | None,
    reading: SiteReading,
    entries: dict[str, FileEntry],
    segments: Segments,
) -> Sides:
    """Gather both sides. Raises SnapshotError when a stored segment is missing or broken."""
    return _Layout(previous, reading, entries, segments).sides()


TEXT_COLUMNS = ["loc", "lastmod", "first_seen"]
KEPT_ROWS = 100_000
"""How many rows' texts are kept at hand; of older ones the segment is read again."""


@dataclass(slots=True)
class _Texts:
    """The texts of the rows of interest: of each segment only these are kept at hand."""

    segments: Segments
    owed: pa.Table
    names: list[str] = field(default_factory=lambda: [""])
    _wanted: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)
    _open: dict[int, pa.Table] = field(default_factory=dict)

    def number(self, name: str) -> int:
        self.names.append(name)
        return len(self.names) - 1

    def want(self, side: Side) -> None:
        """Note the rows of a side as those whose texts may be asked for."""
        order = np.argsort(side.sources, kind="stable")
        for source, rows in _groups(side.sources[order], side.rows[order]):
            known = self._wanted.get(source)
            self._wanted[source] = np.unique(rows) if known is None else np.union1d(known, rows)

    def column(self, column: str, side: Side) -> pa.ChunkedArray[Any]:
        order = np.argsort(side.sources, kind="stable")
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        chunks = []
        for source, rows in _groups(side.sources[order], side.rows[order]):
            table = self._table(source)
            if source != OWED_SOURCE:
                rows = np.searchsorted(self._wanted[source], rows)  # noqa: PLW2901
            chunks.append(table.column(column).take(pa.array(rows, pa.int64())).combine_chunks())
        if not chunks:
            return pa.chunked_array([self.owed.column(column).combine_chunks().slice(0, 0)])
        return pa.chunked_array(chunks).take(pa.array(back, pa.int64()))

    def _table(self, source: int) -> pa.Table:
        if source == OWED_SOURCE:
            return self.owed
        if source not in self._open:
            while sum(table.num_rows for table in self._open.values()) > KEPT_ROWS:
                del self._open[next(iter(self._open))]
            table = read_table(self.segments, self.names[source], TEXT_COLUMNS)
            self._open[source] = table.take(pa.array(self._wanted[source], pa.int64()))
        return self._open[source]


def _groups(
    sorted_values: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    if not len(sorted_values):
        return
    starts = np.flatnonzero(np.append(True, sorted_values[1:] != sorted_values[:-1]))
    for start, end in zip(starts, [*starts[1:], len(sorted_values)], strict=True):
        yield int(sorted_values[start]), rows[start:end]


class _Layout:
    """The steps of `lay_out`, which share the numbering of files and sources."""

    def __init__(
        self,
        previous: Snapshot | None,
        reading: SiteReading,
        entries: dict[str, FileEntry],
        segments: Segments,
    ) -> None:
        self.previous = previous
        self.verdicts = reading.verdicts
        self.entries = entries
        self.owed = previous.owed if previous else NOTHING_OWED
        stored = previous.files if previous else {}
        owing = {file for file in self.owed.column("file").to_pylist() if file}
        self.addresses = sorted({*stored, *entries, *owing})
        self.number = {address: i for i, address in enumerate(self.addresses)}
        self.texts = _Texts(segments, self.owed)
        self.owed_keys = np.unique(self.owed.column("key").to_numpy())
        self.had = np.zeros(len(self.addresses), np.int64)
        self.seen = np.array([self._rows_seen(a) for a in self.addresses], np.int64)
        self.interest = NOTHING.keys

    def sides(self) -> Sides:
        changed = [address for address in self.addresses if self._listing_changed(address)]
        stored = {address: self._stored(address) for address in changed}
        now = {address: self._read(address) for address in changed}
        self.interest, anew = self._interest(changed, stored, now)
        told: list[Side] = [self._owed_side()]
        read: list[Side] = []
        for address in self.addresses:
            self.had[self.number[address]] += self._rows_stored(address)
        if len(self.interest):
            for address in self.addresses:
                before = stored[address] if address in stored else self._stored(address)
                after = now.get(address, before)
                self._gather(address, before, after, told, read)
        told_side, read_side = Side.concat(told), Side.concat(read)
        self.texts.want(told_side)
        self.texts.want(read_side)
        return Sides(
            self.addresses,
            told_side,
            read_side,
            self.had,
            self.seen,
            anew,
            self.owed,
            _by_reason(self.owed),
            self,
        )

    def unaltered(self, left_out: npt.NDArray[np.bool_]) -> Listing:
        """See `Sides.unaltered`."""
        parts = []
        for address in self.addresses:
            rows = self.seen[self.number[address]]
            if rows and not left_out[self.number[address]]:
                listing = self._read(address)
                rest = ~member(listing.keys[:rows], self.interest)
                parts.append(listing.take(np.flatnonzero(rest)))
        together = concat_listings(parts)
        return together.take(latest_rows(together))

    def _gather(
        self,
        address: str,
        before: Listing,
        after: Listing,
        told: list[Side],
        read: list[Side],
    ) -> None:
        file = self.number[address]
        entry = self.previous.files.get(address) if self.previous else None
        rows = np.flatnonzero(member(before.keys, self.interest))
        owing = member(before.keys[rows], self.owed_keys)
        self.had[file] -= int(owing.sum())
        source = 0
        if len(rows):
            verdict = self.verdicts.get(address)
            anew = verdict is not None and before is verdict.listing
            name = verdict.segment if anew and verdict else entry.segment if entry else None
            source = self.texts.number(name or "")
            told.append(Side.of(before, rows[~owing], file, source))
        if after is before:
            if len(rows):
                read.append(Side.of(after, rows, file, source))
            return
        rows = np.flatnonzero(member(after.keys, self.interest))
        if len(rows):
            name = self.verdicts[address].segment or ""
            read.append(Side.of(after, rows, file, self.texts.number(name)))

    def _interest(
        self, changed: list[str], stored: dict[str, Listing], now: dict[str, Listing]
    ) -> tuple[Keys, list[FileChange]]:
        parts, anew = [self.owed_keys], []
        for address in changed:
            before, after = stored[address], now[address]
            before = before.take(np.flatnonzero(~member(before.keys, self.owed_keys)))
            j = places(before.keys, after.keys)
            stays = j >= 0
            i, j = np.flatnonzero(stays), j[stays]
            came = np.ones(len(after), bool)
            came[j] = False
            a, b = before.moments.take(i), after.moments.take(j)
            unequal = (a.instants != b.instants) | (a.forms != b.forms)
            seen = self.seen[self.number[address]]
            parts += [before.keys[i[unequal]], before.keys[~stays], after.keys[came]]
            if len(after):
                dated = int(((a.forms != 0) & (b.forms != 0) & (j < seen)).sum())
                count = int((differs(a, b) & (j < seen)).sum())
                read = after.take(np.arange(min(seen, len(after))))
                anew.append(FileChange(self.number[address], dated, count, read))
        return distinct(np.concatenate(parts)), anew

    def _listing_changed(self, address: str) -> bool:
        """Whether the file's stored listing and the one that counts now may differ."""
        stored = self.previous.files.get(address) if self.previous else None
        entry = self.entries.get(address)
        if stored is None or entry is None:
            return True
        verdict = self.verdicts[address]
        if verdict.listing is None:
            return entry.segment != stored.segment
        if verdict.digest is not None and verdict.digest == stored.digest:
            return False  # Same bytes under another reader number: differences are learnt [C11].
        return verdict.segment != stored.segment

    def _stored(self, address: str) -> Listing:
        verdict = self.verdicts.get(address)
        entry = self.previous.files.get(address) if self.previous else None
        if (
            verdict is not None
            and verdict.listing is not None
            and entry is not None
            and entry.reader != READER
            and verdict.digest == entry.digest
        ):
            return verdict.listing
        return self.previous.listing(address) if self.previous else NOTHING

    def _read(self, address: str) -> Listing:
        verdict, entry = self.verdicts.get(address), self.entries.get(address)
        if verdict is None or entry is None or entry.segment is None:
            return NOTHING
        if verdict.listing is not None:
            return verdict.listing
        return self.previous.listing(address) if self.previous else NOTHING

    def _rows_seen(self, address: str) -> int:
        """How many leading rows of the file's listing this run knows to stand."""
        verdict = self.verdicts.get(address)
        if verdict is None:
            return 0
        return ALL_ROWS if verdict.read_in_full else verdict.read_rows

    def _rows_stored(self, address: str) -> int:
        entry = self.previous.files.get(address) if self.previous else None
        return entry.rows if entry and entry.segment and not entry.gone else 0

    def _owed_side(self) -> Side:
        """The told listings that stand in the owed table."""
        files = self.owed.column("file").to_pylist()
        numbers = np.array([self.number[file] if file else -1 for file in files], np.int32)
        aged = np.array([r == Owed.AGED for r in self.owed.column("reason").to_pylist()], bool)
        rows = np.flatnonzero((numbers >= 0) & ~aged)
        np.add.at(self.had, numbers[rows], 1)
        return Side(
            self.owed.column("key").to_numpy()[rows],
            numbers[rows],
            moments(self.owed.column("lastmod")).take(rows),
            np.full(len(rows), OWED_SOURCE, np.int32),
            rows.astype(np.int64),
        )


def _by_reason(owed: pa.Table) -> dict[str, Keys]:
    keys = owed.column("key").to_numpy()
    reasons = np.array(owed.column("reason").to_pylist(), dtype=object)
    return {str(reason): np.unique(keys[reasons == reason]) for reason in set(reasons.tolist())}
