"""Stage normalize: the columns of a file get their identities; what is no URL is counted [C2]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sitemon_spider.core.columns import Listing, UrlColumns
from sitemon_spider.core.lastmod import moments
from sitemon_spider.core.reasons import Stage
from sitemon_spider.core.records import Skipped
from sitemon_spider.core.urls import normalize
from sitemon_spider.items import SitemapFile

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitemon_spider.run import MonitorRun


class NormalizePipeline:
    """SitemapFile with `locs` and `lastmods` in, the same with `urls` out, each URL once."""

    def __init__(self, run: MonitorRun) -> None:
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NormalizePipeline:
        """Build it with the spider's run."""
        return cls(crawler.spider.run)  # type: ignore[union-attr]

    def process_item(self, item: Any) -> Any:
        """Normalize a file's columns; every other item passes."""
        if isinstance(item, SitemapFile) and item.locs is not None:
            self._normalize(item)
        return item

    def _normalize(self, file: SitemapFile) -> None:
        assert file.locs is not None
        assert file.lastmods is not None
        normal = normalize(file.locs, file.final_url or file.url)
        lastmods = file.lastmods
        if normal.valid is not None:
            lastmods = lastmods.filter(pa.array(normal.valid))
        columns = UrlColumns(normal.locs, lastmods, Listing(normal.keys, moments(lastmods)))
        file.urls = columns.once_each()
        file.read_rows = len(file.urls)
        self.run.totals["duplicates"] += len(columns) - len(file.urls)
        self.run.totals["invalid"] += len(normal.invalid)
        for loc, reason in normal.invalid:
            file.notes[reason] += 1
            self.run.skip(Skipped(loc, file.site, Stage.URL, reason, None, file.url))
        file.locs = file.lastmods = None
