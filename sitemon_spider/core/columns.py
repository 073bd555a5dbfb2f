"""Columns of URLs: what one sitemap file lists, as Arrow and numpy arrays, and their Parquet form.

No Python object is made per URL: a file of 50,000 URLs is a handful of arrays (ARCHITECTURE §1).
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from sitemon_spider.core.lastmod import Moments, latest_order, moments

if TYPE_CHECKING:
    import numpy.typing as npt

    Keys = npt.NDArray[np.uint64]
    Rows = npt.NDArray[np.intp]

SEGMENT_FIELDS: list[pa.Field[Any]] = [
    pa.field("key", pa.uint64(), nullable=False),
    pa.field("loc", pa.string(), nullable=False),
    pa.field("lastmod", pa.string()),
    pa.field("first_seen", pa.timestamp("ms", tz="UTC"), nullable=False),
]
SEGMENT_SCHEMA = pa.schema(SEGMENT_FIELDS)
"""One segment: the URLs of one sitemap file, in the file's order, each key once.

`key` is the xxh3-64 of the URL's identity [C2], `loc` the URL as listed, `lastmod` its text.
"""


@dataclass(frozen=True, slots=True)
class Listing:
    """Which URLs a file lists and when they changed last: 18 bytes a URL, no text."""

    keys: Keys
    moments: Moments

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Rows) -> Listing:
        """The listing of some rows, in the order given."""
        return Listing(self.keys[rows], self.moments.take(rows))


NOTHING = Listing(np.empty(0, np.uint64), moments(pa.array([], pa.string())))


@dataclass(frozen=True, slots=True)
class UrlColumns:
    """The URLs of one file, row-aligned: locs as listed, lastmod texts, and their listing."""

    locs: pa.StringArray
    lastmods: pa.StringArray
    listing: Listing

    def __len__(self) -> int:
        return len(self.locs)

    def take(self, rows: Rows) -> UrlColumns:
        """The columns of some rows, in the order given."""
        indices = pa.array(rows, pa.int64())
        return UrlColumns(
            self.locs.take(indices), self.lastmods.take(indices), self.listing.take(rows)
        )

    def once_each(self) -> UrlColumns:
        """Each URL once, with the latest readable lastmod; of equal ones the first row [C3]."""
        rows = latest_rows(self.listing)
        return self if len(rows) == len(self) else self.take(np.sort(rows))

    def segment(self, first_seen: npt.NDArray[np.int64]) -> pa.Table:
        """The table of a segment; `first_seen` in milliseconds since 1970, row-aligned."""
        seen = pa.array(first_seen, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
        return pa.table(
            [pa.array(self.listing.keys), self.locs, self.lastmods, seen], schema=SEGMENT_SCHEMA
        )


def latest_rows(listing: Listing) -> Rows:
    """One row a distinct key, in key order: the latest moment, then the finer, then the first.

    [C3]: a URL listed more than once counts once, with the latest readable lastmod.
    """
    count = len(listing)
    order = np.argsort(listing.keys, kind="stable")
    keys = listing.keys[order]
    if count < 2 or not (keys[1:] == keys[:-1]).any():
        return np.asarray(order)
    by_moment = latest_order(listing.moments)
    order = np.lexsort((-np.arange(count), by_moment, listing.keys))
    keys = listing.keys[order]
    return np.asarray(order[np.append(keys[1:] != keys[:-1], True)])


def distinct(keys: Keys) -> Keys:
    """The distinct keys, sorted. numpy's own hashes first, which costs more for random keys."""
    ordered = np.sort(keys)
    first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.asarray(ordered[first])


def concat_listings(parts: list[Listing]) -> Listing:
    """The rows of all parts, in order."""
    parts = [*parts, NOTHING]
    return Listing(
        np.concatenate([part.keys for part in parts]),
        Moments.concat([part.moments for part in parts]),
    )


def read_listing(table: pa.Table) -> Listing:
    """The listing of a segment's table."""
    return Listing(
        table.column("key").to_numpy(zero_copy_only=False), moments(table.column("lastmod"))
    )


def first_seen_of(table: pa.Table) -> npt.NDArray[np.int64]:
    """The column `first_seen` in milliseconds since 1970."""
    return table.column("first_seen").cast(pa.int64()).to_numpy(zero_copy_only=False)


REPEATING = ("lastmod", "first_seen", "file", "reason", "since", "change")
"""Columns whose values repeat, so that a dictionary makes them small."""


def encode(table: pa.Table) -> bytes:
    """A table as Parquet: zstd, a dictionary only where values repeat, no statistics."""
    out = BytesIO()
    pq.write_table(
        table,
        out,
        compression="zstd",
        compression_level=3,
        use_dictionary=[n for n in REPEATING if n in table.schema.names],  # type: ignore[arg-type]
        write_statistics=False,
        store_schema=False,
    )
    return out.getvalue()


def decode(data: bytes | memoryview | pa.Buffer, columns: list[str] | None = None) -> pa.Table:
    """The table of `encode`'s bytes, whole or some of its columns.

    Raises pyarrow.ArrowInvalid or OSError on bytes that are not such a file.
    """
    return pq.read_table(pa.BufferReader(data), columns=columns, use_threads=False)


def segment_name(data: bytes, suffix: str = ".parquet") -> str:
    """The content address of a segment's bytes, as a file name."""
    return xxhash.xxh3_128_hexdigest(data) + suffix
