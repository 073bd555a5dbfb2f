"""Records of a key-value store as bytes that prove themselves, split where they are large.

The platform's local storage reads a corrupt JSON record as no record at all, and the platform
limits the size of one. So a record is a line with its checksum and then its bytes; a large one is a
head, written last, that names its parts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import xxhash

if TYPE_CHECKING:
    from apify.storages import KeyValueStore

MAX_RECORD = 7 * 1024 * 1024
"""Bytes of one record: under the 8 MB that are safe on the platform."""

WHOLE, PARTS = b"sitemon-1", b"sitemon-1-parts"
"""The kinds of records, with the number of this form."""

DAMAGED = b""
"""What a record that fails its checksum reads as: nothing that a reader could take for valid."""


class Records:
    """Bytes by key. Every method raises OSError when the storage fails.

    `keys` has to be called with a key's prefix before a record of an earlier run is deleted: it
    learns which ones have parts.
    """

    def __init__(self, store: KeyValueStore) -> None:
        self.store = store
        self._parts: defaultdict[str, set[str]] = defaultdict(set)

    async def get(self, key: str) -> bytes | None:
        """The bytes of a record, None when there is none, `DAMAGED` when they are not whole."""
        kind, data = unframe(await self._read(key))
        if kind != PARTS:
            return data
        head = json.loads(data or b"{}")
        pieces = []
        for part in _part_keys(key, head["digest"], head["parts"]):
            kind, piece = unframe(await self._read(part))
            if kind != WHOLE or piece is None:
                return DAMAGED
            pieces.append(piece)
        whole = b"".join(pieces)
        return whole if _digest(whole) == head["digest"] else DAMAGED

    async def put(self, key: str, data: bytes) -> None:
        """Store bytes; whoever reads the key sees the old ones or the new ones."""
        parts: list[str] = []
        if len(data) <= MAX_RECORD:
            await self._write(key, frame(WHOLE, data))
        else:
            starts = range(0, len(data), MAX_RECORD)
            parts = _part_keys(key, _digest(data), len(starts))
            for part, start in zip(parts, starts, strict=True):
                self._parts[key].add(part)
                await self._write(part, frame(WHOLE, data[start : start + MAX_RECORD]))
            head = {"parts": len(parts), "digest": _digest(data)}
            await self._write(key, frame(PARTS, json.dumps(head).encode()))
        await self._drop_parts(key, self._parts[key] - set(parts))

    async def delete(self, key: str) -> None:
        """Drop a record with its parts; one that is not there is no fault."""
        await self._write(key, None)
        await self._drop_parts(key, set(self._parts[key]))

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin with a prefix, in order and without parts."""
        found: list[str] = []
        try:
            async for record in self.store.iterate_keys(exclusive_start_key=prefix or None):
                if not record.key.startswith(prefix):
                    break
                found.append(record.key)
        except Exception as error:
            raise OSError(str(error)) from error
        heads = set(found)
        for key in found:
            head = key.rsplit(".", 2)[0]
            if head != key and head in heads:
                self._parts[head].add(key)
                heads.discard(key)
        return [key for key in found if key in heads]

    async def _drop_parts(self, key: str, parts: set[str]) -> None:
        for part in sorted(parts):
            await self._write(part, None)
            self._parts[key].discard(part)

    async def _read(self, key: str) -> Any:
        try:
            return await self.store.get_value(key)
        except Exception as error:
            raise OSError(str(error)) from error

    async def _write(self, key: str, data: bytes | None) -> None:
        try:
            if data is None:
                await self.store.delete_value(key)
            else:
                await self.store.set_value(key, data, content_type="application/octet-stream")
        except Exception as error:
            raise OSError(str(error)) from error


def frame(kind: bytes, data: bytes) -> bytes:
    """Bytes behind a first line that proves them."""
    return kind + b" " + _digest(data).encode() + b"\n" + data


def unframe(value: Any) -> tuple[bytes | None, bytes | None]:
    """The kind and the bytes of a record as read; (None, None) for none."""
    if value is None:
        return None, None
    if not isinstance(value, bytes | bytearray):
        return None, DAMAGED
    head, _, data = bytes(value).partition(b"\n")
    kind, _, digest = head.partition(b" ")
    if kind not in {WHOLE, PARTS} or digest != _digest(data).encode():
        return None, DAMAGED
    return kind, data


def _digest(data: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(data)


def _part_keys(key: str, digest: str, count: int) -> list[str]:
    return [f"{key}.{digest}.{number}" for number in range(count)]
