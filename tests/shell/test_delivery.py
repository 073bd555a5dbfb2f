"""Rows reach the feeds whole or count as not delivered; a stop loses nothing and ends at once."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.exporters import JsonItemExporter
from scrapy.extensions.feedexport import FileFeedStorage, ItemFilter

from sitemon_spider.core.reasons import StopReason
from sitemon_spider.delivery.items import ItemSink
from sitemon_spider.items import ChangeRow
from tests.crawl import read_rows
from tests.world import Page, Site, World, index, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tests.conftest import MakeMonitor
    from tests.crawl import Crawl, Monitor

HERE = "tests.shell.test_delivery"


# ---------------------------------------------------------------------------- stops [D4] [C15]


class AtRequest:
    """Does TEST_ACT when a request whose address ends in TEST_AT goes out."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.at = crawler.settings["TEST_AT"]
        crawler.signals.connect(self._reached, signals.request_reached_downloader)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AtRequest:
        return cls(crawler)

    def _reached(self, request: Request) -> None:
        if request.url.endswith(self.at):
            self.at = "never again"
            act = self.crawler.settings["TEST_ACT"]
            if hasattr(signal, act):
                os.kill(os.getpid(), getattr(signal, act))
            else:
                stop = self.crawler.spider.run.stop
                asyncio.get_running_loop().call_soon(stop, StopReason(act))


class WithAtRequest:
    """An add-on with that extension."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["EXTENSIONS"][f"{HERE}.AtRequest"] = 0


def stopped(job: Monitor, at: str, act: str = "SIGTERM", **options: Any) -> Crawl:
    """A run that is stopped when a request goes out, by the true clock."""
    settings = {
        "ADDONS": json.dumps({f"{HERE}.WithAtRequest": 0}),
        "TEST_AT": at,
        "TEST_ACT": act,
        "SITEMON_NOW": "",
        "SITEMON_FIRST_BACKOFF": 60,
    }
    run = job.run(settings=settings, **options)
    print(run.log)
    return run


PATIENCE = 60
"""Seconds: three times what [D4] allows, for a busy machine. A run that did not cut off what waits
would take many minutes."""


def seconds(run: Crawl) -> float:
    output = run.records["OUTPUT.json"]
    started, finished = (datetime.fromisoformat(output[k]) for k in ("startedAt", "finishedAt"))
    return (finished - started).total_seconds()


def tree(*children: str, delay: float | None = None, **pages: Page) -> dict[str, Any]:
    return {
        "/robots.txt": robots(["/sitemap.xml"], delay=delay),
        "/sitemap.xml": index(children),
        **{child: urlset([f"{child}/page"]) for child in children},
    }


WAITS = {
    "a Crawl-delay before each of many files": (
        tree(*(f"/{n}.xml" for n in range(50)), delay=30), "/sitemap.xml", {}),
    "a Retry-After": (
        tree("/a.xml") | {"/sitemap.xml": Page(status=429, headers={"Retry-After": "100"})},
        "/sitemap.xml", {"maxRetries": 3}),
    "a backoff": (
        tree("/a.xml") | {"/sitemap.xml": Page(status=503)}, "/sitemap.xml", {"maxRetries": 3}),
    "an answer that does not come": (
        tree("/a.xml") | {"/a.xml": Page(fault="timeout")}, "/a.xml", {"requestTimeout": 120}),
    "a body that stalls": (
        tree("/a.xml") | {"/a.xml": urlset(["/x"]).but(fault="stall")}, "/a.xml",
        {"requestTimeout": 120}),
    "the pace of the run": (
        tree(*(f"/{n}.xml" for n in range(9))), "/robots.txt", {"requestsPerSecond": 0.1}),
    "a robots.txt that does not come": (
        tree() | {"/robots.txt": Page(fault="timeout")}, "/robots.txt", {"requestTimeout": 120}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("wait", "act"), [(wait, "SIGTERM") for wait in WAITS] + [(next(iter(WAITS)), "aborted")]
)
def test_a_stop_ends_every_wait_at_once(monitor: MakeMonitor, wait: str, act: str) -> None:
    """[D4]: within 20 seconds, whatever the run waits for; the open site gets its row [C15]."""
    pages, at, options = WAITS[wait]
    with World(Site(pages)) as world:
        run = stopped(monitor(sites=[world.sites[0].url]), at, act, **options)
    assert seconds(run) < PATIENCE
    assert (run.site["status"], run.site["baseline"]) == ("partial", None)
    assert (run.site["stopReason"], run.site["errorType"]) == ("aborted", "stopped")
    assert run.records["OUTPUT.json"]["stopReason"] == "aborted"


def test_a_stop_gives_every_site_its_row(monitor: MakeMonitor) -> None:
    """[D4]: sites that ended keep their rows, open ones are partial, the others skipped."""
    held = tree("/a.xml") | {"/a.xml": Page(fault="timeout")}
    with World(Site(tree("/a.xml")), Site(held), Site({}), Site({})) as world:
        job = monitor(sites=[site.url for site in world.sites], maxConcurrentSites=1)
        run = stopped(job, f":{world.sites[1].port}/a.xml", requestTimeout=120)
    statuses = [row["status"] for row in run.sites]
    assert statuses == ["ok", "partial", "skipped", "skipped"]
    assert [site["site"] for site in run.records["OUTPUT.json"]["sites"]] == job.options["sites"]
    assert {row["errorType"] for row in run.sites[1:]} == {"stopped"}
    assert run.exit_code == 0
    (snapshot,) = job.state.glob("*/sites/*/manifest.json")
    assert json.loads(snapshot.read_text())["site"] == world.sites[0].url


def test_a_stop_cuts_off_what_a_huge_queue_would_take_too_long_to_drain(
    monitor: MakeMonitor,
) -> None:
    """[D4]: 20,000 files that wait for their turn do not outlast the 20 seconds."""
    children = [f"/{n}.xml" for n in range(20_000)]
    with World(Site(tree(*children) | {"/7.xml": Page(fault="timeout")})) as world:
        job = monitor(sites=[world.sites[0].url], maxSitemapsPerSite=50_000)
        run = stopped(job, "/7.xml", requestTimeout=120)
    assert seconds(run) < PATIENCE
    assert (run.site["status"], run.site["errorType"]) == ("partial", "stopped")
    assert not list(job.state.glob("*/sites/*/manifest.json"))


@pytest.mark.parametrize("act", ["SIGINT", "SIGTERM"])
def test_a_signal_before_the_first_request_is_not_lost(monitor: MakeMonitor, act: str) -> None:
    """A stop while the crawl is being set up ends it; every site is skipped."""
    with World(Site(tree("/a.xml"))) as world:
        settings = {"ADDONS": json.dumps({f"{HERE}.WithAtOnce": 0}), "TEST_ACT": act}
        run = monitor(sites=[world.sites[0].url]).run(settings=settings)
        assert world.sites[0].paths() == []
    assert (run.site["status"], run.site["errorType"]) == ("skipped", "stopped")
    assert run.records["OUTPUT.json"]["stopReason"] == "aborted"


class AtOnce:
    """Sends TEST_ACT while extensions are made."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AtOnce:
        os.kill(os.getpid(), getattr(signal, crawler.settings["TEST_ACT"]))
        return cls()


class WithAtOnce:
    """An add-on with that extension."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["EXTENSIONS"][f"{HERE}.AtOnce"] = 0


def test_a_time_limit_of_scrapy_is_a_stop(monitor: MakeMonitor) -> None:
    """[C15]: CLOSESPIDER_TIMEOUT ends the run as `time-limit`, with a row for the open site."""
    pages = tree(*(f"/{n}.xml" for n in range(9)), delay=30)
    with World(Site(pages)) as world:
        job = monitor(sites=[world.sites[0].url])
        run = job.run(settings={"CLOSESPIDER_TIMEOUT": 1, "SITEMON_NOW": ""})
    assert seconds(run) < PATIENCE
    assert (run.site["status"], run.site["stopReason"]) == ("partial", "time-limit")
    assert run.stats["finish_reason"] == "closespider_timeout"


class SlowSink(ItemSink):
    """Takes 500 rows, then the process gets SIGTERM."""

    async def deliver(self, rows: Sequence[Any]) -> int:
        accepted = await super().deliver(rows)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.2)
        return accepted


def test_what_was_delivered_before_a_stop_is_committed_and_the_rest_comes_next(
    monitor: MakeMonitor,
) -> None:
    """[D1] [D4]: the feed of the stopped run and the one after it hold each row once."""
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url])
        job.run()
        site.set("/a.xml", urlset(["/a.xml/page", *(f"/{n}" for n in range(1_200))]))
        first = job.run(settings={"SITEMON_SINK": f"{HERE}.SlowSink"})
        second = job.run()
        third = job.run()
    assert (len(first.changes), len(second.changes), len(third.changes)) == (500, 700, 0)
    assert len(first.told() | second.told()) == 1_200
    assert first.site["stopReason"] == "aborted"


class EndingSlowly:
    """Sends SIGTERM while the run is ending, and takes its time to end."""

    async def close_spider(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.5)

    def process_item(self, item: Any) -> Any:
        return item


class WithEndingSlowly:
    """An add-on with that pipeline."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["ITEM_PIPELINES"][f"{HERE}.EndingSlowly"] = 900


def test_a_signal_while_the_run_is_ending_does_not_cut_the_end_short(monitor: MakeMonitor) -> None:
    """[D3]: the feeds are closed and the snapshot is committed all the same."""
    with World(Site(tree("/a.xml"))) as world:
        job = monitor(sites=[world.sites[0].url])
        run = job.run(settings={"ADDONS": json.dumps({f"{HERE}.WithEndingSlowly": 0})})
    assert (run.site["status"], run.records["OUTPUT.json"]["result"]) == ("ok", "ok")
    assert job.snapshot()["generation"] == 1


class Doomed:
    """Sends SIGTERM twice at the first row."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, ChangeRow):
            os.kill(os.getpid(), signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
        return item


class WithDoomed:
    """An add-on with that pipeline."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["ITEM_PIPELINES"][f"{HERE}.Doomed"] = 900


def test_a_second_signal_ends_the_run_at_once_and_loses_nothing(monitor: MakeMonitor) -> None:
    """[D5]: nothing of a forced end is committed; the next run tells it all."""
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url])
        job.run()
        site.set("/a.xml", urlset(["/a.xml/page", "/new"]))
        job.run(settings={"ADDONS": json.dumps({f"{HERE}.WithDoomed": 0})})
        assert job.snapshot()["generation"] == 1
        assert job.run().told() == {("added", f"{site.url}/new")}


# ---------------------------------------------------------------------------- whole feeds [D3]


class Broken(FileFeedStorage):
    """A feed's file that fails where its address says: `broken+PLACE:///path`."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self.place, _, path = uri.removeprefix("broken+").partition("://")
        super().__init__(f"file://{path}", feed_options=feed_options)

    def open(self, spider: Any) -> Any:
        if self.place == "open":
            raise OSError("the file cannot be opened")
        file = super().open(spider)
        if self.place == "write":
            file.write = self._full
        return file

    def store(self, file: Any) -> None:
        super().store(file)
        if self.place == "store":
            raise OSError("the file cannot be stored")

    def _full(self, data: bytes) -> int:
        raise OSError("no space left on device")


class BrokenAtEnd(JsonItemExporter):
    """An exporter that cannot write the end of its file."""

    def finish_exporting(self) -> None:
        raise OSError("no space left on device")


PLACES = ("open", "write", "store")
BROKEN = {
    "FEED_STORAGES": json.dumps({f"broken+{place}": f"{HERE}.Broken" for place in PLACES}),
    "FEED_EXPORTERS": json.dumps({"unfinished": f"{HERE}.BrokenAtEnd"}),
}
LINES = {"format": "jsonlines"}


def feeds(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Feeds that fail, by where they do."""
    whole = {f"{folder}/whole.jsonl": LINES}
    return {
        **{place: {f"broken+{place}://{folder}/x.jsonl": LINES} for place in PLACES},
        "finish": {f"{folder}/x.json": {"format": "unfinished"}},
        "one of two": {**whole, f"broken+write://{folder}/x.jsonl": LINES},
        "the second of two": {f"broken+store://{folder}/x.jsonl": LINES, **whole},
        "a batch": {
            f"broken+store://{folder}/x-%(batch_id)d.jsonl": {**LINES, "batch_item_count": 1}
        },
        "format": {f"{folder}/x.txt": {"format": "no such format"}},
        "storage": {"nowhere:///x.jsonl": LINES},
        "address": {f"{folder}/%(nothing)s.jsonl": LINES},
        "empty": {f"broken+open://{folder}/x.jsonl": {**LINES, "item_filter": f"{HERE}.Nothing"}},
    }


class Nothing(ItemFilter):
    """Accepts no row."""

    def accepts(self, item: Any) -> bool:
        return False


def test_a_feed_that_is_not_whole_delivers_nothing(monitor: MakeMonitor, tmp_path: Path) -> None:
    """[D3]: nothing is committed, the run fails and says why; the next one tells the same rows."""
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url])
        job.run()
        site.set("/a.xml", urlset(["/a.xml/page", "/new"]))
        for place, feed in feeds(tmp_path).items():
            run = job.run(feed=None, settings={**BROKEN, "FEEDS": json.dumps(feed)})
            output = run.records["OUTPUT.json"]
            told = f"{place}\n{run.log}"
            assert job.snapshot()["generation"] == 1, told
            assert (run.exit_code, output["result"]) == (1, "failed"), told
            assert output["error"].startswith("A feed could not be written whole"), told
            assert "Nothing was saved" in run.records["SUMMARY.md"], told
        assert job.run().told() == {("added", f"{site.url}/new")}


def read_gzip(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_several_feeds_batches_and_compression_are_whole(
    monitor: MakeMonitor, tmp_path: Path
) -> None:
    """[D3]: feeds of every kind count; all rows are in each, and the snapshot is committed."""
    gzipped = "scrapy.extensions.postprocessing.GzipPlugin"
    every = {
        f"{tmp_path}/rows.jsonl": LINES,
        f"{tmp_path}/rows.json": {"format": "json"},
        f"{tmp_path}/rows.csv": {"format": "csv"},
        f"{tmp_path}/rows.jsonl.gz": {**LINES, "postprocessing": [gzipped]},
        f"{tmp_path}/batch-%(batch_id)d.jsonl": {**LINES, "batch_item_count": 4},
        f"{tmp_path}/sites.jsonl": {**LINES, "item_classes": ["sitemon_spider.items.SiteRow"]},
        f"{tmp_path}/none.jsonl": {**LINES, "item_filter": f"{HERE}.Nothing"},
    }
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url], firstRun="report")
        site.set("/a.xml", urlset([f"/{n}" for n in range(7)]))
        run = job.run(feed=None, settings={"FEEDS": json.dumps(every)})
    print(run.log)
    assert job.snapshot()["generation"] == 1
    rows = read_rows(tmp_path / "rows.jsonl")
    assert [row["type"] for row in rows] == ["change"] * 7 + ["site"]
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
    assert read_gzip(tmp_path / "rows.jsonl.gz") == rows
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 9
    batches = [read_rows(tmp_path / f"batch-{n}.jsonl") for n in (1, 2)]
    assert batches[0] + batches[1] == rows
    assert read_rows(tmp_path / "sites.jsonl") == rows[-1:]
    assert (tmp_path / "none.jsonl").read_text() == ""
    assert run.folder is not None
    assert not (run.folder / "rows.jsonl").exists()


def test_the_last_row_of_a_full_batch_is_delivered(monitor: MakeMonitor, tmp_path: Path) -> None:
    """[D3]: an empty batch behind the last one is never stored, and misses nothing."""
    feed = {f"{tmp_path}/batch-%(batch_id)d.jsonl": {**LINES, "batch_item_count": 4}}
    with World(Site(tree("/a.xml"))) as world:
        job = monitor(sites=[world.sites[0].url], firstRun="report")
        world.sites[0].set("/a.xml", urlset(["/1", "/2", "/3"]))
        run = job.run(feed=None, settings={"FEEDS": json.dumps(feed)})
    assert run.exit_code == 0
    assert job.snapshot()["generation"] == 1


# ---------------------------------------------------------------------------- a user's pipelines


class Picky:
    """Drops the rows of addresses that end in `drop`, fails on those that end in `fail`."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, ChangeRow) and item.url.endswith("drop"):
            raise DropItem("not wanted")
        if isinstance(item, ChangeRow) and item.url.endswith("fail"):
            raise RuntimeError("the database is down")
        return item


class WithPicky:
    """An add-on with that pipeline behind the chain."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["ITEM_PIPELINES"][f"{HERE}.Picky"] = 900


PICKY = {"ADDONS": json.dumps({f"{HERE}.WithPicky": 0})}


def test_a_row_that_a_users_pipeline_drops_is_delivered(monitor: MakeMonitor) -> None:
    """[D1]: dropping is the user's word; the others go on, and it does not come again."""
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url])
        job.run()
        site.set("/a.xml", urlset(["/a.xml/page", "/1", "/2-drop", "/3"]))
        run = job.run(settings=PICKY)
        again = job.run()
    assert run.told() == {("added", site.address("/1")), ("added", site.address("/3"))}
    assert again.changes == []


def test_a_row_that_a_users_pipeline_fails_on_comes_again(monitor: MakeMonitor) -> None:
    """[D1] [D2]: what was delivered before it is a prefix; it and the rest come next run."""
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url])
        job.run()
        site.set("/a.xml", urlset(["/a.xml/page", "/1", "/2-fail", "/3"]))
        run = job.run(settings=PICKY)
        again = job.run()
    assert "RuntimeError: the database is down" in run.log
    assert run.site["status"] == "partial"
    told = [row["url"] for row in run.changes] + [row["url"] for row in again.changes]
    assert sorted(told) == [site.address(path) for path in ("/1", "/2-fail", "/3")]
    assert site.address("/2-fail") in {row["url"] for row in again.changes}


# ---------------------------------------------------------------------------- order [D1] [D8]


def test_rows_have_one_order_whatever_the_files_did(monitor: MakeMonitor) -> None:
    """[D1]: the same changes in the same order, though the files came in another one."""
    children = [f"/{n}.xml" for n in range(4)]
    orders = []
    for slow in (0, 3):
        site = Site(tree(*children), ip="127.0.0.9")
        with World(site):
            job = monitor(sites=[site.url])
            job.run()
            for n, child in enumerate(children):
                page = urlset([f"{child}/page", f"{child}/new", f"{child}/newer"])
                site.set(child, page.but(delay=0.3 if n == slow else 0))
            run = job.run()
            orders.append([row["url"].removeprefix(site.url) for row in run.changes])
    assert len(orders[0]) == 8
    assert orders[0] == orders[1]


def test_url_rows_follow_the_changes_and_the_site_row_ends_its_site(monitor: MakeMonitor) -> None:
    """[D1]: changes, then url rows, then the site row."""
    with World(Site(tree("/a.xml"))) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url], outputMode="urls_and_changes")
        job.run()
        site.set("/a.xml", urlset(["/1", "/2"]))
        run = job.run(holdBackShare=0)
    kinds = [row["type"] for row in run.rows]
    assert kinds == sorted(kinds, key=["change", "url", "site"].index)
    assert kinds.count("url") == 2


def test_a_run_without_a_feed_writes_rows_into_its_folder(monitor: MakeMonitor) -> None:
    """[D8]: `rows.jsonl` beside OUTPUT.json; `_job` names the folder."""
    with World(Site(tree("/a.xml"))) as world:
        job = monitor(sites=[world.sites[0].url], firstRun="report", _job="task-7")
        run = job.run(feed=None)
    assert run.folder is not None
    assert run.folder.name == "task-7"
    assert [row["type"] for row in run.rows] == ["change", "site"]
