"""RSS and Atom feeds as sitemaps (sitemaps.org, "Syndication feed")."""

from __future__ import annotations

import pytest

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap import parse_sitemap

ATOM_10 = "http://www.w3.org/2005/Atom"
ATOM_03 = "http://purl.org/atom/ns#"
RSS_10 = "http://purl.org/rss/1.0/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = "http://purl.org/dc/elements/1.1/"


def rows(text: str) -> list[tuple[str, str | None]]:
    parsed = parse_sitemap(text.encode())
    assert parsed.cut is None
    return list(zip(parsed.locs.to_pylist(), parsed.lastmods.to_pylist(), strict=True))


def rss(item: str, root: str = '<rss version="2.0">') -> str:
    return f"{root}<channel><link>https://e.com/</link><item>{item}</item></channel></rss>"


def atom(entry: str, namespace: str = ATOM_10) -> str:
    return (
        f'<?xml version="1.0"?><feed xmlns="{namespace}"><link href="https://e.com/"/>'
        f"<updated>2000</updated><entry>{entry}</entry></feed>"
    )


DATE = "Mon, 30 Nov 2026 08:00:00 GMT"

ITEMS = [
    (f"<link>https://e.com/a</link><pubDate>{DATE}</pubDate>", ("https://e.com/a", DATE)),
    (f"<pubDate> {DATE}\n</pubDate><link>\nhttps://e.com/a </link>", ("https://e.com/a", DATE)),
    ("<title>a</title><link>https://e.com/?a&amp;b</link>", ("https://e.com/?a&b", None)),
    ("<link><![CDATA[https://e.com/?a&b]]></link>", ("https://e.com/?a&b", None)),
    ("<link>/a</link>", ("/a", None)),
    ("<guid>https://e.com/a</guid>", ("https://e.com/a", None)),
    ('<guid isPermaLink="true">https://e.com/a</guid>', ("https://e.com/a", None)),
    ("<guid>https://e.com/g</guid><link>https://e.com/a</link>", ("https://e.com/a", None)),
    ("<link/><guid>https://e.com/g</guid>", ("https://e.com/g", None)),
    ('<guid isPermaLink="false">https://e.com/a</guid>', None),
    ('<guid isPermaLink=" False ">https://e.com/a</guid>', None),
    ("<guid>1f3c-77aa</guid>", None),
    ("<guid>tag:e.com,2026:1</guid>", None),
    ("<title>a</title><description>https://e.com/a</description>", None),
    ("<source><link>https://s.com/</link></source><link>a</link>", ("a", None)),
    (f'<a:link xmlns:a="{ATOM_10}" href="https://x.com/"/><link>a</link>', ("a", None)),
    (f'<d:date xmlns:d="{DC}">2026-11-30</d:date><link>a</link>', ("a", "2026-11-30")),
    (
        f'<d:date xmlns:d="{DC}">2026-11-30</d:date><link>a</link><pubDate>{DATE}</pubDate>',
        ("a", DATE),
    ),
    ("<date>2026-11-30</date><link>a</link>", ("a", None)),
    ("<link>a</link><link>b</link>", ("a", None)),
]


@pytest.mark.parametrize(("item", "row"), ITEMS)
@pytest.mark.parametrize("root", ['<rss version="2.0">', '<rss version="0.91">', "<rss>"])
def test_an_item_of_rss_is_its_link_or_its_permalink(item, row, root):
    assert rows(rss(item, root)) == ([row] if row else [])


def test_an_item_without_a_link_is_noted_and_leaks_nothing():
    text = rss(f"<pubDate>{DATE}</pubDate><guid>x</guid></item><item><link>b</link>")
    parsed = parse_sitemap(text.encode())
    assert (parsed.kind, parsed.notes) == (Kind.RSS, {"entry_without_loc": 1})
    assert rows(text) == [("b", None)]


@pytest.mark.parametrize(
    "namespace",
    [
        RSS_10,
        "http://my.netscape.com/rdf/simple/0.9/",
        "http://channel.netscape.com/rdf/simple/0.9/",
    ],
)
def test_rdf_forms_of_rss_are_read(namespace):
    text = (
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="{namespace}" xmlns:dc="{DC}"><channel>'
        '<link>https://e.com/</link><items><rdf:Seq><rdf:li resource="https://e.com/a"/></rdf:Seq>'
        "</items></channel><item><link>https://e.com/a</link><dc:date>2026</dc:date></item></rdf:RDF>"
    )
    assert rows(text) == [("https://e.com/a", "2026")]
    assert parse_sitemap(text.encode()).kind is Kind.RSS


def test_rss_in_a_namespace_of_its_own_is_read():
    assert rows(rss("<link>a</link>", '<rss xmlns="http://backend.userland.com/rss2">')) == [
        ("a", None)
    ]


ENTRIES = [
    ('<link href="https://e.com/a"/>', ("https://e.com/a", None)),
    ('<link rel="alternate" href=" https://e.com/a "/>', ("https://e.com/a", None)),
    ('<link rel="edit" href="x"/><link rel="alternate" href="a"/>', ("a", None)),
    ('<link rel="self" href="x"/><link href="a"/><link rel="enclosure" href="y"/>', ("a", None)),
    ('<link rel="http://www.iana.org/assignments/relation/alternate" href="a"/>', ("a", None)),
    (
        (
            '<link rel="alternate" type="application/json" href="x"/>'
            '<link rel="alternate" type="text/html" href="a"/>'
        ),
        ("a", None),
    ),
    ('<link rel="alternate" type="application/json" href="x"/>', ("x", None)),
    ('<link href="a"/><link href="b"/>', ("a", None)),
    ('<link href=""/><link href="b"/>', ("b", None)),
    ('<link rel="replies" href="x"/><id>https://e.com/i</id>', None),
    ('<link href="a"/><updated>2026</updated><published>2025</published>', ("a", "2026")),
    ('<published>2025</published><link href="a"/>', ("a", "2025")),
    ('<updated> </updated><published>2025</published><link href="a"/>', ("a", "2025")),
    (
        '<link href="a"/><source><link href="x"/><updated>1999</updated></source>',
        ("a", None),
    ),
    ('<content type="xhtml"><link href="x"/></content><link href="a"/>', ("a", None)),
    ('<link href="a" xmlns="http://www.w3.org/1999/xhtml"/><link href="b"/>', ("b", None)),
]


@pytest.mark.parametrize(("entry", "row"), ENTRIES)
@pytest.mark.parametrize("namespace", [ATOM_10, ATOM_03, "", "urn:mistyped"])
def test_an_entry_of_atom_is_its_alternate_link(entry, row, namespace):
    """RFC 4287 §4.2.7.2: no rel means alternate."""
    assert rows(atom(entry, namespace)) == ([row] if row else [])
    assert parse_sitemap(atom(entry, namespace).encode()).kind is Kind.ATOM


def test_the_dates_of_atom_0_3_are_read():
    text = atom('<link href="a"/><issued>2024</issued><modified>2025</modified>', ATOM_03)
    assert rows(text) == [("a", "2025")]
    assert rows(atom('<link href="a"/><issued>2024</issued>', ATOM_03)) == [("a", "2024")]


def test_feeds_age():
    """[C6]."""
    assert parse_sitemap(rss("<link>a</link>").encode()).kind.ages
    assert parse_sitemap(atom("<link href='a'/>").encode()).kind.ages


def test_an_empty_feed_is_a_whole_file_of_no_urls():
    for text, kind in (("<rss/>", Kind.RSS), (f'<feed xmlns="{ATOM_10}"/>', Kind.ATOM)):
        parsed = parse_sitemap(text.encode())
        assert (parsed.kind, len(parsed.locs), parsed.cut) == (kind, 0, None)


DAMAGED = [
    ("rss", rss("<link>a</link></item><item><link>{}</link></item><item><link>c</link>")),
    (
        "atom",
        atom('<link href="a"/></entry><entry><link href="{}"/></entry><entry><link href="c"/>'),
    ),
]


@pytest.mark.parametrize(("form", "text"), DAMAGED)
def test_feeds_are_repaired_as_sitemaps_are(form, text):
    parsed = parse_sitemap(text.replace("{}", "?a&b=&eacute;").encode())
    assert parsed.locs.to_pylist() == ["a", "?a&b=é", "c"]
    assert parsed.notes == {"ampersand_repaired": 1, "entity_repaired": 1}
    assert parsed.cut is None


@pytest.mark.parametrize(("form", "text"), DAMAGED)
@pytest.mark.parametrize("damage", ["\x01", "&#8;", "&unknown;", "<", "</x>"])
def test_an_item_with_an_error_inside_is_left_out_alone(form, text, damage):
    parsed = parse_sitemap(text.replace("{}", damage).encode())
    assert parsed.locs.to_pylist() == ["a", "c"]
    assert parsed.cut is Reason.TRUNCATED


@pytest.mark.parametrize(("form", "text"), DAMAGED)
def test_of_a_cut_feed_the_items_that_are_closed_are_kept(form, text):
    for length in range(text.index("a"), len(text)):
        parsed = parse_sitemap(text[:length].encode()) if length > 60 else None
        if parsed is not None:
            closed = text[:length].count("</item>") + text[:length].count("</entry>")
            assert parsed.locs.to_pylist() == ["a", "{}", "c"][:closed]
            assert parsed.cut is Reason.TRUNCATED


def test_an_item_whose_end_is_missing_is_lost_and_noted():
    for text in (
        rss("<link>a</link><item><link>b</link></item></item><item><link>c</link>"),
        rss("<link>a<item><link>b</link></item></link></item><item><link>c</link>"),
    ):
        parsed = parse_sitemap(text.encode())
        assert parsed.locs.to_pylist() == ["b", "c"]
        assert (parsed.cut, parsed.notes) == (Reason.TRUNCATED, {"entry_unclosed": 1})


def test_markup_in_a_link_is_not_guessed():
    parsed = parse_sitemap(rss("<link><b>a</b></link></item><item><link>b</link>").encode())
    assert parsed.locs.to_pylist() == ["b"]
    assert parsed.cut is Reason.TRUNCATED


def test_markup_in_the_text_of_an_item_does_no_harm():
    html = "<item><link>x</link></item><url><loc>y</loc></url>"
    for text in (f"<![CDATA[{html}]]>", html.replace("<", "&lt;")):
        for note in ("", "?a&b"):
            item = f"<description>{text}{note}</description><link>a</link>"
            assert rows(rss(item)) == [("a", None)]


def test_a_large_feed_is_read_whole():
    text = "<rss><channel>" + "".join(f"<item><link>{n}</link></item>" for n in range(40_000))
    assert rows(text + "</channel></rss>") == [(str(n), None) for n in range(40_000)]
