"""Feeds and news files list recent items only, so that leaving them says nothing: [C6]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import many, row, serve, told
from tests.world import Site, World, atom, news, rss, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import MakeMonitor
    from tests.world import Page


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


def test_news_ages_and_its_return_is_learnt(site: Site, monitor: MakeMonitor) -> None:
    """[C6]: no row when it leaves, none when the archive lists it; later it is a page like others.

    Its `firstSeenAt` outlives the time in which no file listed it.
    """
    job = monitor(sites=[site.url])
    serve(site, news=news(["/n1", "/n2"]), archive=["/a1"])
    job.run()
    serve(site, news=news(["/n2", "/n3"]), archive=["/a1"])
    run = job.run()
    assert told(run) == ["added /n3"]
    assert run.site["removalsHeld"] == run.site["removalsWithheld"] == 0
    serve(site, news=news(["/n3"]), archive=["/a1", "/n1"])
    run = job.run()
    assert (told(run), run.site["complete"]) == ([], True)
    serve(site, news=news(["/n3"]), archive=["/a1"])
    run = job.run()
    assert told(run) == ["removed /n1"]
    assert row(run, "removed", "/n1")["firstSeenAt"] == "2026-10-01T06:00:00.000Z"


def test_a_url_that_aged_is_remembered_for_90_days(site: Site, monitor: MakeMonitor) -> None:
    """[C6]: within them its return is no news, behind them it is."""
    job = monitor(sites=[site.url])
    serve(site, news=news(["/n1", "/n2", "/n3"]))
    job.run(now="2026-10-01T06:00:00Z")
    serve(site, news=news(["/n3"]))
    assert told(job.run(now="2026-10-02T06:00:00Z")) == []
    assert told(job.run(now="2026-11-15T06:00:00Z")) == []
    serve(site, news=news(["/n3", "/n1"]))
    assert told(job.run(now="2026-12-30T06:00:00Z")) == []
    serve(site, news=news(["/n3"]))
    assert told(job.run(now="2027-01-02T06:00:00Z")) == []
    serve(site, news=news(["/n3", "/n1", "/n2"]))
    assert told(job.run(now="2027-01-03T06:00:00Z")) == ["added /n2"]


@pytest.mark.parametrize("feed", [rss, atom])
def test_feeds_age(site: Site, monitor: MakeMonitor, feed: Callable[..., Page]) -> None:
    """[C6]: RSS and Atom, also as the only file, and wholly replaced without being held."""
    job = monitor(sites=[f"{site.url}/feed"])
    site.serve({"/feed": feed(many("/p/", range(60)))})
    job.run()
    site.serve({"/feed": feed(["/p/60"])})
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == (["added /p/60"], 0)
    site.serve({"/feed": feed(["/p/60", "/p/1"])})
    assert told(job.run()) == []


def test_a_url_that_a_lasting_file_lists_too_is_removed(site: Site, monitor: MakeMonitor) -> None:
    """[C6]: only URLs whose known listings were *all* in aging files age."""
    job = monitor(sites=[site.url])
    serve(site, news=news(["/x", "/n1"]), pages=["/x", "/p1"])
    job.run()
    serve(site, news=news(["/n1"]), pages=["/p1"])
    assert told(job.run()) == ["removed /x"]


def test_declaring_the_news_namespace_ages_nothing(site: Site, monitor: MakeMonitor) -> None:
    """[C6]: common generators declare it everywhere; entries must carry `news:news`."""
    job = monitor(sites=[site.url])
    declared = b'<urlset xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '

    def declaring(*entries: str) -> Page:
        page = urlset(entries)
        return page.but(body=page.body.replace(b"<urlset ", declared))

    serve(site, a=declaring("/1", "/2"))
    job.run()
    serve(site, a=declaring("/1"))
    assert told(job.run()) == ["removed /2"]


def test_half_of_the_entries_make_a_news_file(site: Site, monitor: MakeMonitor) -> None:
    """[C6]: at least half of them carry `news:news`; fewer do not."""
    job = monitor(sites=[site.url])
    headline = (None, {"news": "Headline"})
    rest = {"less": ["/l1", ("/l2", *headline), "/l3"], "half": ["/h1", ("/h2", *headline)]}
    serve(site, less=[*rest["less"], "/l4"], half=[*rest["half"], "/h3", ("/h4", *headline)])
    job.run()
    serve(site, **rest)  # type: ignore[arg-type]
    assert told(job.run()) == ["removed /l4"]


def test_a_file_whose_kind_flips_ages_in_that_run(site: Site, monitor: MakeMonitor) -> None:
    """[C6]: in both directions; from the run behind it on its new kind counts."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2", "/3", "/4"])
    job.run()
    serve(site, a=news(["/2", "/3", "/4"]))
    assert told(job.run()) == []
    serve(site, a=["/3", "/4"])
    assert told(job.run()) == []
    serve(site, a=["/4"])
    assert told(job.run()) == ["removed /3"]


def test_a_news_file_no_longer_listed_ages(site: Site, monitor: MakeMonitor) -> None:
    """[C6] [C7]: aged URLs are no removals: none is told, none is held."""
    job = monitor(sites=[site.url])
    serve(site, news=news(["/n1", "/n2"]), a=["/a1"])
    job.run()
    serve(site, a=["/a1"])
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == ([], 0)
    assert told(job.run()) == []
