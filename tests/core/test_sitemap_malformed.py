"""Sitemap files that are not as they should be: what is trusted still, and what is said of it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemon_spider.core.reasons import Kind, Reason
from sitemon_spider.core.sitemap import NotASitemap, ParsedSitemap, parse_sitemap
from sitemon_spider.core.sitemap.parsed import Rows
from sitemon_spider.core.sitemap.repair import reread
from sitemon_spider.core.sitemap.strict import SitemapElements

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP}">\n'
A = "<url><loc>https://e.com/a</loc><lastmod>2026-01-01</lastmod></url>\n"
B = "<url><loc>https://e.com/b</loc><lastmod>2026-01-02</lastmod></url>\n"
TAIL = "</urlset>\n"


def read(text: str, cut: Reason | None = None) -> ParsedSitemap:
    return parse_sitemap(text.encode(), cut=cut)


def locs(text: str) -> list[str]:
    return read(text).locs.to_pylist()


def paths(text: str) -> list[str]:
    return [loc.removeprefix("https://e.com/") for loc in locs(text)]


FIELDS = [
    ("<loc>\n   https://e.com/a\n</loc>", "https://e.com/a", "blanks of a pretty printer"),
    ("<loc>\u00a0\u3000https://e.com/a\u200b\ufeff</loc>", "https://e.com/a", "Unicode blanks"),
    ("<loc><![CDATA[https://e.com/a?x=1&y=<2>]]></loc>", "https://e.com/a?x=1&y=<2>", "CDATA"),
    ("<loc>\n <![CDATA[\nhttps://e.com/a\n]]>\n</loc>", "https://e.com/a", "CDATA among blanks"),
    ("<loc>https://<![CDATA[e.com]]>/a</loc>", "https://e.com/a", "CDATA in pieces"),
    ("<loc>https://e.com/<!-- old: /b -->a</loc>", "https://e.com/a", "a comment inside"),
    ("<loc>https://e.com/<?php a ?>a</loc>", "https://e.com/a", "an instruction inside"),
    ("<loc>https://e.com/a?x=1&amp;y=2</loc>", "https://e.com/a?x=1&y=2", "an entity"),
    ("<loc>https://e.com/&#97;&#x62;</loc>", "https://e.com/ab", "references to characters"),
    ("<loc>https://e.com/&lt;&gt;&quot;&apos;</loc>", "https://e.com/<>\"'", "all five entities"),
    ("<loc>https://e.com/a&amp;amp;b</loc>", "https://e.com/a&amp;b", "escaped twice stays so"),
    ("<loc></loc><loc>https://e.com/a</loc>", "https://e.com/a", "the first that is not empty"),
    ("<loc>https://e.com/a</loc><loc>https://e.com/b</loc>", "https://e.com/a", "the first of two"),
    ("<loc>b?c=d</loc>", "b?c=d", "relative"),
    ("<loc>//e.com/a</loc>", "//e.com/a", "without a scheme"),
]


@pytest.mark.parametrize(("field", "loc", "case"), FIELDS)
def test_a_loc_is_its_text(field, loc, case):
    parsed = read(f"{HEAD}<url>{field}</url>{B}{TAIL}")
    assert parsed.locs.to_pylist() == [loc, "https://e.com/b"], case
    assert parsed.lastmods.to_pylist() == [None, "2026-01-02"]
    assert parsed.cut is None


@pytest.mark.parametrize(("field", "loc", "case"), FIELDS)
def test_the_second_reading_reads_a_loc_as_the_strict_one(field, loc, case):
    parsed = read(f"{HEAD}<url>{field}</url>{B}<url><loc>https://e.com/?c&d</loc></url>{TAIL}")
    assert parsed.locs.to_pylist() == [loc, "https://e.com/b", "https://e.com/?c&d"], case


def test_two_locs_are_noted():
    assert read(f"{HEAD}<url><loc>a</loc><loc>b</loc></url>{TAIL}").notes == {"loc_repeated": 1}


@pytest.mark.parametrize("empty", ["<loc></loc>", "<loc/>", "<loc> \n\u200b</loc>", ""])
def test_an_entry_without_a_loc_is_skipped_and_its_lastmod_with_it(empty):
    parsed = read(
        f"{HEAD}{A}<url>{empty}<lastmod>1999</lastmod></url><url><loc>c</loc></url>{TAIL}"
    )
    assert parsed.locs.to_pylist() == ["https://e.com/a", "c"]
    assert parsed.lastmods.to_pylist() == ["2026-01-01", None]
    assert (parsed.cut, parsed.notes) == (None, {"entry_without_loc": 1})


LASTMODS = [
    ("<lastmod>2026</lastmod>", "2026"),
    ("<lastmod>\n 2026-01 \n</lastmod>", "2026-01"),
    ("<lastmod><![CDATA[2026]]></lastmod>", "2026"),
    ("<lastmod>yesterday  noon</lastmod>", "yesterday  noon"),
    ("<lastmod></lastmod>", None),
    ("<lastmod> </lastmod><lastmod>2026</lastmod>", "2026"),
    ("<lastmod>2026</lastmod><lastmod>2027</lastmod>", "2026"),
    ("<lastmod><b>2026</b></lastmod>", None),
    ("", None),
]


@pytest.mark.parametrize(("field", "lastmod"), LASTMODS)
def test_a_lastmod_is_kept_as_written(field, lastmod):
    for fields in (f"<loc>a</loc>{field}", f"{field}<loc>a</loc>"):
        parsed = read(f"{HEAD}<url>{fields}</url>{TAIL}")
        assert parsed.lastmods.to_pylist() == [lastmod]
        assert parsed.cut is None


def test_a_loc_with_markup_is_not_guessed():
    parsed = read(f"{HEAD}{A}<url><loc><a href='https://e.com/c'>c</a></loc></url>{B}{TAIL}")
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]
    assert parsed.cut is Reason.TRUNCATED
    assert parsed.notes["field_with_markup"] == 1


@pytest.mark.parametrize("root", ["<urlset/>", "<urlset></urlset>", f'<urlset xmlns="{SITEMAP}"/>'])
def test_an_empty_urlset_is_a_whole_file_of_no_urls(root):
    parsed = read(root)
    assert (parsed.kind, len(parsed.locs), parsed.cut) == (Kind.URLSET, 0, None)
    assert not parsed.notes


# ------------------------------------------------------------------ cut

WHOLE = HEAD + A + B + TAIL


@pytest.mark.parametrize("length", range(len(HEAD) + 1, len(WHOLE) - 1))
def test_of_a_cut_file_the_entries_that_are_closed_are_kept(length):
    text = WHOLE[:length]
    parsed = read(text)
    assert len(parsed.locs) == text.count("</url>")
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"][: len(parsed.locs)]
    assert parsed.cut is (None if text.endswith("</urlset>") else Reason.TRUNCATED)


@pytest.mark.parametrize("length", range(HEAD.index("<urlset") + 8, len(HEAD)))
def test_a_file_cut_inside_its_root_tag_is_cut_and_not_empty(length):
    parsed = read(WHOLE[:length])
    assert (len(parsed.locs), parsed.cut) == (0, Reason.TRUNCATED)


@pytest.mark.parametrize("length", range(1, HEAD.index("<urlset") + 8))
def test_a_file_cut_before_its_root_is_no_sitemap(length):
    with pytest.raises(NotASitemap) as caught:
        read(WHOLE[:length])
    assert caught.value.reason is Reason.NOT_A_SITEMAP
    with pytest.raises(NotASitemap) as caught:
        read(WHOLE[:length], Reason.TRUNCATED)
    assert caught.value.reason is Reason.TRUNCATED


@pytest.mark.parametrize("cut", [Reason.TRUNCATED, Reason.TOO_LARGE])
def test_what_the_transport_knows_is_carried(cut):
    assert read(WHOLE, cut).cut is cut
    assert read(HEAD + A, cut).cut is cut
    assert read(HEAD + A.replace("a<", "\x01<") + TAIL, cut).cut is cut
    assert parse_sitemap(b"https://e.com/\n", cut=cut).cut is cut


def test_a_repaired_file_that_is_cut_is_cut():
    parsed = read(f"{HEAD}<url><loc>https://e.com/?a&b</loc></url>{A[:-9]}")
    assert parsed.locs.to_pylist() == ["https://e.com/?a&b"]
    assert parsed.cut is Reason.TRUNCATED
    assert parsed.notes == {"ampersand_repaired": 1}


# ------------------------------------------------------------------ around the document

BEFORE = [
    "PHP Warning: foo in /srv/a.php on line 3\n",
    "<br />\n<b>Warning</b>: foo in <b>/srv/a.php</b> on line <b>3</b><br />\n",
    "<!-- generated -->\n",
    "<?xml-stylesheet type='text/xsl' href='a.xsl'?>\n",
    "\n\n\n",
    "<!DOCTYPE urlset>\n",
    '<!DOCTYPE urlset SYSTEM "http://e.com/sitemap.dtd">\n',
    "<!DOCTYPE urlset [<!ELEMENT urlset (url*)>]>\n",
    "<!-- <urlset><url><loc>https://e.com/old</loc></url></urlset> -->",
    "text < text & text\n",
]


@pytest.mark.parametrize("before", BEFORE)
def test_the_root_is_found_behind_whatever_stands_before_it(before):
    for text in (before + WHOLE, HEAD.replace("<urlset", before + "<urlset") + A + B + TAIL):
        parsed = read(text)
        assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]
        assert parsed.cut is None


def test_junk_before_the_root_is_noted_and_a_prolog_is_none():
    noted = [before for before in BEFORE if read(before + WHOLE).notes]
    assert noted == [BEFORE[0], BEFORE[1], BEFORE[9]]
    assert read(BEFORE[0] + WHOLE).notes == {"junk_before_root": 1}


AFTER = [
    ("\n\n", False),
    ("<!-- 0.3 s -->", False),
    ("<!-- never closed", False),
    ("<script>if (a < b && c) {}</script>", True),
    ("PHP Warning: foo & bar", True),
    ("\0\0\0\0", True),
    ("</urlset>", True),
    ("</html>", True),
    ("<x>", True),
]


@pytest.mark.parametrize(("after", "is_noted"), AFTER)
def test_what_stands_behind_the_root_costs_nothing(after, is_noted):
    parsed = read(WHOLE + after)
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]
    assert parsed.cut is None
    assert parsed.notes == ({"junk_after_root": 1} if is_noted else {})


@pytest.mark.parametrize("between", ["", "\n", "junk & <b>", "<!DOCTYPE urlset>", "</urlset>"])
def test_documents_glued_together_are_all_read(between):
    one, two = HEAD + A + TAIL, HEAD + B + TAIL
    parsed = read(one + between + two + between + one)
    assert paths(one + between + two) == ["a", "b"]
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b", "https://e.com/a"]
    assert parsed.cut is None


def test_glued_documents_of_different_prefixes_and_forms():
    other = f'<s:sitemapindex xmlns:s="{SITEMAP}"><s:sitemap><s:loc>c</s:loc></s:sitemap>'
    parsed = read(f"{WHOLE}{other}</s:sitemapindex>")
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]
    assert (parsed.kind, parsed.children, parsed.cut) == (Kind.URLSET, ("c",), None)


def test_the_first_of_glued_documents_may_be_cut():
    parsed = read(HEAD + A + "<url><loc>https://e.com/x" + HEAD + B + TAIL)
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]
    assert parsed.cut is Reason.TRUNCATED


def test_an_entry_behind_the_end_of_its_root_is_read():
    parsed = read(HEAD + A + TAIL + B + TAIL)
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]


# ------------------------------------------------------------------ errors inside

REPAIRED = [
    ("https://e.com/p?x=1&y=2", "https://e.com/p?x=1&y=2", "ampersand_repaired"),
    ("https://e.com/p?x=1&copy=2", "https://e.com/p?x=1&copy=2", "ampersand_repaired"),
    ("https://e.com/p?a&amp;b&c", "https://e.com/p?a&b&c", "ampersand_repaired"),
    ("https://e.com/p?a&", "https://e.com/p?a&", "ampersand_repaired"),
    ("https://e.com/p?a&#top", "https://e.com/p?a&#top", "ampersand_repaired"),
    ("https://e.com/caf&eacute;", "https://e.com/café", "entity_repaired"),
    ("&nbsp;https://e.com/a&nbsp;", "https://e.com/a", "entity_repaired"),
    ("https://e.com/&Acirc;&copy;?a&amp;b", "https://e.com/Â©?a&b", "entity_repaired"),
]


@pytest.mark.parametrize(("written", "meant", "note"), REPAIRED)
def test_what_has_one_plain_meaning_is_repaired_and_noted(written, meant, note):
    parsed = read(f"{HEAD}{A}<url><loc>{written}</loc></url>{B}{TAIL}")
    assert parsed.locs.to_pylist() == ["https://e.com/a", meant, "https://e.com/b"]
    assert parsed.cut is None
    assert parsed.notes.keys() == {note}


def test_a_repair_does_not_reach_into_cdata_or_comments():
    parsed = read(
        f"{HEAD}<url><loc><![CDATA[https://e.com/?a&amp;b&eacute;&]]></loc></url>"
        f"<!-- & <url><loc>x</loc></url> -- --><url><loc>https://e.com/?a&b</loc></url>{TAIL}"
    )
    assert parsed.locs.to_pylist() == ["https://e.com/?a&amp;b&eacute;&", "https://e.com/?a&b"]
    assert parsed.notes == {"ampersand_repaired": 1}


def test_every_repair_of_a_file_is_counted():
    entries = "".join(f"<url><loc>https://e.com/?a&b={n}</loc></url>" for n in range(1000))
    parsed = read(HEAD + entries + TAIL)
    assert parsed.locs.to_pylist() == [f"https://e.com/?a&b={n}" for n in range(1000)]
    assert (parsed.cut, parsed.notes) == (None, {"ampersand_repaired": 1000})


DAMAGED = [
    ("<url><loc>https://e.com/x\x01</loc></url>", "control_character"),
    ("<url><loc>https://e.com/x&#8;</loc></url>", "control_character"),
    ("<url><loc>https://e.com/x</loc><title>\x0b</title></url>", "control_character"),
    ("<url><loc>https://e.com/x\uffff</loc></url>", "control_character"),
    ("<url><loc><![CDATA[https://e.com/x\x02]]></loc></url>", "control_character"),
    ("<url><loc>https://e.com/x&#xD800;</loc></url>", "control_character"),
    ("<url><loc>https://e.com/x&unknown;</loc></url>", "entity_unknown"),
    ("<url><loc>https://e.com/x</ loc></url>", "malformed"),
    ("<url><loc>https://e.com/x<y</loc></url>", "malformed"),
    ("<url><loc>https://e.com/x</loc></loc></url>", "tag_mismatch"),
    ("<url><loc>https://e.com/x</Loc></url>", "tag_mismatch"),
    ("<url><loc>https://e.com/x<lastmod>2026</lastmod></url>", "tag_mismatch"),
    ("<url><loc>https://e.com/x</loc><a></b></url>", "tag_mismatch"),
    ("<url><loc>https://e.com/x</loc></urls>", "tag_mismatch"),
    ("<url a=b><loc>https://e.com/x</loc></url>", "malformed"),
    ("<url a='1' a='2'><loc>https://e.com/x</loc></url>", "malformed"),
    ("<url><loc>https://e.com/x</loc><lastmod>2026</lastmod>", "entry_unclosed"),
    ("<url><loc>https://e.com/x", "entry_unclosed"),
]


@pytest.mark.parametrize(("entry", "note"), DAMAGED)
def test_an_entry_with_an_error_inside_is_left_out_alone(entry, note):
    """[G]: its page may be listed still, so the file is not read in full."""
    parsed = read(HEAD + A + entry + B + A + TAIL)
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b", "https://e.com/a"]
    assert parsed.lastmods.to_pylist() == ["2026-01-01", "2026-01-02", "2026-01-01"]
    assert parsed.cut is Reason.TRUNCATED
    assert parsed.notes[note] == 1


@pytest.mark.parametrize(("entry", "note"), DAMAGED)
def test_many_damaged_entries_are_many_errors(entry, note):
    parsed = read(HEAD + (A + entry + B) * 20 + TAIL)
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"] * 20
    assert parsed.notes[note] == 20


def test_a_damaged_entry_keeps_its_prefix_in_force():
    head, entry = (
        f'<s:urlset xmlns:s="{SITEMAP}">',
        "<s:url><s:loc>https://e.com/{}</s:loc></s:url>",
    )
    text = head + entry.format("a") + entry.format("\x01") + entry.format("b") + "</s:urlset>"
    assert paths(text) == ["a", "b"]


def test_the_next_entry_is_not_looked_for_in_comments_or_cdata():
    for hidden in (
        "<!-- <url><loc>https://e.com/old</loc></url> -->",
        "<!-- a -- b <url><loc>https://e.com/old</loc></url> -->",
        "<note><![CDATA[<url><loc>https://e.com/old</loc></url>]]></note>",
        "<?php <url><loc>https://e.com/old</loc></url> ?>",
    ):
        assert paths(f"{HEAD}{A}<url><loc>\x01</loc></url>{hidden}{B}{TAIL}") == ["a", "b"]
        assert paths(f"{HEAD}{A}{hidden}<url><loc>?&</loc></url>{TAIL}")[-1] == "?&"


@pytest.mark.parametrize(
    "root",
    [
        f'<urlset xmlns="{SITEMAP}" xmlns:i="urn:i" xmlns:i="urn:i">',
        f"<urlset xmlns={SITEMAP}>",
        f'<urlset xmlns="{SITEMAP}"xmlns:i="urn:i">',
        '<urlset xmlns:image="">',
        "<urlset a&b>",
    ],
)
def test_a_root_tag_that_is_not_well_formed_costs_nothing(root):
    image = "<image:image><image:loc>https://i.com/</image:loc></image:image></url>"
    text = root + A + B.replace("</url>", image) + TAIL
    assert paths(text) == ["a", "b"]
    assert read(text).cut is None


@pytest.mark.parametrize(
    "declaration", ['<?xml version="1.0">', "<?xml?>", '<? xml version="1.0"?>']
)
def test_a_wrong_declaration_costs_nothing(declaration):
    assert paths(f"{declaration}\n<urlset>{A}{B}{TAIL}") == ["a", "b"]


def test_unclosed_markup_of_a_warning_does_not_hide_what_follows():
    parsed = read(f"{HEAD}{A}<br><b>Warning</b>: foo<br>{B}{TAIL}")
    assert parsed.locs.to_pylist() == ["https://e.com/a", "https://e.com/b"]


@pytest.mark.parametrize(
    ("closed", "kept"),
    [("</urlse>", ["a", "b"]), ("</sitemapindex>", ["a", "b"]), ("</url>", ["a", "b"])],
)
def test_a_wrong_closing_tag_of_the_root_is_a_cut(closed, kept):
    assert paths(HEAD + A + B + closed) == kept
    assert read(HEAD + A + B + closed).cut is Reason.TRUNCATED


# ------------------------------------------------------------------ laws

texts = st.text(st.sampled_from("ab/?=&;<>#'\"é\u3000 \n-[]!x"), max_size=12)
elements = st.deferred(
    lambda: st.one_of(
        texts.map(lambda t: t.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")),
        texts.map(lambda t: f"<![CDATA[{t.replace(']]>', '')}]]>"),
        texts.map(lambda t: f"<!--{t.replace('-', '')}-->"),
        st.sampled_from(["&#233;", "&lt;", "<?a b?>", "<x/>"]),
        st.tuples(
            st.sampled_from(["url", "sitemap", "loc", "loc", "lastmod", "x:y", "urlset"]),
            st.lists(elements, max_size=4),
        ).map(lambda e: f"<{e[0]}>{''.join(e[1])}</{e[0]}>"),
    )
)
documents = st.lists(elements, max_size=8).map(
    lambda parts: f'<urlset xmlns="{SITEMAP}" xmlns:x="urn:x">{"".join(parts)}</urlset>'
)


@given(documents)
def test_the_second_reading_of_a_well_formed_document_is_the_first(text):
    strict = read(text)
    rows = Rows(Counter())
    is_whole = reread(text.encode(), Kind.URLSET, SitemapElements(rows), rows)
    again = rows.parsed(strict.kind, None)
    assert is_whole
    assert (again.locs, again.lastmods) == (strict.locs, strict.lastmods)
    assert (again.children, again.notes) == (strict.children, strict.notes)


@given(st.data())
def test_no_damage_invents_a_url_or_loses_one_in_silence(data):
    """[G]: whatever bytes are lost or put in, each URL read is one that the text holds whole."""
    honest = [f"https://e.com/{n:04}/end" for n in range(12)]
    text = HEAD + "".join(f"<url><loc>{loc}</loc></url>" for loc in honest) + TAIL
    start = data.draw(st.integers(len(HEAD), len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 80)))
    put = data.draw(st.sampled_from(["", "<", "&", "\x01", "</url>", "<url>", "]]>", "<!--", '"']))
    damaged = text[:start] + put + text[end:]
    parsed = read(damaged)
    for loc in parsed.locs.to_pylist():
        assert f"<loc>{loc}</loc>" in damaged.replace("<!--", "").replace("]]>", "")
    if parsed.cut is None and not parsed.notes["loc_repeated"]:
        for loc in set(honest) - set(parsed.locs.to_pylist()):
            assert f"<loc>{loc}</loc></url>" not in damaged
