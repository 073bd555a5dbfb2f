"""The text form of a sitemap: one URL a line (sitemaps.org, "Text file")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sitemon_spider.core.urls import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemon_spider.core.sitemap.parsed import Rows

_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_NOT_IN_A_LINE: Final = re.compile(r"[\x00-\x1f\x7f\uffff]")
_PIECE: Final = 1 << 20


def read_text(data: bytes, rows: Rows, *, is_cut: bool) -> bool:
    """Append the URLs of a text of UTF-8; whether it is a sitemap: half of its lines must be URLs.

    Blank lines and those that begin with `#` do not count. Of a text that was cut, a last line
    without its end may be half a URL and is left out. Notes: `text_comment`, `text_not_a_url`, and
    `control_character` for a URL that holds one, which is lost.
    """
    if is_cut:
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
    others = comments = damaged = urls = 0
    for lines in _pieces(data):
        for line in lines:
            if _URL.match(line):
                if _NOT_IN_A_LINE.search(line):
                    damaged += 1
                else:
                    urls += 1
                    rows.append(line)
            elif line[0] == "#":
                comments += 1
            else:
                others += 1
    rows.lost += damaged
    rows.note("text_comment", comments)
    rows.note("text_not_a_url", others)
    rows.note("control_character", damaged)
    return urls + damaged >= max(others, 1)


def _pieces(data: bytes) -> Iterator[list[str]]:
    """The trimmed lines that are not blank, about a megabyte at a time."""
    start = 0
    while start < len(data):
        end = _line_end(data, start + _PIECE)
        lines = data[start:end].decode().replace("\r", "\n").split("\n")
        yield [trimmed for line in lines if line and (trimmed := line.strip(BLANKS))]
        start = end


def _line_end(data: bytes, position: int) -> int:
    """Where the line ends that holds a position."""
    ends = [end for end in (data.find(b"\n", position), data.find(b"\r", position)) if end >= 0]
    return min(ends, default=len(data) - 1) + 1
