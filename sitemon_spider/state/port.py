"""StateStore: what every home of snapshots can do (a port; its adapters stand beside it)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


class StateStore(Protocol):
    """Snapshots of one monitor by site name, and the records of its runs.

    Names are made by `site_name`; bytes are opaque to a store. Every method raises OSError when
    the store fails.
    """

    def manifest(self, site: str) -> bytes | None:
        """The bytes of the committed manifest, or None when the site has no snapshot."""

    def generation(self, site: str, number: int) -> bytes | None:
        """The bytes of one kept generation's manifest, or None."""

    def segment(self, site: str, name: str) -> bytes | memoryview | pa.Buffer:
        """The bytes of one segment. Raises FileNotFoundError when there is none."""

    def put_segment(self, site: str, name: str, data: bytes) -> None:
        """Store an immutable segment; storing it again is harmless."""

    def sync(self, site: str) -> None:
        """Make all segments stored so far durable."""

    def commit(self, site: str, generation: int, manifest: bytes) -> None:
        """Make this manifest the site's snapshot, at once and durably."""

    def prepared(self, site: str) -> bytes | None:
        """The bytes of the prepared record of a delivery that was not committed, or None."""

    def put_prepared(self, site: str, data: bytes | None) -> None:
        """Store the prepared record durably, or drop it (None)."""

    async def lock(self, site: str) -> bool:
        """Take the site for this run and bring near what it needs; False when another has it [D6].

        The other methods work on what is near, at once; only `flush` may take its time.
        """

    async def flush(self, site: str) -> None:
        """Return when all that was stored of the site so far is durable in the store's home.

        Raises SnapshotError when another run has taken the site.
        """

    def unlock(self, site: str) -> None:
        """Give the site back."""

    def prune(self, site: str, keep: set[int], segments: set[str]) -> None:
        """Drop kept generations and segments other than these."""

    def generations(self, site: str) -> list[int]:
        """The numbers of the kept generations, ascending."""

    def forget(self, site: str) -> None:
        """Drop the site's snapshot with its history of generations (`startOver`)."""

    def append_history(self, site: str, line: str) -> None:
        """Add one line to the site's `history.jsonl`, which is kept for ever."""

    def rows_file(self, run: str) -> Path | None:
        """Where a run's rows go when no feed was named [D8]; None where a sink of its own is."""

    def put_record(self, run: str, name: str, data: bytes) -> str:
        """Store a record of a run (OUTPUT.json, SUMMARY.md, …); returns where a person finds it."""

    def drop_old_runs(self) -> None:
        """Keep the records of the last 100 runs (SPEC §3)."""
