"""Limits of the reading and what is left out by choice: [C10], [C13], output modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import budget, many, path, serve, told
from tests.world import Page, Site, World, index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


# --- maxUrlsPerSite [C10] -----------------------------------------------------------------------


def test_exactly_the_limit_is_not_above_it(site: Site, monitor: MakeMonitor) -> None:
    """[C10]: with nothing left unread the reading is complete; a URL listed twice counts once."""
    job = monitor(sites=[site.url], maxUrlsPerSite=4)
    serve(site, a=["/1", "/2"], b=["/2", "/3", "/4"])
    first = job.run()
    assert (first.site["stopReason"], first.site["urlsFound"]) == (None, 4)
    serve(site, a=["/1", "/2"], b=["/2", "/3", "/5"])
    run = job.run()
    assert told(run) == ["added /5", "removed /4"]
    assert (run.site["complete"], run.site["stopReason"]) == (True, None)


def test_above_the_limit_only_later_lastmods_are_added_and_nothing_is_removed(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C10]: a date alone must be of a later day; what cannot be proved new is learnt."""
    job = monitor(sites=[site.url], maxUrlsPerSite=5)
    serve(site, a=["/1", "/2", "/3", "/4", "/5", "/6"])
    first = job.run(now="2026-10-01T06:00:00Z")
    assert (first.site["stopReason"], first.site["urlsFound"]) == ("max-urls", 5)
    fresh = [
        ("/hour-later", "2026-10-01T07:00:00Z"),
        ("/hour-earlier", "2026-10-01T05:00:00Z"),
        ("/same-day", "2026-10-01"),
        ("/next-day", "2026-10-02"),
    ]
    serve(site, a=[*fresh, "/undated", "/1"])
    run = job.run(now="2026-10-02T06:00:00Z")
    assert told(run) == ["added /hour-later", "added /next-day"]
    assert (run.site["urlsLearnt"], run.site["removalsDetected"]) == (3, False)
    assert (run.site["status"], run.site["complete"]) == ("partial", False)
    run = job.run(now="2026-10-03T06:00:00Z")
    assert (told(run), run.site["urlsLearnt"]) == ([], 0)


def test_a_lowered_limit_carries_what_is_not_reached_and_a_raised_one_tells_what_came(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C10]: URLs and files not reached stay; what was read in full before is a known past."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a", range(3)), b=many("/b", range(3)), c=many("/c", range(3)))
    job.run()
    site.requests.clear()
    serve(site, a=many("/a", range(3)), b=many("/b", range(4)), c=many("/c", range(1, 4)))
    run = job.run(maxUrlsPerSite=4)
    assert (told(run), run.site["stopReason"]) == ([], "max-urls")
    assert run.site["urlsFound"] == 4
    assert "/c.xml" not in site.paths()
    run = job.run()
    assert told(run) == ["added /b3", "added /c3", "removed /c0"]
    assert (run.site["urlsLearnt"], run.site["complete"]) == (0, True)


def test_a_limit_of_the_first_run_leaves_a_gap_that_later_lastmods_cross(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C5] [C10]: raised, it shows URLs as old as the site, and new ones by their lastmod."""
    job = monitor(sites=[site.url], maxUrlsPerSite=2)
    serve(site, a=["/a1", "/a2", ("/a3", "2026-09-01"), "/a4"], b=["/b1"])
    job.run()
    new = ("/new", "2026-10-01T18:00:00Z")
    serve(site, a=["/a1", "/a2", ("/a3", "2026-09-01"), "/a4", new], b=["/b1", "/b2"])
    run = job.run(maxUrlsPerSite=100)
    assert (told(run), run.site["urlsLearnt"]) == (["added /new"], 4)
    serve(site, a=["/a1", "/a2", "/a4", new], b=["/b1", "/b2", "/b3"])
    assert told(job.run(maxUrlsPerSite=100)) == ["added /b3", "removed /a3"]


def test_above_the_limit_a_stamp_proves_nothing_new(site: Site, monitor: MakeMonitor) -> None:
    """[C10] [C8]: when the build stamps all URLs, a late lastmod is the build's."""
    job = monitor(sites=[site.url], maxUrlsPerSite=25)
    serve(site, a=many("/", range(30), "2026-09-01"))
    job.run()
    serve(site, a=many("/", range(10, 40), "2026-10-01T20:00:00Z"))
    run = job.run()
    assert (told(run), run.site["urlsLearnt"]) == ([], 10)


def test_above_the_limit_what_could_not_be_delivered_is_still_told(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C10] [C12]: it was known to be new when it was read."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    job.run()
    serve(site, a=["/new", "/1", "/2"])
    assert job.run(settings=budget(0)).site["added"] == 1
    serve(site, a=["/new", "/newer", "/1", "/2"])
    run = job.run(maxUrlsPerSite=3)
    assert (told(run), run.site["urlsLearnt"]) == (["added /new"], 1)


def test_files_above_the_limit_of_sitemaps_are_carried(site: Site, monitor: MakeMonitor) -> None:
    """[C10] `maxSitemapsPerSite`: no removals, and nothing of what was not read is lost."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a1", "/a3"], b=["/b1", "/b3"])
    run = job.run(maxSitemapsPerSite=2)
    assert told(run) == ["added /a3"]
    assert (run.site["stopReason"], run.site["removalsWithheld"]) == ("max-sitemaps", 1)
    assert told(job.run()) == ["added /b3", "removed /a2", "removed /b2"]


# --- files left out by choice [C13] -------------------------------------------------------------


@pytest.mark.parametrize(
    "choice",
    [
        {"sitemapExcludeRegex": r"/b\.xml"},
        {"sitemapIncludeRegex": r"/a\.xml"},
    ],
    ids=["exclude", "include"],
)
def test_a_filtered_file_that_was_read_before_is_carried(
    site: Site, monitor: MakeMonitor, choice: dict[str, str]
) -> None:
    """[C13]: out of scope: not failed, blocks nothing, its URLs never removed; later its changes
    since it was last read are told. An include filter does not judge the root."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a1"], b=["/b1", "/b3"])
    site.requests.clear()
    for _ in range(2):
        run = job.run(**choice)
        assert (run.site["status"], run.site["complete"]) == ("ok", True)
        assert run.site["sitemapsFailed"] == 0
        assert told(run) == ([] if run.site["sitemapsUnchanged"] == 2 else ["removed /a2"])
    assert "/b.xml" not in site.paths()
    run = job.run()
    assert (told(run), run.site["urlsLearnt"]) == (["added /b3", "removed /b2"], 0)


def test_a_filtered_file_stays_though_no_index_lists_it(site: Site, monitor: MakeMonitor) -> None:
    """[C13]: filters judge addresses; it is gone when a reading without the filter says so."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a1"])
    for _ in range(2):
        run = job.run(sitemapExcludeRegex="b.xml")
        assert (told(run), run.site["removalsHeld"], run.site["complete"]) == ([], 0, True)
    assert job.run().site["removalsHeld"] == 2
    assert told(job.run()) == ["removed /b1", "removed /b2"]


def test_a_widened_filter_learns_the_old_urls_of_the_file(site: Site, monitor: MakeMonitor) -> None:
    """[C13] [G]: the file is older than the first look at it; other files' news are told."""
    job = monitor(sites=[site.url], sitemapExcludeRegex="b.xml")
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    assert job.run().site["complete"]
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2", "/b3"])
    run = job.run(sitemapExcludeRegex=None)
    assert (told(run), run.site["urlsLearnt"]) == (["added /a2"], 3)
    serve(site, a=["/a1", "/a2"], b=["/b1", "/b2", "/b4"])
    assert told(job.run(sitemapExcludeRegex=None)) == ["added /b4", "removed /b3"]


def test_a_file_beyond_the_depth_that_was_read_before_is_carried(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C13] `maxSitemapDepth`: the same for depth, also below an index that is left out."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], leaf=["/l1", "/l2"])
    site.set("/sitemap.xml", index(["/a.xml", "/deeper.xml"]))
    site.set("/deeper.xml", index(["/leaf.xml"]))
    job.run()
    serve(site, a=["/a1"], leaf=["/l1", "/l3"])
    site.set("/sitemap.xml", index(["/a.xml", "/deeper.xml"]))
    site.set("/deeper.xml", index(["/leaf.xml"]))
    run = job.run(maxSitemapDepth=1)
    assert (told(run), run.site["complete"]) == (["removed /a2"], True)
    run = job.run()
    assert (told(run), run.site["urlsLearnt"]) == (["added /l3", "removed /l2"], 0)


def test_a_file_that_robots_txt_takes_away_later_is_failed_not_left_out(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C13] [C5]: out of scope is only what robots forbade since first seen."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1"])
    allowed = b"Sitemap: {origin}/sitemap.xml\nUser-agent: *\nDisallow: /c.xml\n"
    forbids = allowed + b"Disallow: /b.xml\n"
    robots_txt = Page(content_type="text/plain")
    site.set("/robots.txt", robots_txt.but(body=allowed))
    site.set("/sitemap.xml", index(["/a.xml", "/b.xml", "/c.xml"]))
    first = job.run()
    assert (first.site["complete"], first.site["sitemapsFailed"]) == (True, 0)
    serve(site, a=["/a1"], b=["/b1"])
    site.set("/robots.txt", robots_txt.but(body=forbids))
    site.set("/sitemap.xml", index(["/a.xml", "/b.xml", "/c.xml"]))
    run = job.run()
    assert (told(run), run.site["removalsWithheld"]) == ([], 1)
    assert run.site["errorType"] == "robots_disallowed"


# --- rows left out by choice [C13] --------------------------------------------------------------


def test_what_a_page_filter_hides_is_learnt(site: Site, monitor: MakeMonitor) -> None:
    """[C13]: filters choose rows, not knowledge: nothing hidden is told when the filter is gone."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/blog/1", "2026-09-01"), "/blog/2", "/shop/1", "/shop/2"])
    job.run()
    serve(site, a=[("/blog/1", "2026-09-02"), "/blog/3", "/shop/1", "/shop/3"])
    run = job.run(excludeRegex="/BLOG/")
    assert told(run) == ["added /shop/3", "removed /shop/2"]
    assert (run.site["added"], run.site["removed"], run.site["lastmodChanged"]) == (2, 2, 1)
    assert (run.site["changesDetected"], run.site["urlsFiltered"]) == (2, 3)
    assert run.site["urlsFound"] == 4
    assert told(job.run()) == []
    serve(site, a=["/blog/3", "/shop/1"])
    assert told(job.run(includeRegex="/blog/")) == ["removed /blog/1"]


def test_change_types_not_asked_for_are_learnt(site: Site, monitor: MakeMonitor) -> None:
    """SPEC §1 `changeTypes`: never owed; asked for later, only later changes are told."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2", ("/3", "2026-09-01"), ("/5", "2026-09-01")])
    job.run()
    serve(site, a=["/1", "/4", ("/3", "2026-09-02"), ("/5", "2026-09-01")])
    run = job.run(changeTypes=["added"])
    assert told(run) == ["added /4"]
    assert (run.site["removed"], run.site["lastmodChanged"]) == (1, 1)
    assert run.site["changesDetected"] == run.site["changesPushed"] == 1
    assert told(job.run()) == []
    serve(site, a=["/4", ("/3", "2026-09-02"), ("/5", "2026-09-03")])
    assert told(job.run()) == ["lastmod_changed /5", "removed /1"]


# --- output modes -------------------------------------------------------------------------------


def test_urls_and_changes_writes_changes_then_urls_then_the_site(
    site: Site, monitor: MakeMonitor
) -> None:
    """SPEC §1 `outputMode` and [D1]: the baseline's URLs as well; a URL of two files once."""
    job = monitor(sites=[site.url], outputMode="urls_and_changes")
    serve(site, a=["/1", ("/2", "2026-09")], b=[("/2", "2026-09-05"), "/3"])
    first = job.run()
    assert [row["type"] for row in first.rows] == ["url", "url", "url", "site"]
    assert first.site["baseline"] == "created"
    shown = {path(row["url"]): (row["lastmod"], path(row["sitemap"])) for row in first.urls}
    assert shown == {
        "/1": (None, "/a.xml"),
        "/2": ("2026-09-05", "/b.xml"),
        "/3": (None, "/b.xml"),
    }
    assert {row["discoveredVia"] for row in first.urls} == {"robots.txt"}
    serve(site, a=["/1", ("/2", "2026-09")], b=[("/2", "2026-09-05"), "/4"])
    run = job.run()
    assert [row["type"] for row in run.rows] == ["change", "change", "url", "url", "url", "site"]
    assert told(run) == ["added /4", "removed /3"]
    assert {path(row["url"]) for row in run.urls} == {"/1", "/2", "/4"}
    assert (run.site["changesPushed"], run.site["urlsPushed"]) == (2, 3)


def test_max_urls_limits_url_rows_and_never_the_tracking(site: Site, monitor: MakeMonitor) -> None:
    """SPEC §1 `maxUrls`: the other rows go on; nothing is owed for a url row."""
    job = monitor(sites=[site.url], outputMode="urls_and_changes", maxUrls=2)
    serve(site, a=["/1", "/2", "/3", "/4"])
    first = job.run()
    assert (len(first.urls), first.site["stopReason"]) == (2, "max-rows")
    assert (first.site["status"], first.site["complete"]) == ("ok", True)
    serve(site, a=["/1", "/2", "/3", "/5", "/6"])
    run = job.run()
    assert told(run) == ["added /5", "added /6", "removed /4"]
    assert (len(run.urls), run.site["urlsFound"]) == (2, 5)
    run = job.run(outputMode="changes_only")
    assert (told(run), run.urls) == ([], [])


def test_urls_only_tracks_nothing(site: Site, monitor: MakeMonitor) -> None:
    """SPEC §1 `outputMode`: no snapshot is written, none is touched, all is requested plainly."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    run = job.run(outputMode="urls_only", firstRun="report")
    assert (run.changes, run.site["baseline"]) == ([], "not-tracked")
    assert {path(row["url"]) for row in run.urls} == {"/1", "/2"}
    assert list(job.state.glob("*/sites/*/manifest.json")) == []
    job.run()
    before = job.snapshot()
    serve(site, a=["/1", "/3"])
    site.requests.clear()
    run = job.run(outputMode="urls_only", includeRegex="/3")
    assert {path(row["url"]) for row in run.urls} == {"/3"}
    assert {request.headers.get("if-none-match") for request in site.requests} == {None}
    assert job.snapshot() == before
    assert told(job.run()) == ["added /3", "removed /2"]


def test_urls_only_requests_nothing_more_when_max_urls_is_reached(monitor: MakeMonitor) -> None:
    """SPEC §1 `maxUrls`: a site that was not started is skipped."""
    one, other = Site({}), Site({})
    with World(one, other):
        serve(one, a=["/1", "/2", "/3"])
        serve(other, a=["/1"])
        run = monitor(sites=[one.url, other.url]).run(
            outputMode="urls_only", maxUrls=2, maxConcurrentSites=1
        )
        assert len(run.urls) == 2
        statuses = {row["site"]: (row["status"], row["stopReason"]) for row in run.sites}
        assert statuses == {one.url: ("ok", "max-rows"), other.url: ("skipped", "max-rows")}
        assert other.paths() == []
        assert run.exit_code == 0
