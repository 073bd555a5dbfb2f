"""One call runs the real `scrapy crawl sitemon` in a process of its own and returns what it left.

The processes are forked from a server that has imported Scrapy and sitemon already, so that a test
of many days costs a fraction of a second a day.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.statscollectors import MemoryStatsCollector

from sitemon_spider.core.reasons import StopReason
from sitemon_spider.delivery.items import ItemSink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

ROOT = Path(__file__).parent.parent

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.preload"])

QUICK = {
    "ownSite": True,
    "delayPerHost": 0,
    "requestsPerSecond": 50,
    "maxRetries": 0,
    "requestTimeout": 5,
}
"""Options that spare the tests all waiting; a test of politeness says its own."""


class FileStats(MemoryStatsCollector):
    """Scrapy's stats, written as JSON where SITEMON_TEST_STATS says."""

    def _persist_stats(self, stats: dict[str, Any]) -> None:
        Path(os.environ["SITEMON_TEST_STATS"]).write_text(json.dumps(stats, default=str))


class StopEarly:
    """An extension that stops the run when the first answer has come (SITEMON_TEST_STOP)."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        crawler.signals.connect(self._answered, signals.response_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StopEarly:
        return cls(crawler)

    def _answered(self) -> None:
        self.crawler.spider.run.stop(StopReason(self.crawler.settings["SITEMON_TEST_STOP"]))


class WithStop:
    """An add-on that adds `StopEarly` to the project's extensions."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["EXTENSIONS"]["tests.crawl.StopEarly"] = 0


class BudgetSink(ItemSink):
    """Rows to the feeds, SITEMON_SINK_BUDGET of them; the rest cannot be delivered."""

    async def deliver(self, rows: Sequence[Any]) -> int:
        budget = self.crawler.settings.getint("SITEMON_SINK_BUDGET")
        return await super().deliver(rows[:budget])


@dataclass
class Crawl:
    """What one run left: its rows in order, stats, exit code, records by name, and its log."""

    rows: list[dict[str, Any]]
    stats: dict[str, Any]
    exit_code: int
    records: dict[str, Any]
    log: str
    folder: Path | None = None
    feed: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The change rows."""
        return [row for row in self.rows if row["type"] == "change"]

    @property
    def urls(self) -> list[dict[str, Any]]:
        """The url rows."""
        return [row for row in self.rows if row["type"] == "url"]

    @property
    def sites(self) -> list[dict[str, Any]]:
        """The site rows."""
        return [row for row in self.rows if row["type"] == "site"]

    @property
    def site(self) -> dict[str, Any]:
        """The one site row."""
        (row,) = self.sites
        return row

    def told(self) -> set[tuple[str, str]]:
        """The change rows as (changeType, url)."""
        return {(row["changeType"], row["url"]) for row in self.changes}


class Monitor:
    """A state folder and the options of its runs: `run()` is a day."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.options = QUICK | options
        self.state = folder / "state"
        self.days = 0

    def run(
        self,
        *,
        now: str | None = None,
        settings: dict[str, Any] | None = None,
        feed: str | None = "jsonl",
        arguments: list[str] | None = None,
        **options: Any,
    ) -> Crawl:
        """Run the command once. `feed` is the suffix of the feed, None for the default one [D8]."""
        self.days += 1
        here = self.folder / f"run-{self.days}"
        here.mkdir(parents=True)
        if now is None:
            now = f"2026-10-{self.days:02}T06:00:00+00:00"
        merged = {k: v for k, v in (self.options | options).items() if v is not None}
        rows = here / f"rows.{feed}" if feed else None
        before = self.records()
        command = ["scrapy", "crawl", "sitemon"]
        for name, value in merged.items():
            text = value if isinstance(value, str) else json.dumps(value)
            command += ["-a", f"{name}={text}"]
        for name, value in {
            "SITEMON_STATE": self.state,
            "SITEMON_ALLOW_PRIVATE": True,
            "SITEMON_NOW": now,
            "SITEMON_FIRST_BACKOFF": 0.01,
            "STATS_CLASS": "tests.crawl.FileStats",
            **(settings or {}),
        }.items():
            command += ["-s", f"{name}={value}"]
        if rows:
            command += ["-O", f"{rows}:jsonlines" if feed == "jsonl" else str(rows)]
        exit_code, log = execute([*command, *(arguments or [])], here)
        stats = here / "stats.json"
        runs = [folder for folder in self.records() if folder not in before]
        folder = runs[0] if runs else None
        if rows is None and folder is not None:
            rows = folder / "rows.jsonl"
        return Crawl(
            rows=read_rows(rows) if rows and rows.suffix == ".jsonl" else [],
            stats=json.loads(stats.read_text()) if stats.exists() else {},
            exit_code=exit_code,
            records={path.name: _record(path) for path in folder.iterdir()} if folder else {},
            log=log,
            folder=folder,
            feed=rows,
            options=merged,
        )

    def records(self) -> list[Path]:
        """The folders of the runs so far."""
        runs = self.state / merged_monitor(self.options) / "runs"
        return sorted(runs.iterdir()) if runs.exists() else []

    def snapshot(self) -> dict[str, Any]:
        """The manifest of the one site."""
        (manifest,) = self.state.glob("*/sites/*/manifest.json")
        document: dict[str, Any] = json.loads(manifest.read_text())
        return document


def merged_monitor(options: dict[str, Any]) -> str:
    """The monitor that options name."""
    return str(options.get("monitor", "default"))


def execute(command: list[str], here: Path) -> tuple[int, str]:
    """Run a scrapy command in a fresh process: its exit code, and all that it printed."""
    process = FORKS.Process(target=_child, args=(command, str(here)))
    process.start()
    process.join()
    code = process.exitcode
    process.close()
    return code if code is not None else -1, (here / "log.txt").read_text(errors="replace")


def _child(command: list[str], here: str) -> None:
    log = os.open(f"{here}/log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["SITEMON_TEST_STATS"] = f"{here}/stats.json"
    os.environ["SCRAPY_SETTINGS_MODULE"] = "sitemon_spider.settings"
    os.chdir(ROOT)
    sys.argv = command
    from scrapy.cmdline import execute as scrapy

    scrapy(command)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON lines feed."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _record(path: Path) -> Any:
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else text
