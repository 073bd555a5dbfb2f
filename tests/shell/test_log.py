"""What a user of `scrapy crawl` sees: a line a site, where the rows are, and what went wrong."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
import scrapy

from tests.world import Page, World, blog, dead, shop

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from tests.conftest import MakeMonitor
    from tests.crawl import Crawl

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "


def lines(run: Crawl) -> list[str]:
    """The lines of a log without their moments."""
    return [re.sub(f"^{STAMP}", "", line) for line in run.log.splitlines() if line]


def test_a_quiet_run_logs_a_line_a_site_and_where_everything_is(monitor: MakeMonitor) -> None:
    with World(shop(), blog()) as world:
        job = monitor(sites=[site.url for site in world.sites])
        job.run()
        world.day(2)
        run = job.run()
    first, *sites, feed, end = lines(run)
    started = f"INFO: Scrapy {scrapy.__version__} started (bot: sitemon)"
    assert first == f"[scrapy.utils.log] {started}"
    told = {
        0: "ok; 30 URLs; 1 added, 1 removed, 1 lastmod changed",
        1: "ok; 6 URLs; 1 added, 0 removed, 0 lastmod changed",
    }
    assert sorted(sites) == [
        f"[sitemon_spider.run] INFO: '{world.sites[n].url}': {told[n]}" for n in (0, 1)
    ]
    stored = f"INFO: Stored jsonlines feed (6 items) in: {run.feed}"
    assert feed == f"[scrapy.extensions.feedexport] {stored}"
    summary = f"INFO: Run ok; summary in {run.folder}/SUMMARY.md"
    assert end == f"[sitemon_spider.extensions.closing] {summary}"


def test_a_failed_site_is_a_warning_refused_or_read(monitor: MakeMonitor) -> None:
    with World(dead(), blog()) as world:
        sites = [world.sites[0].url, "ftp://files.example", world.sites[1].url]
        run = monitor(sites=sites).run(arguments=["-L", "WARNING"])
    warnings = sorted(lines(run))
    assert len(warnings) == 2
    assert warnings[0].startswith("[sitemon_spider.run] WARNING: 'ftp://files.example': failed; ")
    assert warnings[1].startswith(f"[sitemon_spider.run] WARNING: '{sites[0]}': failed; ")


def test_the_line_says_why_lastmods_were_not_told_and_files_are_missing(
    monitor: MakeMonitor,
) -> None:
    site = shop()
    with World(site):
        job = monitor(sites=[site.url])
        job.run()
        for name in ("/products-1.xml.gz", "/products-2.xml.gz"):
            site.set(name, Page(status=404))
        assert "; 2 files not read; " in job.run().log


def test_a_first_run_that_reports_says_how_much(monitor: MakeMonitor) -> None:
    with World(blog()) as world:
        run = monitor(sites=[world.sites[0].url], firstRun="report").run()
    told = "ok; baseline of 5 URLs saved; 5 added, 0 removed, 0 lastmod changed"
    assert f"INFO: '{world.sites[0].url}': {told}" in run.log


def test_scrapys_own_lines_come_back_on_request(monitor: MakeMonitor) -> None:
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url])
        debug = job.run(arguments=["-L", "DEBUG"])
        asked = job.run(settings={"SITEMON_LOG_LEVELS": "{}"})
        one = job.run(settings={"SITEMON_LOG_LEVELS": '{"scrapy.middleware": "WARNING"}'})
    for run in (debug, asked, one):
        assert "Dumping Scrapy stats" in run.log
    assert "DEBUG: Crawled (200)" in debug.log
    assert "Enabled downloader middlewares" in asked.log
    assert "Enabled downloader middlewares" not in one.log


@pytest.mark.parametrize(
    ("priority", "status"),
    [
        (900, "ok"),  # behind the chain: it fails on the rows
        (150, "failed"),  # inside the chain: it fails on a file, and on the site's end
    ],
)
def test_a_users_broken_pipeline_is_logged_and_ends_the_run(
    monitor: MakeMonitor, priority: int, status: str
) -> None:
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url])
        addons = json.dumps({"tests.shell.test_log.WithBrokenPipeline": 0})
        run = job.run(settings={"ADDONS": addons, "TEST_PRIORITY": priority})
    assert "RuntimeError: a pipeline of the user broke" in run.log
    assert run.records["OUTPUT.json"]["sites"][0]["status"] == status
    assert run.rows == []


class BrokenPipeline:
    """Fails on whatever comes."""

    def process_item(self, item: object) -> object:
        raise RuntimeError("a pipeline of the user broke")


class WithBrokenPipeline:
    """An add-on that puts the pipeline at TEST_PRIORITY."""

    def update_settings(self, settings: BaseSettings) -> None:
        priority = settings.getint("TEST_PRIORITY")
        settings["ITEM_PIPELINES"]["tests.shell.test_log.BrokenPipeline"] = priority
