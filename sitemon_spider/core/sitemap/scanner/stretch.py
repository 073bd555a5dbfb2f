"""One stretch of a plain urlset: whole entries, proved, with the places of whatever they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sitemon_spider.core.sitemap.scanner.marks import NotPlainError, find_marks
from sitemon_spider.core.sitemap.scanner.slices import Escapes, Slices, is_reference, within
from sitemon_spider.core.sitemap.scanner.tags import CLOSES, NOWHERE, SECTION, STANDS_ALONE, URL

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.scanner.nesting import Nesting
    from sitemon_spider.core.sitemap.scanner.tags import Tags
    from sitemon_spider.core.sitemap.scanner.words import Positions

_AMPERSAND: Final = np.uint64(int.from_bytes(b"&amp;", "little"))
_FIVE_BYTES: Final = np.uint64((1 << 40) - 1)


class Stretch:
    """The tags of a stretch, known and nested rightly; rows are counted from `first_row`.

    Raises NotPlainError where the proof fails.
    """

    def __init__(
        self,
        document: bytes,
        position: int,
        stop: int,
        tags: Tags,
        nesting: Nesting,
        first_row: int,
    ) -> None:
        self._document = document
        self._marks = find_marks(document, position, stop)
        self.numbers, self.shaped = tags.numbers(self._marks)
        nesting.check(self.numbers, tags.names)
        self._tags = tags
        self._nesting = nesting
        self._entries = np.flatnonzero(self.numbers == URL)
        self._first_row = first_row
        self.escapes = self._check_escapes()

    def __len__(self) -> int:
        return len(self._entries)

    def _check_escapes(self) -> Escapes:
        """Where characters stand for others; each reference must be one that XML knows."""
        marks = self._marks
        words = self._tags.words[marks.ampersands] & _FIVE_BYTES
        references = marks.ampersands[words != _AMPERSAND]
        sections = self.numbers == SECTION
        is_inside = within(references, marks.starts[sections], marks.ends[sections]) >= 0
        references = references[~is_inside]
        for position in references.tolist():
            if not is_reference(self._document, position):
                raise NotPlainError
        return Escapes(marks.ampersands, np.sort(np.concatenate([references, marks.returns])))

    def number_of(self, *path: str) -> int:
        """The number of an element by the usual names of what it stands in, from below `url`.

        NOWHERE when none was met so far.
        """
        number = URL
        for role in path:
            parent, number = number // 3, self._tags.roles.get(role, NOWHERE)
            if self._nesting.parents.get(number // 3) != parent:
                return NOWHERE
        return number

    def rows(self, tags: Positions) -> Positions:
        """The rows of the entries that tags stand in."""
        return self._first_row + np.searchsorted(self._entries, tags) - 1

    def elements(self, number: int) -> Positions:
        """The tags of a number that open an element or stand alone."""
        return np.flatnonzero((self.numbers == number) | (self.numbers == number + STANDS_ALONE))

    def texts(self, number: int) -> Slices:
        """Where the texts of an element stand: character data and sections only."""
        marks, numbers = self._marks, self.numbers
        opening = np.flatnonzero(numbers == number)
        closing = opening + 1
        sectioned = np.flatnonzero(numbers[closing] != number + CLOSES)
        for nth in sectioned.tolist():
            while numbers[closing[nth]] == SECTION:
                closing[nth] += 1
        if (numbers[closing] != number + CLOSES).any():
            raise NotPlainError  # markup inside is noted
        return Slices(
            marks.ends[opening], marks.starts[closing], self.rows(opening), closing > opening + 1
        )

    def values(self, number: int, names: tuple[bytes, ...]) -> list[Slices]:
        """Where the values of attributes stand in the elements that have them all, row-aligned."""
        shaped = self.shaped
        kinds = self.numbers[shaped.tags]
        is_wanted = (kinds == number) | (kinds == number + STANDS_ALONE)
        places, quotes = [np.empty(0, np.int64)], [np.empty((len(names), 0), np.int64)]
        for key, has in self._tags.attributes.items():
            if not set(names) <= set(has):
                continue
            found = np.flatnonzero(is_wanted & (shaped.keys == np.uint64(key)))
            places.append(found)
            offsets = np.array([[2 * has.index(name)] for name in names])
            quotes.append(shaped.first_quotes[found] + offsets)
        at = np.concatenate(places)
        order = np.argsort(at)
        rows = self.rows(shaped.tags[at[order]])
        plain = np.zeros(len(rows), np.bool_)
        return [
            Slices(shaped.quotes[first] + 1, shaped.quotes[first + 1], rows, plain)
            for first in np.concatenate(quotes, axis=1)[:, order]
        ]
