"""Sites as data, served over real HTTP on loopback with every fault of a transport or a file.

A `Site` maps request targets to `Page`s; a `World` hosts sites, the first on 127.0.0.1, the next on
127.0.0.2 and so on, each on a free port:

    with World(shop()) as world:
        site = world.sites[0]
        ...                                     # crawl site.url
        world.day(2)                            # what the shop lists tomorrow
        assert site.paths() == ["/robots.txt", "/sitemap.xml", ...]

In bodies and header values `{origin}` stands for the site's own origin and `{origin:NAME}` for that
of the world's site of that name. Builders take an address that begins with one slash for the
site's own. Pages are changed by `page.but(etag=True, fault="timeout", ...)`.

The catalogue (each a function that makes the site, or the sites, anew):

    shop                    robots, an index of 3 gzipped files of 10 URLs, ETags; on day 2 in
                            /products-2.xml.gz 1 added, 1 removed, 1 lastmod changed
    blog                    robots and one urlset of 5 URLs, Last-Modified; on day 2 1 added
    no_robots_common_path   robots.txt is 404; the sitemap is at /sitemap_index.xml
    loops                   an index that lists itself, two that list each other, one child 4 times
    faulty                  an index of /good.xml and a child for each of 404, 403, 503, timeout,
                            reset, empty, HTML, cut gzip, body shorter than its Content-Length
    cdn                     2 hosts, "main" and "cdn": the index on the one, its files on the other
    redirects               children behind 5 hops, 6 hops and a circle
    deep(levels=5)          an index of an index of ..., with one urlset a level
    text_and_feeds          a text file, a gzipped one, RSS, Atom, a news file
    changing_addresses      children `?from=..&to=..` that differ each of 3 days, with the same URLs
    no_sitemap              a homepage with links, robots without a Sitemap line, nothing else
    spa                     answers every address, robots.txt too, with the same HTML page and 200
    walled                  answers every address with a challenge page and 403
    busy                    each file answers 429 with Retry-After: 1 first, then 200
    slow                    as blog, each answer after 0.2 s
    dead                    refuses connections
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from types import TracebackType

Fault = Literal[
    "timeout",  # takes the request and never answers
    "stall",  # head and the kept part of the body, then silence
    "drip",  # one byte of the body each DRIP_PAUSE seconds
    "reset",  # TCP RST instead of an answer
    "reset_midway",  # head and the kept part of the body, then RST
    "close",  # FIN instead of an answer
    "garbage",  # bytes that are not HTTP
    "cut",  # only the kept part, under its own right Content-Length
    "short",  # the kept part under a Content-Length longer than the body, then FIN
    "chunk_cut",  # the kept part chunked, then FIN without the last chunk
]
Framing = Literal["length", "chunked", "close"]
DRIP_PAUSE = 0.05
"""Seconds between two bytes of a dripping body: no gap is long, the whole is."""
LAST_PIECE = 65536
"""Bytes of an answer that are written in one go at its end (see `World._exchange`)."""


# ---------------------------------------------------------------------------- what a site is


@dataclass(frozen=True)
class Page:
    """One answer. `keep` ends the slice of the packed body that a fault lets through (None: half).

    `gzip` counts the layers the body is packed in, `framing` tells how its end is marked, `etag` is
    True for a strong tag of the bytes or the tag itself, quotes and all. With `etag` or
    `last_modified` (an HTTP-date) a 200 answers conditional requests by RFC 9110 §13; the same
    headers given in `headers` are only words. `headers` win over computed ones, so they can lie.
    """

    body: bytes = b""
    status: int = 200
    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    fault: Fault | None = None
    keep: int | None = None
    gzip: int = 0
    framing: Framing = "length"
    etag: str | bool = False
    last_modified: str | None = None

    def but(self, **changes: Any) -> Page:
        """The same page with these fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Request:
    """One request as it arrived: header names in lower case, `time` monotonic, in seconds.

    `status` is what was answered, None when a fault kept the status line back or a page is
    still being chosen.
    """

    time: float
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    host: str
    port: int
    version: str = "HTTP/1.1"
    status: int | None = None

    @property
    def keeps_alive(self) -> bool:
        """Whether the client wants the connection kept (RFC 9112 §9.3)."""
        return self.version == "HTTP/1.1" and self.headers.get("connection", "").lower() != "close"


Answer = Page | Sequence[Page] | Callable[[Request], Page]
"""A page; pages answered one after the other, the last one for good; or a choice by request."""

NOT_FOUND = Page(b"<!doctype html><title>Not found</title>", 404, "text/html")


class Site:
    """Request targets with their query -> answers, day by day, and the requests that came.

    `pages` are day 1; each mapping of `later` holds what is different from the day before, None for
    a page that is gone. What is not listed is answered with `missing`. `ip` is given by the world
    unless named here; `refuses` keeps the port without listening.
    """

    def __init__(
        self,
        pages: Mapping[str, Answer],
        *,
        later: Sequence[Mapping[str, Answer | None]] = (),
        name: str = "",
        ip: str | None = None,
        missing: Answer = NOT_FOUND,
        refuses: bool = False,
    ) -> None:
        self.name, self.ip, self.missing, self.refuses = name, ip, missing, refuses
        self.port, self.url = 0, ""
        self.requests: list[Request] = []
        self._days = (pages, *later)
        self.day(1)

    def day(self, number: int) -> None:
        """Serve day `number` (from 1) afresh; after the last day a site stays as it is."""
        merged: dict[str, Answer | None] = {}
        for pages in self._days[:number]:
            merged.update(pages)
        self.serve({target: answer for target, answer in merged.items() if answer is not None})

    def serve(self, pages: Mapping[str, Answer]) -> None:
        """Serve these pages and no others."""
        self._pages, self._turns = dict(pages), Counter[str]()

    def set(self, target: str, answer: Answer | None) -> None:
        """Swap the answer of one target; None takes it away."""
        self._turns[target] = 0
        if answer is None:
            self._pages.pop(target, None)
        else:
            self._pages[target] = answer

    def address(self, target: str) -> str:
        """The whole address of a target, once the site is hosted."""
        return self.url + target

    def paths(self) -> list[str]:
        """The targets requested so far, in order."""
        return [request.target for request in self.requests]

    def answers(self) -> list[tuple[str, int | None]]:
        """The targets requested so far, each with the status it was answered with."""
        return [(request.target, request.status) for request in self.requests]

    def choose(self, request: Request) -> Page:
        """The page that answers a request; a sequence moves on by one."""
        answer = self._pages.get(request.target, self.missing)
        if isinstance(answer, Page):
            return answer
        if callable(answer):
            return answer(request)
        turn = self._turns[request.target]
        self._turns[request.target] += 1
        return answer[min(turn, len(answer) - 1)]


# ---------------------------------------------------------------------------- builders of pages

NAMESPACES = {
    "xhtml": "http://www.w3.org/1999/xhtml",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
}
SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
XML = "application/xml"
Entry = str | Sequence[Any]
"""An address, or [loc, lastmod, extras], where lastmod and extras may be left out or None."""


def urlset(entries: Iterable[Entry], *, cut_at: int | None = None) -> Page:
    """A urlset. `cut_at` ends it in the middle of that entry (from 0) of any kind of listing.

    Extras of an entry: changefreq, priority, alternates [[language, href]], images [address],
    videos [address], news (a headline). Only the namespaces in use are declared.
    """
    items = []
    for loc, lastmod, extras in map(_escaped, entries):
        inner = "".join(EXTRAS[name](value) for name, value in extras.items())
        items.append(f"<url><loc>{loc}</loc>{_element('lastmod', lastmod)}{inner}</url>\n")
    used = "".join(items)
    spaces = "".join(
        f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items() if f"<{prefix}:" in used
    )
    return _listing(f"<urlset {SITEMAP}{spaces}>\n", items, "</urlset>\n", cut_at)


def news(entries: Iterable[Entry], *, cut_at: int | None = None) -> Page:
    """A urlset each entry of which carries news:news."""
    titled = [
        (loc, lastmod, {"news": "Headline", **extras})
        for loc, lastmod, extras in map(_triple, entries)
    ]
    return urlset(titled, cut_at=cut_at)


def index(children: Iterable[Entry], *, cut_at: int | None = None) -> Page:
    """A sitemap index."""
    items = [
        f"<sitemap><loc>{loc}</loc>{_element('lastmod', lastmod)}</sitemap>\n"
        for loc, lastmod, _ in map(_escaped, children)
    ]
    return _listing(f"<sitemapindex {SITEMAP}>\n", items, "</sitemapindex>\n", cut_at)


def rss(entries: Iterable[Entry], *, cut_at: int | None = None) -> Page:
    """An RSS 2.0 feed; the date stands in pubDate as given."""
    items = [
        f"<item><title>News</title><link>{loc}</link>{_element('pubDate', date)}</item>\n"
        for loc, date, _ in map(_escaped, entries)
    ]
    head = '<rss version="2.0"><channel><title>News</title><link>{origin}/</link>\n'
    page = _listing(head, items, "</channel></rss>\n", cut_at)
    return page.but(content_type="application/rss+xml")


def atom(entries: Iterable[Entry], *, cut_at: int | None = None) -> Page:
    """An Atom feed; each entry has an edit link before the link of the page (RFC 5023 §11.1)."""
    items = [
        f'<entry><title>News</title><id>{loc}</id><link rel="edit" href="{loc}/edit"/>'
        f'<link href="{loc}"/>{_element("updated", date)}</entry>\n'
        for loc, date, _ in map(_escaped, entries)
    ]
    head = '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>{origin}/</id>\n'
    page = _listing(head, items, "</feed>\n", cut_at)
    return page.but(content_type="application/atom+xml")


def text(entries: Iterable[Entry], *, cut_at: int | None = None) -> Page:
    """A text sitemap: one address a line."""
    lines = [f"{loc}\n" for loc, _, _ in map(_triple, entries)]
    return Page(_joined("", lines, "", cut_at), content_type="text/plain")


def gzip_of(page: Page, layers: int = 1) -> Page:
    """The page packed as a file that is gzip itself, not by a Content-Encoding (RFC 6713)."""
    return page.but(gzip=layers, content_type="application/gzip")


def robots(
    sitemaps: Iterable[str] = (),
    rules: str = "User-agent: *\nDisallow:\n",
    delay: float | None = None,
) -> Page:
    """robots.txt: the rules, a Crawl-delay at their end, the Sitemap lines."""
    wait = "" if delay is None else f"Crawl-delay: {delay:g}\n"
    lines = "".join(f"Sitemap: {_own(sitemap)}\n" for sitemap in sitemaps)
    return Page(f"{rules}{wait}\n{lines}".encode(), content_type="text/plain")


def redirect(to: str, status: int = 301) -> Page:
    """A redirect, with an absolute Location."""
    return Page(status=status, headers={"Location": _own(to)})


def html_page(title: str = "Welcome", links: Iterable[str] = ()) -> Page:
    """An HTML page with links."""
    anchors = "".join(f"<a href={quoteattr(link)}>a page</a>\n" for link in links)
    body = (
        f"<!doctype html>\n<html><head><title>{title}</title></head><body>{anchors}</body></html>"
    )
    return Page(body.encode(), content_type="text/html; charset=utf-8")


def login_page() -> Page:
    """A login page where a file should be, as intranets and staging sites answer."""
    body = (
        b"<!doctype html>\n<html><head><title>Log in</title></head><body>"
        b'<form method="post" action="/login"><input name="user">'
        b'<input name="password" type="password"></form></body></html>'
    )
    return Page(body, content_type="text/html; charset=utf-8")


def challenge(status: int = 403) -> Page:
    """A bot challenge as a CDN shows it; `status` 200 is its nasty form."""
    body = (
        b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>"
        b"Verify you are human by completing the action below."
        b'<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>'
        b"</body></html>"
    )
    headers = {"Server": "cloudflare", "Cf-Mitigated": "challenge"}
    return Page(body, status, "text/html; charset=UTF-8", headers)


def _own(address: str) -> str:
    return "{origin}" + address if re.match("/(?!/)", address) else address


def _triple(entry: Entry) -> tuple[str, str | None, Mapping[str, Any]]:
    loc, lastmod, extras = [*([entry] if isinstance(entry, str) else entry), None, None][:3]
    return _own(loc), lastmod, extras or {}


def _escaped(entry: Entry) -> tuple[str, str | None, Mapping[str, Any]]:
    loc, lastmod, extras = _triple(entry)
    return escape(loc, {'"': "&quot;"}), lastmod, extras


def _element(name: str, value: object) -> str:
    return "" if value is None else f"<{name}>{escape(str(value))}</{name}>"


def _listing(head: str, items: Sequence[str], tail: str, cut_at: int | None) -> Page:
    declared = '<?xml version="1.0" encoding="UTF-8"?>\n' + head
    return Page(_joined(declared, items, tail, cut_at), content_type=XML)


def _joined(head: str, items: Sequence[str], tail: str, cut_at: int | None) -> bytes:
    if cut_at is None:
        return "".join((head, *items, tail)).encode()
    torn = "".join(items[cut_at : cut_at + 1])  # behind the last one only the tail is missing
    return "".join((head, *items[:cut_at], torn[: len(torn) // 2])).encode()


EXTRAS: Mapping[str, Callable[[Any], str]] = {
    "changefreq": partial(_element, "changefreq"),
    "priority": partial(_element, "priority"),
    "alternates": lambda pairs: "".join(
        f'<xhtml:link rel="alternate" hreflang={quoteattr(language)} href={quoteattr(href)}/>'
        for language, href in pairs
    ),
    "images": lambda locs: "".join(
        f"<image:image>{_element('image:loc', loc)}</image:image>" for loc in locs
    ),
    "videos": lambda locs: "".join(
        f"<video:video><video:title>Clip</video:title>{_element('video:content_loc', loc)}"
        "</video:video>"
        for loc in locs
    ),
    "news": lambda title: (
        "<news:news><news:publication><news:name>The Daily</news:name>"
        "<news:language>en</news:language></news:publication>"
        "<news:publication_date>2026-10-01</news:publication_date>"
        f"{_element('news:title', title)}</news:news>"
    ),
}


# ---------------------------------------------------------------------------- answers as bytes


@dataclass(frozen=True)
class Message:
    """What goes over the wire for one request: pieces, the pause after each, and then the end."""

    status: int | None
    pieces: tuple[bytes, ...]
    end: Literal["keep", "close", "reset", "stall"]
    pause: float = 0.0


SILENT: Mapping[str | None, Message] = {
    "timeout": Message(None, (b"",), "stall"),
    "reset": Message(None, (b"",), "reset"),
    "close": Message(None, (b"",), "close"),
    "garbage": Message(None, (b"\x16\x03\x01 this is not HTTP \xff\r\n\r\n",), "close"),
}
"""The faults that show no status line."""


def compose(page: Page, request: Request, fill: Callable[[bytes], bytes]) -> Message:
    """Turn a page into a message; `fill` puts origins in the place of their names."""
    if page.fault in SILENT:
        return SILENT[page.fault]
    body = fill(page.body)
    for _ in range(page.gzip):
        body = gzip.compress(body, mtime=0)
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"' if page.etag is True else page.etag or None
    headers = {"Content-Type": page.content_type, "Etag": etag, "Last-Modified": page.last_modified}
    status, framing, length = page.status, page.framing, len(body)
    if page.fault is None and status == 200 and _not_modified(request, etag, page.last_modified):
        status = 304
    if page.fault in {"stall", "reset_midway", "cut", "short", "chunk_cut"}:
        body = body[: length // 2 if page.keep is None else page.keep]
    if page.fault in {"cut", "short"}:
        length = len(body) if page.fault == "cut" else length + 1
    if page.fault == "chunk_cut":
        framing = "chunked"
    bodiless = status in {204, 304}
    if framing == "length" and not bodiless:
        headers["Content-Length"] = str(length)
    elif framing == "chunked" and not bodiless:
        headers["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        body += b"" if page.fault == "chunk_cut" else b"0\r\n\r\n"
    if bodiless or request.method == "HEAD":
        body = b""
    breaks = page.fault in {"short", "chunk_cut"} or framing == "close"
    if breaks or not request.keeps_alive:
        headers["Connection"] = "close"
    end: Literal["keep", "close"] = "close" if "Connection" in headers else "keep"
    headers |= {name.title(): fill(value.encode()).decode() for name, value in page.headers.items()}
    lines = [f"HTTP/1.1 {status} {responses.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    head = "\r\n".join((*lines, "\r\n")).encode("latin-1")
    if page.fault in {"stall", "reset_midway"}:
        return Message(status, (head + body, b""), "stall" if page.fault == "stall" else "reset")
    if page.fault == "drip":
        return Message(status, (head, *(bytes((byte,)) for byte in body)), end, DRIP_PAUSE)
    whole = head + body
    return Message(status, (whole[:-LAST_PIECE], whole[-LAST_PIECE:]), end)


def _not_modified(request: Request, etag: str | None, last_modified: str | None) -> bool:
    """Whether 304 is due (RFC 9110 §13.2.2): If-None-Match decides alone, compared weakly."""
    asked = request.headers.get("if-none-match")
    if request.method not in {"GET", "HEAD"}:
        return False
    if asked is not None and etag is not None:
        tags = {tag.removeprefix("W/") for tag in re.findall(r'(?:W/)?"[^"]*"', asked)}
        return asked.strip() == "*" or etag.removeprefix("W/") in tags
    since = request.headers.get("if-modified-since")
    if asked is not None or since is None or last_modified is None:
        return False
    try:
        return parsedate_to_datetime(last_modified) <= parsedate_to_datetime(since)
    except ValueError:  # §13.1.3: a date that cannot be read is as good as none
        return False


# ---------------------------------------------------------------------------- the server

PLACEHOLDER = re.compile(rb"\{origin(?::([\w-]+))?\}")
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on for zero seconds: closing sends RST instead of FIN."""


class World:
    """Hosts sites from `with` to its end, in one thread; the end waits for nobody.

    An error in a page's function closes the connection and is raised again where the `with` ends.
    """

    def __init__(self, *sites: Site) -> None:
        self.sites = sites
        self._in_flight, self._most = Counter[str](), Counter[str]()
        self._writers: list[asyncio.StreamWriter] = []
        self._talks: list[asyncio.Task[None]] = []

    def __enter__(self) -> World:
        self._sockets = [_bound(site, f"127.0.0.{nth}") for nth, site in enumerate(self.sites, 1)]
        self._loop, self._stop = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()
        for sock in self._sockets:
            sock.close()
        faults = [talk.exception() for talk in self._talks if not talk.cancelled()]
        for fault in filter(None, faults):
            if error is None:
                raise fault

    def __getitem__(self, name: str) -> Site:
        return {site.name: site for site in self.sites}[name]

    def day(self, number: int) -> None:
        """Serve day `number` on every site."""
        for site in self.sites:
            site.day(number)

    def concurrency(self, site: Site) -> int:
        """The greatest number of requests in flight at once on the site's host.

        A request is in flight from its last byte until the last piece of the answer is written or
        the client has left.
        """
        return self._most[str(site.ip)]

    async def _serve(self) -> None:
        servers = [
            await asyncio.start_server(partial(self._accept, site), sock=sock)
            for site, sock in zip(self.sites, self._sockets, strict=True)
            if not site.refuses
        ]
        await self._stop.wait()
        for server in servers:
            for sock in server.sockets:
                self._loop.remove_reader(sock)
        # What was accepted just now must become a talk first, or nobody owns its socket.
        accepting = asyncio.all_tasks() - {asyncio.current_task(), *self._talks}
        await asyncio.gather(*accepting)
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        for server in servers:
            server.close()
        await asyncio.sleep(0)  # the transports close their sockets in this turn of the loop

    def _accept(
        self, site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._writers.append(writer)
        self._talks.append(asyncio.get_running_loop().create_task(self._talk(site, reader, writer)))

    async def _talk(
        self, site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while await self._exchange(site, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has left, as clients do
        finally:
            writer.close()

    async def _exchange(
        self, site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Take one request and answer it; says whether the connection stays open."""
        request = await _read(site, reader)
        page = site.choose(request)
        message = compose(page, request, partial(self._fill, site))
        site.requests.append(replace(request, status=message.status))
        *pieces, last = message.pieces
        with self._counted(site):
            if page.delay and await _client_leaves(reader, page.delay):
                return False
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(message.pause)
            if message.end == "stall":
                await _client_leaves(reader, None)
                return False
        # Counted out before the last bytes: a client that asks again at once is not two.
        writer.write(last)
        if message.end == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
        return message.end == "keep"

    def _fill(self, site: Site, data: bytes) -> bytes:
        return PLACEHOLDER.sub(
            lambda name: (self[name[1].decode()] if name[1] else site).url.encode(), data
        )

    @contextmanager
    def _counted(self, site: Site) -> Iterator[None]:
        host = str(site.ip)
        self._in_flight[host] += 1
        self._most[host] = max(self._most[host], self._in_flight[host])
        try:
            yield
        finally:
            self._in_flight[host] -= 1


def _bound(site: Site, ip: str) -> socket.socket:
    sock = socket.socket()
    site.ip = site.ip or ip
    sock.bind((site.ip, 0))
    if not site.refuses:
        sock.listen(128)
    site.port = sock.getsockname()[1]
    site.url = f"http://{site.ip}:{site.port}"
    return sock


async def _read(site: Site, reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
    method, target, version = line.split(" ")
    pairs = (field.partition(":") for field in fields)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(
        time.monotonic(), method, target, headers, body, str(site.ip), site.port, version
    )


async def _client_leaves(reader: asyncio.StreamReader, seconds: float | None) -> bool:
    """Whether the client hangs up within this time; clients here never send a request ahead."""
    try:
        async with asyncio.timeout(seconds):
            await reader.read(1)
    except TimeoutError:
        return False
    return True


# ---------------------------------------------------------------------------- the catalogue


def _dated(path: str, numbers: Iterable[int]) -> list[tuple[str, str]]:
    """URLs that carry a lastmod of their own each, so that no stamp is seen in them."""
    return [(f"/{path}/{number}", f"2026-09-{number:02d}") for number in numbers]


def shop() -> Site:
    files = {
        f"/products-{shelf}.xml.gz": gzip_of(urlset(_dated(f"shelf-{shelf}", range(1, 11))))
        for shelf in (1, 2, 3)
    }
    second = [("/shelf-2/2", "2026-10-01"), *_dated("shelf-2", range(3, 12))]
    pages = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index(files),
        **files,
    }
    tomorrow = {"/products-2.xml.gz": gzip_of(urlset(second)).but(etag=True)}
    return Site({target: page.but(etag=True) for target, page in pages.items()}, later=[tomorrow])


def blog(delay: float = 0.0) -> Site:
    def posts(last: int, modified: str) -> Page:
        return urlset(_dated("posts", range(1, last + 1))).but(last_modified=modified, delay=delay)

    return Site(
        {
            "/robots.txt": robots(["/sitemap.xml"]).but(delay=delay),
            "/sitemap.xml": posts(5, "Thu, 01 Oct 2026 00:00:00 GMT"),
        },
        later=[{"/sitemap.xml": posts(6, "Fri, 02 Oct 2026 00:00:00 GMT")}],
    )


def slow() -> Site:
    return blog(delay=0.2)


def no_robots_common_path() -> Site:
    return Site(
        {
            "/sitemap_index.xml": index(["/pages.xml"]),
            "/pages.xml": urlset(_dated("pages", range(1, 4))),
        }
    )


def loops() -> Site:
    return Site(
        {
            "/robots.txt": robots(["/self.xml", "/one.xml", "/four.xml"]),
            "/self.xml": index(["/self.xml", "/good.xml"]),
            "/good.xml": urlset(["/good"]),
            "/one.xml": index(["/two.xml"]),
            "/two.xml": index(["/one.xml", "/leaf.xml"]),
            "/leaf.xml": urlset(["/leaf"]),
            "/four.xml": index(["/child.xml"] * 4),
            "/child.xml": urlset(["/child"]),
        }
    )


def faulty() -> Site:
    some = urlset(_dated("lost", range(1, 4)))
    children = {
        "/good.xml": urlset(_dated("good", range(1, 4))),
        "/missing.xml": NOT_FOUND,
        "/forbidden.xml": some.but(status=403),
        "/broken.xml": some.but(status=503),
        "/timeout.xml": some.but(fault="timeout"),
        "/reset.xml": some.but(fault="reset"),
        "/empty.xml": Page(content_type=XML),
        "/html.xml": html_page(),
        "/cut.xml.gz": gzip_of(some).but(fault="cut"),
        "/short.xml": some.but(fault="short"),
    }
    return Site(
        {"/robots.txt": robots(["/sitemap.xml"]), "/sitemap.xml": index(children), **children}
    )


def cdn() -> tuple[Site, Site]:
    files = {
        "/products.xml.gz": gzip_of(urlset(["{origin:main}/product"])),
        "/guides.xml": urlset(["{origin:main}/guide"]),
    }
    main = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index("{origin:cdn}" + target for target in files),
    }
    return Site(main, name="main"), Site(files, name="cdn")


def redirects() -> Site:
    def hops(name: str, count: int) -> dict[str, Page]:
        names = [f"/{name}.xml", *(f"/{name}-{hop}.xml" for hop in range(1, count + 1))]
        statuses = (301, 302, 303, 307, 308)
        pages = {
            names[hop]: redirect(names[hop + 1], statuses[hop % len(statuses)])
            for hop in range(count)
        }
        return {**pages, names[-1]: urlset([f"/{name}"])}

    return Site(
        {
            "/robots.txt": robots(["/sitemap.xml"]),
            "/sitemap.xml": index(["/five.xml", "/six.xml", "/circle.xml"]),
            **hops("five", 5),
            **hops("six", 6),
            "/circle.xml": redirect("/elcric.xml", 302),
            "/elcric.xml": redirect("/circle.xml", 302),
        }
    )


def deep(levels: int = 5) -> Site:
    pages = {"/robots.txt": robots(["/level-0.xml"])}
    for level in range(levels):
        pages[f"/level-{level}.xml"] = index([f"/level-{level + 1}.xml", f"/leaf-{level}.xml"])
        pages[f"/leaf-{level}.xml"] = urlset([f"/leaf-{level}"])
    pages[f"/level-{levels}.xml"] = urlset(["/bottom"])
    return Site(pages)


def text_and_feeds() -> Site:
    files = {
        "/urls.txt": text(["/text/1", "/text/2"]),
        "/urls.txt.gz": gzip_of(text(["/text/3"])),
        "/feed.rss": rss([("/rss/1", "Thu, 01 Oct 2026 08:00:00 GMT")]),
        "/feed.atom": atom([("/atom/1", "2026-10-01T08:00:00Z")]),
        "/news.xml": news([("/news/1", "2026-10-01T08:00:00Z")]),
    }
    return Site({"/robots.txt": robots(files), **files})


def changing_addresses() -> Site:
    def day(number: int) -> dict[str, Page]:
        files = {
            f"/sitemap_products.xml?from={number}&to={number + 4}": urlset(
                _dated("products", range(1, 5))
            ),
            f"/sitemap_products.xml?from={number + 5}&to={number + 9}": urlset(
                _dated("products", range(5, 9))
            ),
        }
        return {"/sitemap.xml": index(files), **files}

    def gone(number: int) -> dict[str, None]:
        return dict.fromkeys(set(day(number)) - {"/sitemap.xml"})

    return Site(
        {"/robots.txt": robots(["/sitemap.xml"]), **day(1)},
        later=[{**gone(1), **day(2)}, {**gone(2), **day(3)}],
    )


def no_sitemap() -> Site:
    return Site(
        {
            "/robots.txt": robots(),
            "/": html_page("Home", ["/about", "/contact"]),
            "/about": html_page("About", ["/"]),
            "/contact": html_page("Contact", ["/about#team"]),
        }
    )


def spa() -> Site:
    return Site({}, missing=html_page("App"))


def walled() -> Site:
    return Site({}, missing=challenge())


def busy() -> Site:
    wait = Page(status=429, headers={"Retry-After": "1"})
    return Site(
        {
            "/robots.txt": robots(["/sitemap.xml"]),
            "/sitemap.xml": [wait, index(["/pages.xml"])],
            "/pages.xml": [wait, urlset(["/page"])],
        }
    )


def dead() -> Site:
    return Site({}, refuses=True)


# ---------------------------------------------------------------------------- scenarios

SCENARIO_ORIGIN = "https://site.test"
LISTINGS = {"urlset": urlset, "news": news, "text": text, "rss": rss, "atom": atom}
SCENARIO_FAULTS = {
    "timeout": Page(fault="timeout"),
    "network": Page(fault="reset"),
    "dns": Page(fault="reset"),  # a name cannot fail for one file of a host that answers
    "empty": Page(content_type=XML),
    "html": html_page(),
    "garbage": Page(b"\x00\x01\x02 neither XML nor lines of addresses \xff\xfe", content_type=XML),
}


def load_scenarios() -> list[dict[str, Any]]:
    """The multi-day histories of `data/scenarios.json`: name, rules, options, days."""
    path = Path(__file__).parent / "data" / "scenarios.json"
    scenarios: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return scenarios


def serve_scenario_day(day: Mapping[str, Any], site: Site) -> None:
    """Serve one day of a scenario on a site and nothing else.

    The addresses of files (robots Sitemap lines, children, redirects) move to the site's origin,
    the URLs of pages stay on `https://site.test`. `redirects`, which a status check would see, are
    answered at their paths with their Locations as they are.
    """
    serves = day["serves"]
    pages = {_target(address): _scenario_file(file) for address, file in serves["files"].items()}
    pages |= {
        _target(address): Page(status=301, headers={"Location": to})
        for address, to in serves["redirects"].items()
    }
    site.serve({"/robots.txt": _scenario_robots(serves["robots"]), **pages})


def _scenario_robots(told: Mapping[str, Any]) -> Page:
    if fault := told.get("fault"):
        return SCENARIO_FAULTS[fault]
    body = told["body"].replace(SCENARIO_ORIGIN, "{origin}")
    return Page(body.encode(), told["status"], "text/plain")


def _scenario_file(file: Mapping[str, Any]) -> Page:
    if to := file.get("redirect"):
        return redirect(_on_loopback(to), file.get("status", 301))
    fault = file.get("fault")
    if fault is not None and fault != "cut":
        return SCENARIO_FAULTS[fault].but(headers=file.get("headers", {}))
    cut_at = file.get("keep", 0) if fault else None
    if file["kind"] == "index":
        page = index(map(_on_loopback, file["children"]), cut_at=cut_at)
    else:
        page = LISTINGS[file["kind"]](file["entries"], cut_at=cut_at)
    return page.but(status=file.get("status", 200), headers=file.get("headers", {}))


def _on_loopback(address: str) -> str:
    inside = address.startswith(SCENARIO_ORIGIN + "/")
    return "{origin}" + address.removeprefix(SCENARIO_ORIGIN) if inside else address


def _target(address: str) -> str:
    if not address.startswith(SCENARIO_ORIGIN + "/"):
        message = f"only files of {SCENARIO_ORIGIN} can be served, got {address}"
        raise ValueError(message)
    return address.removeprefix(SCENARIO_ORIGIN)
