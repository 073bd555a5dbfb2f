"""A site in memory, day by day: what a crawl does to the core, without HTTP or Scrapy.

`Site` is what the web server holds, `Tracked` what a monitor keeps of it. `told` is what the user
knows after a commit, `listed` what the site shows, `expected` what an unguarded comparison of the
two has to tell: dictionaries, written from the rules and not from the code under test.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemon_spider.core.changes import SiteChanges, advance
from sitemon_spider.core.columns import Listing, UrlColumns, decode
from sitemon_spider.core.diff import Policy, diff
from sitemon_spider.core.fold import fold
from sitemon_spider.core.lastmod import Moments, differs, latest_order, moments
from sitemon_spider.core.reading import SETTLING, Limits, Node, SiteReading
from sitemon_spider.core.reasons import ChangeType, Kind, Outcome, Reason
from sitemon_spider.core.snapshot import Manifest, Owed, Snapshot, failures_only
from sitemon_spider.core.targets import SiteTarget
from sitemon_spider.core.urls import identity, normalize
from sitemon_spider.items import ChangeRow, SitemapFile
from sitemon_spider.state.memory import MemoryStore

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

HOME = "https://site.example"
TARGET = SiteTarget(HOME, HOME, HOME, direct=False)
START = datetime(2026, 11, 1, 6, tzinfo=UTC)
DAY = timedelta(hours=30)

NO_LIMITS = Limits(max_urls=200_000, max_sitemaps=500, max_depth=3, try_common_paths=True)
ALL_CHANGES = frozenset({ChangeType.ADDED, ChangeType.REMOVED, ChangeType.LASTMOD_CHANGED})
UNGUARDED = Policy(change_types=ALL_CHANGES, hold_back_share=0, ignore_site_wide_stamps=False)
GUARDED = Policy(change_types=ALL_CHANGES)

AGED = "(aged)"
"""Stands for the file of a URL that aged out: known, listed nowhere [C6]."""

Told = dict[str, dict[str, str | None]]
"""URL identity → address of each file that lists it → its lastmod there."""


@dataclass(frozen=True)
class Fault:
    """What a file answers instead of its content; `kept` = how many entries before a cut."""

    reason: Reason
    kept: int | None = None


@dataclass(frozen=True)
class File:
    """One file of the site: URLs with their lastmods as listed, or the names of its children."""

    urls: tuple[tuple[str, str | None], ...] = ()
    children: tuple[str, ...] = ()
    kind: Kind = Kind.URLSET
    fault: Fault | None = None
    redirect: str | None = None

    def listing(self) -> dict[str, str | None]:
        """Each URL once, by identity, with its latest readable lastmod [C3]."""
        result: dict[str, str | None] = {}
        for url, lastmod in self.urls:
            key = identity(page(url))
            result[key] = latest([result[key], lastmod]) if key in result else lastmod
        return result


@dataclass(frozen=True)
class Site:
    """What the server holds: files by name; the names in robots.txt, None = unreachable."""

    files: dict[str, File]
    robots: tuple[str, ...] | None = ("index.xml",)

    def with_file(self, name: str, file: File) -> Site:
        """The site with one file set."""
        return replace(self, files={**self.files, name: file})

    def reachable(self, roots: Iterable[str] | None = None) -> dict[str, File]:
        """The files that robots.txt (or `roots`, names) leads to, by address, faults ignored."""
        found: dict[str, File] = {}
        queue = list(self.robots or () if roots is None else roots)
        while queue:
            name = queue.pop(0)
            file = self.files.get(name)
            if file is None or address(name) in found:
                continue
            found[address(name)] = file
            queue += [file.redirect] if file.redirect else file.children
        return found

    def listed(self, roots: Iterable[str] | None = None) -> Told:
        """What the site shows: every URL with the files that list it."""
        result: Told = {}
        for where, file in self.reachable(roots).items():
            if file.redirect or file.kind is Kind.INDEX:
                continue
            for url, lastmod in file.listing().items():
                result.setdefault(url, {})[where] = lastmod
        return result


def flat(**files: dict[str, str | None] | list[tuple[str, str | None]]) -> Site:
    """A site whose index lists one urlset a keyword: `flat(a={"/1": None}).listed()`."""
    made = {
        f"{name}.xml": File(tuple(urls.items() if isinstance(urls, dict) else urls))
        for name, urls in files.items()
    }
    index = File(children=tuple(made), kind=Kind.INDEX)
    return Site({"index.xml": index, **made})


def address(name: str) -> str:
    """The address of a file by its name."""
    return f"{HOME}/{name}"


def page(path: str) -> str:
    """The absolute URL of a page."""
    return path if path.startswith("http") else HOME + path


# --- lastmods -----------------------------------------------------------------------------------


@cache
def moment_of(text: str | None) -> Moments:
    return moments(pa.array([text], pa.string()))


@cache
def _rank(text: str | None) -> int:
    return int(latest_order(moment_of(text))[0])


def latest(texts: Iterable[str | None]) -> str | None:
    """The latest of some lastmods [C3]: of equal moments the finer text, then the first."""
    return max(texts, key=_rank)


def latest_of(listings: dict[str, str | None]) -> str | None:
    """The latest lastmod of one URL; of equal ones that of the first file by address."""
    return latest(listings[file] for file in sorted(listings))


@cache
def changed(before: str | None, after: str | None) -> bool:
    """Whether two lastmods differ as moments [C4]."""
    return bool(differs(moment_of(before), moment_of(after))[0])


def compared(
    before: dict[str, str | None], now: dict[str, str | None]
) -> tuple[str | None, str | None]:
    """The lastmods of one URL that are compared [C3]: of common files, else the latest of each."""
    common = before.keys() & now.keys()
    was = {file: before[file] for file in common or before}
    return latest_of(was), latest_of({file: now[file] for file in common or now})


# --- one run ------------------------------------------------------------------------------------


@dataclass
class Tracked:
    """One site as one monitor keeps it: a store, and a run a call."""

    store: MemoryStore = field(default_factory=MemoryStore)
    name: str = "site"

    def segment(self, name: str) -> bytes:
        """The core's `Segments`."""
        return self.store.segment(self.name, name)

    def put(self, name: str, data: bytes) -> None:
        self.store.put_segment(self.name, name, data)

    @property
    def snapshot(self) -> Snapshot | None:
        data = self.store.manifest(self.name)
        return Snapshot(Manifest.from_json(data), self) if data is not None else None

    def read(
        self,
        site: Site,
        now: datetime,
        limits: Limits = NO_LIMITS,
        order: random.Random | None = None,
        *,
        conditional: bool = True,
        target: SiteTarget = TARGET,
    ) -> SiteReading:
        """A reading of the site, its answers in `order` (None = as requested)."""
        reading = SiteReading(target, self.snapshot, limits, now)
        first = reading.begin()
        queue = [first] if first else []
        reading.frontier.discard(SETTLING)
        done = not queue
        while queue:
            node = queue.pop(order.randrange(len(queue)) if order else 0)
            file = _answer(site, node, reading, conditional=conditional)
            queue += reading.admit(file)
            fold(file, reading, self.put)
            done = reading.absorb(file)
        assert done
        return reading

    def compare(self, reading: SiteReading, policy: Policy = GUARDED) -> SiteChanges | None:
        """The changes; None for a reading that is not compared (its failures are counted)."""
        if reading.cut_short:
            return None
        if not any(verdict.read_rows for verdict in reading.verdicts.values()):
            if reading.previous is not None:
                self._commit(failures_only(reading.previous, reading, reading.now))
            return None
        return diff(reading.previous, reading, policy, self, reading.now)

    def save(self, changes: SiteChanges, delivered: int | None = None) -> Snapshot:
        """Commit the prefix that was delivered (None = all)."""
        count = len(changes.plan) if delivered is None else delivered
        commit = advance(changes, count, "run", self)
        for name, data in commit.segments.items():
            self.put(name, data)
        self._commit(commit.manifest)
        assert self.snapshot is not None
        return self.snapshot

    def run(
        self, site: Site, now: datetime, policy: Policy = GUARDED, delivered: int | None = None
    ) -> list[ChangeRow]:
        """Read, compare, deliver, commit: the rows that were delivered."""
        changes = self.compare(self.read(site, now), policy)
        if changes is None:
            return []
        count = len(changes.plan) if delivered is None else min(delivered, len(changes.plan))
        rows = changes.rows(0, count)
        self.save(changes, count)
        return rows

    def _commit(self, manifest: Manifest) -> None:
        self.store.commit(self.name, manifest.generation, manifest.to_json())


def _answer(site: Site, node: Node, reading: SiteReading, *, conditional: bool) -> SitemapFile:
    """What the spider makes of one request."""
    made = SitemapFile(
        site=reading.target.key, url=node.url, outcome=Outcome.READ, depth=node.depth, via=node.via
    )
    name = node.address.removeprefix(f"{HOME}/")
    if name == "robots.txt":
        made.kind = Kind.ROBOTS
        if site.robots is None:
            made.outcome, made.reason = Outcome.FAILED, Reason.ROBOTS_UNREACHABLE
        else:
            made.children = tuple(address(root) for root in site.robots)
        return made
    file = site.files.get(name)
    fault = Fault(Reason.NOT_FOUND) if file is None else file.fault
    if fault is not None and fault.kept is None:
        by_choice = fault.reason in {Reason.ROBOTS_DISALLOWED, Reason.STOPPED}
        made.outcome = Outcome.REFUSED if by_choice else Outcome.FAILED
        made.reason = fault.reason
        return made
    assert file is not None
    other = reading.alias_of(node.address, address(file.redirect or name))
    if other is not None:
        made.kind, made.children = Kind.INDEX, (other,)
        made.final_url = address(file.redirect or name)
        return made
    if file.redirect:
        made.final_url = address(file.redirect)
        file = site.files.get(file.redirect, File())
        fault = file.fault if file.fault and file.fault.kept is not None else None
    made.kind, made.children = file.kind, tuple(address(child) for child in file.children)
    made.digest = repr((file.urls, file.children, file.kind))
    entry = reading.previous.files.get(node.address) if reading.previous else None
    urls = file.urls
    if fault is not None:
        made.outcome, made.reason = Outcome.CUT, fault.reason
        made.children, urls = made.children[: fault.kept], urls[: fault.kept]
    elif conditional and entry is not None and entry.reusable and entry.digest == made.digest:
        made.outcome, made.kind, made.children = Outcome.UNCHANGED, None, ()
        return made
    _normalize(made, urls)
    return made


def _normalize(file: SitemapFile, urls: tuple[tuple[str, str | None], ...]) -> None:
    locs = pa.array([page(url) for url, _ in urls], pa.string())
    lastmods = pa.array([lastmod for _, lastmod in urls], pa.string())
    normal = normalize(locs, file.final_url or file.url)
    assert normal.valid is None
    columns = UrlColumns(normal.locs, lastmods, Listing(normal.keys, moments(lastmods)))
    file.urls = columns.once_each()
    file.read_rows = len(file.urls)


# --- what the user knows ------------------------------------------------------------------------


def read(snapshot: Snapshot) -> Told:
    """What is stored as read: the files' segments."""
    return _stored(snapshot, frozenset())


def told(snapshot: Snapshot) -> Told:
    """What the user was told: read with the owed rows undone [C12]; aged URLs under `AGED`."""
    owed = snapshot.owed.to_pylist()
    result = _stored(snapshot, frozenset(row["key"] for row in owed))
    for row in owed:
        if row["file"] is not None:
            where = AGED if row["reason"] == Owed.AGED else row["file"]
            result.setdefault(identity(row["loc"]), {})[where] = row["lastmod"]
    return result


def _stored(snapshot: Snapshot, undone: frozenset[int]) -> Told:
    result: Told = {}
    for where, entry in snapshot.files.items():
        if entry.segment is None or entry.gone:
            continue
        for key, url, lastmod in _rows(snapshot.segments.segment(entry.segment)):
            if key not in undone:
                result.setdefault(url, {})[where] = lastmod
    return result


@cache
def _rows(segment: bytes) -> list[tuple[int, str, str | None]]:
    """The keys, identities and lastmods of a segment."""
    table = decode(segment, ["key", "loc", "lastmod"])
    return [(row["key"], identity(row["loc"]), row["lastmod"]) for row in table.to_pylist()]


def believed(known: Told) -> dict[str, str | None]:
    """Each known URL with its latest lastmod."""
    return {url: latest_of(listings) for url, listings in known.items()}


def replay(before: dict[str, str | None], rows: Iterable[ChangeRow]) -> dict[str, str | None]:
    """What a user believes who applies rows; a row that contradicts the belief is an error."""
    after = dict(before)
    for row in rows:
        url = identity(row.url)
        if row.changeType == ChangeType.ADDED:
            assert url not in after, f"added twice: {row}"
            after[url] = row.lastmodAfter
        elif row.changeType == ChangeType.REMOVED:
            assert url in after, f"removed twice, or never told: {row}"
            del after[url]
        else:
            assert url in after, f"changed, but never told: {row}"
            after[url] = row.lastmodAfter
    return after


Change = tuple[str, str, str | None, str | None]
"""changeType, identity of the URL, lastmod before and after."""


def as_change(row: ChangeRow) -> Change:
    return (row.changeType, identity(row.url), row.lastmodBefore, row.lastmodAfter)


def expected(before: Told, now: Told) -> set[Change]:
    """What an unguarded comparison tells of a past that is known and a site read in full."""
    rows: set[Change] = set()
    for url in before.keys() | now.keys():
        if url not in before:
            rows.add((ChangeType.ADDED, url, None, latest_of(now[url])))
        elif url not in now:
            if AGED not in before[url]:
                rows.add((ChangeType.REMOVED, url, latest_of(before[url]), None))
        elif AGED not in before[url]:
            was, is_now = compared(before[url], now[url])
            if changed(was, is_now):
                rows.add((ChangeType.LASTMOD_CHANGED, url, was, is_now))
    return rows


def check_told(
    before: Told, after: Told, now: Told, rows: list[ChangeRow], delivered: int, *, hides: bool
) -> None:
    """The law of [C12] and [D2] for one commit, URL by URL.

    `before` and `after` are what was told, `now` what is stored as read, `rows` the whole plan.
    A delivered row moves its URL to what is read, an owed one leaves it as it was; a URL without
    a row stays as it was, or is learnt: exactly what is read, or aged out [C6]. Only where filters
    or `changeTypes` hide rows (`hides`) may a URL vanish from what was told without one.
    """
    by_url = {identity(row.url): at for at, row in enumerate(rows)}
    assert len(by_url) == len(rows), "two rows for one URL"
    for url in before.keys() | after.keys() | now.keys():
        was, told_now, read_now = before.get(url), after.get(url), now.get(url)
        at = by_url.get(url)
        if at is not None and at >= delivered:
            assert told_now == was, f"an owed row was learnt: {rows[at]}"
        elif at is not None:
            assert told_now == read_now, f"a delivered row was not noted: {rows[at]}"
        elif told_now is None and was is not None:
            forgotten = AGED in was
            assert forgotten or hides, f"{url} was forgotten without a row"
        elif told_now is not None and AGED in told_now:
            assert was is not None, f"{url} was never told and is aged"
            assert read_now is None, f"{url} is aged and listed"
        elif told_now != was:
            assert told_now is not None
            assert read_now is not None, f"{url} is told and not listed, without a row"
            assert told_now.keys() == read_now.keys(), f"{url} is told of other files"
            for file, text in told_now.items():
                assert not changed(text, read_now[file]), f"{url}: neither as told nor as read"
