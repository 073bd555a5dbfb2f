"""Removals are told against certainty only, and files that come, go, move and fail: [C5] [G]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import DOWN, MISSING, many, path, row, serve, told
from tests.world import Page, Site, World, changing_addresses, html_page, index, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


# --- withheld -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (DOWN, "server_error"),
        (MISSING, "not_found"),
        (Page(content_type="application/xml"), "empty"),
        (html_page(), "html_page"),
        (Page(fault="reset"), "network"),
    ],
    ids=["503", "404 once", "empty body", "HTML", "reset"],
)
def test_a_failed_file_withholds_removals_and_keeps_its_urls(
    site: Site, monitor: MakeMonitor, fault: Page, reason: str
) -> None:
    """[C5] [G]: the other file's added and changed URLs are told, no removal is."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/a1", "2026-09-01"), "/a2"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=[("/a1", "2026-09-05"), "/a3"], b=fault)
    run = job.run()
    assert told(run) == ["added /a3", "lastmod_changed /a1"]
    assert (run.site["status"], run.site["complete"], run.site["errorType"]) == (
        "partial",
        False,
        reason,
    )
    assert (run.site["removalsDetected"], run.site["removalsWithheld"]) == (False, 1)


def test_a_withheld_removal_is_told_when_the_failed_file_returns_and_the_other_is_unchanged(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5] [C12]: the loss was seen in a file that answers 304 on the day it can be told."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/a1", "2026-09-01"), "/a2"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a2"], b=DOWN)
    assert job.run().site["removalsWithheld"] == 1
    serve(site, a=["/a2"], b=["/b1", "/b2", "/b3"])
    run = job.run()
    assert ("/a.xml", 304) in site.answers()
    assert told(run) == ["added /b3", "removed /a1"]
    removed = row(run, "removed", "/a1")
    assert (removed["lastmodBefore"], removed["lastmodAfter"]) == ("2026-09-01", None)
    assert path(removed["sitemap"]) == "/a.xml"


def test_a_withheld_removal_is_told_on_a_day_when_every_file_is_unchanged(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C12]: owed rows are settled in every run, also when nothing is parsed."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a2"], b=DOWN)
    assert told(job.run()) == []
    serve(site, a=["/a2"], b=["/b1", "/b2"])
    run = job.run()
    assert run.site["sitemapsUnchanged"] == run.site["sitemapsRead"] == 3
    assert told(run) == ["removed /a1"]
    assert told(job.run()) == []


def test_a_withheld_url_that_returns_was_never_gone(site: Site, monitor: MakeMonitor) -> None:
    """[C5] [C12]: neither removed nor added; only its lastmod may have changed meanwhile."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/a1", "2026-09-01"), ("/a2", "2026-09-01"), "/a3"], b=["/b1"])
    job.run()
    serve(site, a=["/a3"], b=DOWN)
    assert job.run().site["removalsWithheld"] == 2
    serve(site, a=[("/a1", "2026-09-01"), ("/a2", "2026-09-08"), "/a3"], b=["/b1"])
    run = job.run()
    assert told(run) == ["lastmod_changed /a2"]
    assert row(run, "lastmod_changed", "/a2")["lastmodBefore"] == "2026-09-01"


def test_a_url_that_moved_into_the_failed_file_is_not_removed(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5] [G]: what left one file may stand in the one that could not be read."""
    job = monitor(sites=[site.url])
    serve(site, a=["/x", "/a1"], b=["/b1"])
    job.run()
    serve(site, a=["/a1"], b=DOWN)
    assert told(job.run()) == []
    serve(site, a=["/a1"], b=["/b1", "/x"])
    run = job.run()
    assert (told(run), run.site["removalsWithheld"]) == ([], 0)


def test_a_cut_file_tells_what_is_new_and_keeps_what_is_behind_the_cut(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: of a truncated file the entries before the cut are read, the others carried."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2", "/3", "/4"])
    job.run()
    serve(site, a=urlset(["/1", "/new", "/3", "/4"], cut_at=2))
    run = job.run()
    assert (told(run), run.site["errorType"]) == (["added /new"], "truncated")
    serve(site, a=["/1", "/new", "/3", "/4"])
    assert told(job.run()) == ["removed /2"]


def test_an_index_that_fails_keeps_its_children(site: Site, monitor: MakeMonitor) -> None:
    """[C5]: they are requested; added and changed are told, removals are withheld."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/a1", "2026-09-01"), "/a2"], b=["/b1"])
    job.run()
    pages = serve(site, a=[("/a1", "2026-09-05"), "/a3"], b=["/b1"])
    site.set("/sitemap.xml", DOWN)
    run = job.run()
    assert told(run) == ["added /a3", "lastmod_changed /a1"]
    assert (run.site["sitemapsFailed"], run.site["removalsWithheld"]) == (1, 1)
    site.serve(pages)
    assert told(job.run()) == ["removed /a2"]


def test_an_index_cut_in_transfer_keeps_the_children_behind_the_cut(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: a child that only a whole index no longer lists is gone."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a1"], b=["/b1", "/b3"])
    site.set("/sitemap.xml", index(["/a.xml", "/b.xml"], cut_at=1))
    run = job.run()
    assert (told(run), run.site["removalsWithheld"]) == (["added /b3"], 1)


# --- files with other names ---------------------------------------------------------------------


def test_a_renamed_file_changes_nothing(site: Site, monitor: MakeMonitor) -> None:
    """[C3] [C5]: URLs are the site's, whatever file lists them; only their lastmod may change."""
    job = monitor(sites=[site.url])
    serve(site, old=[("/1", "2026-09-01"), ("/2", "2026-09-01"), "/3", "/4"])
    job.run()
    serve(site, new=[("/1", "2026-09-01"), ("/2", "2026-09-06"), "/3", "/4"])
    run = job.run()
    assert told(run) == ["lastmod_changed /2"]
    assert run.site["complete"]
    serve(site, new=[("/1", "2026-09-01"), ("/2", "2026-09-06"), "/3"])
    run = job.run()
    assert told(run) == ["removed /4"]
    assert row(run, "removed", "/4")["firstSeenAt"] == "2026-10-01T06:00:00.000Z"


def test_file_addresses_that_change_every_day_change_nothing(monitor: MakeMonitor) -> None:
    """[C5]: `?from=…&to=…` as large shops make it; a child no longer listed is gone, not failed."""
    world = World(changing_addresses())
    with world:
        (site,) = world.sites
        job = monitor(sites=[site.url])
        job.run()
        for day in (2, 3):
            world.day(day)
            run = job.run()
            assert (told(run), run.site["complete"]) == ([], True)
            assert run.site["urlsLearnt"] == 0


def test_changes_are_told_though_file_addresses_change(site: Site, monitor: MakeMonitor) -> None:
    """[C5] [C3]: added, removed and lastmod_changed, each once, under the new address."""
    job = monitor(sites=[site.url])

    def serve_day(first: int, low: list[object], high: list[object]) -> None:
        names = (f"/s.xml?from={first}&to={first + 4}", f"/s.xml?from={first + 5}&to={first + 9}")
        files = dict(zip(names, (urlset(low), urlset(high)), strict=True))  # type: ignore[arg-type]
        pages = serve(site)
        site.serve({**pages, "/sitemap.xml": index(names), **files})

    serve_day(1, ["/1", ("/2", "2026-09-01"), "/3"], ["/4", "/5", "/6"])
    job.run()
    serve_day(2, ["/1", ("/2", "2026-09-09"), "/3"], ["/5", "/6", "/7"])
    run = job.run()
    assert told(run) == ["added /7", "lastmod_changed /2", "removed /4"]
    assert path(row(run, "added", "/7")["sitemap"]) == "/s.xml?from=7&to=11"
    assert path(row(run, "removed", "/4")["sitemap"]) == "/s.xml?from=6&to=10"
    serve_day(3, ["/1", ("/2", "2026-09-09"), "/3"], ["/5", "/6", "/7"])
    assert told(job.run()) == []


def test_urls_rebalanced_between_files_tell_only_what_is_new(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C3] [C5]: one new URL in front shifts one URL of every file into the next."""
    job = monitor(sites=[site.url])
    serve(site, p1=many("/", range(10, 5, -1)), p2=many("/", range(5, 0, -1)))
    job.run()
    serve(site, p1=many("/", range(11, 6, -1)), p2=many("/", range(6, 0, -1)))
    assert told(job.run()) == ["added /11"]
    serve(
        site,
        p1=many("/", range(12, 8, -1)),
        p2=many("/", range(8, 4, -1)),
        p3=many("/", range(4, 1, -1)),
    )
    assert told(job.run()) == ["added /12", "removed /1"]


def test_a_url_in_two_files_that_leaves_one_is_not_removed(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C3]: it is removed when no file lists it any more; its row names the last that did."""
    job = monitor(sites=[site.url])
    serve(site, a=["/x", "/a1"], b=["/x", "/b1"])
    job.run()
    serve(site, a=["/a1"], b=["/x", "/b1"])
    assert told(job.run()) == []
    serve(site, a=["/a1"], b=["/b1"])
    run = job.run()
    assert told(run) == ["removed /x"]
    assert path(row(run, "removed", "/x")["sitemap"]) == "/b.xml"


# --- files that are gone ------------------------------------------------------------------------


def test_a_file_missing_in_three_runs_over_24_hours_is_gone_and_known_when_it_is_back(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: its URLs are removed at once, it blocks nothing, is requested on without validators,
    and what it lists when it is back is added."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a1", "/a2"], b=MISSING)
    for _ in range(2):
        run = job.run()
        assert (told(run), run.site["complete"]) == ([], False)
    run = job.run()
    assert told(run) == ["removed /b1", "removed /b2"]
    assert (run.site["status"], run.site["complete"]) == ("ok", True)
    serve(site, a=["/a1"], b=MISSING)
    site.requests.clear()
    run = job.run()
    assert told(run) == ["removed /a2"]
    assert "/b.xml" in site.paths()
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    site.requests.clear()
    run = job.run()
    assert told(run) == ["added /b1", "added /b2"]
    assert ("/b.xml", 200) in site.answers()
    serve(site, a=["/a1"], b=["/b2"])
    assert told(job.run()) == ["removed /b1"]


def test_three_missing_answers_within_24_hours_prove_nothing(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: the first must be at least 24 hours before the last."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1"])
    job.run(now="2026-10-01T00:00:00Z")
    serve(site, a=["/a1"], b=MISSING)
    for hour in ("02T00", "02T08", "02T16"):
        assert told(job.run(now=f"2026-10-{hour}:00:00Z")) == []
    assert told(job.run(now="2026-10-03T00:00:00Z")) == ["removed /b1"]


def test_another_failure_begins_the_row_of_missing_answers_anew(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: three consecutive runs must meet 404 or 410."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1"])
    job.run()
    for answer in (MISSING, MISSING, Page(fault="reset"), MISSING, MISSING):
        serve(site, a=["/a1"], b=answer)
        assert told(job.run()) == []
    serve(site, a=["/a1"], b=Page(status=410))
    assert told(job.run()) == ["removed /b1"]


# --- files that fail for long -------------------------------------------------------------------


def test_a_file_that_failed_for_long_no_longer_blocks_the_others(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: three runs over 24 hours; the others' removals are held one run, its own never told."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2", "/a3"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a2", "/a3"], b=DOWN)
    for _ in range(2):
        run = job.run()
        assert (told(run), run.site["removalsWithheld"]) == ([], 1)
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == ([], 1)
    assert (run.site["complete"], run.site["removalsDetected"]) == (False, True)
    serve(site, a=["/a3"], b=DOWN)
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == (["removed /a1"], 1)
    assert told(job.run()) == ["removed /a2"]
    serve(site, a=["/a3"], b=["/b1"])
    assert told(job.run()) == ["removed /b2"]


def test_three_failures_within_24_hours_still_block(site: Site, monitor: MakeMonitor) -> None:
    """[C5]: an outage of an evening is no proof."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1"])
    job.run(now="2026-10-01T00:00:00Z")
    serve(site, a=["/a2"], b=DOWN)
    for hour in ("02T00", "02T06", "02T12", "02T18"):
        run = job.run(now=f"2026-10-{hour}:00:00Z")
        assert (told(run), run.site["removalsWithheld"]) == ([], 1)
    assert job.run(now="2026-10-03T00:00:00Z").site["removalsHeld"] == 1


def test_a_history_of_urls_that_move_between_files_keeps_a_failed_file_blocking(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: where URLs are known to move, a lost one may be in the file nobody can read."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2", "/x"], b=["/b1"])
    job.run()
    serve(site, a=["/a1", "/a2"], b=["/b1", "/x"])
    assert told(job.run()) == []
    serve(site, a=["/a2"], b=DOWN)
    for _ in range(5):
        run = job.run()
        assert (told(run), run.site["removalsWithheld"]) == ([], 1)
        assert run.site["removalsDetected"] is False
    serve(site, a=["/a2"], b=["/b1", "/x"])
    assert told(job.run()) == ["removed /a1"]


# --- stale copies -------------------------------------------------------------------------------


def test_a_stale_copy_is_not_read_until_a_whole_day_met_only_older_ones(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: a cache that serves yesterday's file withholds; after 24 hours it is the file."""
    job = monitor(sites=[site.url])

    def serve_copy(entries: list[str], modified: str) -> None:
        serve(site, b=["/b1"], a=[])
        site.set("/sitemap.xml", index(["/a.xml", "/b.xml"]))
        site.set("/a.xml", urlset(entries).but(headers={"Last-Modified": modified}))

    serve_copy(["/1", "/2", "/3"], "Thu, 01 Oct 2026 05:00:00 GMT")
    job.run(now="2026-10-01T06:00:00Z")
    serve_copy(["/1", "/2"], "Wed, 30 Sep 2026 05:00:00 GMT")
    for hour in ("01T12", "02T06"):
        run = job.run(now=f"2026-10-{hour}:00:00Z")
        assert (told(run), run.site["errorType"]) == ([], "stale")
        assert run.site["removalsWithheld"] == 0
    run = job.run(now="2026-10-02T12:00:00Z")
    assert (told(run), run.site["complete"]) == (["removed /3"], True)


def test_a_fresh_copy_between_stale_ones_starts_their_day_anew(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5]: every run of the last 24 hours must have met an older copy."""
    job = monitor(sites=[site.url])
    new, old = "Thu, 01 Oct 2026 05:00:00 GMT", "Wed, 30 Sep 2026 05:00:00 GMT"

    def serve_copy(entries: list[str], modified: str) -> None:
        pages = serve(site)
        copy = urlset(entries).but(headers={"Last-Modified": modified})
        site.serve({**pages, "/sitemap.xml": copy})

    serve_copy(["/1", "/2", "/3"], new)
    job.run(now="2026-10-01T06:00:00Z")
    serve_copy(["/1", "/2"], old)
    job.run(now="2026-10-01T12:00:00Z")
    serve_copy(["/1", "/2", "/3"], new)
    assert told(job.run(now="2026-10-02T06:00:00Z")) == []
    serve_copy(["/1", "/2"], old)
    run = job.run(now="2026-10-02T12:00:00Z")
    assert (told(run), run.site["errorType"]) == ([], "stale")
