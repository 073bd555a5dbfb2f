"""The fast reader: numpy over the bytes of a urlset that is plain, and can be proved so.

It reads only what the strict reader would read the same, and leaves anything else to it: accepted
is UTF-8 in the default namespace without comments, instructions or document type inside, each tag
known and in its place. That is several times faster, and never different.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

import numpy as np

from sitemon_spider.core.sitemap.scanner.extensions import Extensions
from sitemon_spider.core.sitemap.scanner.marks import NotPlainError
from sitemon_spider.core.sitemap.scanner.nesting import Nesting
from sitemon_spider.core.sitemap.scanner.slices import Escapes, Slices, column, lengths, texts
from sitemon_spider.core.sitemap.scanner.stretch import Stretch
from sitemon_spider.core.sitemap.scanner.tags import LASTMOD, LOC, Tags
from sitemon_spider.core.sitemap.strict import new_parser
from sitemon_spider.core.sitemap.vocabulary import is_sitemap_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from sitemon_spider.core.sitemap.parsed import Rows

_FIRST_STRETCH: Final = 1 << 12  # enough to meet most tags, each of which costs a little
_STRETCH: Final = 1 << 19  # bytes read at once: their arrays stay in the processor's cache
_BATCH: Final = 1 << 13  # entries whose texts are taken at once, for the same reason
_LONGEST_ENTRY: Final = 1 << 20
_END: Final = b"</urlset>"
_END_OF_ENTRY: Final = b"</url>"
_AFTER: Final = re.compile(rb"[ \t\r\n]*+(?:<!--(?:-?[\t\r\n -,.-~])*+-->[ \t\r\n]*+)*+")
_NO_CHARACTERS: Final = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF


def scan(document: bytes, position: int, rows: Rows) -> bool:
    """Append what a plain urlset lists whose root begins at `position`; False if it is not plain.

    Then nothing was appended.
    """
    end = document.rfind(_END)
    if end < 0 or not _AFTER.fullmatch(document, end + len(_END)):
        return False
    if b"\xef" in document and any(character in document for character in _NO_CHARACTERS):
        return False
    try:
        begin, prefixes = _open_root(document, position)
        columns = list(_columns(document, begin, end, prefixes, metadata=rows.metadata is not None))
    except NotPlainError:
        return False
    for part in columns:
        rows.add(*part)
    return True


def _open_root(document: bytes, position: int) -> tuple[int, dict[bytes, str]]:
    """Where the root's tag ends, and the foreign prefixes that it declares."""
    end = document.find(b">", position) + 1
    names: list[str] = []
    declared: dict[str | None, str] = {}
    parser = new_parser()
    parser.StartElementHandler = lambda name, _attributes: names.append(name)
    parser.StartNamespaceDeclHandler = declared.__setitem__
    try:
        parser.Parse(document[position:end], False)
    except expat.ExpatError:
        raise NotPlainError from None
    own = declared.pop(None, None) or ""
    if not names or not document.startswith(b"<urlset", position) or document[end - 2] == ord("/"):
        raise NotPlainError
    foreign = {
        prefix.encode(): namespace
        for prefix, namespace in declared.items()
        if prefix and namespace != own and not is_sitemap_namespace(namespace)
    }
    return end, foreign


def _columns(
    document: bytes, position: int, end: int, prefixes: dict[bytes, str], *, metadata: bool
) -> Iterator[tuple[pa.StringArray, pa.StringArray, pa.Table | None, int]]:
    """The locs, lastmods, metadata and number of news, some thousand entries at a time."""
    tags, nesting = Tags(document, prefixes), Nesting()
    batch = _Batch(document, metadata=metadata)
    for start, stop in _stretches(document, position, end):
        batch.extend(Stretch(document, start, stop, tags, nesting, len(batch)))
        if len(batch) >= _BATCH or stop == end:
            yield batch.columns()
            batch = _Batch(document, metadata=metadata)


def _stretches(document: bytes, position: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut the content of the root behind entries."""
    length = _FIRST_STRETCH
    while position < end:
        stop = end
        if end - position > length:
            found = document.rfind(_END_OF_ENTRY, position, position + length)
            if found < 0:
                found = document.find(_END_OF_ENTRY, position, position + _LONGEST_ENTRY)
            if found < 0:
                raise NotPlainError
            stop = found + len(_END_OF_ENTRY)
        yield position, stop
        position, length = stop, _STRETCH


class _Batch:
    """The fields of some thousand entries, by their places in the document.

    Raises NotPlainError for what the strict reader would look at twice.
    """

    def __init__(self, document: bytes, *, metadata: bool) -> None:
        self._document = document
        self._locs: list[Slices] = []
        self._lastmods: list[Slices] = []
        self._escapes: list[Escapes] = []
        self._extensions = Extensions(document) if metadata else None
        self._count = self._news = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, stretch: Stretch) -> None:
        """Take note of what a stretch holds: each entry has one loc, and no two lastmods."""
        locs, lastmods = stretch.texts(LOC), stretch.texts(LASTMOD)
        if not np.array_equal(locs.rows, self._count + np.arange(len(stretch))):
            raise NotPlainError
        if (lastmods.rows[1:] == lastmods.rows[:-1]).any():
            raise NotPlainError
        self._locs.append(locs)
        self._lastmods.append(lastmods)
        self._escapes.append(stretch.escapes)
        news = stretch.rows(stretch.elements(stretch.number_of("news:news")))
        self._news += len(np.unique(news))
        if self._extensions:
            self._extensions.extend(stretch)
        self._count += len(stretch)

    def columns(self) -> tuple[pa.StringArray, pa.StringArray, pa.Table | None, int]:
        """The locs, lastmods and metadata of the entries, and how many of them are news."""
        escapes = Escapes.concat(self._escapes)
        locs = texts(self._document, Slices.concat(self._locs), escapes)
        if not lengths(locs).all():
            raise NotPlainError  # an empty loc is noted
        slices = Slices.concat(self._lastmods)
        lastmods = column(texts(self._document, slices, escapes), slices.rows, self._count)
        metadata = self._extensions.table(self._count, escapes) if self._extensions else None
        return locs, lastmods, metadata, self._news
