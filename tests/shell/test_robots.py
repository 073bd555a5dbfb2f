"""robots.txt over real HTTP: what its status means, whom it binds, what it asks for [R1]-[R3]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.world import NOT_FOUND, Page, Site, World, html_page, index, redirect, robots, urlset

if TYPE_CHECKING:
    from tests.conftest import MakeMonitor
    from tests.crawl import Crawl

FORBIDS = b"User-agent: *\nDisallow: /\n"


def tree(robots_txt: Any, **more: Any) -> dict[str, Any]:
    """A site with its sitemap at the first common path."""
    return {"/robots.txt": robots_txt, "/sitemap.xml": urlset(["/a"]), **more}


def host(run: Crawl, site: Site) -> dict[str, Any]:
    """What the record says of a host."""
    facts: dict[str, Any] = run.records["OUTPUT.json"]["hosts"][site.url]
    return facts


STATUSES: dict[str, tuple[Page, str]] = {
    # name: (the answer, the verdict)
    "200": (Page(b"User-agent: *\nDisallow: /private\n", 200, "text/plain"), "rules"),
    "203": (Page(b"User-agent: *\nDisallow: /private\n", 203, "text/plain"), "rules"),
    "200, empty": (Page(b"", 200, "text/plain"), "rules"),
    "400": (Page(FORBIDS, 400), "no-rules"),
    "401": (Page(FORBIDS, 401), "no-rules"),
    "403": (Page(FORBIDS, 403), "no-rules"),
    "404": (Page(FORBIDS, 404), "no-rules"),
    "410": (Page(FORBIDS, 410), "no-rules"),
    "451": (Page(FORBIDS, 451), "no-rules"),
    "HTML": (html_page(), "no-rules"),
    "HTML as text": (html_page().but(content_type="text/plain"), "no-rules"),
    "429": (Page(b"", 429), "unreachable"),
    "500": (Page(b"", 500), "unreachable"),
    "503": (Page(b"", 503), "unreachable"),
    "599": (Page(b"", 599), "unreachable"),
    "304": (Page(b"", 304), "unreachable"),
    "reset": (Page(fault="reset"), "unreachable"),
    "garbage": (Page(fault="garbage"), "unreachable"),
    "circle": (redirect("/robots.txt"), "unreachable"),
    "gzip": (Page(b"User-agent: *\nDisallow: /private\n", gzip=1), "rules"),
}


def test_the_status_of_a_robots_txt_is_its_meaning(monitor: MakeMonitor) -> None:
    """[R1]: 2xx rules, 4xx none (its body is nobody's word), 5xx, 429 and no answer forbid all."""
    sites = {name: Site(tree(page), name=name) for name, (page, _) in STATUSES.items()}
    with World(*sites.values()) as world:
        job = monitor(sites=[site.url for site in world.sites], maxConcurrentSites=64)
        run = job.run()
    rows = {row["site"]: row for row in run.sites}
    for name, (_, verdict) in STATUSES.items():
        site, row = sites[name], rows[sites[name].url]
        assert host(run, site)["robotsVerdict"] == verdict, name
        if verdict == "unreachable":
            assert (row["status"], row["errorType"]) == ("failed", "robots_unreachable"), name
            assert set(site.paths()) == {"/robots.txt"}, name
        else:
            assert row["status"] == "ok", name
            assert site.paths() == ["/robots.txt", "/sitemap.xml"], name
    assert host(run, sites["HTML"])["robotsNotes"] == {"html_page": 1}


def test_robots_txt_is_followed_through_five_redirects(monitor: MakeMonitor) -> None:
    """[R1]: the rules hold for the first host; relative Sitemap lines start at the last."""
    moved = robots(rules="User-agent: *\nDisallow: /sitemap.xml\nSitemap: lines.xml\n")
    far = {"/deep/robots.txt": moved, "/deep/lines.xml": urlset(["{origin:near}/a"])}
    near: dict[str, Any] = {f"/{n}": redirect(f"/{n + 1}", 302) for n in range(1, 4)}
    near |= {
        "/robots.txt": redirect("/1"),
        "/4": redirect("{origin:far}/deep/robots.txt"),
        "/sitemap.xml": urlset(["/b"]),
    }
    with World(Site(near, name="near"), Site(far, name="far")) as world:
        run = monitor(sites=[world["near"].url], firstRun="report").run()
        assert world["near"].paths() == ["/robots.txt", "/1", "/2", "/3", "/4"]
        assert world["far"].paths() == ["/deep/robots.txt", "/robots.txt", "/deep/lines.xml"]
    assert run.told() == {("added", f"{world['near'].url}/a")}


def test_six_redirects_make_robots_txt_unreachable(monitor: MakeMonitor) -> None:
    pages: dict[str, Any] = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 6)}
    pages |= tree(redirect("/1")) | {"/6": robots()}
    with World(Site(pages)) as world:
        run = monitor(sites=[world.sites[0].url]).run()
        assert "/6" not in world.sites[0].paths()
    assert run.site["errorType"] == "robots_unreachable"


def test_robots_txt_is_read_once_an_origin_a_run(monitor: MakeMonitor) -> None:
    """[R1]: whoever asks: the site, direct sitemaps of it, children of other sites."""
    main = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index([f"{{origin:cdn}}/{n}.xml" for n in range(5)]),
        "/one.xml": urlset(["/one"]),
        "/two.xml": urlset(["/two"]),
    }
    cdn = {f"/{n}.xml": urlset([f"/{n}"]) for n in range(5)}
    with World(Site(main, name="main"), Site(cdn, name="cdn")) as world:
        site = world["main"]
        inputs = [
            site.url,
            f"{site.url}/one.xml",
            f"{site.url}/two.xml",
            f"{world['cdn'].url}/0.xml",
        ]
        run = monitor(sites=inputs).run()
        for each in world.sites:
            assert each.paths().count("/robots.txt") == 1
        assert run.stats["sitemon/robots_files"] == 2
    assert {row["status"] for row in run.sites} == {"ok"}


def test_another_port_is_another_origin(monitor: MakeMonitor) -> None:
    """RFC 9309 §2.3: robots.txt speaks for its scheme, host and port."""
    open_site = Site(tree(robots()), ip="127.0.0.1", name="open")
    closed = Site({"/robots.txt": Page(FORBIDS, 200, "text/plain")}, ip="127.0.0.1", name="closed")
    with World(open_site, closed):
        run = monitor(sites=[open_site.url, closed.url]).run()
    statuses = {row["site"]: row["errorType"] for row in run.sites}
    assert statuses == {open_site.url: None, closed.url: "robots_disallowed"}


def test_rules_hold_on_every_host_of_a_child(monitor: MakeMonitor) -> None:
    """[R2]: a CDN's robots.txt forbids what it forbids; one that fails forbids everything."""
    main = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index(
            [
                "/own.xml",
                "{origin:cdn}/open.xml",
                "{origin:cdn}/closed/a.xml",
                "{origin:down}/b.xml",
            ]
        ),
        "/own.xml": urlset(["/own"]),
    }
    rules = robots(rules="User-agent: *\nDisallow: /closed/\n")
    cdn = {"/robots.txt": rules, "/open.xml": urlset(["/open"]), "/closed/a.xml": urlset(["/a"])}
    down = {"/robots.txt": Page(status=500), "/b.xml": urlset(["/b"])}
    with World(Site(main, name="main"), Site(cdn, name="cdn"), Site(down, name="down")) as world:
        run = monitor(sites=[world["main"].url]).run()
        assert world["cdn"].paths() == ["/robots.txt", "/open.xml"]
        assert world["down"].paths() == ["/robots.txt"]
    listed = {
        file["url"]: file["reason"] for file in run.records["OUTPUT.json"]["sites"][0]["files"]
    }
    assert listed[world["cdn"].address("/closed/a.xml")] == "robots_disallowed"
    assert listed[world["down"].address("/b.xml")] == "robots_unreachable"
    assert run.site["sitemapsFailed"] == 1


GROUPS = {
    # rules: is /sitemap.xml allowed?
    "User-agent: *\nDisallow: /sitemap.xml\n": False,
    "User-agent: sitemon\nDisallow: /sitemap.xml\n": False,
    "User-agent: SiteMon\nDisallow: /sitemap\n": False,
    "User-agent: *\nDisallow: /\n\nUser-agent: sitemon\nDisallow:\n": True,
    "User-agent: *\nDisallow: /\nAllow: /sitemap.xml\n": True,
    "User-agent: googlebot\nDisallow: /\n": True,
    "User-agent: *\nDisallow: /*.xml$\n": False,
    "User-agent: sitemon\nAllow: /x\n\nUser-agent: sitemon\nDisallow: /sitemap\n": False,
}


def test_a_sitemap_that_robots_txt_forbids_is_not_requested(monitor: MakeMonitor) -> None:
    """[R1]: our own groups merged, else those of everyone; the longest match, Allow in a tie."""
    sites = [Site(tree(robots(["/sitemap.xml"], rules=rules))) for rules in GROUPS]
    with World(*sites):
        run = monitor(sites=[site.url for site in sites], maxConcurrentSites=64).run()
    rows = {row["site"]: row for row in run.sites}
    for site, allowed in zip(sites, GROUPS.values(), strict=True):
        assert ("/sitemap.xml" in site.paths()) is allowed
        assert rows[site.url]["errorType"] == (None if allowed else "robots_disallowed")


def test_a_forbidden_common_path_is_passed_over(monitor: MakeMonitor) -> None:
    """SPEC `tryCommonPaths`: each only if robots allows it."""
    pages = {
        "/robots.txt": robots(rules="User-agent: *\nDisallow: /sitemap.xml\n"),
        "/sitemap.xml": urlset(["/a"]),
        "/sitemap_index.xml": urlset(["/b"]),
    }
    with World(Site(pages)) as world:
        run = monitor(sites=[world.sites[0].url], firstRun="report").run()
        assert world.sites[0].paths() == ["/robots.txt", "/sitemap_index.xml"]
    assert run.told() == {("added", world.sites[0].address("/b"))}


def test_sitemap_lines_are_found_however_they_are_written(monitor: MakeMonitor) -> None:
    """[R1]: anywhere, relative, with comments, BOM, CR, odd case and misspellings."""
    lines = (
        b"\xef\xbb\xbfSITEMAP : /1.xml # the first\r"
        b"User-agent: x\rDisallow: /\r\n"
        b"sitemap:2.xml\r\n"
        b"Site-map: {origin}/3.xml\n"
        b"Sitemap:\n"
        b"Sitemap: {origin}/1.xml\n"
        b"Sitemap: ftp://a.example/4.xml\n"
    )
    pages = {f"/{n}.xml": urlset([f"/{n}"]) for n in (1, 2, 3)}
    with World(Site({"/robots.txt": Page(lines, 200, "text/plain"), **pages})) as world:
        run = monitor(sites=[world.sites[0].url], firstRun="report").run()
        assert sorted(world.sites[0].paths()) == ["/1.xml", "/2.xml", "/3.xml", "/robots.txt"]
    assert {row["url"][-2:] for row in run.changes} == {"/1", "/2", "/3"}


def test_what_stands_behind_500_kib_is_not_read(monitor: MakeMonitor) -> None:
    """[R1]: and a file without end costs no more than its beginning."""
    body = b"Sitemap: {origin}/sitemap.xml\n" + b"# filler\n" * 4_000_000 + FORBIDS
    with World(Site(tree(Page(body, 200, "text/plain")))) as world:
        run = monitor(sites=[world.sites[0].url]).run()
        facts = host(run, world.sites[0])
    assert run.site["status"] == "ok"
    assert facts["robotsNotes"] == {"too_long": 1}


def test_own_sites_may_be_read_against_their_rules(monitor: MakeMonitor) -> None:
    """SPEC `respectRobotsTxt`: with `ownSite`; its Sitemap lines are used all the same."""
    rules = robots(["/own.xml"], rules="User-agent: *\nDisallow: /\nCrawl-delay: 20\n")
    with World(Site(tree(rules, **{"/own.xml": urlset(["/a"])}))) as world:
        run = monitor(sites=[world.sites[0].url], respectRobotsTxt=False).run()
        assert world.sites[0].paths() == ["/robots.txt", "/own.xml"]
    assert run.site["status"] == "ok"


@pytest.mark.parametrize("status", [404, 503])
def test_what_robots_txt_says_is_in_the_record(monitor: MakeMonitor, status: int) -> None:
    """SPEC §3: for each host status and verdict, Crawl-delay used, number of requests."""
    cdn = Site({"/robots.txt": NOT_FOUND.but(status=status), "/a.xml": urlset(["/a"])}, name="cdn")
    rules = robots(["{origin:cdn}/a.xml"], rules="User-agent: sitemon\nCrawl-delay: 0.1\n")
    main = Site({"/robots.txt": rules}, name="main")
    with World(main, cdn):
        run = monitor(sites=[main.url]).run()
    own, other = host(run, main), host(run, cdn)
    assert (own["robotsStatus"], own["robotsVerdict"], own["robotsGroup"]) == (
        200,
        "rules",
        "sitemon",
    )
    assert (own["crawlDelay"], own["crawlDelayAsked"], own["requests"]) == (0.1, 0.1, 1)
    expected = (404, "no-rules", None, 2) if status == 404 else (503, "unreachable", "HTTP 503", 1)
    names = ("robotsStatus", "robotsVerdict", "robotsError", "requests")
    assert tuple(other[name] for name in names) == expected
