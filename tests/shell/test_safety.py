"""Only public addresses are contacted, and nothing a site sends gets out of its place [S1] [S3]."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scrapy.http import Response
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IHostnameResolver, IHostResolution
from zope.interface import implementer

from sitemon_spider.core.targets import is_public
from sitemon_spider.core.urls import InvalidUrl, identity
from sitemon_spider.run import site_name
from tests.crawl import ROOT
from tests.world import Page, Site, World, blog, redirect, robots, urlset

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

    from tests.conftest import MakeMonitor
    from tests.crawl import Crawl

HERE = "tests.shell.test_safety"
PUBLIC = "http://public.example"


# ---------------------------------------------------------------------------- [S1]


@implementer(IHostResolution)
class Lookup:
    """One name that is looked up."""

    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """It has ended already."""


@implementer(IHostnameResolver)
class ToLoopback:
    """A DNS that gives 127.0.0.1 for every name, as one under an attacker's hand may."""

    @classmethod
    def from_crawler(cls, crawler: Any, reactor: Any) -> ToLoopback:
        resolver = cls()
        resolver.reactor = reactor
        return resolver

    reactor: Any

    def install_on_reactor(self) -> None:
        self.reactor.installNameResolver(self)

    def resolveHostName(  # noqa: N802
        self, receiver: Any, name: str, port: int = 0, *_: Any, **__: Any
    ) -> Lookup:
        lookup = Lookup(name)
        receiver.resolutionBegan(lookup)
        receiver.addressResolved(IPv4Address("TCP", "127.0.0.1", port))
        receiver.resolutionComplete()
        return lookup


class PublicSite:
    """A downloader middleware that plays the pages of TEST_PAGES, by their addresses."""

    def __init__(self, pages: dict[str, Any]) -> None:
        self.pages = pages

    @classmethod
    def from_crawler(cls, crawler: Any) -> PublicSite:
        return cls(json.loads(crawler.settings["TEST_PAGES"]))

    def process_request(self, request: Request) -> Response | None:
        page = self.pages.get(request.url)
        if page is None:
            return None
        status, headers, body = page
        return Response(request.url, status, headers, body.encode(), request=request)


class WithPublicSite:
    """An add-on with that middleware nearest to the network."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["DOWNLOADER_MIDDLEWARES"][f"{HERE}.PublicSite"] = 1000


def guarded(pages: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Settings of a run by the rules of the public internet, with played pages."""
    return {
        "SITEMON_ALLOW_PRIVATE": False,
        "ADDONS": json.dumps({f"{HERE}.WithPublicSite": 0}),
        "TEST_PAGES": json.dumps(pages),
        **settings,
    }


LOOPBACK = (
    "http://127.0.0.1:{port}",
    "http://127.1:{port}",
    "http://2130706433:{port}",
    "http://0x7f000001:{port}",
    "http://0x7f.0.0.1:{port}",
    "http://0177.0.0.1:{port}",
    "http://0:{port}",
    "http://0.0.0.0:{port}",
    "http://localhost:{port}",
    "http://any.localhost:{port}",
    "http://LOCALHOST.:{port}",
    "http://[::1]:{port}",
    "http://[::ffff:127.0.0.1]:{port}",
    "http://[::ffff:7f00:1]:{port}",
    "http://rebound.example:{port}",  # the DNS of this test leads it to loopback
    "http://public.example:{port}",
)


@pytest.mark.parametrize("resolver", ["ours", "another"])
def test_loopback_is_not_contacted_however_it_is_written(
    monitor: MakeMonitor, resolver: str
) -> None:
    """[S1]: listed in a sitemap, behind a redirect, as the host of a robots.txt; no request."""
    site = Site({"/x.xml": urlset(["/secret"])}, ip="127.0.0.1")
    with World(site):
        targets = [f"{form.format(port=site.port)}/x.xml" for form in LOOPBACK]
        if resolver == "ours":
            targets = targets[:-2]  # Without that DNS their names do not exist.
        listed = "".join(f"<sitemap><loc>{target}</loc></sitemap>" for target in targets)
        hops = [f"{PUBLIC}/{n}.xml" for n in range(len(targets))]
        listed += "".join(f"<sitemap><loc>{hop}</loc></sitemap>" for hop in hops)
        pages = {
            f"{PUBLIC}/robots.txt": (404, {}, ""),
            f"{PUBLIC}/sitemap.xml": (200, {}, f"<sitemapindex>{listed}</sitemapindex>"),
            **{
                hop: (302, {"Location": target}, "")
                for hop, target in zip(hops, targets, strict=True)
            },
        }
        settings = guarded(pages, SITEMON_PORTS=f"80,443,{site.port}")
        if resolver == "another":
            settings["TWISTED_DNS_RESOLVER"] = f"{HERE}.ToLoopback"
        run = monitor(sites=[PUBLIC]).run(settings=settings)
        assert site.requests == []
    listed_files = run.records["OUTPUT.json"]["sites"][0]["files"]
    reasons = {file["url"]: file["reason"] for file in listed_files}
    assert reasons.pop(f"{PUBLIC}/sitemap.xml") is None
    assert set(reasons.values()) == {"private_address"}, reasons
    assert len(reasons) >= len(hops)


def test_a_robots_txt_does_not_lead_to_loopback(monitor: MakeMonitor) -> None:
    """[S1]: neither by a redirect nor by its Sitemap lines."""
    site = Site({"/robots.txt": robots(), "/x.xml": urlset(["/secret"])}, ip="127.0.0.1")
    with World(site):
        pages = {
            "http://one.example/robots.txt": (301, {"Location": f"{site.url}/robots.txt"}, ""),
            "http://two.example/robots.txt": (200, {}, f"Sitemap: {site.url}/x.xml"),
        }
        settings = guarded(pages, SITEMON_PORTS=f"80,443,{site.port}")
        run = monitor(sites=["http://one.example", "http://two.example"]).run(settings=settings)
        assert site.requests == []
    assert [row["errorType"] for row in run.sites] == ["private_address"] * 2
    assert run.exit_code == 1


@pytest.mark.parametrize(
    ("port", "ports", "reason"),
    [
        (81, "80,443", "private_address"),
        (22, "80,443", "private_address"),
        (8443, "80,443,8443", None),
    ],
)
def test_only_allowed_ports_are_contacted(
    monitor: MakeMonitor, port: int, ports: str, reason: str | None
) -> None:
    """[S1]: SITEMON_PORTS lifts the port rule alone."""
    child = f"{PUBLIC}:{port}"
    pages = {
        f"{PUBLIC}/robots.txt": (200, {}, f"Sitemap: {child}/a.xml"),
        f"{child}/robots.txt": (404, {}, ""),
        f"{child}/a.xml": (200, {}, f"<urlset><url><loc>{PUBLIC}/a</loc></url></urlset>"),
    }
    run = monitor(sites=[PUBLIC]).run(settings=guarded(pages, SITEMON_PORTS=ports))
    assert run.site["errorType"] == reason


RUNNER = """
import asyncio, sys
from twisted.internet import asyncioreactor
asyncioreactor.install()
from twisted.internet import reactor
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.project import get_project_settings
from tests.shell.test_safety import ToLoopback

async def main():
    settings = get_project_settings()
    settings.setdict({"SITEMON_STATE": sys.argv[2], "SITEMON_PORTS": [int(sys.argv[1])]})
    reactor.installNameResolver(ToLoopback())
    runner = AsyncCrawlerRunner(settings)
    await runner.crawl("sitemon", sites=f"http://rebound.example:{sys.argv[1]}")

def done(task):
    task.result()
    reactor.stop()

reactor.callWhenRunning(lambda: asyncio.ensure_future(main()).add_done_callback(done))
reactor.run()
"""


def test_a_runner_installs_no_resolver_but_the_handler_does(tmp_path: Path) -> None:
    """[S1]: under AsyncCrawlerRunner Scrapy ignores TWISTED_DNS_RESOLVER; the rule holds."""
    site = blog()
    site.ip = "127.0.0.1"
    with World(site):
        command = [sys.executable, "-c", RUNNER, str(site.port), str(tmp_path / "state")]
        environment = {"SCRAPY_SETTINGS_MODULE": "sitemon_spider.settings", "PATH": ""}
        run = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert site.requests == []
    (output,) = (tmp_path / "state").glob("*/runs/*/OUTPUT.json")
    (row,) = json.loads(output.read_text())["sites"]
    assert row["errorType"] == "private_address", run.stderr


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700:4700::1111", True),
        ("127.0.0.1", False),
        ("127.255.255.254", False),
        ("0.0.0.0", False),
        ("::", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:1.1.1.1", True),
        ("2002:7f00:1::", False),  # 6to4 of 127.0.0.1
        ("64:ff9b::127.0.0.1", False),  # NAT64 of 127.0.0.1
        ("64:ff9b::1.1.1.1", True),
        ("224.0.0.1", False),
        ("ff02::1", False),
        ("::1%lo", False),
    ],
)
def test_an_address_is_public_or_not(address: str, public: bool) -> None:
    assert is_public(address) is public


# ---------------------------------------------------------------------------- [S3]

ESCAPE = "\x1b[2J\x1b[31m"
HOSTILE = "\r\nFAKE: line\r\n" + ESCAPE + "\x00\x07\u202e\u2028\x85"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[\w.]+\] [A-Z]+: ")
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")


def hostile() -> Site:
    """A site that says everywhere what it can say."""
    in_xml = "\r\nFAKE: line\r\n\u202e\u2028\x85<![CDATA[&]]>"
    entries = "".join(
        f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>"
        for loc, lastmod in [
            ("{origin}/a\u202e\u2028b", "=1+1"),
            (f"{{origin}}/c{in_xml}d", f"@SUM(1)\u202e{in_xml}"),
            ("{origin}/plain", "=1+1"),
            ("{origin}/other", "\u00a0@SUM(1)"),
            ("javascript:alert(1)", "+1"),
            ("http://[bad", "-1"),
            ("{origin}/&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;b&gt;"),
        ]
    )
    header = {"X": "y", "Etag": f'"{ESCAPE}"', "Server": ESCAPE}
    children = [
        "/a.xml",
        "/b\u202e.xml",
        "/moved.xml",
        "/loop.xml",
        "/%0aFAKE.xml",
        f"/gone{ESCAPE}",
    ]
    listed = "".join(f"<sitemap><loc>{{origin}}{c}</loc></sitemap>" for c in children[:-1])
    index_page = Page(f"<sitemapindex>{listed}</sitemapindex>".encode(), headers=header)
    return Site(
        {
            "/robots.txt": Page(
                b"Sitemap: {origin}/sitemap.xml\nSitemap: /x" + HOSTILE.encode() + b"\n"
                b"User-agent: *" + ESCAPE.encode() + b"\nCrawl-delay: " + ESCAPE.encode()
            ),
            "/sitemap.xml": index_page,
            "/a.xml": Page(f"<urlset>{entries}</urlset>".encode(), headers=header),
            "/moved.xml": redirect("/m" + ESCAPE + "\x85\xad.xml"),
            "/loop.xml": redirect("/loop.xml?\x1b[31m"),
        },
        missing=Page(ESCAPE.encode(), 404, f"text/html{ESCAPE}", headers=header),
    )


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_nothing_a_site_sends_leaves_its_log_line(monitor: MakeMonitor, level: str) -> None:
    """[S3]: no control or direction-changing character, no line that we did not begin."""
    with World(hostile()) as world:
        job = monitor(sites=[world.sites[0].url], outputMode="urls_and_changes", firstRun="report")
        run = job.run(arguments=["-L", level])
    assert run.site["status"] == "partial"
    assert CONTROLS.findall(run.log) == []
    if level == "INFO":
        assert [line for line in run.log.splitlines() if not LINE.match(line)] == []
    assert not any(line.startswith("FAKE") for line in run.log.splitlines())


def cells(run: Crawl) -> list[str]:
    assert run.feed is not None
    with run.feed.open(newline="", encoding="utf-8") as file:
        return [cell for row in csv.reader(file) for cell in row]


def test_no_cell_of_a_csv_is_a_formula(monitor: MakeMonitor) -> None:
    """[S3]: whatever a lastmod begins with."""
    with World(hostile()) as world:
        job = monitor(sites=[world.sites[0].url], outputMode="urls_and_changes", firstRun="report")
        run = job.run(feed="csv")
    assert "'=1+1" in cells(run)
    assert not [cell for cell in cells(run) if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_records_hold_a_sites_words_inertly(monitor: MakeMonitor) -> None:
    """[S3]: SUMMARY.md without markup of a site, JSON without control characters."""
    line = "ftp://a|b<script>alert(1)</script>![x](http://a.example)`*_"
    with World(hostile()) as world:
        run = monitor(sites=[world.sites[0].url, line]).run()
    summary = run.records["SUMMARY.md"]
    assert "<script" not in summary.replace("\\<", "")
    assert not re.search(r"(?<!\\)[!`]", summary.replace("**", ""))
    table = [row for row in summary.splitlines() if row.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in table} == {9}
    assert CONTROLS.findall(summary) == []
    assert run.folder is not None
    for record in run.folder.glob("*.json"):
        assert record.read_text().replace("\n", "").isascii()
        assert CONTROLS.findall(record.read_text()) == []


@given(st.text(max_size=300))
def test_a_sites_name_in_a_store_is_one_plain_name(key: str) -> None:
    """[S3] ARCHITECTURE §4: nothing of an address reaches a path but letters, digits and dots."""
    try:
        name = site_name(identity(f"https://a.example/{key}"))
    except InvalidUrl:
        reject()
    assert re.fullmatch(r"[a-z0-9.-]*-[0-9a-f]{16}", name)
    assert len(name) <= 77
    assert not name.startswith(".")
    assert Path(name).name == name


@pytest.mark.parametrize(
    "job", ["../../../evil", "..", ".", "/etc/x", "a/b\\c", "x" * 500, "\x1b[31m"]
)
def test_a_run_id_cannot_leave_the_folder_of_runs(monitor: MakeMonitor, job: str) -> None:
    """[S3]: Scrapyd's `_job` is what a client of Scrapyd sends."""
    with World(blog()) as world:
        run = monitor(sites=[world.sites[0].url], _job=job).run(feed=None)
    assert run.folder is not None
    assert "OUTPUT.json" in run.records
    assert {path.name for path in run.folder.parent.parent.iterdir()} == {"runs", "sites", "locks"}
    assert run.rows[-1]["status"] == "ok"
