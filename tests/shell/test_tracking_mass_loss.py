"""A mass loss is held until the next complete reading: [C7]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import DOWN, budget, many, serve, told
from tests.world import Site, World, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


def removed(prefix: str, numbers: range) -> list[str]:
    return sorted(f"removed {prefix}{number}" for number in numbers)


def test_half_of_a_file_and_fifty_are_held_for_one_run(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: each URL on its own is told when the next complete reading lacks it again.

    The file answers 304 then: an unchanged file counts.
    """
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(100)), b=["/b1"])
    job.run()
    serve(site, a=many("/a/", range(50)), b=["/b1"])
    run = job.run()
    assert (told(run), run.site["removalsHeld"], run.site["removalsDetected"]) == ([], 50, True)
    assert run.site["complete"]
    run = job.run()
    assert told(run) == removed("/a/", range(50, 100))
    assert run.site["removalsHeld"] == 0


def test_less_than_half_or_less_than_fifty_are_told_at_once(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C7]: 49 of 98 are fewer than 50; 50 of 102 are less than half."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(98)), b=many("/b/", range(102)))
    job.run()
    serve(site, a=many("/a/", range(49)), b=many("/b/", range(102)))
    assert told(job.run()) == removed("/a/", range(49, 98))
    serve(site, a=many("/a/", range(49)), b=many("/b/", range(52)))
    assert told(job.run()) == removed("/b/", range(52, 102))


def test_a_held_url_that_comes_back_was_never_gone(site: Site, monitor: MakeMonitor) -> None:
    """[C7] [C12]: of a held loss only what is still lacking is told."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(100)))
    job.run()
    serve(site, a=many("/a/", range(40)))
    assert job.run().site["removalsHeld"] == 60
    serve(site, a=many("/a/", range(98)))
    assert told(job.run()) == removed("/a/", range(98, 100))
    assert told(job.run()) == []


def test_only_a_complete_reading_confirms_what_is_held(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: a day on which another file fails confirms nothing, and forgets nothing."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(100)), b=["/b1"])
    job.run()
    serve(site, a=many("/a/", range(40)), b=["/b1"])
    job.run()
    serve(site, a=many("/a/", range(40)), b=DOWN)
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == ([], 60)
    serve(site, a=many("/a/", range(40)), b=["/b1"])
    assert told(job.run()) == removed("/a/", range(40, 100))


def test_an_index_shrunk_to_one_child_for_a_day_tells_nothing(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C7]: all URLs of a file that is no longer listed are held, whatever their number."""
    job = monitor(sites=[site.url])
    files = {"a": ["/a1", "/a2"], "b": ["/b1", "/b2"], "c": ["/c1"]}
    serve(site, **files)
    job.run()
    serve(site, listed=["a"], **files)
    run = job.run()
    assert (told(run), run.site["removalsHeld"], run.site["complete"]) == ([], 3, True)
    serve(site, **files)
    run = job.run()
    assert (told(run), run.site["removalsHeld"], run.site["urlsLearnt"]) == ([], 0, 0)


def test_an_index_that_stays_shrunk_is_told_the_next_day(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: the removals name the file that listed them last, which is listed no more."""
    job = monitor(sites=[site.url])
    files = {"a": ["/a1", "/a2"], "b": ["/b1", "/b2"]}
    serve(site, **files)
    job.run()
    serve(site, listed=["a"], **files)
    assert job.run().site["removalsHeld"] == 2
    run = job.run()
    assert told(run) == ["removed /b1", "removed /b2"]
    assert {row["sitemap"] for row in run.changes} == {f"{site.url}/b.xml"}


def test_an_empty_urlset_for_a_day_tells_nothing(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: a valid file with no URLs is read in full, and its sudden emptiness held."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1", "/a2"], b=["/b1"])
    job.run()
    serve(site, a=[], b=["/b1"])
    run = job.run()
    assert (told(run), run.site["removalsHeld"], run.site["complete"]) == ([], 2, True)
    serve(site, a=["/a1", "/a2"], b=["/b1"])
    assert told(job.run()) == []
    serve(site, a=[], b=["/b1"])
    assert told(job.run()) == []
    assert told(job.run()) == ["removed /a1", "removed /a2"]


def test_a_site_whose_only_file_is_empty_has_failed(site: Site, monitor: MakeMonitor) -> None:
    """SPEC §1 `maxFailedSitemapsPercent`: a reading with zero URLs is failed and saves nothing."""
    job = monitor(sites=[site.url])
    site.serve({"/robots.txt": robots(["/s.xml"]), "/s.xml": urlset(["/1", "/2"])})
    job.run()
    before = job.snapshot()
    site.set("/s.xml", urlset([]))
    for _ in range(2):
        run = job.run()
        assert (run.site["status"], run.site["baseline"], run.exit_code) == ("failed", None, 1)
        assert (run.site["errorType"], run.changes) == ("no_sitemap", [])
    assert job.snapshot() == before
    site.set("/s.xml", urlset(["/1", "/3"]))
    assert told(job.run()) == ["added /3", "removed /2"]


def test_losses_spread_over_files_are_held_by_the_site(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: counted per file and over the site: 24 of 40 in each of three files are 72 of 120."""
    job = monitor(sites=[site.url])
    names = ("a", "b", "c")
    serve(site, **{name: many(f"/{name}/", range(40)) for name in names})
    job.run()
    serve(site, **{name: many(f"/{name}/", range(16)) for name in names})
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == ([], 72)
    assert len(job.run().changes) == 72


def test_a_loss_of_one_file_holds_no_other_files_removals(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: a loss of one file is that file's; of a large site it is not the site's."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(60)), b=many("/b/", range(200)))
    job.run()
    serve(site, a=many("/a/", range(5)), b=many("/b/", range(199)))
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == (["removed /b/199"], 55)


def test_a_url_that_another_file_still_lists_is_no_loss(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: counted are the known URLs that *no* file of the site lists any more."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/x/", range(100)), b=many("/x/", range(80)))
    job.run()
    serve(site, a=many("/x/", range(20)), b=many("/x/", range(80)))
    assert told(job.run()) == removed("/x/", range(80, 100))


def test_removals_withheld_before_count_for_a_mass_loss(site: Site, monitor: MakeMonitor) -> None:
    """[C7]: counting includes removals that are owed: 30 on one day and 30 on the next are 60."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(100)), b=["/b1"])
    job.run()
    serve(site, a=many("/a/", range(70)), b=DOWN)
    assert job.run().site["removalsWithheld"] == 30
    serve(site, a=many("/a/", range(40)), b=["/b1"])
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == ([], 60)
    assert told(job.run()) == removed("/a/", range(40, 100))


def test_a_removal_that_was_tellable_once_is_not_held_anew(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C7]: undelivered ones are told next; they still count for those that are lost now."""
    job = monitor(sites=[site.url])
    serve(site, a=many("/a/", range(100)))
    job.run()
    serve(site, a=many("/a/", range(70)))
    run = job.run(settings=budget(0))
    assert (run.changes, run.site["removed"], run.site["status"]) == ([], 30, "partial")
    serve(site, a=many("/a/", range(40)))
    run = job.run()
    assert told(run) == removed("/a/", range(70, 100))
    assert run.site["removalsHeld"] == 30
    assert told(job.run()) == removed("/a/", range(40, 70))


@pytest.mark.parametrize(("share", "held"), [(0, 0), (30, 60), (61, 0)])
def test_hold_back_share_is_a_percentage_and_0_is_off(
    site: Site, monitor: MakeMonitor, share: int, held: int
) -> None:
    """[C7] `holdBackShare`: 60 of 100 are held from 60 percent down."""
    job = monitor(sites=[site.url], holdBackShare=share)
    serve(site, a=many("/a/", range(100)))
    job.run()
    serve(site, a=many("/a/", range(40)))
    run = job.run()
    assert (len(run.changes), run.site["removalsHeld"]) == (60 - held, held)


def test_a_whole_file_of_any_number_is_held_and_off_is_off_for_it_too(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C7]: the only URL of a file is all of it; with `holdBackShare=0` nothing waits."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/a2"], b=["/b1", "/b2"])
    run = job.run()
    assert (told(run), run.site["removalsHeld"]) == (["added /a2"], 1)
    serve(site, a=["/a3"], b=["/b1", "/b2"])
    run = job.run(holdBackShare=0)
    assert told(run) == ["added /a3", "removed /a1", "removed /a2"]
