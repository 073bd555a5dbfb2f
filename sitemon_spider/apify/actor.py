"""The Actor: its input becomes options, the crawl runs on the platform's storages, the run ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from apify import Actor
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.project import get_project_settings

from sitemon_spider.apify.events import PlatformEvents
from sitemon_spider.apify.sink import ApifySink
from sitemon_spider.apify.store import ForeignStoreError, KvsStore
from sitemon_spider.core.reasons import Status, StopReason
from sitemon_spider.engine import MonitorCrawler
from sitemon_spider.extensions.logging import set_log_levels
from sitemon_spider.options import InputError, Options
from sitemon_spider.run import new_run_id
from sitemon_spider.spiders.sitemon import SitemonSpider

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from sitemon_spider.run import MonitorRun
    from sitemon_spider.state.port import StateStore

MAX_URLS = 1_000
"""The default of `maxUrls` here: a first run must not cost more than cents (SPEC §1)."""

DEMO = {"sites": ["https://crawlee.dev"], "outputMode": "urls_only", "maxUrls": 100}
"""What an empty input runs: 100 URLs of one public site."""

STATUS_PAUSE = 10.0
"""Seconds between two status messages during a run."""

WHY = {
    StopReason.CHARGE_LIMIT: "stopped at your maximum cost; the next run reports the rest",
    StopReason.ABORTED: "aborted; the next run reports the rest",
    StopReason.TIME_LIMIT: "stopped before its time limit; the next run reports the rest",
}


class ActorSpider(SitemonSpider):
    """The spider on the Actor's storages."""

    kvs: ClassVar[KvsStore]
    sink: ClassVar[ApifySink]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Build it, and tell the run what it did before a restart."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.run.ended = cls.sink.earlier.ended
        return spider

    @classmethod
    def store(cls, crawler: Crawler, options: Options) -> StateStore:
        """The named key-value store, and the run's default one for records."""
        return cls.kvs


async def main() -> None:
    """Run the Actor; its exit code is not 0 only when every site failed or the input is wrong."""
    async with Actor:
        values = input_of(await Actor.get_input())
        try:
            options = Options.from_arguments(values)
            fault = await _run(options, values)
        except (InputError, ForeignStoreError, OSError) as error:
            fault = str(error)
        if fault is not None:
            await Actor.fail(exit_code=1, status_message=fault)


def input_of(given: Any) -> dict[str, Any]:
    """The options of a run from the Actor's input; an empty one is the demo."""
    values = {name: value for name, value in (given or {}).items() if value is not None}
    if not values.get("sites") and not values.get("sitemapUrls"):
        Actor.log.info("No sites are given: this is a demo of 100 URLs of %s", DEMO["sites"])
        return dict(DEMO)
    return {"maxUrls": MAX_URLS} | values


async def _run(options: Options, values: dict[str, Any]) -> str | None:
    """Crawl and keep the books; why the run failed, or None."""
    settings = actor_settings()
    options.require_target(allow_private=settings.getbool("SITEMON_ALLOW_PRIVATE"))
    run_id = Actor.configuration.actor_run_id or new_run_id(datetime.now(UTC))
    tracks = options.output_mode != "urls_only"
    sink = ActorSpider.sink = await ApifySink.open(run_id)
    store = ActorSpider.kvs = await KvsStore.open(options.monitor, run_id, tracks=tracks)
    crawler = MonitorCrawler(ActorSpider, settings)
    events = PlatformEvents(crawler, sink)
    events.listen()
    telling = asyncio.ensure_future(_tell(crawler, options))
    try:
        await AsyncCrawlerRunner(settings).crawl(crawler, _job=run_id, **values)
    finally:
        telling.cancel()
        faults = await store.close(keep_lease=events.migrating)
    for fault in faults:
        Actor.log.error("Not saved: %s", fault)
    if events.migrating:
        await events.wait_to_be_moved()
    run: MonitorRun = crawler.spider.run  # type: ignore[union-attr]
    await sink.push_rest([end.row for end in run.ends])
    message = final_message(run)
    if crawler.stats.get_value("sitemon/result") in {None, Status.FAILED}:
        return message
    Actor.status_message = message
    return None


def actor_settings() -> Settings:
    """The project's settings with rows to the dataset."""
    settings = get_project_settings()
    settings.set("SITEMON_SINK", "sitemon_spider.apify.sink.ApifySink", priority="cmdline")
    settings["ITEM_PIPELINES"]["sitemon_spider.apify.sink.SiteRowPipeline"] = 450
    set_log_levels(settings)
    return settings


def final_message(run: MonitorRun) -> str:
    """The run's result in one line."""
    rows = [end.row for end in run.ends]
    counts = Counter(row.status for row in rows)
    parts = [
        _counted(len(rows), "site"),
        _counted(sum(row.changesPushed for row in rows), "change"),
    ]
    if run.options.output_mode != "changes_only":
        parts.append(_counted(sum(row.urlsPushed for row in rows), "URL"))
    parts += [
        f"{counts[status]:,} {status}"
        for status in (Status.PARTIAL, Status.FAILED, Status.SKIPPED)
        if counts[status]
    ]
    if run.stopped in WHY:
        parts.append(WHY[run.stopped])
    return "; ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


async def _tell(crawler: Crawler, options: Options) -> None:
    """Say now and then how far the run is."""
    total = len(options.sites) + len(options.sitemap_urls)
    while True:
        run = getattr(crawler.spider, "run", None)
        done = len(run.ends) if run is not None else 0
        with contextlib.suppress(Exception):
            await Actor.set_status_message(f"{done} of {total} sites read")
        await asyncio.sleep(STATUS_PAUSE)
