"""One call runs the real Actor in a process of its own, on the SDK's local storage.

`Home(folder).run(sites=[…])` is a run; the folder keeps datasets and key-value stores as the
platform would, so that the next run goes on from them. A `plan` makes the process die, or an event
of the platform arrive, at a step of the storages.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import runpy
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.crawl import QUICK, ROOT
from tests.world import Answer, robots, urlset

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.preload", "tests.apify.preload"])

PRICES: dict[str, Any] = json.loads((ROOT / ".actor/pay_per_event.json").read_text())
CHANGE, URL = (PRICES[name]["eventPriceUsd"] for name in ("change-detected", "url-listed"))


def pages(count: int) -> dict[str, Answer]:
    """A site of so many pages in one sitemap."""
    entries = [(f"/p/{n:04}", None) for n in range(count)]
    return {"/robots.txt": robots(["/s.xml"]), "/s.xml": urlset(entries)}


@dataclass
class ActorRun:
    """What one run left: exit code, rows of the dataset in order, records, charges, its log."""

    exit_code: int
    rows: list[dict[str, Any]]
    records: dict[str, Any]
    charged: Counter[str]
    log: str
    peak_mb: float

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The rows of a type."""
        return [row for row in self.rows if row["type"] == kind]

    @property
    def site(self) -> dict[str, Any]:
        """The one site row."""
        (row,) = self.of("site")
        return row

    def told(self) -> list[tuple[str, str]]:
        """The change rows as (changeType, url), sorted; what was told twice stands here twice."""
        return sorted((row["changeType"], row["url"]) for row in self.of("change"))

    @property
    def message(self) -> str:
        """The last status message."""
        return self.log.rpartition("status message]: ")[2].splitlines()[0]


class Home:
    """The storages of one user and the options of the runs."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.storage = folder / "storage"
        self.options = QUICK | options
        self.runs = 0

    def run(
        self,
        *,
        run_id: str | None = None,
        keep: bool = False,
        budget: float | None = None,
        charged: Counter[str] | None = None,
        plan: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> ActorRun:
        """Run the Actor once.

        `keep` leaves the default dataset as it is, as a restart of a run does; `budget` is the
        user's maximum cost in USD and turns pay-per-event on, `charged` what the run was charged
        before.
        """
        process = self.start(
            run_id=run_id,
            keep=keep,
            budget=budget,
            charged=charged,
            plan=plan,
            env=env,
            **options,
        )
        process.join(60)
        assert process.exitcode is not None, f"the Actor hangs:\n{self._log()}"
        return self.left(process)

    def start(self, **kwargs: Any) -> Any:
        """Begin a run, as `run`; `left` tells what it left."""
        self.runs += 1
        names = ("run_id", "keep", "budget", "charged", "plan", "env")
        run_id, keep, budget, charged, plan, env = (kwargs.pop(n, None) for n in names)
        options = {k: v for k, v in (self.options | kwargs).items() if v is not None}
        store = self.storage / "key_value_stores/default"
        store.mkdir(parents=True, exist_ok=True)
        (store / "INPUT.json").write_text(json.dumps(options))
        variables = {
            "ACTOR_RUN_ID": run_id or f"run{self.runs}",
            "APIFY_PURGE_ON_START": "0" if keep else "1",
            "SCRAPY_SETTINGS_MODULE": "tests.apify.settings",
            "APIFY_LOCAL_STORAGE_DIR": str(self.storage),
            "CRAWLEE_STORAGE_DIR": str(self.storage),
        }
        if budget is not None:
            events = {
                name: {"eventTitle": event["eventTitle"], "eventPriceUsd": event["eventPriceUsd"]}
                for name, event in PRICES.items()
            }
            events["apify-default-dataset-item"] = {"eventTitle": "item", "eventPriceUsd": 0}
            variables |= {
                "ACTOR_TEST_PAY_PER_EVENT": "1",
                "ACTOR_MAX_TOTAL_CHARGE_USD": str(budget),
                "APIFY_ACTOR_PRICING_INFO": json.dumps(
                    {
                        "pricingModel": "PAY_PER_EVENT",
                        "pricingPerEvent": {"actorChargeEvents": events},
                    }
                ),
                "APIFY_CHARGED_ACTOR_EVENT_COUNTS": json.dumps(charged or {"change-detected": 0}),
            }
        process = FORKS.Process(
            target=_child, args=(str(self.folder), variables | (env or {}), plan)
        )
        process.start()
        return process

    def left(self, process: Any) -> ActorRun:
        """What an ended process left."""
        charges = Counter[str]()
        for charge in self._dataset("charging-log"):
            charges[charge["event_name"]] += charge["charged_count"]
        code = process.exitcode
        process.close()
        return ActorRun(
            exit_code=code,
            rows=self._dataset("default"),
            records=self._records(),
            charged=charges,
            log=self._log(),
            peak_mb=self._peak(),
        )

    def store(self, monitor: str = "default") -> dict[str, Path]:
        """The files of the monitor's named store by key."""
        folder = self.storage / f"key_value_stores/sitemon-{monitor}"
        return {
            unquote(path.name): path
            for path in folder.glob("*")
            if not path.name.endswith("__metadata__.json")
        }

    def _dataset(self, name: str) -> list[dict[str, Any]]:
        folder = self.storage / "datasets" / name
        return [json.loads(path.read_text()) for path in sorted(folder.glob("[0-9]*.json"))]

    def _records(self) -> dict[str, Any]:
        folder = self.storage / "key_value_stores/default"
        found: dict[str, Any] = {}
        for path in folder.glob("[OS]*"):
            if not path.name.endswith("__metadata__.json"):
                text = path.read_text()
                found[path.name] = text if path.suffix == ".md" else json.loads(text)
        return found

    def _peak(self) -> float:
        path = self.folder / "peak.txt"
        return int(path.read_text()) / 1024 if path.exists() else 0.0

    def _log(self) -> str:
        return (self.folder / "log.txt").read_text(errors="replace")


def _child(here: str, variables: dict[str, str], plan: dict[str, Any] | None) -> None:
    log = os.open(f"{here}/log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(variables)
    os.chdir(here)
    sys.path.insert(0, str(ROOT))
    sys.argv = ["sitemon_spider"]
    from sitemon_spider import run
    from sitemon_spider.apify import store

    if "SITEMON_TEST_LEASE" not in variables:
        store.READ_BACK = 0.05
    if "SITEMON_TEST_KEPT" in variables:
        run.KEPT_GENERATIONS = int(variables["SITEMON_TEST_KEPT"])
    if plan:
        _break_step(plan)
    try:
        runpy.run_module("sitemon_spider", run_name="__main__")
    finally:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Path("peak.txt").write_text(str(peak))


def _break_step(plan: dict[str, Any]) -> None:
    """Let the n-th call of a step die, fail or meet an event, before or after it.

    Steps: `write` (a record of the named store), `push` (a chunk of rows, pushed and charged),
    `item` (a row reaches the disk), `commit` (a manifest is stored), `answer` (a response comes).
    """
    from apify import Actor
    from apify.storage_clients._file_system._dataset_client import ApifyFileSystemDatasetClient
    from crawlee.events._types import Event, EventAbortingData, EventMigratingData

    from sitemon_spider.apify.record import Records
    from sitemon_spider.apify.sink import ApifySink
    from sitemon_spider.spiders.sitemon import SitemonSpider

    owner, name = {
        "write": (Records, "_write"),
        "commit": (Records, "_write"),
        "push": (ApifySink, "_push"),
        "site": (ApifySink, "push_site"),
        "item": (ApifyFileSystemDatasetClient, "_push_item"),
        "answer": (SitemonSpider, "parse"),
    }[plan["step"]]
    whole = getattr(owner, name)
    calls = [0]

    def act() -> None:
        what = plan["what"]
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "term":
            os.kill(os.getpid(), signal.SIGTERM)
        elif what == "abort":
            Actor.event_manager.emit(event=Event.ABORTING, event_data=EventAbortingData())
        elif what == "migrate":
            Actor.event_manager.emit(event=Event.MIGRATING, event_data=EventMigratingData())
        elif what == "fail":
            raise OSError("the storage is down")

    def counts(*args: Any) -> bool:
        if plan["step"] == "commit" and not str(args[1]).endswith(".manifest"):
            return False
        calls[0] += 1
        return calls[0] == plan.get("nth", 1)

    async def broken(*args: Any, **kwargs: Any) -> Any:
        mine = counts(*args)
        if mine and plan.get("when", "before") == "before":
            act()
            await asyncio.sleep(0)
        result = await whole(*args, **kwargs)
        if mine and plan.get("when") == "after":
            act()
            await asyncio.sleep(0.05)
        return result

    def broken_parse(*args: Any, **kwargs: Any) -> Any:
        if counts(*args):
            act()
        return whole(*args, **kwargs)

    setattr(owner, name, broken_parse if plan["step"] == "answer" else broken)
