"""Which encoding a sitemap file is read in."""

from __future__ import annotations

import codecs
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemon_spider.core.reasons import Kind
from sitemon_spider.core.sitemap import NotASitemap, parse_sitemap

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urlset(loc: str, encoding: str | None = "UTF-8") -> str:
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>\n' if encoding else ""
    return f'{declaration}<urlset xmlns="{NAMESPACE}"><url><loc>{loc}</loc></url></urlset>'


def locs(data: bytes, charset: str | None = None) -> list[str]:
    parsed = parse_sitemap(data, charset=charset)
    assert parsed.cut is None
    return parsed.locs.to_pylist()


CAFE = "https://e.com/café"

WIDE = [
    ("utf-16", "UTF-16", "with its byte order mark"),
    ("utf-16", "UTF-8", "declared as something else"),
    ("utf-16", None, "not declared"),
    ("utf-32", "UTF-32", "four bytes a character"),
    ("utf-16-le", "UTF-16", "without a mark, little end first"),
    ("utf-16-be", "UTF-16", "without a mark, big end first"),
    ("utf-32-le", "UTF-32", "the same with four bytes"),
    ("utf-32-be", "UTF-8", "the same with four bytes, declared wrong"),
]


@pytest.mark.parametrize(("encoding", "declared", "case"), WIDE)
def test_utf_16_and_32_are_told_by_their_bytes(encoding, declared, case):
    """XML 1.0 appendix F, RFC 7303 §3."""
    data = urlset(CAFE, declared).encode(encoding)
    assert locs(data) == [CAFE], case
    assert locs(data, "utf-8") == [CAFE], case
    assert locs(data, "iso-8859-1") == [CAFE], case


def test_a_byte_order_mark_decides_against_the_transport():
    big_end = codecs.BOM_UTF16_BE + urlset(CAFE).encode("utf-16-be")
    assert locs(big_end, "utf-16-le") == [CAFE]
    assert locs(codecs.BOM_UTF8 + urlset(CAFE).encode(), "shift_jis") == [CAFE]


@pytest.mark.parametrize("charset", [None, "utf-8", "iso-8859-1", "windows-1251", "utf-16", "nil"])
@pytest.mark.parametrize("declared", ["UTF-8", "ISO-8859-1", "UTF-16", "KOI8-R", "nonsense", None])
def test_clean_utf_8_is_utf_8_whatever_is_said_of_it(charset, declared):
    assert locs(urlset(CAFE, declared).encode(), charset) == [CAFE]


@pytest.mark.parametrize(
    ("encoding", "loc"),
    [
        ("iso-8859-1", CAFE),
        ("windows-1252", "https://e.com/caf\u00e9/\u20ac"),
        ("iso-8859-15", "https://e.com/\u20ac"),
        ("windows-1251", "https://e.com/новости"),
        ("koi8-r", "https://e.com/новости"),
        ("shift_jis", "https://e.com/\u65e5\u672c"),
        ("euc-jp", "https://e.com/\u65e5\u672c"),
        ("gb2312", "https://e.com/\u65b0\u95fb"),
        ("big5", "https://e.com/\u65b0\u805e"),
        ("euc-kr", "https://e.com/\ud55c\uad6d"),
    ],
)
def test_a_declared_character_set_holds_for_bytes_that_are_not_utf_8(encoding, loc):
    data = urlset(loc, encoding).encode(encoding)
    assert locs(data) == [loc]
    assert parse_sitemap(data).notes == {"charset_declared": 1}
    assert locs(urlset(loc, None).encode(encoding), encoding) == [loc]


def test_the_transport_decides_before_the_document():
    data = urlset("https://e.com/новости", "iso-8859-1").encode("windows-1251")
    assert locs(data, "windows-1251") == ["https://e.com/новости"]


@pytest.mark.parametrize(
    "declared", ["UTF-8", "utf-8", "us-ascii", "nonsense", "hex", "rot13", None]
)
def test_bytes_that_are_no_utf_8_are_windows_1252_with_a_note(declared):
    data = urlset("https://e.com/caf\u00e9\u2019s", declared).encode("windows-1252")
    parsed = parse_sitemap(data)
    assert parsed.locs.to_pylist() == ["https://e.com/caf\u00e9\u2019s"]
    assert sum(parsed.notes.values()) == 1
    assert parsed.notes.keys() <= {"windows_1252", "charset_declared"}


def test_the_five_gaps_of_windows_1252_lose_nothing():
    """WHATWG encoding standard: 81 8D 8F 90 9D are the control characters of these numbers."""
    data = urlset("https://e.com/A").encode().replace(b"A", b"\x81\x8d\x8f\x90\x9d")
    assert locs(data) == ["https://e.com/\x81\x8d\x8f\x90\x9d"]


@pytest.mark.parametrize("charset", [None, "iso-8859-1", "windows-1251", "shift_jis"])
def test_a_stray_byte_in_utf_8_changes_no_other_url(charset):
    """[G]: one wrong byte must not rewrite every address of the file."""
    good = "".join(f"<url><loc>https://e.com/caf\u00e9/{n}</loc></url>" for n in range(9))
    data = f"<urlset>{good}<url><loc>https://e.com/X</loc></url></urlset>".encode()
    parsed = parse_sitemap(data.replace(b"X", b"\xe9"), charset=charset)
    assert parsed.locs.to_pylist() == [
        *(f"https://e.com/caf\u00e9/{n}" for n in range(9)),
        "https://e.com/\u00e9",
    ]
    assert parsed.notes == {"windows_1252": 1}


def test_a_file_cut_inside_a_character_stays_utf_8():
    data = urlset(CAFE).encode() + "<url><loc>https://e.com/caf\u00e9".encode()
    parsed = parse_sitemap(data[:-1])
    assert parsed.locs.to_pylist() == [CAFE]
    assert "windows_1252" not in parsed.notes
    cut = f"<urlset><url><loc>{CAFE}</loc></url><url><loc>{CAFE}".encode()[:-1]
    assert parse_sitemap(cut).locs.to_pylist() == [CAFE]
    assert "windows_1252" not in parse_sitemap(cut).notes


@pytest.mark.parametrize(
    "start",
    [
        b"\n",
        b"\r\n \t",
        b"\n" * 30,
        codecs.BOM_UTF8,
        codecs.BOM_UTF8 + b"\n",
        b"\n" + codecs.BOM_UTF8,
        codecs.BOM_UTF8 + b" " + codecs.BOM_UTF8 + b"\n",
    ],
)
@pytest.mark.parametrize("declared", ["UTF-8", None])
def test_blanks_and_marks_before_the_document_are_skipped_in_any_order(start, declared):
    data = start + urlset(CAFE, declared).encode()
    assert locs(data) == [CAFE]
    assert not parse_sitemap(data).notes


def test_blanks_before_utf_16_are_skipped_too():
    assert locs(("\n\n" + urlset(CAFE)).encode("utf-16-le")) == [CAFE]
    assert locs(codecs.BOM_UTF16_LE + ("\n\ufeff" + urlset(CAFE)).encode("utf-16-le")) == [CAFE]


def test_half_a_character_of_utf_16_costs_its_own_entry_only():
    good = urlset(CAFE).encode("utf-16-le")
    bad = good.replace(
        "<url>".encode("utf-16-le"), "<url><loc>!</loc></url><url>".encode("utf-16-le")
    )
    parsed = parse_sitemap(codecs.BOM_UTF16_LE + bad.replace(b"!\0", b"\0\xd8"))
    assert parsed.locs.to_pylist() == [CAFE]
    assert parsed.notes["control_character"] == 1
    assert parsed.cut is not None


def test_an_encoding_is_no_way_to_other_codecs():
    """A label names a character set, not whatever Python can decode."""
    for label in ("hex", "zip", "utf-7", "unicode_escape", "idna", "punycode", "undefined"):
        parse_sitemap(urlset(CAFE, label).encode("latin-1"), charset=label)


@given(st.text(st.characters(exclude_categories=["Cs"], min_codepoint=0x21)), st.booleans())
def test_every_utf_reads_the_same(path, has_mark):
    loc = "https://e.com/" + "".join(c for c in path if c not in "<&>\ufffe\uffff")
    text = urlset(loc)
    expected = parse_sitemap(text.encode())
    for encoding in ("utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        mark = "\ufeff" if has_mark and encoding != "utf-8-sig" else ""
        parsed = parse_sitemap((mark + text).encode(encoding))
        assert (parsed.kind, parsed.locs) == (Kind.URLSET, expected.locs)


@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "shift_jis", "utf-16", "big5"]))
def test_no_bytes_raise_anything_else(data, charset):
    for body in (data, b"<urlset><url><loc>" + data + b"</loc></url></urlset>"):
        with suppress(NotASitemap):
            parse_sitemap(body, charset=charset)
