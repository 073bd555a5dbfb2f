"""Stage dedupe: files fold into the site's reading; its text goes to a segment, its keys stay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem

from sitemon_spider.core.fold import fold
from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.snapshot import SnapshotError
from sitemon_spider.items import SitemapFile
from sitemon_spider.run import site_name

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

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
        reading = self.run.readings.get(item.site)
        if reading is None:
            raise Absorbed(item)  # A stop cut its site off.
        try:
            fold(item, reading, partial(self.run.snapshots.put_segment, site_name(item.site)))
        except SnapshotError as error:
            reading.fault = (error.reason, str(error))
        except OSError as error:
            reading.fault = (Reason.STORE_FAILED, str(error))
        self.run.totals[f"files/{item.outcome}"] += 1
        if item.kind is not Kind.ROBOTS:
            self.run.count_notes(item.notes)
        if reading.absorb(item):
            return reading
        raise Absorbed(item)
