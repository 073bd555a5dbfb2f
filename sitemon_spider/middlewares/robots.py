"""robots.txt of every origin contacted, once a run: it forbids, and it sets the host's pace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.robots import Robots, read_robots
from sitemon_spider.core.unpack import unpack
from sitemon_spider.core.urls import origin
from sitemon_spider.middlewares.faults import fault_of
from sitemon_spider.middlewares.gate import Refused
from sitemon_spider.resolver import PrivateAddressError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitemon_spider.run import MonitorRun

ROBOTS_LIMIT = 1024 * 1024
"""Bytes transferred of a robots.txt; what is read of them is 500 KiB [R1]."""


class RobotsResponse(Response):
    """The answer to a site's request for its robots.txt: read once, whoever asks."""

    robots: Robots


class RobotsMiddleware:
    """Refuses what robots.txt forbids, on every host contacted [R1] [R2].

    The stock middleware reads any status as rules; here 4xx means no rules, 5xx and no answer mean
    everything is forbidden. A request for robots.txt itself with `meta["robots_node"]` is
    answered with the `RobotsResponse` of its origin.
    """

    def __init__(self, crawler: Crawler, run: MonitorRun) -> None:
        self.crawler = crawler
        self.run = run
        self._read: dict[str, asyncio.Task[Robots]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsMiddleware:
        """Build it with the spider's run."""
        return cls(crawler, crawler.spider.run)  # type: ignore[union-attr]

    async def process_request(self, request: Request) -> Response | None:
        """Answer a site's robots request, refuse a forbidden one, let the others pass."""
        if request.meta.get("robots_fetch"):
            return None
        is_node = request.meta.get("robots_node", False)
        if not is_node and not self.run.options.respect_robots_txt:
            return None
        robots = await self._robots(origin(request.url))
        if is_node:
            response = RobotsResponse(request.url, request=request)
            response.robots = robots
            return response
        if robots.verdict == "unreachable":
            raise Refused(Reason.ROBOTS_UNREACHABLE)
        if not robots.allows(request.url):
            raise Refused(Reason.ROBOTS_DISALLOWED)
        return None

    async def _robots(self, site: str) -> Robots:
        """The robots.txt of an origin, requested when first needed.

        Raises Refused when it may not be requested at all (a stop, a private address).
        """
        if site not in self._read:
            self._read[site] = asyncio.ensure_future(self._fetch(site))
        return await asyncio.shield(self._read[site])

    async def _fetch(self, site: str) -> Robots:
        request = Request(
            f"{site}/robots.txt",
            meta={"robots_fetch": True, "download_limit": ROBOTS_LIMIT},
            dont_filter=True,
        )
        try:
            response = await self.crawler.engine.download_async(request)
        except Refused:
            raise
        except PrivateAddressError:
            raise Refused(Reason.PRIVATE_ADDRESS) from None
        except Exception as error:  # noqa: BLE001 - whatever broke, the origin is unreachable [R1]
            robots = read_robots(None, b"", request.url)
            self.run.host(site).fault = fault_of(error)[0].sentence
        else:
            kind = (response.headers.get("Content-Type") or b"").decode("latin-1")
            body = unpack(response.body, ROBOTS_LIMIT).data
            robots = read_robots(response.status, body, response.url, content_type=kind)
            if robots.verdict == "unreachable":
                self.run.host(site).fault = f"HTTP {response.status}"
        self.run.host(site).robots = robots
        self.run.totals["robots_files"] += 1
        self.run.count_notes(robots.notes)
        if robots.crawl_delay and self.run.options.respect_robots_txt:
            slot = self.crawler.engine.downloader.get_slot_key(Request(request.url))
            self.run.floors[slot] = max(self.run.floors.get(slot, 0), robots.crawl_delay)
        return robots
