"""When a lastmod has changed: listings [C3], moments [C4], site-wide stamps [C8]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import DOWN, budget, many, path, row, serve, told
from tests.world import Entry, Site, World, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


def dated(prefix: str, numbers: range) -> list[Entry]:
    """URLs each with a lastmod of its own."""
    return [(f"{prefix}{n}", f"2026-08-{n % 28 + 1:02}") for n in numbers]


# --- moments, not texts [C4] --------------------------------------------------------------------

SAME = [
    ("2026-09-01", "2026-09-01T00:00:00+00:00"),
    ("2026-09-01T10:00:00Z", "2026-09-01T12:00:00+02:00"),
    ("2026", "2026-09-15T10:00:00Z"),
    ("2026-09-15", "2026-09"),
    ("2026-09-01", "2026-09-01T23:30:00-05:00"),  # its date as written
    ("2026-09-02", "2026-09-01T23:30:00-05:00"),  # its date in UTC
    ("2026-09-01T10:00:30Z", "2026-09-01T10:00Z"),
    ("2026-09-01T10:00:00Z", "2026-09-01T10:00:00.123Z"),
    ("2026-09-01T10:00:00", "2026-09-01T10:00:00+05:00"),  # the same wall clock
    (None, "2026-09-01"),
    ("2026-09-01", None),
    ("yesterday", "2026-09-01"),
    ("2026-09-01", "01/09/2026"),
    ("2026-02-30", "2026-03-02"),
]
"""Before and after: a change of notation or of precision, gained, lost or unreadable."""

CHANGED = [
    ("2026-09-01", "2026-09-02"),
    ("2026-09-01", "2026-08-31"),
    ("2026-09", "2026-10-01"),
    ("2026-09-01T10:00:00Z", "2026-09-01T10:00:01Z"),
    ("2026-09-01T10:00:00Z", "2026-09-01T10:00:00+02:00"),
    ("2026-09-01T10:00:00", "2026-09-01T11:00:00Z"),
    ("2026-09-01T23:30:00-05:00", "2026-09-03"),
]
"""Before and after: other moments."""


def test_moments_are_compared_and_rows_show_the_texts(site: Site, monitor: MakeMonitor) -> None:
    """[C4]: notation, precision, and a lastmod gained or lost are no change."""
    job = monitor(sites=[site.url])
    pairs = [*SAME, *CHANGED]
    serve(site, a=[(f"/{n}", before) for n, (before, _) in enumerate(pairs)])
    job.run()
    serve(site, a=[(f"/{n}", after) for n, (_, after) in enumerate(pairs)])
    run = job.run()
    assert {row["changeType"] for row in run.changes} == {"lastmod_changed"}
    assert {(row["lastmodBefore"], row["lastmodAfter"]) for row in run.changes} == set(CHANGED)
    assert len(run.changes) == run.site["lastmodChanged"] == len(CHANGED)


def test_the_finer_lastmod_stays_the_one_compared_with(site: Site, monitor: MakeMonitor) -> None:
    """[C4]: through a coarser value and an unchanged day, until a value disagrees with it."""
    job = monitor(sites=[site.url])

    def day(x: str, y: str) -> list[str]:
        serve(site, a=[("/x", x), ("/y", y), ("/z", "2026-01-01")])
        return told(job.run())

    day("2026-09-01T10:00:00Z", "2026-09-01T10:00:00Z")
    assert day("2026-09-01", "2026-09-01") == []
    assert day("2026-09-01", "2026-09-01") == []
    serve(site, a=[("/x", "2026-09-01T10:00:00Z"), ("/y", "2026-09-01T15:00:00Z"), "/z"])
    run = job.run()
    assert told(run) == ["lastmod_changed /y"]
    assert row(run, "lastmod_changed", "/y")["lastmodBefore"] == "2026-09-01T10:00:00Z"


def test_a_lastmod_that_was_gained_is_the_one_compared_with(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C4]: what is no change is learnt."""
    job = monitor(sites=[site.url])
    serve(site, a=["/x", "/y"])
    job.run()
    serve(site, a=[("/x", "2026-09-01"), "/y"])
    assert told(job.run()) == []
    serve(site, a=[("/x", "2026-09-05"), "/y"])
    run = job.run()
    assert told(run) == ["lastmod_changed /x"]
    changed = row(run, "lastmod_changed", "/x")
    assert (changed["lastmodBefore"], changed["lastmodAfter"]) == ("2026-09-01", "2026-09-05")
    assert path(changed["sitemap"]) == "/a.xml"


def test_detect_lastmod_changes_off_learns_them(site: Site, monitor: MakeMonitor) -> None:
    """`detectLastmodChanges=false` tells and owes none; switched on, only later ones are told."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/x", "2026-09-01"), ("/y", "2026-09-01")])
    job.run()
    serve(site, a=[("/x", "2026-09-02"), ("/y", "2026-09-01"), "/z"])
    run = job.run(detectLastmodChanges=False)
    assert (told(run), run.site["lastmodChanged"]) == (["added /z"], 0)
    assert told(job.run()) == []
    serve(site, a=[("/x", "2026-09-02"), ("/y", "2026-09-03"), "/z"])
    assert told(job.run()) == ["lastmod_changed /y"]


# --- listed more than once [C3] -----------------------------------------------------------------


def test_a_listing_that_comes_or_goes_is_no_change(site: Site, monitor: MakeMonitor) -> None:
    """[C3]: only files that list the URL in both runs are compared."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/x", "2026-09-01"), "/a1"], b=[("/x", "2026-09-05"), "/b1"])
    job.run()
    serve(site, a=[("/x", "2026-09-01"), "/a1"], b=["/b1"])
    assert told(job.run()) == []
    serve(site, a=[("/x", "2026-09-01"), "/a1"], b=[("/x", "2026-09-09"), "/b1"])
    assert told(job.run()) == []
    serve(site, a=[("/x", "2026-09-10"), "/a1"], b=[("/x", "2026-09-09"), "/b1"])
    run = job.run()
    assert told(run) == ["lastmod_changed /x"]
    changed = row(run, "lastmod_changed", "/x")
    assert (changed["lastmodBefore"], changed["lastmodAfter"]) == ("2026-09-09", "2026-09-10")
    assert path(changed["sitemap"]) == "/a.xml"


def test_the_latest_readable_lastmod_counts_also_within_a_file(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C3]: the order of a URL's entries says nothing."""
    job = monitor(sites=[site.url], outputMode="urls_and_changes")
    serve(site, a=[("/x", "2026-09-01"), ("/x", "2026-09-05"), ("/x", "soon"), "/y"])
    first = job.run()
    assert [(path(row["url"]), row["lastmod"]) for row in first.urls] == [
        ("/x", "2026-09-05"),
        ("/y", None),
    ]
    serve(site, a=["/y", ("/x", "2026-09-05"), ("/x", "2026-09-02")])
    assert told(job.run()) == []


def test_a_file_not_read_takes_part_with_its_stored_listing(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C3] [G]: a failed file takes no lastmod away."""
    job = monitor(sites=[site.url])
    serve(site, a=[("/x", "2026-09-01"), "/a1"], b=[("/x", "2026-09-05"), "/b1"])
    job.run()
    serve(site, a=[("/x", "2026-09-03"), "/a1"], b=DOWN)
    assert told(job.run()) == []
    serve(site, a=[("/x", "2026-09-03"), "/a1"], b=[("/x", "2026-09-05"), "/b1"])
    assert told(job.run()) == []


# --- stamps [C8] --------------------------------------------------------------------------------


def test_a_file_stamped_at_once_is_ignored_and_the_rest_told(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C8]: a build stamps one file within a minute; another file's change stands out."""
    job = monitor(sites=[site.url])
    serve(site, a=dated("/a/", range(30)), b=dated("/b/", range(20)))
    job.run()
    stamped = [(f"/a/{n}", f"2026-10-02T05:00:{n:02}Z") for n in range(30)]
    changed = [("/b/0", "2026-10-01T12:00:00Z"), *dated("/b/", range(1, 20))]
    serve(site, a=stamped, b=changed)
    run = job.run()
    assert told(run) == ["lastmod_changed /b/0"]
    assert (run.site["lastmodUniform"], run.site["lastmodChanged"]) == (True, 1)


def test_a_whole_site_changed_at_once_is_ignored_and_learnt(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C8]: every one of at least 5 of a site, spread over its files; the values are learnt."""
    job = monitor(sites=[site.url])
    serve(site, a=dated("/a/", range(3)), b=[*dated("/b/", range(2)), "/b/undated"])
    job.run()
    a = [(f"/a/{n}", f"2026-10-0{n + 1}") for n in range(3)]
    b = [(f"/b/{n}", f"2026-10-1{n + 1}") for n in range(2)]
    serve(site, a=a, b=[*b, "/b/undated"])
    run = job.run()
    assert (told(run), run.site["lastmodUniform"]) == ([], True)
    run = job.run()
    assert (told(run), run.site["lastmodUniform"]) == ([], False)
    serve(site, a=[("/a/0", "2026-10-20"), *a[1:]], b=[*b, "/b/undated"])
    run = job.run()
    assert told(run) == ["lastmod_changed /a/0"]
    assert row(run, "lastmod_changed", "/a/0")["lastmodBefore"] == "2026-10-01"


def test_less_than_90_percent_and_less_than_20_are_changes(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C8]: 17 of 19 are fewer than 20, and 2 of 19 were left alone."""
    job = monitor(sites=[site.url])
    serve(site, a=dated("/", range(19)))
    job.run()
    serve(site, a=[*many("/", range(17), "2026-10-01"), *dated("/", range(17, 19))])
    run = job.run()
    assert (len(run.changes), run.site["lastmodUniform"]) == (17, False)


def test_a_page_that_joins_a_standing_stamp_is_ignored_and_one_that_leaves_it_is_told(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C8]: not reported are changes to a value inside this run's stamp."""
    job = monitor(sites=[site.url])
    stamp = "2026-09-20T04:00:00Z"
    others = many("/", range(30), stamp)
    serve(site, a=[*others, ("/joins", "2026-03-01"), ("/leaves", stamp)])
    job.run()
    serve(site, a=[*others, ("/joins", stamp), ("/leaves", "2026-10-01")])
    run = job.run()
    assert (told(run), run.site["lastmodUniform"]) == (["lastmod_changed /leaves"], True)


def test_a_change_owed_before_a_stamp_day_is_told(site: Site, monitor: MakeMonitor) -> None:
    """[C8] [C12]: it was a change before the stamp came; its row shows the value of now."""
    job = monitor(sites=[site.url])
    serve(site, a=dated("/", range(8)))
    job.run()
    serve(site, a=[("/0", "2026-09-15"), *dated("/", range(1, 8))])
    assert told(job.run(settings=budget(0))) == []
    serve(site, a=many("/", range(8), "2026-10-03"))
    run = job.run()
    assert told(run) == ["lastmod_changed /0"]
    changed = row(run, "lastmod_changed", "/0")
    assert (changed["lastmodBefore"], changed["lastmodAfter"]) == ("2026-08-01", "2026-10-03")
    assert run.site["lastmodUniform"]


def test_a_file_that_fails_on_a_stamp_day_makes_no_changes_of_the_others(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C8] [G]: what was not read that day cannot speak against the stamp."""
    job = monitor(sites=[site.url])
    serve(site, a=dated("/a/", range(6)), b=dated("/b/", range(6, 12)))
    job.run()
    stamped = "2026-10-02T05:00:00Z"
    serve(site, a=many("/a/", range(6), stamped), b=DOWN)
    run = job.run()
    assert (told(run), run.site["lastmodUniform"]) == ([], True)
    serve(site, a=many("/a/", range(6), stamped), b=many("/b/", range(6, 12), stamped))
    run = job.run()
    assert (told(run), run.site["lastmodUniform"]) == ([], True)


def test_stamps_are_told_when_asked_for(site: Site, monitor: MakeMonitor) -> None:
    """[C8] `ignoreSiteWideStamps=false` lifts the rule."""
    job = monitor(sites=[site.url], ignoreSiteWideStamps=False)
    serve(site, a=dated("/", range(25)))
    job.run()
    serve(site, a=many("/", range(25), "2026-10-02"))
    run = job.run()
    assert (len(run.changes), run.site["lastmodUniform"]) == (25, False)


def test_a_news_file_makes_no_stamp(site: Site, monitor: MakeMonitor) -> None:
    """[C8]: aging files are left out; all their dates are of today by design."""
    job = monitor(sites=[site.url])
    headline = {"news": "Headline"}
    fresh = [(f"/n/{n}", "2026-10-02", headline) for n in range(25)]
    serve(site, a=dated("/a/", range(10)), news=urlset(fresh))
    job.run()
    serve(site, a=[("/a/0", "2026-10-02"), *dated("/a/", range(1, 10))], news=urlset(fresh))
    run = job.run()
    assert (told(run), run.site["lastmodUniform"]) == (["lastmod_changed /a/0"], False)
