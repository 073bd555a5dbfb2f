"""The fast reader: numpy over the bytes of a urlset that is plain, and can be proved so.

It reads only what the strict reader would read the same, and gives up on anything else: a document
in the default namespace, without comments, instructions or document type inside, every tag known
and in its place. What it accepts is several times faster; what it reads never differs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemon_spider.core.sitemap.strict import new_parser
from sitemon_spider.core.sitemap.vocabulary import (
    NEWS_ITEM,
    SEPARATOR,
    SitemapTags,
    is_sitemap_namespace,
)
from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    import numpy.typing as npt

    from sitemon_spider.core.sitemap.parsed import Rows

    Bytes = npt.NDArray[np.uint8]
    Words = npt.NDArray[np.uint64]
    Positions = npt.NDArray[np.int64]

_SEGMENT: Final = 1 << 18  # bytes read at once: arrays of this size stay in the processor's cache
_MAX_ENTRY: Final = 1 << 20
_MAX_DEPTH: Final = 16
_MAX_SHAPES: Final = 200

# Identifiers of tags; those of other elements are given as they are met.
_UNKNOWN, _URL, _END_URL, _LOC, _END_LOC, _LASTMOD, _END_LASTMOD, _SECTION = range(8)
