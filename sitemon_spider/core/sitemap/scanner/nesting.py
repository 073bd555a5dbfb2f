"""Whether the tags of a plain urlset are nested as XML asks, a column of tags at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sitemon_spider.core.sitemap.scanner.marks import NotPlainError
from sitemon_spider.core.sitemap.scanner.tags import (
    CLOSES,
    LASTMOD,
    LOC,
    OPENS,
    SECTION,
    URL,
)

if TYPE_CHECKING:
    from sitemon_spider.core.sitemap.scanner.words import Numbers

_ROOT: Final = 0


class Nesting:
    """Which element stands in which: each name in one other only, as in every honest sitemap.

    So each tag says what is open before and after it, and tags are nested rightly when each finds
    open what the one before it leaves open. Where a name stands is learned once, by a walk with a
    stack. `url` stands in the root, `loc` and `lastmod` in `url` and nowhere else.
    """

    def __init__(self) -> None:
        self.parents = {URL // 3: _ROOT, LOC // 3: URL // 3, LASTMOD // 3: URL // 3}
        self._before = np.zeros(256, np.uint8)
        self._after = np.zeros(256, np.uint8)
        self._arrange()

    def check(self, numbers: Numbers, names: int) -> None:
        """Raise NotPlainError unless these tags, from root to root, are nested rightly.

        `names` is the number of names met so far.
        """
        is_section = numbers == SECTION
        if is_section.any():
            numbers = numbers[~is_section]
        if names > len(self.parents):
            self._walk(numbers)
            self._arrange()
        elif len(numbers):
            before, after = self._before[numbers], self._after[numbers]
            if before[0] != _ROOT or after[-1] != _ROOT or (before[1:] != after[:-1]).any():
                raise NotPlainError

    def _walk(self, numbers: Numbers) -> None:
        is_open = [_ROOT]
        for number in numbers.tolist():
            name, what = divmod(number, 3)
            if what == CLOSES:
                if is_open.pop() != name:
                    raise NotPlainError
            elif self.parents.setdefault(name, is_open[-1]) != is_open[-1]:
                raise NotPlainError
            elif what == OPENS:
                is_open.append(name)
        if is_open != [_ROOT]:
            raise NotPlainError

    def _arrange(self) -> None:
        for name, parent in self.parents.items():
            self._before[3 * name : 3 * name + 3] = parent, name, parent
            self._after[3 * name : 3 * name + 3] = name, parent, parent
