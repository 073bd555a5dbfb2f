"""What an entry says beside its address and date: hints, translations, images, videos, news."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sitemon_spider.core.sitemap.vocabulary import ExtensionNames
from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from sitemon_spider.core.sitemap.vocabulary import SitemapTags

ALTERNATE: Final = pa.struct([("lang", pa.string()), ("href", pa.string())])
NEWS: Final = pa.struct(
    [(name, pa.string()) for name in ("publication_date", "title", "name", "language")]
)
METADATA: Final = pa.schema(
    [
        ("changefreq", pa.string()),
        ("priority", pa.string()),
        ("alternates", pa.list_(ALTERNATE)),
        ("image_count", pa.int32()),
        ("images", pa.list_(pa.string())),
        ("video_count", pa.int32()),
        ("news", NEWS),
    ]
)
"""The metadata of a file's URLs, row-aligned with their locs.

Texts are as written, trimmed, null where there is none. `alternates` (hreflang and href of
`xhtml:link rel="alternate"`) and `images` (`image:loc`) are sorted and each value once, so that
equal sets are equal; empty where there is none. The counts are of elements. `news` is null for an
entry without a `news:news`.
"""

NO_METADATA: Final[dict[str, object]] = {
    "changefreq": None,
    "priority": None,
    "alternates": [],
    "image_count": 0,
    "images": [],
    "video_count": 0,
    "news": None,
}
"""The row of a URL of which nothing more is said, as in texts and feeds."""

_IMAGE: Final = "image:image"
_VIDEO: Final = "video:video"
_NEWS: Final = "news:news"
_LINK: Final = "xhtml:link"
_IMAGE_LOC: Final = "image:image/image:loc"
_TEXTS: Final = {
    "changefreq": "changefreq",
    "priority": "priority",
    _IMAGE_LOC: "images",
    "news:news/news:publication_date": "publication_date",
    "news:news/news:title": "title",
    "news:news/news:publication/news:name": "name",
    "news:news/news:publication/news:language": "language",
}


class MetadataRows:
    """The metadata of rows while they are read: appended to a row at a time."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

    def append(self, row: dict[str, object]) -> None:
        """Append a row, which has all columns."""
        self._rows.append(row)

    def pack(self) -> pa.Table:
        """The rows appended since the last call."""
        columns = {name: [row[name] for row in self._rows] for name in METADATA.names}
        self._rows.clear()
        return pa.table(columns, METADATA)


class EntryMetadata:
    """The metadata of the entry that is open, gathered element by element.

    First `begin` an entry; then every element inside it, but for `loc` and `lastmod`, `opens` and
    `closes` at its level (0 for children of the entry); at last `commit` appends a row.
    """

    def __init__(self, rows: MetadataRows, tags: SitemapTags) -> None:
        self._rows = rows
        self._names = ExtensionNames(tags)
        self._path: list[str] = []
        self._text: list[str] = []
        self._field = ""
        self._is_spoilt = False
        self.begin()

    def attach(self, parser: XMLParserType) -> None:
        """Take texts from this parser from now on."""
        self._parser = parser

    def begin(self) -> None:
        """Forget the entry before."""
        self._field = ""
        self._texts: dict[str, str] = {}
        self._alternates: set[tuple[str, str]] = set()
        self._images: set[str] = set()
        self._counts = {_IMAGE: 0, _VIDEO: 0, _NEWS: 0}

    def opens(self, level: int, name: str, attributes: list[str]) -> None:
        """Take in an opening tag at a level below the entry."""
        if self._field:
            self._is_spoilt = True  # markup inside: which of it is the text nobody can say
            return
        del self._path[level:]
        self._path.append(self._names[name])
        path = "/".join(self._path)
        if path in _TEXTS:
            self._field, self._is_spoilt = path, False
            self._text.clear()
            self._parser.CharacterDataHandler = self._text.append
        elif path == _LINK:
            self._link(dict(zip(attributes[::2], attributes[1::2], strict=True)))
        elif path in self._counts:
            self._counts[path] += 1

    def closes(self, level: int) -> None:
        """Take in the closing tag at a level below the entry."""
        if not self._field or level + 1 != len(self._path):
            return
        self._parser.CharacterDataHandler = None
        text = "".join(self._text).strip(BLANKS)
        if text and not self._is_spoilt:
            if self._field == _IMAGE_LOC:
                self._images.add(text)
            elif self._counts[_NEWS] < 2:  # of two news the first counts
                self._texts.setdefault(_TEXTS[self._field], text)
        self._field = ""

    def _link(self, attributes: dict[str, str]) -> None:
        lang, href = (attributes.get(name, "").strip(BLANKS) for name in ("hreflang", "href"))
        if attributes.get("rel", "").strip(BLANKS).lower() == "alternate" and lang and href:
            self._alternates.add((lang, href))

    def commit(self) -> None:
        """Append the row of the entry."""
        texts = self._texts
        if not (texts or self._alternates or any(self._counts.values())):
            self._rows.append(NO_METADATA)
            return
        alternates = [{"lang": lang, "href": href} for lang, href in sorted(self._alternates)]
        news = {name: texts.get(name) for name in NEWS.names} if self._counts[_NEWS] else None
        self._rows.append(
            {
                "changefreq": texts.get("changefreq"),
                "priority": texts.get("priority"),
                "alternates": alternates,
                "image_count": self._counts[_IMAGE],
                "images": sorted(self._images),
                "video_count": self._counts[_VIDEO],
                "news": news,
            }
        )
