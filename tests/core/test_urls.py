"""[C2]: which spellings are one URL, which are not, and that a column decides like a row."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode, urlsplit

import idna
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.urls import InvalidUrl, _proved, absolute, identity, key, normalize, origin

BASE = "https://e.com/maps/sitemap.xml"
E = "https://e.com"

SAME = [
    # Nothing to do.
    ("https://e.com/", "https://e.com/"),
    ("https://e.com/a", "https://e.com/a"),
    ("http://e.com/a", "http://e.com/a"),
    ("https://www.e.com/a/b.html?x=1&y=2", "https://www.e.com/a/b.html?x=1&y=2"),
    ("https://e.com/-._~!$&'()*+,;=:@", "https://e.com/-._~!$&'()*+,;=:@"),
    ("https://e.com/?-._~!$&'()*+,;=:@/?", "https://e.com/?-._~!$&'()*+,;=:@/?"),
    ("https://e.com/a;v=1,2/b", "https://e.com/a;v=1,2/b"),
    # RFC 3986 §6.2.2.1: scheme and host have no case, the path and the query have one.
    ("HTTPS://e.com/a", "https://e.com/a"),
    ("HttpS://E.COM/a", "https://e.com/a"),
    ("http://EXAMPLE.com/%7Efoo", "http://example.com/~foo"),
    ("https://e.com/Path/To?Query=Value", "https://e.com/Path/To?Query=Value"),
    ("https://E.com", "https://e.com/"),
    # RFC 3986 §6.2.3: an empty path is "/".
    ("https://e.com", "https://e.com/"),
    ("https://e.com?x=1", "https://e.com/?x=1"),
    ("https://e.com#top", "https://e.com/"),
    ("https://e.com?", "https://e.com/?"),
    # Default and empty ports go, others stay (RFC 3986 §3.2.3).
    ("https://e.com:443/a", "https://e.com/a"),
    ("http://e.com:80/a", "http://e.com/a"),
    ("https://e.com:/a", "https://e.com/a"),
    ("http://e.com:", "http://e.com/"),
    ("https://e.com:80/a", "https://e.com:80/a"),
    ("http://e.com:443/a", "http://e.com:443/a"),
    ("https://e.com:8443/a", "https://e.com:8443/a"),
    ("https://e.com:0443/a", "https://e.com/a"),
    ("https://e.com:08443/a", "https://e.com:8443/a"),
    ("https://e.com:65535/a", "https://e.com:65535/a"),
    ("https://e.com:1/a", "https://e.com:1/a"),
    ("https://e.com:443?x", "https://e.com/?x"),
    # One trailing dot of the host goes.
    ("https://e.com./a", "https://e.com/a"),
    ("https://e.com.:443/a", "https://e.com/a"),
    ("https://e.com.:8443/a", "https://e.com:8443/a"),
    ("https://E.Com.", "https://e.com/"),
    # Hosts that are no registered domain names, and are in use.
    ("https://localhost/a", "https://localhost/a"),
    ("https://a_b.e.com/", "https://a_b.e.com/"),
    ("https://-a.e.com/", "https://-a.e.com/"),
    ("https://a-.e.com/", "https://a-.e.com/"),
    ("https://r3---sn.e.com/", "https://r3---sn.e.com/"),
    ("https://127.0.0.1/", "https://127.0.0.1/"),
    ("https://2130706433/", "https://2130706433/"),
    ("https://[2001:DB8::1]/a", "https://[2001:db8::1]/a"),
    ("https://[2001:db8::1]:443/a", "https://[2001:db8::1]/a"),
    ("https://[::FFFF:1.2.3.4]:8080", "https://[::ffff:1.2.3.4]:8080/"),
    (f"https://{'a' * 63}.com/", f"https://{'a' * 63}.com/"),
    (f"https://{'a.' * 125}com./", f"https://{'a.' * 125}com/"),
    # IDNA A-labels by UTS 46.
    ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
    ("https://Bücher.Example./", "https://xn--bcher-kva.example/"),
    ("https://bu\u0308cher.example/", "https://xn--bcher-kva.example/"),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ("https://XN--BCHER-KVA.example/", "https://xn--bcher-kva.example/"),
    ("https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/"),
    ("https://b%c3%bccher.example/", "https://xn--bcher-kva.example/"),
    ("https://B%C3%9CCHER.example/", "https://xn--bcher-kva.example/"),
    ("https://straße.example/", "https://xn--strae-oqa.example/"),
    ("https://STRAẞE.example/", "https://xn--strae-oqa.example/"),
    ("https://strasse.example/", "https://strasse.example/"),
    ("https://ｅ.ｃｏｍ/a", "https://e.com/a"),
    ("https://Ｅ．ＣＯＭ/a", "https://e.com/a"),
    ("https://e．com/a", "https://e.com/a"),
    ("https://e。com/a", "https://e.com/a"),
    ("https://e｡com。/a", "https://e.com/a"),
    ("https://日本語。jp/", "https://xn--wgv71a119e.jp/"),
    ("https://日本語.jp:443/", "https://xn--wgv71a119e.jp/"),
    ("https://пример.испытание/", "https://xn--e1afmkfd.xn--80akhbyknj4f/"),
    ("https://ПРИМЕР.испытание/", "https://xn--e1afmkfd.xn--80akhbyknj4f/"),
    ("https://مثال.example/", "https://xn--mgbh0fb.example/"),
    ("https://☕.example/", "https://xn--53h.example/"),
    ("https://a_b.bücher.example/", "https://a_b.xn--bcher-kva.example/"),
    ("https://e\u200b.com/", "https://e.com/"),
    ("https://e\xad.com/", "https://e.com/"),
    ("https://e%2Ecom/", "https://e.com/"),
    ("https://%65.com/", "https://e.com/"),
    # User information belongs to a page's URL.
    ("https://user@e.com/a", "https://user@e.com/a"),
    ("https://User:Pass@E.com:443/a", "https://User:Pass@e.com/a"),
    ("https://us%65r:p%c3%a9@e.com/", "https://user:p%C3%A9@e.com/"),
    ("https://us er:é@e.com/", "https://us%20er:%C3%A9@e.com/"),
    ("https://a@b@e.com/", "https://a%40b@e.com/"),
    ("https://@e.com/", "https://@e.com/"),
    ("https://:@e.com/", "https://:@e.com/"),
    # The fragment goes.
    ("https://e.com/a#b", "https://e.com/a"),
    ("https://e.com/a#", "https://e.com/a"),
    ("https://e.com/a?x=1#b?c#d", "https://e.com/a?x=1"),
    ("https://e.com/#!/app", "https://e.com/"),
    ("https://e.com/a#b/../c", "https://e.com/a"),
    ("https://e.com/a%23b", "https://e.com/a%23b"),
    # RFC 3986 §6.2.2.1 and §6.2.2.2: escapes in upper case, unreserved characters as such.
    ("https://e.com/%c3%a9", "https://e.com/%C3%A9"),
    ("https://e.com/%C3%a9", "https://e.com/%C3%A9"),
    ("https://e.com/%C3%A9", "https://e.com/%C3%A9"),
    ("https://e.com/%7Euser", "https://e.com/~user"),
    ("https://e.com/%7euser", "https://e.com/~user"),
    ("https://e.com/%41%5A%61%7A", "https://e.com/AZaz"),
    ("https://e.com/%30%39", "https://e.com/09"),
    ("https://e.com/a%2Db%2Ec%5Fd%7e", "https://e.com/a-b.c_d~"),
    ("https://e.com/a%2db%2ec%5fd", "https://e.com/a-b.c_d"),
    ("https://e.com/%40%5B%60%7B", "https://e.com/%40%5B%60%7B"),
    ("https://e.com/%2f%3a%3f%23", "https://e.com/%2F%3A%3F%23"),
    ("https://e.com/%21%24%26%27%28%29%2a%2b", "https://e.com/%21%24%26%27%28%29%2A%2B"),
    ("https://e.com/%2c%3b%3d", "https://e.com/%2C%3B%3D"),
    ("https://e.com/%00%1f%7f%0a", "https://e.com/%00%1F%7F%0A"),
    ("https://e.com/%e9", "https://e.com/%E9"),
    ("https://e.com/%ff%FE", "https://e.com/%FF%FE"),
    ("https://e.com/?q=%7e%c3%a9%2f", "https://e.com/?q=~%C3%A9%2F"),
    ("https://e.com/%2541", "https://e.com/%2541"),
    ("https://e.com/%25%34%31", "https://e.com/%2541"),
    ("https://e.com/%25%37%45", "https://e.com/%257E"),
    # Characters that no URL holds are escaped as UTF-8 (RFC 3986 §2.5, RFC 3987 §3.1).
    ("https://e.com/é", "https://e.com/%C3%A9"),
    ("https://e.com/e\u0301", "https://e.com/e%CC%81"),
    ("https://e.com/привет", "https://e.com/%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82"),
    ("https://e.com/日本?q=語", "https://e.com/%E6%97%A5%E6%9C%AC?q=%E8%AA%9E"),
    ("https://e.com/😀", "https://e.com/%F0%9F%98%80"),
    ("https://e.com/a b", "https://e.com/a%20b"),
    ("https://e.com/a  b?c d", "https://e.com/a%20%20b?c%20d"),
    ('https://e.com/"<>\\^`{|}', "https://e.com/%22%3C%3E%5C%5E%60%7B%7C%7D"),
    ('https://e.com/?"<>\\^`{|}', "https://e.com/?%22%3C%3E%5C%5E%60%7B%7C%7D"),
    ("https://e.com/a[1]", "https://e.com/a%5B1%5D"),
    ("https://e.com/?a[]=1", "https://e.com/?a%5B%5D=1"),
    ("https://e.com/?a%5b%5d=1", "https://e.com/?a%5B%5D=1"),
    ("https://e.com/é%c3%a9É", "https://e.com/%C3%A9%C3%A9%C3%89"),
    ("https://e.com/a\xa0b", "https://e.com/a%C2%A0b"),
    ("https://e.com/a\u3000b", "https://e.com/a%E3%80%80b"),
    ("https://e.com/a\u200bb", "https://e.com/a%E2%80%8Bb"),
    ("https://e.com/نیم\u200cفاصله", "https://e.com/" + quote("نیم\u200cفاصله")),
    ("https://e.com/\ufffd", "https://e.com/%EF%BF%BD"),
    # A "%" that begins no escape.
    ("https://e.com/100%", "https://e.com/100%25"),
    ("https://e.com/100%25", "https://e.com/100%25"),
    ("https://e.com/%zz", "https://e.com/%25zz"),
    ("https://e.com/%4", "https://e.com/%254"),
    ("https://e.com/%4g", "https://e.com/%254g"),
    ("https://e.com/%%", "https://e.com/%25%25"),
    ("https://e.com/%%41", "https://e.com/%25A"),
    ("https://e.com/%%34%31", "https://e.com/%2541"),
    ("https://e.com/%4%31", "https://e.com/%2541"),
    ("https://e.com/%é", "https://e.com/%25%C3%A9"),
    ("https://e.com/%４１", "https://e.com/%25%EF%BC%94%EF%BC%91"),
    ("https://e.com/?p=50%&q=%u0041", "https://e.com/?p=50%25&q=%25u0041"),
    # RFC 3986 §6.2.2.3, §5.2.4: dot segments.
    ("https://e.com/a/./b", "https://e.com/a/b"),
    ("https://e.com/a/../b", "https://e.com/b"),
    ("https://e.com/a/b/c/./../../g", "https://e.com/a/g"),
    ("https://e.com/.", "https://e.com/"),
    ("https://e.com/..", "https://e.com/"),
    ("https://e.com/a/.", "https://e.com/a/"),
    ("https://e.com/a/..", "https://e.com/"),
    ("https://e.com/a/b/..", "https://e.com/a/"),
    ("https://e.com/../../a", "https://e.com/a"),
    ("https://e.com/a//../b", "https://e.com/a/b"),
    ("https://e.com/%2E%2e/a/%2e/b", "https://e.com/a/b"),
    ("https://e.com/a/.%2E/b", "https://e.com/b"),
    ("https://e.com/.well-known/x", "https://e.com/.well-known/x"),
    ("https://e.com/...", "https://e.com/..."),
    ("https://e.com/a/..b/.c/d.", "https://e.com/a/..b/.c/d."),
    ("https://e.com/a/..;/b", "https://e.com/a/..;/b"),
    ("https://e.com/a?b/../c", "https://e.com/a?b/../c"),
    ("https://e.com/a?/./", "https://e.com/a?/./"),
    ("https://e.com/a/..%2Fb", "https://e.com/a/..%2Fb"),
    ("https://e.com/a/..\\b", "https://e.com/a/..%5Cb"),
    # Never touched.
    ("https://e.com/a/", "https://e.com/a/"),
    ("https://e.com//a//b", "https://e.com//a//b"),
    ("https://e.com/a?", "https://e.com/a?"),
    ("https://e.com/a??", "https://e.com/a??"),
    ("https://e.com/a?b&a&&", "https://e.com/a?b&a&&"),
    ("https://e.com/a?y=1&x=2&y=0", "https://e.com/a?y=1&x=2&y=0"),
    ("https://e.com/a?x=&y", "https://e.com/a?x=&y"),
    ("https://e.com/a+b?c+d", "https://e.com/a+b?c+d"),
    ("https://e.com/a%2Bb?c%20d", "https://e.com/a%2Bb?c%20d"),
    ("https://e.com/a%2Fb", "https://e.com/a%2Fb"),
    ("https://e.com/index.html", "https://e.com/index.html"),
    ("https://e.com/?utm_source=x&sid=1", "https://e.com/?utm_source=x&sid=1"),
    ("https://e.com/a&amp;b", "https://e.com/a&amp;b"),
    # B21: blanks of all kinds around it.
    (" https://e.com/a ", "https://e.com/a"),
    ("\thttps://e.com/a\t", "https://e.com/a"),
    ("\n    https://e.com/a\n  ", "https://e.com/a"),
    ("\r\nhttps://e.com/a\r\n", "https://e.com/a"),
    ("\v\fhttps://e.com/a\f\v", "https://e.com/a"),
    ("\xa0https://e.com/a\xa0", "https://e.com/a"),
    ("\u3000https://e.com/a\u3000", "https://e.com/a"),
    ("\u200bhttps://e.com/a\u200b", "https://e.com/a"),
    ("\ufeffhttps://e.com/a\ufeff", "https://e.com/a"),
    ("\u2060https://e.com/a\u200d\u200c", "https://e.com/a"),
    ("\u200ehttps://e.com/a\u200f", "https://e.com/a"),
    ("\u202ahttps://e.com/a\u202c", "https://e.com/a"),
    ("\u2028https://e.com/a\u2029", "https://e.com/a"),
    ("\x85https://e.com/a\x85", "https://e.com/a"),
    ("\xadhttps://e.com/a\u061c", "https://e.com/a"),
    ("\u1680\u2003\u202f\u205fhttps://e.com/a\u2009\u180e", "https://e.com/a"),
    ("\ufeff \r\n\t\xa0\u200bhttps://e.com/é \u3000\r\n", "https://e.com/%C3%A9"),
    ("https://e.com/a%20 ", "https://e.com/a%20"),
    # B52: relative and scheme-relative addresses, against the file's address.
    ("b", "https://e.com/maps/b"),
    ("/p/a", "https://e.com/p/a"),
    ("../b", "https://e.com/b"),
    ("./b?x#y", "https://e.com/maps/b?x"),
    ("//cdn.e.com/a", "https://cdn.e.com/a"),
    ("//CDN.e.com", "https://cdn.e.com/"),
    ("?x=1", "https://e.com/maps/sitemap.xml?x=1"),
    ("\n /é ", "https://e.com/%C3%A9"),
    ("/a:b", "https://e.com/a:b"),
    ("./a:b", "https://e.com/maps/a:b"),
    ("e.com/a", "https://e.com/maps/e.com/a"),
    ("\\a", "https://e.com/maps/%5Ca"),
    ("%2e%2e/b", "https://e.com/b"),
]

DIFFERENT = [
    ("https://e.com/a", "https://e.com/a/"),
    ("https://e.com/a", "http://e.com/a"),
    ("https://e.com/a", "https://www.e.com/a"),
    ("https://e.com/a", "https://e.com/A"),
    ("https://e.com/a", "https://e.com/a?"),
    ("https://e.com/a", "https://e.com//a"),
    ("https://e.com/a", "https://e.com:8443/a"),
    ("https://e.com/a", "https://u@e.com/a"),
    ("https://e.com/a", "https://@e.com/a"),
    ("https://e.com/a/b", "https://e.com/a%2Fb"),
    ("https://e.com/a?b", "https://e.com/a%3Fb"),
    ("https://e.com/a;b", "https://e.com/a%3Bb"),
    ("https://e.com/a+b", "https://e.com/a%2Bb"),
    ("https://e.com/a+b", "https://e.com/a%20b"),
    ("https://e.com/?x=1&y=2", "https://e.com/?y=2&x=1"),
    ("https://e.com/?x=1&x=2", "https://e.com/?x=2&x=1"),
    ("https://e.com/?x", "https://e.com/?x="),
    ("https://e.com/%41", "https://e.com/%2541"),
    ("https://e.com/%E9", "https://e.com/%C3%A9"),
    ("https://e.com/\xe9", "https://e.com/e\u0301"),
    ("https://straße.example/", "https://strasse.example/"),
    ("https://e.com/", "https://e.com/index.html"),
]

INVALID = [
    ("", Reason.INVALID_ADDRESS),
    (" \n\u200b", Reason.INVALID_ADDRESS),
    ("#top", Reason.INVALID_ADDRESS),
    ("mailto:a@e.com", Reason.INVALID_ADDRESS),
    ("ftp://e.com/a", Reason.INVALID_ADDRESS),
    ("javascript:void(0)", Reason.INVALID_ADDRESS),
    ("data:,a", Reason.INVALID_ADDRESS),
    ("e.com:8080/a", Reason.INVALID_ADDRESS),
    ("httpss://e.com/", Reason.INVALID_ADDRESS),
    ("https:", Reason.INVALID_ADDRESS),
    ("https:e.com/a", Reason.INVALID_ADDRESS),
    ("https:/e.com/a", Reason.INVALID_ADDRESS),
    ("https://", Reason.INVALID_ADDRESS),
    ("https:///a", Reason.INVALID_ADDRESS),
    ("///a", Reason.INVALID_ADDRESS),
    ("https://?x", Reason.INVALID_ADDRESS),
    ("https://:443/a", Reason.INVALID_ADDRESS),
    ("https://user@/a", Reason.INVALID_ADDRESS),
    ("https://./a", Reason.INVALID_ADDRESS),
    ("https://.e.com/a", Reason.INVALID_ADDRESS),
    ("https://e..com/a", Reason.INVALID_ADDRESS),
    ("https://e.com../a", Reason.INVALID_ADDRESS),
    ("https://e com/a", Reason.INVALID_ADDRESS),
    ("https://e\xa0com/a", Reason.INVALID_ADDRESS),
    ("https://e,com/a", Reason.INVALID_ADDRESS),
    ("https://e*.com/a", Reason.INVALID_ADDRESS),
    ("https://<e>.com/a", Reason.INVALID_ADDRESS),
    ("https://{host}/a", Reason.INVALID_ADDRESS),
    ("https:\\\\e.com\\a", Reason.INVALID_ADDRESS),
    ("https://e.com\\a", Reason.INVALID_ADDRESS),
    ("https://e.com\\@f.com/a", Reason.INVALID_ADDRESS),
    ("https://e%2Fcom/a", Reason.INVALID_ADDRESS),
    ("https://e%40com/a", Reason.INVALID_ADDRESS),
    ("https://e%00.com/a", Reason.INVALID_ADDRESS),
    ("https://e%.com/a", Reason.INVALID_ADDRESS),
    ("https://%FF.com/a", Reason.INVALID_ADDRESS),
    ("https://x／y.com/a", Reason.INVALID_ADDRESS),
    ("https://x：80/a", Reason.INVALID_ADDRESS),
    ("https://⒈com/a", Reason.INVALID_ADDRESS),
    ("https://\u200b/a", Reason.INVALID_ADDRESS),
    (f"https://{'a' * 64}.com/", Reason.INVALID_ADDRESS),
    (f"https://{'ü' * 60}.com/", Reason.INVALID_ADDRESS),
    (f"https://{'a.' * 125}comm/", Reason.INVALID_ADDRESS),
    (f"https://{'ü' * 9999}/", Reason.INVALID_ADDRESS),
    (f"https://{'u' * 2048}@e.com/", Reason.INVALID_ADDRESS),
    ("https://e.com:x/a", Reason.INVALID_ADDRESS),
    ("https://e.com:-1/a", Reason.INVALID_ADDRESS),
    ("https://e.com:80:80/a", Reason.INVALID_ADDRESS),
    ("https://e.com:65536/a", Reason.INVALID_ADDRESS),
    ("https://e.com:0/a", Reason.INVALID_ADDRESS),
    ("https://e.com:000/a", Reason.INVALID_ADDRESS),
    (f"https://e.com:{'9' * 1999}/a", Reason.INVALID_ADDRESS),
    ("https://e.com:４４３/a", Reason.INVALID_ADDRESS),
    ("https://[::1/a", Reason.INVALID_ADDRESS),
    ("https://[::1]a/", Reason.INVALID_ADDRESS),
    ("https://::1/", Reason.INVALID_ADDRESS),
    ("https://[]/", Reason.INVALID_ADDRESS),
    ("https://[1.2.3.4]/", Reason.INVALID_ADDRESS),
    ("https://[:::1]/", Reason.INVALID_ADDRESS),
    ("https://[fe80::1%25eth0]/", Reason.INVALID_ADDRESS),
    ("https://[v1.a]/", Reason.INVALID_ADDRESS),
    ("https://e.com/a\nb", Reason.INVALID_CHARACTER),
    ("https://e.com/a\r\nb", Reason.INVALID_CHARACTER),
    ("https://e.com/a\tb", Reason.INVALID_CHARACTER),
    ("https://e.com/a\vb", Reason.INVALID_CHARACTER),
    ("https://e.com/a\u2028b", Reason.INVALID_CHARACTER),
    ("https://e.com/a\u2029b", Reason.INVALID_CHARACTER),
    ("https://e.com/a\0b", Reason.INVALID_CHARACTER),
    ("https://e.com/a\x1b[31m", Reason.INVALID_CHARACTER),
    ("https://e.com/a\x1f", Reason.INVALID_CHARACTER),
    ("https://e.com/a\x7f", Reason.INVALID_CHARACTER),
    ("https://e.com/a\x85b", Reason.INVALID_CHARACTER),
    ("https://e.com/a\x9fb", Reason.INVALID_CHARACTER),
    ("https://e.com/?a\nb", Reason.INVALID_CHARACTER),
    ("https://e.com/#a\nb", Reason.INVALID_CHARACTER),
    ("https://e\n.com/", Reason.INVALID_CHARACTER),
    ("/a\nb", Reason.INVALID_CHARACTER),
]

# RFC 3986 §5.4, against http://a/b/c/d;p?q, without the references to the file itself.
RESOLVED = [
    ("g", "http://a/b/c/g"),
    ("./g", "http://a/b/c/g"),
    ("g/", "http://a/b/c/g/"),
    ("/g", "http://a/g"),
    ("//g", "http://g"),
    ("?y", "http://a/b/c/d;p?y"),
    ("g?y", "http://a/b/c/g?y"),
    ("g#s", "http://a/b/c/g#s"),
    ("g?y#s", "http://a/b/c/g?y#s"),
    (";x", "http://a/b/c/;x"),
    ("g;x", "http://a/b/c/g;x"),
    ("g;x?y#s", "http://a/b/c/g;x?y#s"),
    (".", "http://a/b/c/"),
    ("./", "http://a/b/c/"),
    ("..", "http://a/b/"),
    ("../", "http://a/b/"),
    ("../g", "http://a/b/g"),
    ("../..", "http://a/"),
    ("../../", "http://a/"),
    ("../../g", "http://a/g"),
    ("../../../g", "http://a/g"),
    ("../../../../g", "http://a/g"),
    ("/./g", "http://a/g"),
    ("/../g", "http://a/g"),
    ("g.", "http://a/b/c/g."),
    (".g", "http://a/b/c/.g"),
    ("g..", "http://a/b/c/g.."),
    ("..g", "http://a/b/c/..g"),
    ("./../g", "http://a/b/g"),
    ("./g/.", "http://a/b/c/g/"),
    ("g/./h", "http://a/b/c/g/h"),
    ("g/../h", "http://a/b/c/h"),
    ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
    ("g;x=1/../y", "http://a/b/c/y"),
    ("g?y/./x", "http://a/b/c/g?y/./x"),
    ("g?y/../x", "http://a/b/c/g?y/../x"),
    ("g#s/./x", "http://a/b/c/g#s/./x"),
    ("g#s/../x", "http://a/b/c/g#s/../x"),
]

# What a generated URL is put together from: each piece as sites write it, and as they should not.
BLANK = st.sampled_from(["", "", "", " ", "\n\t", "\r\n", "\xa0", "\u3000", "\u200b", "\ufeff"])
SCHEME = st.sampled_from(["https://", "https://", "http://", "HTTPS://", "//", "https:", "ftp://"])
USER = st.sampled_from(["", "", "", "", "u@", "U:p%c3@", "@", "a@b@"])
HOST = st.sampled_from([
    "e.com", "e.com", "E.com", "e.com.", "www.e.com", "bücher.example", "xn--bcher-kva.example",
    "a_b.e.com", "日本語。jp", "☕.example", "[::1]", "1.2.3.4", "", "e..com", "e%2ecom", "e com",
])  # fmt: skip
PORT = st.sampled_from(["", "", "", ":", ":443", ":80", ":8443", ":0443", ":0", ":99999", ":x"])
PIECE = st.sampled_from([
    "a", "B", "0", "-", "~", ".", "..", "/", "/", "/./", "/../", "/..", "%", "%2", "%2F", "%2f",
    "%41", "%7e", "%7E", "%2e", "%2E", "%c3%a9", "%C3%A9", "%e9", "%25", "%zz", "é", "e\u0301",
    " ", "+", "%20", "%2B", "&", "=", ";", ":", "@", "'", "[", "]", "\\", '"', "|", "日", "😀",
    "\u200b", "\xa0", "\n", "\t", "\x7f", "\x85", "\u2028",
])  # fmt: skip
TEXT = st.lists(PIECE, max_size=8).map("".join)
PATH = st.one_of(st.just(""), TEXT.map("/{}".format))
QUERY = st.one_of(st.just(""), TEXT.map("?{}".format))
FRAGMENT = st.one_of(st.just(""), TEXT.map("#{}".format))
ABSOLUTE = st.tuples(SCHEME, USER, HOST, PORT, PATH, QUERY, FRAGMENT).map("".join)
PLAIN = st.from_regex(r"https://e\.com/[a-z0-9/_-]{0,12}(\?[a-z]=[0-9])?", fullmatch=True)
LOC = st.tuples(BLANK, st.one_of(ABSOLUTE, ABSOLUTE, PLAIN, TEXT, st.text(max_size=12)), BLANK).map(
    "".join
)
LEGIBLE = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="%"), max_size=20
)
HOSTLIKE = "abzAZ019-.。．ＡｂÜüßẞéİŁ日語рЯ한\u0308\u200d"
quick = settings(deadline=None, max_examples=300)


def invalid_reason(loc: str, base: str = BASE) -> Reason | None:
    """The reason for which a loc is refused, None when it is not."""
    try:
        absolute(loc, base)
    except InvalidUrl as error:
        return error.reason
    return None


def valid(loc: str) -> str:
    """The absolute URL of a generated loc; examples without one are passed over."""
    assume(invalid_reason(loc) is None)
    return absolute(loc, BASE)


# --- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loc", "expected"), SAME)
def test_identity_is_the_one_spelling(loc: str, expected: str) -> None:
    assert identity(absolute(loc, BASE)) == expected


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_may_mean_another_page_is_never_merged(one: str, other: str) -> None:
    assert identity(one) != identity(other)


@pytest.mark.parametrize(("loc", "reason"), INVALID)
def test_invalid_addresses_are_refused_by_reason(loc: str, reason: Reason) -> None:
    assert invalid_reason(loc) is reason


def test_a_half_character_is_refused() -> None:
    assert invalid_reason("https://e.com/\ud800") is Reason.INVALID_CHARACTER


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("/a", Reason.INVALID_ADDRESS),
        ("", Reason.INVALID_ADDRESS),
        ("ftp://e.com/", Reason.INVALID_ADDRESS),
        ("https://e com/", Reason.INVALID_ADDRESS),
        ("https://e.com/a\nb", Reason.INVALID_CHARACTER),
    ],
)
def test_identity_and_origin_refuse_what_is_no_absolute_url(url: str, reason: Reason) -> None:
    for function in (identity, origin):
        with pytest.raises(InvalidUrl) as caught:
            function(url)
        assert caught.value.reason is reason


def test_a_refusal_never_quotes_the_address() -> None:
    """[S3]: nothing a site sends gets into a log line."""
    for loc, _ in INVALID:
        with pytest.raises(InvalidUrl) as caught:
            absolute(loc, BASE)
        assert str(caught.value).isprintable()
        assert "e.com" not in str(caught.value)


@pytest.mark.parametrize(("reference", "expected"), RESOLVED)
def test_references_resolve_as_rfc_3986_5_4(reference: str, expected: str) -> None:
    assert absolute(reference, "http://a/b/c/d;p?q") == expected


@pytest.mark.parametrize(
    ("loc", "base", "expected"),
    [
        ("a", "https://e.com", "https://e.com/a"),
        ("?x", "https://e.com", "https://e.com?x"),
        ("?x", "https://e.com/a/./b?y#z", "https://e.com/a/./b?x"),
        ("a", "https://e.com?x=/y/", "https://e.com/a"),
        ("a", "https://e.com/s#/x/", "https://e.com/a"),
        ("//F.com/a", "HTTP://e.com/s", "HTTP://F.com/a"),
        ("b", "https://E.com:443/%7ea/s", "https://E.com:443/%7ea/b"),
    ],
)
def test_resolution_keeps_the_base_as_it_is_spelled(loc: str, base: str, expected: str) -> None:
    assert absolute(loc, base) == expected


@pytest.mark.parametrize(
    "loc",
    [
        "HTTPS://User@WWW.E.com:443/%7ea/../é b?q=é#Frag",
        "https://bücher.example./a//b/.?x#",
        "http://e.com:/%zz?%",
    ],
)
def test_rows_show_the_url_as_listed(loc: str) -> None:
    assert absolute(f"\ufeff\n  {loc}\u3000\r\n", BASE) == loc


def test_a_relative_url_keeps_its_own_spelling() -> None:
    assert absolute(" ../É %7e/ä?q=é b#Ü ", BASE) == f"{E}/É %7e/ä?q=é b#Ü"


@pytest.mark.parametrize("base", ["file:///srv/sitemap.xml", "e.com/sitemap.xml", ""])
def test_a_relative_url_needs_a_base_of_the_web(base: str) -> None:
    assert invalid_reason("a", base) is Reason.INVALID_ADDRESS
    assert absolute("https://e.com/a", base) == "https://e.com/a"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://e.com", "https://e.com"),
        ("HTTPS://User:pw@Bücher.Example.:443/a?b#c", "https://xn--bcher-kva.example"),
        ("http://e.com:443/a", "http://e.com:443"),
        ("http://e.com:0080?x", "http://e.com"),
        ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"),
    ],
)
def test_origin_is_canonical_and_without_user_information(url: str, expected: str) -> None:
    assert origin(url) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0x2D06800538D394C2),
        ("https://e.com/", 0x5F8960ABD11F85AB),
        ("https://e.com/a", 0x02C497C2E5AF2441),
        ("https://e.com/" + "a" * 300, 0x1A2D580047A45E27),
    ],
)
def test_key_is_the_xxh3_64_of_the_identity(text: str, expected: int) -> None:
    """Stored segments hold these numbers: another function would make every URL a new one."""
    assert key(text) == expected


# --- laws ---------------------------------------------------------------------------------------


@quick
@given(LOC)
def test_identity_is_an_ascii_url_and_its_own_identity(loc: str) -> None:
    spelled = identity(valid(loc))
    assert spelled.isascii()
    assert spelled.isprintable()
    assert identity(spelled) == spelled
    assert absolute(spelled, BASE) == spelled
    assert origin(spelled) == origin(valid(loc))


@quick
@given(LOC)
def test_absolute_is_its_own_absolute(loc: str) -> None:
    url = valid(loc)
    assert absolute(url, "http://other.example/") == url


@quick
@given(st.one_of(ABSOLUTE, PLAIN), BLANK, BLANK)
def test_absolute_of_an_absolute_url_is_itself_trimmed(url: str, before: str, after: str) -> None:
    assume(not url.startswith("//"))
    assume(url == url.strip(" \n\t\r\xa0\u3000\u200b\ufeff\x85\u2028"))
    assume(invalid_reason(url) is None)
    assert absolute(before + url + after, BASE) == url


@quick
@given(LEGIBLE, LEGIBLE)
def test_a_url_and_its_percent_encoded_spelling_are_one(path: str, query: str) -> None:
    url = f"{E}/{path}x?{query}x"
    assert identity(quote(url, safe=":/?#[]@!$&'()*+,;=")) == identity(url)


@quick
@given(LOC)
def test_lower_case_escapes_are_the_same_page(loc: str) -> None:
    url = identity(valid(loc))
    parts = url.split("%")
    lowered = parts[0] + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts[1:])
    assert identity(lowered) == url


@quick
@given(st.lists(st.text("aZ0.~%2Fé/;=+ ", min_size=1, max_size=5), min_size=1, max_size=6))
def test_segments_of_the_path_keep_their_bounds_and_bytes(segments: list[str]) -> None:
    """In particular `%2F` never becomes `/`, nor the other way round."""
    path = "/" + "/".join(segments)
    assume(not {".", ".."} & set(unquote_to_bytes(path).decode("latin-1").split("/")))
    after = urlsplit(identity(f"https://e.com{path}")).path
    assert [unquote_to_bytes(s) for s in after.split("/")] == [
        unquote_to_bytes(s) for s in path.split("/")
    ]


@quick
@given(TEXT, TEXT)
def test_an_encoded_slash_is_never_a_slash(before: str, after: str) -> None:
    encoded, plain = f"{E}/x{before}%2F{after}x", f"{E}/x{before}/{after}x"
    assume(invalid_reason(encoded) is None)
    assume("/." not in identity(plain) + encoded.replace("%2e", ".").replace("%2E", "."))
    assert identity(encoded) != identity(plain)


@quick
@given(
    st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), max_size=5),
    st.sampled_from(["", "~", "/?:@!$'()*,", "[]"]),
    st.booleans(),
)
def test_the_meaning_of_a_query_never_changes(
    pairs: list[tuple[str, str]], safe: str, lower: bool
) -> None:
    query = urlencode(pairs, safe=safe)
    if lower:
        query = re.sub("%..", lambda escape: escape[0].lower(), query)
    after = urlsplit(identity(f"{E}/?{query}")).query
    assert parse_qsl(after, keep_blank_values=True) == pairs


@quick
@given(st.one_of(st.text(HOSTLIKE, max_size=12), st.text(max_size=6)))
def test_hosts_that_idna_2008_takes_are_spelled_as_idna_2008_does(host: str) -> None:
    try:
        expected = idna.encode(host, uts46=True).decode().removesuffix(".")
    except idna.IDNAError:
        assume(False)
    assume(not set(host) & set("%/?#@:[]\\"))
    assert origin(f"https://{host}/") == f"https://{expected}"


# --- columns ------------------------------------------------------------------------------------


def assert_column_is_its_rows(locs: list[str | None], base: str) -> None:
    urls, keys, valid_rows, refused = [], [], [], []
    for loc in locs:
        reason = invalid_reason(loc or "", base)
        valid_rows.append(reason is None)
        if reason is not None:
            refused.append((loc or "", reason))
            continue
        urls.append(absolute(loc or "", base))
        keys.append(key(identity(urls[-1])))
    result = normalize(pa.array(locs, pa.string()), base)
    assert result.locs.type == pa.string()
    assert result.locs.to_pylist() == urls
    assert result.keys.dtype == np.uint64
    assert result.keys.tolist() == keys
    assert result.invalid == tuple(refused)
    assert (result.valid is None) == (not refused)
    if result.valid is not None:
        assert result.valid.tolist() == valid_rows


@settings(deadline=None, max_examples=500)
@given(st.lists(st.one_of(LOC, LOC, PLAIN, st.none()), max_size=40), st.sampled_from([BASE, "x:"]))
def test_a_column_decides_like_its_rows(locs: list[str | None], base: str) -> None:
    assert_column_is_its_rows(locs, base)


def test_the_tables_decide_alike_as_columns() -> None:
    same = [loc for loc, _ in SAME]
    refused = [loc for loc, _ in INVALID]
    mixed = [loc for pair in zip(same, refused * 3, strict=False) for loc in pair]
    for column in (same, refused, mixed, [*same, *[f"{E}/p{i}" for i in range(500)]]):
        assert_column_is_its_rows(list(column), BASE)


@pytest.mark.parametrize(
    "locs",
    [
        [],
        [""],
        ["", "", f"{E}/a"],
        [None],
        [f"{E}/a"],
        [f"{E}/a", E],
        # An escape is cut by the end of its row, whatever the next one begins with.
        [f"{E}/%", "aB/c"],
        [f"{E}/%a", "b/%"],
        [f"{E}/%", f"{E}/%c", f"{E}/%c3"],
        [f"{E}/%", "", "41"],
        # A dot segment is none across rows.
        [f"{E}/", "./a", "../b", f"{E}/a/.", f"{E}/a/"],
        # Several origins, some of them none.
        [f"https://h{i}.example/%c3%a9" for i in range(60)],
        [
            f"{scheme}://e.com{port}/a"
            for scheme in ("http", "https")
            for port in ("", ":81", ":80")
        ],
        [f"https://[::1]/{i}" for i in range(3)],
        ["https://u@e.com/a", "https://e.com@f.com/a", "https://e.com.f.com/a", "https://e.comx/"],
    ],
)
def test_columns_at_the_edges_decide_like_rows(locs: list[str | None]) -> None:
    assert_column_is_its_rows(locs, BASE)


@pytest.mark.parametrize("byte", range(1, 128))
def test_every_ascii_character_decides_alike_in_a_column(byte: int) -> None:
    char, code = chr(byte), f"%{byte:02x}"
    tails = [f"a{char}b", f"{char}", f"a?{char}b", f"a{code}b", f"a{code.upper()}b", f"a?{code}"]
    assert_column_is_its_rows([f"{E}/{tail}" for tail in tails], BASE)


def test_a_slice_of_a_column_is_read_from_its_own_start() -> None:
    column = pa.array([f"{E}/0", "bad:", f"{E}/%c3%a9", None, f"{E}/2", f"{E}/3#x"])
    result = normalize(column[2:5], BASE)
    assert result.locs.to_pylist() == [f"{E}/%c3%a9", f"{E}/2"]
    assert result.keys.tolist() == [key(f"{E}/%C3%A9"), key(f"{E}/2")]
    assert result.invalid == (("", Reason.INVALID_ADDRESS),)


def test_a_few_odd_rows_leave_the_proof_of_the_others_alone() -> None:
    """Each row is proved or not by itself: what is odd costs no more than its own reading."""
    locs = [f"{E}/p/{i}?q=%C3%A9&x=%2F" for i in range(1000)]
    odd = {3: "/a", 4: f"{E}/a#b", 500: f"{E}/é", 501: f"{E}/%41", 502: f"{E}/%", 999: "\n"}
    for row, loc in odd.items():
        locs[row] = loc
    _, unproved = _proved(pa.array(locs), BASE)
    assert np.flatnonzero(unproved).tolist() == list(odd)


def test_the_proof_reads_a_slice_from_its_own_start() -> None:
    column = pa.array(["#", f"{E}/%c3%a9", f"{E}/a", f"{E}/#", "#"])
    spelled, unproved = _proved(column[1:4], BASE)
    assert spelled.tolist() == [b"https://e.com/%C3%A9", b"https://e.com/a", b"https://e.com/#"]
    assert unproved.tolist() == [False, False, True]


def test_a_chunked_column_is_one_column() -> None:
    chunks = pa.chunked_array([[f"{E}/0", "bad:"], [], ["é"]], pa.string())
    result = normalize(chunks, BASE)
    assert result.locs.to_pylist() == [f"{E}/0", f"{E}/maps/é"]
    assert result.keys.tolist() == [key(f"{E}/0"), key(f"{E}/maps/%C3%A9")]
    assert result.invalid == (("bad:", Reason.INVALID_ADDRESS),)
    assert normalize(pa.chunked_array([], pa.string()), BASE).locs.to_pylist() == []


def test_an_invalid_row_is_named_as_the_file_writes_it() -> None:
    result = normalize(pa.array([" ftp://e.com/ ", f"{E}/a", "\n\u200b"]), BASE)
    assert result.invalid == (
        (" ftp://e.com/ ", Reason.INVALID_ADDRESS),
        ("\n\u200b", Reason.INVALID_ADDRESS),
    )


def test_a_column_that_changes_encoding_keeps_its_keys() -> None:
    """B57: a generator that switches `é` to `%C3%A9` is not a change."""
    words = [f"café-{i}-à" for i in range(200)]
    columns = [
        [f"{E}/{word}" for word in words],
        [f"{E}/{quote(word)}" for word in words],
        [f"{E}/{quote(word).lower()}" for word in words],
        [f"HTTPS://E.com.:443/x/../{word}#top" for word in words],
        [f"\n    /{word}\r\n" for word in words],
    ]
    keys = [normalize(pa.array(column), BASE).keys.tolist() for column in columns]
    assert keys == [keys[0]] * 5
    assert len(set(keys[0])) == 200
