"""Columns of URLs: what one sitemap file lists, as Arrow and numpy arrays, and their Parquet form.

No Python object is made per URL: a file of 50,000 URLs is a handful of arrays (ARCHITECTURE §1).
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
        return self if len(rows) == len(self) else self.take(rows)

    def segment(self, first_seen: npt.NDArray[np.int64]) -> pa.Table:
        """The table of a segment; `first_seen` in milliseconds since 1970, row-aligned."""
        seen = pa.array(first_seen, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
        return pa.table(
            [pa.array(self.listing.keys), self.locs, self.lastmods, seen], schema=SEGMENT_SCHEMA
        )


def latest_rows(listing: Listing) -> Rows:
    """One row a distinct key, ascending: the latest moment, then the finer, then the first.

    [C3]: a URL listed more than once counts once, with the latest readable lastmod.
    """
    ordered = np.sort(listing.keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return np.arange(len(listing))
    rows = np.flatnonzero(member(listing.keys, distinct(repeated)))
    keys = listing.keys[rows]
    order = np.lexsort((-rows, latest_order(listing.moments.take(rows)), keys))
    last = np.append(keys[order][1:] != keys[order][:-1], True)
    chosen = np.ones(len(listing), bool)
    chosen[rows[order[~last]]] = False
    return np.flatnonzero(chosen)


def member(keys: Keys, chosen: Keys) -> npt.NDArray[np.bool_]:
    """Where `keys` are among the sorted, distinct `chosen`."""
    if not len(chosen):
        return np.zeros(len(keys), bool)
    if len(keys) > len(chosen):
        # A hash table of the fewer costs less than a search for each of the many.
        found = pc.is_in(pa.array(keys), value_set=pa.array(chosen))
        return np.asarray(found.to_numpy(zero_copy_only=False), bool)
    at = np.searchsorted(chosen, keys)
    at[at == len(chosen)] = 0
    return np.asarray(chosen[at] == keys)


def places(keys: Keys, others: Keys) -> Rows:
    """Where each of `keys` stands in `others`, which has each key once; -1 where it does not."""
    found = pc.index_in(pa.array(keys), value_set=pa.array(others))
    return np.asarray(found.fill_null(-1).to_numpy(), np.intp)


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

DICTIONARY_LIMIT = 1 << 16
"""Bytes of a dictionary from which on the values hardly repeat, and are written as they are."""


def encode(table: pa.Table) -> bytes:
    """A table as Parquet: zstd, a dictionary only where values repeat, no statistics.

    Neighbours in a file share most of their address, so that only where they differ is written.
    """
    out, names = BytesIO(), table.schema.names
    pq.write_table(
        table,
        out,
        compression="zstd",
        compression_level=3,
        use_dictionary=[n for n in REPEATING if n in names],  # type: ignore[arg-type]
        dictionary_pagesize_limit=DICTIONARY_LIMIT,
        column_encoding={"loc": "DELTA_BYTE_ARRAY"} if "loc" in names else None,
        write_statistics=False,
        store_schema=False,
    )
    return out.getvalue()


def decode(data: bytes | memoryview | pa.Buffer, columns: list[str] | None = None) -> pa.Table:
    """The table of `encode`'s bytes, whole or some of its columns.

    Raises pyarrow.ArrowInvalid or OSError on bytes that are not such a file.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    return file.read(columns=columns, use_threads=False)


def segment_name(data: bytes, suffix: str = ".parquet") -> str:
    """The content address of a segment's bytes, as a file name."""
    return xxhash.xxh3_128_hexdigest(data) + suffix
