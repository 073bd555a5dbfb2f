"""What a document is before it is read: where its root stands, or what it is instead."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap.parsed import NotASitemap

if TYPE_CHECKING:
    from collections import Counter

_KINDS: Final = {
    b"urlset": Kind.URLSET,
    b"sitemapindex": Kind.INDEX,
    b"rss": Kind.RSS,
    b"RDF": Kind.RSS,  # RSS 0.90 and 1.0
    b"feed": Kind.ATOM,
}
_ROOT: Final = re.compile(
    rb"<(?:[A-Za-z_][\w.-]{0,63}:)?(urlset|sitemapindex|rss|RDF|feed)(?=[\s/>])|<!--"
)
_PROLOG: Final = re.compile(rb"(?:\s|<\?[^<>]*+>|<!DOCTYPE[^<>\[]*+(?:\[[^\[\]]*+\])?+\s*+>)*+")
_EXTERNAL: Final = re.compile(rb"<!DOCTYPE\s+[^<>\[\s]+\s+(?:SYSTEM|PUBLIC)\s")
_PAGE: Final = re.compile(rb"<!DOCTYPE\s+html[\s>]|<html[\s>]", re.IGNORECASE)
_PARTS_OF_A_PAGE: Final = re.compile(
    rb"\s*<(?:html|head|body|title|meta|script|style|div|center|span|p|br|a|b|h[1-6]|form)[\s/>]",
    re.IGNORECASE,
)
_CHALLENGE: Final = re.compile(
    rb"just a moment|cf-mitigated|cf[-_]chl|challenge-platform|attention required"
    rb"|ddos protection by|checking your browser|verify(?:ing)? (?:that )?you are (?:a )?human"
    rb"|_incapsula_resource|captcha-delivery|cf-turnstile",
    re.IGNORECASE,
)
_CAPTCHA: Final = re.compile(rb"captcha", re.IGNORECASE)
_PASSWORD: Final = re.compile(rb"""\btype\s{0,9}=\s{0,9}["']?password""", re.IGNORECASE)
_APPLICATION: Final = re.compile(
    # The shell of an application may load a CAPTCHA for its forms: that challenges nobody.
    rb"""\bid\s{0,9}=\s{0,9}["']?(?:app|root|__next|__nuxt|___gatsby)["'\s>]""",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 1 << 18  # bytes of a page that are searched for such marks
_NOTHING: Final = b" \t\r\n\f\v\0"


@dataclass(frozen=True, slots=True)
class Root:
    """A root element: where its tag begins, the kind its name says, what stands before it.

    `has_dtd` says whether the prolog names an external document type, where entities could be.
    """

    position: int
    kind: Kind
    has_dtd: bool = False


def find_root(data: bytes, notes: Counter[str]) -> Root | None:
    """The root of a sitemap or a feed, behind its prolog or behind junk; None where there is none.

    The prolog is never shown to a parser, so nothing it declares can be expanded or fetched. Raises
    NotASitemap (UNSAFE_XML) when it declares entities [S2]; a bare DOCTYPE is harmless.
    """
    root = next_root(data, 0)
    if root is None:
        return None
    before = without_comments(data[: root.position])
    if b"<!ENTITY" in before:
        raise NotASitemap(Reason.UNSAFE_XML, notes)
    if _PAGE.search(before):
        return None
    if not _PROLOG.fullmatch(before):
        notes["junk_before_root"] += 1
    return replace(root, has_dtd=_EXTERNAL.search(before) is not None)


def next_root(data: bytes, position: int) -> Root | None:
    """The first root element from a position on that no comment holds."""
    while found := _ROOT.search(data, position):
        if found[1]:
            return Root(found.start(), _KINDS[found[1]])
        position = data.find(b"-->", found.end())
        if position < 0:
            break
    return None


def without_comments(data: bytes) -> bytes:
    """The bytes that no comment holds; a comment without an end holds the rest."""
    kept, position = bytearray(), 0
    while (start := data.find(b"<!--", position)) >= 0:
        kept += data[position:start]
        position = data.find(b"-->", start + 4) + 3
        if position < 3:
            return bytes(kept)
    return bytes(kept + data[position:])


def what_else(data: bytes) -> Reason:
    """What a document without a root is."""
    head = data[:_LOOKED_AT]
    if not head.strip(_NOTHING):
        return Reason.EMPTY
    if b"<!DOCTYPE" in head and b"<!ENTITY" in head:
        return Reason.UNSAFE_XML
    if not (_PAGE.search(head) or _PARTS_OF_A_PAGE.match(without_comments(head))):
        return Reason.NOT_A_SITEMAP
    if _CHALLENGE.search(head):
        return Reason.CAPTCHA
    if _PASSWORD.search(head):
        return Reason.LOGIN_PAGE
    if _CAPTCHA.search(head) and not _APPLICATION.search(head):
        return Reason.CAPTCHA
    return Reason.HTML_PAGE
