"""The spider: targets become requests, and each requested file becomes exactly one SitemapFile."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import Request, signals
from w3lib.encoding import http_content_type_encoding

from sitemon_spider import __version__
from sitemon_spider.core.reasons import Kind, Outcome, Reason, Stage
from sitemon_spider.core.records import SiteEnd, Skipped
from sitemon_spider.core.report import refused_row, saved_row
from sitemon_spider.core.sitemap import NotASitemap, parse_sitemap
from sitemon_spider.core.snapshot import LONG_ENOUGH, SnapshotError
from sitemon_spider.core.targets import Rejection, SiteTarget
from sitemon_spider.core.unpack import unpack
from sitemon_spider.core.urls import InvalidUrl, absolute, identity
from sitemon_spider.items import SitemapFile
from sitemon_spider.middlewares.faults import fault_of
from sitemon_spider.middlewares.robots import RobotsResponse
from sitemon_spider.middlewares.sitemap import SitemapMiddleware
from sitemon_spider.options import InputError, Options, shown
from sitemon_spider.run import MonitorRun, log_site, new_run_id
from sitemon_spider.state.files import FolderStore

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from sitemon_spider.core.reading import Node, SiteReading
    from sitemon_spider.core.snapshot import FileEntry
    from sitemon_spider.items import SiteRow
    from sitemon_spider.state.port import StateStore

logger = logging.getLogger(__name__)

OLDER_BY = timedelta(minutes=1)
"""[C5]: how much older a copy must say it is to be a stale one."""

NOT_TRIED = frozenset({Reason.STOPPED, Reason.MAX_URLS, Reason.ROBOTS_DISALLOWED})
"""Refusals by choice; the other ones are faults of the address."""


class SitemonSpider(scrapy.Spider):
    """Watches the sitemaps of the given sites. Its arguments are the options (`options.py`)."""

    name = "sitemon"

    run: MonitorRun

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Read the options before any request. Raises InputError."""
        settings = crawler.settings
        allow_private = settings.getbool("SITEMON_ALLOW_PRIVATE")
        options = Options.from_arguments(kwargs)
        options.require_target(allow_private=allow_private)
        spider = super().from_crawler(crawler, *args)
        clock = clock_of(settings.get("SITEMON_NOW"))
        run_id = str(kwargs.get("_job") or new_run_id(clock()))
        snapshots = store = cls.store(crawler, options)
        if options.output_mode == "urls_only":
            # Nothing is tracked: the columns of files that wait for their rows are put aside.
            snapshots = spool = FolderStore(Path(mkdtemp(prefix="sitemon-")), "spool")
            crawler.signals.connect(spool.remove, signals.engine_stopped)
        spider.run = MonitorRun(options, store, snapshots, run_id, clock, allow_private)
        contact = f"; {options.user_agent_contact}" if options.user_agent_contact else ""
        for name, value in {
            "USER_AGENT": f"sitemon/{__version__} (+https://pypi.org/project/sitemon{contact})",
            "DOWNLOAD_DELAY": options.delay_per_host,
            "AUTOTHROTTLE_START_DELAY": options.delay_per_host,
            "DOWNLOAD_TIMEOUT": options.request_timeout,
        }.items():
            settings.set(name, value, priority="spider")
        # Scrapyd may give one: what a run leaves unread the next run reads, whole, and not from an
        # old queue as well.
        settings.set("JOBDIR", None, priority="cmdline")
        rows = store.rows_file(run_id)
        if rows is not None and not settings.getdict("FEEDS"):
            feed = {"format": "jsonlines", "overwrite": True, "store_empty": True}
            settings.set("FEEDS", {rows.absolute().as_uri(): feed}, priority="spider")
        return spider

    @classmethod
    def store(cls, crawler: Crawler, options: Options) -> StateStore:
        """The home of snapshots and records; another home of the project has another one."""
        return FolderStore(Path(crawler.settings["SITEMON_STATE"]), options.monitor)

    async def start(self) -> AsyncIterator[Request | SiteReading | SiteRow]:
        """A request for each site's root, as places become free; a row for each refused input."""
        targets = self.run.targets()
        try:
            for target in targets:
                if not self._has_ended(target):
                    yield await self._begin(target)
        finally:
            # Where the engine does not ask for the rest any more, it stands in the records only.
            for target in targets:
                self._refuse(target, Reason.STOPPED, None)
            self.run.all_started = True

    def _has_ended(self, target: SiteTarget | Rejection) -> bool:
        """Whether this run ended the site before it was restarted: its row stands [D5]."""
        row = self.run.ended.get(target.key) if isinstance(target, SiteTarget) else None
        if row is not None:
            self.run.ends.append(SiteEnd(row))
            self.run.urls_pushed += row.urlsPushed
        return row is not None

    async def _begin(self, target: SiteTarget | Rejection) -> Request | SiteReading | SiteRow:
        """The first request of a site when there is a place for it, or the row of a refused one."""
        if isinstance(target, Rejection):
            return self._refuse(target, target.reason, target.detail)
        run = self.run
        try:
            await run.place()
        except asyncio.CancelledError:
            self._refuse(target, Reason.STOPPED, None)
            raise
        try:
            if run.stopped:
                raise SnapshotError(Reason.STOPPED, "")
            reading = await run.open(target)
        except asyncio.CancelledError:
            run.give_back()
            self._refuse(target, Reason.STOPPED, None)
            raise
        except SnapshotError as error:
            run.give_back()
            return self._refuse(target, error.reason, str(error) or None)
        except OSError as error:
            run.give_back()
            return self._refuse(target, Reason.STORE_FAILED, str(error))
        if run.is_saved(reading):
            return run.end(saved_row(reading, run.clock()), reading)
        node = reading.begin()
        return reading if node is None else self.request(reading, node)

    def _refuse(
        self, target: SiteTarget | Rejection, reason: Reason, detail: str | None
    ) -> SiteRow:
        line = target.input
        site = target.input if isinstance(target, Rejection) else target.key
        row = refused_row(site, line, reason, detail, self.run.clock(), self.run.stopped)
        self.run.ends.append(SiteEnd(row))
        log_site(row)
        stage = Stage.INPUT if isinstance(target, Rejection) else Stage.SITE
        self.run.skip(Skipped(line, site, stage, reason, detail))
        return row

    def request(self, reading: SiteReading, node: Node) -> Request:
        """The request of one file; breadth first, because a deeper one has a lower priority."""
        is_robots = node.address == f"{reading.target.key}/robots.txt" and not reading.target.direct
        return Request(
            node.url,
            callback=self.parse_robots if is_robots else self.parse,
            errback=self.unread,
            dont_filter=True,
            priority=-node.depth,
            meta={"robots_node": True} if is_robots else {},
            cb_kwargs={"site": reading.target.key, "address": node.address},
        )

    def parse_robots(self, response: Response, site: str, address: str) -> Iterator[SitemapFile]:
        """The tree's root: its children are the Sitemap lines."""
        assert isinstance(response, RobotsResponse)
        if site not in self.run.readings:
            return  # A stop cut it off.
        robots = response.robots
        unreachable = robots.verdict == "unreachable"
        yield SitemapFile(
            site=site,
            url=address,
            outcome=Outcome.FAILED if unreachable else Outcome.READ,
            reason=Reason.ROBOTS_UNREACHABLE if unreachable else None,
            kind=Kind.ROBOTS,
            depth=0,
            via="robots.txt",
            detail=self.run.host(site).fault,
            status=robots.status,
            children=robots.sitemaps,
            notes=robots.notes,
        )

    def parse(self, response: Response, site: str, address: str) -> Iterator[SitemapFile]:
        """A sitemap file, by its bytes."""
        reading = self.run.readings.get(site)
        if reading is None:
            return  # A stop cut it off.
        file = self._file(reading, reading.nodes[address])
        file.final_url, file.status = response.url, response.status
        try:
            self._read(file, response, reading, address)
        except Exception:
            # A fault of ours must not lose the site: the file counts as not read.
            logger.exception("sitemon failed on %r", file.url)
            file.outcome, file.reason = Outcome.FAILED, Reason.NOT_A_SITEMAP
        yield file

    def unread(self, failure: Failure) -> Iterator[SitemapFile | Request]:
        """A file that no response came for."""
        request = failure.request  # type: ignore[attr-defined]
        reading = self.run.readings.get(request.cb_kwargs["site"])
        if reading is None:
            return  # A stop cut it off.
        address = request.cb_kwargs["address"]
        node = reading.nodes[address]
        file = self._file(reading, node)
        file.reason, file.detail = fault_of(failure.value)
        file.outcome = Outcome.REFUSED if file.reason in NOT_TRIED else Outcome.FAILED
        if request.meta.get("robots_node"):
            file.kind = Kind.ROBOTS
        admission = self.crawler.get_spider_middleware(SitemapMiddleware)
        assert admission is not None
        requests = admission.follow(file)
        yield file
        yield from requests

    def _file(self, reading: SiteReading, node: Node) -> SitemapFile:
        return SitemapFile(
            site=reading.target.key,
            url=node.url,
            outcome=Outcome.FAILED,
            depth=node.depth,
            via=node.via,
        )

    def _read(
        self, file: SitemapFile, response: Response, reading: SiteReading, address: str
    ) -> None:
        entry = reading.previous.files.get(address) if reading.previous else None
        file.etag = _header(response, "ETag")
        file.last_modified = _header(response, "Last-Modified")
        if response.status == 304:
            unasked = entry is None or not entry.reusable
            file.outcome = Outcome.FAILED if unasked else Outcome.UNCHANGED
            file.reason = Reason.HTTP_ERROR if unasked else None
            return
        if response.status != 200:
            file.reason, file.detail = _reason_of(response.status), f"HTTP {response.status}"
            return
        other = reading.alias_of(address, identity(response.url))
        if other is not None:
            file.outcome, file.kind, file.children = Outcome.READ, Kind.INDEX, (other,)
            file.etag = file.last_modified = None
            file.notes["alias"] += 1
            return
        self._read_body(file, response, entry)

    def _read_body(self, file: SitemapFile, response: Response, entry: FileEntry | None) -> None:
        unpacked = unpack(response.body)
        file.notes.update(unpacked.notes)
        file.digest = unpacked.digest
        cut = Reason.TRUNCATED if "dataloss" in response.flags else unpacked.cut
        if "download_stopped" in response.flags:
            cut = Reason.TOO_LARGE
        if cut is None and entry is not None:
            if entry.reusable and entry.digest == unpacked.digest:
                file.outcome = Outcome.UNCHANGED
                return
            if self._is_stale(file, entry):
                file.reason = Reason.STALE
                file.detail = f"Last-Modified {file.last_modified}, known {entry.last_modified}"
                return
        content_type = response.headers.get("Content-Type") or b""
        charset = http_content_type_encoding(content_type.decode("latin-1"))
        try:
            parsed = parse_sitemap(unpacked.data, charset=charset, cut=cut)
        except NotASitemap as error:
            file.reason = error.reason
            file.notes.update(error.notes)
            return
        file.outcome = Outcome.READ if parsed.cut is None else Outcome.CUT
        file.reason, file.kind = parsed.cut, parsed.kind
        file.locs, file.lastmods = parsed.locs, parsed.lastmods
        file.notes.update(parsed.notes)
        file.children = tuple(self._children(parsed.children, response.url, file.notes))

    def _children(self, children: tuple[str, ...], base: str, notes: Counter[str]) -> Iterator[str]:
        for child in children:
            try:
                yield absolute(child, base)
            except InvalidUrl as error:
                notes[error.reason] += 1

    def _is_stale(self, file: SitemapFile, entry: FileEntry) -> bool:
        """[C5]: an older copy with other bytes, unless a whole day met only older ones."""
        known, now = _http_date(entry.last_modified), _http_date(file.last_modified)
        if known is None or now is None or known - now <= OLDER_BY:
            return False
        return entry.stale_since is None or self.run.clock() - entry.stale_since < LONG_ENOUGH


def clock_of(pinned: str | None) -> Callable[[], datetime]:
    """The one clock of a run, or the moment that `SITEMON_NOW` pins [C1]. Raises InputError."""
    if not pinned:
        return lambda: datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(pinned)
    except ValueError:
        msg = f"SITEMON_NOW: should be an ISO moment, got {shown(pinned)}"
        raise InputError(msg) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return lambda: moment


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None


def _http_date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _reason_of(status: int) -> Reason:
    if status in {404, 410}:
        return Reason.NOT_FOUND
    if status in {401, 403, 407, 451}:
        return Reason.BLOCKED
    if status == 429:
        return Reason.RATE_LIMITED
    return Reason.SERVER_ERROR if status >= 500 else Reason.HTTP_ERROR
