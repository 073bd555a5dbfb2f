"""The tags of a plain urlset, told apart a column at a time: where they stand → what they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sitemon_spider.core.sitemap.scanner.marks import NotPlainError
from sitemon_spider.core.sitemap.scanner.slices import within
from sitemon_spider.core.sitemap.scanner.words import WORD, WordTable
from sitemon_spider.core.sitemap.vocabulary import extension_of

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.scanner.marks import Marks
    from sitemon_spider.core.sitemap.scanner.words import Numbers, Positions, Words

# A tag's number is three times that of its element's name, and then what it does.
OPENS, CLOSES, STANDS_ALONE = range(3)
URL, LOC, LASTMOD = (3 * name for name in range(1, 4))
SECTION: Final = 12  # CDATA, which is no element
_FIRST_OTHER: Final = 5
_NAMES: Final = 84  # that a byte has room for, but for one:
NOWHERE: Final = 3 * _NAMES  # no tag's number

_OWN: Final = {b"url": URL // 3, b"loc": LOC // 3, b"lastmod": LASTMOD // 3}
_NOT_INSIDE: Final = frozenset({b"urlset", b"sitemap", b"sitemapindex"})
_SHAPE: Final = re.compile(
    rb'<(/)?((?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*))((?:[ \t\r\n]+[A-Za-z_][\w.-]*="")*)'
    rb"[ \t\r\n]*(/)?>"
)
_SECTION_BEGIN: Final = int.from_bytes(b"<![CDATA", "little")
_SECTION_END: Final = int.from_bytes(b"]]>", "little")
_SHORTEST_SECTION: Final = len(b"<![CDATA[]]>")
_LONGEST_PIECE: Final = 256
_MAX_SHAPES: Final = 256  # each is looked for in every stretch
_MAX_PIECES: Final = 8  # of one tag, each a byte of a word: seven attributes


@dataclass(frozen=True, slots=True)
class Shaped:
    """The tags of a stretch that were found by their shapes.

    `tags` are their places among all, `keys` name their shapes; the values of a tag stand between
    its quotes, the first of which is the `first_quotes`-th of all `quotes`.
    """

    tags: Positions
    keys: Words
    first_quotes: Positions
    quotes: Positions


class Tags:
    """The tags of one document, each learned when it is met and found by its bytes from then on.

    Tags without attributes are found whole. Of the others the shape counts, which is the tag
    without its values: the pieces between quotes are found, and the tag by its sequence of pieces.
    """

    def __init__(self, document: bytes, prefixes: dict[bytes, str]) -> None:
        """`prefixes` are those that the root declares, with their namespaces."""
        self._document = document
        self._prefixes = prefixes
        self._names = dict(_OWN)
        self._tags = WordTable(document)
        self._pieces = WordTable(document)
        self._piece_numbers: dict[bytes, int] = {}
        self._shapes: dict[int, int] = {}
        self.attributes: dict[int, list[bytes]] = {}
        """By the key of a shape, the names of its attributes."""
        self.roles: dict[str, int] = {}
        """The numbers of elements by their usual names, as `image:loc` or `priority`."""
        self.words = self._tags.words

    @property
    def names(self) -> int:
        """How many names of elements were met."""
        return len(self._names)

    def numbers(self, marks: Marks) -> tuple[Numbers, Shaped]:
        """The numbers of the tags of a stretch, and what is known of those with attributes.

        Raises NotPlainError for what is no element's tag, or one that the strict reader would look
        at twice.
        """
        starts, ends = marks.starts, marks.ends
        numbers = self._tags.find(starts, ends)
        unknown = np.flatnonzero(numbers == 0)
        is_section = self.words[starts[unknown]] == _SECTION_BEGIN
        sections, others = unknown[is_section], unknown[~is_section]
        self._check_sections(starts[sections], ends[sections])
        numbers[sections] = SECTION
        numbers[others], shaped = self._of_shapes(others, marks)
        return numbers, shaped

    def _check_sections(self, starts: Positions, ends: Positions) -> None:
        is_whole = (
            (self.words[starts + 1] >> 56 == ord("["))
            & (self.words[ends - WORD] >> 40 == _SECTION_END)
            & (ends - starts >= _SHORTEST_SECTION)
        )
        if not is_whole.all():
            raise NotPlainError

    def _of_shapes(self, places: Positions, marks: Marks) -> tuple[Numbers, Shaped]:
        """The numbers of tags, each found by the pieces between its quotes."""
        starts, ends, quotes = marks.starts[places], marks.ends[places], marks.quotes
        tags = within(quotes, starts, ends)
        quotes, tags = quotes[tags >= 0], tags[tags >= 0]
        counts = np.bincount(tags, minlength=len(starts))
        if (counts % 2).any() or (counts >= 2 * _MAX_PIECES).any():
            raise NotPlainError
        first_quotes = np.cumsum(counts) - counts
        counts = counts // 2 + 1
        last_pieces = np.cumsum(counts) - 1
        first_pieces = last_pieces - counts + 1
        # Each tag begins a piece, and so does each closing quote; where one ends likewise.
        pieces = self._find_pieces(
            _merged(starts, first_pieces, quotes[1::2]),
            _merged(ends, last_pieces, quotes[0::2] + 1),
        ).astype(np.uint64)
        keys = np.zeros(len(starts), np.uint64)
        for nth in range(int(counts.max(initial=0))):
            rows = np.flatnonzero(counts > nth)
            keys[rows] |= pieces[first_pieces[rows] + nth] << np.uint64(8 * nth)
        numbers = np.zeros(len(starts), np.uint8)
        for key, number in self._shapes.items():
            numbers[keys == key] = number
        while len(unknown := np.flatnonzero(numbers == 0)):
            if len(self._shapes) == _MAX_SHAPES:
                raise NotPlainError
            key = int(keys[unknown[0]])
            self._shapes[key] = self._of_pieces(key)
            numbers[keys == key] = self._shapes[key]
        return numbers, Shaped(places, keys, first_quotes, quotes)

    def _find_pieces(self, starts: Positions, ends: Positions) -> Numbers:
        pieces = self._pieces.find(starts, ends)
        for nth in np.flatnonzero(pieces == 0).tolist():
            if ends[nth] - starts[nth] > _LONGEST_PIECE:
                raise NotPlainError
            piece = self._document[starts[nth] : ends[nth]]
            number = self._piece_numbers.get(piece)
            if number is None:
                number = self._piece_numbers[piece] = len(self._piece_numbers) + 1
                if number >= 256:
                    raise NotPlainError
                self._pieces.keep(piece, number)
            pieces[nth] = number
        return pieces

    def _of_pieces(self, key: int) -> int:
        texts = list(self._piece_numbers)
        pieces = [texts[nth - 1] for nth in key.to_bytes(_MAX_PIECES, "little") if nth]
        number, self.attributes[key] = self._of_shape(b"".join(pieces))
        if len(pieces) == 1:
            self._tags.keep(pieces[0], number)
        return number

    def _of_shape(self, shape: bytes) -> tuple[int, list[bytes]]:
        found = _SHAPE.fullmatch(shape)
        if not found:
            raise NotPlainError
        closes, name, prefix, local, attributes, stands_alone = found.groups()
        names = [attribute.partition(b"=")[0] for attribute in attributes.split()]
        if len(set(names)) < len(names) or b"xmlns" in names:
            raise NotPlainError
        if (closes or name in _OWN) and (attributes or stands_alone):
            raise NotPlainError
        what = CLOSES if closes else STANDS_ALONE if stands_alone else OPENS
        return 3 * self._of_name(name, prefix, local) + what, names

    def _of_name(self, name: bytes, prefix: bytes | None, local: bytes) -> int:
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = _FIRST_OTHER + len(self._names) - len(_OWN)
            if number >= _NAMES or name in _NOT_INSIDE:
                raise NotPlainError
            role = local.decode()
            if prefix is not None:
                if prefix not in self._prefixes:
                    raise NotPlainError
                namespace = self._prefixes[prefix]
                role = f"{extension_of(namespace) or namespace}:{role}"
            if self.roles.setdefault(role, 3 * number) != 3 * number:
                raise NotPlainError
        return number


def _merged(some: Positions, places: Positions, others: Positions) -> Positions:
    """Some positions at their places, and the others, in order, at the places that are left."""
    merged = np.empty(len(some) + len(others), np.int64)
    is_other = np.ones(len(merged), np.bool_)
    is_other[places] = False
    merged[places] = some
    merged[is_other] = others
    return merged
