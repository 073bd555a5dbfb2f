"""Snapshot: the saved view of a site: a manifest, a segment a sitemap file, and what is owed.

*Read* is what the files' segments hold. *Told* is read with the owed rows undone [C12]: for a URL
in the owed table, the listings there stand in place of those of the segments.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from sitemon_spider.core.columns import NOTHING, Listing, decode, encode, read_listing
from sitemon_spider.core.reasons import Kind, Outcome, Reason
from sitemon_spider.core.urls import identity, normalize

if TYPE_CHECKING:
    from sitemon_spider.core.columns import Keys
    from sitemon_spider.core.reading import FileVerdict, SiteReading

Via = Literal["robots.txt", "common-path", "direct"]
"""How a root was found; everything below it is found through it (`discoveredVia`)."""

FORMAT = 1
"""Raised when a manifest or a segment can no longer be read by the code before."""

READER = 1
"""Raised when parsing or identity changes: same bytes under another number are learnt [C11]."""

RUNS_TO_BE_SURE = 3
LONG_ENOUGH = timedelta(hours=24)
"""[C5]: a fault that stood in three runs over 24 hours is no passing one."""

KEPT_GENERATIONS = 10
"""How many manifests are kept as history [D7]."""

AGED_FOR = timedelta(days=90)
"""How long an aged URL is remembered [C6]."""

OWED_FIELDS: list[pa.Field[Any]] = [
    pa.field("key", pa.uint64(), nullable=False),
    pa.field("loc", pa.string(), nullable=False),
    pa.field("file", pa.string()),
    pa.field("lastmod", pa.string()),
    pa.field("first_seen", pa.timestamp("ms", tz="UTC"), nullable=False),
    pa.field("reason", pa.string(), nullable=False),
    pa.field("since", pa.timestamp("ms", tz="UTC"), nullable=False),
]
OWED_SCHEMA = pa.schema(OWED_FIELDS)
"""What the user was told of a URL where that is not what was read: a row a listing [C12].

`file` is null when the told snapshot does not list the URL at all. Reasons: see `Owed`.
"""


class Owed:
    """Why told and read differ (column `reason` of the owed table)."""

    ADDED = "added"  # known, to be told: could not be delivered
    CHANGED = "changed"  # a new lastmod, to be told: could not be delivered
    REMOVED = "removed"  # gone, to be told: was tellable once [C7]
    HELD = "held"  # gone, waits for the next complete reading [C7]
    WITHHELD = "withheld"  # gone as it seems, but the reading was not complete [C5]
    AGED = "aged"  # left the files that list recent items only [C6]
    FINER = "finer"  # the finer text goes on being compared with [C4]


NOTHING_OWED = OWED_SCHEMA.empty_table()


class SnapshotError(Exception):
    """A snapshot that must not be used nor overwritten [D7]; `reason` says why."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Segments(Protocol):
    """Where the bytes of segments come from."""

    def segment(self, name: str) -> bytes | memoryview | pa.Buffer:
        """The bytes of one segment. Raises FileNotFoundError when there is none."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failures(_Frozen):
    """How often in a row a file could not be read, and how often the server said it is missing."""

    count: int = 0
    since: datetime | None = None
    missing: int = 0
    missing_since: datetime | None = None

    def after(self, verdict: FileVerdict, now: datetime) -> Failures:
        """The counters after one more run that requested the file."""
        if not verdict.failed:
            return Failures()
        missing = self.missing + 1 if verdict.missing else 0
        return Failures(
            count=self.count + 1,
            since=self.since or now,
            missing=missing,
            missing_since=(self.missing_since or now) if missing else None,
        )

    def gone(self, now: datetime) -> bool:
        """Whether the file is gone: missing in three runs, the first at least 24 hours ago [C5]."""
        return _long(self.missing, self.missing_since, now)

    def long(self, now: datetime) -> bool:
        """Whether the file failed that long, so that it no longer blocks the others [C5]."""
        return _long(self.count, self.since, now)


def _long(count: int, since: datetime | None, now: datetime) -> bool:
    return count >= RUNS_TO_BE_SURE and since is not None and now - since >= LONG_ENOUGH


class FileEntry(_Frozen):
    """What is known of one file that is listed (ARCHITECTURE §4).

    `children` are a stored index's addresses. `full`: ever read in full. `limited`: not read in
    full because of a limit of the reading. Validators and digest are those of exactly the bytes
    of `segment`, so they are kept after a full read only [C11].
    """

    url: str
    kind: Kind | None = None
    children: tuple[str, ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    digest: str | None = None
    final_url: str | None = None
    reader: int = READER
    full: bool = False
    limited: bool = False
    out_of_scope: bool = False
    gone: bool = False
    failures: Failures = Failures()
    stale_since: datetime | None = None
    rows: int = 0
    segment: str | None = None

    @property
    def ages(self) -> bool:
        """Whether it lists recent items only [C6]."""
        return self.kind is not None and self.kind.ages

    @property
    def reusable(self) -> bool:
        """Whether its stored form may stand for the same bytes without parsing [C11]."""
        return self.full and not self.gone and self.digest is not None and self.reader == READER


class Root(_Frozen):
    """Where reading starts, and how that was found."""

    url: str
    via: Via


class Manifest(_Frozen):
    """One generation of a site's snapshot. `files` is keyed by address (the URL's identity)."""

    format: int = FORMAT
    site: str
    generation: int
    run: str
    at: datetime
    baseline_at: datetime
    reported: bool = False
    roots: tuple[Root, ...] = ()
    files: dict[str, FileEntry] = {}
    owed: str | None = None
    owed_rows: int = 0
    urls: int | None = None
    shuffled: int | None = None

    @property
    def segments(self) -> set[str]:
        """The names of all segments that this generation needs."""
        names = {entry.segment for entry in self.files.values()} | {self.owed}
        return {name for name in names if name is not None}

    def to_json(self) -> bytes:
        """The manifest's bytes."""
        return self.model_dump_json(exclude_defaults=True, round_trip=True).encode()

    @staticmethod
    def from_json(data: bytes) -> Manifest:
        """Read a manifest. Raises SnapshotError: damaged, or of a newer format [D7]."""
        try:
            number = FormatNumber.model_validate_json(data).format
            if number > FORMAT:
                detail = f"format {number}; this sitemon reads up to {FORMAT}"
                raise SnapshotError(Reason.SNAPSHOT_NEWER, detail)
            return Manifest.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            detail = f"manifest: {'.'.join(map(str, first['loc']))} {first['msg']}"
            raise SnapshotError(Reason.SNAPSHOT_DAMAGED, detail) from None


def read_table(segments: Segments, name: str, columns: list[str] | None = None) -> pa.Table:
    """One segment's table, or some columns. Raises SnapshotError when it is missing or broken."""
    try:
        return decode(segments.segment(name), columns)
    except (pa.ArrowException, OSError) as error:
        raise SnapshotError(Reason.SNAPSHOT_DAMAGED, f"segment {name}: {error}") from None


def generation_of(data: bytes | None) -> int:
    """The generation of a manifest's bytes, 0 for none. Raises SnapshotError on damage."""
    if data is None:
        return 0
    try:
        return GenerationNumber.model_validate_json(data).generation
    except ValidationError as error:
        detail = f"manifest: {error.errors()[0]['msg']}"
        raise SnapshotError(Reason.SNAPSHOT_DAMAGED, detail) from None


class GenerationNumber(BaseModel):
    """The one field of a manifest that orders it."""

    generation: int


class FormatNumber(BaseModel):
    """The one field of a manifest that every format has."""

    format: int = FORMAT


@dataclass(frozen=True)
class Snapshot:
    """A manifest and where its segments are. Raises SnapshotError when one is missing or broken."""

    manifest: Manifest
    segments: Segments

    @property
    def files(self) -> dict[str, FileEntry]:
        """The entries of the files by address."""
        return self.manifest.files

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """One segment's table, or some columns."""
        return read_table(self.segments, name, columns)

    def listing(self, address: str) -> Listing:
        """What is stored as read of one file; nothing where nothing is stored."""
        entry = self.files.get(address)
        if entry is None or entry.segment is None or entry.gone:
            return NOTHING
        if entry.reader == READER:
            return read_listing(self.table(entry.segment, ["key", "lastmod"]))
        table = self.table(entry.segment)
        listing = read_listing(table)
        # Identity may have changed since: keys are made anew from the stored URLs [C11].
        return Listing(normalize(table.column("loc"), entry.url).keys, listing.moments)

    def keys(self, address: str) -> Keys:
        """The keys of `listing` alone."""
        entry = self.files.get(address)
        if entry is None or entry.segment is None or entry.gone or entry.reader != READER:
            return self.listing(address).keys
        table = self.table(entry.segment, ["key"])
        return table.column("key").to_numpy()

    @cached_property
    def owed(self) -> pa.Table:
        """The owed table."""
        return self.table(self.manifest.owed) if self.manifest.owed else NOTHING_OWED

    def known_roots(self, now: datetime) -> dict[str, Via]:
        """The roots that are not gone, and how they were found [C14]."""
        return {
            root.url: root.via
            for root in self.manifest.roots
            if not (entry := self.files.get(identity(root.url)))
            or not (entry.gone or entry.failures.gone(now))
        }


def next_entries(
    previous: Snapshot | None, reading: SiteReading, now: datetime
) -> dict[str, FileEntry]:
    """The entry of every file listed and not yet gone after this reading [C5] [C13]."""
    files = previous.files if previous else {}
    return {
        address: _next_entry(files.get(address), verdict, now)
        for address, verdict in reading.verdicts.items()
    }


def _next_entry(entry: FileEntry | None, verdict: FileVerdict, now: datetime) -> FileEntry:
    old = entry or FileEntry(url=verdict.node.url)
    if verdict.outcome is Outcome.UNCHANGED:
        return old.model_copy(
            update={
                "url": verdict.node.url,
                "etag": verdict.etag or old.etag,
                "last_modified": verdict.last_modified or old.last_modified,
                "failures": Failures(),
                "out_of_scope": False,
                "limited": False,
                "stale_since": None,
            }
        )
    if verdict.outcome is Outcome.READ:
        return FileEntry(
            url=verdict.node.url,
            kind=verdict.kind,
            children=verdict.children,
            etag=verdict.etag,
            last_modified=verdict.last_modified,
            digest=verdict.digest,
            final_url=verdict.final_url,
            full=True,
            rows=len(verdict.listing) if verdict.listing else 0,
            segment=verdict.segment,
        )
    failures = old.failures.after(verdict, now) if verdict.failed else old.failures
    if verdict.failed and failures.gone(now):
        # Gone: requested on while listed, but with no stored bytes to be compared with [C5].
        return FileEntry(url=old.url, kind=old.kind, failures=failures, gone=True)
    update = {
        "failures": failures,
        "out_of_scope": left_out(entry, verdict),
        "limited": verdict.reason in {Reason.MAX_URLS, Reason.MAX_SITEMAPS},
        "stale_since": (old.stale_since or now) if verdict.reason is Reason.STALE else None,
        "children": old.children if old.gone else verdict.children,
    }
    if verdict.outcome is Outcome.CUT:
        # A cut file's bytes prove nothing later: no validators, no digest.
        update |= {"kind": verdict.kind, "etag": None, "last_modified": None, "digest": None}
        # A file that was gone is back, and its past is known: it listed nothing [C5].
        update |= {"gone": False, "full": old.full or old.gone, "children": verdict.children}
        if verdict.listing is not None:
            update |= {"rows": len(verdict.listing), "segment": verdict.segment, "reader": READER}
    return old.model_copy(update=update)


def left_out(entry: FileEntry | None, verdict: FileVerdict) -> bool:
    """Whether it is out of scope: left out by a filter, depth, or robots since first seen [C13]."""
    if verdict.reason in {Reason.MAX_DEPTH, Reason.FILTERED}:
        return True
    return verdict.reason is Reason.ROBOTS_DISALLOWED and (entry is None or entry.out_of_scope)


def failures_only(previous: Snapshot, reading: SiteReading, now: datetime) -> Manifest:
    """The previous manifest with this run's failure counters, and nothing else of it."""
    entries = dict(previous.files)
    for address, verdict in reading.verdicts.items():
        entry = entries.get(address)
        if entry is not None and verdict.failed:
            failures = entry.failures.after(verdict, now)
            entries[address] = entry.model_copy(update={"failures": failures})
    return previous.manifest.model_copy(update={"files": entries})


def milliseconds(moment: datetime) -> int:
    """Whole milliseconds since 1970, cut as rows show them: a moment is one text everywhere."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def encode_owed(table: pa.Table) -> bytes:
    """The owed table as a segment's bytes, in key order: the same rows are the same bytes."""
    return encode(table.sort_by([("key", "ascending"), ("file", "ascending")]))
