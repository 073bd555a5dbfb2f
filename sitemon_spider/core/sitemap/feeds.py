"""Feeds as sitemaps: the items of RSS 0.9x, 1.0 and 2.0 and the entries of Atom 0.3 and 1.0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sitemon_spider.core.reasons import Kind
from sitemon_spider.core.sitemap.strict import MAX_DEPTH, TooDeepError
from sitemon_spider.core.sitemap.vocabulary import split_name
from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from sitemon_spider.core.sitemap.parsed import Rows

_NAMESPACES: Final = {
    Kind.RSS: frozenset(
        {
            "",
            "http://purl.org/rss/1.0/",
            "http://my.netscape.com/rdf/simple/0.9/",
            "http://channel.netscape.com/rdf/simple/0.9/",
            "http://backend.userland.com/rss2",
            "http://blogs.law.harvard.edu/tech/rss",
        }
    ),
    Kind.ATOM: frozenset({"", "http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"}),
}
_DUBLIN_CORE: Final = "http://purl.org/dc/elements/1.1/"
_ROOTS: Final = frozenset({"rss", "RDF", "feed"})
_ENTRIES: Final = {Kind.RSS: "item", Kind.ATOM: "entry"}
_DATES: Final = {
    # The first that is there counts: when the item last changed, else when it appeared.
    Kind.RSS: ("pubDate", "dc:date"),
    Kind.ATOM: ("updated", "published", "modified", "issued"),
}
_TO_THE_PAGE: Final = frozenset(
    {"", "alternate", "http://www.iana.org/assignments/relation/alternate"}
)
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)


class FeedElements:
    """The elements of an RSS or Atom feed, appended to `Rows` as expat meets them.

    An item's URL is its `link`, else its `guid` unless that says `isPermaLink="false"` or is no
    address (RSS 2.0). In Atom it is the first link with `rel="alternate"` or none (RFC 4287
    §4.2.7.2), one to HTML before one to another type. Relative links stay relative.

    `open` and `closed` count root elements.
    """

    __slots__ = ("_kind", "_names", "_root_namespace", "_rows", "closed", "open")

    def __init__(self, kind: Kind, rows: Rows) -> None:
        self._kind = kind
        self._rows = rows
        self._names: dict[str, str] = {}
        self._root_namespace: str | None = None
        self.open = self.closed = 0

    def attach(self, parser: XMLParserType) -> None:
        """Listen to a parser outside of any root; what an earlier one left open is forgotten."""
        self.open = 0
        rows, notes = self._rows, self._rows.notes
        entry_name = _ENTRIES[self._kind]
        text_fields = {"link", "guid", *_DATES[self._kind]}
        values: dict[str, str] = {}
        text: list[str] = []
        depth, fields = 0, -1
        field = ""
        spoilt = False

        def start(name: str, attributes: list[str]) -> None:
            nonlocal depth, fields, field, spoilt
            depth += 1
            if depth > MAX_DEPTH:
                raise TooDeepError(parser.CurrentByteIndex)
            local = self._name(name)
            begins = local == entry_name or local in _ROOTS
            if fields >= 0 and begins and (depth == fields or (field and depth == fields + 1)):
                # A closing tag is missing before it: nobody can say what belongs to the open item.
                rows.lost += 1
                notes["entry_unclosed"] += 1
                fields, field = -1, ""
                parser.CharacterDataHandler = None
            if fields < 0:
                if local == entry_name:
                    values.clear()
                    fields = depth + 1
                else:
                    self.open += local in _ROOTS
            elif depth > fields:
                spoilt = True
            elif self._kind is Kind.ATOM and local == "link":
                _take_link(dict(zip(attributes[::2], attributes[1::2], strict=True)), values)
            elif local in text_fields and not _says_no_link(local, attributes):
                field, spoilt = local, False
                text.clear()
                parser.CharacterDataHandler = text.append

        def end(name: str) -> None:
            nonlocal depth, fields, field
            if depth == fields:
                if field:
                    parser.CharacterDataHandler = None
                    if spoilt:
                        notes["field_with_markup"] += 1
                        rows.lost += field == "link"
                    elif value := "".join(text).strip(BLANKS):
                        values.setdefault(field, value)
                    field = ""
            elif depth == fields - 1:
                fields = -1
                self._append(values)
            elif fields < 0 and self._name(name) in _ROOTS:
                self.open -= 1
                self.closed += 1
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def _name(self, name: str) -> str:
        """The local name of an element of the feed's own vocabulary, `dc:date`, or nothing."""
        known = self._names.get(name)
        if known is None:
            namespace, local = split_name(name)
            if self._root_namespace is None:
                self._root_namespace = namespace
            known = ""
            if namespace == self._root_namespace or namespace in _NAMESPACES[self._kind]:
                known = local
            elif namespace == _DUBLIN_CORE:
                known = "dc:" + local
            self._names[name] = known
        return known

    def _append(self, values: dict[str, str]) -> None:
        rows = self._rows
        loc = values.get("link") or values.get("link to another type")
        if not loc and _ADDRESS.match(values.get("guid", "")):
            loc = values["guid"]
        if not loc:
            rows.notes["entry_without_loc"] += 1
            return
        rows.append(
            loc, next((values[date] for date in _DATES[self._kind] if date in values), None)
        )


def _take_link(attributes: dict[str, str], values: dict[str, str]) -> None:
    href = attributes.get("href", "").strip(BLANKS)
    if href and attributes.get("rel", "").strip().lower() in _TO_THE_PAGE:
        is_page = "html" in attributes.get("type", "html").lower()
        values.setdefault("link" if is_page else "link to another type", href)


def _says_no_link(local: str, attributes: list[str]) -> bool:
    """Whether it is a `guid` that is no permalink; the default is that it is one (RSS 2.0)."""
    named = dict(zip(attributes[::2], attributes[1::2], strict=True))
    return local == "guid" and named.get("isPermaLink", "").strip().lower() == "false"
