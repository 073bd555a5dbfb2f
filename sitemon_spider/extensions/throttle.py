"""Politeness: AutoThrottle with a floor for each host that nothing lowers [R3]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.extensions.throttle import AutoThrottle

from sitemon_spider.core.reasons import Reason
from sitemon_spider.middlewares.gate import Refused

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


LEAST_DELAY = 0.001
"""Seconds that make a slot wait for its turn at all."""


class FloorThrottle(AutoThrottle):
    """Slow answers raise a host's delay; `delayPerHost` and Crawl-delay are its floor.

    Slots are dropped after a minute without requests, so the floor, one request at a time and no
    jitter (which would reach below the floor) are set anew with every request.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self._reached, signals.request_reached_downloader)
        crawler.spider.run.when_stopped(self._let_go)  # type: ignore[union-attr]

    def _reached(self, request: Request) -> None:
        self._floor(request)

    def _let_go(self) -> None:
        """After a stop nobody waits for a host's turn."""
        for slot in self.crawler.engine.downloader.slots.values():
            while slot.queue:
                _, answer = slot.queue.popleft()
                answer.errback(Refused(Reason.STOPPED))

    def _response_downloaded(self, response: Response, request: Request, spider: Spider) -> None:
        super()._response_downloaded(response, request, spider)
        self._floor(request)

    def _floor(self, request: Request) -> None:
        key = request.meta.get("download_slot", "")
        slot = self.crawler.engine.downloader.slots.get(key)
        if slot is not None:
            run = self.crawler.spider.run  # type: ignore[union-attr]
            if run.stopped:
                slot.close()  # Its timer: what comes now is refused by the handler at once.
                slot.delay = 0.0
                return
            # Without any delay Scrapy sends what is queued for a slot at once, whatever its
            # concurrency: a task marks the slot as transferring only when it runs.
            slot.delay = max(slot.delay, self.mindelay, run.floors.get(key, 0.0), LEAST_DELAY)
            slot.jitter = 0.0
            slot.concurrency = 1
