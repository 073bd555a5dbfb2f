"""Element names that count, by namespace: sitemaps, their extensions, and feeds."""

from __future__ import annotations

import re
from typing import Final

SEPARATOR: Final = "\f"
"""Between namespace and local name in expat's names: a character no XML document can hold."""

SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_SITEMAP_VARIANT: Final = re.compile(
    # What generators write for it: the schemes, no www, a final slash, and Google's elder versions.
    r"\s*(?:https?:)?//(?:www\.)?(?:sitemaps\.org|google\.com)/schemas/sitemap/0\.(?:84|9|90)/?\s*",
    re.IGNORECASE,
)
_EXTENSIONS: Final = {
    "news": re.compile(
        r"\s*(?:https?:)?//(?:www\.)?google\.com/schemas/sitemap-news/0\.9/?\s*", re.IGNORECASE
    ),
    "image": re.compile(
        r"\s*(?:https?:)?//(?:www\.)?google\.com/schemas/sitemap-image/1\.[01]/?\s*", re.IGNORECASE
    ),
    "video": re.compile(
        r"\s*(?:https?:)?//(?:www\.)?google\.com/schemas/sitemap-video/1\.[01]/?\s*", re.IGNORECASE
    ),
    "xhtml": re.compile(
        r"\s*https?://www\.w3\.org/(?:1999/xhtml|TR/xhtml11/xhtml11_schema\.html|2002/06/xhtml2)/?\s*",
        re.IGNORECASE,
    ),
}

# What an element is to the reader. Plain integers, and in this order, because a large file has
# half a million of them compared: fields last, before them what may hold entries or is one.
OTHER: Final = 0  # skipped with all that it holds
NEWS_ITEM: Final = 1
ROOT: Final = 2  # holds entries
ENTRY: Final = 3  # lists a URL
CHILD: Final = 4  # lists a further sitemap file
LOC: Final = 5
LASTMOD: Final = 6

_SITEMAP_TAGS: Final = {
    "urlset": ROOT,
    "sitemapindex": ROOT,
    "url": ENTRY,
    "sitemap": CHILD,
    "loc": LOC,
    "lastmod": LASTMOD,
}


def split_name(name: str) -> tuple[str, str]:
    """Namespace (empty for none) and local name of a name as expat reports it."""
    namespace, _, local = name.rpartition(SEPARATOR)
    return namespace, local


def extension_of(namespace: str) -> str:
    """The usual prefix of a known extension's namespace, as written or in a variant; else empty."""
    return next((name for name, known in _EXTENSIONS.items() if known.fullmatch(namespace)), "")


def is_sitemap_namespace(namespace: str) -> bool:
    """Whether it is the protocol's namespace, as written or in a known variant."""
    return namespace == SITEMAP or _SITEMAP_VARIANT.fullmatch(namespace) is not None


class SitemapTags(dict[str, int]):
    """Name as expat reports it → what it is, in one document.

    Counted are elements in a sitemap namespace, in none, or in the root's own (that of the first
    name asked for), whatever that is: a mistyped namespace is a fault of form, no reason to lose a
    site.
    """

    root_namespace: str | None = None

    def __missing__(self, name: str) -> int:
        """Classify a name met for the first time."""
        namespace, local = split_name(name)
        tag = OTHER
        if self.root_namespace is None:
            self.root_namespace = namespace
        if self.is_own(namespace):
            tag = _SITEMAP_TAGS.get(local, OTHER)
        elif local == "news" and extension_of(namespace) == "news":
            tag = NEWS_ITEM
        self[name] = tag
        return tag

    def is_own(self, namespace: str) -> bool:
        """Whether elements in a namespace are the sitemap's."""
        return not namespace or namespace == self.root_namespace or is_sitemap_namespace(namespace)


class ExtensionNames(dict[str, str]):
    """Name as expat reports it → its usual one: `image:loc`, `priority`; empty for the unknown."""

    def __init__(self, tags: SitemapTags) -> None:
        super().__init__()
        self._tags = tags

    def __missing__(self, name: str) -> str:
        """Name an element met for the first time."""
        namespace, local = split_name(name)
        extension = "" if self._tags.is_own(namespace) else extension_of(namespace)
        known = (
            f"{extension}:{local}" if extension else local if self._tags.is_own(namespace) else ""
        )
        self[name] = known
        return known
