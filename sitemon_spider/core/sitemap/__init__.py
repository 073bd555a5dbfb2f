"""Read a sitemap file: bytes in, columns out, whatever form or damage the bytes have."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap.charset import to_utf8
from sitemon_spider.core.sitemap.document import read_document
from sitemon_spider.core.sitemap.parsed import NotASitemap, ParsedSitemap, Rows
from sitemon_spider.core.sitemap.scanner import scan
from sitemon_spider.core.sitemap.sniff import find_root, what_else
from sitemon_spider.core.sitemap.text import read_text

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.sniff import Root

_LARGE: Final = 1 << 15  # from about here on the fast reader is the faster one

__all__ = ["NotASitemap", "ParsedSitemap", "parse_sitemap"]


def parse_sitemap(
    data: bytes, *, charset: str | None = None, cut: Reason | None = None
) -> ParsedSitemap:
    """Read an unpacked file by its bytes: a urlset, an index, a text, RSS or Atom.

    `charset` is that of the HTTP Content-Type, `cut` what the transport knows: that bytes are
    missing. Raises NotASitemap with the reason when the bytes are something else.
    """
    notes: Counter[str] = Counter()
    document = to_utf8(data, charset, notes)
    root = find_root(document, notes)
    if root is None:
        return _text(document, notes, cut)
    rows, is_whole = _read(document, root, notes)
    if not is_whole or rows.lost:
        cut = cut or Reason.TRUNCATED
    return rows.parsed(_kind(root.kind, rows), cut)


def _read(document: bytes, root: Root, notes: Counter[str]) -> tuple[Rows, bool]:
    rows = Rows(notes.copy())
    if root.kind is Kind.URLSET and len(document) >= _LARGE and scan(document, root.position, rows):
        return rows, True
    return read_document(document, root, notes)


def _text(document: bytes, notes: Counter[str], cut: Reason | None) -> ParsedSitemap:
    rows = Rows(notes)
    if document[:1] != b"<" and read_text(document, rows, is_cut=cut is not None):
        return rows.parsed(Kind.TEXT, cut or (Reason.TRUNCATED if rows.lost else None))
    reason = what_else(document)
    if cut and reason in {Reason.EMPTY, Reason.NOT_A_SITEMAP}:
        reason = cut  # what it was going to be, nobody knows
    raise NotASitemap(reason, notes)


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
