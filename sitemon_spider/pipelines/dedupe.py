"""Stage dedupe: files fold into the site's reading; its text goes to a segment, its keys stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scrapy.exceptions import DropItem

from sitemon_spider.core.columns import (
    UrlColumns,
    encode,
    first_seen_of,
    read_listing,
    segment_name,
)
from sitemon_spider.core.reasons import Outcome, Reason
from sitemon_spider.core.sides import member
from sitemon_spider.core.snapshot import SnapshotError, milliseconds
from sitemon_spider.core.urls import identity
from sitemon_spider.items import SitemapFile
from sitemon_spider.run import site_name

if TYPE_CHECKING:
    import numpy.typing as npt
    from scrapy.crawler import Crawler

    from sitemon_spider.core.columns import Keys
    from sitemon_spider.core.reading import SiteReading
    from sitemon_spider.run import MonitorRun


class Absorbed(DropItem):
    """A file went into its site's reading; the reading travels on when its last file came."""

    def __init__(self, file: SitemapFile) -> None:
        super().__init__(f"absorbed {file.url!r}", log_level="DEBUG")


class DedupePipeline:
    """SitemapFile in; `Absorbed` while others are awaited, the SiteReading with the last one."""

    def __init__(self, run: MonitorRun) -> None:
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DedupePipeline:
        """Build it with the spider's run."""
        return cls(crawler.spider.run)  # type: ignore[union-attr]

    def process_item(self, item: Any) -> Any:
        """Absorb a file; every other item passes."""
        if not isinstance(item, SitemapFile):
            return item
        reading = self.run.readings[item.site]
        try:
            self._fold(item, reading)
        except SnapshotError as error:
            reading.fault = (error.reason, str(error))
        except OSError as error:
            reading.fault = (Reason.STORE_FAILED, str(error))
        self.run.totals[f"files/{item.outcome}"] += 1
        if reading.absorb(item):
            return reading
        raise Absorbed(item)

    def _fold(self, file: SitemapFile, reading: SiteReading) -> None:
        address = identity(file.url)
        if file.outcome is Outcome.UNCHANGED:
            entry = reading.previous.files[address] if reading.previous else None
            rows = entry.rows if entry else 0
            file.read_rows = reading.room_for(rows, lambda: self._stored_keys(reading, address))
        elif file.urls is not None:
            keys = file.urls.listing.keys
            room = reading.room_for(len(keys), lambda: keys)
            if room < len(keys):
                file.urls = file.urls.take(np.arange(room))
                file.outcome, file.reason = Outcome.CUT, Reason.MAX_URLS
            file.read_rows = room
            self._store(file, file.urls, reading, address)

    def _stored_keys(self, reading: SiteReading, address: str) -> Keys:
        assert reading.previous is not None
        return reading.previous.keys(address)

    def _store(
        self, file: SitemapFile, urls: UrlColumns, reading: SiteReading, address: str
    ) -> None:
        """Write the file's segment; a cut file carries the stored URLs behind its cut [C5]."""
        table = urls.segment(np.full(len(urls), milliseconds(reading.now), np.int64))
        entry = reading.previous.files.get(address) if reading.previous else None
        if reading.previous is not None and entry and entry.segment and not entry.gone:
            stored = reading.previous.table(entry.segment)
            keys = reading.previous.keys(address)
            seen = _carry_first_seen(urls.listing.keys, keys, first_seen_of(stored), table)
            table = urls.segment(seen)
            if file.outcome is Outcome.CUT:
                behind = stored.filter(pa.array(~member(keys, np.unique(urls.listing.keys))))
                table = pa.concat_tables([table, behind])
                locs: Any = pa.concat_arrays(table.column("loc").chunks)
                lastmods: Any = pa.concat_arrays(table.column("lastmod").chunks)
                file.urls = UrlColumns(locs, lastmods, read_listing(table))
        data = encode(table)
        file.segment = segment_name(data)
        self.run.store.put_segment(site_name(reading.target.key), file.segment, data)


def _carry_first_seen(
    keys: Keys, stored_keys: Keys, stored_seen: npt.NDArray[np.int64], table: pa.Table
) -> npt.NDArray[np.int64]:
    """Since when each row's URL is known in this file; the others are new here."""
    seen = first_seen_of(table).copy()
    order = np.argsort(stored_keys)
    known = member(keys, stored_keys[order])
    at = np.searchsorted(stored_keys[order], keys[known])
    seen[known] = stored_seen[order][at]
    return seen
