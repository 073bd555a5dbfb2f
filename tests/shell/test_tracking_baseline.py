"""The first run, its gaps, and readings cut short: [C1], the past of [C5], [C15]."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.shell.tracking import DOWN, MISSING, path, row, serve, told
from tests.world import Site, World, index, redirect, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor

STOP: dict[str, Any] = {
    "ADDONS": json.dumps({"tests.crawl.WithStop": 0}),
    "SITEMON_TEST_STOP": "aborted",
}
"""Settings of a run that is stopped when the first answer has come."""


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


def test_the_first_run_saves_and_reports_nothing(site: Site, monitor: MakeMonitor) -> None:
    """[C1]: the first run is the baseline; changes are measured between consecutive runs."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2", "/3"])
    first = job.run()
    assert first.changes == []
    assert (first.site["baseline"], first.site["urlsFound"]) == ("created", 3)
    serve(site, a=["/1", "/2", "/4"])
    second = job.run()
    assert told(second) == ["added /4", "removed /3"]
    assert second.site["baseline"] == "compared"
    serve(site, a=["/1", "/2", "/5"])
    third = job.run()
    assert told(third) == ["added /5", "removed /4"]
    assert row(third, "removed", "/4")["firstSeenAt"] == "2026-10-02T06:00:00.000Z"


def test_generations_order_the_runs_and_no_clock_does(site: Site, monitor: MakeMonitor) -> None:
    """[C1]: a clock that went backwards between two runs changes nothing."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    job.run(now="2026-10-05T06:00:00Z")
    serve(site, a=["/1", "/3"])
    assert told(job.run(now="2026-10-01T06:00:00Z")) == ["added /3", "removed /2"]
    assert job.snapshot()["generation"] == 2
    assert told(job.run(now="2026-09-30T06:00:00Z")) == []


def test_two_monitors_of_one_site_keep_two_snapshots(site: Site, monitor: MakeMonitor) -> None:
    """[C1]: what one monitor was told, another one still has to be told."""
    daily, weekly = monitor(sites=[site.url], monitor="daily"), monitor(sites=[site.url])
    weekly.state = daily.state
    serve(site, a=["/1", "/2"])
    daily.run()
    weekly.run(monitor="weekly")
    serve(site, a=["/1", "/2", "/3"])
    assert told(daily.run()) == ["added /3"]
    serve(site, a=["/1", "/2", "/3", "/4"])
    assert told(daily.run()) == ["added /4"]
    assert told(weekly.run(monitor="weekly")) == ["added /3", "added /4"]


def test_a_site_is_known_by_its_origin_and_redirects_never_change_that(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C1]: path and notation of an input do not matter, nor where its sitemap moves."""
    job = monitor()
    serve(site, a=["/1", "/2"])
    job.run(sites=[f"{site.url.upper()}/some/page?x=1"])
    pages = serve(site, a=["/1", "/3"])
    site.serve({**pages, "/sitemap.xml": redirect("/new.xml"), "/new.xml": pages["/sitemap.xml"]})
    run = job.run(sites=[site.url])
    assert run.site["site"] == site.url
    assert told(run) == ["added /3", "removed /2"]


def test_a_direct_sitemap_keeps_its_key_behind_a_redirect(site: Site, monitor: MakeMonitor) -> None:
    """[C1]: the key of a direct sitemap is its address as given, not where it leads."""
    job = monitor(sites=[f"{site.url}/old/sitemap.xml"])
    site.serve({"/old/sitemap.xml": urlset(["/1", "/2"])})
    assert job.run().site["baseline"] == "created"
    site.serve({"/old/sitemap.xml": redirect("/new.xml"), "/new.xml": urlset(["/1", "/3"])})
    run = job.run()
    assert run.site["site"] == f"{site.url}/old/sitemap.xml"
    assert told(run) == ["added /3", "removed /2"]


def test_start_over_forgets_the_snapshot(site: Site, monitor: MakeMonitor) -> None:
    """`startOver`: the run is a first one; the one behind it compares with it."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    job.run()
    serve(site, a=["/1", "/3"])
    again = job.run(startOver=True)
    assert (told(again), again.site["baseline"]) == ([], "created")
    serve(site, a=["/1"])
    run = job.run()
    assert told(run) == ["removed /3"]
    assert row(run, "removed", "/3")["firstSeenAt"] == "2026-10-02T06:00:00.000Z"


# --- the report of a first run ------------------------------------------------------------------


def test_first_run_report_reports_every_url(site: Site, monitor: MakeMonitor) -> None:
    """[C1] `firstRun=report`: all are added, those of a file first read later as well."""
    job = monitor(sites=[site.url], firstRun="report")
    serve(site, a=["/a1", "/a2"], b=DOWN)
    first = job.run()
    assert told(first) == ["added /a1", "added /a2"]
    assert first.site["baseline"] == "created"
    serve(site, a=["/a1", "/a2", "/a3"], b=["/b1", "/b2"])
    second = job.run()
    assert told(second) == ["added /a3", "added /b1", "added /b2"]
    assert second.site["urlsLearnt"] == 0
    serve(site, a=["/a1", "/a2", "/a3"], b=["/b1", "/b3"])
    assert told(job.run()) == ["added /b3", "removed /b2"]


def test_the_first_run_decides_whether_a_late_file_is_reported(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C1]: after a silent baseline `firstRun=report` comes too late to report anything."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=DOWN)
    job.run()
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    run = job.run(firstRun="report")
    assert (told(run), run.site["urlsLearnt"]) == ([], 2)


# --- gaps ---------------------------------------------------------------------------------------


def test_a_child_that_failed_on_the_baseline_day_is_learnt(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: added is told only against a known past; the gap closes with the first full reading."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=DOWN)
    first = job.run()
    assert (first.site["status"], first.site["complete"]) == ("partial", False)
    serve(site, a=["/a1", "/a2", "/a3"], b=["/b1", "/b2"])
    second = job.run()
    # /a3 may have been in /b.xml the day before: nobody can tell.
    assert (told(second), second.site["urlsLearnt"]) == ([], 3)
    serve(site, a=["/a1", "/a2", "/a3"], b=["/b1", "/b2", "/b3"])
    third = job.run()
    assert (told(third), third.site["urlsLearnt"]) == (["added /b3"], 0)


def test_a_gap_hides_neither_removed_nor_changed_urls(site: Site, monitor: MakeMonitor) -> None:
    """[C5]: only `added` needs the past that a gap leaves unknown."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/a1", "2026-09-01"), "/a2", "/a3"], b=DOWN)
    job.run()
    serve(site, a=[("/a1", "2026-09-09"), "/a2"], b=["/b1"])
    assert told(job.run()) == ["lastmod_changed /a1", "removed /a3"]


def test_a_cut_file_of_the_baseline_is_a_gap(site: Site, monitor: MakeMonitor) -> None:
    """[C5]: what stood behind the cut is as old as what stood before it."""
    job = monitor(sites=[site.url])
    entries = [f"/{n}" for n in range(1, 6)]
    serve(site, a=urlset(entries, cut_at=3))
    first = job.run()
    assert (first.site["urlsFound"], first.site["errorType"]) == (3, "truncated")
    serve(site, a=entries)
    run = job.run()
    assert (told(run), run.site["urlsLearnt"]) == ([], 2)


def test_a_new_file_is_news_unless_it_failed_on_its_first_day(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: the snapshot keeps an entry for every file listed, read or not."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"])
    job.run()
    serve(site, a=["/a1"], b=["/b1"], c=DOWN)
    assert told(job.run()) == ["added /b1"]
    serve(site, a=["/a1"], b=["/b1"], c=["/c1"])
    run = job.run()
    assert (told(run), run.site["urlsLearnt"]) == ([], 1)
    serve(site, a=["/a1"], b=["/b1"], c=["/c1", "/c2"])
    assert told(job.run()) == ["added /c2"]


def test_a_file_that_never_answers_is_no_gap_for_ever(site: Site, monitor: MakeMonitor) -> None:
    """[C5] [G]: after three runs over 24 hours the other files' new URLs are told again.

    Its own URLs are learnt when it is read at last: they may be as old as the site.
    """
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=DOWN)
    job.run(now="2026-10-01T06:00:00Z")
    serve(site, a=["/a1", "/a2"], b=DOWN)
    second = job.run(now="2026-10-01T18:00:00Z")
    assert (told(second), second.site["urlsLearnt"]) == ([], 1)
    serve(site, a=["/a1", "/a2", "/a3"], b=DOWN)
    third = job.run(now="2026-10-02T06:00:00Z")
    assert (told(third), third.site["urlsLearnt"]) == ([], 1)
    serve(site, a=["/a1", "/a2", "/a3", "/a4"], b=DOWN)
    fourth = job.run(now="2026-10-02T18:00:00Z")
    assert (told(fourth), fourth.site["urlsLearnt"]) == (["added /a4"], 0)
    serve(site, a=["/a1", "/a2", "/a3", "/a4", "/a5"], b=["/b1"])
    fifth = job.run(now="2026-10-03T06:00:00Z")
    assert (told(fifth), fifth.site["urlsLearnt"]) == (["added /a5"], 1)


def test_an_index_that_failed_on_the_baseline_day_leaves_a_gap(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: the children of an index read for the first time are learnt, they are its own."""
    job = monitor(sites=[site.url])
    pages = {
        "/robots.txt": robots(["/a.xml", "/more.xml"]),
        "/a.xml": urlset(["/a1"]),
        "/b.xml": urlset(["/b1"]),
    }
    site.serve({**pages, "/more.xml": DOWN})
    job.run()
    site.serve({**pages, "/more.xml": index(["/b.xml"])})
    run = job.run()
    assert (told(run), run.site["urlsLearnt"]) == ([], 1)
    site.set("/b.xml", urlset(["/b1", "/b2"]))
    assert told(job.run()) == ["added /b2"]


# --- readings cut short -------------------------------------------------------------------------


def test_a_stop_in_the_middle_of_the_baseline_saves_nothing(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C15]: the next run is the first one."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    stopped = job.run(settings=STOP)
    assert stopped.site["status"] == "partial"
    assert (stopped.site["baseline"], stopped.site["stopReason"]) == (None, "aborted")
    assert list(job.state.glob("*/sites/*/manifest.json")) == []
    serve(site, a=["/1", "/3"])
    run = job.run()
    assert (told(run), run.site["baseline"]) == ([], "created")


def test_a_stop_in_the_middle_of_a_comparison_changes_nothing(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C15]: neither compared nor saved; the run behind it tells all since the last whole one."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2"])
    job.run()
    before = job.snapshot()
    serve(site, a=["/a1", "/a3"], b=MISSING)
    stopped = job.run(settings=STOP)
    assert (stopped.site["status"], stopped.site["baseline"]) == ("partial", None)
    assert stopped.changes == []
    assert job.snapshot() == before
    serve(site, a=["/a1", "/a3"], b=["/b1"])
    run = job.run()
    assert told(run) == ["added /a3", "removed /a2", "removed /b2"]
    assert path(row(run, "removed", "/b2")["sitemap"]) == "/b.xml"
