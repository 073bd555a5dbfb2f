"""KvsStore: snapshots in a named key-value store, worked on in a folder between explicit awaits.

The SDK is asynchronous, the comparison is not. So a site is brought near when it is locked: what
is needed of it comes into a folder of the container, where every stage works as on a laptop. What
is written there becomes durable in `flush`, which the delivery awaits: before the first row goes
out, and after the commit. Nothing is written behind anyone's back.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Self

from apify import Actor

from sitemon_spider.apify.record import DAMAGED, Records
from sitemon_spider.core.prepared import PreparedRecord
from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.snapshot import Manifest, SnapshotError
from sitemon_spider.state.files import FolderStore

if TYPE_CHECKING:
    from apify.storages import KeyValueStore

OWNER, STORE_FORMAT = "sitemon", 1
"""What the store's first record says; a store with another owner is not touched."""
OWNER_KEY = "SITEMON"

READ_BACK = 2.0
"""Seconds after which a lease is read back: of two runs that took it at once one sees the other."""
HEARTBEAT = timedelta(seconds=30)
LEASE = timedelta(seconds=120)
"""A run whose last heartbeat is older than this is dead, and its leases are free [D6]."""

CONCURRENCY = 4
"""Records that are sent or fetched at the same time; each may be a few MB in memory."""

CONTENT_TYPES = {".json": "application/json", ".md": "text/markdown; charset=utf-8"}


class ForeignStoreError(Exception):
    """The key-value store is not ours, or of a newer format: it is neither read nor written."""


@dataclass
class _Site:
    """What is known of one site in the store, and what is not yet durable there."""

    token: str = ""
    taken: float = 0.0
    manifest: bytes | None = None
    segments: set[str] = field(default_factory=set)
    generations: set[int] = field(default_factory=set)
    fresh: list[str] = field(default_factory=list)
    steps: list[tuple[str, str, bytes | None]] = field(default_factory=list)


class KvsStore(FolderStore):
    """The StateStore of the Actor. Raises OSError when the platform's storage fails.

    Keys: `<site>.manifest`, `<site>.prepared`, `<site>.g<number>`, `<site>.s.<segment>`,
    `<site>.lease`, `<site>.history-<yyyymm>`, `alive.<run id>`, `SITEMON`. A commit is the record
    `<site>.manifest`, written last.
    """

    def __init__(self, store: KeyValueStore | None, monitor: str, run_id: str) -> None:
        super().__init__(Path(mkdtemp(prefix="sitemon-")), monitor)
        self.run_id = run_id
        self._token = f"{run_id}:{secrets.token_hex(4)}"
        self._records = Records(store) if store is not None else None
        self._sites: defaultdict[str, _Site] = defaultdict(_Site)
        self._output: dict[str, bytes] = {}
        self._beating: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, monitor: str, run_id: str, *, tracks: bool) -> Self:
        """The store `sitemon-<monitor>`; none is opened for a run that tracks nothing.

        Raises ForeignStoreError, or OSError.
        """
        store = await Actor.open_key_value_store(name=f"sitemon-{monitor}") if tracks else None
        opened = cls(store, monitor, run_id)
        if opened._records is not None:
            await opened._claim(opened._records, monitor)
            await opened._beat(opened._records)
            opened._beating = asyncio.create_task(opened._go_on_beating(opened._records))
        return opened

    async def _claim(self, records: Records, monitor: str) -> None:
        data = await records.get(OWNER_KEY)
        if data is None:
            if await records.keys(""):
                msg = f"the key-value store sitemon-{monitor} holds something else"
                raise ForeignStoreError(msg)
            document = {"owner": OWNER, "format": STORE_FORMAT, "monitor": monitor}
            await records.put(OWNER_KEY, json.dumps(document).encode())
            return
        try:
            document = json.loads(data)
            ours = document["owner"] == OWNER
            newer = document["format"] > STORE_FORMAT
        except (ValueError, KeyError, TypeError):
            ours = newer = False
        if not ours or newer:
            what = "was written by a newer sitemon" if newer else "belongs to something else"
            msg = f"the key-value store sitemon-{monitor} {what}; choose another monitor"
            raise ForeignStoreError(msg)

    # --- the lease [D6] -------------------------------------------------------------------------

    async def lock(self, site: str) -> bool:
        """Take the site's lease and bring near what is stored of it; False when another has it."""
        records, state = self._store, self._sites[site]
        holder = _document(await records.get(f"{site}.lease"))
        if holder and holder.get("run") != self.run_id and await self._lives(holder["run"]):
            return False
        lease = {"run": self.run_id, "token": self._token, "at": _now().isoformat()}
        await records.put(f"{site}.lease", json.dumps(lease).encode())
        state.token, state.taken = self._token, asyncio.get_running_loop().time()
        await self._fetch(site)
        return True

    def unlock(self, site: str) -> None:
        """Leases end with the heartbeat of their run (`close`)."""

    async def _lives(self, run: str) -> bool:
        """Whether that run is still at work, by its heartbeat."""
        beat = _document(await self._store.get(f"alive.{run}"))
        if not beat:
            return False
        if beat.get("host") == socket.gethostname() and not _is_process(int(beat["pid"])):
            return False
        return _now() - datetime.fromisoformat(beat["at"]) < LEASE

    async def _beat(self, records: Records) -> None:
        beat = {"at": _now().isoformat(), "host": socket.gethostname(), "pid": os.getpid()}
        await records.put(f"alive.{self.run_id}", json.dumps(beat).encode())

    async def _go_on_beating(self, records: Records) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT.total_seconds())
            try:
                await self._beat(records)
            except OSError as error:
                Actor.log.warning("The run's heartbeat could not be written: %s", error)

    async def _hold(self, site: str) -> None:
        """Make sure that the lease is ours, at the earliest two seconds after it was taken."""
        state = self._sites[site]
        passed = asyncio.get_running_loop().time() - state.taken
        await asyncio.sleep(max(READ_BACK - passed, 0))
        holder = _document(await self._store.get(f"{site}.lease"))
        if not holder or holder.get("token") != state.token:
            raise SnapshotError(Reason.LOCKED, "another run took it at the same time")

    # --- near and durable -----------------------------------------------------------------------

    async def _fetch(self, site: str) -> None:
        """What is stored of a site, into the folder."""
        records, state = self._store, self._sites[site]
        names = [key.removeprefix(f"{site}.") for key in await records.keys(f"{site}.")]
        state.segments = {name[2:] for name in names if name.startswith("s.")}
        state.generations = {int(n[1:]) for n in names if n.startswith("g") and n[1:].isdigit()}
        state.manifest = await records.get(f"{site}.manifest")
        needed: set[str] = set()
        if state.manifest is not None:
            _bring(self._site(site) / "manifest.json", state.manifest)
            needed |= _segments(state.manifest)
        prepared = await records.get(f"{site}.prepared")
        if prepared is not None:
            _bring(self._site(site) / "prepared.json", prepared)
            needed |= _prepared_segments(prepared)
        limit = asyncio.Semaphore(CONCURRENCY)

        async def segment(name: str) -> None:
            async with limit:
                data = await records.get(f"{site}.s.{name}")
                if data is not None:
                    _bring(self._segment(site, name), data)

        async def generation(number: int) -> None:
            async with limit:
                data = await records.get(f"{site}.g{number:08}")
                _bring(self._generation(site, number), data or DAMAGED)

        await asyncio.gather(*map(segment, needed), *map(generation, state.generations))

    async def flush(self, site: str) -> None:
        """Make all that was written of a site durable, in the order it was written [D2].

        Raises SnapshotError when another run has the site; OSError, and then nothing is lost: what
        was not sent is sent by the next call.
        """
        state = self._sites[site]
        await self._hold(site)
        limit = asyncio.Semaphore(CONCURRENCY)

        async def send(name: str) -> None:
            async with limit:
                path = self._segment(site, name)
                if name not in state.segments and path.exists():
                    await self._store.put(f"{site}.s.{name}", path.read_bytes())
                    state.segments.add(name)

        await asyncio.gather(*map(send, dict.fromkeys(state.fresh)))
        state.fresh.clear()
        while state.steps:
            step, name, data = state.steps[0]
            if step == "commit" and await self._store.get(f"{site}.manifest") != state.manifest:
                raise SnapshotError(Reason.LOCKED, "another run saved it in the meantime")
            await self._step(site, step, name, data)
            del state.steps[0]

    async def _step(self, site: str, step: str, name: str, data: bytes | None) -> None:
        records, state, key = self._store, self._sites[site], f"{site}.{name}"
        if step == "append":
            before = await records.get(key) or b""
            await records.put(key, before + (data or b""))
        elif data is None:
            await records.delete(key)
        else:
            await records.put(key, data)
        if step == "commit":
            state.manifest = data

    @property
    def _store(self) -> Records:
        assert self._records is not None, "a run that tracks nothing has no store"
        return self._records

    def _later(self, site: str, step: str, name: str, data: bytes | None) -> None:
        self._sites[site].steps.append((step, name, data))

    # --- the port, in the folder ----------------------------------------------------------------

    def put_segment(self, site: str, name: str, data: bytes) -> None:
        super().put_segment(site, name, data)
        state = self._sites[site]
        state.fresh.append(name)
        state.steps = [step for step in state.steps if step[1] != f"s.{name}"]

    def sync(self, site: str) -> None:
        """The folder ends with the container; `flush` is what makes durable."""
        self._written.pop(site, None)

    def commit(self, site: str, generation: int, manifest: bytes) -> None:
        super().commit(site, generation, manifest)
        self._sites[site].generations.add(generation)
        self._later(site, "put", f"g{generation:08}", manifest)
        self._later(site, "commit", "manifest", manifest)

    def put_prepared(self, site: str, data: bytes | None) -> None:
        had = self.prepared(site) is not None
        super().put_prepared(site, data)
        if data is not None or had:
            self._later(site, "put", "prepared", data)

    def prune(self, site: str, keep: set[int], segments: set[str]) -> None:
        super().prune(site, keep, segments)
        state = self._sites[site]
        for number in sorted(state.generations - keep):
            self._later(site, "drop", f"g{number:08}", None)
        for name in sorted(state.segments - segments):
            self._later(site, "drop", f"s.{name}", None)
        state.generations &= keep
        state.fresh = [name for name in state.fresh if name in segments]
        state.segments &= segments

    def forget(self, site: str) -> None:
        super().forget(site)
        state = self._sites[site]
        # The manifest goes first: without it what is left is garbage, not half a snapshot.
        if state.manifest is not None:
            self._later(site, "commit", "manifest", None)
        self.put_prepared(site, None)
        self.prune(site, set(), set())

    def append_history(self, site: str, line: str) -> None:
        month = f"{_now():%Y%m}"
        self._later(site, "append", f"history-{month}", line.encode() + b"\n")

    # --- the run --------------------------------------------------------------------------------

    def put_record(self, run: str, name: str, data: bytes) -> str:
        """Keep a record for `close`; `OUTPUT.json` is the key `OUTPUT`."""
        self._output[name] = data
        return f"the run's key-value store, record {_key(name)}"

    def rows_file(self, run: str) -> None:
        """Rows go to the dataset."""

    def drop_old_runs(self) -> None:
        """The platform keeps runs as long as the user's plan says."""

    async def close(self, *, keep_lease: bool) -> list[str]:
        """Flush what is left, write the run's records, end the leases. Returns what failed."""
        faults = []
        for site, state in self._sites.items():
            if state.steps or state.fresh:
                try:
                    await self.flush(site)
                except (OSError, SnapshotError) as error:
                    faults.append(f"{site}: {error}")
        for name, data in self._output.items():
            try:
                await self._put_output(name, data)
            except OSError as error:
                faults.append(f"{name}: {error}")
        if self._beating is not None:
            self._beating.cancel()
        if self._records is not None and not keep_lease:
            try:
                await self._store.delete(f"alive.{self.run_id}")
            except OSError as error:
                faults.append(f"lease: {error}")
        shutil.rmtree(self.folder.parent, ignore_errors=True)
        return faults

    async def _put_output(self, name: str, data: bytes) -> None:
        content_type = CONTENT_TYPES.get(Path(name).suffix, "text/plain; charset=utf-8")
        value = json.loads(data) if content_type == "application/json" else data.decode()
        try:
            await Actor.set_value(_key(name), value, content_type=content_type)
        except Exception as error:
            raise OSError(str(error)) from error


def _bring(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _key(name: str) -> str:
    return name.removesuffix(".json")


def _now() -> datetime:
    return datetime.now(UTC)


def _document(data: bytes | None) -> dict[str, Any]:
    """A small JSON record of ours; empty when there is none or it is damaged."""
    try:
        document = json.loads(data or b"{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _is_process(pid: int) -> bool:
    if pid == os.getpid():
        return False  # An earlier process of this container had our number.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _segments(manifest: bytes) -> set[str]:
    """The segments of a manifest; none of one that the core will refuse."""
    try:
        return Manifest.from_json(manifest).segments
    except SnapshotError:
        return set()


def _prepared_segments(record: bytes) -> set[str]:
    try:
        prepared = PreparedRecord.model_validate_json(record)
    except ValueError:
        return set()
    return prepared.manifest.segments | ({prepared.plan} if prepared.plan else set())
