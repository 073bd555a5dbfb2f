"""Which elements of a sitemap file count."""

from __future__ import annotations

import pytest

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap import parse_sitemap

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
VIDEO = "http://www.google.com/schemas/sitemap-video/1.1"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"


def rows(text: str) -> list[tuple[str, str | None]]:
    parsed = parse_sitemap(text.encode())
    assert parsed.cut is None
    return list(zip(parsed.locs.to_pylist(), parsed.lastmods.to_pylist(), strict=True))


@pytest.mark.parametrize(
    "namespace",
    [
        SITEMAP,
        "https://www.sitemaps.org/schemas/sitemap/0.9",
        "http://www.sitemaps.org/schemas/sitemap/0.9/",
        "https://www.sitemaps.org/schemas/sitemap/0.9/",
        "http://sitemaps.org/schemas/sitemap/0.9",
        "//www.sitemaps.org/schemas/sitemap/0.9",
        "http://www.sitemaps.org/schemas/sitemap/0.84",
        "http://www.sitemaps.org/schemas/sitemap/0.90",
        "http://www.google.com/schemas/sitemap/0.84",
        "http://www.google.com/schemas/sitemap/0.9",
        "http://www.google.com/schemas/sitemap/0.90",
        "https://google.com/schemas/sitemap/0.84",
        " http://www.sitemaps.org/schemas/sitemap/0.9 ",
        "HTTP://WWW.SITEMAPS.ORG/schemas/sitemap/0.9",
        "http://www.sitemaps.org/schemas/sitemap/1.0",
        "urn:anything",
        "",
    ],
)
@pytest.mark.parametrize("root", ["urlset", "sitemapindex"])
def test_a_root_is_known_by_its_name_in_any_namespace(namespace, root):
    entry = "url" if root == "urlset" else "sitemap"
    for prefix, declared in (("", f'xmlns="{namespace}"'), ("s:", f'xmlns:s="{namespace}"')):
        if prefix and not namespace:
            continue  # a prefix cannot stand for no namespace
        parsed = parse_sitemap(
            f"<{prefix}{root} {declared}><{prefix}{entry}><{prefix}loc>https://e.com/</{prefix}loc>"
            f"</{prefix}{entry}></{prefix}{root}>".encode()
        )
        assert [*parsed.locs.to_pylist(), *parsed.children] == ["https://e.com/"]
        assert parsed.kind is (Kind.URLSET if root == "urlset" else Kind.INDEX)
        assert parsed.cut is None


def test_entries_may_be_in_another_variant_than_their_root():
    assert rows(
        f'<urlset xmlns="{SITEMAP}/"><url xmlns="{SITEMAP}"><loc>https://e.com/a</loc></url>'
        '<url xmlns=""><loc>https://e.com/b</loc></url></urlset>'
    ) == [("https://e.com/a", None), ("https://e.com/b", None)]


def test_entries_in_a_foreign_namespace_are_none():
    assert not rows(
        f'<urlset xmlns="{SITEMAP}"><x:url xmlns:x="urn:x"><loc>https://e.com/</loc></x:url></urlset>'
    )


def test_a_prefix_that_nobody_declared_is_read_and_noted():
    text = "<s:urlset><s:url><s:loc>https://e.com/</s:loc></s:url></s:urlset>"
    assert rows(text) == [("https://e.com/", None)]
    image = (
        "<urlset><url><loc>https://e.com/</loc><image:image><image:loc>https://i.com/</image:loc>"
    )
    text = f"{image}</image:image></url></urlset>"
    assert rows(text) == [("https://e.com/", None)]
    assert parse_sitemap(text.encode()).notes == {"prefix_undeclared": 1}


FOREIGN_LOCS = [
    f'<image:image xmlns:image="{IMAGE}"><image:loc>https://i.com/</image:loc></image:image>',
    f'<image xmlns="{IMAGE}"><loc>https://i.com/</loc></image>',
    (
        f'<video:video xmlns:video="{VIDEO}"><video:content_loc>https://v.com/</video:content_loc>'
        "</video:video>"
    ),
    f'<video xmlns="{VIDEO}"><loc>https://v.com/</loc><lastmod>2001</lastmod></video>',
    f'<image:loc xmlns:image="{IMAGE}">https://i.com/</image:loc>',
    f'<loc xmlns="{IMAGE}">https://i.com/</loc><lastmod xmlns="urn:x">2001</lastmod>',
    "<image><loc>https://i.com/</loc><lastmod>2001</lastmod></image>",
    '<x:a xmlns:x="urn:x"><url><loc>https://x.com/</loc></url></x:a>',
]


@pytest.mark.parametrize("foreign", FOREIGN_LOCS)
def test_only_direct_children_of_an_entry_name_its_page(foreign):
    """sitemaps.org, extending the protocol: other namespaces are allowed inside of `url`."""
    own = "<loc>https://e.com/</loc><lastmod>2026</lastmod>"
    for fields in (foreign + own, own + foreign, foreign + own + foreign):
        text = f'<urlset xmlns="{SITEMAP}"><url>{fields}</url></urlset>'
        assert rows(text) == [("https://e.com/", "2026")]
    assert not rows(f'<urlset xmlns="{SITEMAP}"><url>{foreign}</url></urlset>')


def test_roots_may_be_nested():
    assert rows("<urlset><urlset><url><loc>https://e.com/</loc></url></urlset></urlset>") == [
        ("https://e.com/", None)
    ]


def test_entries_inside_of_unknown_elements_are_read():
    assert rows("<urlset><group><url><loc>https://e.com/</loc></url></group></urlset>") == [
        ("https://e.com/", None)
    ]


@pytest.mark.parametrize("root", ["urlset", "sitemapindex"])
def test_a_file_of_both_entries_gives_both(root):
    parsed = parse_sitemap(
        f"<{root}><sitemap><loc>https://e.com/1.xml</loc></sitemap><url><loc>https://e.com/</loc></url>"
        f"<sitemap><loc>https://e.com/2.xml</loc></sitemap></{root}>".encode()
    )
    assert parsed.kind is (Kind.URLSET if root == "urlset" else Kind.INDEX)
    assert parsed.locs.to_pylist() == ["https://e.com/"]
    assert parsed.children == ("https://e.com/1.xml", "https://e.com/2.xml")


def test_a_root_that_holds_only_the_other_entries_is_of_their_kind():
    assert parse_sitemap(b"<urlset><sitemap><loc>a</loc></sitemap></urlset>").kind is Kind.INDEX
    assert (
        parse_sitemap(b"<sitemapindex><url><loc>a</loc></url></sitemapindex>").kind is Kind.URLSET
    )


def test_children_keep_their_order_and_their_duplicates():
    entries = "".join(f"<sitemap><loc> {n} </loc><lastmod>2026</lastmod></sitemap>" for n in "baab")
    parsed = parse_sitemap(f'<sitemapindex xmlns="{SITEMAP}">{entries}</sitemapindex>'.encode())
    assert (parsed.kind, parsed.children, len(parsed.locs)) == (Kind.INDEX, tuple("baab"), 0)


def news(count: int, others: int, namespace: str = NEWS) -> bytes:
    item = "<news:news><news:title>a</news:title></news:news>"
    entries = [f"<url><loc>https://e.com/n{n}</loc>{item}</url>" for n in range(count)]
    entries += [f"<url><loc>https://e.com/{n}</loc></url>" for n in range(others)]
    return (
        f'<urlset xmlns="{SITEMAP}" xmlns:news="{namespace}">{"".join(entries)}</urlset>'.encode()
    )


@pytest.mark.parametrize(
    ("count", "others", "kind"),
    [
        (0, 0, Kind.URLSET),
        (0, 3, Kind.URLSET),
        (1, 2, Kind.URLSET),
        (1, 1, Kind.NEWS),
        (2, 1, Kind.NEWS),
        (3, 0, Kind.NEWS),
    ],
)
def test_a_news_file_is_one_whose_entries_are_news(count, others, kind):
    """[C6]: declaring the namespace means nothing."""
    assert parse_sitemap(news(count, others)).kind is kind


def test_news_may_be_in_a_variant_of_its_namespace_only():
    for namespace in (NEWS + "/", NEWS.replace("http:", "https:")):
        assert parse_sitemap(news(1, 0, namespace)).kind is Kind.NEWS
    assert parse_sitemap(news(1, 0, "urn:news")).kind is Kind.URLSET
    no_child = f'<urlset xmlns:n="{NEWS}"><n:news/><url><loc>a</loc></url></urlset>'
    assert parse_sitemap(no_child.encode()).kind is Kind.URLSET


def test_a_news_file_that_is_mended_is_a_news_file():
    data = news(2, 1).replace(b"<news:title>a", b"<news:title>a & b")
    assert parse_sitemap(data).kind is Kind.NEWS
    undeclared = news(2, 1).replace(f' xmlns:news="{NEWS}"'.encode(), b"")
    assert parse_sitemap(undeclared).kind is Kind.NEWS


def test_loss_of_an_entry_is_a_cut_even_in_a_well_formed_file():
    """[G]: of an entry whose closing tag is missing nobody can say what belongs to it."""
    parsed = parse_sitemap(
        b"<urlset><url><loc>https://e.com/a</loc><url><loc>https://e.com/b</loc></url></url>"
        b"<url><loc>https://e.com/c</loc></url></urlset>"
    )
    assert parsed.locs.to_pylist() == ["https://e.com/b", "https://e.com/c"]
    assert parsed.cut is Reason.TRUNCATED
    assert parsed.notes == {"entry_unclosed": 1}
