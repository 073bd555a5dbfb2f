"""Gate: refuses what must not be requested, and paces the run as a whole."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.targets import may_be_public
from sitemon_spider.core.urls import InvalidUrl, origin

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemon_spider.run import MonitorRun

DEFAULT_PORTS = {"http": 80, "https": 443}


class Refused(IgnoreRequest):
    """A request that is not sent, with its reason; the errback makes it the file's verdict."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.sentence)
        self.reason = reason


class GateMiddleware:
    """The first downloader middleware: every request passes here, also robots.txt and redirects.

    Refuses (`Refused`): after a stop of the run, beyond a site's limit, on ports and private
    addresses that are not allowed [S1]. Lets through `requestsPerSecond` requests a second.
    """

    def __init__(self, crawler: Crawler, run: MonitorRun) -> None:
        settings = crawler.settings
        self.run = run
        self.allow_private = settings.getbool("SITEMON_ALLOW_PRIVATE")
        self.ports = {int(port) for port in settings.getlist("SITEMON_PORTS")}
        self.interval = 1 / run.options.requests_per_second
        self._next = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GateMiddleware:
        """Build it with the spider's run."""
        return cls(crawler, crawler.spider.run)  # type: ignore[union-attr]

    async def process_request(self, request: Request) -> None:
        """Refuse the request or wait for its turn."""
        # A redirect copies the slot of the host that sent it here.
        request.meta.pop("download_slot", None)
        self._refuse(request)
        loop = asyncio.get_running_loop()
        await self.run.pause(self.run.host(origin(request.url)).resume_at - loop.time())
        turn = max(self._next, loop.time())
        self._next = turn + self.interval
        await self.run.pause(turn - loop.time())
        self._refuse(request)
        self.run.totals["requests"] += 1
        self.run.host(origin(request.url)).requests += 1

    def _refuse(self, request: Request) -> None:
        if self.run.stopped:
            raise Refused(Reason.STOPPED)
        reading = self.run.readings.get(request.cb_kwargs.get("site", ""))
        if reading is not None and reading.above_max_urls:
            raise Refused(Reason.MAX_URLS)
        parts = urlparse_cached(request)
        try:
            port = parts.port or DEFAULT_PORTS.get(parts.scheme)
            origin(request.url)
        except (InvalidUrl, ValueError):
            raise Refused(Reason.INVALID_ADDRESS) from None
        if parts.scheme not in DEFAULT_PORTS:
            raise Refused(Reason.INVALID_ADDRESS)
        if self.allow_private:
            return
        if port not in self.ports or not may_be_public(parts.hostname or ""):
            raise Refused(Reason.PRIVATE_ADDRESS)
