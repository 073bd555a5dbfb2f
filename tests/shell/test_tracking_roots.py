"""Where a reading starts, and which of two inputs is read: [C14], [C16]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import DOWN, MISSING, serve, told
from tests.world import Site, World, html_page, index, redirect, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor
    from tests.world import Page


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


# --- roots are remembered [C14] -----------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [MISSING, html_page(), robots()],
    ids=["404", "HTML", "no Sitemap line"],
)
def test_robots_txt_lost_for_a_day_changes_no_roots(
    site: Site, monitor: MakeMonitor, answer: Page
) -> None:
    """[C14]: the roots of the snapshot are read before common paths, with no address guessed."""
    job = monitor(sites=[site.url])
    site.serve(
        {"/robots.txt": robots(["/map.xml"]), "/map.xml": urlset(["/1", "/2"]),
         "/sitemap.xml": urlset(["/old"])}
    )  # fmt: skip
    job.run()
    site.set("/robots.txt", answer)
    site.set("/map.xml", urlset(["/1", "/3"]))
    site.requests.clear()
    run = job.run()
    assert told(run) == ["added /3", "removed /2"]
    assert set(site.paths()) == {"/robots.txt", "/map.xml"}
    site.set("/robots.txt", robots(["/map.xml"]))
    run = job.run()
    assert (told(run), run.site["baseline"]) == ([], "compared")


def test_robots_txt_that_lists_sitemaps_decides_alone(site: Site, monitor: MakeMonitor) -> None:
    """[C14]: neither common paths nor roots of the snapshot are added to its lines."""
    job = monitor(sites=[site.url])
    pages = {"/sitemap.xml": urlset(["/s"]), "/a.xml": urlset(["/1", "/2"])}
    site.serve({**pages, "/robots.txt": robots(["/a.xml"])})
    job.run()
    assert site.paths() == ["/robots.txt", "/a.xml"]
    site.serve({**pages, "/robots.txt": robots(["/b.xml"]), "/b.xml": urlset(["/1", "/3"])})
    site.requests.clear()
    run = job.run()
    assert site.paths() == ["/robots.txt", "/b.xml"]
    assert told(run) == ["added /3", "removed /2"]


def test_common_paths_are_tried_one_by_one_and_the_first_that_parses_is_remembered(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C14]: and on the next day nothing else is tried."""
    job = monitor(sites=[site.url])
    pages = {"/sitemap.xml": html_page(), "/sitemap.txt": urlset(["/never"])}
    site.serve({**pages, "/sitemap-index.xml": index(["/a.xml"]), "/a.xml": urlset(["/1"])})
    job.run()
    assert site.paths() == [
        *("/robots.txt", "/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml", "/a.xml")
    ]
    site.set("/a.xml", urlset(["/1", "/2"]))
    site.requests.clear()
    run = job.run()
    assert site.paths() == ["/robots.txt", "/sitemap-index.xml", "/a.xml"]
    assert (told(run), run.site["baseline"]) == (["added /2"], "compared")


def test_a_known_root_that_fails_for_a_day_sends_nobody_to_common_paths(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C14]: the other sitemap that lies at a common path is not the site's."""
    job = monitor(sites=[site.url])
    site.serve({"/sitemap.xml": urlset(["/1", "/2"]), "/wp-sitemap.xml": urlset(["/old"])})
    job.run()
    for answer in (DOWN, MISSING):
        site.set("/sitemap.xml", answer)
        run = job.run()
        assert (run.site["status"], run.changes) == ("failed", [])
    assert "/wp-sitemap.xml" not in site.paths()
    site.set("/sitemap.xml", urlset(["/1", "/3"]))
    assert told(job.run()) == ["added /3", "removed /2"]


def test_a_root_that_is_gone_makes_room_for_common_paths(site: Site, monitor: MakeMonitor) -> None:
    """[C14]: gone by [C5]; what the new root lists is compared with what the old one listed."""
    job = monitor(sites=[site.url])
    site.serve({"/sitemap.xml": urlset(["/1", "/2"])})
    job.run()
    site.serve({"/wp-sitemap.xml": urlset(["/1", "/3"])})
    for _ in range(3):
        run = job.run()
        assert (run.site["status"], run.changes) == ("failed", [])
    run = job.run()
    assert (told(run), run.site["baseline"]) == (["added /3", "removed /2"], "compared")
    assert told(job.run()) == []


def test_on_a_first_run_common_paths_follow_named_sitemaps_that_failed_for_good(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C14]: a 404 is for good, a 503 is not."""
    pages = {"/robots.txt": robots(["/dead.xml"]), "/sitemap.xml": urlset(["/1"])}
    site.serve({**pages, "/dead.xml": DOWN})
    run = monitor(sites=[site.url]).run()
    assert (run.site["status"], run.site["errorType"]) == ("failed", "server_error")
    assert site.paths() == ["/robots.txt", "/dead.xml"]
    site.serve(pages)
    run = monitor(sites=[site.url]).run()
    assert (run.site["baseline"], run.site["urlsFound"]) == ("created", 1)


@pytest.mark.parametrize("first_run", ["baseline", "report"])
def test_the_first_roots_that_robots_txt_names_after_common_paths_are_a_new_baseline(
    site: Site, monitor: MakeMonitor, first_run: str
) -> None:
    """[C14] [G]: another view of the site is no change of it, and no first run to be reported."""
    job = monitor(sites=[site.url], firstRun=first_run)
    site.serve({"/sitemap.xml": urlset(["/1", "/2"]), "/all.xml": urlset(["/2", "/3", "/4"])})
    job.run()
    site.set("/robots.txt", robots(["/all.xml"]))
    run = job.run()
    assert (told(run), run.site["baseline"]) == ([], "created")
    site.set("/all.xml", urlset(["/2", "/4", "/5"]))
    run = job.run()
    assert (told(run), run.site["baseline"]) == (["added /5", "removed /3"], "compared")


def test_robots_txt_that_stays_unreachable_reads_nothing(site: Site, monitor: MakeMonitor) -> None:
    """[C14] [R1] [G]: a 5xx forbids the origin for the run; known roots wait."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    job.run()
    site.set("/robots.txt", DOWN)
    site.set("/a.xml", urlset(["/1"]))
    site.requests.clear()
    run = job.run()
    assert (run.site["status"], run.site["errorType"]) == ("failed", "robots_unreachable")
    assert (run.changes, site.paths()) == ([], ["/robots.txt"])
    site.set("/robots.txt", robots(["/sitemap.xml"]))
    assert told(job.run()) == ["removed /2"]


# --- two inputs that are one [C16] --------------------------------------------------------------


def test_of_two_inputs_with_the_same_roots_the_first_is_read(monitor: MakeMonitor) -> None:
    """[C16]: same after redirects; the other's snapshot is untouched, its children not requested.

    It is decided by the order of the inputs, not by which answers first.
    """
    one, other = Site({}, name="one"), Site({}, name="other")
    with World(one, other):
        job = monitor(sites=[other.url, one.url])
        serve(one, a=["/1", "/2"])
        serve(other, a=["/1", "/2"])
        job.run()
        (path,) = job.state.glob(f"*/sites/*{other.port}*/manifest.json")
        before = path.read_bytes()
        serve(one, a=["/1", "/3"])
        one.set("/robots.txt", robots(["/sitemap.xml"]).but(delay=0.3))
        other.serve(
            {
                "/robots.txt": robots(["/here.xml"]),
                "/here.xml": redirect("{origin:one}/sitemap.xml"),
            }
        )
        one.requests.clear()
        run = job.run(sites=[one.url, other.url])
        rows = {row["site"]: row for row in run.sites}
        assert rows[one.url]["status"] == "ok"
        assert rows[other.url]["status"] == "skipped"
        assert rows[other.url]["errorType"] == "duplicate_input"
        assert told(run) == ["added /3", "removed /2"]
        assert {row["site"] for row in run.changes} == {one.url}
        assert one.paths().count("/a.xml") == 1
        assert path.read_bytes() == before


def test_a_site_named_twice_is_read_once(site: Site, monitor: MakeMonitor) -> None:
    """[C16]: every input has its row, the second says `duplicate_input`."""
    serve(site, a=["/1"])
    run = monitor(sites=[site.url, f"{site.url}/index.html"]).run()
    assert [(row["input"], row["status"]) for row in run.sites if row["errorType"]] == [
        (f"{site.url}/index.html", "skipped")
    ]
    assert site.paths().count("/sitemap.xml") == 1


def test_a_site_and_one_of_its_files_are_two_inputs(site: Site, monitor: MakeMonitor) -> None:
    """[C16]: both are read, each with a snapshot of its own: a file is fetched once a site."""
    job = monitor(sites=[site.url, f"{site.url}/a.xml"])
    serve(site, a=["/a1", "/a2"], b=["/b1"])
    first = job.run()
    assert {row["status"] for row in first.sites} == {"ok"}
    assert site.paths().count("/a.xml") == 2
    serve(site, a=["/a1", "/a3"], b=["/b1"])
    run = job.run()
    assert told(run) == ["added /a3", "added /a3", "removed /a2", "removed /a2"]
    assert {row["site"] for row in run.changes} == {site.url, f"{site.url}/a.xml"}
