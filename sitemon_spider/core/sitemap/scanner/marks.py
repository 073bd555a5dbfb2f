"""Where the bytes stand that mean something to XML: brackets, quotes, ampersands, line ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.scanner.words import Positions

_BLOCK: Final = 1 << 16  # larger arrays come from the system anew each time, a page at a time
_LESS, _MORE, _QUOTE, _AMPERSAND, _RETURN = np.frombuffer(b'<>"&\r', np.uint8)
_BRACKET_BITS: Final = ~(_LESS ^ _MORE)  # the two differ in one bit, and so do these
_QUOTE_BITS: Final = ~(_QUOTE ^ _AMPERSAND)


class NotPlainError(Exception):
    """The document is not proved plain: it is for the strict reader."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The positions of a stretch's marks: tags from `starts` to before `ends`, and the others.

    CDATA sections count as tags.
    """

    starts: Positions
    ends: Positions
    quotes: Positions
    ampersands: Positions
    returns: Positions


def find_marks(document: bytes, position: int, stop: int) -> Marks:
    """The marks of a stretch.

    Raises NotPlainError when "<" and ">" do not take turns, so that none stands in a text, a value
    or a section; and for control characters, which XML forbids but for tab, LF and CR.
    """
    brackets, others = [], []
    for start in range(position, stop, _BLOCK):
        content = np.frombuffer(document, np.uint8, min(_BLOCK, stop - start), start)
        brackets.append(np.flatnonzero(content & _BRACKET_BITS == _LESS & _MORE) + start)
        is_other = content & _QUOTE_BITS == _QUOTE & _AMPERSAND
        is_other |= content - 11 < 21  # 11 to 31, for what is below wraps around
        is_other |= content < 9
        others.append(np.flatnonzero(is_other) + start)
    content = np.frombuffer(document, np.uint8)
    at = np.concatenate(brackets)
    found = content[at]
    if len(at) % 2 or (found[0::2] != _LESS).any() or (found[1::2] != _MORE).any():
        raise NotPlainError
    other = np.concatenate(others)
    found = content[other]
    quotes, ampersands, returns = (other[found == m] for m in (_QUOTE, _AMPERSAND, _RETURN))
    if len(quotes) + len(ampersands) + len(returns) < len(other):
        raise NotPlainError
    return Marks(at[0::2], at[1::2] + 1, quotes, ampersands, returns)
