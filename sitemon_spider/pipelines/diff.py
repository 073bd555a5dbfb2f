"""Stage diff: a finished reading becomes the site's changes, or its row when there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemon_spider.core.diff import diff
from sitemon_spider.core.reading import SiteReading
from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.report import unfinished_row
from sitemon_spider.core.snapshot import SnapshotError, failures_only
from sitemon_spider.run import PendingCommit, SiteSegments, site_name

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitemon_spider.core.changes import SiteChanges
    from sitemon_spider.items import SiteRow
    from sitemon_spider.run import MonitorRun


class DiffPipeline:
    """SiteReading in; SiteChanges out, or the SiteRow of a reading that is not compared."""

    def __init__(self, run: MonitorRun) -> None:
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DiffPipeline:
        """Build it with the spider's run."""
        return cls(crawler.spider.run)  # type: ignore[union-attr]

    def process_item(self, item: Any) -> Any:
        """Compare a reading; every other item passes."""
        return self._compared(item) if isinstance(item, SiteReading) else item

    def _compared(self, reading: SiteReading) -> SiteChanges | SiteRow:
        reason, detail = self._obstacle(reading)
        if reason is None:
            try:
                segments = SiteSegments(self.run.snapshots, site_name(reading.target.key))
                return diff(reading.previous, reading, self.run.policy(), segments, reading.now)
            except SnapshotError as error:
                reason, detail = error.reason, str(error)
            except OSError as error:
                reason, detail = Reason.STORE_FAILED, str(error)
        row = unfinished_row(reading, reason, detail, self.run.clock(), self.run.stopped)
        if self.run.tracks and reason in {Reason.NO_SITEMAP, Reason.TOO_MANY_FAILED}:
            self._keep_failures(reading)
        return self.run.end(row, reading)

    def _obstacle(self, reading: SiteReading) -> tuple[Reason | None, str | None]:
        """Why a reading is neither compared nor saved."""
        if reading.duplicate_of is not None:
            return Reason.DUPLICATE_INPUT, f"the same sitemaps as {reading.duplicate_of}"
        if reading.fault is not None:
            return reading.fault
        if reading.cut_short:
            return Reason.STOPPED, None
        if not any(verdict.read_rows for verdict in reading.verdicts.values()):
            return Reason.NO_SITEMAP, None
        requested = [v for v in reading.verdicts.values() if v.read_in_full or v.failed]
        failed = sum(verdict.failed for verdict in requested)
        if failed * 100 > self.run.options.max_failed_sitemaps_percent * len(requested):
            return Reason.TOO_MANY_FAILED, f"{failed} of {len(requested)} files"
        return None, None

    def _keep_failures(self, reading: SiteReading) -> None:
        """A reading that saves nothing else still counts its failures [C5]."""
        if reading.previous is None:
            return
        previous = reading.previous.manifest
        manifest = failures_only(reading.previous, reading, reading.now)
        if manifest != previous:
            self.run.ledger.append(PendingCommit(reading.target.key, manifest, previous))
