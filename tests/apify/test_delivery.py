"""The Actor's rows: charged as they are pushed, owed where they are not, never twice."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.apify.home import CHANGE, PRICES, URL, ActorRun, Home, pages
from tests.world import Site, World, index, robots, urlset

if TYPE_CHECKING:
    from pathlib import Path

NEW = 12
"""Pages that are new on day 2."""


def expected(site: Site, first: int, last: int) -> list[tuple[str, str]]:
    return [("added", f"{site.url}/p/{n:04}") for n in range(first, last)]


def test_two_runs_in_a_row(site: Site, home: Home) -> None:
    """[C1] §3: a baseline, then its changes; records in the default store; nothing is charged."""
    site.serve(pages(5))
    second = home.run()
    assert second.told() == expected(site, 3, 5)
    assert second.rows[-1]["type"] == "site"
    assert second.records["OUTPUT"]["result"] == "ok"
    assert second.records["OUTPUT"]["totals"]["changeRows"] == 2
    assert second.records["SKIPPED"] == []
    assert site.url.partition("//")[2] in second.records["SUMMARY.md"].replace("\\", "")
    assert second.message == "1 site; 2 changes"
    assert second.charged == Counter()
    history = [path for key, path in home.store().items() if ".history-" in key]
    assert len(history[0].read_bytes().splitlines()) == 1 + 2  # the record's first line proves it


@pytest.mark.parametrize(
    ("budget", "told"),
    [(0.0, 0), (CHANGE * 0.9, 0), (CHANGE * 5.5, 5), (CHANGE * NEW, NEW), (1.0, NEW)],
    ids=["nothing", "less than a row", "inside a chunk", "exactly all", "enough"],
)
def test_the_users_maximum_cost_ends_delivery_exactly(
    site: Site, home: Home, budget: float, told: int
) -> None:
    """§8 [D4]: what was paid is in the dataset, the rest comes with the next run, once."""
    site.serve(pages(3 + NEW))
    cut = home.run(budget=budget)
    assert cut.told() == expected(site, 3, 3 + told)
    assert cut.charged["change-detected"] == told
    assert cut.exit_code == 0
    if told < NEW:
        assert (cut.site["status"], cut.site["stopReason"]) == ("partial", "charge-limit")
        assert cut.records["OUTPUT"]["stopReason"] == "charge-limit"
        assert "maximum cost" in cut.message
    rest = home.run(budget=1.0)
    assert rest.told() == expected(site, 3 + told, 3 + NEW)
    assert rest.charged["change-detected"] == NEW - told


def test_a_budget_that_ends_in_the_second_chunk(site: Site, home: Home) -> None:
    """[D1] [D2]: chunks are pushed one after the other; the commit records exactly the prefix."""
    site.serve(pages(703))
    cut = home.run(budget=CHANGE * 600.5)
    assert (len(cut.told()), cut.charged["change-detected"]) == (600, 600)
    rest = home.run(budget=10.0)
    assert sorted(cut.told() + rest.told()) == expected(site, 3, 703)


def test_a_budget_that_ends_between_sites_gives_every_site_its_free_row(tmp_path: Path) -> None:
    """§8: all sites have a row, those cut short and those not begun as well."""
    with World(*(Site(pages(3)) for _ in range(4))) as world:
        sites = world.sites
        home = Home(tmp_path, sites=[site.url for site in sites], maxConcurrentSites=1)
        home.run()
        for site in sites:
            site.serve(pages(5))
        cut = home.run(budget=CHANGE * 2)
        assert len(cut.told()) == cut.charged["change-detected"] == 2
        rows = {row["site"]: row for row in cut.of("site")}
        assert [rows[site.url]["status"] for site in sites] == ["ok", "partial", *["skipped"] * 2]
        rest = home.run(budget=1.0)
        assert sorted(cut.told() + rest.told()) == sorted(
            row for site in sites for row in expected(site, 3, 5)
        )


def test_url_rows_are_charged_as_listed(site: Site, tmp_path: Path) -> None:
    """§8: `url-listed` a url row; the site row is free."""
    site.serve(pages(10))
    home = Home(tmp_path, sites=[site.url], outputMode="urls_only")
    cut = home.run(budget=URL * 7.5)
    assert len(cut.of("url")) == cut.charged["url-listed"] == 7
    assert cut.site["stopReason"] == "charge-limit"
    assert "sitemon-default" not in {p.name for p in (home.storage / "key_value_stores").iterdir()}


def test_max_urls_names_the_stop_when_it_comes_first(site: Site, tmp_path: Path) -> None:
    """§1 §8: of maxUrls and the cost limit the first one names the stop."""
    site.serve(pages(10))
    home = Home(tmp_path, sites=[site.url], outputMode="urls_only", maxUrls=4)
    run = home.run(budget=URL * 7.5)
    assert (len(run.of("url")), run.site["stopReason"]) == (4, "max-rows")


STEPS = [
    {"step": "write", "nth": nth, "when": when} for nth in (1, 3, 5) for when in ("before", "after")
]
STEPS += [{"step": step, "when": when} for step in ("commit", "site") for when in ("before",)]
STEPS += [{"step": "push", "when": when} for when in ("before", "after")]
STEPS += [{"step": "item", "nth": 4, "when": "after"}]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: "-".join(map(str, s.values())))
def test_a_killed_run_is_settled_by_the_next_one(
    site: Site, home: Home, step: dict[str, Any]
) -> None:
    """[D5]: whatever the step, each change is in the dataset once after the next run."""
    site.serve(pages(3 + NEW))
    dead = home.run(plan=step | {"what": "kill"}, budget=1.0)
    assert dead.exit_code == -signal.SIGKILL
    if step["step"] != "item":  # there the row in hand was not charged yet
        assert dead.charged["change-detected"] == len(dead.told())
    after = home.run(keep=True, budget=1.0)
    told = after.told()
    if step["step"] == "item":
        # The local storage forgets how many rows it held and writes over those of a cut push; the
        # platform takes a chunk whole. What was not seen to arrive is told.
        assert set(expected(site, 3, 3 + NEW)) - set(told) <= set(dead.told())
        return
    assert told == expected(site, 3, 3 + NEW)
    assert after.charged["change-detected"] + 0 == NEW


@pytest.mark.parametrize(
    ("mode", "step"),
    [
        ("changes_only", {"step": "push", "nth": 1, "when": "after"}),
        ("changes_only", {"step": "site", "when": "after"}),
        ("urls_and_changes", {"step": "push", "nth": 2, "when": "before"}),
        ("urls_and_changes", {"step": "push", "nth": 2, "when": "after"}),
        ("urls_and_changes", {"step": "site", "when": "before"}),
        ("urls_only", {"step": "push", "nth": 1, "when": "after"}),
        ("urls_only", {"step": "site", "when": "after"}),
    ],
    ids=lambda s: s if isinstance(s, str) else "-".join(map(str, s.values())),
)
def test_a_restarted_run_goes_on_and_repeats_nothing(
    tmp_path: Path, step: dict[str, Any], mode: str
) -> None:
    """[D5]: the same run on the same dataset: no row twice, none charged twice, none lost."""
    with World(Site(pages(3)), Site(pages(3))) as world:
        sites = world.sites
        home = Home(
            tmp_path, sites=[site.url for site in sites], outputMode=mode, maxConcurrentSites=1
        )
        home.run(outputMode="changes_only")
        for site in sites:
            site.serve(pages(3 + NEW))
        dead = home.run(run_id="moved", plan=step | {"what": "kill"}, budget=1.0)
        assert dead.exit_code == -signal.SIGKILL
        again = home.run(run_id="moved", keep=True, budget=1.0, charged=dead.charged)
        changes = sorted(row for site in sites for row in expected(site, 3, 3 + NEW))
        assert again.told() == ([] if mode == "urls_only" else changes)
        urls = sorted(row["url"] for row in again.of("url"))
        listed = sorted(f"{site.url}/p/{n:04}" for site in sites for n in range(3 + NEW))
        assert urls == ([] if mode == "changes_only" else listed)
        assert again.charged["change-detected"] == len(again.told())
        assert again.charged["url-listed"] == len(urls)
        assert {row["site"] for row in again.of("site")} == {site.url for site in sites}
        assert sum(s["changesPushed"] for s in again.records["OUTPUT"]["sites"]) == len(
            again.told()
        )


def test_a_saved_site_is_not_read_again_by_a_restarted_run(site: Site, home: Home) -> None:
    """[D5] §2: killed between commit and site row, the restart says `unknown`, without requests."""
    site.serve(pages(5))
    home.run(run_id="moved", plan={"step": "site", "when": "before", "what": "kill"})
    requests = len(site.requests)
    again = home.run(run_id="moved", keep=True)
    assert (again.site["status"], again.site["baseline"]) == ("ok", "unknown")
    assert again.site["changesPushed"] == 2
    assert len(site.requests) == requests
    assert again.told() == expected(site, 3, 5)


def test_a_migrating_run_stays_alive_and_goes_on_elsewhere(
    site: Site, home: Home, tmp_path: Path
) -> None:
    """MIGRATING: no further row, what was delivered is saved, the process waits to be killed."""
    site.serve(pages(703))
    plan = {"step": "push", "nth": 1, "when": "after", "what": "migrate"}
    process = home.start(run_id="moved", plan=plan, budget=10.0)
    deadline = time.monotonic() + 30
    while "waiting for the platform" not in (tmp_path / "log.txt").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert process.is_alive()
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    moved = home.left(process)
    assert (len(moved.told()), moved.of("site")) == (500, [])
    again = home.run(run_id="moved", keep=True, budget=10.0, charged=moved.charged)
    assert again.told() == expected(site, 3, 703)
    assert again.charged["change-detected"] == 700
    assert again.site["changesPushed"] == 700
    assert home.run().told() == []


@pytest.mark.parametrize("what", ["abort", "term"])
@pytest.mark.parametrize("step", ["answer", "push"])
def test_an_aborted_run_saves_what_it_delivered(tmp_path: Path, what: str, step: str) -> None:
    """[D4] [C15]: no further charged row, every site a row, and the next run tells the rest."""
    with World(*(Site(pages(3)) for _ in range(3))) as world:
        sites = world.sites
        home = Home(tmp_path, sites=[site.url for site in sites], maxConcurrentSites=1)
        home.run()
        for site in sites:
            site.serve(pages(503 + NEW))
        plan = {"step": step, "nth": 1, "when": "after", "what": what}
        begun = time.monotonic()
        cut = home.run(plan=plan, budget=10.0)
        assert time.monotonic() - begun < 20
        assert len(cut.told()) == cut.charged["change-detected"] == (500 if step == "push" else 0)
        rows = {row["site"]: row for row in cut.of("site")}
        statuses = [rows[site.url]["status"] for site in sites]
        assert statuses == ["partial", "skipped", "skipped"]
        assert {row["stopReason"] for row in rows.values()} == {"aborted"}
        assert cut.records["OUTPUT"]["stopReason"] == "aborted"
        assert cut.exit_code == 0
        rest = home.run(budget=10.0)
        assert sorted(cut.told() + rest.told()) == sorted(
            row for site in sites for row in expected(site, 3, 503 + NEW)
        )


def test_an_abort_does_not_wait_for_a_slow_server(tmp_path: Path) -> None:
    """[D4]: the bookkeeping is done within 20 seconds, whatever a server does."""
    slow = {"/robots.txt": robots(["/i.xml"]), "/i.xml": index(["/a.xml", "/b.xml"])}
    held = urlset(["/a"]).but(fault="timeout")
    with World(Site({**slow, "/a.xml": held, "/b.xml": held})) as world:
        site = world.sites[0]
        home = Home(tmp_path, sites=[site.url], requestTimeout=60)
        process = home.start()
        begun = time.monotonic()
        while "/a.xml" not in site.paths():
            assert time.monotonic() - begun < 30
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGTERM)
        process.join(20)
        run = home.left(process)
        assert run.exit_code == 0
        assert run.site["stopReason"] == "aborted"


def test_the_time_limit_stops_a_run_a_minute_before(site: Site, tmp_path: Path) -> None:
    """§2: stopReason `time-limit`, cleanly, instead of a kill by the platform."""
    home = Home(tmp_path, sites=[site.url])
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
    run = home.run(env={"ACTOR_TIMEOUT_AT": soon})
    assert run.site["stopReason"] == "time-limit"
    assert "time limit" in run.message


def test_a_push_that_fails_ends_the_sites_delivery_and_is_settled(site: Site, home: Home) -> None:
    """[D4]: nobody knows what arrived, so nothing is saved until the next run has asked."""
    site.serve(pages(703))
    run = home.run(plan={"step": "push", "nth": 2, "what": "fail"}, budget=10.0)
    assert (run.site["status"], run.site["errorType"]) == ("partial", "store_failed")
    assert len(run.told()) == run.charged["change-detected"] == 500
    rest = home.run(keep=True, budget=10.0)
    assert rest.told() == expected(site, 3, 703)


def test_a_feed_gets_the_rows_as_well(site: Site, tmp_path: Path) -> None:
    """§5: rows re-enter as items when FEEDS is set."""
    home = Home(tmp_path, sites=[site.url], firstRun="report")
    feed = tmp_path / "feed.jsonl"
    run = home.run(env={"SITEMON_TEST_FEED": str(feed)})
    rows = [json.loads(line) for line in feed.read_text().splitlines()]
    assert [row["type"] for row in rows] == ["change"] * 3 + ["site"]
    assert len(run.told()) == 3


def test_the_events_are_those_that_are_priced() -> None:
    """§8: what rows are charged as, and only that, has a price, and the platform's own start."""
    from sitemon_spider.apify.sink import EVENTS

    assert set(PRICES) == {"apify-actor-start", *EVENTS.values()}
    prices = {name: event["eventPriceUsd"] for name, event in PRICES.items()}
    assert prices == {
        "apify-actor-start": 0.00005,
        "change-detected": 0.002,
        "url-listed": 0.0003,
    }


def test_a_run_fails_only_when_every_site_failed(site: Site, tmp_path: Path) -> None:
    """§2: the exit code."""
    dead = "http://127.0.0.1:1"
    home = Home(tmp_path)
    assert home.run(sites=[dead]).exit_code == 1
    mixed: ActorRun = home.run(sites=[dead, site.url])
    assert mixed.exit_code == 0
    assert mixed.message == "2 sites; 0 changes; 1 failed"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sites": ["x.example"], "maxUrlz": 5}, "did you mean maxUrls"),
        ({"sites": ["x.example"], "maxUrls": -1}, "maxUrls: should be greater than or equal to 0"),
    ],
)
def test_a_wrong_input_ends_the_run_with_a_sentence(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    """§1: before any request or row."""
    run = Home(tmp_path).run(**options)
    assert run.exit_code == 1
    assert sentence in run.message
    assert run.rows == []


def test_an_empty_input_is_a_demo_and_the_default_limits_the_cost() -> None:
    """§1: 100 URLs of one public site; maxUrls is 1,000 here where nothing is said."""
    from sitemon_spider.apify.actor import input_of

    demo = input_of(None)
    assert (demo["maxUrls"], demo["outputMode"], len(demo["sites"])) == (100, "urls_only", 1)
    assert input_of({"sites": ["x.example"]})["maxUrls"] == 1_000
    assert input_of({"sites": ["x.example"], "maxUrls": 0})["maxUrls"] == 0
