"""Short stretches of a document, found by their bytes a column at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]
    Words = npt.NDArray[np.uint64]
    Numbers = npt.NDArray[np.uint8]

WORD: Final = 8
_LONGEST: Final = 4 * WORD  # what the four words of a row cover
_MASKS: Final = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], np.uint64)
_LAST_MASKS: Final = np.array([0] * WORD + [(1 << 64) - 1], np.uint64)
_SLOT_BITS: Final = 12
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: mixes well


class WordTable:
    """Stretches of up to 32 bytes with a number each, compared whole: no two are taken for one.

    A row holds the length and the words a stretch begins and ends with; its place is a hash of
    them. A stretch whose place is taken, or that is longer, is never found.
    """

    def __init__(self, document: bytes) -> None:
        """`document` is at least a word longer than every stretch looked up in it."""
        # The word that begins at each byte.
        self.words: Words = np.ndarray((len(document) - WORD + 1,), "<u8", document, strides=(1,))
        self._first, self._second, self._third, self._last = np.zeros(
            (4, 1 << _SLOT_BITS), np.uint64
        )
        # The length and, in the byte above it, the number.
        self._numbered = np.zeros(1 << _SLOT_BITS, np.uint16)

    def keep(self, stretch: bytes, number: int) -> None:
        """Remember a stretch by its number, which is not 0."""
        padded = stretch.ljust(2 * WORD, b"\0")
        words = [
            padded[:WORD],
            padded[WORD : 2 * WORD],
            stretch[-2 * WORD : -WORD],
            stretch[-WORD:],
        ]
        first, second, third, last = (int.from_bytes(word, "little") for word in words)
        last = last if len(stretch) >= WORD else 0
        slot = int(_slots(np.array([first], np.uint64), np.array([last], np.uint64))[0])
        if len(stretch) <= _LONGEST and not self._numbered[slot]:
            self._first[slot], self._second[slot] = first, second
            self._third[slot], self._last[slot] = third, last
            self._numbered[slot] = number << 8 | len(stretch)

    def find(self, starts: Positions, ends: Positions) -> Numbers:
        """The numbers of the stretches from `starts` to before `ends`; 0 for those not known."""
        lengths = np.minimum(ends - starts, _LONGEST + 1).astype(np.uint8)
        width = np.minimum(lengths, WORD)
        first = self.words[starts]
        first &= _MASKS[width]
        last = self.words[ends - WORD]
        last &= _LAST_MASKS[width]
        slots = _slots(first, last)
        numbered = self._numbered[slots]
        is_known = numbered.astype(np.uint8) == lengths
        is_known &= self._first[slots] == first
        is_known &= self._last[slots] == last
        long = np.flatnonzero(is_known & (lengths > 2 * WORD))
        if len(long):
            of_long = slots[long]
            is_known[long] = (self._second[of_long] == self.words[starts[long] + WORD]) & (
                self._third[of_long] == self.words[ends[long] - 2 * WORD]
            )
        numbers: Numbers = (numbered >> 8).astype(np.uint8)
        numbers *= is_known
        return numbers


def _slots(first: Words, last: Words) -> Positions:
    mixed = last * _ODD
    mixed ^= first
    mixed *= _ODD
    mixed >>= np.uint64(64 - _SLOT_BITS)
    return mixed.view(np.int64)
