"""The strict reader: expat over one document, straight into columns, no tree in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from xml.parsers import expat

from sitemon_spider.core.sitemap.metadata import EntryMetadata
from sitemon_spider.core.sitemap.vocabulary import (
    CHILD,
    ENTRY,
    LASTMOD,
    LOC,
    NEWS_ITEM,
    OTHER,
    ROOT,
    SEPARATOR,
    SitemapTags,
)
from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.parsed import Rows

MAX_DEPTH: Final = 256  # a sitemap is four deep, a feed with markup perhaps twenty
UNBOUND_PREFIX: Final = expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]
_CHUNK: Final = 1 << 18
_MAX_TOKEN: Final = 1 << 20  # bytes of one tag or comment: expat keeps it and reads it anew
_MAX_NAMES: Final = 1 << 14  # different names in one document: expat keeps every one
_AT_THE_END: Final = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Where and why a document stops being well-formed: a position in it and expat's error code.

    The code is 0 for what XML allows and no honest document has: nesting, tags or vocabularies
    without measure.
    """

    position: int
    code: int = 0


class TooDeepError(Exception):
    """The document is nested deeper than MAX_DEPTH, at this byte of what the parser was fed."""


class Elements(Protocol):
    """The elements of one vocabulary, appended to rows as a parser meets them.

    `open` and `closed` count root elements.
    """

    open: int
    closed: int

    def attach(self, parser: expat.XMLParserType) -> None:
        """Listen to a parser outside of any root; what an earlier one left open is forgotten."""


class SitemapElements:
    """The elements of a `urlset` or a `sitemapindex`, appended to `Rows` as expat meets them.

    An entry is appended at its closing tag, so one that is cut or damaged never is. Only direct
    children of an entry count: an `image:loc` is no page (sitemaps.org, extending the protocol).

    `open` and `closed` count root elements.
    """

    __slots__ = ("_extra", "_rows", "_tags", "closed", "open")

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._tags = SitemapTags()
        self._extra = EntryMetadata(rows.metadata, self._tags) if rows.metadata else None
        self.open = self.closed = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        """Listen to a parser outside of any root; what an earlier one left open is forgotten."""
        self.open = 0
        rows, notes, tag_of, extra = self._rows, self._rows.notes, self._tags, self._extra
        text: list[str] = []
        add_text = text.append
        # `fields` is the depth of the fields of the open entry, -1 outside of entries. All are
        # local variables: the two functions run half a million times in a large file.
        depth, fields = 0, -1
        entry = field = OTHER
        spoilt = is_news = False
        loc = lastmod = ""

        def start(name: str, _attributes: object) -> None:
            nonlocal depth, fields, entry, field, spoilt, is_news, loc, lastmod
            depth += 1
            if depth == fields:
                tag = tag_of[name]
                if tag >= LOC:
                    field, spoilt = tag, False
                    text.clear()
                    parser.CharacterDataHandler = add_text
                    return
                if tag < ROOT:
                    is_news = is_news or tag == NEWS_ITEM
                    return
            elif fields < 0:
                tag = tag_of[name]
            else:
                spoilt = True
                tag = tag_of[name] if field and depth == fields + 1 else OTHER
            if fields >= 0 and ROOT <= tag <= CHILD:
                # A closing tag is missing before it: nobody can say what belongs to the open entry.
                rows.lost += 1
                notes["entry_unclosed"] += 1
                fields, field = -1, OTHER
                parser.CharacterDataHandler = None
            if depth > MAX_DEPTH:
                raise TooDeepError(parser.CurrentByteIndex)
            if ENTRY <= tag <= CHILD:
                entry, fields = tag, depth + 1
                is_news = False
                loc = lastmod = ""
            elif tag == ROOT:
                self.open += 1

        def end(name: str) -> None:
            nonlocal depth, fields, field, loc, lastmod
            if depth == fields:
                if field:
                    parser.CharacterDataHandler = None
                    value = "".join(text).strip(BLANKS)
                    if spoilt:
                        # Markup inside: which of it is the text nobody can say.
                        value = ""
                        notes["field_with_markup"] += 1
                        rows.lost += field == LOC
                    if field == LASTMOD:
                        lastmod = lastmod or value
                    elif not loc:
                        loc = value
                    elif value:
                        notes["loc_repeated"] += 1
                    field = OTHER
            elif depth == fields - 1:
                fields = -1
                if not loc:
                    notes["entry_without_loc"] += 1
                elif entry == CHILD:
                    rows.children.append(loc)
                else:
                    rows.news += is_news
                    rows.locs.append(loc)
                    rows.lastmods.append(lastmod or None)
                    if extra is not None:
                        extra.commit()
                    if len(rows.locs) == rows.batch:
                        rows.pack()
            elif fields < 0 and tag_of[name] == ROOT:
                self.open -= 1
                self.closed += 1
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        if extra is None:
            return
        extra.attach(parser)

        def start_all(name: str, attributes: list[str]) -> None:
            start(name, attributes)
            if depth == fields - 1:
                extra.begin()
            elif depth >= fields > 0 and not field:
                extra.opens(depth - fields, name, attributes)

        def end_all(name: str) -> None:
            if depth >= fields > 0 and not field:
                extra.closes(depth - fields)
            end(name)

        parser.StartElementHandler = start_all
        parser.EndElementHandler = end_all


def new_parser() -> expat.XMLParserType:
    """Return a parser of UTF-8 that knows namespaces and keeps text together."""
    parser = expat.ParserCreate("utf-8", SEPARATOR)
    parser.buffer_text = True
    parser.ordered_attributes = True
    return parser


def feed(parser: expat.XMLParserType, data: bytes, start: int, fed: int = 0) -> Fault | None:
    """Feed data from `start` to its end; the first fault, None when it merely ends, whole or not.

    `fed` is the number of bytes the parser was given before. The parser is of no use afterwards.
    """
    try:
        return _fault(parser, memoryview(data), start, start - fed)
    finally:
        # Parser and callbacks know each other; without this each pair waits for the collector.
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.CharacterDataHandler = None


def _fault(parser: expat.XMLParserType, view: memoryview, start: int, base: int) -> Fault | None:
    for at in range(start, len(view), _CHUNK):
        end = at + _CHUNK
        try:
            parser.Parse(view[at:end], end >= len(view))
        except expat.ExpatError as error:
            if error.code in _AT_THE_END:
                return None
            return Fault(base + parser.ErrorByteIndex, error.code)
        except TooDeepError as error:
            return Fault(base + error.args[0])
        position = base + parser.CurrentByteIndex
        if end - position > _MAX_TOKEN or len(parser.intern) > _MAX_NAMES:
            return Fault(position)
    return None
