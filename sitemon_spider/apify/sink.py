"""ApifySink: rows go to the run's dataset in chunks and are charged with the push."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import xxhash
from apify import Actor
from scrapy.extensions.feedexport import FeedExporter

from sitemon_spider.core.reasons import Reason, Status, StopReason
from sitemon_spider.core.urls import identity, key
from sitemon_spider.items import ChangeRow, SiteRow, UrlRow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from apify.storages import Dataset
    from scrapy.crawler import Crawler

    from sitemon_spider.core.prepared import Prepared
    from sitemon_spider.items import Row

logger = logging.getLogger(__name__)

EVENTS = {ChangeRow: "change-detected", UrlRow: "url-listed"}
"""What a row is charged as (SPEC §8); their prices stand in `.actor/pay_per_event.json`."""

RUN_KEY = "RUN"
"""The record of the default store that names the run: a process that finds its own is a restart."""

FIELDS = {row: [field.name for field in fields(row)] for row in (ChangeRow, UrlRow, SiteRow)}


@dataclass(slots=True)
class Earlier:
    """What this run did before it was restarted: nothing, but after a migration or a resurrection.

    `ended`: sites by the row that ended them, without those that a stop or a fault of the storage
    ended; `pushed`: rows by site and type; `urls`: hashes of the url rows' site and URL. `rows`
    counts all rows of the dataset.
    """

    ended: dict[str, SiteRow] = field(default_factory=dict)
    pushed: Counter[tuple[str, str]] = field(default_factory=Counter)
    urls: set[int] = field(default_factory=set)
    rows: int = 0

    def note(self, row: dict[str, Any]) -> None:
        """Take a row of this run into account."""
        site, kind = str(row.get("site")), str(row.get("type"))
        self.pushed[site, kind] += 1
        if kind == "url":
            self.urls.add(_hash(site, str(row.get("url"))))
        elif kind == "site":
            self.ended.pop(site, None)
            reason = row.get("stopReason")
            stopped = reason is not None and StopReason(reason).stops_the_run
            whole = row.get("errorType") != Reason.STORE_FAILED and not stopped
            if row.get("status") in {Status.OK, Status.PARTIAL} and whole:
                values: dict[str, Any] = {name: row.get(name) for name in FIELDS[SiteRow]}
                self.ended[site] = SiteRow(**values)


class ApifySink:
    """The Sink of the Actor: a row is durable when the platform has taken it [D3].

    One lock of ours lies around each push, so that the count of rows and the budget are those of
    one delivery at a time. Raises OSError when the storage fails: then nobody knows how much of a
    chunk arrived, and the next run asks the dataset [D5].
    """

    durable = True

    def __init__(self, dataset: Dataset, earlier: Earlier) -> None:
        self.full: StopReason | None = None
        self.closed = False
        self.earlier = earlier
        self._crawler: Crawler | None = None
        self._dataset = dataset
        self._rows = earlier.rows
        self._sites: list[SiteRow] = []
        self._lock = asyncio.Lock()

    @classmethod
    async def open(cls, run_id: str) -> ApifySink:
        """The sink of the run's own dataset, whose rows are read first. Raises OSError."""
        dataset = await Actor.open_dataset()
        try:
            restarted = await Actor.get_value(RUN_KEY) == run_id
            await Actor.set_value(RUN_KEY, run_id)
        except Exception as error:
            raise OSError(str(error)) from error
        earlier = Earlier()
        async for row in _rows(dataset, 0):
            earlier.rows += 1
            if restarted:
                earlier.note(row)
        return cls(dataset, earlier)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ApifySink:
        """The sink that was opened for this run (`SITEMON_SINK`)."""
        sink: ApifySink = crawler.spider.sink  # type: ignore[union-attr]
        sink._crawler = crawler
        return sink

    def position(self) -> dict[str, Any] | None:
        return {"dataset": self._dataset.id, "rows": self._rows}

    async def arrived(self, position: dict[str, Any] | None, prepared: Prepared) -> int | None:
        """The rows of the plan that the dataset holds, in order, behind the position."""
        if position is None:
            return None
        try:
            dataset = await Actor.open_dataset(id=position["dataset"])
        except ValueError:
            return 0  # It vanished: what nobody can see was not delivered.
        except Exception as error:
            raise OSError(str(error)) from error
        plan, count = prepared.expected(), 0
        async for row in _rows(dataset, int(position["rows"])):
            if row.get("type") != "change" or row.get("site") != prepared.manifest.site:
                continue
            expected = next(plan, None)
            if expected is None or expected != (row.get("changeType"), _key(str(row.get("url")))):
                break
            count += 1
        return count

    async def deliver(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        """Push rows of one kind and charge them; url rows that the dataset holds count as taken."""
        fresh = [at for at, row in enumerate(rows) if not self._holds(row)]
        accepted = len(rows)
        if fresh:
            async with self._lock:
                pushed = 0 if self.closed else await self._push([rows[at] for at in fresh])
            accepted = len(rows) if pushed == len(fresh) else fresh[pushed]
            await self._enter([rows[at] for at in fresh[:pushed]])
        return accepted

    async def push_site(self, row: SiteRow) -> None:
        """Push a site's row, free of charge."""
        async with self._lock:
            try:
                await Actor.push_data([wire(row)])
            except Exception as error:
                raise OSError(str(error)) from error
            self._rows += 1
            self._sites.append(row)

    async def push_rest(self, rows: Sequence[SiteRow]) -> None:
        """Push the rows of sites whose end the crawl had no time to pass through its stages."""
        for row in rows:
            told = any(row is pushed for pushed in self._sites)
            if not told and row is not self.earlier.ended.get(row.site):
                await self.push_site(row)

    def _holds(self, row: ChangeRow | UrlRow) -> bool:
        urls = self.earlier.urls
        return bool(urls) and isinstance(row, UrlRow) and _hash(row.site, row.url) in urls

    async def _push(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        # Outside of pay-per-event nothing is charged although all rows are pushed; inside, rows
        # beyond the budget are cut without a word.
        charging = Actor.get_charging_manager().get_pricing_info().is_pay_per_event
        event = EVENTS[type(rows[0])]
        try:
            result = await Actor.push_data(
                [wire(row) for row in rows], charged_event_name=event if charging else None
            )
        except Exception as error:
            raise OSError(str(error)) from error
        pushed = result.charged_count if charging else len(rows)
        self._rows += pushed
        if pushed < len(rows):
            self.full = StopReason.CHARGE_LIMIT
        return pushed

    async def _enter(self, rows: Sequence[ChangeRow | UrlRow]) -> None:
        """Where feeds are set, rows are items as well."""
        if self._crawler is None or self._crawler.get_extension(FeedExporter) is None:
            return
        for row in rows:
            await self._crawler.engine.scraper.start_itemproc_async(row, response=None)


class SiteRowPipeline:
    """Behind stage deliver: pushes each site's row, which is the last of its site."""

    def __init__(self, sink: ApifySink) -> None:
        self.sink = sink

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SiteRowPipeline:
        """Build it with the run's sink."""
        return cls(crawler.spider.sink)  # type: ignore[union-attr]

    async def process_item(self, item: Any) -> Any:
        """Push a SiteRow; every other item passes."""
        if isinstance(item, SiteRow):
            # What this run pushed before it was restarted is part of its result.
            before = self.sink.earlier.pushed[item.site, "change"]
            item.changesDetected += before
            item.changesPushed += before
            if not self.sink.closed:
                try:
                    await self.sink.push_site(item)
                except OSError as error:
                    logger.error("The row of %r could not be pushed: %s", item.site, error)
        return item


def wire(row: Row) -> dict[str, Any]:
    """A row as JSON-like values."""
    return {name: getattr(row, name) for name in FIELDS[type(row)]}


async def _rows(dataset: Dataset, offset: int) -> AsyncIterator[dict[str, Any]]:
    """The rows of a dataset from an offset on. Raises OSError."""
    try:
        async for row in dataset.iterate_items(offset=offset):
            yield dict(row)
    except Exception as error:
        raise OSError(str(error)) from error


def _hash(site: str, url: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{site}\n{url}".encode())


def _key(url: str) -> int:
    return key(identity(url))
