"""Unchanged files cost nothing, and what is owed comes: [C2], [C11], [C12]."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.shell.tracking import DOWN, budget, path, row, serve, told
from tests.world import Site, World, index, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeMonitor


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site({})
    with World(site):
        yield site


DAY = "2026-10-{:02}T06:00:00.000Z"


# --- identity [C2] ------------------------------------------------------------------------------


def test_another_notation_of_a_url_is_no_change(site: Site, monitor: MakeMonitor) -> None:
    """[C2]: RFC 3986 §6.2.2 as far as it cannot change meaning; rows show the URL as listed."""
    job = monitor(sites=[site.url])
    one = ["/é", "/%7Euser", "/a/../b", "/c d", "HTTP://EXAMPLE.com:80", "/q?x=%c3%a9", "/f#top"]
    other = ["/%C3%A9", "/~user", "/b", "/c%20d", "http://example.com/", "/q?x=%C3%A9", "/f"]
    serve(site, a=[*one, "/Case", "/slash", "/q?a=1&b=2"])
    job.run()
    serve(site, a=[*other, "/case", "/slash/", "/q?b=2&a=1"])
    run = job.run()
    assert told(run) == [
        *("added /case", "added /q?b=2&a=1", "added /slash/"),
        *("removed /Case", "removed /q?a=1&b=2", "removed /slash"),
    ]
    serve(site, a=["/case", "/slash/", "/q?b=2&a=1"])
    removed = [row["url"] for row in job.run().changes]
    assert sorted(removed) == sorted(
        [*(site.url + url for url in other if url.startswith("/")), "http://example.com/"]
    )


# --- unchanged files [C11] ----------------------------------------------------------------------


def test_unchanged_files_are_asked_for_by_their_validators_and_not_read_again(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C11]: a 304 reuses the stored segment; its URLs take part in every count."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"], b=["/2", "/3"])
    job.run()
    segments = job.snapshot()["files"]
    site.requests.clear()
    run = job.run()
    asked = {r.target: r.headers.get("if-none-match") for r in site.requests}
    assert asked == {
        "/robots.txt": None,
        **{path(address): entry["etag"] for address, entry in segments.items()},
    }
    assert {status for target, status in site.answers() if target != "/robots.txt"} == {304}
    assert (run.site["sitemapsRead"], run.site["sitemapsUnchanged"]) == (3, 3)
    assert (run.site["urlsFound"], run.site["complete"]) == (3, True)
    assert job.snapshot()["files"] == segments


def test_last_modified_is_a_validator_too(site: Site, monitor: MakeMonitor) -> None:
    """[C11]: `If-Modified-Since` where there is no ETag."""
    job = monitor(sites=[f"{site.url}/sitemap.xml"])
    site.serve({"/sitemap.xml": urlset(["/1"]).but(last_modified="Thu, 01 Oct 2026 00:00:00 GMT")})
    job.run()
    run = job.run()
    assert site.answers()[-1] == ("/sitemap.xml", 304)
    assert run.site["sitemapsUnchanged"] == 1


def test_the_same_bytes_are_unchanged_without_any_validator(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C11]: a 200 whose unpacked bytes hash as before; also when only the packing changed."""
    job = monitor(sites=[f"{site.url}/sitemap.xml"])
    site.serve({"/sitemap.xml": urlset(["/1"])})
    job.run()
    site.serve({"/sitemap.xml": urlset(["/1"]).but(gzip=1)})
    run = job.run()
    assert site.answers()[-1] == ("/sitemap.xml", 200)
    assert (run.site["sitemapsUnchanged"], run.site["urlsFound"]) == (1, 1)


def test_an_index_that_answers_304_has_its_children_requested(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C11]: its stored children are its children; one that changed is told."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1"])
    job.run()
    serve(site, a=["/a1"], b=["/b1", "/b2"])
    run = job.run()
    assert ("/sitemap.xml", 304) in site.answers()
    assert (told(run), run.site["complete"]) == (["added /b2"], True)
    assert (run.site["sitemapsRead"], run.site["sitemapsUnchanged"]) == (3, 2)


def test_the_lastmod_of_an_index_entry_skips_no_file(site: Site, monitor: MakeMonitor) -> None:
    """[C11]: it is often frozen, so every child is requested."""
    job = monitor(sites=[site.url])
    frozen = index([("/a.xml", "2020-01-01")])
    serve(site, a=["/1"])
    site.set("/sitemap.xml", frozen)
    job.run()
    serve(site, a=["/1", "/2"])
    site.set("/sitemap.xml", frozen)
    assert told(job.run()) == ["added /2"]


def test_an_unchanged_file_takes_part_in_moves_and_duplicates(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C11] [C3]: what leaves a file that is read is no loss while an unchanged one lists it."""
    job = monitor(sites=[site.url])
    serve(site, a=["/x", "/a1"], b=["/x", "/b1"])
    job.run()
    serve(site, a=["/a1"], b=["/x", "/b1"])
    run = job.run()
    assert (told(run), run.site["sitemapsUnchanged"], run.site["urlsFound"]) == ([], 2, 3)
    serve(site, a=["/a1", "/b1"], b=["/x", "/b1"])
    run = job.run()
    assert (told(run), run.site["sitemapsUnchanged"], run.site["urlsFound"]) == ([], 2, 3)


def test_a_cut_file_has_no_validators(site: Site, monitor: MakeMonitor) -> None:
    """[C11]: only the bytes of a full read may stand for a file."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"])
    job.run()
    serve(site, a=urlset(["/1", "/2", "/3"], cut_at=2))
    job.run()
    site.requests.clear()
    job.run()
    asked = {r.target: r.headers.get("if-none-match") for r in site.requests}
    assert asked["/a.xml"] is None
    serve(site, a=["/1", "/2"])
    run = job.run()
    assert (told(run), run.site["complete"]) == ([], True)


def test_the_same_bytes_under_another_reader_number_are_read_and_learnt(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C11]: a plain GET, and no difference that a new way of reading makes is a change."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"], b=["/b1", "/b2"])
    job.run()
    (manifest,) = job.state.glob("*/sites/*/manifest.json")
    document = json.loads(manifest.read_text())
    segments = {path(address): entry for address, entry in document["files"].items()}
    for entry in segments.values():
        entry["reader"] = 0
    # An older reader may have seen other URLs in the same bytes: here those of the other file.
    for field in ("segment", "rows"):
        segments["/a.xml"][field] = segments["/b.xml"][field]
    manifest.write_text(json.dumps(document))
    site.requests.clear()
    serve(site, a=["/1", "/2"], b=["/b1", "/b3"])
    run = job.run()
    assert {request.headers.get("if-none-match") for request in site.requests} == {None}
    assert (told(run), run.site["sitemapsUnchanged"]) == (["added /b3", "removed /b2"], 0)
    assert job.run().site["sitemapsUnchanged"] == 3


# --- read and told [C12] ------------------------------------------------------------------------


def test_undelivered_rows_come_back_on_a_day_when_every_file_is_unchanged(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C12] [D2]: added, changed and removed, with their old lastmod and since when known."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", ("/2", "2026-09-01"), ("/3", "2026-09-01")])
    job.run()
    serve(site, a=["/1", ("/2", "2026-09-02"), ("/4", "2026-09-03")])
    run = job.run(settings=budget(0))
    assert (run.changes, run.site["status"]) == ([], "partial")
    assert (run.site["changesDetected"], run.site["changesPushed"]) == (3, 0)
    assert (run.site["added"], run.site["removed"], run.site["lastmodChanged"]) == (1, 1, 1)
    run = job.run()
    assert run.site["sitemapsUnchanged"] == 2
    assert told(run) == ["added /4", "lastmod_changed /2", "removed /3"]
    fields = ("lastmodBefore", "lastmodAfter", "firstSeenAt", "detectedAt")
    assert {row["changeType"]: tuple(row[f] for f in fields) for row in run.changes} == {
        "added": (None, "2026-09-03", DAY.format(2), DAY.format(3)),
        "lastmod_changed": ("2026-09-01", "2026-09-02", DAY.format(1), DAY.format(3)),
        "removed": ("2026-09-01", None, DAY.format(1), DAY.format(3)),
    }
    assert (run.site["status"], run.site["changesPushed"]) == ("ok", 3)
    assert told(job.run()) == []


def test_a_delivery_is_a_prefix_and_its_rest_comes_next(site: Site, monitor: MakeMonitor) -> None:
    """[C12] [D1] [D2]: row by row, whatever the sink takes: nothing lost, nothing twice."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", ("/2", "2026-09-01"), "/3"], b=["/b1", "/b2"])
    job.run()
    serve(site, a=["/1", ("/2", "2026-09-02"), "/4", "/5"], b=["/b1"])
    rows = [told(job.run(settings=budget(1))) for _ in range(5)]
    assert rows == [
        ["added /4"],
        ["added /5"],
        ["lastmod_changed /2"],
        ["removed /3"],
        ["removed /b2"],
    ]
    assert told(job.run()) == []


def test_what_is_owed_and_undone_by_the_site_is_never_told(
    site: Site, monitor: MakeMonitor
) -> None:
    """[C12]: each run compares what is read with what was told, not with what was read."""
    job = monitor(sites=[site.url])
    before = ["/1", ("/2", "2026-09-01"), "/3"]
    serve(site, a=before)
    job.run()
    serve(site, a=["/1", ("/2", "2026-09-02"), "/4"])
    assert job.run(settings=budget(0)).site["changesDetected"] == 3
    serve(site, a=before)
    run = job.run()
    assert (told(run), run.site["changesDetected"]) == ([], 0)


def test_an_owed_change_is_told_from_the_last_told_value(site: Site, monitor: MakeMonitor) -> None:
    """[C12]: two changes of which the first was not delivered are one."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", ("/2", "2026-09-01")])
    job.run()
    for lastmod in ("2026-09-02", "2026-09-03"):
        serve(site, a=["/1", ("/2", lastmod)])
        job.run(settings=budget(0))
    serve(site, a=["/1", ("/2", "2026-09-04")])
    run = job.run()
    assert told(run) == ["lastmod_changed /2"]
    changed = row(run, "lastmod_changed", "/2")
    assert (changed["lastmodBefore"], changed["lastmodAfter"]) == ("2026-09-01", "2026-09-04")


def test_owed_rows_wait_for_a_file_that_fails(site: Site, monitor: MakeMonitor) -> None:
    """[C12] [C5]: an undelivered removal cannot be told on a day that does not prove it."""
    job = monitor(sites=[site.url])
    serve(site, a=["/1", "/2"], b=["/b1"])
    job.run()
    serve(site, a=["/1", "/3"], b=["/b1"])
    job.run(settings=budget(0))
    serve(site, a=["/1", "/3"], b=DOWN)
    run = job.run()
    assert (told(run), run.site["removalsWithheld"]) == (["added /3"], 1)
    serve(site, a=["/1", "/3"], b=["/b1"])
    assert told(job.run()) == ["removed /2"]


def test_first_seen_follows_a_url_from_file_to_file(site: Site, monitor: MakeMonitor) -> None:
    """SPEC §2 `firstSeenAt`: moved, listed twice, in a renamed file: the first day stands."""
    job = monitor(sites=[site.url])
    serve(site, a=["/x", ("/y", "2026-09-01"), "/a1"], b=["/b1"])
    job.run()
    serve(site, a=["/a1"], b=["/b1", "/x", ("/y", "2026-09-01")])
    assert told(job.run()) == []
    serve(site, a=["/a1"], c=["/b1", "/x", ("/y", "2026-09-01"), "/z"])
    assert told(job.run()) == ["added /z"]
    serve(site, a=["/a1"], c=["/b1", ("/y", "2026-09-04")])
    run = job.run()
    assert told(run) == ["lastmod_changed /y", "removed /x", "removed /z"]
    seen = {path(row["url"]): row["firstSeenAt"] for row in run.changes}
    assert seen == {"/y": DAY.format(1), "/x": DAY.format(1), "/z": DAY.format(3)}


def test_first_seen_of_an_undelivered_url_that_moves_is_the_day_it_was_first_read(
    site: Site, monitor: MakeMonitor
) -> None:
    """SPEC §2 `firstSeenAt` [C12]: told late and in another file, it is as old as before."""
    job = monitor(sites=[site.url])
    serve(site, a=["/a1"], b=["/b1"])
    job.run()
    serve(site, a=["/a1", "/x"], b=["/b1"])
    job.run(settings=budget(0))
    serve(site, a=["/a1"], b=["/b1", "/x"])
    run = job.run()
    assert told(run) == ["added /x"]
    assert row(run, "added", "/x")["firstSeenAt"] == DAY.format(2)
    serve(site, a=["/a1"], b=["/b1"])
    run = job.run()
    assert told(run) == ["removed /x"]
    assert row(run, "removed", "/x")["firstSeenAt"] == DAY.format(2)
