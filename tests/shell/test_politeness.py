"""Politeness over real HTTP: pace, delays, one request at a time a host, retries, honesty."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import sitemon_spider
from tests.world import NOT_FOUND, Page, Site, World, gzip_of, index, redirect, robots, urlset

if TYPE_CHECKING:
    from tests.conftest import MakeMonitor
    from tests.world import Request

CLOCK = 0.2
"""Seconds by which the server may see two requests closer together than they were sent."""


def tree(children: int, robots_txt: Page | None = None, delay: float = 0) -> dict[str, Any]:
    pages = {f"/{n}.xml": urlset([f"/{n}"]).but(delay=delay) for n in range(children)}
    listing = robots_txt or robots(["/sitemap.xml"])
    return {"/robots.txt": listing, "/sitemap.xml": index(pages).but(delay=delay), **pages}


def gaps(requests: list[Request]) -> list[float]:
    """Seconds between each request and the next."""
    return [later.time - earlier.time for earlier, later in pairwise(requests)]


# ---------------------------------------------------------------------------- delays [R3]


def test_a_crawl_delay_is_kept_from_the_first_request_on(monitor: MakeMonitor) -> None:
    """[R3]: quick answers never lower it; robots.txt itself counts as a request."""
    rules = robots(["/sitemap.xml"], delay=1)
    with World(Site(tree(2, rules))) as world:
        run = monitor(sites=[world.sites[0].url]).run()
        assert min(gaps(world.sites[0].requests)) >= 1.0 - CLOCK
        assert len(world.sites[0].requests) == 4
    assert run.site["status"] == "ok"


def test_a_crawl_delay_holds_for_redirects_and_retries(monitor: MakeMonitor) -> None:
    """[R3]: whatever a request is, its host waits."""
    pages = {
        "/robots.txt": robots(["/sitemap.xml"], delay=0.7),
        "/sitemap.xml": [Page(status=503), redirect("/moved.xml")],
        "/moved.xml": urlset(["/a"]),
    }
    with World(Site(pages)) as world:
        run = monitor(sites=[world.sites[0].url], maxRetries=1).run()
        assert len(world.sites[0].requests) == 4
        assert min(gaps(world.sites[0].requests)) >= 0.7 - CLOCK
    assert run.site["status"] == "ok"


def test_a_crawl_delay_of_a_cdn_holds_there_alone(monitor: MakeMonitor) -> None:
    """[R2] [R3]."""
    names = [f"/{n}.xml" for n in range(3)]
    files = {name: urlset([name]) for name in names}
    main = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index([*names, *(f"{{origin:cdn}}{name}" for name in names)]),
        **files,
    }
    cdn = {"/robots.txt": robots(delay=0.8), **files}
    with World(Site(main, name="main"), Site(cdn, name="cdn")) as world:
        run = monitor(sites=[world["main"].url]).run()
        assert min(gaps(world["cdn"].requests)) >= 0.8 - CLOCK
        assert world["main"].requests[-1].time < world["cdn"].requests[-1].time
    assert run.site["status"] == "ok"


def test_a_long_crawl_delay_is_cut_to_30_seconds(monitor: MakeMonitor) -> None:
    """[R3]: cut and noted; a senseless one is none."""
    for asked, used in ((3600, 30), (-5, None)):
        with World(Site({"/robots.txt": robots(delay=asked)})) as world:
            run = monitor(sites=[world.sites[0].url], tryCommonPaths=False).run()
            facts = run.records["OUTPUT.json"]["hosts"][world.sites[0].url]
        assert facts["crawlDelay"] == used


def test_delay_per_host_is_a_floor(monitor: MakeMonitor) -> None:
    """SPEC `delayPerHost`."""
    with World(Site(tree(3))) as world:
        run = monitor(sites=[world.sites[0].url], delayPerHost=0.4).run()
        assert min(gaps(world.sites[0].requests)) >= 0.4 - CLOCK
    assert run.site["status"] == "ok"


def test_a_slow_host_is_asked_more_slowly(monitor: MakeMonitor) -> None:
    """SPEC `delayPerHost`: AutoThrottle raises it to the time that the host takes."""
    with World(Site(tree(5, delay=0.6))) as world:
        monitor(sites=[world.sites[0].url]).run()
        between = gaps(world.sites[0].requests)
    assert max(between[3:]) >= 0.6


# ---------------------------------------------------------------------------- one at a time


def test_one_request_at_a_time_a_host_and_hosts_side_by_side(monitor: MakeMonitor) -> None:
    """[R3]: also where two sites share a host by other ports; other hosts do not wait."""
    sites = [
        Site(tree(4, delay=0.15), ip="127.0.0.1"),
        Site(tree(4, delay=0.15), ip="127.0.0.1"),
        Site(tree(4, delay=0.15), ip="127.0.0.2"),
    ]
    with World(*sites) as world:
        run = monitor(sites=[site.url for site in sites]).run()
        assert [world.concurrency(site) for site in sites] == [1, 1, 1]
    assert {row["status"] for row in run.sites} == {"ok"}
    assert sites[0].requests[0].time < sites[2].requests[-1].time
    assert sites[2].requests[0].time < sites[0].requests[-1].time


def test_a_silent_host_holds_nobody_up(monitor: MakeMonitor) -> None:
    """Sites in parallel: one that does not answer costs the others nothing."""
    silent = Site({"/robots.txt": Page(fault="timeout")})
    with World(*(Site(tree(2)) for _ in range(3)), silent) as world:
        job = monitor(sites=[site.url for site in world.sites])
        run = job.run(settings={"DOWNLOAD_TIMEOUT": 3})
    assert run.rows[-1]["site"] == silent.url
    assert [row["status"] for row in run.rows] == ["ok", "ok", "ok", "failed"]


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_sites_than_asked_are_read_at_once(monitor: MakeMonitor, most: int) -> None:
    """SPEC `maxConcurrentSites`."""
    with World(*(Site(tree(2, delay=0.1)) for _ in range(4))) as world:
        run = monitor(sites=[site.url for site in world.sites], maxConcurrentSites=most).run()
        spans = [(site.requests[0].time, site.requests[-1].time) for site in world.sites]
    for start, _ in spans:
        assert sum(first <= start <= last for first, last in spans) <= most
    assert {row["status"] for row in run.sites} == {"ok"}
    assert run.sites[0]["site"] in {site.url for site in world.sites[:most]}


def test_requests_per_second_hold_for_the_whole_run(monitor: MakeMonitor) -> None:
    """SPEC `requestsPerSecond`: over all hosts, redirects, robots.txt and retries."""
    pages = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": [Page(status=503), redirect("/moved.xml")],
        "/moved.xml": urlset(["/a"]),
    }
    with World(*(Site(pages) for _ in range(3))) as world:
        job = monitor(sites=[site.url for site in world.sites], maxRetries=1, requestsPerSecond=8)
        run = job.run()
        every = sorted((r for site in world.sites for r in site.requests), key=lambda r: r.time)
    assert len(every) == 12
    assert every[-1].time - every[0].time >= 11 / 8 - CLOCK
    assert {row["status"] for row in run.sites} == {"ok"}


# ---------------------------------------------------------------------------- retries

PASSING = [408, 429, 500, 502, 503, 504]


def test_a_passing_fault_is_tried_again(monitor: MakeMonitor) -> None:
    """SPEC `maxRetries`: these statuses, broken and cut transfers; then the file is read."""
    good = urlset(["/a"])
    faults = [
        *(Page(status=status) for status in PASSING),
        *(good.but(fault=f) for f in ("reset", "close", "garbage", "short", "chunk_cut")),
    ]
    pages = {f"/{n}.xml": [fault, good] for n, fault in enumerate(faults)}
    tree_pages = {"/robots.txt": [Page(status=503), robots(["/sitemap.xml"])]}
    with World(Site({**tree_pages, "/sitemap.xml": index(pages), **pages})) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], maxRetries=1).run()
        for path in pages:
            assert site.paths().count(path) >= 2, path
    assert (run.site["status"], run.site["sitemapsFailed"]) == ("ok", 0)
    # A kept connection that breaks is tried anew by Twisted (RFC 9112 §9.3.1), not by us.
    assert run.records["OUTPUT.json"]["totals"]["retries"] >= len(faults) - 2


def test_a_lasting_fault_is_not_tried_again(monitor: MakeMonitor) -> None:
    """SPEC `maxRetries`: a 404 fails at once; so do refusals, pages and what is no sitemap."""
    lasting = [
        NOT_FOUND,
        *(Page(status=status) for status in (400, 401, 403, 410, 451, 501, 505)),
        Page(content_type="application/xml"),
        Page(b"<html></html>", content_type="text/html"),
        gzip_of(urlset(["/a", "/b"])).but(fault="cut"),
    ]
    pages = {f"/{n}.xml": page for n, page in enumerate(lasting)}
    children = {"/robots.txt": robots(["/sitemap.xml"]), "/sitemap.xml": index(pages), **pages}
    with World(Site(children)) as world:
        monitor(sites=[world.sites[0].url], maxRetries=3).run()
        paths = world.sites[0].paths()
    assert sorted(paths) == sorted(children)


@pytest.mark.parametrize("most", [0, 2])
def test_max_retries_is_the_number_of_further_attempts(monitor: MakeMonitor, most: int) -> None:
    with World(Site(tree(1) | {"/0.xml": Page(status=500)})) as world:
        run = monitor(sites=[world.sites[0].url], maxRetries=most).run()
        assert world.sites[0].paths().count("/0.xml") == most + 1
    assert run.site["errorType"] == "server_error"
    assert run.stats.get("sitemon/retries", 0) == most


def test_the_backoff_doubles(monitor: MakeMonitor) -> None:
    """SPEC `maxRetries`: exponential, with jitter on top."""
    with World(Site(tree(1) | {"/0.xml": Page(status=500)})) as world:
        job = monitor(sites=[world.sites[0].url], maxRetries=3)
        job.run(settings={"SITEMON_FIRST_BACKOFF": 0.2})
        waits = gaps([r for r in world.sites[0].requests if r.target == "/0.xml"])
    assert [wait >= 0.2 * 2**n - CLOCK for n, wait in enumerate(waits)] == [True] * 3


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(("form", "status"), [("seconds", 429), ("date", 503)])
def test_retry_after_is_honoured_by_the_whole_host(
    monitor: MakeMonitor, form: str, status: int
) -> None:
    """SPEC `maxRetries`: seconds or a date (RFC 9110 §10.2.3); the host is left alone so long."""

    def busy(request: Request) -> Page:
        asked = "2" if form == "seconds" else in_seconds(3)  # a date has no fractions
        first = "/0.xml" not in world.sites[0].paths()
        return Page(status=status, headers={"Retry-After": asked}) if first else urlset(["/0"])

    with World(Site(tree(3) | {"/0.xml": busy})) as world:
        job = monitor(sites=[world.sites[0].url], maxRetries=1)
        run = job.run(settings={"SITEMON_NOW": ""}, delayPerHost=0.5)
        requests = world.sites[0].requests
    refused, retried = (r.time for r in requests if r.target == "/0.xml")
    assert retried - refused >= 2 - CLOCK
    # One more request may have been on its way to the host's turn when the answer came.
    between = [r for r in requests if refused < r.time < refused + 2 - CLOCK]
    assert between == []
    assert run.site["status"] == "ok"


def test_a_retry_after_beyond_two_minutes_is_not_waited_for(monitor: MakeMonitor) -> None:
    """SPEC `maxRetries`: it is honoured up to 120 s; a longer one fails the file now."""
    long = Page(status=503, headers={"Retry-After": "121"})
    with World(Site(tree(2) | {"/0.xml": long})) as world:
        run = monitor(sites=[world.sites[0].url], maxRetries=3).run()
        assert world.sites[0].paths().count("/0.xml") == 1
        assert world.sites[0].paths().count("/1.xml") == 1
    assert run.site["errorType"] == "server_error"


@pytest.mark.parametrize("value", ["soon", "-1", "9" * 400, "\xb2"])
def test_a_senseless_retry_after_is_none(monitor: MakeMonitor, value: str) -> None:
    senseless = Page(status=503, headers={"Retry-After": value})
    with World(Site(tree(1) | {"/0.xml": [senseless, urlset(["/0"])]})) as world:
        run = monitor(sites=[world.sites[0].url], maxRetries=1).run()
        count = world.sites[0].paths().count("/0.xml")
    # 400 nines are a number: longer than anyone waits.
    assert (count, run.site["status"]) == ((1, "failed") if value[0:1] == "9" else (2, "ok"))


def test_a_transfer_that_takes_for_ever_is_given_up(monitor: MakeMonitor) -> None:
    """SPEC `requestTimeout`: silence ends an attempt, and so does four times that in all."""
    drip = urlset([f"/{n}" for n in range(300)]).but(fault="drip")
    with World(Site(tree(1) | {"/0.xml": drip})) as world:
        run = monitor(sites=[world.sites[0].url]).run(settings={"DOWNLOAD_TIMEOUT": 1})
        assert world.sites[0].paths().count("/0.xml") == 1
    listed = run.records["OUTPUT.json"]["sites"][0]["files"]
    assert (listed[-1]["outcome"], listed[-1]["reason"]) == ("failed", "timeout")


# ---------------------------------------------------------------------------- honesty


def test_every_request_says_who_asks(monitor: MakeMonitor) -> None:
    """SPEC `userAgentContact`: an honest name with a contact, no cookies, nothing borrowed."""
    cookie = {"Set-Cookie": "session=1; Path=/"}
    pages = tree(2, robots(["/sitemap.xml"]).but(headers=cookie))
    pages["/sitemap.xml"] = pages["/sitemap.xml"].but(headers=cookie)
    pages["/0.xml"] = redirect("/moved.xml").but(headers={"Location": "/moved.xml", **cookie})
    pages["/moved.xml"] = urlset(["/m"])
    with World(Site(pages)) as world:
        run = monitor(sites=[world.sites[0].url], userAgentContact="me@a.example").run()
        requests = world.sites[0].requests
    agent = (
        f"sitemon/{sitemon_spider.__version__} (+https://pypi.org/project/sitemon; me@a.example)"
    )
    assert {request.headers["user-agent"] for request in requests} == {agent}
    assert not any("cookie" in request.headers for request in requests)
    assert {request.method for request in requests} == {"GET"}
    assert {request.headers["accept-encoding"] for request in requests} == {"gzip"}
    assert run.records["OUTPUT.json"]["userAgent"] == agent
    assert len(requests) == 5


def test_requests_are_counted(monitor: MakeMonitor) -> None:
    """SPEC §3: every request of the run, and those of each host, redirects and retries too."""
    pages = {
        "/robots.txt": redirect("/r.txt"),
        "/r.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": [Page(status=503), redirect("/moved.xml")],
        "/moved.xml": urlset(["/a"]),
    }
    with World(Site(pages)) as world:
        run = monitor(sites=[world.sites[0].url], maxRetries=1).run()
        count = len(world.sites[0].requests)
        output = run.records["OUTPUT.json"]
    assert (output["totals"]["requests"], count) == (5, 5)
    assert output["hosts"][world.sites[0].url]["requests"] == 5
