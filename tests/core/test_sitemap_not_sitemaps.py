"""What is no sitemap, and what it is said to be instead."""

from __future__ import annotations

import codecs

import pytest

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.sitemap import NotASitemap, parse_sitemap

ENTRY = "<url><loc>https://e.com/</loc></url>"

CASES = [
    (Reason.EMPTY, ""),
    (Reason.EMPTY, "\n \r\n\t"),
    (Reason.EMPTY, "\ufeff"),
    (Reason.EMPTY, "\ufeff\n\ufeff"),
    (Reason.EMPTY, "\0\0\0\0\0"),
    (Reason.HTML_PAGE, "<!doctype html><html><head></head><body><div id=app></div></body></html>"),
    (Reason.HTML_PAGE, "<html><body>Not found</body></html>"),
    (Reason.HTML_PAGE, "\n\n<!-- a --><HTML lang=en>"),
    (Reason.HTML_PAGE, '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0">'),
    (Reason.HTML_PAGE, "<h1>It works!</h1>"),
    (Reason.HTML_PAGE, "<title>404</title><p>Nothing here"),
    (Reason.HTML_PAGE, "<script>location = '/'</script>"),
    (Reason.HTML_PAGE, "<br />\n<b>Fatal error</b>: out of memory"),
    (Reason.HTML_PAGE, f"<!DOCTYPE html><html><body><urlset>{ENTRY}</urlset></body></html>"),
    (Reason.LOGIN_PAGE, '<html><form><input name="user"><input type="password"></form></html>'),
    (Reason.LOGIN_PAGE, "<!DOCTYPE html><INPUT TYPE = 'password' NAME=p>"),
    (Reason.LOGIN_PAGE, "<html><form><input type=password></form><script src='/recaptcha.js'>"),
    (Reason.CAPTCHA, "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>"),
    (Reason.CAPTCHA, "<html><script src='/cdn-cgi/challenge-platform/h/g/orchestrate'></script>"),
    (Reason.CAPTCHA, "<html><title>Attention Required! | Cloudflare</title></html>"),
    (Reason.CAPTCHA, "<html><div class='g-recaptcha' data-sitekey='x'></div></html>"),
    (Reason.CAPTCHA, "<html><script src='https://hcaptcha.com/1/api.js'></script></html>"),
    (Reason.CAPTCHA, "<html><p>Please verify you are human</p></html>"),
    (Reason.CAPTCHA, "<html><p>Checking your browser before accessing e.com</p></html>"),
    (
        Reason.HTML_PAGE,
        (
            "<!doctype html><script src='https://www.google.com/recaptcha/api.js'></script>"
            "<div id='root'></div>"
        ),
    ),
    (Reason.NOT_A_SITEMAP, "<Error><Code>AccessDenied</Code><HostId>x</HostId></Error>"),
    (Reason.NOT_A_SITEMAP, '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>'),
    (Reason.NOT_A_SITEMAP, '<?xml version="1.0"?>'),
    (Reason.NOT_A_SITEMAP, "<opml><head><title>a</title></head></opml>"),
    (Reason.NOT_A_SITEMAP, "<!-- <urlset></urlset> -->"),
    (Reason.NOT_A_SITEMAP, "<!-- <urlset>"),
    (Reason.NOT_A_SITEMAP, "<urlsets></urlsets>"),
    (Reason.NOT_A_SITEMAP, '{"pages": []}'),
    (Reason.NOT_A_SITEMAP, "Not Found"),
    (Reason.NOT_A_SITEMAP, "<?php echo 1; ?>"),
    (Reason.NOT_A_SITEMAP, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
    (Reason.NOT_A_SITEMAP, "%PDF-1.7"),
]


@pytest.mark.parametrize(("reason", "text"), CASES)
def test_what_is_no_sitemap_is_said_to_be_what_it_is(reason, text):
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(text.encode())
    assert caught.value.reason is reason
    assert str(caught.value) == reason.sentence


@pytest.mark.parametrize(("reason", "text"), CASES)
def test_the_same_in_utf_16(reason, text):
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(codecs.BOM_UTF16_LE + text.encode("utf-16-le"))
    assert caught.value.reason is reason


@pytest.mark.parametrize(("reason", "text"), CASES)
def test_a_cut_answer_is_cut_unless_it_is_plainly_a_page(reason, text):
    """What a file was going to be, nobody knows: a passing fault, no verdict on the site."""
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(text.encode(), cut=Reason.TRUNCATED)
    passing = {Reason.EMPTY, Reason.NOT_A_SITEMAP}
    assert caught.value.reason is (Reason.TRUNCATED if reason in passing else reason)


UNSAFE = [
    '<!DOCTYPE urlset [<!ENTITY x "https://e.com/">]>',
    '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE urlset [<!ENTITY % x SYSTEM "https://e.com/x.dtd"> %x;]>',
    '<!DOCTYPE urlset [\n<!-- ]> -->\n<!ENTITY x "1">]>',
    '<!DOCTYPE urlset [<!ENTITY x "<urlset><url><loc>a</loc></url></urlset>">]>',
    '<!DOCTYPE urlset SYSTEM "x.dtd" [<!ENTITY x "1">]>',
    'junk <?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY x "1">]>',
]


@pytest.mark.parametrize("doctype", UNSAFE)
@pytest.mark.parametrize("loc", ["https://e.com/&x;", "https://e.com/", "&#1;"])
def test_declared_entities_are_refused_used_or_not(doctype, loc):
    """[S2]."""
    for text in (
        f'<?xml version="1.0"?>{doctype}<urlset><url><loc>{loc}</loc></url></urlset>',
        f"{doctype}<rss><channel><item><link>{loc}</link></item></channel></rss>",
        f"<urlset></urlset>{doctype}<urlset><url><loc>{loc}</loc></url></urlset>",
        f"{doctype}<unknown/>",
    ):
        with pytest.raises(NotASitemap) as caught:
            parse_sitemap(text.encode())
        assert caught.value.reason is Reason.UNSAFE_XML


def test_an_entity_of_an_external_document_type_is_refused_where_it_is_used():
    doctype = '<!DOCTYPE urlset SYSTEM "https://e.com/x.dtd">'
    entries = "<url><loc>https://e.com/{}</loc></url>"
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap(f"{doctype}<urlset>{entries.format('&x;')}</urlset>".encode())
    assert caught.value.reason is Reason.UNSAFE_XML
    harmless = f"{doctype}<urlset>{entries.format('')}</urlset>"
    assert parse_sitemap(harmless.encode()).locs.to_pylist() == ["https://e.com/"]
    of_html = f"{doctype}<urlset>{entries.format('&eacute;')}</urlset>"
    assert parse_sitemap(of_html.encode()).locs.to_pylist() == ["https://e.com/é"]


def test_what_looks_like_a_declaration_elsewhere_is_none():
    """Only a document type declares; text, CDATA and comments say what they like."""
    for text in (
        f"<!-- <!DOCTYPE a [<!ENTITY x 'y'>]> --><urlset>{ENTRY}</urlset>",
        f"<urlset>{ENTRY}<!-- <!ENTITY x 'y'> --></urlset>",
        f"<urlset>{ENTRY}<a><![CDATA[<!ENTITY x 'y'>]]></a></urlset>",
        f"<urlset>{ENTRY}<a><![CDATA[<!ENTITY x 'y'>]]>&</a></urlset>",
    ):
        assert parse_sitemap(text.encode()).locs.to_pylist() == ["https://e.com/"]


def test_the_notes_of_the_reading_come_along():
    with pytest.raises(NotASitemap) as caught:
        parse_sitemap("a\nb\nhttps://e.com/\n".encode("utf-16-le"))
    assert caught.value.notes == {"charset_wide": 1, "text_not_a_url": 2}
