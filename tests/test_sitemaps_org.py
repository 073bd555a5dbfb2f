"""The rules of the protocol by name (sitemaps.org/protocol): what a file that keeps them gives."""

from __future__ import annotations

import gzip

import pytest

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap import parse_sitemap
from sitemon_spider.core.unpack import MAX_UNPACKED, unpack

SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

SAMPLE = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {SITEMAP}>
   <url>
      <loc>http://www.example.com/</loc>
      <lastmod>2005-01-01</lastmod>
      <changefreq>monthly</changefreq>
      <priority>0.8</priority>
   </url>
   <url>
      <loc>http://www.example.com/catalog?item=12&amp;desc=vacation_hawaii</loc>
      <changefreq>weekly</changefreq>
   </url>
   <url>
      <loc>http://www.example.com/catalog?item=73&amp;desc=vacation_new_zealand</loc>
      <lastmod>2004-12-23</lastmod>
      <changefreq>weekly</changefreq>
   </url>
   <url>
      <loc>http://www.example.com/catalog?item=74&amp;desc=vacation_newfoundland</loc>
      <lastmod>2004-12-23T18:00:15+00:00</lastmod>
      <priority>0.3</priority>
   </url>
   <url>
      <loc>http://www.example.com/catalog?item=83&amp;desc=vacation_usa</loc>
      <lastmod>2004-11-23</lastmod>
   </url>
</urlset>
"""

INDEX = f"""<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex {SITEMAP}>
   <sitemap>
      <loc>http://www.example.com/sitemap1.xml.gz</loc>
      <lastmod>2004-10-01T18:23:17+00:00</lastmod>
   </sitemap>
   <sitemap>
      <loc>http://www.example.com/sitemap2.xml.gz</loc>
      <lastmod>2005-01-01</lastmod>
   </sitemap>
</sitemapindex>
"""


def urlset(*entries: str) -> bytes:
    return f"<urlset {SITEMAP}>{''.join(entries)}</urlset>".encode()


def test_the_sample_urlset():
    parsed = parse_sitemap(SAMPLE.encode())
    assert parsed.kind is Kind.URLSET
    assert parsed.locs.to_pylist() == [
        "http://www.example.com/",
        "http://www.example.com/catalog?item=12&desc=vacation_hawaii",
        "http://www.example.com/catalog?item=73&desc=vacation_new_zealand",
        "http://www.example.com/catalog?item=74&desc=vacation_newfoundland",
        "http://www.example.com/catalog?item=83&desc=vacation_usa",
    ]
    assert parsed.lastmods.to_pylist() == [
        "2005-01-01",
        None,
        "2004-12-23",
        "2004-12-23T18:00:15+00:00",
        "2004-11-23",
    ]
    assert (parsed.children, parsed.cut, parsed.notes) == ((), None, {})


def test_the_sample_index():
    parsed = parse_sitemap(INDEX.encode())
    assert (parsed.kind, len(parsed.locs), parsed.cut) == (Kind.INDEX, 0, None)
    assert parsed.children == (
        "http://www.example.com/sitemap1.xml.gz",
        "http://www.example.com/sitemap2.xml.gz",
    )


def test_the_sample_text_file():
    parsed = parse_sitemap(
        b"http://www.example.com/catalog?item=1\nhttp://www.example.com/catalog?item=11\n"
    )
    assert parsed.kind is Kind.TEXT
    assert parsed.locs.to_pylist() == [
        "http://www.example.com/catalog?item=1",
        "http://www.example.com/catalog?item=11",
    ]


@pytest.mark.parametrize(
    ("feed", "kind"),
    [
        (
            (
                "<rss version='2.0'><channel><item><link>http://e.com/</link><pubDate>"
                "Sun, 19 May 2002 15:21:36 GMT</pubDate></item></channel></rss>"
            ),
            Kind.RSS,
        ),
        (
            (
                "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='http://e.com/'/>"
                "<updated>2003-12-13T18:30:02Z</updated></entry></feed>"
            ),
            Kind.ATOM,
        ),
    ],
)
def test_a_syndication_feed_is_a_sitemap(feed, kind):
    parsed = parse_sitemap(feed.encode())
    assert (parsed.kind, parsed.locs.to_pylist()) == (kind, ["http://e.com/"])
    assert parsed.lastmods.null_count == 0


@pytest.mark.parametrize(
    ("escaped", "character"),
    [("&amp;", "&"), ("&apos;", "'"), ("&quot;", '"'), ("&gt;", ">"), ("&lt;", "<")],
)
def test_values_are_entity_escaped(escaped, character):
    parsed = parse_sitemap(urlset(f"<url><loc>http://e.com/?a={escaped}b</loc></url>"))
    assert parsed.locs.to_pylist() == [f"http://e.com/?a={character}b"]


def test_a_file_is_utf_8():
    parsed = parse_sitemap(urlset("<url><loc>http://e.com/ümlat.php</loc></url>"))
    assert (parsed.locs.to_pylist(), parsed.notes) == (["http://e.com/ümlat.php"], {})


def test_other_namespaces_are_allowed_inside_of_an_entry():
    parsed = parse_sitemap(
        urlset(
            "<url><loc>http://e.com/</loc><lastmod>2005</lastmod><e:tag xmlns:e='urn:e'>"
            "<loc>http://x.com/</loc><e:lastmod>1999</e:lastmod></e:tag></url>"
        )
    )
    assert (parsed.locs.to_pylist(), parsed.lastmods.to_pylist()) == (["http://e.com/"], ["2005"])


def test_a_loc_is_shorter_than_2048_characters():
    for length, notes in ((2047, {}), (2048, {"loc_too_long": 1}), (9000, {"loc_too_long": 1})):
        loc = "http://e.com/".ljust(length, "é")
        parsed = parse_sitemap(urlset(f"<url><loc>{loc}</loc></url>"))
        assert (parsed.locs.to_pylist(), parsed.notes) == ([loc], notes)


@pytest.mark.parametrize(("root", "entry"), [("urlset", "url"), ("sitemapindex", "sitemap")])
def test_a_file_has_no_more_than_50_000_entries(root, entry):
    """One that has more is read all the same, and noted."""
    for count, notes in ((50_000, {}), (50_001, {"too_many_entries": 1})):
        entries = f"<{entry}><loc>a</loc></{entry}>" * count
        parsed = parse_sitemap(f"<{root} {SITEMAP}>{entries}</{root}>".encode())
        assert len(parsed.locs) + len(parsed.children) == count
        assert (parsed.cut, parsed.notes) == (None, notes)


def test_a_file_is_no_larger_than_50_mb_uncompressed():
    assert MAX_UNPACKED == 52_428_800
    entry = b"<url><loc>http://e.com/</loc></url>"
    body = b"<urlset>" + entry * 3 + b"<!--" + bytes(MAX_UNPACKED) + b"-->" + entry + b"</urlset>"
    unpacked = unpack(gzip.compress(body, 1))
    parsed = parse_sitemap(unpacked.data, cut=unpacked.cut)
    assert (len(parsed.locs), parsed.cut) == (3, Reason.TOO_LARGE)


@pytest.mark.parametrize("form", [SAMPLE, INDEX, "http://www.example.com/\n"])
def test_a_file_may_be_compressed_with_gzip(form):
    plain, unpacked = parse_sitemap(form.encode()), unpack(gzip.compress(form.encode()))
    parsed = parse_sitemap(unpacked.data, cut=unpacked.cut)
    assert (parsed.locs, parsed.children, parsed.cut) == (plain.locs, plain.children, None)


def test_a_tag_that_the_protocol_does_not_know_is_passed_over():
    fields = "<title>a</title><loc>http://e.com/</loc><expires>2006</expires>"
    assert parse_sitemap(urlset(f"<url>{fields}</url>")).locs.to_pylist() == ["http://e.com/"]
