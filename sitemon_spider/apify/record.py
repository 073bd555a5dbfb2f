"""Records of a key-value store as bytes that prove themselves, split where they are large.

The platform's local storage reads a corrupt JSON record as no record at all, and limits the size
of one. So a record is a line with its checksum and then its bytes; a large one is a head that names
its parts, written after them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import xxhash

if TYPE_CHECKING:
    from apify.storages import KeyValueStore

MAX_RECORD = 7 * 1024 * 1024
"""Bytes of one record, under the 8 MB that are safe on the platform."""

WHOLE, PARTS = b"sitemon-1", b"sitemon-1-parts"

DAMAGED = b""
"""What a record that fails its checksum reads as: nothing that a reader could take for valid."""


class Records:
    """Bytes by key. Every method raises OSError when the storage fails."""

    def __init__(self, store: KeyValueStore) -> None:
        self.store = store

    async def get(self, key: str) -> bytes | None:
        """The bytes of a record, None when there is none, `DAMAGED` when they are not whole."""
        kind, data = unframe(await self._read(key))
        if kind != PARTS:
            return data
        head = json.loads(data or b"{}")
        pieces = []
        for number in range(head["parts"]):
            kind, piece = unframe(await self._read(f"{key}.{head['digest']}.{number}"))
            if kind != WHOLE or not piece:
                return DAMAGED
            pieces.append(piece)
        whole = b"".join(pieces)
        return whole if xxhash.xxh3_128_hexdigest(whole) == head["digest"] else DAMAGED

    async def put(self, key: str, data: bytes) -> None:
        """Store bytes; whoever reads the key sees the old ones or the new ones."""
        before = await self._parts_of(key) if len(data) > MAX_RECORD else []
        if len(data) <= MAX_RECORD:
            await self._write(key, frame(WHOLE, data))
            return
        digest = xxhash.xxh3_128_hexdigest(data)
        starts = range(0, len(data), MAX_RECORD)
        for number, start in enumerate(starts):
            piece = frame(WHOLE, data[start : start + MAX_RECORD])
            await self._write(f"{key}.{digest}.{number}", piece)
        head = json.dumps({"parts": len(starts), "digest": digest}).encode()
        await self._write(key, frame(PARTS, head))
        for part in before:
            if f".{digest}." not in part:
                await self._write(part, None)

    async def delete(self, key: str) -> None:
        """Drop a record with its parts; one that is not there is no fault."""
        parts = await self._parts_of(key)
        for name in [key, *parts]:
            await self._write(name, None)

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin with a prefix, without parts, in order."""
        found = []
        try:
            async for record in self.store.iterate_keys(exclusive_start_key=prefix or None):
                if not record.key.startswith(prefix):
                    break
                found.append(record.key)
        except Exception as error:
            raise OSError(str(error)) from error
        heads = set(found)
        return [key for key in found if key.rsplit(".", 2)[0] not in heads]

    async def _parts_of(self, key: str) -> list[str]:
        kind, data = unframe(await self._read(key))
        if kind != PARTS:
            return []
        head = json.loads(data or b"{}")
        return [f"{key}.{head['digest']}.{number}" for number in range(head["parts"])]

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
    """Bytes with a first line that proves them."""
    return kind + b" " + xxhash.xxh3_128_hexdigest(data).encode() + b"\n" + data


def unframe(value: Any) -> tuple[bytes | None, bytes | None]:
    """The kind and the bytes of a record as read; (None, None) for none."""
    if value is None:
        return None, None
    if not isinstance(value, bytes | bytearray):
        return None, DAMAGED
    head, _, data = bytes(value).partition(b"\n")
    kind, _, digest = head.partition(b" ")
    if kind not in {WHOLE, PARTS} or digest != xxhash.xxh3_128_hexdigest(data).encode():
        return None, DAMAGED
    return kind, data
