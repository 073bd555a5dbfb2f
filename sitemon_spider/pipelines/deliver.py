"""Stage deliver: a prefix of the rows reaches the sink; the next snapshot records it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from sitemon_spider.core.changes import SiteChanges, advance
from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.report import site_row, unfinished_row, urls_found
from sitemon_spider.core.snapshot import SnapshotError
from sitemon_spider.core.urlrows import url_rows
from sitemon_spider.run import PendingCommit, SiteSegments, site_name

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

    Delivery is a prefix of the ordered rows [D1]; the commit records exactly that prefix [D2].
    """

    def __init__(self, run: MonitorRun, sink: Sink) -> None:
        self.run = run
        self.sink = sink

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DeliverPipeline:
        """Build it with the spider's run and the sink that `SITEMON_SINK` names."""
        sink = load_object(crawler.settings["SITEMON_SINK"]).from_crawler(crawler)
        return cls(crawler.spider.run, sink)  # type: ignore[union-attr]

    async def process_item(self, item: Any) -> Any:
        """Deliver a site's changes; every other item passes."""
        return await self._deliver(item) if isinstance(item, SiteChanges) else item

    async def _deliver(self, changes: SiteChanges) -> SiteRow:
        run, reading = self.run, changes.reading
        try:
            delivered, urls = await self._send(changes)
            if run.tracks:
                self._save(changes, delivered)
        except SnapshotError as error:
            reason, detail = error.reason, str(error)
        except OSError as error:
            reason, detail = Reason.STORE_FAILED, str(error)
        else:
            row = site_row(changes, delivered, urls, run.clock(), run.stopped, tracked=run.tracks)
            return run.end(row, reading)
        return run.end(unfinished_row(reading, reason, detail, run.clock(), run.stopped), reading)

    async def _send(self, changes: SiteChanges) -> tuple[int, int]:
        """Send changes, then url rows: how many of each were delivered."""
        run, total, delivered = self.run, len(changes.plan), 0
        while run.tracks and delivered < total and not run.stopped:
            rows = changes.rows(delivered, min(delivered + CHUNK, total))
            accepted = await self._chunk(rows)
            delivered += accepted
            if accepted < len(rows):
                return delivered, 0
        urls = 0
        if run.options.output_mode == "changes_only" or delivered < total:
            return delivered, urls
        segments = SiteSegments(run.store, site_name(changes.reading.target.key))
        for page in url_rows(changes, segments, run.policy(), run.clock(), CHUNK):
            most = run.options.max_urls
            rest = page[: most - run.urls_pushed] if most else page
            if run.stopped:
                changes.url_rows_cut = True
                break
            accepted = await self._chunk(rest)
            urls += accepted
            run.urls_pushed += accepted
            if accepted < len(page):
                changes.max_rows = accepted == len(rest)
                changes.url_rows_cut = not changes.max_rows
                break
        return delivered, urls

    async def _chunk(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        accepted = await self.sink.deliver(rows)
        if self.sink.full is not None:
            self.run.stop(self.sink.full)
        return accepted

    def _save(self, changes: SiteChanges, delivered: int) -> None:
        """Store what the commit needs; it follows when the rows are durable [D3]."""
        run, key = self.run, changes.reading.target.key
        segments = SiteSegments(run.store, site_name(key))
        commit = advance(changes, delivered, run.run_id, segments, urls_found(changes))
        for name, data in commit.segments.items():
            run.store.put_segment(site_name(key), name, data)
        previous = changes.previous.manifest if changes.previous else None
        run.ledger.append(PendingCommit(key, commit.manifest, previous))
        if self.sink.durable:
            run.commit()
