"""Snapshots in memory: the port's shipped fake, for tests and for trying things out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class _Site:
    manifest: bytes | None = None
    prepared: bytes | None = None
    generations: dict[int, bytes] = field(default_factory=dict)
    segments: dict[str, bytes] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)


class MemoryStore:
    """A StateStore that forgets everything with the process."""

    def __init__(self) -> None:
        self.sites: defaultdict[str, _Site] = defaultdict(_Site)
        self.records: dict[tuple[str, str], bytes] = {}
        self.locked: set[str] = set()

    def manifest(self, site: str) -> bytes | None:
        return self.sites[site].manifest

    def generation(self, site: str, number: int) -> bytes | None:
        return self.sites[site].generations.get(number)

    def segment(self, site: str, name: str) -> bytes:
        try:
            return self.sites[site].segments[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def put_segment(self, site: str, name: str, data: bytes) -> None:
        self.sites[site].segments[name] = data

    def sync(self, site: str) -> None:
        """Memory is as durable as it gets."""

    def commit(self, site: str, generation: int, manifest: bytes) -> None:
        self.sites[site].generations[generation] = manifest
        self.sites[site].manifest = manifest

    def prepared(self, site: str) -> bytes | None:
        return self.sites[site].prepared

    def put_prepared(self, site: str, data: bytes | None) -> None:
        self.sites[site].prepared = data

    async def lock(self, site: str) -> bool:
        if site in self.locked:
            return False
        self.locked.add(site)
        return True

    async def flush(self, site: str) -> None:
        """Memory is as durable as it gets."""

    def unlock(self, site: str) -> None:
        self.locked.discard(site)

    def prune(self, site: str, keep: set[int], segments: set[str]) -> None:
        kept = self.sites[site]
        kept.generations = {n: data for n, data in kept.generations.items() if n in keep}
        kept.segments = {name: data for name, data in kept.segments.items() if name in segments}

    def generations(self, site: str) -> list[int]:
        return sorted(self.sites[site].generations)

    def forget(self, site: str) -> None:
        kept = self.sites[site]
        kept.manifest = kept.prepared = None
        kept.generations, kept.segments = {}, {}

    def append_history(self, site: str, line: str) -> None:
        self.sites[site].history.append(line)

    def rows_file(self, run: str) -> None:
        """Memory has no files."""

    def put_record(self, run: str, name: str, data: bytes) -> str:
        self.records[run, name] = data
        return f"{run}/{name} (in memory)"

    def drop_old_runs(self) -> None:
        """Memory holds one process's runs."""
