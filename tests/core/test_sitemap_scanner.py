"""The fast reader: what it accepts, the strict one reads alike; anything else it leaves."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemon_spider.core.sitemap import parse_sitemap
from sitemon_spider.core.sitemap.parsed import Rows
from sitemon_spider.core.sitemap.scanner import scan
from tests.mutate import DECLARED, EXTENSIONS, SITEMAP, plain, run, tried

HEAD = f'<urlset xmlns="{SITEMAP}"{DECLARED}>'
ENTRY = "<url><loc>https://e.com/a</loc><lastmod>2026</lastmod></url>"


def is_accepted(text: str) -> bool:
    """Whether the fast reader reads a file; if so, then as the strict one."""
    trials = [tried(text.encode(), metadata=metadata) for metadata in (False, True)]
    assert not any(trial.differs for trial in trials)
    return all(trial.accepted for trial in trials)


def test_what_the_fast_reader_accepts_the_strict_one_reads_alike():
    """`python -m tests.mutate N SEED` tries more of these."""
    accepted, differing = run(2000, seed=1)
    assert differing == []
    assert accepted > 200


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([0, 300, 5000]), st.data())
def test_the_law_holds_for_what_hypothesis_puts_in(rng, size, data):
    text = plain(rng, size)
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(
        st.text(st.sampled_from("<>&;/!-[]CDAT'\"= \n\r\turloc#x1é\u00a0\uffff"), max_size=9)
    )
    cut = data.draw(st.integers(0, 9))
    is_accepted(text[:at] + put + text[at + cut :])


PLAIN = [
    ENTRY,
    "",
    "<url><lastmod>2026</lastmod>\n<loc>\n a \n</loc></url>",
    "<url><loc>a?b&amp;c&lt;&#233;&#xe9;</loc><lastmod><![CDATA[2026]]></lastmod></url>",
    "<url><loc><![CDATA[a&b]]></loc></url>" + ENTRY,
    "<url><loc>\u3000\u00e9\u200b</loc><lastmod> </lastmod></url>",
    "<url>\r\n<loc>a</loc>\r\n</url>\r\n",
    "<url><loc>a</loc><lastmod></lastmod></url>",
    f"<url><loc>a</loc>{''.join(EXTENSIONS[:4])}</url>",
    "<url><loc>a</loc><mobile:a b=\"'\" c=\"\"/></url>",
    "<url ><loc\n>a</loc ></url>",
    "text &amp; text" + ENTRY + "<![CDATA[ text ]]>",
]  # fmt: skip


@pytest.mark.parametrize("content", PLAIN)
def test_plain_files_are_accepted(content):
    assert is_accepted(f"{HEAD}{content}</urlset>")
    assert is_accepted(f"{HEAD}{content * 300}</urlset>\n<!-- made in 0.1 s -->\n")


NOT_PLAIN = [
    "<!-- a -->",
    "<?a b?>",
    "<url><loc>a</loc><loc>b</loc></url>",
    "<url><loc>a</loc><lastmod>1</lastmod><lastmod>2</lastmod></url>",
    "<url></url>",
    "<url><loc></loc></url>",
    "<url><loc> \u200b </loc></url>",
    "<url><loc>a<b/></loc></url>",
    "<url><image:image><loc>a</loc></image:image></url>",
    "<loc>a</loc>",
    "<sitemap><loc>a</loc></sitemap>",
    "<urlset></urlset>",
    "<url><loc>a</loc></url></urlset><urlset>",
    "<url><loc>a>b</loc></url>",
    "<url><loc>a]]></loc></url>",
    "<url><loc><![CDATA[a<b]]></loc></url>",
    "<url><loc>a&nbsp;</loc></url>",
    "<url><loc>a&b</loc></url>",
    "<url><loc>a&#8;</loc></url>",
    "<url><loc>a\x01</loc></url>",
    "<url><loc>a\uffff</loc></url>",
    "<url a=\"b\"><loc>a</loc></url>",
    "<url><loc>a</loc><undeclared:a/></url>",
    "<url><loc>a</loc><mobile:a b=\"1\" b=\"2\"/></url>",
    "<url><loc>a</loc><mobile:a xmlns=\"urn:x\"/></url>",
    "<url><loc>a</loc><mobile:a b=\"1\"c=\"2\"/></url>",
    "<url><loc>a</loc><mobile:a b=1/></url>",
    "<url><loc>a</loc><mobile:a></mobile:b></url>",
    "<url><loc>a</loc></url></url>",
    "<url><loc>a</url></loc>",
    "<url><loc>a</loc>",
]  # fmt: skip


@pytest.mark.parametrize("content", NOT_PLAIN)
@pytest.mark.parametrize("before", [0, 300])
def test_what_is_not_plain_is_left_to_the_strict_reader(content, before):
    assert not is_accepted(f"{HEAD}{ENTRY * before}{content}{ENTRY}</urlset>")
    assert not is_accepted(f"{HEAD}{ENTRY * before}{content}</urlset>")


@pytest.mark.parametrize(
    "root",
    [
        f'<s:urlset xmlns:s="{SITEMAP}">',
        f'<urlset xmlns="{SITEMAP}" xmlns:s="{SITEMAP}"><s:url/>',
        '<urlset xmlns="urn:x" xmlns:s="urn:x"><s:url/>',
        "<urlset a>",
        "<urlset/>",
        f"<urlset xmlns='{SITEMAP}' xmlns='{SITEMAP}'>",
    ],
)
def test_a_root_in_any_other_way_is_left(root):
    assert not is_accepted(f"{root}{ENTRY}</urlset>")


@pytest.mark.parametrize(
    "tail", ["x", "<x/>", "<!-- -- -->", "<!-- \u00e9", "<?a?>", "\0", "&", "-->"]
)
def test_what_else_stands_behind_the_root_is_left(tail):
    assert not is_accepted(f"{HEAD}{ENTRY}</urlset>{tail}")


def test_nothing_is_appended_of_a_file_that_is_not_plain_in_the_end():
    rows = Rows(Counter())
    document = f"{HEAD}{ENTRY * 30_000}<url><loc>a&b</loc></url></urlset>".encode()
    assert not scan(document, 0, rows)
    assert len(rows) == 0


def test_a_large_file_is_read_as_its_small_parts_are():
    """Stretches and batches end somewhere: their edges are not to be seen."""
    entries = [
        f"<url><loc>https://e.com/{n}{'&amp;' * (n % 3)}</loc>"
        + f"<lastmod>{n % 28}</lastmod>" * (n % 4 > 0)
        + "".join(EXTENSIONS[:1] * (n % 5 == 0) + EXTENSIONS[2:3] * (n % 7 == 0))
        + "</url>\n"
        for n in range(30_000)
    ]
    data = f"{HEAD}{''.join(entries)}</urlset>".encode()
    assert tried(data, metadata=True) == tried(data, metadata=False)
    assert is_accepted(data.decode())
    parsed = parse_sitemap(data, metadata=True)
    assert parsed.locs.to_pylist() == [f"https://e.com/{n}{'&' * (n % 3)}" for n in range(30_000)]
    assert parsed.lastmods.to_pylist() == [str(n % 28) if n % 4 else None for n in range(30_000)]
    assert parsed.metadata.column("image_count").to_pylist() == [
        int(n % 7 == 0) for n in range(30_000)
    ]


def test_an_entry_longer_than_a_stretch_is_read():
    long = f"<url><loc>a</loc><mobile:a>{'x' * 700_000}</mobile:a></url>"
    assert is_accepted(f"{HEAD}{ENTRY}{long}{ENTRY}</urlset>")


def test_tags_that_begin_and_end_alike_are_told_apart():
    """Tags are compared whole, however long, also where their hashes agree."""
    names = [f"mobile:{'a' * n}" for n in range(1, 40)] + [
        "mobile:" + "a" * 9 + b + "a" * 9 for b in "bcd"
    ]
    fields = "".join(f"<{name}></{name}>" for name in names)
    assert is_accepted(f"{HEAD}<url><loc>a</loc>{fields}</url>{ENTRY}</urlset>")
    for one, other in itertools.pairwise(names):
        wrong = fields.replace(f"</{one}>", f"</{other}>")
        assert not is_accepted(f"{HEAD}<url><loc>a</loc>{fields}{wrong}</url></urlset>")


def test_more_names_than_can_be_numbered_are_left():
    fields = "".join(f"<mobile:a{n}/>" for n in range(90))
    assert not is_accepted(f"{HEAD}<url><loc>a</loc>{fields}</url></urlset>")


def test_more_shapes_of_tags_than_can_be_looked_for_are_left():
    pairs = [f'<mobile:a b{n}="" c{m}=""/>' for n in range(17) for m in range(17)]
    assert is_accepted(f"{HEAD}<url><loc>a</loc>{''.join(pairs[:200])}</url></urlset>")
    assert not is_accepted(f"{HEAD}<url><loc>a</loc>{''.join(pairs)}</url></urlset>")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_news_are_counted_once_an_entry(count):
    news = "<news:news><news:title>t</news:title></news:news>"
    text = f"{HEAD}<url><loc>a</loc>{news * count}</url>{ENTRY}</urlset>"
    rows = Rows(Counter())
    assert scan(text.encode(), 0, rows)
    assert rows.news == min(count, 1)
