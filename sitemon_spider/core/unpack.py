"""Unpack a body by its bytes: gzip whatever its name says, under a cap, whole or cut."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Final

import xxhash
from isal import isal_zlib

from sitemon_spider.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_UNPACKED: Final = 50 * 1024 * 1024
"""Bytes of one file after unpacking [S2]; sitemaps.org allows a sitemap no more."""

MAX_LAYERS: Final = 2  # gzip as Content-Encoding of a gzip file; more is nobody's honest mistake
_MAX_MEMBERS: Final = 10_000  # a block gzip of 50 MiB has 800; an empty member costs time, no bytes
_MAGIC: Final = b"\x1f\x8b\x08"  # RFC 1952 §2.3.1: ID1, ID2, and CM 8, the only method there is
_GZIP: Final = 31  # wbits: a gzip header and trailer around a window of 32 KiB
_DAMAGE: Final[type[Exception]] = isal_zlib.error  # type: ignore[assignment]  # the stub errs
_WINDOW: Final = 1 << 18  # packed bytes handed over at once: what is left of them is copied
_STEP: Final = 1 << 20  # unpacked bytes asked for at once: larger pieces cost page faults
_SALVAGE_STEP: Final = 1 << 12  # an error loses the step it is met in


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a body holds: at most the cap's bytes, and whether that is all of it.

    `digest` is the xxh3-128 of `data` in hex. `cut` is TRUNCATED when a gzip ends before its end or
    fails its checksum, TOO_LARGE when the content goes on beyond the cap. `layers` counts the
    gzips taken off. `notes` counts oddities that lost nothing: `gzip_members` (members after the
    first), `gzip_tail`, `gzip_double`.
    """

    data: bytes
    digest: str
    cut: Reason | None = None
    layers: int = 0
    notes: Counter[str] = field(default_factory=Counter)


def unpack(body: bytes, limit: int = MAX_UNPACKED) -> Unpacked:
    """Take off up to two layers of gzip, keeping at most `limit` bytes.

    gzip is told by its magic number, not by a name or a header: of both there are bodies that are
    packed and say nothing, and bodies that say so and are plain. Never raises for what a server
    sends. A bomb costs the cap, not its content.
    """
    data, cut, layers = body, None, 0
    notes: Counter[str] = Counter()
    while data.startswith(_MAGIC) and layers < MAX_LAYERS:
        layers += 1
        data, damage = _gunzip(data, limit, notes)
        cut = cut or damage
    if layers == MAX_LAYERS:
        notes["gzip_double"] += 1
    if len(data) > limit:
        data, cut = data[:limit], cut or Reason.TOO_LARGE
    return Unpacked(data, xxhash.xxh3_128_hexdigest(data), cut, layers, notes)


def _gunzip(body: bytes, limit: int, notes: Counter[str]) -> tuple[bytes, Reason | None]:
    """All members of a gzip (RFC 1952 §2.2), one after the other."""
    content, position, members = BytesIO(), 0, 0
    while True:
        start = content.tell()
        try:
            end = _copy_member(body, position, content, limit, _STEP)
        except _DAMAGE:
            content.seek(start)
            content.truncate()
            _copy_damaged(body, position, content, limit)
            return content.getvalue(), Reason.TRUNCATED
        if content.tell() > limit:
            content.truncate(limit)
            return content.getvalue(), Reason.TOO_LARGE
        if end is None:
            return content.getvalue(), Reason.TRUNCATED
        position, members = end, members + 1
        if not body.startswith(_MAGIC, position):
            break
        if members == _MAX_MEMBERS:
            return content.getvalue(), Reason.TOO_LARGE
    if members > 1:
        notes["gzip_members"] += members - 1
    if position < len(body):
        # Padding, or what a broken server appended: gzip itself warns and ignores it.
        notes["gzip_tail"] += 1
    return content.getvalue(), None


def _copy_member(body: bytes, position: int, content: BytesIO, limit: int, step: int) -> int | None:
    """Append one member to the content; the position after it, None when the body ends inside it.

    Stops as soon as the content is larger than the limit. Raises isal_zlib.error on damage.
    """
    member = isal_zlib.decompressobj(_GZIP)
    for window in _windows(body, position):
        position += len(window)
        packed = window
        while packed or not member.eof:
            piece = member.decompress(packed, step)
            content.write(piece)
            if content.tell() > limit:
                return position
            packed = member.unconsumed_tail
            if not packed and len(piece) < step:
                break
        if member.eof:
            return position - len(member.unused_data)
    return None


def _windows(body: bytes, position: int) -> Iterator[bytes]:
    for start in range(position, len(body), _WINDOW):
        yield body[start : start + _WINDOW]


def _copy_damaged(body: bytes, position: int, content: BytesIO, limit: int) -> None:
    """Append what a member yields before its damage, in steps so small that little is lost."""
    with suppress(_DAMAGE):
        _copy_member(body, position, content, limit, _SALVAGE_STEP)
    content.truncate(limit)
