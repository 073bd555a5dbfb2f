"""A folder as the home of snapshots: `<state>/<monitor>/sites/<name>/` and `…/runs/<run id>/`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa

KEPT_RUNS = 100
"""How many runs' records are kept (SPEC §3)."""


class FolderStore:
    """Snapshots in a folder. A commit is one `os.replace` of the manifest, fsynced around it.

    Raises OSError as the file system does.
    """

    def __init__(self, folder: Path, monitor: str) -> None:
        self.folder = folder / monitor
        self._written: dict[str, list[Path]] = {}
        self._locks: dict[str, int] = {}

    def manifest(self, site: str) -> bytes | None:
        return _read(self._site(site) / "manifest.json")

    def generation(self, site: str, number: int) -> bytes | None:
        return _read(self._generation(site, number))

    def segment(self, site: str, name: str) -> pa.Buffer:
        with pa.memory_map(str(self._segment(site, name))) as file:
            return file.read_buffer()

    def put_segment(self, site: str, name: str, data: bytes) -> None:
        # Written anew even if it is there: what a power cut left of it may be a part.
        path = self._segment(site, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, data, durable=False)
        self._written.setdefault(site, []).append(path)

    def sync(self, site: str) -> None:
        written = self._written.pop(site, [])
        for path in written:
            _fsync(path)
        for folder in {path.parent for path in written}:
            _fsync(folder)

    def commit(self, site: str, generation: int, manifest: bytes) -> None:
        folder = self._site(site)
        kept = self._generation(site, generation)
        kept.parent.mkdir(parents=True, exist_ok=True)
        _write(kept, manifest, durable=True)
        _write(folder / "manifest.json", manifest, durable=True)

    def prepared(self, site: str) -> bytes | None:
        return _read(self._site(site) / "prepared.json")

    def put_prepared(self, site: str, data: bytes | None) -> None:
        path = self._site(site) / "prepared.json"
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, data, durable=True)

    async def lock(self, site: str) -> bool:
        """Take the site's lock; the system gives it back when the process dies, however it dies."""
        folder = self.folder / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / site, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._locks[site] = handle
        return True

    async def flush(self, site: str) -> None:
        """A file is durable when it is written."""

    def unlock(self, site: str) -> None:
        handle = self._locks.pop(site, None)
        if handle is not None:
            os.close(handle)

    def prune(self, site: str, keep: set[int], segments: set[str]) -> None:
        folder = self._site(site)
        for number in self.generations(site):
            if number not in keep:
                self._generation(site, number).unlink(missing_ok=True)
        for path in (folder / "segments").glob("*"):
            if path.name not in segments:
                path.unlink(missing_ok=True)
        for empty in (folder / "segments", folder / "generations", folder):
            with contextlib.suppress(OSError):
                empty.rmdir()  # Only when nothing is left of the site.

    def generations(self, site: str) -> list[int]:
        folder = self._site(site) / "generations"
        return sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit())

    def forget(self, site: str) -> None:
        folder = self._site(site)
        # The manifest goes first: without it what is left is garbage, not half a snapshot.
        for name in ("manifest.json", "prepared.json"):
            (folder / name).unlink(missing_ok=True)
        for part in ("generations", "segments"):
            shutil.rmtree(folder / part, ignore_errors=True)

    def append_history(self, site: str, line: str) -> None:
        path = self._site(site) / "history.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def put_record(self, run: str, name: str, data: bytes) -> str:
        folder = self.run_folder(run)
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / name, data, durable=False)
        return str(folder / name)

    def run_folder(self, run: str) -> Path:
        """The folder of a run's records and of its default feed [D8]."""
        name = re.sub(r"[^A-Za-z0-9._-]", "-", run).lstrip(".")[:100]
        return self.folder / "runs" / (name or "run")

    def rows_file(self, run: str) -> Path | None:
        return self.run_folder(run) / "rows.jsonl"

    def drop_old_runs(self) -> None:
        runs = self.folder / "runs"
        if runs.exists():
            newest_first = sorted(
                runs.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True
            )
            for old in newest_first[KEPT_RUNS:]:
                shutil.rmtree(old, ignore_errors=True)

    def remove(self) -> None:
        """Remove the whole folder (a spool's end)."""
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def _site(self, site: str) -> Path:
        return self.folder / "sites" / site

    def _generation(self, site: str, number: int) -> Path:
        return self._site(site) / "generations" / f"{number:08}.json"

    def _segment(self, site: str, name: str) -> Path:
        return self._site(site) / "segments" / name


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, *, durable: bool) -> None:
    """Replace a file at once: whoever reads it sees the old bytes or the new ones, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if durable:
        _fsync(path.parent)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
