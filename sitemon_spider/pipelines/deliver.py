"""Stage deliver: a prefix of the rows reaches the sink; the next snapshot records it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from sitemon_spider.core.changes import SiteChanges
from sitemon_spider.core.prepared import Prepared, prepare
from sitemon_spider.core.reasons import Reason, Status, StopReason
from sitemon_spider.core.report import sentence, site_row, unfinished_row, urls_found
from sitemon_spider.core.snapshot import SnapshotError
from sitemon_spider.core.urlrows import url_rows
from sitemon_spider.run import SiteSegments, site_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from sitemon_spider.delivery.port import Sink
    from sitemon_spider.items import ChangeRow, SiteRow, UrlRow
    from sitemon_spider.run import MonitorRun

CHUNK = 500
"""Rows handed to the sink at once."""


class DeliverPipeline:
    """SiteChanges in, the site's rows to the sink, its SiteRow out; rows pass untouched.

    Prepare, deliver, commit [D2]: before the first row goes out, what it takes to record any prefix
    of them is durable; the commit records exactly the prefix that was delivered [D1].
    """

    def __init__(self, run: MonitorRun, sink: Sink) -> None:
        self.run = run
        self.sink = sink

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DeliverPipeline:
        """Build it with the spider's run and the sink that `SITEMON_SINK` names."""
        run: MonitorRun = crawler.spider.run  # type: ignore[union-attr]
        sink = load_object(crawler.settings["SITEMON_SINK"]).from_crawler(crawler)
        run.sink = sink
        return cls(run, sink)

    async def process_item(self, item: Any) -> Any:
        """Deliver a site's changes; every other item passes."""
        return await self._deliver(item) if isinstance(item, SiteChanges) else item

    async def _deliver(self, changes: SiteChanges) -> SiteRow:
        run, reading, prepared = self.run, changes.reading, None
        try:
            if run.tracks:
                prepared = self._prepare(changes)
                await run.snapshots.flush(site_name(reading.target.key))
        except (SnapshotError, OSError) as error:
            reason, detail = _fault(error)
            row = unfinished_row(reading, reason, detail, run.clock(), run.stopped)
            return run.end(row, reading)
        fault = None
        try:
            await self._send(changes)
            if prepared is not None:
                run.settle(prepared, changes, changes.delivered)
                await run.snapshots.flush(site_name(reading.target.key))
        except (SnapshotError, OSError) as error:
            fault = _fault(error)
        row = site_row(changes, run.clock(), run.stopped, tracked=run.tracks)
        if not run.tracks and 0 < run.options.max_urls <= run.urls_pushed:
            run.stop(StopReason.MAX_ROWS)  # Nobody would see what is requested from here on.
        if fault is not None:
            row.status, row.errorType, row.error = Status.PARTIAL, fault[0], sentence(*fault)
        return run.end(row, reading)

    def _prepare(self, changes: SiteChanges) -> Prepared:
        """Store the new segments and, when there are rows to deliver, the prepared record."""
        run, name = self.run, site_name(changes.reading.target.key)
        segments = SiteSegments(run.snapshots, name)
        prepared, stored = prepare(changes, run.run_id, segments, urls_found(changes))
        for segment, data in stored.items():
            run.snapshots.put_segment(name, segment, data)
        if len(changes.plan):
            run.keep_prepared(name, prepared, self.sink.position())
        return prepared

    async def _send(self, changes: SiteChanges) -> None:
        """Send changes, then url rows; counts in `changes` how many of each were delivered."""
        run, total = self.run, len(changes.plan)
        while run.tracks and changes.delivered < total and not run.stopped:
            rows = changes.rows(changes.delivered, min(changes.delivered + CHUNK, total))
            accepted = await self._chunk(rows)
            changes.delivered += accepted
            if accepted < len(rows):
                return
        if run.options.output_mode == "changes_only" or changes.delivered < total:
            return
        segments = SiteSegments(run.snapshots, site_name(changes.reading.target.key))
        for page in url_rows(changes, segments, run.policy(), run.clock(), CHUNK):
            most = run.options.max_urls
            rest = page[: most - run.urls_pushed] if most else page
            if run.stopped:
                changes.url_rows_cut = True
                break
            accepted = await self._chunk(rest)
            changes.delivered_urls += accepted
            run.urls_pushed += accepted
            if accepted < len(page):
                changes.max_rows = accepted == len(rest)
                changes.url_rows_cut = not changes.max_rows
                break

    async def _chunk(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        accepted = await self.sink.deliver(rows)
        if self.sink.full is not None:
            self.run.stop(self.sink.full)
        return accepted


def _fault(error: SnapshotError | OSError) -> tuple[Reason, str]:
    reason = error.reason if isinstance(error, SnapshotError) else Reason.STORE_FAILED
    return reason, str(error)
