"""The engine of a crawl, whose end waits until every site of the run has its row [D4]."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler

from sitemon_spider.core.reasons import StopReason

if TYPE_CHECKING:
    from sitemon_spider.run import MonitorRun

DRAIN = 10.0
"""Seconds that open readings have to end after a stop; what is open then is cut off [D4]."""

POLL = 0.02

STOPS = {"closespider_timeout": StopReason.TIME_LIMIT}
"""What Scrapy's reasons for closing a spider mean to a run; any other one aborts it."""


class MonitorEngine(ExecutionEngine):
    """Stops the run before it closes the spider, and closes it once.

    Scrapy's engine drops what is queued when it is stopped, so readings would stay open for ever;
    and it does not wait for an end under way when a second stop arrives, so feeds would stay open.
    """

    _end: asyncio.Future[None] | None = None

    async def stop_async(self) -> None:
        """End the run as aborted, if it has not ended, and the engine."""
        await self._drain(StopReason.ABORTED)
        await super().stop_async()

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        """End the run and close the spider; a further call waits for the first one."""
        if self._end is None:
            self._end = asyncio.ensure_future(self._close(reason))
        await asyncio.shield(self._end)

    async def _close(self, reason: str) -> None:
        await self._drain(STOPS.get(reason, StopReason.ABORTED))
        # Scrapy's scraper, once it is closing, does not notice the end of an item that no response
        # brought: a row from `start` in an asynchronous pipeline would keep it open for ever.
        slot = self.scraper.slot
        while slot is not None and not slot.is_idle():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(POLL)
        await super().close_spider_async(reason=reason)

    async def _drain(self, reason: StopReason) -> None:
        """Stop the run and wait for its readings; those that take too long are cut off."""
        run = _run_of(self.crawler)
        if run is None or not run.busy:
            return
        run.stop(reason)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DRAIN
        while self.running and run.busy and loop.time() < deadline:  # noqa: ASYNC110 - as below
            await asyncio.sleep(POLL)
        for reading in run.cut_off():
            await self.scraper.start_itemproc_async(reading, response=None)


class MonitorCrawler(Crawler):
    """A crawler with that engine; a stop that comes before the engine runs is not lost."""

    async def stop_async(self) -> None:
        """Stop the crawl; returns when it has ended."""
        run = _run_of(self)
        if run is None or run.closed or (self._engine is not None and self._engine.running):
            await super().stop_async()
            return
        run.stop(StopReason.ABORTED)
        while self.crawling and not run.closed:  # noqa: ASYNC110 - nobody tells of both
            await asyncio.sleep(POLL)

    def _create_engine(self) -> ExecutionEngine:
        return MonitorEngine(self, lambda _: self.stop_async())


def _run_of(crawler: Crawler) -> MonitorRun | None:
    return getattr(crawler.spider, "run", None)
