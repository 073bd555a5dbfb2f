"""Url rows: every listed URL once, a page of rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sitemon_spider.core.changes import wire_moment
from sitemon_spider.core.columns import concat_listings, latest_rows, read_listing
from sitemon_spider.core.filters import mask
from sitemon_spider.core.lastmod import iso, parse
from sitemon_spider.core.snapshot import read_table
from sitemon_spider.items import UrlRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sitemon_spider.core.changes import SiteChanges
    from sitemon_spider.core.diff import Policy
    from sitemon_spider.core.snapshot import Segments


def url_rows(
    changes: SiteChanges, segments: Segments, policy: Policy, now: datetime, size: int
) -> Iterator[list[UrlRow]]:
    """Pages of at most `size` rows: the URLs of the files read in this run, in the files' order.

    A URL listed more than once is shown where its lastmod is the latest [C3]. What the page
    filters leave out is counted in `changes.filtered` [C13].
    """
    files = [
        (verdict, entry.segment)
        for address, verdict in sorted(changes.reading.verdicts.items())
        if verdict.read_rows and (entry := changes.entries.get(address)) and entry.segment
    ]
    listings = []
    for verdict, name in files:
        listing = verdict.listing or read_listing(read_table(segments, name))
        listings.append(listing.take(np.arange(verdict.read_rows)))
    shown = np.zeros(sum(len(listing) for listing in listings), bool)
    shown[latest_rows(concat_listings(listings))] = True
    scraped, start = wire_moment(now), 0
    for (verdict, name), listing in zip(files, listings, strict=True):
        table = read_table(segments, name).slice(0, len(listing))
        locs: Any = table.column("loc").combine_chunks()
        kept = mask(locs, policy.include, policy.exclude)
        mine = shown[start : start + len(listing)]
        start += len(listing)
        changes.filtered_urls += int((mine & ~kept).sum())
        rows = np.flatnonzero(mine & kept)
        for first in range(0, len(rows), size):
            page = table.take(pa.array(rows[first : first + size], pa.int64()))
            texts: zip[tuple[Any, Any]] = zip(
                page.column("loc").to_pylist(), page.column("lastmod").to_pylist(), strict=True
            )
            yield [
                UrlRow(
                    site=changes.reading.target.key,
                    url=loc,
                    lastmod=lastmod,
                    lastmodIso=iso(moment) if (moment := parse(lastmod)) else None,
                    sitemap=verdict.node.url,
                    discoveredVia=verdict.node.via,
                    scrapedAt=scraped,
                )
                for loc, lastmod in texts
            ]
