"""The laws of the snapshot (ARCHITECTURE §4), for random sites and random histories."""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemon_spider.core.columns import SEGMENT_SCHEMA, decode, encode
from sitemon_spider.core.prepared import prepare
from sitemon_spider.core.reasons import ChangeType, Kind, Reason
from sitemon_spider.core.snapshot import (
    OWED_SCHEMA,
    Failures,
    FileEntry,
    Manifest,
    Owed,
    Root,
    encode_owed,
)
from sitemon_spider.core.urls import NormalizedUrls, identity, key, normalize
from tests.core.sites import (
    DAY,
    GUARDED,
    START,
    UNGUARDED,
    Fault,
    File,
    Site,
    Tracked,
    as_change,
    believed,
    changed,
    check_told,
    expected,
    flat,
    page,
    read,
    replay,
    told,
)

if TYPE_CHECKING:
    from sitemon_spider.core.changes import SiteChanges
    from sitemon_spider.items import ChangeRow

# Few pages, so that two random sites share most of them; some are spelled in two ways [C2].
PAGES = ("/1", "/2", "/3", "/4", "/5", "/a", "/%61", "https://SITE.example:443/5#top")
# Few moments in many forms: changes of value, of precision and of notation [C4].
LASTMODS = (
    None,
    "soon",
    "2026",
    "2026-10",
    "2026-10-01",
    "2026-10-01T00:00:00+00:00",
    "2026-10-01T10:00Z",
    "2026-10-01T10:00:00",
    "2026-10-01T12:00:00+02:00",
    "2026-10-01T10:00:00.250Z",
    "2026-10-20",
    "2026-10-20T08:30:00Z",
)
NAMES = ("a.xml", "b.xml", "c.xml")

entries = st.tuples(st.sampled_from(PAGES), st.sampled_from(LASTMODS))
listings = st.lists(entries, max_size=7).map(tuple)
faults = st.one_of(
    st.sampled_from([Reason.SERVER_ERROR, Reason.NOT_FOUND, Reason.EMPTY, Reason.STALE]).map(Fault),
    st.integers(0, 4).map(lambda kept: Fault(Reason.TRUNCATED, kept)),
)


@st.composite
def sites(
    draw: st.DrawFn, *, faulty: bool = False, kinds: tuple[Kind, ...] = (Kind.URLSET,)
) -> Site:
    """A small site with at least one URL; its files listed by an index, or by robots.txt."""
    fault = st.none() | st.none() | faults if faulty else st.none()
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    files = {
        name: File(draw(listings), kind=draw(st.sampled_from(kinds)), fault=draw(fault))
        for name in names
    }
    kept = draw(entries)
    files[names[0]] = replace(files[names[0]], urls=(*files[names[0]].urls, kept))
    if draw(st.booleans()):
        return Site(files, robots=tuple(names))
    index = File(children=tuple(names), kind=Kind.INDEX, fault=draw(fault))
    return Site({"index.xml": index, **files})


def history(site: Site, *more: tuple[Site, int]) -> tuple[Tracked, datetime]:
    """A site tracked since `site` was its baseline, then each site with a prefix delivered."""
    track, now = Tracked(), START
    track.run(site, now, UNGUARDED)
    for other, delivered in more:
        now += DAY
        track.run(other, now, UNGUARDED, delivered)
    return track, now + DAY


days = st.lists(st.tuples(sites(), st.integers(0, 6)), max_size=2)


def undated(rows: list[ChangeRow]) -> Counter[tuple[Any, ...]]:
    """The rows as a multiset, without the moment of their detection."""
    return Counter(tuple(asdict(replace(row, detectedAt="")).values()) for row in rows)


def compare(track: Tracked, site: Site, now: datetime, **how: Any) -> SiteChanges:
    changes = track.compare(track.read(site, now, **how), UNGUARDED)
    assert changes is not None
    return changes


@given(sites(), days, sites())
def test_an_unguarded_comparison_tells_exactly_the_differences(
    first: Site, more: list[tuple[Site, int]], last: Site
) -> None:
    track, now = history(first, *more)
    assert track.snapshot is not None
    before = told(track.snapshot)
    changes = compare(track, last, now)
    rows = changes.rows(0, len(changes.plan))
    assert len(rows) == len(changes.plan)
    assert {as_change(row) for row in rows} == expected(before, last.listed())
    assert len({identity(row.url) for row in rows}) == len(rows)


@given(sites(), days, sites(), st.booleans())
def test_what_was_not_delivered_comes_again_and_nothing_else(
    first: Site, more: list[tuple[Site, int]], last: Site, conditional: bool
) -> None:
    track, now = history(first, *more)
    changes = compare(track, last, now)
    rows = changes.rows(0, len(changes.plan))
    for delivered in range(len(rows) + 1):
        after = copy.deepcopy(track)
        after.save(changes, delivered)
        again = compare(after, last, now + DAY, conditional=conditional)
        assert undated(again.rows(0, len(again.plan))) == undated(rows[delivered:])


@given(sites(), days, sites())
def test_told_is_the_rows_replayed(first: Site, more: list[tuple[Site, int]], last: Site) -> None:
    track, now = history(first, *more)
    assert track.snapshot is not None
    before = told(track.snapshot)
    changes = compare(track, last, now)
    rows = changes.rows(0, len(changes.plan))
    for delivered in range(len(rows) + 1):
        after = told(copy.deepcopy(track).save(changes, delivered))
        beliefs = replay(believed(before), rows[:delivered])
        assert after.keys() == beliefs.keys()
        for url, lastmod in believed(after).items():
            # [C3]: the latest of all listings may move when a listing comes or goes.
            if url in before and before[url].keys() != after[url].keys():
                continue
            assert not changed(lastmod, beliefs[url])


@given(
    sites(faulty=True, kinds=(Kind.URLSET, Kind.NEWS)),
    st.lists(
        st.tuples(
            sites(faulty=True, kinds=(Kind.URLSET, Kind.NEWS)),
            st.integers(0, 6),
            st.integers(1, 40),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_a_commit_moves_what_was_told_by_rows_or_by_learning_what_was_read(
    first: Site, more: list[tuple[Site, int, int]]
) -> None:
    """The same with guards, faults and aging files: no third way [C12]."""
    track, now = Tracked(), START
    track.run(first, now)
    for site, delivered, hours in more:
        now += timedelta(hours=hours)
        before = told(track.snapshot) if track.snapshot else {}
        changes = track.compare(track.read(site, now), GUARDED)
        if changes is None:
            continue
        rows = changes.rows(0, len(changes.plan))
        count = min(delivered, len(rows))
        after = track.save(changes, count)
        check_told(before, told(after), read(after), rows, count, hides=False)


@given(sites(), days, sites(), st.integers(0, 6))
def test_a_complete_reading_is_stored_as_read(
    first: Site, more: list[tuple[Site, int]], last: Site, delivered: int
) -> None:
    track, now = history(first, *more)
    changes = compare(track, last, now)
    assert changes.complete
    after = track.save(changes, min(delivered, len(changes.plan)))
    assert read(after) == last.listed()


@given(
    sites(faulty=True, kinds=(Kind.URLSET, Kind.NEWS, Kind.RSS)),
    sites(faulty=True, kinds=(Kind.URLSET, Kind.NEWS, Kind.RSS)),
    st.integers(),
    st.integers(0, 6),
)
def test_the_files_of_a_site_come_in_any_order(
    first: Site, last: Site, seed: int, delivered: int
) -> None:
    """[D1]: one reading, the same rows in the same order, the same snapshot."""
    rows, manifests = [], []
    for order in (None, random.Random(seed)):
        track = Tracked()
        for site, now in ((first, START), (last, START + DAY)):
            changes = track.compare(track.read(site, now, order=order), GUARDED)
            if changes is not None:
                plan = changes.rows(0, len(changes.plan))
                rows.append(plan)
                manifests.append(track.save(changes, min(delivered, len(plan))).manifest)
    half = len(rows) // 2
    assert rows[:half] == rows[half:]
    assert manifests[:half] == manifests[half:]


@given(sites(), days, sites(), st.integers(0, 9))
def test_a_prepared_delivery_settles_to_the_same_snapshot(
    first: Site, more: list[tuple[Site, int]], last: Site, delivered: int
) -> None:
    """[D5]: a killed run's prefix leaves what a run that ended with it leaves."""
    track, now = history(first, *more)
    changes = compare(track, last, now)
    count = min(delivered, len(changes.plan))
    prepared, _ = prepare(changes, "run", track, None)
    assert prepared.settle(count)[0] == track.save(changes, count).manifest


# --- decode(encode(s)) == s ---------------------------------------------------------------------

moments_ms = st.integers(0, 2**42).map(
    lambda milliseconds: datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
keys = st.integers(0, 2**64 - 1)
segment_rows = st.fixed_dictionaries(
    {"key": keys, "loc": texts, "lastmod": st.none() | texts, "first_seen": moments_ms}
)
owed_rows = st.fixed_dictionaries(
    {
        "key": keys,
        "loc": texts,
        "file": st.none() | texts,
        "lastmod": st.none() | texts,
        "first_seen": moments_ms,
        "reason": st.sampled_from(
            [value for name, value in vars(Owed).items() if not name.startswith("_")]
        ),
        "since": moments_ms,
    }
)


@given(st.lists(segment_rows, max_size=20))
def test_a_segment_comes_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA)
    back = decode(encode(table))
    assert back.equals(table)
    assert back.schema.equals(SEGMENT_SCHEMA)


@given(st.lists(owed_rows, max_size=20, unique_by=lambda row: (row["key"], row["file"])))
def test_an_owed_table_comes_back_in_key_order(rows: list[dict[str, Any]]) -> None:
    data = encode_owed(pa.Table.from_pylist(rows, schema=OWED_SCHEMA))
    back = decode(data)
    assert back.schema.equals(OWED_SCHEMA)
    assert back.to_pylist() == sorted(
        rows, key=lambda row: (row["key"], row["file"] is None, (row["file"] or "").encode())
    )
    assert encode_owed(back) == data


failures = st.builds(
    Failures,
    count=st.integers(0, 9),
    since=st.none() | moments_ms,
    missing=st.integers(0, 9),
    missing_since=st.none() | moments_ms,
)
maybe = st.none() | texts
FILE_ENTRY: dict[str, st.SearchStrategy[Any]] = {
    "url": texts,
    "kind": st.none() | st.sampled_from(Kind),
    "children": st.lists(texts, max_size=3).map(tuple),
    "etag": maybe,
    "last_modified": maybe,
    "digest": maybe,
    "final_url": maybe,
    "reader": st.integers(0, 3),
    "full": st.booleans(),
    "limited": st.booleans(),
    "out_of_scope": st.booleans(),
    "gone": st.booleans(),
    "failures": failures,
    "stale_since": st.none() | moments_ms,
    "rows": st.integers(0, 2**40),
    "segment": maybe,
}
MANIFEST: dict[str, st.SearchStrategy[Any]] = {
    "site": texts,
    "generation": st.integers(0, 2**40),
    "run": texts,
    "at": moments_ms,
    "baseline_at": moments_ms,
    "reported": st.booleans(),
    "roots": st.lists(
        st.builds(Root, url=texts, via=st.sampled_from(["robots.txt", "common-path", "direct"])),
        max_size=3,
    ).map(tuple),
    "files": st.dictionaries(texts, st.builds(FileEntry, **FILE_ENTRY), max_size=3),
    "owed": maybe,
    "owed_rows": st.integers(0, 2**40),
    "urls": st.none() | st.integers(0, 2**40),
    "shuffled": st.none() | st.integers(0, 2**40),
}


@given(st.builds(Manifest, **MANIFEST))
def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_the_manifests_of_the_law_set_every_field() -> None:
    """Otherwise a new field would not be tried."""
    tried = {name for name in Manifest.model_fields if name in MANIFEST}
    assert tried == Manifest.model_fields.keys() - {"format"}
    assert FILE_ENTRY.keys() == FileEntry.model_fields.keys()


# --- a hash collision can never make a wrong row ------------------------------------------------


@pytest.fixture
def collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pages share two keys."""

    def collide(locs: pa.StringArray, base: str) -> NormalizedUrls:
        normal = normalize(locs, base)
        return replace(normal, keys=normal.keys % np.uint64(2))

    monkeypatch.setattr("tests.core.sites.normalize", collide)


@pytest.mark.usefixtures("collisions")
def test_a_changed_lastmod_of_two_colliding_urls_is_not_told() -> None:
    one, other = colliding("/1")
    before = flat(a={one: "2026-10-01", "/x": None})
    after = flat(a={other: "2026-10-20", "/x": None})
    track, now = history(before)
    changes = compare(track, after, now)
    assert changes.rows(0, len(changes.plan)) == []
    assert changes.collisions == 1


def colliding(one: str) -> tuple[str, str]:
    """Two pages of one key."""
    parity = key(identity(page(one))) % 2
    return one, next(f"/{n}" for n in range(2, 99) if key(identity(page(f"/{n}"))) % 2 == parity)


@pytest.mark.usefixtures("collisions")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sites(), days, sites())
def test_rows_of_colliding_urls_say_what_the_site_says(
    first: Site, more: list[tuple[Site, int]], last: Site
) -> None:
    track, now = history(first, *more)
    changes = compare(track, last, now)
    shown = last.listed()
    past = [site.listed() for site in (first, *(site for site, _ in more))]
    for row in changes.rows(0, len(changes.plan)):
        url = identity(row.url)
        assert (url in shown) == (row.changeType != ChangeType.REMOVED)
        if url in shown:
            assert row.lastmodAfter in shown[url].values()
        if row.changeType != ChangeType.ADDED:
            assert any(row.lastmodBefore in day.get(url, {}).values() for day in past)
