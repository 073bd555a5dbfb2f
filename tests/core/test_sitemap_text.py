"""The text form of a sitemap (sitemaps.org, "Text file")."""

from __future__ import annotations

import codecs
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap import NotASitemap, parse_sitemap
from sitemon_spider.core.unpack import unpack

A, B = "https://e.com/a", "http://e.com/b?x=1&y=2"

TEXTS = [
    (f"{A}\n{B}\n", {}, "the protocol's form"),
    (f"{A}\n{B}", {}, "without a last line end"),
    (f"{A}\r\n{B}\r\n", {}, "CRLF"),
    (f"{A}\r{B}\r", {}, "CR"),
    (f"\ufeff{A}\n{B}\n", {}, "with a byte order mark"),
    (f"\n\n{A}\n\n \t\n{B}\n\n", {}, "blank lines"),
    (f"  {A}\u00a0\n\u200b{B}\u3000\n", {}, "blanks around"),
    (f"# pages\n{A}\n#{A}\n{B}\n", {"text_comment": 2}, "comments"),
    (f"URL list\n{A}\n{B}\n", {"text_not_a_url": 1}, "a header"),
    (f"{A}\nwww.e.com\n/c\n{B}\n", {"text_not_a_url": 2}, "half of the lines are URLs"),
    (f"{A.upper()}\n{B}\n", {}, "in capitals"),
]


@pytest.mark.parametrize(("text", "notes", "case"), TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_text_lists_one_url_a_line(text, notes, case, encoding):
    parsed = parse_sitemap(text.encode(encoding))
    first = A.upper() if case == "in capitals" else A
    assert (parsed.kind, parsed.locs.to_pylist()) == (Kind.TEXT, [first, B]), case
    assert parsed.lastmods.to_pylist() == [None, None]
    assert parsed.cut is None
    assert {n: c for n, c in parsed.notes.items() if n != "charset_wide"} == notes, case


@pytest.mark.parametrize(
    "line", ["https://e.com/caf\u00e9", "https://e.com/a b", "https://e.com/&"]
)
def test_a_line_is_taken_as_it_is(line):
    assert parse_sitemap(f"{line}\n".encode()).locs.to_pylist() == [line]


@pytest.mark.parametrize(
    "text",
    [
        "\n# only comments\n",
        "a\nb\nhttps://e.com/\n",
        '{"url": "https://e.com/"}',
        "url,lastmod\n1,2\n",
        "User-agent: *\nDisallow: /\nSitemap: https://e.com/sitemap.xml\n",
        "ftp://e.com/a\n",
        "see https://e.com/\n",
    ],
)
def test_a_text_of_which_less_than_half_is_urls_is_no_sitemap(text):
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(text.encode())
    assert caught.value.reason is Reason.NOT_A_SITEMAP


def test_a_line_with_a_control_character_is_lost_alone():
    parsed = parse_sitemap(f"{A}\nhttps://e.com/\x01\nhttps://e.com/\tx\n{B}\n".encode())
    assert parsed.locs.to_pylist() == [A, B]
    assert (parsed.cut, parsed.notes) == (Reason.TRUNCATED, {"control_character": 2})


@pytest.mark.parametrize("cut", [Reason.TRUNCATED, Reason.TOO_LARGE])
def test_of_a_cut_text_the_last_line_may_be_half_a_url(cut):
    assert parse_sitemap(f"{A}\n{B}".encode(), cut=cut).locs.to_pylist() == [A]
    assert parse_sitemap(f"{A}\r{B}".encode(), cut=cut).locs.to_pylist() == [A]
    whole = parse_sitemap(f"{A}\n{B}\n".encode(), cut=cut)
    assert (whole.locs.to_pylist(), whole.cut) == ([A, B], cut)


def test_a_cut_text_without_a_whole_line_is_cut_and_no_sitemap():
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(A.encode(), cut=Reason.TRUNCATED)
    assert caught.value.reason is Reason.TRUNCATED


def test_a_text_may_be_packed():
    unpacked = unpack(gzip.compress(f"{A}\n{B}\n".encode()))
    assert parse_sitemap(unpacked.data, cut=unpacked.cut).locs.to_pylist() == [A, B]
    broken = unpack(gzip.compress(f"{A}\n{B}".encode())[:-4])
    assert parse_sitemap(broken.data, cut=broken.cut).locs.to_pylist() == [A]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n"])
def test_a_large_text_is_read_whole(end):
    lines = [f"https://e.com/{n:0{20 + n % 90}}" for n in range(30_000)]
    text = end.join(lines).encode()
    assert len(text) > 2 << 20
    assert parse_sitemap(text).locs.to_pylist() == lines


def test_one_line_longer_than_a_piece():
    line = "https://e.com/" + "a" * (3 << 20)
    assert parse_sitemap(f"{A}\n{line}\n{B}\n".encode()).locs.to_pylist() == [A, line, B]


@given(
    st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N"]), max_size=9)),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_reading_undoes_writing(names, end, has_mark):
    lines = [f"https://e.com/{name}" for name in names]
    data = (codecs.BOM_UTF8 if has_mark else b"") + end.join([*lines, A]).encode()
    assert parse_sitemap(data).locs.to_pylist() == [*lines, A]
