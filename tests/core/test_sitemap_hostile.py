"""Files made to hurt a reader: they end, and cost a few times their size, whatever they hold."""

from __future__ import annotations

import tracemalloc

import pytest

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.sitemap import NotASitemap, parse_sitemap

SIZE = 1 << 18
LONG = 3 << 20  # what no token may be
FLOOR = 16 << 20  # what is used at once, however small the file
HEAD = b"<urlset>"
ENTRY = b"<url><loc>https://e.com/</loc></url>"
TAIL = b"</urlset>"


def fill(unit: bytes) -> bytes:
    return unit * (SIZE // len(unit))


def numbered(template: bytes) -> bytes:
    return b"".join(template % n for n in range(SIZE // len(template)))


LISTED = {
    "one long attribute": (b'<url a="' + b"a" * LONG + b'"/>', b""),
    "many attributes": (b"<url " + numbered(b'a%d="" ') + b"/>", b""),
    "many names of attributes": (numbered(b'<a b%d=""/>'), b""),
    "many names of elements": (numbered(b"<a%d/>"), b""),
    "many prefixes": (numbered(b'<a xmlns:b%d="c"/>'), b""),
    "many undeclared prefixes": (numbered(b"<b%d:a/>"), b""),
    "deep nesting": (b"<a>" * (SIZE // 7) + b"</a>" * (SIZE // 7), b""),
    "one long text": (b"<a>" + fill(b"a") + b"</a>", b""),
    "one long comment": (b"<!--" + b"a" * LONG + b"-->", b""),
    "many comments": (fill(b"<!---->"), b""),
    "many instructions": (fill(b"<?a?>"), b""),
    "many sections": (b"<a>" + fill(b"<![CDATA[]]>") + b"</a>", b""),
    "many entities": (b"<a>" + fill(b"&amp;&#65;&lt;") + b"</a>", b""),
    "many roots": (b"", fill(b"<urlset/>")),
    "many roots that are none": (b"", fill(b"<urlset a>")),
    "junk behind the root": (b"", fill(b"<x")),
    "many empty entries": (fill(b"<url/>"), b""),
    "many locs": (b"<url>" + fill(b"<loc/>") + b"</url>", b""),
    "many unknown entities": (fill(b"<url>&x;</url>"), b""),
    "many raw ampersands": (b"<a>" + fill(b"&") + b"</a>", b""),
    "many stray bytes": (b"<a>" + fill(b"\xffa") + b"</a>", b""),
}

UNLISTED = {
    "nothing but openings": fill(b"<"),
    "nothing but ampersands": fill(b"&"),
    "nothing but zeros": fill(b"\0"),
    "nothing but line ends": fill(b"\n"),
    "nothing but bytes of no character": fill(b"\xff"),
    "halves of characters": b"\xff\xfe" + fill(b"\x00\xd8"),
    "openings of comments": fill(b"<!--"),
    "openings of instructions": fill(b"<?"),
    "openings of document types": fill(b"<!DOCTYPE a ["),
    "openings of quotes": fill(b'<!DOCTYPE a ["'),
    "a page of openings": b"<html>" + fill(b"<!-- "),
    "lines of nothing": fill(b"a\n"),
}

OPEN = {
    "openings of entries": HEAD + fill(b"<url>"),
    "openings of roots": fill(b"<urlset>"),
    "openings of elements": HEAD + fill(b"<a>"),
    "openings of sections": HEAD + fill(b"<![CDATA["),
    "openings of fields": HEAD + fill(b"<url><loc>"),
    "closings of nothing": HEAD + fill(b"</a>"),
    "an entry and its half": HEAD + fill(b"<url></a>"),
    "a root of quotes": b"<urlset " + fill(b'"'),
    "a root of blanks": b"<urlset " + fill(b" "),
    "control characters": HEAD + fill(b"<url><loc>\x01</loc></url>"),
}


def measured(data: bytes) -> tuple[list[str], Reason | None]:
    """What is read; the memory that it cost is a few times what was given."""
    tracemalloc.start()
    try:
        parsed = parse_sitemap(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < FLOOR + 8 * len(data)
    return parsed.locs.to_pylist(), parsed.cut


@pytest.mark.parametrize("case", LISTED)
def test_an_entry_beside_it_is_read(case):
    inside, behind = LISTED[case]
    locs, _ = measured(HEAD + inside + ENTRY + TAIL + behind)
    assert locs == ["https://e.com/"]


@pytest.mark.parametrize("case", OPEN)
def test_what_never_ends_is_cut(case):
    locs, cut = measured(OPEN[case])
    assert (locs, cut) == ([], Reason.TRUNCATED)


@pytest.mark.parametrize("case", UNLISTED)
def test_what_is_nothing_is_no_sitemap(case):
    with pytest.raises(NotASitemap):
        parse_sitemap(UNLISTED[case])


def test_a_billion_laughs_are_refused():
    """[S2]."""
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    text = f'<!DOCTYPE l [<!ENTITY l0 "ha">{laughs}]><urlset><url><loc>&l9;</loc></url></urlset>'
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(text.encode())
    assert caught.value.reason is Reason.UNSAFE_XML


def test_errors_are_not_followed_without_end():
    parsed = parse_sitemap(HEAD + ENTRY + b"<url></a>" * 60_000 + ENTRY + TAIL)
    assert parsed.locs.to_pylist() == ["https://e.com/"]
    assert parsed.notes["tag_mismatch"] == 50_000
    assert (parsed.cut, parsed.notes["too_many_errors"]) == (Reason.TRUNCATED, 1)
