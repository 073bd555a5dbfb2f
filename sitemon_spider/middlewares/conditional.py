"""Conditional requests: validators from the snapshot; a 304 makes a file unchanged [C11]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemon_spider.core.urls import InvalidUrl, identity

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemon_spider.core.snapshot import FileEntry
    from sitemon_spider.run import MonitorRun


CONDITIONS = ("If-None-Match", "If-Modified-Since")
"""The headers that make a request conditional (RFC 9110 §13.1)."""


class ConditionalMiddleware:
    """Sends If-None-Match and If-Modified-Since for files whose stored form may be used again.

    A 304 counts only for the address whose validators were sent (RFC 9110 §13.1): another one
    behind a changed redirect is asked again without conditions.
    """

    def __init__(self, run: MonitorRun) -> None:
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ConditionalMiddleware:
        """Build it with the spider's run."""
        return cls(crawler.spider.run)  # type: ignore[union-attr]

    def process_request(self, request: Request) -> None:
        """Add the stored validators."""
        entry = self._entry(request)
        if entry is None or request.meta.get("unconditional"):
            return
        if entry.etag:
            request.headers["If-None-Match"] = entry.etag
        if entry.last_modified:
            request.headers["If-Modified-Since"] = entry.last_modified

    def process_response(self, request: Request, response: Response) -> Response | Request:
        """Pass a 304 that answers what is stored; ask again for any other."""
        if response.status != 304 or not any(name in request.headers for name in CONDITIONS):
            return response
        entry = self._entry(request)
        if entry is not None and (entry.etag or entry.last_modified):
            try:
                if identity(request.url) == identity(entry.final_url or entry.url):
                    return response
            except InvalidUrl:
                pass
        again = request.replace(dont_filter=True)
        for name in CONDITIONS:
            again.headers.pop(name, None)
        again.meta["unconditional"] = True
        return again

    def _entry(self, request: Request) -> FileEntry | None:
        reading = self.run.readings.get(request.cb_kwargs.get("site", ""))
        if reading is None or reading.previous is None:
            return None
        entry = reading.previous.files.get(request.cb_kwargs.get("address", ""))
        return entry if entry is not None and entry.reusable else None
