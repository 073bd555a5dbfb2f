"""Admission: a sitemap file's children become requests; and of two equal inputs one is read."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from sitemon_spider.core.reading import SETTLING
from sitemon_spider.core.urls import InvalidUrl, identity
from sitemon_spider.items import SitemapFile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemon_spider.core.reading import Node, SiteReading
    from sitemon_spider.run import MonitorRun

WAIT_FOR_EARLIER = 10.0
"""Seconds that a site's children wait for earlier inputs that may turn out to be the same [C16]."""


class SitemapMiddleware:
    """Spider middleware: each file is admitted before it travels on, then its requests follow.

    Scrapy does not send an errback's output through spider middlewares, so the spider calls
    `follow` for files that could not be read (an index that fails keeps its stored children).
    """

    def __init__(self, crawler: Crawler, run: MonitorRun) -> None:
        self.crawler = crawler
        self.run = run
        self._parked: dict[str, list[Node]] = {}
        self._settled: dict[str, frozenset[str]] = {}
        self._going: set[str] = set()
        self._entering: list[asyncio.Future[None]] = []
        run.when_stopped(self._release_all)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapMiddleware:
        """Build it with the spider's run."""
        return cls(crawler, crawler.spider.run)  # type: ignore[union-attr]

    async def process_spider_output(
        self, response: Any, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Let everything pass; behind each file the requests that it leads to."""
        async for item in result:
            requests = self.follow(item) if isinstance(item, SitemapFile) else []
            yield item
            for request in requests:
                yield request

    def follow(self, file: SitemapFile) -> list[Request]:
        """Admit a file into its site's reading: the requests for what it leads to."""
        reading = self.run.readings.get(file.site)
        if reading is None:
            return []  # A stop cut it off.
        nodes = reading.admit(file)
        key = reading.target.key
        if key in self._settled:
            return self._requests(reading, nodes)
        with contextlib.suppress(InvalidUrl):
            reading.note_final(identity(file.url), identity(file.final_url or file.url))
        self._parked.setdefault(key, []).extend(node for node in nodes if node.depth)
        answered = {identity(file.url)}
        if not any(
            node.depth == 0 and address in reading.frontier and address not in answered
            for address, node in reading.nodes.items()
        ):
            self._settle(reading)
        return self._requests(reading, [node for node in nodes if not node.depth])

    @property
    def waiting(self) -> bool:
        """Whether a site waits for an earlier input, by a timer and without any request."""
        return any(key in self._settled for key in self._parked)

    # --- of two equal inputs one is read [C16] --------------------------------------------------

    def _settle(self, reading: SiteReading) -> None:
        """All roots are answered: go on now, or when the earlier inputs are answered too."""
        key = reading.target.key
        self._settled[key] = frozenset(reading.finals.values())
        if self._earlier_open(key) and not self.run.stopped:
            asyncio.get_running_loop().call_later(WAIT_FOR_EARLIER, self._release, key)
        else:
            self._release(key)
        for waiting in [k for k in self._parked if k != key and not self._earlier_open(k)]:
            if waiting in self._settled:
                self._release(waiting)

    def _earlier_open(self, key: str) -> bool:
        """Whether an input before this one is still looking for its roots."""
        place = self.run.order[key]
        return any(
            self.run.order[other] < place and other not in self._settled
            for other in self.run.readings
        )

    def _release_all(self) -> None:
        """After a stop no site waits for another."""
        for key in list(self._parked):
            if key in self._settled:
                self._release(key)

    def _release(self, key: str) -> None:
        """Request what waited, or skip the site because an earlier input is the same."""
        nodes = self._parked.pop(key, None)
        reading = self.run.readings.get(key)
        if nodes is None or reading is None:
            return
        mine, place = self._settled[key], self.run.order[key]
        same = [
            other
            for other, finals in self._settled.items()
            if finals == mine and mine and (self.run.order[other] < place or other in self._going)
        ]
        if same:
            reading.duplicate_of = min(same, key=self.run.order.__getitem__)
            for node in nodes:
                reading.frontier.discard(node.address)
            nodes = []
        else:
            self._going.add(key)
        reading.frontier.discard(SETTLING)
        engine = self.crawler.engine
        for request in self._requests(reading, nodes):
            engine.crawl(request)
        if not reading.frontier:
            # Its files were absorbed while it waited: the reading itself enters the chain.
            entering = engine.scraper.start_itemproc_async(reading, response=None)
            self._entering.append(asyncio.ensure_future(entering))

    def _requests(self, reading: SiteReading, nodes: Iterable[Node]) -> list[Request]:
        spider = self.crawler.spider
        assert spider is not None
        return [spider.request(reading, node) for node in nodes]  # type: ignore[attr-defined]
