"""robots.txt beyond RFC 9309: google/robotstxt, the field's files, Sitemap lines, Crawl-delay."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from protego import Protego

from sitemon_spider.core.robots import AGENT, MAX_BYTES, MAX_DELAY, Robots, read_robots

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ORIGIN = "https://e.com"
ADDRESS = f"{ORIGIN}/robots.txt"


def read(text: str | bytes, address: str = ADDRESS, content_type: str | None = None) -> Robots:
    body = text if isinstance(text, bytes) else text.encode()
    return read_robots(200, body, address, content_type=content_type)


def star(*rules: str) -> str:
    return "\n".join(["User-agent: *", *rules, ""])


def allows(text: str | bytes, path: str) -> bool:
    return read(text).allows(ORIGIN + path)


# --- status [R1] ---------------------------------------------------------------------------------

FORBID = b"User-agent: *\nDisallow: /\nCrawl-delay: 9\nSitemap: https://e.com/s.xml\n"
PERMIT = b"User-agent: *\nAllow: /\nSitemap: https://e.com/s.xml\n"


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, "rules"),
        (204, "rules"),
        (299, "rules"),
        (400, "no-rules"),
        (401, "no-rules"),
        (403, "no-rules"),
        (404, "no-rules"),
        (410, "no-rules"),
        (418, "no-rules"),
        (428, "no-rules"),
        (429, "unreachable"),
        (430, "no-rules"),
        (499, "no-rules"),
        (500, "unreachable"),
        (503, "unreachable"),
        (599, "unreachable"),
        (999, "unreachable"),
        (100, "unreachable"),
        (301, "unreachable"),
        (304, "unreachable"),
        (308, "unreachable"),
        (0, "unreachable"),
        (-1, "unreachable"),
        (None, "unreachable"),
    ],
)
def test_the_status_decides_and_only_a_2xx_body_is_read(status: int | None, verdict: str) -> None:
    for body in (FORBID, PERMIT):
        robots = read_robots(status, body, ADDRESS)
        assert (robots.verdict, robots.status) == (verdict, status)
        if verdict == "rules":
            assert robots.allows(f"{ORIGIN}/a") is (body == PERMIT)
            assert robots.sitemaps == ("https://e.com/s.xml",)
            continue
        assert robots.allows(f"{ORIGIN}/a") is (verdict == "no-rules")
        assert robots.allows(f"{ORIGIN}/robots.txt") is (verdict == "no-rules")
        assert (robots.sitemaps, robots.crawl_delay, robots.group) == ((), None, None)
        assert not robots.disallows_all


@pytest.mark.parametrize("body", [b"", b"\n", b"# only a comment\n", b"garbage", b"\xef\xbb\xbf"])
def test_an_empty_file_allows_everything(body: bytes) -> None:
    robots = read(body, content_type="text/html")
    assert robots.verdict == "rules"
    assert robots.group is None
    assert robots.allows(f"{ORIGIN}/a")


# --- HTML pages [R1] -----------------------------------------------------------------------------

PAGE_RULES = "\nUser-agent: *\nDisallow: /\nSitemap: https://e.com/s.xml\n"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<!DOCTYPE html><html><body>" + PAGE_RULES, "text/html"),
        ("<!doctype  HTML>" + PAGE_RULES, None),
        ("\ufeff\r\n  <html lang=en>" + PAGE_RULES, "text/plain"),
        ("<!-- app --><!DOCTYPE html><div id=app>" + PAGE_RULES, None),
        ("<head><title>Not found</title>" + PAGE_RULES, None),
        ("<h1>Not found</h1>", "text/html; charset=utf-8"),
        ("<div>a: b</div>", "application/xhtml+xml"),
    ],
)
def test_an_html_page_is_no_robots_txt(body: str, content_type: str | None) -> None:
    robots = read(body, content_type=content_type)
    assert robots.verdict == "no-rules"
    assert robots.sitemaps == ()
    assert robots.notes == {"html_page": 1}
    assert robots.allows(f"{ORIGIN}/a")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (star("Disallow: /a"), "text/html"),
        ("# see <html>\n" + star("Disallow: /a"), "text/html"),
        ("<br />\n<b>Warning</b>: x in <b>y</b>\n" + star("Disallow: /a"), "text/html"),
        ("<!-- generated -->\n" + star("Disallow: /a"), "text/html"),
    ],
)
def test_rules_labelled_as_html_or_after_a_warning_are_followed(
    body: str, content_type: str
) -> None:
    robots = read(body, content_type=content_type)
    assert robots.verdict == "rules"
    assert not robots.allows(f"{ORIGIN}/a")
    assert "html_page" not in robots.notes


# --- which group applies (RFC 9309 §2.2.1, google/robotstxt) -------------------------------------


@pytest.mark.parametrize(
    ("text", "group", "forbidden"),
    [
        # own token before "*", wherever it stands
        ("User-agent: *\nDisallow: /a\nUser-agent: sitemon\nDisallow: /b\n", "sitemon", "b"),
        ("User-agent: sitemon\nDisallow: /b\nUser-agent: *\nDisallow: /a\n", "sitemon", "b"),
        ("User-agent: *\nDisallow: /a\nUser-agent: other\nDisallow: /b\n", "*", "a"),
        ("User-agent: other\nDisallow: /a\n", None, ""),
        # an own group without rules: nothing leaks from "*"
        ("User-agent: *\nDisallow: /a\nUser-agent: sitemon\n", "sitemon", ""),
        ("User-agent: *\nDisallow: /a\nUser-agent: sitemon\nDisallow:\n", "sitemon", ""),
        # merged
        ("User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /b\n",
         "*", "ab"),
        ("User-agent: sitemon\nDisallow: /a\n\nUser-agent: SITEMON\nDisallow: /b\n",
         "sitemon", "ab"),
        ("User-agent: sitemon\nUser-agent: sitemon\nDisallow: /a\n", "sitemon", "a"),
        # an empty Disallow wipes nothing
        ("User-agent: *\nDisallow: /a\nDisallow:\nDisallow: /b\n", "*", "ab"),
        # several agents, blank lines and comments between them
        ("User-agent: x\n\n# y\nUser-agent: sitemon\n\nDisallow: /a\n", "sitemon", "a"),
        ("User-agent: *\nUser-agent: sitemon\nDisallow: /a\n", "sitemon", "a"),
        # the token ends where a token must
        ("User-agent: sitemon/1.0\nDisallow: /a\n", "sitemon", "a"),
        ("User-agent: Sitemon (monitor)\nDisallow: /a\n", "sitemon", "a"),
        ("User-agent: sitemon*\nDisallow: /a\n", "sitemon", "a"),
        ("User-agent: sitemon-news\nDisallow: /a\n", None, ""),
        ("User-agent: sitemon_x\nDisallow: /a\n", None, ""),
        ("User-agent: sitemo\nDisallow: /a\n", None, ""),
        ("User-agent: Mozilla/5.0 sitemon\nDisallow: /a\n", None, ""),
        ("User-agent: x, sitemon\nDisallow: /a\n", None, ""),
        # "*"
        ("User-agent: * everyone\nDisallow: /a\n", "*", "a"),
        ("User-agent: *\t# everyone\nDisallow: /a\n", "*", "a"),
        ("User-agent: *bot\nDisallow: /a\n", None, ""),
        ("User-agent: **\nDisallow: /a\n", None, ""),
        # an agent without a name ends the group before it all the same
        ("User-agent: *\nDisallow: /a\nUser-agent:\nDisallow: /b\n", "*", "a"),
        ("User-agent:\nDisallow: /a\n", None, ""),
        # only Allow and Disallow end a run of agents
        ("User-agent: *\nCrawl-delay: 1\n\nUser-agent: x\nDisallow: /a\n", "*", "a"),
        ("User-agent: *\nSitemap: /s.xml\nUser-agent: x\nDisallow: /a\n", "*", "a"),
        ("User-agent: *\nNoindex: /b\nUser-agent: x\nDisallow: /a\n", "*", "a"),
        ("User-agent: *\nDisallow:\nUser-agent: x\nDisallow: /a\n", "*", ""),
        ("User-agent: *\nAllow:\nUser-agent: x\nDisallow: /a\n", "*", ""),
        ("User-agent: *\nDisallow: b\nUser-agent: x\nDisallow: /a\n", "*", ""),
        # rules before any group
        ("Disallow: /a\nUser-agent: *\nDisallow: /b\n", "*", "b"),
    ],
)  # fmt: skip
def test_the_group_that_applies(text: str, group: str | None, forbidden: str) -> None:
    robots = read(text)
    assert robots.group == group
    assert {path for path in "abc" if not robots.allows(f"{ORIGIN}/{path}")} == set(forbidden)


def test_another_agent_is_judged_by_its_own_group() -> None:
    text = "User-agent: sitemon\nAllow: /\nUser-agent: apify\nDisallow: /a\n" + star("Disallow: /b")
    robots = read(text)
    assert [robots.allows(ORIGIN + path, "Apify/2") for path in ("/a", "/b")] == [False, True]
    assert [robots.allows(ORIGIN + path, "x") for path in ("/a", "/b")] == [True, False]
    assert [robots.allows(ORIGIN + path) for path in ("/a", "/b")] == [True, True]
    assert [robots.group_of(name) for name in ("apify", "APIFY", "x", AGENT, "")] == [
        "apify",
        "apify",
        "*",
        "sitemon",
        "*",
    ]


def test_a_user_agent_line_without_a_name_names_nobody() -> None:
    robots = read("User-agent:\nDisallow: /\n")
    assert robots.group_of("") is None
    assert robots.allows(f"{ORIGIN}/a", "")


def test_a_group_that_took_in_the_next_agent_is_noted() -> None:
    joined = "User-agent: *\nCrawl-delay: 1\n\nUser-agent: badbot\nDisallow: /\n"
    assert read(joined).notes["joined_groups"] == 1
    for apart in (
        "User-agent: *\nUser-agent: x\nDisallow: /\n",
        "User-agent: *\nDisallow: /\nCrawl-delay: 1\nUser-agent: x\n",
        "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nAllow: /\n" + star(),
    ):
        assert "joined_groups" not in read(apart).notes


# --- precedence (Google's published examples) ----------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        # "Order of precedence for rules"
        (("Allow: /p", "Disallow: /"), "/page", True),
        (("Allow: /folder", "Disallow: /folder"), "/folder/page", True),
        (("Allow: /page", "Disallow: /*.htm"), "/page.htm", False),
        (("Allow: /page", "Disallow: /*.ph"), "/page.php5", True),
        (("Allow: /$", "Disallow: /"), "/", True),
        (("Allow: /$", "Disallow: /"), "/page.htm", False),
        # "*" and "$" count as octets, and so does every star of a row
        (("Allow: /a*", "Disallow: /ab"), "/ab", True),
        (("Allow: /a", "Disallow: /a$"), "/a", False),
        (("Allow: /ab", "Disallow: /a**"), "/ab", False),
        (("Allow: /abc", "Disallow: /*?"), "/abc?x", True),
        (("Allow: /abc", "Disallow: /*&"), "/abc?x&y", True),
        (("Allow: /ab", "Disallow: /*?"), "/ab?x", True),
        (("Allow: /a", "Disallow: /*?"), "/a?x", False),
        # an escape counts three
        (("Allow: /éa", "Disallow: /%C3%A9*"), "/éa", True),
        (("Allow: /abc", "Disallow: /*é"), "/abcé", False),
        # the longest of many, in any order
        (("Disallow: /", "Allow: /a", "Disallow: /a/b", "Allow: /a/b/c"), "/a/b/c", True),
        (("Allow: /a/b/c", "Disallow: /a/b", "Allow: /a", "Disallow: /"), "/a/b/x", False),
        (("Disallow: /", "Allow: /a", "Disallow: /a/b", "Allow: /a/b/c"), "/a/x", True),
        (("Disallow: /", "Allow: /a", "Disallow: /a/b", "Allow: /a/b/c"), "/x", False),
        # an Allow of an index page allows its folder, no more
        (("Allow: /a/index.html", "Disallow: /"), "/a/", True),
        (("Allow: /a/index.htm", "Disallow: /"), "/a/", True),
        (("Allow: /a/index.html", "Disallow: /"), "/a/index.html", True),
        (("Allow: /a/index.html", "Disallow: /"), "/a/index.htm", False),
        (("Allow: /a/index.html", "Disallow: /"), "/a/b", False),
        (("Allow: /a/index.html", "Disallow: /"), "/b", False),
        (("Disallow: /a/index.html",), "/a/", True),
    ],
)
def test_precedence(rules: tuple[str, ...], path: str, *, expected: bool) -> None:
    assert allows(star(*rules), path) is expected


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        # Google's "URL matching based on path values"
        ("/", ["/", "/a", "/a?b", "/?"], []),
        ("/*", ["/", "/a", "/a?b"], []),
        ("/$", ["/"], ["/a", "/?", "/?a"]),
        ("/fish",
         ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html",
          "/fish.php?id=anything"],
         ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"]),
        ("/fish*",
         ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"],
         ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"]),
        ("/fish/",
         ["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
         ["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"]),
        ("/*.php",
         ["/index.php", "/filename.php", "/folder/filename.php",
          "/folder/filename.php?parameters", "/folder/any.php.file.html", "/filename.php/",
          "/index?f=filename.php/"],
         ["/", "/windows.PHP", "/php/", "/index?php"]),
        ("/*.php$",
         ["/filename.php", "/folder/filename.php", "/a.php.php"],
         ["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"]),
        ("/fish*.php",
         ["/fish.php", "/fishheads/catfish.php?parameters"],
         ["/Fish.PHP", "/fishphp"]),
        # stars
        ("*", ["/", "/a"], []),
        ("*a", ["/a", "/ba"], ["/b"]),
        ("/a**b", ["/ab", "/acb"], ["/a"]),
        ("/a*b*c", ["/abc", "/axbxc", "/abbcc"], ["/acb", "/ab"]),
        ("/a*bc*c", ["/abcc", "/abcxc"], ["/abc"]),
        ("/a*a$", ["/aa", "/aba", "/aaa"], ["/a", "/ab", "/aab"]),
        ("/*aba$", ["/aba", "/ababa", "/xaba"], ["/abab", "/ab"]),
        ("/ab*ba$", ["/abba", "/abxba"], ["/aba", "/ab"]),
        ("/a*$", ["/a", "/ab"], ["/b"]),
        ("/*?", ["/?", "/a?", "/a?b"], ["/", "/a"]),
        ("/*%3F", ["/a%3fb"], ["/a?b"]),
        ("*$", ["/", "/a"], []),
        # nothing that begins no path
        ("a", [], ["/a", "a"]),
        ("$", [], ["/", "/$"]),
        ("https://e.com/a", [], ["/a", "/https://e.com/a"]),
        ("?a", [], ["/?a"]),
    ],
)  # fmt: skip
def test_patterns(pattern: str, matching: list[str], other: list[str]) -> None:
    robots = read(star(f"Disallow: {pattern}"))
    assert [path for path in matching if robots.allows(ORIGIN + path)] == []
    assert [path for path in other if not robots.allows(ORIGIN + path)] == []


def reference_match(pattern: str, path: str) -> bool:
    """Google's definition: the set of all places a beginning of the pattern can lead to."""
    places = {0}
    for index, octet in enumerate(pattern):
        if octet == "$" and index == len(pattern) - 1:
            return len(path) in places
        if octet == "*":
            places = set(range(min(places), len(path) + 1))
        else:
            places = {place + 1 for place in places if path[place : place + 1] == octet}
        if not places:
            return False
    return True


def reference_allows(rules: list[tuple[str, str]], path: str) -> bool:
    ranks = [
        (len(pattern), kind == "Allow")
        for kind, pattern in rules
        if pattern and reference_match(pattern, path)
    ]
    return max(ranks, default=(0, True))[1]


PATTERNS = st.builds(str.__add__, st.sampled_from(["/", "*", "/a"]), st.text("ab/*?$=", max_size=8))
PATHS = st.text("ab/?=", max_size=12).map("/{}".format)
RULES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), PATTERNS), max_size=8)


@given(RULES, PATHS)
@example([("Allow", "/a$"), ("Disallow", "/a*")], "/a")
@example([("Allow", "/a*"), ("Disallow", "/a$")], "/a")
def test_matching_agrees_with_the_definition(rules: list[tuple[str, str]], path: str) -> None:
    # A "$" in mid-pattern counts three octets here (it is escaped) and one there.
    assume(not any("$" in pattern[:-1] for _, pattern in rules))
    text = star(*(f"{kind}: {pattern}" for kind, pattern in rules))
    assert allows(text, path) is reference_allows(rules, path)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Allow", "Disallow"]),
            st.text("ab/*=", max_size=8).map("/{}".format),
        ),
        max_size=8,
    ),
    # Protego encodes "?", and so counts it as three octets.
    st.text("ab/=", max_size=12).map("/{}".format),
    st.sampled_from([AGENT, "*"]),
)
def test_matching_agrees_with_protego_where_both_follow_the_rfc(
    rules: list[tuple[str, str]], path: str, agent: str
) -> None:
    lines = [f"{kind}: {pattern}" for kind, pattern in rules]
    text = "\n".join([f"User-agent: {agent}", *lines])
    url = ORIGIN + path
    assert read(text).allows(url) is Protego.parse(text).can_fetch(url, AGENT)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("/" + "a*" * 100_000 + "b", "/" + "a" * 100_000),
        ("/*" + ("a" * 30 + "b*") * 9_000, "/" + "a" * 100_000),
        ("/" + "*" * 400_000 + "b", "/" + "a" * 100_000),
        ("/" + "*a" * 100_000 + "$", "/" + "a" * 99_999 + "b"),
    ],
)
def test_patterns_of_many_stars_end(pattern: str, url: str) -> None:
    """With backtracking none of them would end in a lifetime."""
    assert allows(star(f"Disallow: {pattern}"), url)


def test_many_agents_before_many_rules_cost_no_product() -> None:
    names = [f"{a}{b}{c}" for a, b, c in product("abcdefghijklmnopqrstuvwx", repeat=3)][:9_000]
    agents = "\n".join(f"User-agent: {name}" for name in names)
    text = f"{agents}\nUser-agent: *\n" + "Disallow: /a\n" * 20_000
    assert len(text) < MAX_BYTES
    assert not allows(text, "/a")


# --- equal paths (RFC 9309 §2.2.2) ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/é", "/%C3%A9"),
        ("/é", "/%c3%a9"),
        ("/%e9", "/%E9"),
        ("/%7Euser", "/~user"),
        ("/%61%2D%2E%5f", "/a-._"),
        ("/a b", "/a%20b"),
        ('/"<>\\^`{|}', "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("/wiki/User:Foo_(bar)", "/wiki/User%3AFoo_%28bar%29"),
        ("/a,b!'@", "/a%2Cb%21%27%40"),
        ("/100%", "/100%25"),
        ("/%zz", "/%25zz"),
        ("/?u=/a/b", "/?u=%2Fa%2fb"),
        ("/a?b=é", "/a?b=%C3%A9"),
        ("/[a]", "/[a]"),
        ("/😀", "/%F0%9F%98%80"),
    ],
)
def test_equal_paths(first: str, second: str) -> None:
    for pattern in (first, second):
        robots = read(star(f"Disallow: {pattern}$"))
        assert not robots.allows(ORIGIN + first)
        assert not robots.allows(ORIGIN + second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/a/b", "/a%2Fb"),
        ("/a?b", "/a%3Fb"),
        ("/?a&b", "/?a%26b"),
        ("/?a=b", "/?a%3Db"),
        ("/?a+b", "/?a%2Bb"),
        ("/?a+b", "/?a%20b"),
        ("/a;b", "/a%3Bb"),
        ("/a%2541", "/aA"),
        ("/%FF", "/%FE"),
        ("/a", "/A"),
        ("/é", "/e%CC%81"),
    ],
)
def test_unequal_paths(first: str, second: str) -> None:
    for pattern, url in ((first, second), (second, first)):
        assert allows(star(f"Disallow: {pattern}$"), url)


def test_an_open_slash_of_the_query_does_not_stand_in_the_path() -> None:
    assert allows(star("Disallow: /*/b?x"), "/a%2Fb?x")
    assert not allows(star("Disallow: /*%2Fb"), "/?u=%2Fb")
    assert allows(star("Disallow: /*/b"), "/?u=%2Fb")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://e.com", "/"),
        ("https://e.com/", "/"),
        ("https://e.com?a", "/?a"),
        ("https://e.com#/a", "/"),
        ("https://e.com/a#b", "/a"),
        ("https://e.com/a?b#c?d", "/a?b"),
        ("HTTPS://user:pw@E.com:8443/a", "/a"),
        ("https://e.com/a?u=http://x/y", "/a?u=http://x/y"),
        ("https://e.com//a", "//a"),
        ("https://[::1]:80/a", "/a"),
    ],
)
def test_the_path_of_an_address(url: str, path: str) -> None:
    assert not read(star(f"Disallow: {path}$")).allows(url)
    assert read(star("Disallow: /", f"Allow: {path}$")).allows(url)


UNRESERVED = "abcXYZ019-._~"


@given(st.text(UNRESERVED + "/é ?", min_size=1, max_size=10), st.data())
def test_an_address_and_its_escaped_form_are_judged_alike(text: str, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(text)))
    escaped = "".join(
        "".join(f"%{octet:02x}" for octet in char.encode()) if char in chosen - {"/", "?"} else char
        for char in text
    )
    for pattern, path in ((text, escaped), (escaped, text)):
        assert not allows(star(f"Disallow: /.{pattern}.$"), f"/.{path}.")


# --- lines [R1] ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("Disallow: /a", None),
        ("disallow:/a", None),
        ("DISALLOW : /a", None),
        ("  Disallow\t:\t/a  # b", None),
        ("Disallow: /a#b", None),
        ("Disallow /a", "no_colon"),
        ("Disallow\t \t/a", "no_colon"),
        ("Disallow /a:b", "no_colon"),
        ("Dissallow: /a", "misspelt_directive"),
        ("Dissalow: /a", "misspelt_directive"),
        ("Disalow: /a", "misspelt_directive"),
        ("Diasllow: /a", "misspelt_directive"),
        ("Disallaw: /a", "misspelt_directive"),
        ("Disallowed: /a", "misspelt_directive"),
        ("\ufeffDisallow: /a", None),
        ("\x00Dis\x00allow: /\x00a", None),
        ("\xa0Disallow:\xa0/a\xa0", None),
    ],
)
def test_forms_of_a_rule(line: str, note: str | None) -> None:
    robots = read(star(line))
    path = "/a:b" if "a:b" in line else "/a"
    assert not robots.allows(ORIGIN + path)
    assert robots.allows(f"{ORIGIN}/b")
    assert robots.notes == ({note: 1} if note else {})


@pytest.mark.parametrize(
    "line",
    [
        "# Disallow: /a",
        "Disallow # : /a",
        "Disallow - /a",
        "Please Disallow /a",
        "Disa llow: /a",
        "Noindex: /a",
        "X-Disallow: /a",
        ": /a",
        "Disallow = /a",
        "//Disallow: /a",
    ],
)
def test_lines_that_are_no_rule(line: str) -> None:
    assert allows(star(line), "/a")


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("User-agent: *", None),
        ("USER-AGENT:*", None),
        ("Useragent: *", "misspelt_directive"),
        ("User agent: *", "misspelt_directive"),
        ("User-agents: *", "misspelt_directive"),
        ("User-agent *", "no_colon"),
    ],
)
def test_forms_of_a_user_agent_line(line: str, note: str | None) -> None:
    robots = read(f"{line}\nDisallow: /a\n")
    assert robots.group == "*"
    assert not robots.allows(f"{ORIGIN}/a")
    assert robots.notes == ({note: 1} if note else {})


def test_user_agent_without_hyphen_and_colon_is_three_words_and_no_record() -> None:
    assert read("User agent sitemon\nDisallow: /a\n").group is None


def test_only_cr_and_lf_end_a_line() -> None:
    for char in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        assert allows(star(f"Disallow: /b{char}Disallow: /a"), "/a")


@pytest.mark.parametrize(
    ("encode", "note"),
    [
        (lambda text: b"\xef\xbb\xbf" + text.encode(), "bom"),
        (lambda text: text.encode("utf-16"), "utf16"),
        (lambda text: b"\xff\xfe" + text.encode("utf-16-le"), "utf16"),
        (lambda text: b"\xfe\xff" + text.encode("utf-16-be"), "utf16"),
        (lambda text: b"\xfe\xff" + text.encode("utf-16-be") + b"\x00", "utf16"),
        (lambda text: text.encode("utf-16-le"), None),
        (lambda text: text.encode("utf-32"), "utf16"),
        (lambda text: text.replace("\n", "\r").encode(), None),
        (lambda text: text.replace("\n", "\r\n").encode(), None),
        (lambda text: text.replace("\n", "\n\r").encode(), None),
        (lambda text: b"\xef\xbb" + text.encode(), "bad_bytes"),
    ],
)
def test_encodings_and_line_ends(encode: Callable[[str], bytes], note: str | None) -> None:
    robots = read(encode("User-agent: *\nDisallow: /a\nSitemap: https://e.com/s.xml\n"))
    assert robots.group == "*"
    assert not robots.allows(f"{ORIGIN}/a")
    assert robots.allows(f"{ORIGIN}/b")
    assert robots.sitemaps == ("https://e.com/s.xml",)
    assert note is None or note in robots.notes


def test_octets_that_are_not_utf_8_spoil_no_other_line_and_keep_their_value() -> None:
    robots = read(
        b"# caf\xe9\nUser-agent: *\nDisallow: /caf\xe9\nDis\xffallow: /b\nSitemap: /\xe9.xml\n"
    )
    assert not robots.allows(f"{ORIGIN}/caf%E9")
    assert robots.allows(f"{ORIGIN}/caf")
    assert robots.allows(f"{ORIGIN}/café")
    assert not robots.allows(f"{ORIGIN}/b")
    assert robots.sitemaps == ("https://e.com/%E9.xml",)
    assert robots.notes["bad_bytes"] == 4


# --- size [R1] -----------------------------------------------------------------------------------


def padded(size: int, end: bytes) -> bytes:
    """A file of `size` bytes that ends in `end`."""
    return b"User-agent: *\nDisallow: /a\n#".ljust(size - len(end) - 1, b"x") + b"\n" + end


def test_the_cut_is_at_the_last_line_end_before_500_kib() -> None:
    whole = read(padded(MAX_BYTES, b"Disallow: /b\n"))
    assert not whole.allows(f"{ORIGIN}/b")
    assert "too_long" not in whole.notes
    # One byte more: a line is cut in two, and its beginning would forbid more than the line does.
    cut = read(padded(MAX_BYTES + 3, b"Disallow: /b/c\n"))
    assert cut.allows(f"{ORIGIN}/b/c")
    assert cut.allows(f"{ORIGIN}/b/")
    assert not cut.allows(f"{ORIGIN}/a")
    assert cut.notes["too_long"] == 1


def test_a_line_that_ends_at_the_limit_is_read_and_the_next_is_not() -> None:
    robots = read(padded(MAX_BYTES, b"Disallow: /b\n") + b"Disallow: /c\nSitemap: /s.xml\n")
    assert not robots.allows(f"{ORIGIN}/b")
    assert robots.allows(f"{ORIGIN}/c")
    assert robots.sitemaps == ()


def test_a_file_without_a_line_end_in_500_kib_has_no_line() -> None:
    robots = read(b"User-agent: *\r".ljust(MAX_BYTES, b"x") + b"x")
    assert robots.group == "*"
    assert read(b"x" * (MAX_BYTES + 1)).notes == {"too_long": 1}


# --- Sitemap lines [R1] --------------------------------------------------------------------------

U = "https://e.com/s.xml"


@pytest.mark.parametrize(
    ("line", "sitemaps"),
    [
        (f"Sitemap: {U}", [U]),
        (f"sitemap:{U}", [U]),
        (f"SITEMAP : {U}", [U]),
        (f"\tSitemap\t:\t{U}\t", [U]),
        (f"Site-map: {U}", [U]),
        (f"Sitemaps: {U}", [U]),
        (f"Sitemap index: {U}", [U]),
        (f"Sitemap {U}", [U]),
        (f"Sitemap: {U} # main", [U]),
        (f"Sitemap: {U}#main", [U]),
        (f"\ufeffSitemap: {U}", [U]),
        # wrapped
        (f'Sitemap: "{U}"', [U]),
        (f"Sitemap: '{U}'", [U]),
        (f"Sitemap: <{U}>", [U]),
        (f"Sitemap: “{U}”", [U]),
        (f"Sitemap: {U},", [U]),
        (f"Sitemap: {U};", [U]),
        # several
        (f"Sitemap: {U} https://e.com/t.xml", [U, "https://e.com/t.xml"]),
        (f"Sitemap: {U}, https://e.com/t.xml", [U, "https://e.com/t.xml"]),
        (f"Sitemap: {U},https://e.com/t.xml", [U, "https://e.com/t.xml"]),
        (f"Sitemap: {U};http://e.com/t.xml", [U, "http://e.com/t.xml"]),
        ("Sitemap: /s.xml /t.xml", [U, "https://e.com/t.xml"]),
        ("Sitemap: s.xml t.xml.gz", [U, "https://e.com/t.xml.gz"]),
        (f"Sitemap: {U} {U}", [U]),
        # a comma or an address inside of one
        ("Sitemap: https://e.com/s?a=1,2", ["https://e.com/s?a=1,2"]),
        ("Sitemap: https://e.com/s?u=https://e.com/", ["https://e.com/s?u=https://e.com/"]),
        # blanks inside of one, remarks after one
        ("Sitemap: https://e.com/my site.xml", ["https://e.com/my%20site.xml"]),
        (f"Sitemap: {U} (main)", [U]),
        (f"Sitemap: {U} - our main sitemap", [U]),
        # nothing
        ("Sitemap:", []),
        ("Sitemap: # none", []),
        ('Sitemap: ""', []),
        ("Sitemap: ftp://e.com/s.xml", []),
        ("Sitemap: javascript:alert(1)", []),
        ("Sitemap: https://", []),
        ("Sitemap: ?", []),
        ("Sitemap: /robots.txt", []),
        ("Sitemap: http://[e.com/s.xml", []),
        # other hosts, ports and schemes are kept as they are
        ("Sitemap: http://cdn.example.net:8080/s.xml", ["http://cdn.example.net:8080/s.xml"]),
        ("Sitemap: HTTPS://E.com/S.xml", ["HTTPS://E.com/S.xml"]),
        ("Sitemap: https://münchen.de/é.xml", ["https://münchen.de/é.xml"]),
        # unseen characters
        ("Sitemap: \u200bhttps://e.com/s\u200b.xml\ufeff", [U]),
        ("Sitemap: https://e.com/\x01s.xml\x7f", [U]),
    ],
)
def test_forms_of_a_sitemap_line(line: str, sitemaps: list[str]) -> None:
    assert list(read(line).sitemaps) == sitemaps


@pytest.mark.parametrize(
    ("value", "address", "sitemap"),
    [
        ("/s.xml", ADDRESS, "https://e.com/s.xml"),
        ("s.xml", ADDRESS, "https://e.com/s.xml"),
        ("./s.xml", ADDRESS, "https://e.com/s.xml"),
        ("../s.xml", ADDRESS, "https://e.com/s.xml"),
        ("?s", ADDRESS, "https://e.com/robots.txt?s"),
        ("//cdn.e.com/s.xml", ADDRESS, "https://cdn.e.com/s.xml"),
        ("/s.xml", "http://www.e.com/robots.txt", "http://www.e.com/s.xml"),
        ("s.xml", "https://cdn.net/e/robots.txt", "https://cdn.net/e/s.xml"),
        ("/s.xml", "https://e.com:8443/robots.txt", "https://e.com:8443/s.xml"),
        # the scheme forgotten before the site's own name
        ("e.com/s.xml", ADDRESS, "https://e.com/s.xml"),
        ("www.e.com/s.xml", ADDRESS, "https://www.e.com/s.xml"),
        ("E.com/s.xml", "https://www.e.com/robots.txt", "https://E.com/s.xml"),
        ("x.com/s.xml", ADDRESS, "https://e.com/x.com/s.xml"),
    ],
)
def test_relative_sitemaps_start_at_the_final_address(
    value: str, address: str, sitemap: str
) -> None:
    robots = read(f"Sitemap: {value}\n", address)
    assert robots.sitemaps == (sitemap,)
    assert robots.notes == {"relative_sitemap": 1}


def test_sitemap_lines_stand_anywhere_and_keep_their_order_without_duplicates() -> None:
    text = (
        "Sitemap: /c.xml\nUser-agent: other\nSitemap: /a.xml\nDisallow: /\nSitemap: /b.xml\n"
        "User-agent: sitemon\nDisallow: /x\nSitemap: /c.xml\n\nSitemap: https://e.com/a.xml\n"
    )
    robots = read(text)
    assert robots.sitemaps == tuple(f"https://e.com/{name}.xml" for name in "cab")


def test_an_unusable_sitemap_line_is_noted() -> None:
    assert read("Sitemap: ftp://e.com/s.xml\nSitemap: /s.xml\n").notes == {
        "bad_sitemap": 1,
        "relative_sitemap": 1,
    }


def test_an_empty_sitemap_line_is_no_oddity() -> None:
    assert read('Sitemap:\nSitemap: " "\n').notes == {}


def test_no_address_at_all_gives_no_relative_sitemap() -> None:
    assert read("Sitemap: /s.xml\n", "").sitemaps == ()


# --- Crawl-delay [R3] ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "asked", "honoured"),
    [
        ("0", 0.0, 0.0),
        ("10", 10.0, 10.0),
        ("0.5", 0.5, 0.5),
        ("0,5", 0.5, 0.5),
        (".5", 0.5, 0.5),
        ("5.", 5.0, 5.0),
        ("1e1", 10.0, 10.0),
        ("10s", 10.0, 10.0),
        ("10 S", 10.0, 10.0),
        ("2 sec", 2.0, 2.0),
        ("2 seconds", 2.0, 2.0),
        ("1 second", 1.0, 1.0),
        ("500ms", 0.5, 0.5),
        ("500 milliseconds", 0.5, 0.5),
        ("10 # seconds", 10.0, 10.0),
        ("30", 30.0, 30.0),
        ("30.01", 30.01, 30.0),
        ("86400", 86400.0, 30.0),
        ("1e300", 1e300, 30.0),
        ("9" * 400, None, 30.0),
    ],
)
def test_a_crawl_delay_is_honoured_to_30_seconds(
    value: str, asked: float | None, honoured: float
) -> None:
    robots = read(star(f"Crawl-delay: {value}"))
    assert robots.crawl_delay == honoured <= MAX_DELAY
    assert asked is None or robots.asked_delay == asked
    assert robots.asked_delay is not None
    assert robots.notes == ({"crawl_delay_cut": 1} if robots.asked_delay > MAX_DELAY else {})


@pytest.mark.parametrize(
    "value",
    ["inf", "Infinity", "nan", "-5", "-0", "1e400", "x", "10m", "1 minute", "5-10", "1.2.3", "١٠",
     "0x10", "1_0", "s", ".", ",", "10 20"],
)  # fmt: skip
def test_a_crawl_delay_that_is_none_is_ignored_and_noted(value: str) -> None:
    robots = read(star(f"Crawl-delay: {value}"))
    assert (robots.crawl_delay, robots.asked_delay) == (None, None)
    assert robots.notes == {"crawl_delay_invalid": 1}


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        # that of the group that applies, nothing leaks
        ("User-agent: *\nCrawl-delay: 5\nDisallow: /a\nUser-agent: sitemon\nDisallow: /b\n", None),
        ("User-agent: *\nCrawl-delay: 5\nAllow: /\nUser-agent: sitemon\nCrawl-delay: 2\n", 2),
        ("User-agent: AhrefsBot\nCrawl-delay: 10\nUser-agent: *\nDisallow: /a\n", None),
        ("User-agent: AhrefsBot\nCrawl-delay: 10\n\nUser-agent: *\nCrawl-delay: 1\n", 1),
        ("User-agent: *\nDisallow: /a\nUser-agent: x\nCrawl-delay: 10\n", None),
        ("User-agent: sitemon\nCrawl-delay: 3\nUser-agent: *\nCrawl-delay: 9\n", 3),
        ("User-agent: sitemon\nCrawl-delay: 3\nUser-agent: *\nAllow: /\nCrawl-delay: 9\n", 3),
        ("User-agent: *\nSitemap: /s.xml\nUser-agent: x\nCrawl-delay: 4\n", 4),
        ("User-agent: *\nCrawl-delay: 3\nUser-agent: *\nCrawl-delay: 4\nAllow: /\n", 4),
        # all agents named above it
        ("User-agent: x\nUser-agent: sitemon\nCrawl-delay: 4\n", 4),
        ("User-agent: *\nUser-agent: x\nDisallow: /a\nCrawl-delay: 4\n", 4),
        # before any group: nobody's
        ("Crawl-delay: 7\nUser-agent: *\nDisallow: /a\n", None),
        # several: the longest
        ("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 8\nCrawl-delay: 4\n", 8),
        ("User-agent: *\nCrawl-delay: 8\nAllow: /\nUser-agent: *\nCrawl-delay: 2\n", 8),
        ("User-agent: *\nCrawl-delay: x\nCrawl-delay: 2\nCrawl-delay: \n", 2),
        # spelling
        ("User-agent: *\ncrawl delay: 2\n", 2),
        ("User-agent: *\nCrawldelay: 2\n", 2),
        ("User-agent: *\nCrawl-delay 2\n", 2),
    ],
)
def test_whose_crawl_delay_it_is(text: str, delay: float | None) -> None:
    assert read(text).crawl_delay == delay


def test_an_agent_named_twice_asks_once() -> None:
    robots = read("User-agent: *\nUser-agent: *\nCrawl-delay: x\nDisallow: /\n")
    assert robots.notes == {"crawl_delay_invalid": 1}


def test_a_crawl_delay_before_any_group_forbids_nothing() -> None:
    robots = read("Crawl-delay: 7\n")
    assert robots.allows(f"{ORIGIN}/a")
    assert robots.notes == {"outside_group": 1}


# --- the whole site ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "root", "everything"),
    [
        ((), False, False),
        (("Disallow:",), False, False),
        (("Disallow: /",), True, True),
        (("Disallow: /*",), True, True),
        (("Disallow: *",), True, True),
        (("Disallow: /*$",), True, True),
        (("Disallow: */",), True, True),
        (("Disallow: /$",), False, False),
        (("Disallow: /a",), False, False),
        (("Disallow: /*/",), False, False),
        (("Disallow: /", "Allow:"), True, True),
        (("Disallow: /", "Allow: a"), True, True),
        (("Disallow: /", "Allow: /"), True, False),
        (("Disallow: /*", "Allow: /"), True, True),
        (("Disallow: /", "Disallow: /*", "Allow: /"), True, True),
        (("Disallow: /", "Allow: /sitemap.xml"), True, False),
        (("Allow: /$", "Disallow: /"), True, False),
        (("Allow: /",), False, False),
    ],
)
def test_a_group_that_forbids_the_whole_site(
    rules: tuple[str, ...], *, root: bool, everything: bool
) -> None:
    robots = read(star(*rules))
    assert (robots.disallows_root, robots.disallows_all) == (root, everything)
    own = read("User-agent: sitemon\nAllow: /a\n" + star(*rules))
    assert (own.disallows_root, own.disallows_all) == (False, False)


@given(RULES, PATHS)
def test_where_everything_is_forbidden_nothing_is_allowed(
    rules: list[tuple[str, str]], path: str
) -> None:
    robots = read(star(*(f"{kind}: {pattern}" for kind, pattern in rules)))
    assert robots.disallows_root >= robots.disallows_all
    assert not (robots.disallows_all and robots.allows(ORIGIN + path))


# --- laws ----------------------------------------------------------------------------------------

LINES = st.one_of(
    st.sampled_from(
        ["User-agent: *", "User-agent: sitemon", "User-agent: x", "Crawl-delay: 2", "Sitemap: /s",
         "Disallow:", "Allow: /", "Disallow: /", "Foo: bar", "# comment", "", "Useragent sitemon"]
    ),
    st.builds("{}: {}".format, st.sampled_from(["Allow", "Disallow"]), PATTERNS),
)  # fmt: skip
FILES = st.lists(LINES, max_size=12)
PROBES = [ORIGIN + path for path in ("/", "/a", "/ab", "/a/b", "/b?a=b", "/a?b", "/aa/")]


def behaviour(robots: Robots) -> tuple[object, ...]:
    """What a caller can tell apart, notes left out."""
    return (
        robots.verdict,
        robots.sitemaps,
        robots.asked_delay,
        robots.group,
        robots.disallows_all,
        robots.disallows_root,
        [robots.allows(url, agent) for url in PROBES for agent in (AGENT, "x", "other")],
    )


@given(
    st.one_of(st.none(), st.integers(-10, 1000)),
    st.one_of(st.binary(max_size=200), FILES.map(lambda lines: "\n".join(lines).encode())),
    st.one_of(st.just(ADDRESS), st.text(max_size=20)),
    st.text(max_size=20),
)
@example(200, b"Sitemap: http://[\nUser-agent:\nDisallow:*%", "http://[", "http://x/\udcff")
@example(200, b"\xff\xfe\x00\xd8U", "", "")
def test_any_bytes_of_any_address_are_read_and_any_address_is_judged(
    status: int | None, body: bytes, address: str, url: str
) -> None:
    robots = read_robots(status, body, address)
    assert robots.allows(url) in (True, False)
    for sitemap in robots.sitemaps:
        assert sitemap.lower().startswith(("http://", "https://"))
        assert sitemap.isprintable()
        sitemap.encode()


@given(st.text(max_size=30))
def test_any_sitemap_value_gives_addresses_that_escape_no_line(value: str) -> None:
    for sitemap in read(f"Sitemap: https://e.com/{value}".encode("utf-8", "ignore")).sitemaps:
        assert sitemap.startswith("https://e.com/")
        assert not any(char.isspace() or ord(char) < 32 for char in sitemap)


UNKNOWN_LINES = ["", "   ", "# x: y", "Foo: bar", "prose", "Host: e.com"]


@given(FILES, st.integers(0, 12), st.sampled_from(UNKNOWN_LINES))
def test_comments_blanks_and_unknown_lines_change_nothing(
    lines: list[str], place: int, inserted: str
) -> None:
    longer = [*lines[:place], inserted, *lines[place:]]
    assert behaviour(read("\n".join(longer))) == behaviour(read("\n".join(lines)))


@given(FILES, st.integers(0, 12))
def test_a_sitemap_line_changes_sitemaps_alone(lines: list[str], place: int) -> None:
    longer = [*lines[:place], "Sitemap: https://e.com/new.xml", *lines[place:]]
    before, after = read("\n".join(lines)), read("\n".join(longer))
    assert set(after.sitemaps) == {*before.sitemaps, "https://e.com/new.xml"}
    assert behaviour(after)[2:] == behaviour(before)[2:]


@given(FILES, st.sampled_from(["\r", "\r\n"]))
def test_line_ends_are_alike(lines: list[str], end: str) -> None:
    assert behaviour(read(end.join(lines))) == behaviour(read("\n".join(lines)))


@given(RULES, st.randoms())
def test_the_order_of_rules_means_nothing(rules: list[tuple[str, str]], random: Random) -> None:
    lines = [f"{kind}: {pattern}" for kind, pattern in rules]
    shuffled = list(lines)
    random.shuffle(shuffled)
    assert behaviour(read(star(*shuffled))) == behaviour(read(star(*lines)))


@given(RULES, RULES)
def test_two_groups_of_one_name_are_one(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    lines = [[f"{kind}: {pattern}" for kind, pattern in rules] for rules in (first, second)]
    apart = star(*lines[0]) + star(*lines[1])
    assert behaviour(read(apart)) == behaviour(read(star(*lines[0], *lines[1])))


@given(FILES, RULES)
def test_the_group_of_another_agent_changes_nothing_for_us(
    lines: list[str], rules: list[tuple[str, str]]
) -> None:
    other = ["User-agent: zbot", *(f"{kind}: {pattern}" for kind, pattern in rules), "Allow:"]
    # At the front it is a group of its own; a "Disallow:" before it makes it one at the end.
    text = "\n".join(lines)
    start = next((i for i, line in enumerate(lines) if line.startswith("User")), len(lines))
    front = "\n".join([*lines[:start], *other, *lines[start:]])
    assert behaviour(read(front)) == behaviour(read(text))
    assert behaviour(read("\n".join([*lines, "Disallow:", *other]))) == behaviour(read(text))


@given(RULES, PATTERNS)
def test_an_allow_forbids_nothing_and_a_disallow_allows_nothing(
    rules: list[tuple[str, str]], pattern: str
) -> None:
    lines = [f"{kind}: {old}" for kind, old in rules]
    plain, more, less = (
        read(star(*lines, *extra))
        for extra in ((), (f"Allow: {pattern}",), (f"Disallow: {pattern}",))
    )
    for url in PROBES:
        assert less.allows(url) <= plain.allows(url) <= more.allows(url)
