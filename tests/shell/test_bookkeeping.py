"""Nothing lost, nothing twice: recovery of killed runs, two runs at once, damaged snapshots."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.crash import LedgerSink, campaign
from tests.crawl import read_rows
from tests.world import Site, World, robots, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeMonitor
    from tests.crawl import Crawl


def pages(*names: str) -> dict[str, Any]:
    return {"/robots.txt": robots(["/s.xml"]), "/s.xml": urlset([(f"/{n}", None) for n in names])}


@pytest.mark.parametrize("seed", [3])
def test_killed_runs_lose_nothing_and_tell_nothing_twice(tmp_path: Path, seed: int) -> None:
    """[D2] [D5]: twelve kills at random instants and steps; `make crash` runs thousands."""
    stories: list[str] = []
    killed, _ = campaign(12, seed, tmp_path, stories.append)
    assert killed >= 12
    assert len(stories) >= 2  # one with a feed, one with a sink that can answer


def test_of_two_runs_on_one_site_one_wins_and_the_other_leaves_nothing(
    monitor: MakeMonitor,
) -> None:
    """[D6]: the site's lock decides; the loser says `locked` in its row and saves nothing."""
    site = Site(pages("a", "b"))
    with World(site):
        first = monitor(sites=[site.url])
        first.run()
        site.set("/robots.txt", robots(["/s.xml"]).but(delay=2.0))
        site.set("/s.xml", urlset([("/a", None), ("/c", None)]))
        second = monitor(sites=[site.url])
        second.state = first.state
        runs: list[Crawl] = []
        threads = [
            threading.Thread(target=lambda m=m: runs.append(m.run())) for m in (first, second)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        loser, winner = sorted(runs, key=lambda run: run.site["status"] == "ok")
        assert (loser.site["status"], loser.site["errorType"]) == ("skipped", "locked")
        assert loser.changes == []
        assert winner.told() == {("added", f"{site.url}/c"), ("removed", f"{site.url}/b")}
        assert first.snapshot()["generation"] == 2


def test_the_lock_of_a_dead_run_is_free(monitor: MakeMonitor) -> None:
    """[D6]: a lock lives as long as its process, however that ends."""
    site = Site(pages("a"))
    with World(site):
        job = monitor(sites=[site.url])
        job.run()
        assert job.run().site["status"] == "ok"


def test_a_delivery_that_arrived_in_part_is_settled_exactly(
    monitor: MakeMonitor, tmp_path: Path
) -> None:
    """[D5]: what the sink has of a killed run's plan is committed, the rest is told next."""
    ledger = tmp_path / "ledger.jsonl"
    settings = {"SITEMON_SINK": "tests.crash.LedgerSink", "CRASH_LEDGER": ledger}
    site = Site(pages("a"))
    with World(site):
        job = monitor(sites=[site.url])
        job.run(settings=settings)
        site.set("/s.xml", urlset([(f"/{n}", None) for n in "abcde"]))
        dying = {**settings, "SITEMON_SINK": "tests.shell.test_bookkeeping.DyingSink"}
        assert job.run(settings=dying).exit_code == -9
        assert len(read_rows(ledger)) == 2
        run = job.run(settings=settings)
        assert run.site["added"] == 2
        told = [row["url"] for row in read_rows(ledger)]
        assert sorted(told) == [f"{site.url}/{n}" for n in "bcde"]


class DyingSink(LedgerSink):
    """Takes two rows, then its process is killed."""

    async def deliver(self, rows: Any) -> int:
        import os
        import signal

        await super().deliver(rows[:2])
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


DAMAGE = {
    "not JSON": b"{",
    "another shape": b'{"site": 1}',
    "empty": b"",
    "another site's": b'{"site":"https://other.example","generation":1,"run":"r",'
    b'"at":"2026-10-01T00:00:00Z","baseline_at":"2026-10-01T00:00:00Z"}',
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_snapshot_is_never_overwritten(monitor: MakeMonitor, name: str) -> None:
    """[D7]: the site fails with its reason and the way out; the bytes stay as they are."""
    site = Site(pages("a"))
    with World(site):
        job = monitor(sites=[site.url])
        job.run()
        (manifest,) = job.state.glob("*/sites/*/manifest.json")
        manifest.write_bytes(DAMAGE[name])
        run = job.run()
        assert (run.site["status"], run.site["errorType"]) == ("failed", "snapshot_damaged")
        assert "startOver" in run.site["error"]
        assert run.exit_code == 1
        assert manifest.read_bytes() == DAMAGE[name]
        again = job.run(startOver=True)
        assert (again.site["status"], again.site["baseline"]) == ("ok", "created")


def test_a_newer_snapshot_is_left_alone(monitor: MakeMonitor) -> None:
    """[D7]: a manifest of a later format belongs to a later sitemon."""
    site = Site(pages("a"))
    with World(site):
        job = monitor(sites=[site.url])
        job.run()
        (path,) = job.state.glob("*/sites/*/manifest.json")
        newer = json.dumps({"format": 99, "more": "than we know"})
        path.write_text(newer)
        run = job.run()
        assert (run.site["status"], run.site["errorType"]) == ("failed", "snapshot_newer")
        assert path.read_text() == newer


def test_a_missing_segment_is_damage_not_a_change(monitor: MakeMonitor) -> None:
    """[D7] [G]: what cannot be compared is not compared."""
    site = Site(pages("a", "b"))
    with World(site):
        job = monitor(sites=[site.url])
        job.run()
        for segment in job.state.glob("*/sites/*/segments/*"):
            segment.unlink()
        site.set("/s.xml", urlset([("/a", None), ("/c", None)]))
        run = job.run()
        assert (run.site["status"], run.site["errorType"]) == ("failed", "snapshot_damaged")
        assert run.changes == []


def test_ten_generations_are_kept_and_nothing_else(monitor: MakeMonitor) -> None:
    """[D7]: the last ten manifests and the segments that they need, no garbage."""
    site = Site(pages("a"))
    with World(site):
        job = monitor(sites=[site.url])
        for day in range(12):
            site.set("/s.xml", urlset([(f"/{n}", None) for n in range(day + 2)]))
            job.run()
        (folder,) = job.state.glob("*/sites/*")
        generations = sorted(int(path.stem) for path in (folder / "generations").iterdir())
        assert generations == list(range(3, 13))
        assert len(list((folder / "segments").iterdir())) == 10
