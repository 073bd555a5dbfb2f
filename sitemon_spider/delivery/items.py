"""Rows re-enter as Scrapy items: they pass the user's pipelines and reach the feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from sitemon_spider.core.prepared import Prepared
    from sitemon_spider.core.reasons import StopReason
    from sitemon_spider.items import ChangeRow, UrlRow


class ItemSink:
    """The sink of a laptop and of Scrapyd: a row is durable when its feed is closed [D3].

    A row that a user's pipeline drops was delivered to that pipeline; one that makes it fail was
    not, and ends the delivery of its site.
    """

    durable = False
    full: StopReason | None = None

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._failed: list[Any] = []
        crawler.signals.connect(self._item_error, signals.item_error)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ItemSink:
        """Build it for a crawl."""
        return cls(crawler)

    def position(self) -> dict[str, Any] | None:
        return None

    async def arrived(self, position: dict[str, Any] | None, prepared: Prepared) -> int | None:
        return None

    async def deliver(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        """Send each row through the item pipelines, in order, up to one that fails there."""
        scraper = self.crawler.engine.scraper
        for count, row in enumerate(rows):
            await scraper.start_itemproc_async(row, response=None)
            if self._failed and any(failed is row for failed in self._failed):
                return count
        return len(rows)

    def _item_error(self, item: Any) -> None:
        self._failed.append(item)
