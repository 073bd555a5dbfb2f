"""What entries say beside address and date."""

from __future__ import annotations

import pytest

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap import METADATA, parse_sitemap

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML = "http://www.w3.org/1999/xhtml"
GOOGLE = "http://www.google.com/schemas/sitemap-"
HEAD = (
    f'<urlset xmlns="{SITEMAP}" xmlns:xhtml="{XHTML}" xmlns:image="{GOOGLE}image/1.1"'
    f' xmlns:video="{GOOGLE}video/1.1" xmlns:news="{GOOGLE}news/0.9">'
)
NOTHING = {
    "changefreq": None,
    "priority": None,
    "alternates": [],
    "image_count": 0,
    "images": [],
    "video_count": 0,
    "news": None,
}


def read(*entries: str) -> list[dict[str, object]]:
    """The metadata of the entries, as the strict reader and the fast one give them."""
    text = HEAD + "".join(f"<url><loc>{n}</loc>{e}</url>" for n, e in enumerate(entries))
    parsed = parse_sitemap(f"{text}</urlset>".encode(), metadata=True)
    assert parsed.locs.to_pylist() == [str(n) for n in range(len(entries))]
    assert (parsed.cut, parsed.notes) == (None, {})
    assert parsed.metadata.schema == METADATA
    return parsed.metadata.to_pylist()


def link(lang: str, href: str, more: str = 'rel="alternate"') -> str:
    return f'<xhtml:link {more} hreflang="{lang}" href="{href}"/>'


def image(*locs: str) -> str:
    return "".join(f"<image:image><image:loc>{loc}</image:loc></image:image>" for loc in locs)


def alternate(lang: str, href: str) -> dict[str, str]:
    return {"lang": lang, "href": href}


def news(**fields: str) -> dict[str, str | None]:
    return {**dict.fromkeys(("publication_date", "title", "name", "language")), **fields}


CASES = [
    ("", {}),
    ("<changefreq>daily</changefreq>", {"changefreq": "daily"}),
    ("<changefreq> Daily\n</changefreq>", {"changefreq": "Daily"}),
    ("<changefreq></changefreq><changefreq>a</changefreq>", {"changefreq": "a"}),
    ("<changefreq>a</changefreq><changefreq>b</changefreq>", {"changefreq": "a"}),
    ("<changefreq><b>a</b></changefreq>", {}),
    ("<changefreq><![CDATA[daily]]></changefreq>", {"changefreq": "daily"}),
    ("<x><changefreq>daily</changefreq></x>", {}),
    ("<priority>0.50</priority>", {"priority": "0.50"}),
    ("<priority>high &amp; low</priority>", {"priority": "high & low"}),
    (link("de", "d"), {"alternates": [alternate("de", "d")]}),
    (
        link("fr", "f") + link("de", "d") + link("fr", "f") + link("fr", "e"),
        {"alternates": [alternate("de", "d"), alternate("fr", "e"), alternate("fr", "f")]},
    ),
    (link(" x-default ", " ?a&amp;b "), {"alternates": [alternate("x-default", "?a&b")]}),
    (link("de", "d", "rel='Alternate'"), {"alternates": [alternate("de", "d")]}),
    (link("de", "d", 'rel="canonical"') + link("de", "d", ""), {}),
    ('<xhtml:link rel="alternate" media="m" href="h"/>' + link("", "d") + link("de", ""), {}),
    (
        f'<link xmlns="{XHTML}" rel="alternate" hreflang="a" href="b"></link>',
        {"alternates": [alternate("a", "b")]},
    ),
    ('<link rel="alternate" hreflang="a" href="b"/>', {}),
    (f"<x>{link('de', 'd')}</x>", {}),
    (image("b", "a", "b"), {"image_count": 3, "images": ["a", "b"]}),
    (image("\n a?b&amp;c "), {"image_count": 1, "images": ["a?b&c"]}),
    (image("") + "<image:image/>", {"image_count": 2}),
    ("<image:image><image:title>t</image:title></image:image>", {"image_count": 1}),
    ("<image:image><image:loc><b>a</b></image:loc></image:image>", {"image_count": 1}),
    (f'<image xmlns="{GOOGLE}image/1.1"><loc>a</loc></image>', {"image_count": 1, "images": ["a"]}),
    ("<image:loc>a</image:loc>" + f"<x>{image('a')}</x>", {}),
    ("<video:video><video:title>t</video:title></video:video><video:video/>", {"video_count": 2}),
    ("<news:news/>", {"news": news()}),
    (
        (
            "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language>"
            "</news:publication><news:publication_date>2026</news:publication_date>"
            "<news:title> T &lt; <![CDATA[&]]> </news:title><news:keywords>k</news:keywords></news:news>"
        ),
        {"news": news(name="N", language="en", publication_date="2026", title="T < &")},
    ),
    (
        (
            "<news:news><news:title>a</news:title></news:news><news:news><news:title>b</news:title>"
            "<news:publication_date>1</news:publication_date></news:news>"
        ),
        {"news": news(title="a")},
    ),
    ("<news:title>a</news:title><news:news><news:name>b</news:name></news:news>", {"news": news()}),
]


@pytest.mark.parametrize(("entry", "row"), CASES)
def test_an_entry_says_so_much(entry, row):
    assert read(entry) == [NOTHING | row]


def test_the_rows_stand_beside_their_locs_and_leak_nothing():
    entries = [entry for entry, _ in CASES]
    assert read(*entries, *reversed(entries)) == [
        NOTHING | row for _, row in [*CASES, *reversed(CASES)]
    ]


@pytest.mark.parametrize(
    ("namespace", "usual"),
    [
        ("http://www.w3.org/TR/xhtml11/xhtml11_schema.html", XHTML),
        ("http://www.w3.org/2002/06/xhtml2/", XHTML),
        ("https://www.w3.org/1999/xhtml", XHTML),
        (f"{GOOGLE}image/1.0", f"{GOOGLE}image/1.1"),
        (f"{GOOGLE.replace('http', 'https')}image/1.1/", f"{GOOGLE}image/1.1"),
    ],
)
def test_extensions_may_be_in_a_variant_of_their_namespace(namespace, usual):
    text = f"{HEAD}<url><loc>a</loc>{link('de', 'd')}{image('i')}</url></urlset>"
    parsed = parse_sitemap(text.replace(usual, namespace).encode(), metadata=True)
    assert parsed.metadata.to_pylist() == [
        NOTHING | {"alternates": [alternate("de", "d")], "image_count": 1, "images": ["i"]}
    ]


def test_extensions_in_an_unknown_namespace_say_nothing():
    text = f"{HEAD.replace(GOOGLE, 'urn:x').replace(XHTML, 'urn:y')}<url><loc>a</loc>"
    text += f"{link('de', 'd')}{image('i')}<news:news/><video:video/></url></urlset>"
    assert parse_sitemap(text.encode(), metadata=True).metadata.to_pylist() == [NOTHING]


def test_metadata_of_an_entry_without_a_loc_is_dropped_with_it():
    text = f"{HEAD}<url><priority>1</priority>{image('a')}</url><url><loc>b</loc></url></urlset>"
    parsed = parse_sitemap(text.encode(), metadata=True)
    assert parsed.metadata.to_pylist() == [NOTHING]


def test_a_mended_file_has_its_metadata():
    text = (
        f"{HEAD}<url><loc>a&b</loc>{image('i&j')}{link('de', '?a&b')}</url>"
        f"<url><loc>\x01</loc><priority>1</priority>{image('lost')}</url>"
        "<url><loc>c</loc><priority>0.1</priority></url></urlset>"
    )
    parsed = parse_sitemap(text.encode(), metadata=True)
    assert parsed.locs.to_pylist() == ["a&b", "c"]
    assert parsed.cut is Reason.TRUNCATED
    first = {"image_count": 1, "images": ["i&j"], "alternates": [alternate("de", "?a&b")]}
    assert parsed.metadata.to_pylist() == [NOTHING | first, NOTHING | {"priority": "0.1"}]


@pytest.mark.parametrize(
    ("text", "count", "kind"),
    [
        ("https://e.com/a\nhttps://e.com/b\n", 2, Kind.TEXT),
        ("<rss><channel><item><link>a</link></item></channel></rss>", 1, Kind.RSS),
        ("<feed><entry><link href='a'/></entry></feed>", 1, Kind.ATOM),
        ("<sitemapindex><sitemap><loc>a</loc></sitemap></sitemapindex>", 0, Kind.INDEX),
        ("<urlset/>", 0, Kind.URLSET),
    ],
)
def test_other_forms_have_rows_that_say_nothing(text, count, kind):
    parsed = parse_sitemap(text.encode(), metadata=True)
    assert parsed.kind is kind
    assert parsed.metadata.schema == METADATA
    assert parsed.metadata.to_pylist() == [NOTHING] * count


def test_metadata_is_read_only_on_request():
    assert parse_sitemap(f"{HEAD}</urlset>".encode()).metadata is None


def test_metadata_changes_nothing_else():
    text = HEAD + "".join(f"<url><loc>{n}</loc>{e}</url>" for n, (e, _) in enumerate(CASES))
    for data in (f"{text}</urlset>", f"{text}<url><loc>&</loc></url></urlset>", text, text[:-9]):
        plain, rich = parse_sitemap(data.encode()), parse_sitemap(data.encode(), metadata=True)
        assert (plain.locs, plain.lastmods, plain.kind) == (rich.locs, rich.lastmods, rich.kind)
        assert (plain.cut, plain.notes) == (rich.cut, rich.notes)
