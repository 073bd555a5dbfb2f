"""One XML document whose root is known: read strictly, and when it is not well-formed, mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap.feeds import FeedElements
from sitemon_spider.core.sitemap.parsed import NotASitemap, Rows
from sitemon_spider.core.sitemap.repair import next_start, reread
from sitemon_spider.core.sitemap.strict import UNBOUND_PREFIX, SitemapElements, feed, new_parser

if TYPE_CHECKING:
    from collections import Counter

    from sitemon_spider.core.sitemap.sniff import Root
    from sitemon_spider.core.sitemap.strict import Elements


def read_document(
    document: bytes, root: Root, notes: Counter[str], *, metadata: bool = False
) -> tuple[Rows, bool]:
    """What a document lists, read strictly or else mended, and whether it was read to its end."""
    rows = Rows(notes.copy(), metadata=metadata)
    elements = _elements(root.kind, rows)
    parser = new_parser()
    elements.attach(parser)
    fault = feed(parser, document, root.position)
    if fault is None:
        return rows, elements.closed > 0 and not elements.open
    if (
        not elements.open
        and elements.closed
        and not next_start(document, fault.position, root.kind)
    ):
        rows.note("junk_after_root")
        return rows, True
    if fault.code == UNBOUND_PREFIX:
        notes["prefix_undeclared"] += 1
    rows = Rows(notes, metadata=metadata)
    elements = _elements(root.kind, rows)
    is_whole = reread(document[root.position :], root.kind, elements, rows)
    if root.has_dtd and notes["entity_unknown"]:
        raise NotASitemap(Reason.UNSAFE_XML, notes)  # only its document type could say what it is
    return rows, is_whole


def _elements(kind: Kind, rows: Rows) -> Elements:
    if kind in {Kind.RSS, Kind.ATOM}:
        return FeedElements(kind, rows)
    return SitemapElements(rows)
