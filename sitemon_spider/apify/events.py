"""What the platform says to a run: abort, migrate, time is up; each ends it early and cleanly."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from apify import Actor, Event

from sitemon_spider.core.reasons import StopReason

if TYPE_CHECKING:
    from sitemon_spider.apify.sink import ApifySink
    from sitemon_spider.engine import MonitorCrawler

BEFORE_TIMEOUT = timedelta(seconds=60)
"""How long before the platform's time limit a run stops by itself."""


class PlatformEvents:
    """Stops the crawl: ABORTING, SIGTERM and SIGINT as aborted, the time limit as time-limit.

    MIGRATING closes the sink for good as well: this container is about to vanish, and the run goes
    on in another one, which sees what was delivered. `migrating` says so.
    """

    def __init__(self, crawler: MonitorCrawler, sink: ApifySink) -> None:
        self.crawler = crawler
        self.sink = sink
        self.migrating = False
        self._stopping: asyncio.Task[None] | None = None

    def listen(self) -> None:
        """Begin to listen; call it inside the running loop, before the crawl begins."""
        Actor.on(Event.ABORTING, self._aborting)
        Actor.on(Event.MIGRATING, self._migrating)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Twisted's own handler would stop the reactor under the bookkeeping.
            loop.add_signal_handler(number, self._aborting)
        timeout = Actor.configuration.timeout_at
        if timeout is not None:
            left = timeout.astimezone(UTC) - BEFORE_TIMEOUT - datetime.now(UTC)
            loop.call_later(max(left.total_seconds(), 0), self.stop, StopReason.TIME_LIMIT)

    def stop(self, reason: StopReason) -> None:
        """End the crawl early; the first reason stands [D4]."""
        run = getattr(self.crawler.spider, "run", None)
        if run is not None:
            run.stop(reason)
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self.crawler.stop_async())

    async def wait_to_be_moved(self) -> None:
        """Stay alive: the platform restarts a run that it killed, not one that ended by itself."""
        Actor.log.info("All is saved; waiting for the platform to move this run")
        await asyncio.Event().wait()

    def _aborting(self) -> None:
        self.stop(StopReason.ABORTED)

    def _migrating(self) -> None:
        self.migrating = self.sink.closed = True
        self.stop(StopReason.ABORTED)
