"""What an entry of `sites` or `sitemapUrls` means, and what becomes of one that is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemon_spider.core.targets import Rejection, SiteTarget, read_target
from tests.world import NOT_FOUND, Site, World, blog, index, no_sitemap, robots, urlset

if TYPE_CHECKING:
    from tests.conftest import MakeMonitor

MEANINGS: dict[str, tuple[str, bool]] = {
    # line: (the site's key, whether it is read as given)
    "example.com": ("https://example.com", False),
    "http://example.com": ("http://example.com", False),
    "HTTPS://Example.COM/": ("https://example.com", False),
    " https://example.com ": ("https://example.com", False),
    "https://example.com/shop/page.html?a=b#c": ("https://example.com", False),
    "https://example.com:443": ("https://example.com", False),
    "https://example.com:8443/": ("https://example.com:8443", False),
    "example.com:8080/shop": ("https://example.com:8080", False),
    "https://example.com.": ("https://example.com", False),
    "https://münchen.example": ("https://xn--mnchen-3ya.example", False),
    "https://example.com/robots.txt": ("https://example.com", False),
    "https://example.com/robots.txt?v=2": ("https://example.com", False),
    "https://example.com/feedback": ("https://example.com", False),
    "https://example.com/feed.html": ("https://example.com", False),
    "https://example.com/xml": ("https://example.com", False),
    "https://example.com/a.xml": ("https://example.com/a.xml", True),
    "https://example.com/a.XML": ("https://example.com/a.XML", True),
    "https://example.com/a.xml.gz": ("https://example.com/a.xml.gz", True),
    "https://example.com/a.xml?page=2": ("https://example.com/a.xml?page=2", True),
    "https://example.com/urls.txt": ("https://example.com/urls.txt", True),
    "https://example.com/urls.txt.gz": ("https://example.com/urls.txt.gz", True),
    "https://example.com/a.rss": ("https://example.com/a.rss", True),
    "https://example.com/a.atom": ("https://example.com/a.atom", True),
    "https://example.com/blog/feed": ("https://example.com/blog/feed", True),
    "https://example.com/blog/feed/": ("https://example.com/blog/feed/", True),
    "https://example.com/rss": ("https://example.com/rss", True),
    "https://example.com/atom/": ("https://example.com/atom/", True),
    "https://example.com/sitemap": ("https://example.com/sitemap", True),
    "https://example.com/SiteMap/index.php": ("https://example.com/SiteMap/index.php", True),
    "https://Example.com/a.xml#x": ("https://example.com/a.xml", True),
}


@pytest.mark.parametrize("line", MEANINGS)
def test_an_entry_of_sites_means(line: str) -> None:
    """SPEC §1 `sites`: a scheme is added, a path is ignored, a sitemap-like path read as given."""
    target = read_target(line, direct=False)
    assert isinstance(target, SiteTarget)
    assert (target.key, target.direct) == MEANINGS[line]
    assert target.input == line


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("example.com/list", "https://example.com/list"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com/robots.txt", "https://example.com/robots.txt"),
    ],
)
def test_an_entry_of_sitemap_urls_is_read_as_given(line: str, key: str) -> None:
    target = read_target(line, direct=True)
    assert isinstance(target, SiteTarget)
    assert (target.key, target.direct) == (key, True)


REFUSED: dict[str, str] = {
    "ftp://example.com": "invalid_address",
    "file:///etc/passwd": "invalid_address",
    "mailto:me@example.com": "invalid_address",
    "javascript:alert(1)": "invalid_address",
    "https://user:secret@example.com": "invalid_address",
    "user@example.com": "invalid_address",
    "https://": "invalid_address",
    "https:///sitemap.xml": "invalid_address",
    "//example.com": "invalid_address",
    "/sitemap.xml": "invalid_address",
    "https://exa mple.com": "invalid_address",
    "https://example.com/a b.xml": "invalid_address",
    "https://example.com:99999": "invalid_address",
    "https://[::1": "invalid_address",
    "https://exam\u200bple.com": "invalid_character",
    "https://example.com/\u202exml.a": "invalid_character",
    "https://example.com/\x1b[31m": "invalid_character",
    "https://exam\tple.com": "invalid_character",
    "http://127.0.0.1": "private_address",
    "localhost": "private_address",
    "http://app.localhost:3000": "private_address",
    "http://[::1]/": "private_address",
    "http://[::ffff:127.0.0.1]/": "private_address",
    "http://2130706433/": "private_address",
    "http://0x7f000001/": "private_address",
    "http://0x7f.1/": "private_address",
    "http://0177.0.0.1/": "private_address",
    "http://0/": "private_address",
}


SHOWN = {
    "mailto:me@example.com": "***@example.com",
    "https://user:secret@example.com": "https://***@example.com",
    "user@example.com": "***@example.com",
}
"""Passwords are not repeated."""


@pytest.mark.parametrize("line", REFUSED)
@pytest.mark.parametrize("direct", [False, True])
def test_an_entry_is_refused_with_its_reason(line: str, direct: bool) -> None:
    target = read_target(line, direct=direct)
    assert isinstance(target, Rejection), target
    assert target.reason == REFUSED[line]
    assert target.input == (line if "@" not in line else SHOWN[line])


def test_private_addresses_are_read_where_they_are_allowed() -> None:
    """[S1]: SITEMON_ALLOW_PRIVATE lifts the rule."""
    assert isinstance(read_target("localhost:3000", direct=False, allow_private=True), SiteTarget)


def test_a_refused_entry_has_a_failed_row_and_the_others_go_on(monitor: MakeMonitor) -> None:
    bad = ["ftp://example.com", "https://[::1", "https://exam\u200bple.com"]
    with World(blog()) as world:
        good = world.sites[0].url
        run = monitor(sites=[bad[0], good, *bad[1:]]).run()
    rows = {row["input"]: row for row in run.sites}
    assert set(rows) == {good, *bad}
    assert rows[good]["status"] == "ok"
    assert [(rows[line]["status"], rows[line]["errorType"]) for line in bad] == [
        ("failed", "invalid_address"),
        ("failed", "invalid_address"),
        ("failed", "invalid_character"),
    ]
    skipped = run.records["SKIPPED.json"]
    assert [(entry["address"], entry["stage"]) for entry in skipped] == [(b, "input") for b in bad]
    assert run.exit_code == 0
    assert run.records["OUTPUT.json"]["result"] == "partial"
    assert len(run.records["OUTPUT.json"]["sites"]) == 4


def test_a_password_in_an_address_is_not_repeated(monitor: MakeMonitor) -> None:
    """[S3]: what was refused for its password must not spread it to logs and records."""
    with World(blog()) as world:
        run = monitor(sites=["https://me:hunter2@example.com", world.sites[0].url]).run()
    assert "hunter2" not in run.log
    assert "hunter2" not in str(run.rows)
    assert "hunter2" not in str(run.records)


def test_an_entry_given_twice_is_read_once(monitor: MakeMonitor) -> None:
    """[C16]: the first is read, the other one is skipped."""
    with World(blog()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url, f"{site.url}/about", site.url.upper()]).run()
    assert [row["status"] for row in run.sites].count("ok") == 1
    skipped = [row for row in run.sites if row["status"] == "skipped"]
    assert {row["errorType"] for row in skipped} == {"duplicate_input"}
    assert len(skipped) == 2
    assert site.paths() == ["/robots.txt", "/sitemap.xml"]


def test_a_direct_sitemap_uses_no_sitemap_lines_and_no_common_paths(monitor: MakeMonitor) -> None:
    """SPEC §1 `sitemapUrls`: only robots rules hold for a host given only so."""
    pages = {
        "/robots.txt": robots(["/other.xml"], rules="User-agent: *\nDisallow: /private\n"),
        "/other.xml": urlset(["/other"]),
        "/sitemap.xml": urlset(["/common"]),
        "/list": index(["/a.xml", "/private/b.xml"]),
        "/a.xml": urlset(["/a"]),
        "/private/b.xml": urlset(["/b"]),
    }
    with World(Site(pages)) as world:
        site = world.sites[0]
        run = monitor(sitemapUrls=[f"{site.url}/list"], firstRun="report").run()
    assert run.told() == {("added", f"{site.url}/a")}
    assert sorted(site.paths()) == ["/a.xml", "/list", "/robots.txt"]
    assert run.site["site"] == f"{site.url}/list"


def test_a_site_and_its_sitemap_are_two_inputs_and_each_reads_the_file(
    monitor: MakeMonitor,
) -> None:
    """[C16]: a file is fetched once a site."""
    pages = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index(["/a.xml"]),
        "/a.xml": urlset(["/a"]),
    }
    with World(Site(pages)) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url, f"{site.url}/a.xml"]).run()
    assert [row["status"] for row in run.sites] == ["ok", "ok"]
    assert sorted(site.paths()) == ["/a.xml", "/a.xml", "/robots.txt", "/sitemap.xml"]


def test_two_sites_that_lead_to_one_sitemap_are_one(monitor: MakeMonitor) -> None:
    """[C16]: decided before children are requested; the first in input order is read."""
    main = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index(["/a.xml"]),
        "/a.xml": urlset(["/a"]),
    }
    mirror = {"/robots.txt": robots(["{origin:main}/sitemap.xml"])}
    with World(Site(main, name="main"), Site(mirror)) as world:
        run = monitor(sites=[world.sites[1].url, world.sites[0].url]).run()
    by_site = {row["site"]: row for row in run.sites}
    assert by_site[world.sites[1].url]["status"] == "ok"
    other = by_site[world.sites[0].url]
    assert (other["status"], other["errorType"]) == ("skipped", "duplicate_input")
    assert world["main"].paths().count("/a.xml") == 1


@pytest.mark.parametrize("first", [0, 1])
def test_common_paths_are_tried_one_at_a_time_until_one_parses(
    monitor: MakeMonitor, first: int
) -> None:
    """SPEC §1 `tryCommonPaths`."""
    paths = ["/sitemap.xml", "/sitemap_index.xml"]
    pages = {"/robots.txt": NOT_FOUND, paths[first]: urlset(["/a"])}
    with World(Site(pages)) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], outputMode="urls_and_changes").run()
        assert run.urls[0]["discoveredVia"] == "common-path"
        assert site.paths() == ["/robots.txt", *paths[: first + 1]]
        assert world.concurrency(site) == 1
    assert run.records["OUTPUT.json"]["sites"][0]["rootsFrom"] == "fallback"


def test_common_paths_can_be_switched_off(monitor: MakeMonitor) -> None:
    with World(no_sitemap()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], tryCommonPaths=False).run()
        assert site.paths() == ["/robots.txt"]
    assert (run.site["status"], run.site["errorType"]) == ("failed", "no_sitemap")
    assert run.exit_code == 1
