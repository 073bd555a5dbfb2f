"""Retries: transient faults only, with backoff, jitter and the server's own Retry-After."""

from __future__ import annotations

import asyncio
import random
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)

from sitemon_spider.core.urls import origin

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemon_spider.run import MonitorRun

TRANSIENT_STATUS = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that may well differ a moment later (SPEC `maxRetries`)."""

TRANSIENT_ERRORS = (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    OSError,
)

LONGEST_RETRY_AFTER = 120.0
"""Seconds that a Retry-After is honoured (RFC 9110 §10.2.3); a longer one fails the file now."""

FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 60.0


class RetryMiddleware:
    """Requests a file again after a passing fault, `maxRetries` times at most.

    The wait doubles with each attempt and is spread by up to a half, so that many failed files do
    not come back at once. A cut transfer is a network fault too; its last attempt is handed on as
    it came, because the entries before the cut can be trusted.
    """

    def __init__(self, crawler: Crawler, run: MonitorRun) -> None:
        self.crawler = crawler
        self.run = run
        self.most = run.options.max_retries
        self.first = crawler.settings.getfloat("SITEMON_FIRST_BACKOFF", FIRST_BACKOFF)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RetryMiddleware:
        """Build it with the spider's run."""
        return cls(crawler, crawler.spider.run)  # type: ignore[union-attr]

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Retry a transient status or a cut transfer."""
        if response.status in TRANSIENT_STATUS:
            asked = retry_after(response.headers.get("Retry-After"), self.run)
            if asked is not None and asked > LONGEST_RETRY_AFTER:
                return response
            return await self._again(request, asked) or response
        if "dataloss" in response.flags:
            return await self._again(request, None) or response
        return response

    async def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Retry a network fault."""
        if isinstance(exception, TRANSIENT_ERRORS):
            return await self._again(request, None)
        return None

    async def _again(self, request: Request, asked: float | None) -> Request | None:
        attempt = request.meta.get("attempt", 0)
        if attempt >= self.most or self.run.stopped:
            return None
        self.run.totals["retries"] += 1
        backoff = min(self.first * 2**attempt, LONGEST_BACKOFF)
        backoff *= random.uniform(1, 1.5)  # noqa: S311 - jitter needs no secrecy
        if asked:
            self._hold_host(request, asked)
        await self.run.pause(max(backoff, asked or 0.0))
        again = request.replace(dont_filter=True)
        again.meta["attempt"] = attempt + 1
        return again

    def _hold_host(self, request: Request, asked: float) -> None:
        """The server speaks for the host, not for this file alone: what is queued waits too."""
        resume_at = asyncio.get_running_loop().time() + asked
        host = self.run.host(origin(request.url))
        host.resume_at = max(host.resume_at, resume_at)
        slot = self.crawler.engine.downloader.slots.get(request.meta.get("download_slot", ""))
        if slot is not None:
            slot.lastseen = max(slot.lastseen, resume_at)


def retry_after(value: bytes | None, run: MonitorRun) -> float | None:
    """Seconds to wait as the server asks: a number or an HTTP date (RFC 9110 §10.2.3)."""
    if value is None:
        return None
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
        return max((moment - run.clock()).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
