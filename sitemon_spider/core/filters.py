"""Filters on addresses: include and exclude patterns over a column or one address [C13].

The engine is RE2 (through Arrow), whose time is linear in the text: no pattern can hang a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Pattern:
    """A case-insensitive search pattern. Raises ValueError with the engine's words on a bad one."""

    text: str

    def __post_init__(self) -> None:
        try:
            self.matches(pa.array([""]))
        except pa.ArrowInvalid as error:
            raise ValueError(str(error).removeprefix("Invalid regular expression: ")) from None

    def matches(self, texts: pa.StringArray) -> npt.NDArray[np.bool_]:
        """Where the pattern is found, element by element; never in a null."""
        found: Any = pc.match_substring_regex(texts, self.text, ignore_case=True)
        return np.asarray(found.to_numpy(zero_copy_only=False) == True)  # noqa: E712 - null is no


def mask(
    texts: pa.StringArray, include: Pattern | None, exclude: Pattern | None
) -> npt.NDArray[np.bool_]:
    """Which texts pass: found by `include` (if any) and not by `exclude` (if any)."""
    kept = np.ones(len(texts), bool) if include is None else include.matches(texts)
    return kept if exclude is None else kept & ~exclude.matches(texts)


def keeps(text: str, include: Pattern | None, exclude: Pattern | None) -> bool:
    """`mask` for one text."""
    if include is None and exclude is None:
        return True
    return bool(mask(pa.array([text]), include, exclude)[0])
