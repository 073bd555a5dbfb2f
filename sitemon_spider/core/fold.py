"""Fold: a read file goes into its site's reading; its text goes to a segment, its keys stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sitemon_spider.core.columns import (
    UrlColumns,
    encode,
    first_seen_of,
    member,
    places,
    read_listing,
    segment_name,
)
from sitemon_spider.core.reasons import Outcome, Reason
from sitemon_spider.core.snapshot import milliseconds
from sitemon_spider.core.urls import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemon_spider.core.columns import Keys
    from sitemon_spider.core.reading import SiteReading
    from sitemon_spider.items import SitemapFile


def fold(file: SitemapFile, reading: SiteReading, put: Callable[[str, bytes], None]) -> None:
    """Count a file's rows under the limit of URLs and store what was read, before `absorb`.

    Enters: a file whose `urls` are normalized, each once; `put` stores a segment by its name.
    Leaves: the file with its segment, cut at the limit [C10]; a cut file carries the stored URLs
    behind its cut [C5]. Raises SnapshotError when a stored segment is missing or broken, and what
    `put` raises.
    """
    address = identity(file.url)
    if file.outcome is Outcome.UNCHANGED:
        entry = reading.previous.files[address] if reading.previous else None
        rows = entry.rows if entry else 0
        file.read_rows = reading.room_for(rows, lambda: _stored_keys(reading, address))
    elif file.urls is not None:
        keys = file.urls.listing.keys
        room = reading.room_for(len(keys), lambda: keys)
        if room < len(keys):
            file.urls = file.urls.take(np.arange(room))
            file.outcome, file.reason = Outcome.CUT, Reason.MAX_URLS
        file.read_rows = room
        _store(file, file.urls, reading, put)


def _stored_keys(reading: SiteReading, address: str) -> Keys:
    assert reading.previous is not None
    return reading.previous.keys(address)


def _store(
    file: SitemapFile,
    urls: UrlColumns,
    reading: SiteReading,
    put: Callable[[str, bytes], None],
) -> None:
    """Write the file's segment; a cut file carries the stored URLs behind its cut [C5]."""
    address = identity(file.url)
    seen = np.full(len(urls), milliseconds(reading.now), np.int64)
    entry = reading.previous.files.get(address) if reading.previous else None
    if reading.previous is None or entry is None or entry.segment is None or entry.gone:
        table = urls.segment(seen)
    else:
        stored_keys = reading.previous.keys(address)
        at = places(urls.listing.keys, stored_keys)
        since = first_seen_of(reading.previous.table(entry.segment, ["first_seen"]))
        seen[at >= 0] = since[at[at >= 0]]
        table = urls.segment(seen)
        if file.outcome is Outcome.CUT:
            stored = reading.previous.table(entry.segment)
            listed = member(stored_keys, np.unique(urls.listing.keys))
            table = pa.concat_tables([table, stored.filter(pa.array(~listed))])
            locs: Any = pa.concat_arrays(table.column("loc").chunks)
            lastmods: Any = pa.concat_arrays(table.column("lastmod").chunks)
            file.urls = UrlColumns(locs, lastmods, read_listing(table))
    data = encode(table)
    file.segment = segment_name(data)
    put(file.segment, data)
