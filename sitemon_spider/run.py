"""MonitorRun: what the components of one crawl share: options, readings, ledger, stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import secrets
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import xxhash

from sitemon_spider.core.diff import Policy
from sitemon_spider.core.filters import Pattern
from sitemon_spider.core.prepared import from_record, to_record
from sitemon_spider.core.reading import Limits, SiteReading
from sitemon_spider.core.reasons import Baseline, Reason, Stage, Status, StopReason
from sitemon_spider.core.records import HostFacts, SiteEnd, Skipped
from sitemon_spider.core.snapshot import (
    KEPT_GENERATIONS,
    Manifest,
    Owed,
    Snapshot,
    SnapshotError,
    generation_of,
)
from sitemon_spider.core.targets import Rejection, SiteTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from sitemon_spider.core.changes import SiteChanges
    from sitemon_spider.core.prepared import Prepared
    from sitemon_spider.delivery.port import Sink
    from sitemon_spider.items import SiteRow
    from sitemon_spider.options import Options
    from sitemon_spider.state.port import StateStore


logger = logging.getLogger(__name__)

MAX_SKIPPED = 50_000
"""How many entries SKIPPED lists; further ones are counted (SPEC §3)."""


def site_name(key: str) -> str:
    """The name of a site's snapshot in a store (ARCHITECTURE §4).

    Host and path in lower case, other characters than a-z0-9. as hyphens, cut at 60, then the 16
    hex digits of the key's xxh3-64: nothing that a site's address holds reaches a path.
    """
    parts = urlsplit(key)
    text = re.sub(r"[^a-z0-9.]+", "-", f"{parts.netloc}{parts.path}".lower()).strip("-.")[:60]
    return f"{text}-{xxhash.xxh3_64_hexdigest(key.encode())}"


@dataclass(frozen=True, slots=True)
class SiteSegments:
    """The segments of one site in the store (the core's `Segments`)."""

    store: StateStore
    name: str

    def segment(self, name: str) -> bytes | memoryview | pa.Buffer:
        """The bytes of one segment."""
        return self.store.segment(self.name, name)


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """A site's next generation, to be committed when its rows are durable [D3]."""

    key: str
    manifest: Manifest
    previous: Manifest | None


@dataclass(slots=True)
class MonitorRun:
    """One run: frozen options in, site rows and commits out.

    `store` keeps the records; `snapshots` the sites, elsewhere when nothing is tracked.
    `stop` ends it early: what is queued is refused, readings drain, every site still gets its row.
    `ended` holds the rows of sites that this run ended before it was restarted.
    `all_started` says that no further site will be read, `closed` that the records are written.
    """

    options: Options
    store: StateStore
    snapshots: StateStore
    run_id: str
    clock: Callable[[], datetime]
    allow_private: bool = False
    readings: dict[str, SiteReading] = field(default_factory=dict)
    ledger: list[PendingCommit] = field(default_factory=list)
    ends: list[SiteEnd] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    hosts: dict[str, HostFacts] = field(default_factory=dict)
    totals: Counter[str] = field(default_factory=Counter)
    stopped: StopReason | None = None
    started: datetime = field(init=False)
    urls_pushed: int = 0
    sink: Sink | None = None
    order: dict[str, int] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    ended: dict[str, SiteRow] = field(default_factory=dict)
    all_started: bool = False
    closed: bool = False
    _reactions: list[Callable[[], None]] = field(default_factory=list)
    _locked: list[str] = field(default_factory=list)
    _places: asyncio.Semaphore = field(init=False)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self._places = asyncio.Semaphore(self.options.max_concurrent_sites)

    @property
    def tracks(self) -> bool:
        """Whether this run compares and saves (every mode but `urls_only`)."""
        return self.options.output_mode != "urls_only"

    def stop(self, reason: StopReason) -> None:
        """End the run early; the first reason stands [D4]."""
        if self.stopped is None:
            self.stopped = reason
            self._stop.set()
            for react in self._reactions:
                react()

    def when_stopped(self, react: Callable[[], None]) -> None:
        """Have a component end its own waits when the run is stopped."""
        self._reactions.append(react)

    @property
    def busy(self) -> bool:
        """Whether sites are open or to come."""
        return bool(self.readings) or not self.all_started

    def cut_off(self) -> list[SiteReading]:
        """Give up the readings that still wait for files: what comes for them finds none [C15]."""
        given_up = [reading for reading in self.readings.values() if reading.frontier]
        for reading in given_up:
            reading.cut_short = True
            del self.readings[reading.target.key]
            self._places.release()
        return given_up

    async def pause(self, seconds: float) -> None:
        """Wait, but not longer than until a stop."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), seconds)

    # --- targets and readings -------------------------------------------------------------------

    def targets(self) -> Iterator[SiteTarget | Rejection]:
        """The inputs in order; an input that names a site already named is rejected [C16]."""
        for target in self.options.targets(allow_private=self.allow_private):
            if isinstance(target, SiteTarget) and target.key in self.order:
                detail = f"{target.key} was given before"
                yield Rejection(target.input, Reason.DUPLICATE_INPUT, detail)
                continue
            if isinstance(target, SiteTarget):
                self.order[target.key] = len(self.order)
            yield target

    async def place(self) -> None:
        """Wait until another site may be read (`maxConcurrentSites`)."""
        await self._places.acquire()

    async def open(self, target: SiteTarget) -> SiteReading:
        """Begin the reading of a site. Raises SnapshotError on a snapshot that cannot be used."""
        options = self.options
        name = site_name(target.key)
        previous = None
        if self.tracks:
            if not await self.snapshots.lock(name):
                raise SnapshotError(Reason.LOCKED, "another process has its lock")
            self._locked.append(name)
            if options.start_over:
                self.snapshots.forget(name)
            previous = await self._recovered(target.key, name)
        limits = Limits(
            max_urls=options.max_urls_per_site,
            max_sitemaps=options.max_sitemaps_per_site,
            max_depth=options.max_sitemap_depth,
            try_common_paths=options.try_common_paths,
            include=_pattern(options.sitemap_include_regex),
            exclude=_pattern(options.sitemap_exclude_regex),
        )
        reading = SiteReading(target, previous, limits, self.clock())
        self.readings[target.key] = reading
        return reading

    def is_saved(self, reading: SiteReading) -> bool:
        """Whether this very run saved the site before it was restarted, with no row left to tell.

        Only where rows are durable at once: elsewhere those of a killed run are provisional [D5].
        """
        if reading.previous is None or self.sink is None or not self.sink.durable:
            return False
        if reading.previous.manifest.run != self.run_id:
            return False
        try:
            owed = set(reading.previous.owed.column("reason").to_pylist())
        except SnapshotError:
            return False  # The comparison says what is wrong with it.
        to_tell = owed & {Owed.ADDED, Owed.CHANGED, Owed.REMOVED}
        return not to_tell and self.options.output_mode == "changes_only"

    async def _recovered(self, key: str, name: str) -> Snapshot | None:
        """The committed snapshot, after a killed run's delivery was settled [D5]."""
        segments = SiteSegments(self.snapshots, name)
        data = self.snapshots.manifest(name)
        committed = Manifest.from_json(data) if data is not None else None
        if committed is not None and committed.site != key:
            detail = f"it is the snapshot of {committed.site}"
            raise SnapshotError(Reason.SNAPSHOT_DAMAGED, detail)
        record = self.snapshots.prepared(name)
        if record is not None and self.sink is not None:
            prepared, position = from_record(record, segments)
            generation = committed.generation if committed else 0
            arrived = None
            if prepared.manifest.generation > generation:
                arrived = await self.sink.arrived(position, prepared)
            if arrived is None:
                # Committed already, or nobody can tell: what still holds is reported again.
                self.snapshots.put_prepared(name, None)
            else:
                manifest, stored = prepared.settle(arrived)
                for segment, content in stored.items():
                    self.snapshots.put_segment(name, segment, content)
                self._commit(PendingCommit(key, manifest, committed))
                committed = manifest
        return Snapshot(committed, segments) if committed is not None else None

    def keep_prepared(self, name: str, prepared: Prepared, position: dict[str, Any] | None) -> None:
        """Make a delivery recoverable before its first row goes out [D2]."""
        self._unchanged_since(name, prepared.manifest.generation - 1)
        record, stored = to_record(prepared, position)
        for segment, data in stored.items():
            self.snapshots.put_segment(name, segment, data)
        self.snapshots.sync(name)
        self.snapshots.put_prepared(name, record)

    def settle(self, prepared: Prepared, changes: SiteChanges, delivered: int) -> None:
        """Note the commit of a delivered prefix; at once where the sink is durable [D3]."""
        key = changes.reading.target.key
        manifest, stored = prepared.settle(delivered)
        for segment, data in stored.items():
            self.snapshots.put_segment(site_name(key), segment, data)
        previous = changes.previous.manifest if changes.previous else None
        self.ledger.append(PendingCommit(key, manifest, previous))
        if self.sink is not None and self.sink.durable:
            self.commit()

    def end(self, row: SiteRow, reading: SiteReading) -> SiteRow:
        """A site has ended with this row: the next one may be read."""
        self.ends.append(SiteEnd(row, reading))
        for address, reason, found_in in reading.skipped:
            self.skip(Skipped(address, row.site, Stage.SITEMAP, reason, None, found_in))
        for verdict in reading.verdicts.values():
            # Files left out without a request are among the skipped already.
            forbidden = verdict.reason is Reason.ROBOTS_DISALLOWED
            if verdict.reason is not None and (verdict.failed or forbidden):
                url, reason, detail = verdict.node.url, verdict.reason, verdict.detail
                self.skip(Skipped(url, row.site, Stage.SITEMAP, reason, detail))
        if self.readings.pop(reading.target.key, None) is not None:
            self._places.release()
        log_site(row)
        return row

    def skip(self, skipped: Skipped) -> None:
        """Note an address that was not read or not saved; past 50,000 they are only counted."""
        self.totals[f"skipped/{skipped.reason}"] += 1
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(skipped)

    def count_notes(self, notes: Counter[str]) -> None:
        """Add up the oddities of a file, which cost no URL (`sitemon/note/<code>`)."""
        for code, count in notes.items():
            self.totals[f"note/{code}"] += count

    def append_history(self, site: str, row: SiteRow) -> None:
        """Add a site's row to its history, which is kept for ever (SPEC §3)."""
        line = {"runId": self.run_id, **asdict(row)}
        self.snapshots.append_history(site, json.dumps(line))

    def release(self) -> None:
        """Give all sites back to other runs [D6]."""
        while self._locked:
            self.snapshots.unlock(self._locked.pop())

    def commit(self) -> None:
        """Make every pending snapshot the site's snapshot: their rows are durable now [D3].

        Raises OSError; what is committed by then stays committed, the rest stays pending.
        """
        while self.ledger:
            self._commit(self.ledger[0])
            del self.ledger[0]

    def _unchanged_since(self, name: str, generation: int) -> None:
        """Make sure that the snapshot compared with is still the site's [D6]. Raises OSError."""
        current = generation_of(self.snapshots.manifest(name))
        if current != generation:
            msg = f"the snapshot is of generation {current}, not {generation}, by now"
            raise OSError(msg)

    def _commit(self, pending: PendingCommit) -> None:
        name, manifest = site_name(pending.key), pending.manifest
        self._unchanged_since(name, pending.previous.generation if pending.previous else 0)
        self.snapshots.sync(name)
        self.snapshots.commit(name, manifest.generation, manifest.to_json())
        self.snapshots.put_prepared(name, None)
        kept = set(self.snapshots.generations(name)[-KEPT_GENERATIONS:])
        needed = manifest.segments
        same = pending.previous is not None and pending.previous.segments == needed
        if same and len(self.snapshots.generations(name)) == len(kept):
            return  # Nothing is left over.
        for number in kept - {manifest.generation}:
            if (data := self.snapshots.generation(name, number)) is not None:
                with contextlib.suppress(SnapshotError):
                    needed |= Manifest.from_json(data).segments
        self.snapshots.prune(name, kept, needed)

    def give_back(self) -> None:
        """A place that was taken for a site that needed no reading."""
        self._places.release()

    def policy(self) -> Policy:
        """What the options ask of the comparison."""
        options = self.options
        return Policy(
            change_types=frozenset(options.change_types),
            report_first_run=self.tracks and options.first_run == "report",
            detect_lastmod_changes=options.detect_lastmod_changes,
            hold_back_share=options.hold_back_share,
            ignore_site_wide_stamps=options.ignore_site_wide_stamps,
            include=_pattern(options.include_regex),
            exclude=_pattern(options.exclude_regex),
        )

    def host(self, origin: str) -> HostFacts:
        """The facts of one origin."""
        return self.hosts.setdefault(origin, HostFacts())


def log_site(row: SiteRow) -> None:
    """One line a site; a failed one is a warning, so that `-L WARNING` shows what needs a look."""
    level = logging.WARNING if row.status == Status.FAILED else logging.INFO
    logger.log(level, "%s", site_line(row))


def site_line(row: SiteRow) -> str:
    """A site's result in one line; what a site sends cannot leave the line [S3]."""
    parts = [f"{row.site!r}: {row.status}"]
    if row.baseline == Baseline.CREATED:
        parts.append(f"baseline of {row.urlsFound:,} URLs saved")
    elif row.baseline is not None:
        parts.append(f"{row.urlsFound:,} URLs")
    if row.baseline == Baseline.COMPARED or row.added:
        parts.append(
            f"{row.added:,} added, {row.removed:,} removed, {row.lastmodChanged:,} lastmod changed"
        )
    held = row.removalsHeld + row.removalsWithheld
    if held:
        parts.append(f"{held:,} removals held back")
    if row.sitemapsFailed:
        parts.append(f"{row.sitemapsFailed:,} files not read")
    if row.lastmodUniform:
        parts.append("site-wide lastmods ignored")
    if row.stopReason:
        parts.append(f"stopped: {row.stopReason}")
    if row.error:
        parts.append(ascii(row.error)[1:-1])
    return "; ".join(parts)


def _pattern(text: str | None) -> Pattern | None:
    return Pattern(text) if text else None


def new_run_id(now: datetime) -> str:
    """A run's id where no home gives one: UTC time and 4 hex digits (SPEC §3)."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
