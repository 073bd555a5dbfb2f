"""The crash campaign: `python -m tests.crash N SEED` kills N runs at random, and nothing is lost.

An episode is one site that changes day by day. Its runs are real processes over real HTTP; some
are killed (SIGKILL or SIGTERM) at a random instant or at the n-th step of the store or of the sink,
some meet a failing disk. After each death the next run goes on from what is left. At the end all
rows that count, replayed onto the baseline, must give what the site lists:

* `feed`: rows go to a feed; those of a run count when its snapshot was committed [D3] [D5];
* `ledger`: rows go to a sink that can answer for them; every row counts, and none may come twice.

Finished episodes are noted in the folder `.crash/SEED`, so a campaign that was broken off goes on.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitemon_spider.core.urls import identity, key
from sitemon_spider.delivery.items import ItemSink
from sitemon_spider.state.files import FolderStore
from tests.crawl import FORKS, QUICK, ROOT, read_rows
from tests.world import Page, Site, World, index, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemon_spider.core.prepared import Prepared

STEPS = ("put_segment", "put_prepared", "sync", "commit", "prune", "append_history", "put_record")
"""The store's writing steps: each a place to die before, after, or with a full disk."""

DAYS = 8


class LedgerSink(ItemSink):
    """A sink that can answer for its rows: a file of JSON lines, each durable when accepted."""

    durable = True

    def _path(self) -> Path:
        return Path(self.crawler.settings["CRASH_LEDGER"])

    def position(self) -> dict[str, Any]:
        path = self._path()
        return {"offset": path.stat().st_size if path.exists() else 0}

    async def arrived(self, position: dict[str, Any] | None, prepared: Prepared) -> int | None:
        assert position is not None
        path = self._path()
        data = path.read_bytes()[position["offset"] :] if path.exists() else b""
        count = 0
        for line, (change, expected) in zip(
            [line for line in data.split(b"\n")[:-1] if line], prepared.expected(), strict=False
        ):
            row = json.loads(line)
            if (row["changeType"], key(identity(row["url"]))) != (change, expected):
                break
            count += 1
        return count

    async def deliver(self, rows: Sequence[Any]) -> int:
        for row in rows:
            with self._path().open("ab") as file:
                line = {n: getattr(row, n) for n in ("changeType", "url", "lastmodAfter")}
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        return len(rows)


def break_step(plan: dict[str, Any]) -> None:
    """Make the n-th call of a step die before or after it, or fail like a full disk."""
    step, calls = plan["step"], [0]
    owner: Any = LedgerSink if step == "deliver" else FolderStore
    whole = getattr(owner, step)

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def broken(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        mine = calls[0] == plan["nth"]
        if mine and plan["how"] in {"full", "faulty"}:
            code = errno.ENOSPC if plan["how"] == "full" else errno.EIO
            raise OSError(code, os.strerror(code))
        if mine and plan["how"] == "torn":
            store, site, name, data = args
            whole(store, site, name, data[: len(data) // 2])
            die()
        if mine and plan["how"] == "stale":
            store, site = args
            older = store.generations(site)[:-1]
            return store.generation(site, older[-1]) if older else None
        if mine and plan["how"] == "before":
            die()
        result = whole(*args, **kwargs)
        if mine and plan["how"] == "after":
            die()
        return result

    async def broken_delivery(self: LedgerSink, rows: Sequence[Any]) -> int:
        for at in range(len(rows)):
            calls[0] += 1
            if calls[0] == plan["nth"] and plan["how"] == "before":
                die()
            await whole(self, rows[at : at + 1])
            if calls[0] == plan["nth"]:
                die()
        return len(rows)

    setattr(owner, step, broken_delivery if step == "deliver" else broken)


def _child(command: list[str], here: str, plan: dict[str, Any] | None) -> None:
    log = os.open(f"{here}/log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["SCRAPY_SETTINGS_MODULE"] = "sitemon_spider.settings"
    os.chdir(ROOT)
    sys.argv = command
    if plan:
        break_step(plan)
    from scrapy.cmdline import execute as scrapy

    scrapy(command)


class Episode:
    """One site, its days, and the truth."""

    def __init__(self, seed: int, folder: Path, sink: str) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.sink = sink
        self.ledger = folder / "ledger.jsonl"
        self.pages = {f"/p/{n}": "2026-09-01" for n in range(30)}
        self.kills = self.runs = self.born = 0
        self.now = 0
        self.told: list[dict[str, Any]] = []

    def run(self) -> None:
        """Live through the days. Raises AssertionError with the seed's story on a lost row."""
        with World(Site({}, name="site")) as world:
            site = world.sites[0]
            self._serve(site)
            if self.random.random() < 0.5:
                self._crawl(site, kill=True)
            self._crawl(site, kill=False)
            baseline = dict(self.pages)
            for _ in range(DAYS):
                self._evolve()
                self._serve(site)
                while self.random.random() < 0.6:
                    self._crawl(site, kill=True)
                if self.random.random() < 0.6:
                    self._crawl(site, kill=False)
            for _ in range(2):
                self._crawl(site, kill=False)
            if self.sink == "ledger":
                self.told = read_rows(self.ledger)
            self._check({site.url + path: date for path, date in baseline.items()}, site)

    def _evolve(self) -> None:
        choose = self.random
        for path in choose.sample(sorted(self.pages), 3):
            del self.pages[path]
        for path in choose.sample(sorted(self.pages), 4):
            self.pages[path] = f"2026-10-{choose.randrange(1, 29):02}T{choose.randrange(24):02}:00Z"
        for _ in range(choose.randrange(3, 6)):
            self.born += 1
            self.pages[f"/new/{self.born}"] = f"2026-11-{choose.randrange(1, 29):02}"

    def _serve(self, site: Site) -> None:
        files: dict[str, Page] = {}
        for number in range(3):
            mine = [e for e in self.pages.items() if hash_of(e[0]) % 3 == number]
            files[f"/s{number}.xml"] = urlset([*mine, ("/always/here", None)]).but(etag=True)
        site.serve({"/robots.txt": robots(["/i.xml"]), "/i.xml": index(list(files)), **files})

    def _crawl(self, site: Site, *, kill: bool) -> None:
        self.runs += 1
        self.now += 1
        run_id = f"run-{self.runs}"
        feed = self.folder / f"{run_id}.jsonl"
        options = QUICK | {
            "sites": site.url,
            "holdBackShare": 0,
            "ignoreSiteWideStamps": False,
            "_job": run_id,
        }
        settings = {
            "SITEMON_STATE": self.folder / "state",
            "SITEMON_ALLOW_PRIVATE": True,
            "SITEMON_NOW": f"2026-12-{1 + self.now // 24:02}T{self.now % 24:02}:00:00+00:00",
        }
        if self.sink == "ledger":
            settings |= {"SITEMON_SINK": "tests.crash.LedgerSink", "CRASH_LEDGER": self.ledger}
        command = ["scrapy", "crawl", "sitemon", "-O", f"{feed}:jsonlines"]
        command += [x for n, v in options.items() for x in ("-a", f"{n}={v}")]
        command += [x for n, v in settings.items() for x in ("-s", f"{n}={v}")]
        plan = self._plan() if kill else None
        process = FORKS.Process(target=_child, args=(command, str(self.folder), plan))
        process.start()
        if kill and plan is None:
            time.sleep(self.random.uniform(0.05, 0.7))
            sign = self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, sign)
        process.join(60)
        assert process.exitcode is not None, f"a run hangs: {self._story()}"
        self.kills += process.exitcode != 0
        if not kill:
            assert process.exitcode == 0, f"a quiet run failed: {self._story()}"
        process.close()
        if self.sink == "feed" and self._committed() == run_id:
            self.told += [row for row in read_rows(feed) if row["type"] == "change"]

    def _plan(self) -> dict[str, Any] | None:
        choose = self.random
        if choose.random() < 0.4:
            return None
        steps = [*STEPS, *(["deliver"] * 3 if self.sink == "ledger" else [])]
        how = choose.choice(["before", "after", "full", "faulty"])
        step = choose.choice(steps)
        if choose.random() < 0.1:
            return {"step": "put_segment", "nth": choose.randrange(1, 4), "how": "torn"}
        if choose.random() < 0.1:
            return {"step": "manifest", "nth": 1, "how": "stale"}
        if step == "deliver":
            how = choose.choice(["before", "after"])
        return {"step": step, "nth": choose.randrange(1, 8 if step == "deliver" else 4), "how": how}

    def _committed(self) -> str | None:
        manifests = list(self.folder.glob("state/*/sites/*/manifest.json"))
        return json.loads(manifests[0].read_text())["run"] if manifests else None

    def _check(self, known: dict[str, str | None], site: Site) -> None:
        for row in self.told:
            url, change = row["url"], row["changeType"]
            if change == "added":
                assert url not in known, f"{url} added twice: {self._story()}"
                known[url] = row["lastmodAfter"]
            elif change == "removed":
                assert known.pop(url, None) is not None, f"{url} removed twice: {self._story()}"
            else:
                assert url in known, f"{url} changed but unknown: {self._story()}"
                assert known[url] != row["lastmodAfter"], f"{url} twice: {self._story()}"
                known[url] = row["lastmodAfter"]
        want = {site.url + path: date for path, date in self.pages.items()}
        lost = {u: (known.get(u), want.get(u)) for u in known.keys() | want.keys()}
        lost = {u: pair for u, pair in lost.items() if pair[0] != pair[1]}
        assert not lost, f"lost: {lost}: {self._story()}"

    def _story(self) -> str:
        log = (self.folder / "log.txt").read_text(errors="replace")
        return f"{self.sink} after {self.runs} runs, folder {self.folder}\n{log[-3000:]}"


def hash_of(path: str) -> int:
    """A place for a page that does not change between days."""
    return sum(path.encode())


def campaign(
    kills: int, seed: int, home: Path, report: Callable[[str], None] = print
) -> tuple[int, int]:
    """Run episodes until so many runs were killed: (kills, runs). Raises on the first lost row.

    `home` keeps the note of finished episodes.
    """
    home.mkdir(parents=True, exist_ok=True)
    done = home / "done.jsonl"
    finished = read_rows(done)
    killed, runs = sum(e["kills"] for e in finished), sum(e["runs"] for e in finished)
    number = len(finished)
    while killed < kills:
        with tempfile.TemporaryDirectory(prefix="sitemon-crash-") as folder:
            episode = Episode(seed * 100_003 + number, Path(folder), ("feed", "ledger")[number % 2])
            episode.run()
        with done.open("a") as file:
            file.write(json.dumps({"kills": episode.kills, "runs": episode.runs}) + "\n")
        killed, runs, number = killed + episode.kills, runs + episode.runs, number + 1
        report(f"{killed} of {kills} runs killed, {runs} runs, {number} episodes, nothing lost")
    return killed, runs


if __name__ == "__main__":
    campaign(int(sys.argv[1]), int(sys.argv[2]), ROOT / ".crash" / sys.argv[2])
