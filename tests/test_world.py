"""Proves the world's server with real sockets: what a page says is what goes over the wire."""

from __future__ import annotations

import contextlib
import gc
import gzip
import http.client
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests import world
from tests.world import (
    Fault,
    Page,
    Request,
    Site,
    World,
    load_scenarios,
    serve_scenario_day,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TEN = Page(b"0123456789", content_type="text/plain")


def raw(site: Site, request: bytes) -> tuple[bytes, bool]:
    """All bytes the server sends until it ends the connection, and whether it ended by RST."""
    received = b""
    with socket.create_connection((str(site.ip), site.port), timeout=5) as sock:
        sock.sendall(request)
        try:
            while piece := sock.recv(65536):
                received += piece
        except ConnectionResetError:
            return received, True
    return received, False


def get(
    site: Site, target: str, headers: dict[str, str] | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own: status, headers in lower case, body."""
    connection = http.client.HTTPConnection(str(site.ip), site.port, timeout=5)
    try:
        connection.request(method, target, headers=headers or {})
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return response.status, fields, response.read()
    finally:
        connection.close()


def body(site: Site, target: str) -> bytes:
    return get(site, target)[2]


def locs(document: bytes) -> list[str]:
    return [str(e.text) for e in ET.fromstring(document).iter() if e.tag.endswith("}loc")]


# ---------------------------------------------------------------------------- faults

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.mark.parametrize(
    ("fault", "received", "reset", "status"),
    [
        ("reset", b"", True, None),
        ("close", b"", False, None),
        ("garbage", b"\x16\x03\x01 this is not HTTP \xff\r\n\r\n", False, None),
        ("reset_midway", HEAD + b"Content-Length: 10\r\n\r\n01234", True, 200),
        ("short", HEAD + b"Content-Length: 11\r\nConnection: close\r\n\r\n01234", False, 200),
        (
            "chunk_cut",
            HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n01234\r\n",
            False,
            200,
        ),
        ("cut", HEAD + b"Content-Length: 5\r\nConnection: close\r\n\r\n01234", False, 200),
    ],
)
def test_a_fault_sends_these_bytes_and_this_end(
    fault: Fault, received: bytes, reset: bool, status: int | None
) -> None:
    closing = b"Connection: close\r\n" if fault == "cut" else b""
    with World(Site({"/s.xml": TEN.but(fault=fault)})) as hosted:
        site = hosted.sites[0]
        assert raw(site, b"GET /s.xml HTTP/1.1\r\nHost: x\r\n%b\r\n" % closing) == (received, reset)
        assert site.answers() == [("/s.xml", status)]


@pytest.mark.parametrize(
    ("fault", "received"),
    [("timeout", b""), ("stall", HEAD + b"Content-Length: 10\r\n\r\n01234")],
)
def test_a_silent_server_answers_so_much_and_keeps_the_connection(
    fault: Fault, received: bytes
) -> None:
    with World(Site({"/s.xml": TEN.but(fault=fault)})) as hosted:
        site = hosted.sites[0]
        with socket.create_connection((str(site.ip), site.port)) as sock:
            sock.sendall(b"GET /s.xml HTTP/1.1\r\n\r\n")
            sock.settimeout(5)
            got = b""
            while len(got) < len(received):
                got += sock.recv(65536)
            assert got == received
            sock.settimeout(0.1)
            with pytest.raises(TimeoutError):
                sock.recv(1)


def test_a_dripping_body_comes_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "DRIP_PAUSE", 0.01)
    with World(Site({"/s.xml": TEN.but(fault="drip")})) as hosted:
        site = hosted.sites[0]
        with socket.create_connection((str(site.ip), site.port), timeout=5) as sock:
            sock.sendall(b"GET /s.xml HTTP/1.1\r\nConnection: close\r\n\r\n")
            pieces = list(iter(lambda: sock.recv(65536), b""))
    assert b"".join(pieces).endswith(b"\r\n\r\n0123456789")
    assert len(pieces) > 3


@pytest.mark.parametrize(
    ("keep", "arrives"), [(None, b"01234"), (3, b"012"), (-1, b"012345678"), (10, b"0123456789")]
)
def test_keep_says_how_much_of_the_body_a_fault_lets_through(
    keep: int | None, arrives: bytes
) -> None:
    site = Site({"/s.xml": TEN.but(fault="short", keep=keep)})
    with World(site), pytest.raises(http.client.IncompleteRead) as caught:
        body(site, "/s.xml")
    assert caught.value.partial == arrives


def test_a_cut_gzip_file_is_cut_after_packing() -> None:
    page = world.gzip_of(TEN)
    with World(Site({"/whole": page, "/cut": page.but(fault="cut", keep=-4)})) as hosted:
        whole, cut = (body(hosted.sites[0], target) for target in ("/whole", "/cut"))
    assert gzip.decompress(whole) == TEN.body
    assert cut == whole[:-4]


def test_a_dead_site_refuses_connections() -> None:
    with World(world.dead()) as hosted, pytest.raises(ConnectionRefusedError):
        get(hosted.sites[0], "/")


# ---------------------------------------------------------------------------- HTTP


@pytest.mark.parametrize(
    ("framing", "header"),
    [
        ("length", ("content-length", "10")),
        ("chunked", ("transfer-encoding", "chunked")),
        ("close", ("connection", "close")),
    ],
)
def test_each_framing_carries_the_whole_body(
    framing: world.Framing, header: tuple[str, str]
) -> None:
    with World(Site({"/s.xml": TEN.but(framing=framing)})) as hosted:
        status, headers, received = get(hosted.sites[0], "/s.xml")
    assert (status, received) == (200, TEN.body)
    assert header in headers.items()


def test_one_connection_carries_many_requests_until_the_client_asks_to_close() -> None:
    large = Page(b"x" * (3 * world.LAST_PIECE + 1))
    site = Site({"/a": TEN, "/b": large, "/c": TEN.but(framing="chunked")})
    with World(site):
        connection = http.client.HTTPConnection(str(site.ip), site.port, timeout=5)
        sizes, sockets = [], set()
        for target in ("/a", "/b", "/c", "/gone", "/a"):
            connection.request("GET", target)
            sockets.add(connection.sock)
            sizes.append(len(connection.getresponse().read()))
        connection.close()
        assert len(sockets) == 1
        assert sizes == [10, len(large.body), 10, len(world.NOT_FOUND.body), 10]
        assert raw(site, b"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n")[0].endswith(TEN.body)
        assert raw(site, b"GET /a HTTP/1.0\r\n\r\n")[0].endswith(TEN.body)


def test_head_answers_with_the_headers_of_get_and_no_body() -> None:
    with World(Site({"/a": TEN})) as hosted:
        got, _ = raw(hosted.sites[0], b"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n")
        headed, _ = raw(hosted.sites[0], b"HEAD /a HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert headed + TEN.body == got


def test_headers_of_a_page_win_over_computed_ones() -> None:
    page = TEN.but(headers={"content-length": "4", "X-Cache": "HIT", "Link": "<{origin}/x>"})
    with World(Site({"/a": page})) as hosted:
        site = hosted.sites[0]
        _, headers, received = get(site, "/a")
    assert received == b"0123"
    assert headers["x-cache"] == "HIT"
    assert headers["link"] == f"<{site.url}/x>"


DAY_1, DAY_2 = "Thu, 01 Oct 2026 00:00:00 GMT", "Fri, 02 Oct 2026 00:00:00 GMT"


@pytest.mark.parametrize(
    ("page", "headers", "status"),
    [
        (TEN.but(etag='"a"'), {}, 200),
        (TEN.but(etag='"a"'), {"If-None-Match": '"a"'}, 304),
        (TEN.but(etag='"a"'), {"If-None-Match": 'W/"a"'}, 304),
        (TEN.but(etag='W/"a"'), {"If-None-Match": '"b, c", "a"'}, 304),
        (TEN.but(etag='"a"'), {"If-None-Match": "*"}, 304),
        (TEN.but(etag='"a"'), {"If-None-Match": '"b"'}, 200),
        (TEN.but(last_modified=DAY_1), {"If-Modified-Since": DAY_1}, 304),
        (TEN.but(last_modified=DAY_1), {"If-Modified-Since": DAY_2}, 304),
        (TEN.but(last_modified=DAY_2), {"If-Modified-Since": DAY_1}, 200),
        (TEN.but(last_modified=DAY_1), {"If-Modified-Since": "yesterday"}, 200),
        (
            TEN.but(etag='"a"', last_modified=DAY_1),
            {"If-None-Match": '"b"', "If-Modified-Since": DAY_1},
            200,
        ),
        (
            TEN.but(last_modified=DAY_1),
            {"If-None-Match": '"b"', "If-Modified-Since": DAY_1},
            200,
        ),
        (TEN.but(etag='"a"', status=404), {"If-None-Match": '"a"'}, 404),
        (TEN.but(headers={"Last-Modified": DAY_1}), {"If-Modified-Since": DAY_2}, 200),
    ],
)
def test_conditional_requests_follow_rfc_9110_section_13(
    page: Page, headers: dict[str, str], status: int
) -> None:
    with World(Site({"/a": page})) as hosted:
        answered, fields, received = get(hosted.sites[0], "/a", headers)
    assert answered == status
    assert received == (b"" if status == 304 else TEN.body)
    if page.etag:
        assert fields["etag"] == page.etag


def test_a_computed_etag_follows_the_bytes() -> None:
    site = Site({"/a": TEN.but(etag=True)}, later=[{"/a": TEN.but(etag=True, body=b"other")}])
    with World(site):
        known = {"If-None-Match": get(site, "/a")[1]["etag"]}
        assert get(site, "/a", known)[0] == 304
        site.day(2)
        assert get(site, "/a", known)[0] == 200


# ---------------------------------------------------------------------------- sites and days


def test_targets_are_told_apart_by_their_query() -> None:
    pages = {f"/s.xml?from={n}&to=9": Page(str(n).encode()) for n in (1, 2)}
    with World(Site(pages)) as hosted:
        site = hosted.sites[0]
        assert [body(site, target) for target in pages] == [b"1", b"2"]
        assert get(site, "/s.xml")[0] == 404


def test_a_sequence_is_answered_in_order_and_its_last_page_for_good() -> None:
    site = Site({"/a": [Page(status=503), Page(status=429), TEN]})
    with World(site):
        assert [get(site, "/a")[0] for _ in range(4)] == [503, 429, 200, 200]
        site.set("/a", [Page(status=410), TEN])
        assert [get(site, "/a")[0] for _ in range(2)] == [410, 200]


def test_a_function_chooses_by_request() -> None:
    def choose(request: Request) -> Page:
        return Page(status=405) if request.method == "HEAD" else TEN

    with World(Site({"/a": choose})) as hosted:
        site = hosted.sites[0]
        assert [get(site, "/a", method=method)[0] for method in ("HEAD", "GET")] == [405, 200]


def test_an_error_in_a_function_is_raised_where_the_world_ends() -> None:
    def choose(_: Request) -> Page:
        raise LookupError("the test's own fault")

    def ask() -> None:
        with World(Site({"/a": choose})) as hosted:
            assert raw(hosted.sites[0], b"GET /a HTTP/1.1\r\n\r\n") == (b"", False)

    with pytest.raises(LookupError, match="the test's own fault"):
        ask()


def test_a_day_holds_what_is_different_from_the_day_before() -> None:
    first = {"/a": Page(b"a1"), "/b": Page(b"b1")}
    one = Site(first, later=[{"/a": Page(b"a2")}, {"/b": None}])
    two = Site(first, later=[{"/b": Page(b"b2")}])

    def seen() -> list[tuple[int, bytes]]:
        answers = [get(site, target) for site in (one, two) for target in first]
        return [(status, text if status == 200 else b"") for status, _, text in answers]

    with World(one, two) as hosted:
        assert seen() == [(200, b"a1"), (200, b"b1"), (200, b"a1"), (200, b"b1")]
        hosted.day(2)
        assert seen() == [(200, b"a2"), (200, b"b1"), (200, b"a1"), (200, b"b2")]
        hosted.day(3)
        assert seen() == [(200, b"a2"), (404, b""), (200, b"a1"), (200, b"b2")]
        one.set("/b", TEN)
        one.set("/a", None)
        assert seen()[:2] == [(404, b""), (200, TEN.body)]
        hosted.day(1)
        assert seen()[:2] == [(200, b"a1"), (200, b"b1")]


def test_sites_lie_on_hosts_of_their_own_and_know_each_other() -> None:
    page = Page(b"{origin}/x {origin:cdn}/y {other}")
    main, cdn = Site({"/a": page}, name="main"), Site({"/a": page}, name="cdn")
    with World(main, cdn) as hosted:
        assert (main.ip, cdn.ip) == ("127.0.0.1", "127.0.0.2")
        assert hosted["cdn"] is cdn
        assert body(main, "/a").decode() == f"{main.url}/x {cdn.address('/y')} {{other}}"
        assert body(cdn, "/a").decode() == f"{cdn.url}/x {cdn.url}/y {{other}}"


def test_the_log_holds_every_request_as_it_came() -> None:
    with World(Site({"/a": TEN.but(etag='"a"')})) as hosted:
        site = hosted.sites[0]
        before = time.monotonic()
        get(site, "/a", {"User-Agent": "sitemon", "If-None-Match": '"a"'})
        connection = http.client.HTTPConnection(str(site.ip), site.port, timeout=5)
        connection.request("POST", "/hook?x=%C3%A9", b"said")
        connection.getresponse().read()
        connection.close()
        after = time.monotonic()
    first, second = site.requests
    assert site.paths() == ["/a", "/hook?x=%C3%A9"]
    assert site.answers() == [("/a", 304), ("/hook?x=%C3%A9", 404)]
    assert (first.method, first.headers["user-agent"]) == ("GET", "sitemon")
    assert first.headers["host"] == f"{first.host}:{first.port}"
    assert (first.host, first.port) == (site.ip, site.port)
    assert (second.method, second.body) == ("POST", b"said")
    assert before <= first.time <= second.time <= after


def test_concurrency_counts_the_requests_in_flight_on_a_host() -> None:
    meeting = Page(TEN.body, delay=0.1)
    busy, quiet = Site({"/a": meeting}), Site({"/a": TEN})
    with World(busy, quiet) as hosted:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(get, [busy] * 3, ["/a"] * 3))
        for _ in range(20):
            get(quiet, "/a")
        assert hosted.concurrency(busy) == 3
        assert hosted.concurrency(quiet) == 1


def test_a_client_that_gave_up_is_not_in_flight() -> None:
    site = Site({"/a": TEN.but(fault="timeout"), "/b": TEN.but(delay=60.0), "/c": TEN})
    with World(site) as hosted:
        for target in (b"/a", b"/b", b"/a"):
            with socket.create_connection((str(site.ip), site.port)) as sock:
                sock.sendall(b"GET %b HTTP/1.1\r\n\r\n" % target)
                while site.paths()[-1:] != [target.decode()]:
                    time.sleep(0.001)
            site.requests.clear()
            assert get(site, "/c")[0] == 200
        assert hosted.concurrency(site) == 1


# ---------------------------------------------------------------------------- a clean end


def test_the_end_leaves_no_thread_no_socket_and_waits_for_nobody() -> None:
    threads = threading.active_count()
    site = Site({"/a": TEN.but(fault="timeout"), "/b": Page(b"x" * 20_000_000), "/c": TEN})
    clients = []
    with World(site):
        for line in (b"GET /a HTTP/1.1\r\n\r\n", b"GET /b HTTP/1.1\r\n\r\n", b"GET /c", b""):
            client = socket.create_connection((str(site.ip), site.port), timeout=5)
            client.sendall(line)
            clients.append(client)
        while len(site.requests) < 2:
            time.sleep(0.001)
    assert threading.active_count() == threads
    for client in clients:
        with client:
            _drain(client)  # returns: each connection was ended
    with pytest.raises(ConnectionRefusedError):
        get(site, "/c")
    gc.collect()  # an unclosed socket or loop would warn here, and warnings are errors


def _drain(client: socket.socket) -> None:
    with contextlib.suppress(ConnectionResetError):
        while client.recv(1 << 20):
            pass


def test_a_connection_that_meets_the_end_is_closed_too() -> None:
    for _ in range(50):
        with contextlib.ExitStack() as clients:
            with World(Site({"/a": TEN})) as hosted:
                address = (str(hosted.sites[0].ip), hosted.sites[0].port)
                for _ in range(3):
                    client = clients.enter_context(socket.create_connection(address, timeout=5))
            _drain(client)
    gc.collect()


def test_a_world_nobody_asks_is_quick_to_start_and_to_end() -> None:
    for _ in range(200):
        with World(world.shop(), world.blog()) as hosted:
            assert all(site.port for site in hosted.sites)
    gc.collect()


# ---------------------------------------------------------------------------- builders


def test_a_urlset_escapes_resolves_own_addresses_and_declares_what_it_uses() -> None:
    extras = {
        "changefreq": "daily",
        "priority": "0.5",
        "alternates": [["de", "https://e.com/de?a&b"]],
        "images": ["https://e.com/i.png"],
        "videos": ["https://e.com/v.mp4"],
        "news": "A & B",
    }
    plain = world.urlset(["/a?x=1&y=2", ["//e.com/b", "2026-10-01"], ["https://e.com/c", None]])
    rich = world.urlset([("/a", None, extras)]).body.replace(b"{origin}", b"https://e.com")
    assert b"<loc>{origin}/a?x=1&amp;y=2</loc></url>" in plain.body
    assert b"<loc>//e.com/b</loc><lastmod>2026-10-01</lastmod></url>" in plain.body
    assert plain.body.count(b"xmlns") == 1
    assert rich.count(b"xmlns") == 5
    names = [element.tag.partition("}")[2] for element in ET.fromstring(rich)[0].iter()]
    assert names == [
        *("url", "loc", "changefreq", "priority", "link", "image", "loc", "video", "title"),
        *("content_loc", "news", "publication", "name", "language", "publication_date", "title"),
    ]


@pytest.mark.parametrize(
    ("build", "end"),
    [
        (world.urlset, "</url>\n"),
        (world.news, "</news:news></url>\n"),
        (world.index, "</sitemap>\n"),
        (world.rss, "</item>\n"),
        (world.atom, "</entry>\n"),
        (world.text, "\n"),
    ],
)
@pytest.mark.parametrize("cut_at", [0, 1, 2, 3])
def test_cut_at_keeps_so_many_entries_and_tears_the_next(
    build: Callable[..., Page], end: str, cut_at: int
) -> None:
    entries = [f"https://e.com/page-{n}" for n in range(3)]
    whole, torn = build(entries).body.decode(), build(entries, cut_at=cut_at).body.decode()
    assert whole.count(end) == 3
    assert torn.count(end) == cut_at
    assert whole.startswith(torn)
    assert bool(torn.rpartition(end)[2]) == (cut_at < 3)
    assert build is world.text or len(torn) < len(whole)


def test_robots_holds_rules_delay_and_sitemaps() -> None:
    page = world.robots(["/s.xml", "https://e.com/t.xml"], "User-agent: *\nDisallow: /x\n", 2.5)
    assert page.body == (
        b"User-agent: *\nDisallow: /x\nCrawl-delay: 2.5\n\n"
        b"Sitemap: {origin}/s.xml\nSitemap: https://e.com/t.xml\n"
    )


# ---------------------------------------------------------------------------- the catalogue


def walk(site: Site) -> dict[str, int]:
    """Every target that robots.txt leads to on the same site, a redirect's too, with its status."""
    todo = re.findall(r"Sitemap: (\S+)", body(site, "/robots.txt").decode())
    seen: dict[str, int] = {}
    while todo:
        target = todo.pop(0).removeprefix(site.url)
        if target in seen or target.startswith("http"):
            continue
        status, headers, document = get(site, target)
        seen[target] = status
        if "location" in headers:
            todo.append(headers["location"])
        elif b"<sitemapindex" in document:
            todo += locs(document)
    return seen


def listed(site: Site, targets: list[str]) -> set[tuple[str, str]]:
    """(loc, lastmod) of the urlsets at these targets, without the origin."""
    pairs: set[tuple[str, str]] = set()
    for target in targets:
        document = body(site, target)
        document = gzip.decompress(document) if target.endswith(".gz") else document
        found = re.findall(r"<loc>(.*?)</loc><lastmod>(.*?)</lastmod>", document.decode())
        pairs |= {(loc.removeprefix(site.url), lastmod) for loc, lastmod in found}
    return pairs


SHELVES = [f"/products-{shelf}.xml.gz" for shelf in (1, 2, 3)]


def test_shop_changes_one_file_on_day_2_and_validates_the_others() -> None:
    with World(world.shop()) as hosted:
        site = hosted.sites[0]
        assert list(walk(site)) == ["/sitemap.xml", *SHELVES]
        first = listed(site, SHELVES)
        tags = {target: get(site, target)[1]["etag"] for target in ["/sitemap.xml", *SHELVES]}
        hosted.day(2)
        again = [get(site, target, {"If-None-Match": tag})[0] for target, tag in tags.items()]
        second = listed(site, SHELVES)
    assert len(first) == 30
    assert again == [304, 304, 200, 304]
    assert first - second == {("/shelf-2/1", "2026-09-01"), ("/shelf-2/2", "2026-09-02")}
    assert second - first == {("/shelf-2/2", "2026-10-01"), ("/shelf-2/11", "2026-09-11")}


@pytest.mark.parametrize("make", [world.blog, world.slow])
def test_blog_and_slow_gain_one_post_on_day_2(make: Callable[[], Site]) -> None:
    with World(make()) as hosted:
        site = hosted.sites[0]
        first = listed(site, ["/sitemap.xml"])
        hosted.day(2)
        _, headers, _ = get(site, "/sitemap.xml", {"If-Modified-Since": DAY_1})
        assert len(first) == 5
        assert listed(site, ["/sitemap.xml"]) - first == {("/posts/6", "2026-09-06")}
        assert headers["last-modified"] == DAY_2


@pytest.mark.parametrize(
    ("make", "statuses"),
    [
        (
            world.loops,
            dict.fromkeys(
                [
                    *("/self.xml", "/one.xml", "/four.xml"),
                    *("/good.xml", "/two.xml", "/child.xml", "/leaf.xml"),
                ],
                200,
            ),
        ),
        (
            lambda: world.deep(2),
            dict.fromkeys(
                [
                    *("/level-0.xml", "/level-1.xml", "/leaf-0.xml"),
                    *("/level-2.xml", "/leaf-1.xml"),
                ],
                200,
            ),
        ),
        (
            world.redirects,
            {
                "/sitemap.xml": 200,
                "/five.xml": 301,
                "/six.xml": 301,
                "/circle.xml": 302,
                "/five-1.xml": 302,
                "/six-1.xml": 302,
                "/elcric.xml": 302,
                "/five-2.xml": 303,
                "/six-2.xml": 303,
                "/five-3.xml": 307,
                "/six-3.xml": 307,
                "/five-4.xml": 308,
                "/six-4.xml": 308,
                "/five-5.xml": 200,
                "/six-5.xml": 301,
                "/six-6.xml": 200,
            },
        ),
        (
            world.text_and_feeds,
            dict.fromkeys(
                ["/urls.txt", "/urls.txt.gz", "/feed.rss", "/feed.atom", "/news.xml"], 200
            ),
        ),
        (world.no_sitemap, {}),
        (world.busy, {"/sitemap.xml": 429}),
    ],
)
def test_a_site_of_the_catalogue_has_these_files(
    make: Callable[[], Site], statuses: dict[str, int]
) -> None:
    with World(make()) as hosted:
        assert list(walk(hosted.sites[0]).items()) == list(statuses.items())


def test_faulty_has_one_child_for_each_fault() -> None:
    with World(world.faulty()) as hosted:
        site = hosted.sites[0]
        children = [loc.removeprefix(site.url) for loc in locs(body(site, "/sitemap.xml"))]
        ends = {target: _end(site, target) for target in children}
    assert ends == {
        "/good.xml": "200 <?xml",
        "/missing.xml": "404 <!doctype",
        "/forbidden.xml": "403 <?xml",
        "/broken.xml": "503 <?xml",
        "/timeout.xml": "TimeoutError",
        "/reset.xml": "ConnectionResetError",
        "/empty.xml": "200 ",
        "/html.xml": "200 <!doctype",
        "/cut.xml.gz": "EOFError",
        "/short.xml": "IncompleteRead",
    }


def _end(site: Site, target: str) -> str:
    """How a short-tempered client fares: status and first word, or the error it meets."""
    connection = http.client.HTTPConnection(str(site.ip), site.port, timeout=0.2)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        document = response.read()
        if target.endswith(".gz"):
            document = gzip.decompress(document)
    except (OSError, EOFError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()
    return f"{response.status} {document.partition(b' ')[0].decode()}"


def test_cdn_lists_children_on_a_second_host() -> None:
    with World(*world.cdn()) as hosted:
        main, other = hosted["main"], hosted["cdn"]
        children = locs(body(main, "/sitemap.xml"))
        assert children == [other.address("/products.xml.gz"), other.address("/guides.xml")]
        assert locs(body(other, "/guides.xml")) == [main.address("/guide")]
        assert locs(gzip.decompress(body(other, "/products.xml.gz"))) == [main.address("/product")]


def test_changing_addresses_keeps_its_urls_under_new_files_each_day() -> None:
    with World(world.changing_addresses()) as hosted:
        site = hosted.sites[0]
        days = []
        for number in (1, 2, 3):
            hosted.day(number)
            files = [target for target in walk(site) if "?" in target]
            days.append((files, listed(site, files)))
        assert [len(files) for files, _ in days] == [2, 2, 2]
        assert len({target for files, _ in days for target in files}) == 6
        assert days[0][1] == days[1][1] == days[2][1]
        assert len(days[0][1]) == 8
        assert get(site, days[0][0][0])[0] == 404


@pytest.mark.parametrize(
    ("make", "status", "word"), [(world.spa, 200, b"App"), (world.walled, 403, b"Just a moment")]
)
def test_spa_and_walled_answer_every_address_alike(
    make: Callable[[], Site], status: int, word: bytes
) -> None:
    with World(make()) as hosted:
        answers = [get(hosted.sites[0], target) for target in ("/robots.txt", "/sitemap.xml")]
    assert [(got, word in text) for got, _, text in answers] == [(status, True)] * 2


def test_no_robots_common_path_has_its_index_where_plugins_put_it() -> None:
    with World(world.no_robots_common_path()) as hosted:
        site = hosted.sites[0]
        assert get(site, "/robots.txt")[0] == 404
        assert locs(body(site, "/sitemap_index.xml")) == [site.address("/pages.xml")]


def test_the_docstring_lists_the_catalogue() -> None:
    section = str(world.__doc__).partition("The catalogue")[2]
    documented = re.findall(r"^    (\w+)(?:\(.*?\))? ", section, re.MULTILINE)
    made = [
        name
        for name, value in vars(world).items()
        if getattr(value, "__annotations__", {}).get("return") in {"Site", "tuple[Site, Site]"}
        and not name.startswith("_")
    ]
    assert sorted(documented) == sorted(made)


# ---------------------------------------------------------------------------- scenarios


def scenario_day(files: dict[str, object], robots: dict[str, object] | None = None) -> Site:
    site = Site({})
    told = robots or {"status": 200, "body": "Sitemap: https://site.test/s.xml\n"}
    serve_scenario_day({"serves": {"robots": told, "files": files, "redirects": {}}}, site)
    return site


def test_every_day_of_every_scenario_can_be_served() -> None:
    site = Site({})
    with World(site):
        for day in (day for scenario in load_scenarios() for day in scenario["days"]):
            serve_scenario_day(day, site)
            serves = day["serves"]
            status, _, text = get(site, "/robots.txt")
            told = serves["robots"]
            assert (status, text.decode()) == (
                told["status"],
                told["body"].replace("https://site.test", site.url),
            )
            for address, file in serves["files"].items():
                status, headers, document = get(site, address.removeprefix("https://site.test"))
                assert status == file.get("status", 200)
                for name, value in file.get("headers", {}).items():
                    assert headers[name.lower()] == value
                if file.get("fault") == "cut":
                    assert document.count(b"</loc>") == file["keep"]
                elif file["kind"] == "index":
                    moved = [c.replace("https://site.test", site.url) for c in file["children"]]
                    assert locs(document) == moved
                else:
                    assert locs(document) == [loc for loc, _, _ in file["entries"]]
                    carrying = document.count(b"<news:news>")
                    assert carrying == (len(file["entries"]) if file["kind"] == "news" else 0)


def test_a_scenario_entry_keeps_lastmod_and_alternates_as_told() -> None:
    entry = ["https://site.test/x", "2026-10-01", {"alternates": [["en", "/en/x"]]}]
    with World(
        scenario_day({"https://site.test/s.xml": {"kind": "urlset", "entries": [entry]}})
    ) as w:
        document = body(w.sites[0], "/s.xml")
    assert b"<loc>https://site.test/x</loc><lastmod>2026-10-01</lastmod><xhtml:link " in document
    assert b'hreflang="en" href="/en/x"/>' in document


@pytest.mark.parametrize(
    ("fault", "received", "reset"),
    [
        ("network", b"", True),
        ("dns", b"", True),
        ("empty", b"", False),
        ("garbage", b"neither", False),
    ],
)
def test_scenario_faults_are_faults_of_the_world(fault: str, received: bytes, reset: bool) -> None:
    file = {"kind": "urlset", "entries": [], "fault": fault}
    with World(scenario_day({"https://site.test/s.xml": file})) as hosted:
        answer, was_reset = raw(
            hosted.sites[0], b"GET /s.xml HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
    text = answer.partition(b"\r\n\r\n")[2]
    assert was_reset == reset
    assert received in text
    assert bool(text) == bool(received)


def test_a_scenario_cut_sends_a_right_length_for_the_cut_body() -> None:
    entries: list[list[object]] = [[f"https://site.test/{n}", None, {}] for n in range(4)]
    file = {"kind": "urlset", "entries": entries, "fault": "cut", "keep": 2}
    with World(scenario_day({"https://site.test/s.xml": file})) as hosted:
        _, headers, document = get(hosted.sites[0], "/s.xml")
    assert int(headers["content-length"]) == len(document)
    assert document.count(b"</url>") == 2
    assert document.endswith(b"</url>\n<url><loc>https://sit")


def test_scenario_redirects_of_files_move_and_those_of_pages_do_not() -> None:
    site = scenario_day({"https://site.test/s.xml": {"redirect": "https://site.test/t.xml"}})
    with World(site):
        assert get(site, "/s.xml")[1]["location"] == site.address("/t.xml")
        serves = {
            "robots": {"fault": "timeout"},
            "files": {},
            "redirects": {"https://site.test/go": "https://site.test/gone-to"},
        }
        serve_scenario_day({"serves": serves}, site)
        assert get(site, "/go")[1]["location"] == "https://site.test/gone-to"
        assert get(site, "/s.xml")[0] == 404
        assert _end(site, "/robots.txt") == "TimeoutError"


def test_a_scenario_file_on_another_host_is_refused() -> None:
    with pytest.raises(ValueError, match=r"only files of https://site\.test can be served"):
        scenario_day({"https://site.test.evil/s.xml": {"kind": "urlset", "entries": []}})
