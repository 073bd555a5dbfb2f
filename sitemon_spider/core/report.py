"""What happened: the site row of each input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sitemon_spider.core.changes import wire_moment
from sitemon_spider.core.columns import NOTHING, distinct
from sitemon_spider.core.reasons import Baseline, Outcome, Reason, Status, StopReason
from sitemon_spider.core.snapshot import Owed
from sitemon_spider.items import SiteRow

if TYPE_CHECKING:
    from datetime import datetime

    from sitemon_spider.core.changes import SiteChanges
    from sitemon_spider.core.reading import FileVerdict, SiteReading


def refused_row(
    site: str,
    line: str,
    reason: Reason,
    detail: str | None,
    now: datetime,
    stopped: StopReason | None,
) -> SiteRow:
    """The row of an input that was never requested."""
    skipped = reason in {Reason.DUPLICATE_INPUT, Reason.STOPPED, Reason.LOCKED}
    return SiteRow(
        site=site,
        input=line,
        status=Status.SKIPPED if skipped else Status.FAILED,
        stopReason=stopped,
        errorType=reason,
        error=sentence(reason, detail),
        checkedAt=wire_moment(now),
    )


def unfinished_row(
    reading: SiteReading,
    reason: Reason | None,
    detail: str | None,
    now: datetime,
    stopped: StopReason | None,
) -> SiteRow:
    """The row of a reading that was neither compared nor saved; its `baseline` is null."""
    if reason in {Reason.DUPLICATE_INPUT, Reason.LOCKED}:
        status = Status.SKIPPED
    elif reason in {Reason.STOPPED, Reason.TOO_MANY_FAILED}:
        status = Status.PARTIAL
    else:
        status = Status.FAILED
    if reason is Reason.NO_SITEMAP:
        reason, detail = why_nothing(reading)
    row = _row(reading, status, now, stopped)
    row.errorType = reason
    row.error = sentence(reason, detail) if reason else None
    return row


def saved_row(reading: SiteReading, now: datetime) -> SiteRow:
    """The row of a site that this run had saved before it was restarted; it is not read again."""
    row = _row(reading, Status.OK, now, None)
    row.baseline = Baseline.UNKNOWN
    if reading.previous is not None:
        row.urlsFound = reading.previous.manifest.urls or 0
    return row


def site_row(
    changes: SiteChanges, now: datetime, stopped: StopReason | None, *, tracked: bool
) -> SiteRow:
    """The row of a compared reading after its delivery."""
    reading = changes.reading
    undelivered = tracked and changes.delivered < len(changes.plan)
    whole = changes.complete and not undelivered and not changes.url_rows_cut
    row = _row(reading, Status.OK if whole else Status.PARTIAL, now, stopped)
    failed = first_failure(reading)
    if failed is not None and not changes.complete:
        row.errorType = failed.reason
        row.error = sentence(failed.reason or Reason.NETWORK, failed.detail, failed.node.url)
    row.baseline = changes.baseline if tracked else Baseline.NOT_TRACKED
    row.complete = changes.complete
    row.urlsFound = urls_found(changes)
    row.urlsFiltered = changes.filtered
    row.removalsDetected = changes.removals_detected
    row.changesPushed, row.urlsPushed = changes.delivered, changes.delivered_urls
    if changes.max_rows:
        row.stopReason = row.stopReason or StopReason.MAX_ROWS
    if not tracked:
        return row
    waiting = changes.waiting
    row.urlsLearnt = changes.learnt
    row.removalsHeld = len(waiting.get(Owed.HELD, ()))
    row.removalsWithheld = len(waiting.get(Owed.WITHHELD, ())) + len(waiting.get(Owed.REMOVED, ()))
    row.lastmodUniform = changes.lastmod_uniform
    row.added, row.removed, row.lastmodChanged = changes.added, changes.removed, changes.changed
    row.changesDetected = len(changes.plan)
    return row


def _row(
    reading: SiteReading, status: Status, now: datetime, stopped: StopReason | None
) -> SiteRow:
    verdicts = reading.verdicts.values()
    return SiteRow(
        site=reading.target.key,
        input=reading.target.input,
        status=status,
        sitemapsRead=sum(verdict.read_in_full for verdict in verdicts),
        sitemapsUnchanged=sum(verdict.outcome is Outcome.UNCHANGED for verdict in verdicts),
        sitemapsFailed=sum(verdict.failed for verdict in verdicts),
        stopReason=reading.stop or stopped,
        checkedAt=wire_moment(now),
    )


def urls_found(changes: SiteChanges) -> int:
    """How many distinct URLs the files read in this run list, unchanged ones included."""
    reading, previous = changes.reading, changes.previous
    verdicts = [verdict for verdict in reading.verdicts.values() if verdict.read_rows]
    if len(verdicts) == 1:
        return verdicts[0].read_rows
    unchanged = all(v.outcome is Outcome.UNCHANGED for v in reading.verdicts.values())
    same_files = previous is not None and previous.files.keys() == reading.verdicts.keys()
    if unchanged and same_files and previous and previous.manifest.urls is not None:
        return previous.manifest.urls
    parts = [NOTHING.keys]
    for verdict in verdicts:
        if verdict.listing is not None:
            parts.append(verdict.listing.keys[: verdict.read_rows])
        elif previous is not None:
            parts.append(previous.keys(verdict.node.address)[: verdict.read_rows])
    return len(distinct(np.concatenate(parts)))


def first_failure(reading: SiteReading) -> FileVerdict | None:
    """The first file, in the order of the tree, that could not be read in full."""
    for address in reading.nodes:
        verdict = reading.verdicts.get(address)
        if verdict is not None and verdict.failed:
            return verdict
    return None


def why_nothing(reading: SiteReading) -> tuple[Reason, str | None]:
    """Why no sitemap with URLs could be read."""
    if reading.robots is not None and reading.robots.reason is not None:
        return reading.robots.reason, reading.robots.detail
    failed = first_failure(reading)
    if failed is not None and failed.reason is not None:
        return failed.reason, failed.detail
    tried = [*reading.verdicts.values(), *reading.probes]
    if tried and all(verdict.reason is Reason.ROBOTS_DISALLOWED for verdict in tried):
        return Reason.ROBOTS_DISALLOWED, None
    if any(verdict.read_in_full for verdict in reading.verdicts.values()):
        return Reason.NO_SITEMAP, "its sitemaps list no URLs"
    passing = [v for v in reading.probes if v.reason is not None and v.reason.is_passing]
    if passing and passing[0].reason is not None:
        return passing[0].reason, passing[0].detail
    return Reason.NO_SITEMAP, None


def sentence(reason: Reason, detail: str | None, where: str | None = None) -> str:
    """One sentence a person understands, with the detail and the file where there are any."""
    more = "; ".join(text for text in (detail, where) if text)
    return f"{reason.sentence} ({more})" if more else reason.sentence
