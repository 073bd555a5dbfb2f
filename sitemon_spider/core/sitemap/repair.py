"""The second reading, of a document that is not well-formed: mend what is plain, skip what is not.

No parser that recovers is asked: those invent URLs out of raw ampersands, unknown entities and cut
tails. What has one plain meaning is mended in the bytes, and they are read strictly; an entry with
an error inside is left out, and the reading goes on at the next.
"""

from __future__ import annotations

import re
from html.entities import name2codepoint
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap.parsed import NotASitemap
from sitemon_spider.core.sitemap.strict import Fault, feed, new_parser

if TYPE_CHECKING:
    from collections import Counter

    from sitemon_spider.core.sitemap.parsed import Rows
    from sitemon_spider.core.sitemap.strict import Elements

_SECTION: Final = re.compile(rb"<!--|<!\[CDATA\[|<\?")
_SECTION_ENDS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_ENTITY: Final = re.compile(rb"&(#?[\w.-]{1,31});")
_HTML_ENTITIES: Final = {
    name.encode(): chr(code).encode()
    for name, code in name2codepoint.items()
    if name not in {"amp", "lt", "gt", "quot"}  # which are XML's own
}
_KEPT: Final = b"\xff"  # stands for the ampersand of an entity; no byte of UTF-8
_MAX_AMPERSANDS: Final = 1_000_000  # twenty in each URL: an honest file has fewer
_PIECE: Final = 1 << 18

_MAX_FAULTS: Final = 50_000  # as many as a file may have entries; each costs a new parser
_TAG: Final = re.compile(rb"""<((?:[^<>"'/]|"[^<"]*+"|'[^<']*+')*+)/?>""")
_TAG_NAME: Final = re.compile(rb"<[\w.:-]+")
_STARTS: Final = {
    kind: re.compile(rb"<(?:[A-Za-z_][\w.-]{0,63}:)?(?:(%s)|%s)(?=[\s/>])" % (roots, entries))
    for kinds, roots, entries in (
        ((Kind.URLSET, Kind.INDEX), b"urlset|sitemapindex", b"url|sitemap"),
        ((Kind.RSS,), b"rss|RDF", b"item"),
        ((Kind.ATOM,), b"feed", b"entry"),
    )
    for kind in kinds
}
_PREFIX: Final = re.compile(rb"[<\s/]([A-Za-z_][\w.-]{0,63}):(?=[A-Za-z_])")
_MAX_PREFIXES: Final = 256
_NAMESPACES: Final = {
    b"news": b"http://www.google.com/schemas/sitemap-news/0.9",
    b"dc": b"http://purl.org/dc/elements/1.1/",
}
_CONTROLS: Final = frozenset([*range(0x20), 0xEF]) - frozenset(b"\t\n\r")  # 0xEF begins U+FFFF
_INVALID_TOKEN: Final = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
_NOTES: Final = {
    0: "beyond_measure",
    expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]: "tag_mismatch",
    expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]: "entity_unknown",
    expat.errors.codes[expat.errors.XML_ERROR_BAD_CHAR_REF]: "control_character",
}


def next_start(data: bytes, position: int, kind: Kind) -> re.Match[bytes] | None:
    """The next tag that opens an entry or a root (group 1) of a kind of document."""
    return _STARTS[kind].search(data, position)


def mend(document: bytes, notes: Counter[str]) -> bytes:
    """The document with what has one plain meaning put right, in linear time.

    An ampersand that begins no entity is escaped, HTML's entities become their characters; CDATA
    becomes escaped text, comments and processing instructions go: so every `<` that is left is
    meant as markup. Notes: `ampersand_repaired`, `entity_repaired`.
    """
    mended = bytearray()
    position = 0
    while found := _SECTION.search(document, position):
        _mend_markup(document, position, found.start(), mended, notes)
        mark = _SECTION_ENDS[found[0]]
        end = document.find(mark, found.end())
        if end < 0:
            return bytes(mended)  # it holds all the rest: the document is cut
        if mark == b"]]>":
            mended += _escaped(document[found.end() : end])
        position = end + len(mark)
    _mend_markup(document, position, len(document), mended, notes)
    return bytes(mended)


def _mend_markup(
    document: bytes, start: int, stop: int, mended: bytearray, notes: Counter[str]
) -> None:
    """Append a stretch without sections, a piece at a time, each cut before an ampersand."""
    while start < stop:
        end = start + _PIECE
        if end < stop:
            ampersand = document.rfind(b"&", start + 1, end)
            end = ampersand if ampersand > 0 else end
        piece = document[start : min(end, stop)]
        if b"&" in piece:
            piece = _ENTITY.sub(lambda entity: _character(entity, notes), piece)
            raw = piece.count(b"&")
            if raw and notes["ampersand_repaired"] < _MAX_AMPERSANDS:
                notes["ampersand_repaired"] += raw
                piece = piece.replace(b"&", b"&amp;")
            piece = piece.replace(_KEPT, b"&")
        mended += piece
        start = end


def _character(entity: re.Match[bytes], notes: Counter[str]) -> bytes:
    """HTML's character, or the entity itself for the parser to judge."""
    character = _HTML_ENTITIES.get(entity[1])
    if character is None:
        return _KEPT + entity[1] + b";"
    notes["entity_repaired"] += 1
    return character


def _escaped(text: bytes) -> bytes:
    return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")


def reread(document: bytes, kind: Kind, elements: Elements, rows: Rows) -> bool:
    """Append what a document lists that begins with its root; whether it was read to its end.

    Each error costs a parser: the next one begins at the next entry, or at the next root of
    documents glued together. `rows.lost` counts the errors that may have cost an entry. Raises
    NotASitemap (UNSAFE_XML) when a document behind the first declares entities [S2].
    """
    data = mend(document, rows.notes)
    if b"<!ENTITY" in data:
        raise NotASitemap(Reason.UNSAFE_XML, rows.notes)
    frame, contexts = _frame(data), _Contexts(data, kind)
    position, context = 0, b""
    for _ in range(_MAX_FAULTS):
        fault = _read(data, position, frame, context, elements)
        if fault is None:
            return elements.closed > 0 and not elements.open
        start = next_start(data, max(fault.position, position + 1), kind)
        if not elements.open and elements.closed and (start is None or start[1]):
            rows.note("junk_after_root")
            if start is None:
                return True
        elif elements.open or elements.closed or start is None:
            rows.note(_reason(data, fault))
            rows.lost += 1
        else:
            rows.note("root_repaired")
        if start is None:
            return False
        position = start.start()
        context = b"" if start[1] else contexts.at(position, frame)
    rows.lost += 1
    rows.note("too_many_errors")
    return False


def _read(
    data: bytes, position: int, frame: bytes, context: bytes, elements: Elements
) -> Fault | None:
    """Read from a position to the next fault, as if inside of the frame and of an open root."""
    parser = new_parser()
    parser.Parse(frame, False)
    elements.attach(parser)
    parser.Parse(context, False)
    return feed(parser, data, position, len(frame) + len(context))


def _frame(data: bytes) -> bytes:
    """The opening tag of an element that is ours: it holds any number of roots.

    It declares every prefix that occurs, for documents that forget to.
    """
    prefixes: set[bytes] = set()
    for found in _PREFIX.finditer(data):
        prefixes.add(found[1])
        if len(prefixes) == _MAX_PREFIXES:
            break
    return b"<frame%s>" % b"".join(
        b' xmlns:%s="%s"' % (prefix, _NAMESPACES.get(prefix, b"urn:undeclared:" + prefix))
        for prefix in sorted(prefixes - {b"xml", b"xmlns"})
    )


class _Contexts:
    """The roots of a document, asked for from its beginning to its end."""

    def __init__(self, data: bytes, kind: Kind) -> None:
        self._data = data
        self._kind = kind
        self._looked = 0
        self._root = 0
        self._tag = b""

    def at(self, position: int, frame: bytes) -> bytes:
        """The opening tag of the last root before a position, without what makes it malformed."""
        last = None
        for start in _STARTS[self._kind].finditer(self._data, self._looked, position):
            last = start if start[1] else last
        self._looked = position
        if last is not None:
            self._tag = _opening_tag(self._data, last.start(), frame)
        return self._tag


def _opening_tag(data: bytes, position: int, frame: bytes) -> bytes:
    found = _TAG.match(data, position)
    if found:
        tag = b"<%s>" % found[1]
        try:
            new_parser().Parse(frame + tag, False)
        except expat.ExpatError:
            pass
        else:
            return tag
    name = _TAG_NAME.match(data, position)
    return name[0] + b">" if name else b""


def _reason(data: bytes, fault: Fault) -> str:
    if fault.code == _INVALID_TOKEN and data[fault.position] in _CONTROLS:
        return "control_character"
    return _NOTES.get(fault.code, "malformed")
