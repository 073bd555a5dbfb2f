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
import pyarrow as pa

from sitemon_spider.core.sitemap.scanner.marks import NotPlainError, find_marks
from sitemon_spider.core.sitemap.scanner.nesting import Nesting
from sitemon_spider.core.sitemap.scanner.slices import (
    Escapes,
    Slices,
    is_reference,
    lengths,
    texts,
    within,
)
from sitemon_spider.core.sitemap.scanner.tags import (
    CLOSES,
    LASTMOD,
    LOC,
    NEWS_ITEM,
    SECTION,
    URL,
    Tags,
)
from sitemon_spider.core.sitemap.strict import new_parser
from sitemon_spider.core.sitemap.vocabulary import is_sitemap_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemon_spider.core.sitemap.parsed import Rows
    from sitemon_spider.core.sitemap.scanner.marks import Marks
    from sitemon_spider.core.sitemap.scanner.words import Numbers, Positions

_FIRST_STRETCH: Final = 1 << 12  # enough to meet most tags, each of which costs a little
_STRETCH: Final = 1 << 19  # bytes read at once: their arrays stay in the processor's cache
_BATCH: Final = 1 << 13  # entries whose texts are taken at once, for the same reason
_LONGEST_ENTRY: Final = 1 << 20
_END: Final = b"</urlset>"
_END_OF_ENTRY: Final = b"</url>"
_AFTER: Final = re.compile(rb"[ \t\r\n]*+(?:<!--(?:-?[\t\r\n -,.-~])*+-->[ \t\r\n]*+)*+")
_NO_CHARACTERS: Final = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF
_AMPERSAND: Final = np.uint64(int.from_bytes(b"&amp;", "little"))
_FIVE_BYTES: Final = np.uint64((1 << 40) - 1)


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
        columns = list(_columns(document, begin, end, prefixes))
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
    document: bytes, position: int, end: int, prefixes: dict[bytes, str]
) -> Iterator[tuple[pa.StringArray, pa.StringArray, int]]:
    """The locs, the lastmods and the number of news, some thousand entries at a time."""
    proof = _Proof(document, prefixes)
    for start, stop in _stretches(document, position, end):
        proof.extend(start, stop)
        if proof.entries >= _BATCH or stop == end:
            yield proof.columns()


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


class _Proof:
    """A document proved plain so far: how many entries it has and where their fields stand.

    Raises NotPlainError where the proof fails.
    """

    def __init__(self, document: bytes, prefixes: dict[bytes, str]) -> None:
        self._document = document
        self._tags = Tags(document, prefixes)
        self._nesting = Nesting()
        self._begin()

    def _begin(self) -> None:
        self._locs: list[Slices] = []
        self._lastmods: list[Slices] = []
        self._escapes: list[Escapes] = []
        self.entries = 0
        self._news = 0

    def extend(self, start: int, stop: int) -> None:
        """Prove a stretch of whole entries."""
        marks = find_marks(self._document, start, stop)
        numbers = self._tags.numbers(marks)
        self._nesting.check(numbers, self._tags.names)
        self._escapes.append(self._check_escapes(marks, numbers))
        entries = np.flatnonzero(numbers == URL)
        locs = self._fields(marks, numbers, LOC, entries)
        lastmods = self._fields(marks, numbers, LASTMOD, entries)
        # Each entry has one loc, and no two lastmods.
        if not np.array_equal(locs.rows, self.entries + np.arange(len(entries))):
            raise NotPlainError
        if (lastmods.rows[1:] == lastmods.rows[:-1]).any():
            raise NotPlainError
        self._locs.append(locs)
        self._lastmods.append(lastmods)
        if self._nesting.parents.get(NEWS_ITEM // 3) == URL // 3:
            items = np.flatnonzero(numbers // 3 == NEWS_ITEM // 3)
            self._news += len(np.unique(np.searchsorted(entries, items)))
        self.entries += len(entries)

    def columns(self) -> tuple[pa.StringArray, pa.StringArray, int]:
        """The locs and lastmods of the entries since the last call, and how many are news."""
        escapes = Escapes.concat(self._escapes)
        locs = texts(self._document, Slices.concat(self._locs), escapes)
        if not lengths(locs).all():
            raise NotPlainError  # an empty loc is noted
        slices = Slices.concat(self._lastmods)
        lastmods = texts(self._document, slices, escapes)
        sources = np.full(self.entries, -1)
        sources[slices.rows] = np.where(lengths(lastmods) > 0, np.arange(len(lastmods)), -1)
        columns = locs, lastmods.take(pa.array(sources, mask=sources < 0)), self._news
        self._begin()
        return columns

    def _check_escapes(self, marks: Marks, numbers: Numbers) -> Escapes:
        """Where characters stand for others; each reference must be one that XML knows."""
        words = self._tags.words[marks.ampersands] & _FIVE_BYTES
        references = marks.ampersands[words != _AMPERSAND]
        sections = numbers == SECTION
        is_inside = within(references, marks.starts[sections], marks.ends[sections]) >= 0
        references = references[~is_inside]
        for position in references.tolist():
            if not is_reference(self._document, position):
                raise NotPlainError
        return Escapes(marks.ampersands, np.sort(np.concatenate([references, marks.returns])))

    def _fields(self, marks: Marks, numbers: Numbers, number: int, entries: Positions) -> Slices:
        """Where the texts of an element stand: character data and sections only."""
        opening = np.flatnonzero(numbers == number)
        closing = opening + 1
        sectioned = np.flatnonzero(numbers[closing] != number + CLOSES)
        for nth in sectioned.tolist():
            while numbers[closing[nth]] == SECTION:
                closing[nth] += 1
        if (numbers[closing] != number + CLOSES).any():
            raise NotPlainError  # markup inside is noted
        return Slices(
            marks.ends[opening],
            marks.starts[closing],
            self.entries + np.searchsorted(entries, opening) - 1,
            closing > opening + 1,
        )
