"""Rows re-enter as Scrapy items: they pass the user's pipelines and reach the feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from sitemon_spider.core.prepared import Prepared
    from sitemon_spider.core.reasons import StopReason
    from sitemon_spider.items import ChangeRow, UrlRow


class ItemSink:
    """The sink of a laptop and of Scrapyd: a row is durable when its feed is closed [D3]."""

    durable = False
    full: StopReason | None = None

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ItemSink:
        """Build it for a crawl."""
        return cls(crawler)

    def position(self) -> dict[str, Any] | None:
        return None

    def arrived(self, position: dict[str, Any] | None, prepared: Prepared) -> int | None:
        return None

    async def deliver(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        """Send each row through the item pipelines, in order."""
        scraper = self.crawler.engine.scraper
        for row in rows:
            await scraper.start_itemproc_async(row, response=None)
        return len(rows)
