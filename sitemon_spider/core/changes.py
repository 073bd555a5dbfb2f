"""SiteChanges: the ordered changes of one site, and the snapshot that a delivered prefix leaves.

Delivery is a prefix of the plan [D1], so charging, stopping and committing are each one integer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemon_spider.core.columns import encode, first_seen_of, member, segment_name
from sitemon_spider.core.reasons import Baseline, ChangeType
from sitemon_spider.core.sides import Side, Sides
from sitemon_spider.core.snapshot import (
    NOTHING_OWED,
    OWED_SCHEMA,
    FileEntry,
    Manifest,
    Owed,
    Root,
    Segments,
    Snapshot,
    encode_owed,
    milliseconds,
    read_table,
)
from sitemon_spider.items import ChangeRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sitemon_spider.core.columns import Keys, Rows
    from sitemon_spider.core.reading import SiteReading

EMPTY = Side.concat([])


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes to tell, in order: added, then changed (told beside read), then removed.

    Within each kind the order is that of the files' addresses and of the rows in the files, so the
    same reading gives the same list whatever the order in which its files came [D1].
    """

    added: Side = EMPTY
    changed_told: Side = EMPTY
    changed_read: Side = EMPTY
    removed: Side = EMPTY

    @classmethod
    def of(cls, added: Side, changed: tuple[Side, Side], removed: Side) -> Plan:
        """The plan of three sets of changes."""
        order = _order(changed[1])
        return cls(
            added.take(_order(added)),
            changed[0].take(order),
            changed[1].take(order),
            removed.take(_order(removed)),
        )

    def __len__(self) -> int:
        return len(self.added) + len(self.changed_read) + len(self.removed)

    def part(self, start: int, stop: int) -> Plan:
        """The changes from `start` up to `stop`."""
        first, second = len(self.added), len(self.added) + len(self.changed_read)
        return Plan(
            _part(self.added, start, stop),
            _part(self.changed_told, start - first, stop - first),
            _part(self.changed_read, start - first, stop - first),
            _part(self.removed, start - second, stop - second),
        )


def _order(side: Side) -> Rows:
    return np.lexsort((side.rows, side.sources, side.files))


def _part(side: Side, start: int, stop: int) -> Side:
    return side.take(np.arange(max(start, 0), max(min(stop, len(side)), start, 0)))


@dataclass(slots=True, kw_only=True, eq=False)
class SiteChanges:
    """What one reading changed (ARCHITECTURE §3, stage 7).

    `known` is the snapshot compared with (None: a new baseline), `plan` the changes asked for,
    `waiting` the keys of told URLs that wait or are remembered, by reason (`Owed`). `collisions`
    counts changes that were not told because told and read are two URLs of one key.
    """

    reading: SiteReading
    previous: Snapshot | None
    known: Snapshot | None
    entries: dict[str, FileEntry]
    now: datetime
    baseline: Baseline
    reported: bool
    sides: Sides | None = None
    plan: Plan = field(default_factory=Plan)
    waiting: dict[str, Keys] = field(default_factory=dict)
    still_aged: Keys = field(default_factory=lambda: EMPTY.keys)
    aged_since: datetime | None = None
    finer: tuple[Side, Side] = (EMPTY, EMPTY)
    known_keys: Keys = field(default_factory=lambda: EMPTY.keys)
    complete: bool = False
    removals_detected: bool = False
    lastmod_uniform: bool = False
    shuffled: bool = False
    collisions: int = 0
    learnt: int = 0
    filtered: int = 0
    filtered_urls: int = 0
    delivered: int = 0
    delivered_urls: int = 0
    max_rows: bool = False
    url_rows_cut: bool = False
    added: int = 0
    changed: int = 0
    removed: int = 0

    def rows(self, start: int, stop: int) -> list[ChangeRow]:
        """The rows of a part of the plan, with their texts."""
        sides = self.sides
        if sides is None:
            return []
        part = self.plan.part(start, stop)
        read = part.changed_read
        return [
            *self._rows(ChangeType.ADDED, sides, part.added, None, part.added),
            *self._rows(ChangeType.LASTMOD_CHANGED, sides, read, part.changed_told, read),
            *self._rows(ChangeType.REMOVED, sides, part.removed, part.removed, None),
        ]  # fmt: skip

    def _rows(
        self, change: ChangeType, sides: Sides, shown: Side, told: Side | None, read: Side | None
    ) -> Iterator[ChangeRow]:
        nothing = [None] * len(shown)
        locs: list[Any] = sides.text("loc", shown).to_pylist()
        before = sides.text("lastmod", told).to_pylist() if told is not None else nothing
        after = sides.text("lastmod", read).to_pylist() if read is not None else nothing
        seen: list[Any] = _first_seen(sides, shown if told is None else told).to_pylist()
        detected = wire_moment(self.now)
        for at, loc in enumerate(locs):
            yield ChangeRow(
                site=self.reading.target.key,
                url=loc,
                changeType=change,
                lastmodBefore=before[at],
                lastmodAfter=after[at],
                sitemap=self._shown_address(sides.addresses[shown.files[at]]),
                detectedAt=detected,
                firstSeenAt=wire_moment(seen[at]),
            )

    def _shown_address(self, address: str) -> str:
        """A file's address as requested."""
        if entry := self.entries.get(address):
            return entry.url
        stored = self.known.files.get(address) if self.known else None
        return stored.url if stored else address


def _first_seen(sides: Sides, rows: Side) -> pa.ChunkedArray[Any]:
    """Since when URLs are known: one that was added and not told may stand in another file now."""
    seen = sides.text("first_seen", rows)
    owed = sides.owed.filter(pc.equal(sides.owed.column("reason"), pa.scalar(Owed.ADDED)))
    keys, first = np.unique(owed.column("key").to_numpy(), return_index=True)
    again = member(rows.keys, keys)
    if not again.any():
        return seen
    moments = seen.cast(pa.int64()).to_numpy().copy()
    moments[again] = first_seen_of(owed)[first][np.searchsorted(keys, rows.keys[again])]
    return pa.chunked_array([pa.array(moments).cast(pa.timestamp("ms", tz="UTC"))])


def wire_moment(moment: datetime) -> str:
    """A moment as rows carry it: UTC with milliseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Commit:
    """The next generation: its manifest, what it owes, and the segments to store before it."""

    manifest: Manifest
    owed: pa.Table
    segments: dict[str, bytes]


def advance(
    changes: SiteChanges, delivered: int, run: str, segments: Segments, urls: int | None = None
) -> Commit:
    """The snapshot after the first `delivered` changes of the plan reached the user [D2].

    What was read is saved as read; every change that was not delivered, and every removal that
    waits, is owed with its told listings, so that the next run finds it again [C12]. `urls` is how
    many distinct URLs were read.
    """
    entries = dict(changes.entries)
    stored = _with_first_seen(changes, entries, segments)
    owed = _owed(changes, delivered)
    name = None
    if owed.num_rows:
        data = encode_owed(owed)
        # Not a table of URLs as the others are, so not of their suffix.
        name = segment_name(data, ".owed")
        stored[name] = data
    previous = changes.previous.manifest if changes.previous else None
    known = changes.known.manifest if changes.known else None
    generation = previous.generation + 1 if previous else 1
    reading = changes.reading
    manifest = Manifest(
        site=reading.target.key,
        generation=generation,
        run=run,
        at=changes.now,
        baseline_at=known.baseline_at if known else changes.now,
        reported=changes.reported,
        roots=tuple(
            Root(url=node.url, via=via)
            for address, via in reading.roots.items()
            if (node := reading.nodes.get(address))
        ),
        files=entries,
        owed=name,
        owed_rows=owed.num_rows,
        urls=urls,
        shuffled=generation if changes.shuffled else (known.shuffled if known else None),
    )
    return Commit(manifest, owed, stored)


def _with_first_seen(
    changes: SiteChanges, entries: dict[str, FileEntry], segments: Segments
) -> dict[str, bytes]:
    """Segments written anew because they list URLs that were first seen in another file.

    A segment is written before the site's other files are known; only the site as a whole can say
    that a URL moved here from another file or came back.
    """
    sides = changes.sides
    stored: dict[str, bytes] = {}
    if sides is None or not len(changes.known_keys):
        return {}
    anew = np.array(
        [
            (verdict := changes.reading.verdicts.get(address)) is not None
            and verdict.listing is not None
            for address in sides.addresses
        ],
        bool,
    )
    read = sides.read
    read = read.take(np.flatnonzero(anew[read.files] & member(read.keys, changes.known_keys)))
    keys, since = _told_since(changes, sides)
    wanted = since[np.searchsorted(keys, read.keys)]
    current = sides.text("first_seen", read).cast(pa.int64()).to_numpy()
    apart = np.flatnonzero(wanted != current)
    for file in np.unique(read.files[apart]):
        address = sides.addresses[file]
        entry = entries[address]
        rows = apart[read.files[apart] == file]
        table = read_table(segments, entry.segment or "")
        column = first_seen_of(table).copy()
        column[read.rows[rows]] = wanted[rows]
        seen = pa.array(column).cast(pa.timestamp("ms", tz="UTC"))
        data = encode(table.set_column(3, table.schema.field(3), seen))
        name = segment_name(data)
        stored[name] = data
        entries[address] = entry.model_copy(update={"segment": name})
    return stored


def _told_since(changes: SiteChanges, sides: Sides) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Since when each known URL of interest is known, in key order."""
    told = sides.told.take(np.flatnonzero(member(sides.told.keys, changes.known_keys)))
    seen = sides.text("first_seen", told).cast(pa.int64()).to_numpy()
    reasons = pa.array([Owed.AGED, Owed.ADDED])
    owed = sides.owed.filter(pc.is_in(sides.owed.column("reason"), value_set=reasons))
    keys = np.concatenate([told.keys, owed.column("key").to_numpy()])
    since = np.concatenate([seen, first_seen_of(owed)])
    order = np.lexsort((since, keys))
    first = np.append(True, keys[order][1:] != keys[order][:-1])[: len(order)]
    return keys[order[first]], since[order[first]]


# --- what is owed ---------------------------------------------------------------------------------


def _owed(changes: SiteChanges, delivered: int) -> pa.Table:
    """The owed table after `delivered` changes."""
    sides = changes.sides
    if sides is None:
        return NOTHING_OWED
    rest = changes.plan.part(delivered, len(changes.plan))
    removed = {
        reason: changes.waiting[reason]
        for reason in (Owed.HELD, Owed.WITHHELD, Owed.REMOVED)
        if reason in changes.waiting
    }
    removed[Owed.REMOVED] = np.union1d(removed.get(Owed.REMOVED, EMPTY.keys), rest.removed.keys)
    parts = [_told_rows(changes, sides, keys, reason) for reason, keys in removed.items()]
    parts.append(_told_rows(changes, sides, np.unique(rest.changed_read.keys), Owed.CHANGED))
    parts.append(_unlisted(changes, sides, rest.added))
    parts.append(_aged(changes, sides))
    parts.append(_finer(changes, sides))
    return pa.concat_tables(parts)


def _told_rows(changes: SiteChanges, sides: Sides, keys: Keys, reason: str) -> pa.Table:
    """All told listings of some keys, as they were."""
    rows = sides.told.take(np.flatnonzero(member(sides.told.keys, np.unique(keys))))
    return _table(changes, sides, rows, reason, lastmods=sides.text("lastmod", rows))


def _unlisted(changes: SiteChanges, sides: Sides, added: Side) -> pa.Table:
    """Added URLs that the user was not told of: told lists them nowhere."""
    nowhere = pa.nulls(len(added), pa.string())
    return _table(changes, sides, added, Owed.ADDED, files=nowhere, lastmods=nowhere)


def _aged(changes: SiteChanges, sides: Sides) -> pa.Table:
    keys = np.unique(changes.waiting.get(Owed.AGED, EMPTY.keys))
    told = sides.told.take(np.flatnonzero(member(sides.told.keys, keys)))
    # One row a URL is enough: an aged URL is only known, not listed.
    _, first = np.unique(told.keys, return_index=True)
    told = told.take(first)
    fresh = _table(changes, sides, told, Owed.AGED, lastmods=sides.text("lastmod", told))
    owed = sides.owed
    keep = member(owed.column("key").to_numpy(), changes.still_aged)
    if changes.aged_since is not None:
        since = owed.column("since").cast(pa.int64()).to_numpy()
        keep &= since >= milliseconds(changes.aged_since)
    return pa.concat_tables([fresh, owed.filter(pa.array(keep))])


def _finer(changes: SiteChanges, sides: Sides) -> pa.Table:
    """The listings read now, with the finer text that stays the one compared with [C4]."""
    told, read = changes.finer
    keys = np.unique(read.keys)
    rows = sides.read.take(np.flatnonzero(member(sides.read.keys, keys)))
    texts = sides.text("lastmod", rows).to_pylist()
    kept = dict(zip(read.keys.tolist(), sides.text("lastmod", told).to_pylist(), strict=True))
    latest = set(zip(read.keys.tolist(), read.files.tolist(), strict=True))
    for at, (key, file) in enumerate(zip(rows.keys.tolist(), rows.files.tolist(), strict=True)):
        if (key, file) in latest:
            texts[at] = kept[key]
    return _table(changes, sides, rows, Owed.FINER, lastmods=pa.array(texts, pa.string()))


def _table(
    changes: SiteChanges,
    sides: Sides,
    rows: Side,
    reason: str,
    *,
    lastmods: pa.Array[Any] | pa.ChunkedArray[Any],
    files: pa.Array[Any] | None = None,
) -> pa.Table:
    if files is None:
        files = pa.array([sides.addresses[file] for file in rows.files.tolist()], pa.string())
    since = np.full(len(rows), milliseconds(changes.now), np.int64)
    owed = sides.owed
    known = owed.filter(pc.equal(owed.column("reason"), pa.scalar(reason)))
    if known.num_rows:
        keys, first = np.unique(known.column("key").to_numpy(), return_index=True)
        again = member(rows.keys, keys)
        earlier = known.column("since").cast(pa.int64()).to_numpy()[first]
        since[again] = earlier[np.searchsorted(keys, rows.keys[again])]
    columns = [
        pa.array(rows.keys),
        sides.text("loc", rows),
        files,
        lastmods,
        _first_seen(sides, rows),
        pa.array([reason] * len(rows), pa.string()),
        pa.array(since).cast(pa.timestamp("ms", tz="UTC")),
    ]
    return pa.table(columns, schema=OWED_SCHEMA)
