"""One site through a random life, and what its user may be told of it [G] [C1]-[C15] [D1] [D2].

The machine plays both sides: a site whose pages come, go and move while its files fail in every
way, and a user who knows nothing but the rows. Everything is in memory; a day takes milliseconds.
Hunt with `pytest --hypothesis-profile=long`.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sitemon_spider.core.changes import wire_moment
from sitemon_spider.core.filters import Pattern
from sitemon_spider.core.reasons import ChangeType, Kind, Reason
from sitemon_spider.core.snapshot import Owed
from sitemon_spider.core.urls import identity
from tests.core.sites import (
    AGED,
    ALL_CHANGES,
    GUARDED,
    HOME,
    NO_LIMITS,
    START,
    Fault,
    File,
    Site,
    Told,
    Tracked,
    believed,
    changed,
    check_told,
    latest_of,
    read,
    replay,
    told,
)

if TYPE_CHECKING:
    from sitemon_spider.core.changes import SiteChanges
    from sitemon_spider.core.diff import Policy
    from sitemon_spider.core.reading import Limits
    from sitemon_spider.core.snapshot import Snapshot
    from sitemon_spider.items import ChangeRow

NAMES = ("a.xml", "b.xml", "c.xml", "d.xml")
PAGES = ("/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8")
BULK = tuple(f"/bulk/{n}" for n in range(60))
LASTMODS = (
    *(None, "soon", "2026", "2026-10", "2026-10-01", "2026-10-01T00:00:00+00:00"),
    *("2026-10-01T10:00Z", "2026-10-01T10:00:00", "2026-10-01T12:00:00+02:00", "2026-10-20"),
    *("2026-10-20T08:30:00Z", "2026-10-20T08:30:30Z", "2026-10-21"),
)
FAULTS = (
    *(Reason.SERVER_ERROR, Reason.TIMEOUT, Reason.NOT_FOUND, Reason.EMPTY, Reason.STALE),
    *(Reason.HTML_PAGE, Reason.BLOCKED, Reason.ROBOTS_DISALLOWED),
)

names = st.sampled_from(NAMES)
pages = st.sampled_from(PAGES)
lastmods = st.sampled_from(LASTMODS)
faults = st.one_of(
    st.sampled_from(FAULTS).map(Fault), st.integers(0, 4).map(lambda n: Fault(Reason.TRUNCATED, n))
)
hours = st.integers(6, 30)
policies = st.one_of(
    st.just(GUARDED),
    st.builds(
        lambda types, detect, share, stamps, include, exclude: replace(
            GUARDED,
            change_types=frozenset(types),
            detect_lastmod_changes=detect,
            hold_back_share=share,
            ignore_site_wide_stamps=stamps,
            include=include,
            exclude=exclude,
        ),
        st.sampled_from([ALL_CHANGES, ALL_CHANGES, {ChangeType.ADDED}, {ChangeType.REMOVED}, ()]),
        st.booleans(),
        st.sampled_from([0, 20, 50, 100]),
        st.booleans(),
        st.sampled_from([None, None, Pattern("/[1-5]$")]),
        st.sampled_from([None, None, Pattern("/[2-3]$")]),
    ),
)
limits = st.one_of(
    st.just(NO_LIMITS),
    st.builds(
        lambda urls, files, depth, exclude: replace(
            NO_LIMITS, max_urls=urls, max_sitemaps=files, max_depth=depth, exclude=exclude
        ),
        st.sampled_from([1, 3, 6, 200_000]),
        st.sampled_from([1, 2, 3, 500]),
        st.sampled_from([0, 1, 3]),
        st.sampled_from([None, Pattern("a.xml")]),
    ),
)


class TrackedSite(RuleBasedStateMachine):
    """A site, its monitor, and `beliefs`: what a user makes of baseline and rows.

    `always` are the URLs that the site showed in every run since the baseline. `blurred`: whether
    something made the past unsure by a documented exception: a file gone or failing for long, a
    file left out, a limit. `in_sync`: the site's content when all was told and nothing was owed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.track = Tracked()
        self.now = START
        self.beliefs: dict[str, str | None] = {}
        self.always: set[str] = set()
        self.blurred = False
        self.in_sync: dict[str, File] | None = None
        self.site = Site({})

    @initialize(
        listings=st.lists(
            st.lists(st.tuples(pages, lastmods), min_size=1, max_size=6), min_size=2, max_size=4
        )
    )
    def build(self, listings: list[list[tuple[str, str | None]]]) -> None:
        files = {name: File(tuple(urls)) for name, urls in zip(NAMES, listings, strict=False)}
        index = File(children=tuple(files), kind=Kind.INDEX)
        self.site = Site({"index.xml": index, **files})

    # --- the site changes -----------------------------------------------------------------------

    def file(self, name: str) -> File:
        return self.site.files.get(name, File())

    def put(self, name: str, file: File) -> None:
        self.site = self.site.with_file(name, file)

    @rule(name=names, url=pages, lastmod=lastmods)
    def list_url(self, name: str, url: str, lastmod: str | None) -> None:
        file = self.file(name)
        self.put(name, replace(file, urls=(*file.urls, (url, lastmod))))

    @rule(name=names, url=pages)
    def unlist_url(self, name: str, url: str) -> None:
        file = self.file(name)
        self.put(name, replace(file, urls=tuple(entry for entry in file.urls if entry[0] != url)))

    @rule(source=names, to=names, url=pages)
    def move_url(self, source: str, to: str, url: str) -> None:
        moving = [entry for entry in self.file(source).urls if entry[0] == url]
        self.unlist_url(source, url)
        for _, lastmod in moving:
            self.list_url(to, url, lastmod)

    @rule(name=names, url=pages, seconds=st.sampled_from([0, 10, 3600]))
    def touch_url(self, name: str, url: str, seconds: int) -> None:
        """The page is dated now: later than every reading so far [C10]."""
        self.date_url(name, url, wire_moment(self.now + timedelta(seconds=seconds)))

    @rule(name=names, url=pages, lastmod=lastmods)
    def date_url(self, name: str, url: str, lastmod: str | None) -> None:
        file = self.file(name)
        urls = tuple((u, lastmod if u == url else before) for u, before in file.urls)
        self.put(name, replace(file, urls=urls))

    @rule(lastmod=lastmods)
    def stamp_all(self, lastmod: str | None) -> None:
        for name, file in self.site.files.items():
            self.put(name, replace(file, urls=tuple((url, lastmod) for url, _ in file.urls)))

    @rule(name=names, lastmod=lastmods)
    def list_many(self, name: str, lastmod: str | None) -> None:
        file = self.file(name)
        self.put(name, replace(file, urls=(*file.urls, *((url, lastmod) for url in BULK))))

    @rule(name=names, kept=st.sampled_from([0, 5, 30]))
    def lose_many(self, name: str, kept: int) -> None:
        file = self.file(name)
        gone = set(BULK[kept:])
        self.put(name, replace(file, urls=tuple(e for e in file.urls if e[0] not in gone)))

    @rule(name=names)
    def empty(self, name: str) -> None:
        self.put(name, replace(self.file(name), urls=()))

    @rule(name=names, kind=st.sampled_from([Kind.URLSET, Kind.URLSET, Kind.NEWS, Kind.RSS]))
    def make(self, name: str, kind: Kind) -> None:
        self.put(name, replace(self.file(name), kind=kind, redirect=None))

    @rule(name=names, to=names)
    def redirect(self, name: str, to: str) -> None:
        if name != to and self.file(to).redirect is None:
            self.put(name, File(redirect=to))

    # --- its tree changes -----------------------------------------------------------------------

    @rule(children=st.lists(names, unique=True))
    def index(self, children: list[str]) -> None:
        self.put("index.xml", replace(self.file("index.xml"), children=tuple(children)))

    @rule(source=names, to=names)
    def rename(self, source: str, to: str) -> None:
        index = self.file("index.xml")
        children = [to if child == source else child for child in index.children]
        self.put(to, self.file(source))
        self.put("index.xml", replace(index, children=tuple(dict.fromkeys(children))))

    @rule(
        robots=st.one_of(
            st.just(("index.xml",)),
            st.just(("index.xml",)),
            st.lists(names, unique=True).map(tuple),
            st.none(),
        )
    )
    def robots(self, robots: tuple[str, ...] | None) -> None:
        self.site = replace(self.site, robots=robots)

    @rule(name=st.sampled_from((*NAMES, "index.xml")), fault=faults)
    def break_file(self, name: str, fault: Fault) -> None:
        self.put(name, replace(self.file(name), fault=fault))

    @rule(name=st.sampled_from((*NAMES, "index.xml")))
    def mend_file(self, name: str) -> None:
        self.put(name, replace(self.file(name), fault=None))

    @rule()
    def mend(self) -> None:
        for name in self.site.files:
            self.mend_file(name)

    # --- runs -----------------------------------------------------------------------------------

    @rule(hours=hours, seed=st.integers(0, 99))
    def run(self, hours: int, seed: int) -> None:
        self.day(hours, seed, GUARDED, NO_LIMITS, None)

    @rule(hours=st.lists(hours, min_size=2, max_size=4), seed=st.integers(0, 99))
    def quiet_days(self, hours: list[int], seed: int) -> None:
        for each in hours:
            self.day(each, seed, GUARDED, NO_LIMITS, None)

    @rule(hours=hours, seed=st.integers(0, 99), delivered=st.integers(0, 3))
    def run_at_a_limit(self, hours: int, seed: int, delivered: int) -> None:
        self.day(hours, seed, GUARDED, NO_LIMITS, delivered)

    @rule(
        hours=hours,
        seed=st.integers(0, 99),
        policy=policies,
        limits=limits,
        delivered=st.none() | st.integers(0, 5),
    )
    def odd_run(
        self, hours: int, seed: int, policy: Policy, limits: Limits, delivered: int | None
    ) -> None:
        self.day(hours, seed, policy, limits, delivered)

    @precondition(lambda self: self.track.snapshot is None)
    @rule(seed=st.integers(0, 99), delivered=st.none() | st.integers(0, 5))
    def first_run_that_reports(self, seed: int, delivered: int | None) -> None:
        self.day(6, seed, replace(GUARDED, report_first_run=True), NO_LIMITS, delivered)

    @rule(hours=hours)
    def stopped_run(self, hours: int) -> None:
        """[C15]: neither compared nor saved."""
        self.now += timedelta(hours=hours)
        before = self.track.snapshot
        reading = self.track.read(self.site, self.now)
        reading.cut_short = True
        assert self.track.compare(reading) is None
        after = self.track.snapshot
        assert (before and before.manifest) == (after and after.manifest)
        self.always &= self.listed().keys()

    @rule(seed=st.integers(0, 99))
    def settle(self, seed: int) -> None:
        """Three whole and quiet readings: what the user believes is what the site shows."""
        self.mend()
        if not self.site.robots:
            self.site = replace(self.site, robots=("index.xml",))
        for name in (*self.site.robots, *self.file("index.xml").children):
            self.put(name, self.file(name))
        if not self.listed():
            return
        for _ in range(3):
            self.day(30, seed, GUARDED, NO_LIMITS, None)
        assert self.day(30, seed, GUARDED, NO_LIMITS, None) == []
        snapshot = self.track.snapshot
        assert snapshot is not None
        assert {row["reason"] for row in snapshot.owed.to_pylist()} <= {Owed.AGED, Owed.FINER}
        known = told(snapshot)
        shown = self.listed()
        assert {url for url, files in known.items() if AGED not in files} == shown.keys()
        assert self.beliefs.keys() == known.keys()
        for url, files in shown.items():
            assert not changed(latest_of(known[url]), latest_of(files))

    def listed(self) -> Told:
        """What the site shows to a run of today."""
        return self.site.listed(self.roots())

    def roots(self) -> list[str]:
        if self.site.robots:
            return list(self.site.robots)
        if self.site.robots is None or self.track.snapshot is None:
            return []
        roots = self.track.snapshot.known_roots(self.now)
        return [url.removeprefix(f"{HOME}/") for url in roots]

    def day(
        self, hours: int, seed: int, policy: Policy, limits: Limits, delivered: int | None
    ) -> list[ChangeRow]:
        self.now += timedelta(hours=hours)
        previous = self.track.snapshot
        shown = self.listed()
        before = told(previous) if previous else {}
        reading = self.track.read(self.site, self.now, limits, random.Random(seed))
        changes = self.track.compare(reading, policy)
        if changes is None:
            kept = self.track.snapshot
            assert (told(kept) if kept else {}) == before
            self.always &= shown.keys()
            return []
        rows = changes.rows(0, len(changes.plan))
        assert len(rows) == len(changes.plan)
        count = len(rows) if delivered is None else min(delivered, len(rows))
        content = {a: replace(f, fault=None) for a, f in self.site.reachable(self.roots()).items()}
        self.always = self.always & shown.keys() if previous else set(shown)
        self.blurred |= reading.stop is not None or any(
            entry.gone or entry.out_of_scope or entry.limited or entry.failures.long(self.now)
            for entry in changes.entries.values()
        )
        snapshot = self.track.save(changes, count)
        after, now = told(snapshot), read(snapshot)
        if changes.known is None:
            self.check_baseline(rows, policy)
            self.beliefs = replay({}, rows[:count]) if rows else believed(after)
            return rows[:count]
        hides = (
            policy.change_types != ALL_CHANGES
            or policy.include is not None
            or policy.exclude is not None
        )
        check_told(before, after, now, rows, count, hides=hides)
        self.check_rows(rows, before, now, shown, changes)
        self.check_learnt(changes, previous, after, rows, count, hides=hides)
        if self.in_sync == content and not self.blurred:
            assert not rows, "a fault alone made a row"
        owed = {row["reason"] for row in snapshot.owed.to_pylist()}
        if changes.complete and after == shown and not owed:
            self.in_sync = content
        elif self.in_sync != content:
            self.in_sync = None
        return rows[:count]

    # --- what must hold -------------------------------------------------------------------------

    def check_baseline(self, rows: list[ChangeRow], policy: Policy) -> None:
        assert policy.report_first_run or not rows

    def check_rows(
        self,
        rows: list[ChangeRow],
        before: Told,
        now: Told,
        shown: Told,
        changes: SiteChanges,
    ) -> None:
        """No row contradicts the site: the files read today, and the stored ones of the others."""
        unsure = any(
            entry.gone or entry.out_of_scope or entry.failures.long(self.now)
            for entry in changes.entries.values()
        )
        for row in rows:
            url = identity(row.url)
            assert row.detectedAt == wire_moment(self.now)
            assert row.firstSeenAt is not None
            assert row.firstSeenAt <= row.detectedAt
            if row.changeType == ChangeType.REMOVED:
                assert url not in now, row
                assert url not in shown or unsure, f"a fault made {row}"
                continue
            assert url in now, row
            assert row.lastmodAfter in now[url].values()
            if row.changeType == ChangeType.LASTMOD_CHANGED:
                assert row.lastmodBefore in before[url].values()
                assert changed(row.lastmodBefore, row.lastmodAfter)
            elif not (changes.reported or self.blurred):
                assert url not in self.always, f"a fault made {row}"

    def check_learnt(
        self,
        changes: SiteChanges,
        previous: Snapshot | None,
        after: Told,
        rows: list[ChangeRow],
        count: int,
        *,
        hides: bool,
    ) -> None:
        """Nothing is learnt without a row unless the past is not known [C5] [C10]."""
        assert previous is not None
        self.beliefs = replay(self.beliefs, rows[:count])
        learnt = after.keys() - self.beliefs.keys()
        past_is_known = all(entry.full or entry.gone for entry in previous.files.values())
        if not hides and (changes.reported or (past_is_known and changes.reading.stop is None)):
            assert not learnt
        if not hides:
            assert len(learnt) == changes.learnt
        self.beliefs = {url: latest_of(files) for url, files in after.items()}


TestTrackedSite = TrackedSite.TestCase
TestTrackedSite.settings = settings(stateful_step_count=40)
