"""The metadata of a plain urlset, a column at a time, as the strict reader gathers it by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemon_spider.core.sitemap.metadata import ALTERNATE, METADATA, NEWS
from sitemon_spider.core.sitemap.scanner.marks import NotPlainError
from sitemon_spider.core.sitemap.scanner.slices import Slices, column, lengths, texts
from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.scanner.slices import Escapes, Mask
    from sitemon_spider.core.sitemap.scanner.stretch import Stretch
    from sitemon_spider.core.sitemap.scanner.words import Positions

_SINGLE: Final = {
    # Texts of which an entry has at most one.
    "changefreq": ("changefreq",),
    "priority": ("priority",),
    "publication_date": ("news:news", "news:publication_date"),
    "title": ("news:news", "news:title"),
    "name": ("news:news", "news:publication", "news:name"),
    "language": ("news:news", "news:publication", "news:language"),
}
_COUNTED: Final = {"images": ("image:image",), "videos": ("video:video",), "news": ("news:news",)}
_IMAGE: Final = ("image:image", "image:loc")
_LINK: Final = ("xhtml:link",)
_ATTRIBUTES: Final = (b"rel", b"hreflang", b"href")
_ALTERNATE: Final = b"alternate"
_LAST_CONTROL: Final = 0x1F


class Extensions:
    """Where the metadata of some entries stands, stretch after stretch, and its columns at last.

    Raises NotPlainError for what the strict reader would look at twice.
    """

    def __init__(self, document: bytes) -> None:
        self._document = document
        self._texts: dict[str, list[Slices]] = {
            name: [] for name in (*_SINGLE, "image", "lang", "href")
        }
        self._rows: dict[str, list[Positions]] = {name: [] for name in _COUNTED}

    def extend(self, stretch: Stretch) -> None:
        """Take note of what a stretch holds."""
        for name, path in _SINGLE.items():
            found = stretch.texts(stretch.number_of(*path))
            if (found.rows[1:] == found.rows[:-1]).any():
                raise NotPlainError
            self._texts[name].append(found)
        self._texts["image"].append(stretch.texts(stretch.number_of(*_IMAGE)))
        for name, path in _COUNTED.items():
            self._rows[name].append(stretch.rows(stretch.elements(stretch.number_of(*path))))
        rels, langs, hrefs = stretch.values(stretch.number_of(*_LINK), _ATTRIBUTES)
        is_alternate = self._are_alternate(rels)
        self._texts["lang"].append(langs.filter(is_alternate))
        self._texts["href"].append(hrefs.filter(is_alternate))

    def _are_alternate(self, rels: Slices) -> Mask:
        content = np.frombuffer(self._document, np.uint8)
        mask: Mask = rels.ends - rels.starts == len(_ALTERNATE)
        for nth, byte in enumerate(_ALTERNATE):
            mask[mask] = content[rels.starts[mask] + nth] == byte
        for row in np.flatnonzero(~mask).tolist():
            value = self._document[rels.starts[row] : rels.ends[row]]
            if b"&" in value:
                raise NotPlainError
            mask[row] = value.decode().strip(BLANKS).lower() == _ALTERNATE.decode()
        return mask

    def table(self, count: int, escapes: Escapes) -> pa.Table:
        """The metadata of the entries taken note of, `count` in number."""
        single = {name: column(*self._read(name, escapes), count) for name in _SINGLE}
        counts = {
            name: np.bincount(np.concatenate(rows), minlength=count).astype(np.int32)
            for name, rows in self._rows.items()
        }
        if (counts["news"] > 1).any():
            raise NotPlainError
        news = [single.pop(name) for name in NEWS.names]
        images, rows = self._read("image", escapes)
        langs, _ = self._read("lang", escapes)
        hrefs, rows_of_links = self._read("href", escapes)
        columns: dict[str, pa.Array[Any]] = {
            **single,
            "alternates": _alternates(langs, hrefs, rows_of_links, count),
            "image_count": pa.array(counts["images"]),
            "images": _images(images, rows, count),
            "video_count": pa.array(counts["videos"]),
            "news": pa.StructArray.from_arrays(
                news, fields=list(NEWS), mask=pa.array(counts["news"] == 0)
            ),
        }
        return pa.table([columns[name] for name in METADATA.names], schema=METADATA)

    def _read(self, name: str, escapes: Escapes) -> tuple[pa.StringArray, Positions]:
        slices = Slices.concat(self._texts[name])
        return texts(self._document, slices, escapes), slices.rows


def _alternates(
    langs: pa.StringArray, hrefs: pa.StringArray, rows: Positions, count: int
) -> pa.ListArray[Any]:
    for values in (langs, hrefs):
        # Blanks inside of a value are one blank to XML, whatever they are (§3.3.3).
        content = np.frombuffer(memoryview(values.buffers()[2] or b""), np.uint8)
        if content.min(initial=_LAST_CONTROL + 1) <= _LAST_CONTROL:
            raise NotPlainError
    places = np.flatnonzero((lengths(langs) > 0) & (lengths(hrefs) > 0))
    places = places[_sorted_sets(rows[places], langs.take(places), hrefs.take(places))]
    pairs = pa.StructArray.from_arrays(
        [langs.take(places), hrefs.take(places)], fields=list(ALTERNATE)
    )
    return pa.ListArray.from_arrays(_offsets(rows[places], count), pairs)


def _images(locs: pa.StringArray, rows: Positions, count: int) -> pa.ListArray[Any]:
    places = np.flatnonzero(lengths(locs) > 0)
    places = places[_sorted_sets(rows[places], locs.take(places))]
    return pa.ListArray.from_arrays(_offsets(rows[places], count), locs.take(places))


def _offsets(rows: Positions, count: int) -> pa.Int32Array:
    counts = np.bincount(rows, minlength=count)
    return pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())


def _sorted_sets(rows: Positions, *columns: pa.StringArray) -> Positions:
    """The places of the values in the order of their rows, then of the columns, each value once."""
    keys = rows.astype(np.int64)
    for values in columns:
        order = np.argsort(keys, kind="stable")
        same = keys[order[1:]] == keys[order[:-1]]
        tied = order[np.append(same, [False]) | np.append([False], same)] if len(order) else order
        if not len(tied):
            break
        ranks = np.zeros(len(keys), np.int64)
        ranks[tied] = _ranks(values.take(tied))
        keys = keys * (ranks.max() + 1) + ranks
    order = np.argsort(keys, kind="stable")
    return order[np.append([True], keys[order[1:]] != keys[order[:-1]])] if len(order) else order


def _ranks(values: pa.StringArray) -> Positions:
    encoded = values.dictionary_encode()
    ranks = pc.rank(encoded.dictionary, "ascending", tiebreaker="dense").to_numpy()
    places: Positions = ranks.astype(np.int64)[encoded.indices.to_numpy()]
    return places
