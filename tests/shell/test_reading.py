"""Reading over real HTTP: each fault is one verdict, each file one request, each limit holds."""

from __future__ import annotations

import gzip
import resource
import ssl
import threading
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.world import (
    NOT_FOUND,
    XML,
    Page,
    Site,
    World,
    atom,
    cdn,
    challenge,
    deep,
    gzip_of,
    html_page,
    index,
    login_page,
    loops,
    redirect,
    redirects,
    robots,
    rss,
    text,
    urlset,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.conftest import MakeMonitor
    from tests.crawl import Crawl

SOME = urlset([(f"/lost/{n}", f"2026-09-0{n}") for n in range(1, 8)])


def files(run: Crawl, site: int = 0) -> dict[str, dict[str, Any]]:
    """The files of a site's record by their paths; each address stands there once."""
    listed = run.records["OUTPUT.json"]["sites"][site]["files"]
    paths = [file["url"].removeprefix(run.sites[site]["site"]) for file in listed]
    assert len(set(paths)) == len(paths)
    return dict(zip(paths, listed, strict=True))


def tree(children: Iterable[str], **more: Any) -> dict[str, Any]:
    return {"/robots.txt": robots(["/sitemap.xml"]), "/sitemap.xml": index(children), **more}


# ---------------------------------------------------------------------------- faults [G]

FAULTS: dict[str, tuple[Page, tuple[str, str | None, int]]] = {
    # name: (page, (outcome, reason, URLs that can be trusted))
    "good": (SOME, ("read", None, 7)),
    "404": (NOT_FOUND, ("failed", "not_found", 0)),
    "404 with a sitemap in it": (SOME.but(status=404), ("failed", "not_found", 0)),
    "410": (SOME.but(status=410), ("failed", "not_found", 0)),
    "401": (SOME.but(status=401), ("failed", "blocked", 0)),
    "403": (SOME.but(status=403), ("failed", "blocked", 0)),
    "451": (SOME.but(status=451), ("failed", "blocked", 0)),
    "429": (SOME.but(status=429), ("failed", "rate_limited", 0)),
    "500": (SOME.but(status=500), ("failed", "server_error", 0)),
    "503": (SOME.but(status=503), ("failed", "server_error", 0)),
    "504": (SOME.but(status=504), ("failed", "server_error", 0)),
    "204": (SOME.but(status=204), ("failed", "http_error", 0)),
    "206": (SOME.but(status=206), ("failed", "http_error", 0)),
    "304 that nobody asked for": (SOME.but(status=304), ("failed", "http_error", 0)),
    "400": (SOME.but(status=400), ("failed", "http_error", 0)),
    "redirect without a target": (Page(status=302), ("failed", "http_error", 0)),
    "redirect to another scheme": (redirect("ftp://a.example/"), ("failed", "http_error", 0)),
    "reset": (SOME.but(fault="reset"), ("failed", "network", 0)),
    "close": (SOME.but(fault="close"), ("failed", "network", 0)),
    "no HTTP": (SOME.but(fault="garbage"), ("failed", "network", 0)),
    "reset midway": (SOME.but(fault="reset_midway"), ("cut", "truncated", 2)),
    "cut": (SOME.but(fault="cut"), ("cut", "truncated", 2)),
    "short": (SOME.but(fault="short"), ("cut", "truncated", 2)),
    "chunk cut": (SOME.but(fault="chunk_cut"), ("cut", "truncated", 2)),
    "gzip cut": (gzip_of(SOME).but(fault="cut", keep=-20), ("cut", "truncated", 5)),
    "cut before anything": (SOME.but(fault="short", keep=0), ("failed", "truncated", 0)),
    "empty": (Page(content_type=XML), ("failed", "empty", 0)),
    "white space": (Page(b" \r\n ", content_type=XML), ("failed", "empty", 0)),
    "HTML": (html_page(), ("failed", "html_page", 0)),
    "login": (login_page(), ("failed", "login_page", 0)),
    "challenge": (challenge(200), ("failed", "captcha", 0)),
    "challenge with 403": (challenge(403), ("failed", "blocked", 0)),
    "bytes": (Page(b"\x00\x01\x02\xff\xfe", content_type=XML), ("failed", "not_a_sitemap", 0)),
    "other XML": (Page(b"<?xml version='1.0'?><a/>", content_type=XML),
                  ("failed", "not_a_sitemap", 0)),
    "entities": (Page(b'<!DOCTYPE urlset [<!ENTITY x "y">]><urlset><url><loc>&x;</loc></url>'
                      b"</urlset>", content_type=XML), ("failed", "unsafe_xml", 0)),
}  # fmt: skip


def test_every_fault_is_one_verdict_and_never_loses_the_site(monitor: MakeMonitor) -> None:
    """[G]: the file with its outcome, reason and trusted URLs; the others are read."""
    pages = {f"/{n}.xml": page for n, (page, _) in enumerate(FAULTS.values())}
    with World(Site(tree(pages, **pages))) as world:
        run = monitor(sites=[world.sites[0].url]).run()
        paths = world.sites[0].paths()
        assert set(paths) == {"/robots.txt", "/sitemap.xml", *pages}
        # A kept connection that breaks is tried anew by Twisted: RFC 9112 §9.3.1.
        assert len(paths) <= len(pages) + 3
    listed = files(run)
    found = {
        name: (file["outcome"], file["reason"], file["urls"])
        for name, file in zip(FAULTS, [listed[path] for path in pages], strict=True)
    }
    assert found == {name: verdict for name, (_, verdict) in FAULTS.items()}
    assert len(listed) == len(FAULTS) + 1
    assert sum(run.records["OUTPUT.json"]["totals"]["files"].values()) == len(FAULTS) + 2
    assert (run.site["status"], run.site["complete"]) == ("partial", False)
    assert run.site["sitemapsFailed"] == len(FAULTS) - 1
    assert run.exit_code == 0


def test_a_fault_of_the_connection_is_one_verdict(monitor: MakeMonitor) -> None:
    """[G]: silence, a name that does not exist, a closed port, a certificate of nobody."""
    with secured(self_signed()) as secure:
        pages = {"/stall.xml": SOME.but(fault="stall"), "/good.xml": SOME}
        silent = Site({"/silent.xml": SOME.but(fault="timeout")}, name="silent")
        closed = Site({}, name="closed", refuses=True)
        expected = {
            "/good.xml": ("read", None),
            "/stall.xml": ("failed", "timeout"),
            "{origin:silent}/silent.xml": ("failed", "timeout"),
            "{origin:closed}/closed.xml": ("failed", "network"),
            "http://nowhere.invalid/dns.xml": ("failed", "dns"),
            f"{secure}/tls.xml": ("failed", "tls"),
        }
        main = Site(tree(expected, **pages))
        with World(main, silent, closed) as world:
            job = monitor(sites=[main.url], respectRobotsTxt=False)
            run = job.run(settings={"DOWNLOAD_TIMEOUT": 2})
            for name in ("silent", "closed"):
                expected = {
                    address.replace(f"{{origin:{name}}}", world[name].url): verdict
                    for address, verdict in expected.items()
                }
    found = {path: (file["outcome"], file["reason"]) for path, file in files(run).items()}
    assert found == {"/sitemap.xml": ("read", None), **expected}


def test_what_broke_a_robots_txt_is_told(monitor: MakeMonitor) -> None:
    """[R1]: a host without an answer is `robots_unreachable`; the sentence says what happened."""
    with World(Site({}, refuses=True), Site({"/robots.txt": Page(status=503)})) as world:
        sites = [*(site.url for site in world.sites), "http://nowhere.invalid"]
        run = monitor(sites=sites).run()
    rows = {row["site"]: row for row in run.sites}
    assert {row["errorType"] for row in run.sites} == {"robots_unreachable"}
    for site, words in zip(sites, ["failed or broke", "HTTP 503", "be resolved"], strict=True):
        assert words in rows[site]["error"]
    assert run.exit_code == 1


def self_signed() -> ssl.SSLContext:
    """A TLS context with a certificate that nobody vouches for."""
    import tempfile

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        plain = serialization.NoEncryption()
        pem = serialization.Encoding.PEM
        file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
        file.write(certificate.public_bytes(pem))
        file.flush()
        context.load_cert_chain(file.name)
    return context


@contextmanager
def secured(context: ssl.SSLContext) -> Iterator[str]:
    """An HTTPS server on loopback; its origin."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SOME.body)

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # A client that does not trust the certificate hangs up.

    server = Server(("127.0.0.1", 0), Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# ---------------------------------------------------------------------------- redirects


def test_five_redirects_are_followed_and_six_or_a_circle_are_not(monitor: MakeMonitor) -> None:
    with World(redirects()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url]).run()
        paths = Counter(site.paths())
    verdicts = {path: (file["outcome"], file["reason"]) for path, file in files(run).items()}
    assert verdicts == {
        "/sitemap.xml": ("read", None),
        "/five.xml": ("read", None),
        "/six.xml": ("failed", "redirect_loop"),
        "/circle.xml": ("failed", "redirect_loop"),
    }
    assert files(run)["/five.xml"]["finalUrl"] == f"{site.url}/five-5.xml"
    assert paths["/six-6.xml"] == 0
    assert sum(paths[path] for path in ("/circle.xml", "/elcric.xml")) == 6


def test_a_redirect_to_another_host_is_followed_and_obeys_its_robots_txt(
    monitor: MakeMonitor,
) -> None:
    """[R2] [R4]."""
    main = tree(
        ["/open.xml", "/closed.xml"],
        **{
            "/open.xml": redirect("{origin:other}/open.xml"),
            "/closed.xml": redirect("{origin:other}/closed.xml", 307),
        },
    )
    rules = robots(rules="User-agent: sitemon\nDisallow: /closed\n")
    other = {"/robots.txt": rules, "/open.xml": urlset(["/a"]), "/closed.xml": urlset(["/b"])}
    with World(Site(main, name="main"), Site(other, name="other")) as world:
        run = monitor(sites=[world["main"].url], firstRun="report").run()
        assert world["other"].paths() == ["/robots.txt", "/open.xml"]
        assert run.told() == {("added", world["other"].address("/a"))}
    assert files(run)["/closed.xml"]["reason"] == "robots_disallowed"


def test_two_addresses_that_lead_to_one_file_are_one_file(monitor: MakeMonitor) -> None:
    """A file is fetched once a site: an alias adds nothing."""
    children = ["/real.xml", "/alias.xml", "/other-alias.xml"]
    pages = {
        "/real.xml": urlset(["/a"]),
        "/alias.xml": redirect("/real.xml"),
        "/other-alias.xml": redirect("/real.xml", 302),
    }
    with World(Site(tree(children, **pages))) as world:
        run = monitor(sites=[world.sites[0].url], outputMode="urls_and_changes").run()
    assert [row["url"] for row in run.urls] == [world.sites[0].address("/a")]
    assert (run.site["status"], run.site["urlsFound"]) == ("ok", 1)


# ---------------------------------------------------------------------------- the tree


def test_loops_and_repetitions_are_fetched_once(monitor: MakeMonitor) -> None:
    with World(loops()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], firstRun="report").run()
        assert Counter(site.paths()).most_common(1)[0][1] == 1
        assert len(site.paths()) == 8
    assert run.told() == {("added", site.address(p)) for p in ("/good", "/leaf", "/child")}
    assert (run.site["status"], run.site["sitemapsRead"]) == ("ok", 7)


def test_one_address_in_many_spellings_is_one_file(monitor: MakeMonitor) -> None:
    """[C2] holds for files too."""
    children = ["/a.xml", "/./a.xml", "/b/../a.xml", "/%61.xml", "/a.xml#top", "a.xml"]
    with World(Site(tree(children, **{"/a.xml": urlset(["/a"])}))) as world:
        run = monitor(sites=[world.sites[0].url]).run()
        assert world.sites[0].paths() == ["/robots.txt", "/sitemap.xml", "/a.xml"]
    assert run.site["status"] == "ok"


def test_indexes_are_walked_breadth_first(monitor: MakeMonitor) -> None:
    """SPEC `maxSitemapsPerSite`: a cut reading still spans the site."""
    pages: dict[str, Page] = {}
    tops = [f"/top-{n}.xml" for n in range(4)]
    for top in tops:
        below = [f"{top}-{m}.xml" for m in range(4)]
        pages[top] = index(below)
        pages |= {path: urlset([f"{path}/page"]) for path in below}
    with World(Site(tree(tops, **pages))) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], maxSitemapsPerSite=9).run()
        paths = site.paths()[1:]
    assert paths[:5] == ["/sitemap.xml", *tops]
    assert len(paths) == 9
    assert run.site["stopReason"] == "max-sitemaps"
    assert (run.site["status"], run.site["complete"]) == ("partial", False)
    skipped = Counter(entry["reason"] for entry in run.records["SKIPPED.json"])
    assert skipped == {"max_sitemaps": 12}


def test_exactly_the_limit_of_files_is_no_limit(monitor: MakeMonitor) -> None:
    with World(Site(tree(["/a.xml"], **{"/a.xml": urlset(["/a"])}))) as world:
        run = monitor(sites=[world.sites[0].url], maxSitemapsPerSite=2).run()
    assert (run.site["status"], run.site["stopReason"]) == ("ok", None)


@pytest.mark.parametrize(("depth", "deepest"), [(0, 0), (1, 1), (3, 3), (10, 5)])
def test_no_index_is_followed_deeper_than_asked(
    monitor: MakeMonitor, depth: int, deepest: int
) -> None:
    """SPEC `maxSitemapDepth`; what is deeper is out of scope, not failed [C13]."""
    with World(deep()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], maxSitemapDepth=depth, outputMode="urls_and_changes").run()
        levels = [path for path in site.paths() if path.startswith("/level")]
    assert levels == [f"/level-{n}.xml" for n in range(deepest + 1)]
    if depth == 0:
        assert run.site["status"] == "failed"
        return
    assert (run.site["status"], run.site["sitemapsFailed"]) == ("ok", 0)
    left_out = {entry["reason"] for entry in run.records["SKIPPED.json"]}
    assert left_out == ({"max_depth"} if depth < 5 else set())


# ---------------------------------------------------------------------------- what a file is


def test_gzip_is_told_by_its_bytes_under_any_name_and_header(monitor: MakeMonitor) -> None:
    page = urlset(["{origin}/x"])
    variants = {
        "/plain.xml.gz": page,
        "/packed.xml": page.but(gzip=1),
        "/typed.xml": page.but(gzip=1, content_type="text/html"),
        "/twice.xml.gz": gzip_of(page, layers=2),
        "/encoded.xml": page.but(gzip=1, headers={"Content-Encoding": "gzip"}),
        "/encoded.xml.gz": gzip_of(page, 2).but(headers={"Content-Encoding": "gzip"}),
        "/lying.xml": page.but(headers={"Content-Encoding": "gzip"}),
        "/nothing": page.but(gzip=1, content_type=None),
        "/brotli-said.xml": page.but(headers={"Content-Encoding": "br"}),
        "/chunked.xml": page.but(framing="chunked"),
        "/closed.xml": page.but(framing="close"),
    }
    with World(Site(tree(variants, **variants))) as world:
        run = monitor(sites=[world.sites[0].url]).run()
    verdicts = {path: (file["outcome"], file["urls"]) for path, file in files(run).items()}
    assert verdicts == {"/sitemap.xml": ("read", 0), **dict.fromkeys(variants, ("read", 1))}


def test_text_and_feeds_are_read_under_any_name(monitor: MakeMonitor) -> None:
    listed = {
        "/a.xml": text(["/text"]),
        "/b.txt": rss([("/rss", None)]),
        "/c": atom([("/atom", "2026-10-01T08:00:00Z")]),
        "/d.html": text(["/gz"]).but(gzip=1),
    }
    with World(Site(tree(listed, **listed))) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], firstRun="report").run()
    assert run.told() == {("added", site.address(p)) for p in ("/text", "/rss", "/atom", "/gz")}
    kinds = {path: file["kind"] for path, file in files(run).items() if path in listed}
    assert kinds == {"/a.xml": "text", "/b.txt": "rss", "/c": "atom", "/d.html": "text"}


# ---------------------------------------------------------------------------- sizes [S2]

MIB = 1024 * 1024
BIGGER = 55 * MIB


def huge(size: int) -> bytes:
    """A urlset of at least `size` bytes."""
    head = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    entry = b"<url><loc>https://a.example/" + b"x" * 971 + b"</loc></url>\n"
    count = size // len(entry) + 1
    return head + entry * count + b"</urlset>"


class PeakMemory:
    """An extension that tells the crawl's greatest use of memory, in MiB, in its stats."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> PeakMemory:
        from scrapy import signals

        extension = cls()
        extension.stats = crawler.stats
        crawler.signals.connect(extension._closed, signals.spider_closed)
        return extension

    stats: Any

    def _closed(self) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.stats.set_value("test/peak", peak)


class WithPeakMemory:
    """An add-on with that extension."""

    def update_settings(self, settings: Any) -> None:
        settings["EXTENSIONS"]["tests.shell.test_reading.PeakMemory"] = 0


def test_a_file_over_50_mib_is_cut_and_costs_the_cap(monitor: MakeMonitor) -> None:
    """[S2]: plain, packed, packed twice, or a bomb of a gigabyte: `too_large`, memory bounded."""
    zeros = gzip.compress(b"\0" * (16 * MIB)) * 64
    pages = {
        "/plain.xml": Page(huge(BIGGER), content_type=XML),
        "/chunked.xml": Page(huge(BIGGER), content_type=XML, framing="chunked"),
        "/packed.xml.gz": Page(gzip.compress(huge(BIGGER), 1), content_type=XML),
        "/bomb.xml.gz": Page(gzip.compress(zeros, 1), content_type=XML),
        "/small.xml": urlset(["/small"]),
    }
    settings = {"ADDONS": '{"tests.shell.test_reading.WithPeakMemory": 0}'}
    with World(Site(tree(pages, **pages))) as world:
        job = monitor(sites=[world.sites[0].url], maxUrlsPerSite=5_000_000)
        run = job.run(settings=settings, requestTimeout=60)
    verdicts = {path: (file["outcome"], file["reason"]) for path, file in files(run).items()}
    assert verdicts == {
        "/sitemap.xml": ("read", None),
        "/plain.xml": ("cut", "too_large"),
        "/chunked.xml": ("cut", "too_large"),
        "/packed.xml.gz": ("cut", "too_large"),
        "/bomb.xml.gz": ("failed", "too_large"),
        "/small.xml": ("read", None),
    }
    assert run.stats["test/peak"] < 600
    assert run.site["status"] == "partial"


# ---------------------------------------------------------------------------- other hosts [R4]


def test_children_on_other_hosts_are_read(monitor: MakeMonitor) -> None:
    with World(*cdn()) as world:
        main = world["main"]
        run = monitor(sites=[main.url], firstRun="report").run()
    assert run.told() == {("added", main.address("/product")), ("added", main.address("/guide"))}
    assert {row["sitemap"] for row in run.changes} == {
        world["cdn"].address("/products.xml.gz"),
        world["cdn"].address("/guides.xml"),
    }
    assert run.site["status"] == "ok"


def test_at_most_25_further_hosts_are_contacted(monitor: MakeMonitor) -> None:
    """[R4]: the others are `too_many_hosts`: failed, so that nothing of them counts as removed."""
    hosts = [Site({"/a.xml": urlset([f"/{n}"])}, name=f"host-{n}") for n in range(27)]
    main = Site(tree([f"{{origin:host-{n}}}/a.xml" for n in range(27)]), name="main")
    with World(main, *hosts) as world:
        run = monitor(sites=[main.url]).run()
        contacted = sum(bool(host.requests) for host in hosts)
    assert contacted == 25
    reasons = Counter(file["reason"] for file in files(run).values())
    assert reasons == {None: 26, "too_many_hosts": 2}
    assert (run.site["status"], run.site["sitemapsFailed"]) == ("partial", 2)
    assert len(world.sites) == 28
