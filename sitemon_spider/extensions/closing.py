"""The end of a run: snapshots are committed when the feeds are whole, then records written."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage

from sitemon_spider import __version__
from sitemon_spider.core.reasons import Reason, Status, StopReason
from sitemon_spider.core.records import RunFacts, output, result_of, skipped_pages, summary
from sitemon_spider.core.report import unfinished_row
from sitemon_spider.middlewares.sitemap import SitemapMiddleware
from sitemon_spider.run import site_name

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

    from sitemon_spider.core.reading import SiteReading
    from sitemon_spider.run import MonitorRun

logger = logging.getLogger(__name__)


class Closing:
    """Commits and writes the records, synchronously, once the feeds are closed [D3].

    Scrapy ends the process without waiting for an asynchronous handler of `spider_closed` when a
    second stop arrives; the handler of `feed_exporter_closed` runs in one piece.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._endings: list[asyncio.Future[None]] = []
        self._accepted: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        self._closed: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Closing:
        """Build it and listen."""
        closing = cls(crawler)
        for handler, signal in {
            closing._item_scraped: signals.item_scraped,
            closing._slot_closed: signals.feed_slot_closed,
            closing._feeds_closed: signals.feed_exporter_closed,
            closing._spider_idle: signals.spider_idle,
            closing._spider_closed: signals.spider_closed,
        }.items():
            crawler.signals.connect(handler, signal)
        return closing

    @property
    def _run(self) -> MonitorRun:
        return self.crawler.spider.run  # type: ignore[union-attr,no-any-return]

    def _spider_idle(self) -> None:
        """Close only when every site has its row.

        A site may wait for an earlier input without any request [C16]. One that waits for nothing
        has lost a file to a fault of ours or of a user's component: it ends as failed.
        """
        admission = self.crawler.get_spider_middleware(SitemapMiddleware)
        if not self._run.readings:
            if self._run.stopped:
                raise CloseSpider(self._run.stopped)
            return
        if admission is None or not admission.waiting:
            for reading in list(self._run.readings.values()):
                self._end_lost(reading)
        raise DontCloseSpider

    def _end_lost(self, reading: SiteReading) -> None:
        """End a reading through the chain; where a component loses that too, without its row."""
        reason, detail = Reason.NETWORK, "a component of this run failed; see its log"
        if reading.fault == (reason, detail):
            run = self._run
            run.end(unfinished_row(reading, reason, detail, run.clock(), run.stopped), reading)
            return
        logger.error("%r lost a file; see the errors above", reading.target.key)
        reading.fault = (reason, detail)
        ending = self.crawler.engine.scraper.start_itemproc_async(reading, response=None)
        self._endings.append(asyncio.ensure_future(ending))

    # --- are the feeds whole? -------------------------------------------------------------------

    def _item_scraped(self, item: Any) -> None:
        for slot in self._slots():
            if slot.filter.accepts(item):
                self._accepted[slot.uri_template] += 1

    def _slot_closed(self, slot: FeedSlot) -> None:
        if isinstance(slot.storage, FileFeedStorage):
            # A snapshot must not outlive a power cut that its rows did not [D2].
            handle = os.open(slot.storage.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._written[slot.uri_template] += slot.itemcount
        self._closed.add(slot.uri)

    def _slots(self) -> list[FeedSlot]:
        """The open slots of the feeds."""
        exporter = self.crawler.get_extension(FeedExporter)
        return exporter.slots if exporter else []

    def _feed_fault(self) -> str | None:
        """Why the rows cannot be taken for delivered, or None [D3]."""
        if self._run.sink is not None and self._run.sink.durable:
            return None
        exporter = self.crawler.get_extension(FeedExporter)
        if exporter is None:
            return "no feed could be set up; see FEEDS, -o or -O"
        if exporter.feeds.keys() != {slot.uri_template for slot in exporter.slots}:
            return "a feed could not be opened"
        failed = [
            name for name in self.crawler.stats.get_stats() if name.startswith("feedexport/failed")
        ]
        if failed:
            return "a feed could not be stored"
        for feed, accepted in self._accepted.items():
            if self._written[feed] != accepted:
                return f"a feed has {self._written[feed]} of {accepted} rows"
        # Scrapy stores an empty feed, but never an empty batch behind the first.
        due = [s for s in exporter.slots if s.itemcount or (s.store_empty and s.batch_id == 1)]
        return None if {slot.uri for slot in due} <= self._closed else "a feed was not closed"

    # --- the end --------------------------------------------------------------------------------

    def _feeds_closed(self) -> None:
        self._close(self._feed_fault())

    def _spider_closed(self, spider: Spider, reason: str) -> None:
        if self.crawler.get_extension(FeedExporter) is None:
            self._close(self._feed_fault())

    def _close(self, fault: str | None) -> None:
        run = self._run
        if run.closed:
            return
        run.closed = True
        self._end_open()
        if fault is None:
            try:
                run.commit()
            except OSError as error:
                fault = f"{Reason.STORE_FAILED.sentence} ({error})"
        else:
            fault = f"{Reason.FEED_FAILED.sentence} ({fault})"
        if fault is not None:
            logger.error("%s", fault)
        facts = self._facts(fault)
        self.crawler.stats.set_value("sitemon/result", str(result_of(facts)))
        self._count(facts)
        try:
            self._write(facts)
        except OSError as error:
            logger.error("The run's records could not be written: %s", error)
        run.release()

    def _end_open(self) -> None:
        """Sites that a forced end left open have no row, but they stand in the records."""
        run = self._run
        run.stopped = run.stopped or (StopReason.ABORTED if run.busy else None)
        for reading in list(run.readings.values()):
            row = unfinished_row(reading, Reason.STOPPED, None, run.clock(), run.stopped)
            run.end(row, reading)

    def _facts(self, fault: str | None) -> RunFacts:
        run = self._run
        return RunFacts(
            run_id=run.run_id,
            version=__version__,
            user_agent=self.crawler.settings["USER_AGENT"],
            started=run.started,
            finished=run.clock(),
            stop_reason=run.stopped,
            feed_failed=fault,
            options=run.options.record(),
            ends=sorted(run.ends, key=lambda end: run.order.get(end.row.site, -1)),
            hosts=run.hosts,
            skipped=run.skipped,
            totals=run.totals,
        )

    def _count(self, facts: RunFacts) -> None:
        stats = self.crawler.stats
        for name, count in facts.totals.items():
            stats.set_value(f"sitemon/{name}", count)
        for status in Status:
            count = sum(end.row.status == status for end in facts.ends)
            stats.set_value(f"sitemon/sites/{status}", count)

    def _write(self, facts: RunFacts) -> None:
        run = self._run
        for end in facts.ends:
            if end.reading is not None and run.tracks:
                run.append_history(site_name(end.row.site), end.row)
        run.store.put_record(run.run_id, "OUTPUT.json", output(facts))
        for name, page in skipped_pages(facts):
            run.store.put_record(run.run_id, name, page)
        place = run.store.put_record(run.run_id, "SUMMARY.md", summary(facts))
        logger.info("Run %s; summary in %s", result_of(facts), place)
        run.store.drop_old_runs()
