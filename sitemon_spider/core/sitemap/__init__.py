"""Read a sitemap file: bytes in, columns out, whatever form or damage the bytes have."""

from __future__ import annotations

from collections import Counter
from typing import Final

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap.charset import to_utf8
from sitemon_spider.core.sitemap.document import read_document
from sitemon_spider.core.sitemap.metadata import METADATA
from sitemon_spider.core.sitemap.parsed import NotASitemap, ParsedSitemap, Rows
from sitemon_spider.core.sitemap.scanner import scan
from sitemon_spider.core.sitemap.sniff import find_root, what_else
from sitemon_spider.core.sitemap.text import read_text

_LARGE: Final = 1 << 15  # from about here on the fast reader is the faster one

__all__ = ["METADATA", "NotASitemap", "ParsedSitemap", "parse_sitemap"]


def parse_sitemap(
    data: bytes,
    *,
    charset: str | None = None,
    cut: Reason | None = None,
    metadata: bool = False,
) -> ParsedSitemap:
    """Read an unpacked file by its bytes: a urlset, an index, a text, RSS or Atom.

    `charset` is that of the HTTP Content-Type, `cut` what the transport knows: that bytes are
    missing. With `metadata` the table of what entries say beside address and date comes along.
    Raises NotASitemap with the reason when the bytes are something else.
    """
    notes: Counter[str] = Counter()
    document = to_utf8(data, charset, notes)
    root = find_root(document, notes)
    rows = Rows(notes.copy(), metadata=metadata)
    if root is None:
        return _text(document, rows, cut)
    is_plain = root.kind is Kind.URLSET and len(document) >= _LARGE
    if is_plain and scan(document, root.position, rows):
        is_whole = True
    else:
        rows, is_whole = read_document(document, root, notes, metadata=metadata)
    if not is_whole or rows.lost:
        cut = cut or Reason.TRUNCATED
    return rows.parsed(_kind(root.kind, rows), cut)


def _text(document: bytes, rows: Rows, cut: Reason | None) -> ParsedSitemap:
    if document[:1] != b"<" and read_text(document, rows, is_cut=cut is not None):
        return rows.parsed(Kind.TEXT, cut or (Reason.TRUNCATED if rows.lost else None))
    reason = what_else(document)
    if cut and reason in {Reason.EMPTY, Reason.NOT_A_SITEMAP}:
        reason = cut  # what it was going to be, nobody knows
    raise NotASitemap(reason, rows.notes)


def _kind(of_root: Kind, rows: Rows) -> Kind:
    """The kind by what is listed; the root decides where both are, or nothing is."""
    urls = len(rows)
    kind = of_root
    if kind is Kind.URLSET and rows.children and not urls:
        kind = Kind.INDEX
    elif kind is Kind.INDEX and urls and not rows.children:
        kind = Kind.URLSET
    if kind is Kind.URLSET and rows.news and 2 * rows.news >= urls:
        kind = Kind.NEWS
    return kind
