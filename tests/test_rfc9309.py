"""RFC 9309, Robots Exclusion Protocol: its rules and its own examples, section by section."""

from __future__ import annotations

import pytest

from sitemon_spider.core.robots import MAX_BYTES, Robots, read_robots

ORIGIN = "https://www.example.com"


def rules(text: str) -> Robots:
    return read_robots(200, text.encode(), f"{ORIGIN}/robots.txt")


def allowed(text: str, path: str, agent: str = "ExampleBot") -> bool:
    return rules(text).allows(ORIGIN + path, agent)


# --- §2.2 formal syntax --------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_2_2_a_line_ends_in_cr_lf_or_both(end: str) -> None:
    text = end.join(["user-agent: *", "", "allow: /a/b", "disallow: /a", ""])
    assert not allowed(text, "/a")
    assert allowed(text, "/a/b")


@pytest.mark.parametrize(
    "line",
    [
        "disallow: /a",
        "disallow:/a",
        "\t disallow \t:\t /a \t",
        "DISALLOW: /a",
        "dIsAlLoW: /a",
        "disallow: /a # why",
        "disallow: /a#why",
    ],
)
def test_2_2_white_space_case_and_a_comment_do_not_change_a_rule(line: str) -> None:
    assert not allowed(f"user-agent: *\n{line}\n", "/a")
    assert allowed(f"user-agent: *\n{line}\n", "/b")


@pytest.mark.parametrize("line", ["disallow:", "disallow: ", "disallow: # all", "allow:"])
def test_2_2_an_empty_pattern_forbids_nothing(line: str) -> None:
    assert allowed(f"user-agent: *\n{line}\n", "/a")
    assert not allowed(f"user-agent: *\ndisallow: /a\n{line}\n", "/a")


def test_2_2_the_last_line_needs_no_end() -> None:
    assert not allowed("user-agent: *\ndisallow: /a", "/a")


# --- §2.2.1 the User-agent line ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ExampleBot", "examplebot", "EXAMPLEBOT"])
def test_2_2_1_the_product_token_is_compared_without_case(name: str) -> None:
    assert not allowed(f"user-agent: {name}\ndisallow: /\n", "/a")


def test_2_2_1_groups_of_one_token_are_merged() -> None:
    text = (
        "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\n"
        "user-agent: ExampleBot\ndisallow: /baz\n"
    )
    assert [allowed(text, path) for path in ("/foo", "/bar", "/baz", "/qux")] == [
        False,
        False,
        False,
        True,
    ]


def test_2_2_1_the_star_group_applies_where_no_group_names_the_agent() -> None:
    text = "user-agent: *\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: BazBot\ndisallow: /baz\n"
    assert [allowed(text, path) for path in ("/foo", "/bar", "/baz")] == [False, False, True]
    assert [allowed(text, path, "BazBot") for path in ("/foo", "/bar", "/baz")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("text", ["", "user-agent: BazBot\ndisallow: /\n", "# nothing\n"])
def test_2_2_1_without_a_group_that_applies_no_rules_apply(text: str) -> None:
    assert allowed(text, "/a")


# --- §2.2.2 the Allow and Disallow lines ---------------------------------------------------------


def test_2_2_2_matching_is_case_sensitive() -> None:
    assert allowed("user-agent: *\ndisallow: /A\n", "/a")


def test_2_2_2_matching_begins_with_the_first_octet_of_the_path() -> None:
    assert allowed("user-agent: *\ndisallow: /b\n", "/a/b")
    assert allowed("user-agent: *\ndisallow: a\n", "/a")


@pytest.mark.parametrize("order", ["allow: /a/b\ndisallow: /a\n", "disallow: /a\nallow: /a/b\n"])
def test_2_2_2_the_match_with_the_most_octets_is_used(order: str) -> None:
    assert allowed(f"user-agent: *\n{order}", "/a/bc")
    assert not allowed(f"user-agent: *\n{order}", "/a/c")


@pytest.mark.parametrize("order", ["allow: /a\ndisallow: /a\n", "disallow: /a\nallow: /a\n"])
def test_2_2_2_allow_is_used_of_two_equivalent_rules(order: str) -> None:
    assert allowed(f"user-agent: *\n{order}", "/a")


def test_2_2_2_a_uri_that_matches_no_rule_is_allowed() -> None:
    assert allowed("user-agent: *\ndisallow: /a\n", "/b")
    assert allowed("user-agent: ExampleBot\n\n", "/b")


def test_2_2_2_robots_txt_itself_is_allowed() -> None:
    assert allowed("user-agent: *\ndisallow: /\n", "/robots.txt")
    assert not allowed("user-agent: *\ndisallow: /\n", "/robots.txt/a")


# The RFC's table: the path as written, and the path to match. Each must match the other as a rule
# and as a URI.
TABLE_4 = [
    ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
    ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
    ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
]


@pytest.mark.parametrize(("written", "to_match"), TABLE_4)
def test_2_2_2_the_table_of_percent_encoded_paths(written: str, to_match: str) -> None:
    for pattern in (written, to_match):
        for path in (written, to_match):
            assert not allowed(f"user-agent: *\ndisallow: {pattern}\n", path)
            assert not allowed(f"user-agent: *\ndisallow: {pattern}$\n", path)
            assert allowed(f"user-agent: *\ndisallow: {pattern}x\n", path)


@pytest.mark.parametrize(("written", "to_match"), TABLE_4)
def test_2_2_2_equal_paths_are_equally_long(written: str, to_match: str) -> None:
    for first, second in ((written, to_match), (to_match, written)):
        assert allowed(f"user-agent: *\ndisallow: {first}\nallow: {second}\n", written)


def test_2_2_2_rules_outside_of_any_group_are_ignored() -> None:
    robots = rules("disallow: /a\nuser-agent: *\ndisallow: /b\n")
    assert robots.allows(f"{ORIGIN}/a")
    assert not robots.allows(f"{ORIGIN}/b")
    assert robots.notes["outside_group"] == 1


# --- §2.2.3 special characters -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/this/path/exactly$", "/this/path/exactly", True),
        ("/this/path/exactly$", "/this/path/exactly/not", False),
        ("/this/path/exactly$", "/this/path/exactly?not", False),
        ("/this/*/exactly", "/this/path/exactly", True),
        ("/this/*/exactly", "/this/long/path/exactly/so", True),
        ("/this/*/exactly", "/this//exactly", True),
        ("/this/*/exactly", "/this/exactly", False),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html", False),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/path/foo-%24", "/path/foo-", False),
        ("/a$b", "/a$b", True),
        ("/a$b", "/a%24b", True),
        ("/a$b", "/a", False),
        ("/a$", "/a$", False),
    ],
)
def test_2_2_3_special_characters(pattern: str, path: str, *, matches: bool) -> None:
    assert allowed(f"user-agent: *\ndisallow: {pattern}\n", path) is not matches


# --- §2.2.4 other records ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    ["Sitemap: https://www.example.com/s.xml", "Crawl-delay: 5", "Host: a", "Clean-param: b /c"],
)
def test_2_2_4_other_records_do_not_end_a_group(record: str) -> None:
    inside = f"user-agent: ExampleBot\ndisallow: /a\n{record}\ndisallow: /b\n"
    assert not allowed(inside, "/b")
    before = f"user-agent: ExampleBot\n{record}\nuser-agent: OtherBot\ndisallow: /a\n"
    assert not allowed(before, "/a")
    assert not allowed(before, "/a", "OtherBot")


# --- §2.3 access ---------------------------------------------------------------------------------

FORBID = b"user-agent: *\ndisallow: /\nsitemap: /s.xml\n"


@pytest.mark.parametrize("status", [200, 203, 206])
def test_2_3_1_1_rules_that_were_fetched_are_followed(status: int) -> None:
    robots = read_robots(status, FORBID, f"{ORIGIN}/robots.txt")
    assert robots.verdict == "rules"
    assert not robots.allows(f"{ORIGIN}/a")


def test_2_3_1_2_rules_behind_a_redirect_hold_for_the_first_authority() -> None:
    robots = read_robots(200, FORBID, "https://cdn.example.net/robots.txt")
    assert not robots.allows(f"{ORIGIN}/a")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 499])
def test_2_3_1_3_an_unavailable_file_allows_everything(status: int) -> None:
    robots = read_robots(status, FORBID, f"{ORIGIN}/robots.txt")
    assert robots.verdict == "no-rules"
    assert robots.allows(f"{ORIGIN}/a")


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599, None])
def test_2_3_1_4_an_unreachable_file_forbids_everything(status: int | None) -> None:
    robots = read_robots(status, b"user-agent: *\nallow: /\n", f"{ORIGIN}/robots.txt")
    assert robots.verdict == "unreachable"
    assert not robots.allows(f"{ORIGIN}/a")


def test_2_3_1_5_lines_that_cannot_be_parsed_do_not_spoil_the_others() -> None:
    text = "%%%\nuser-agent: *\n:\ngarbage\n<b>\n=\ndisallow: /a\n\x01: \x02\ndisallow: /b\n"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]


# --- §2.5 limits ---------------------------------------------------------------------------------


def test_2_5_at_least_500_kibibytes_are_parsed() -> None:
    end = b"\ndisallow: /a\n"
    body = b"user-agent: *\n#".ljust(500 * 1024 - len(end), b"x") + end
    assert len(body) == 500 * 1024 == MAX_BYTES
    assert not read_robots(200, body, f"{ORIGIN}/robots.txt").allows(f"{ORIGIN}/a")


# --- §5 examples ---------------------------------------------------------------------------------

SIMPLE_EXAMPLE = """\
            User-Agent: *
            Disallow: *.gif$
            Disallow: /example/
            Allow: /publications/

            User-Agent: foobot
            Disallow:/
            Allow:/example/page.html
            Allow:/example/allowed.gif

            User-Agent: barbot
            User-Agent: bazbot
            Disallow: /example/page.html

            User-Agent: quxbot

            EOF
"""


@pytest.mark.parametrize(
    ("agent", "path", "expected"),
    [
        ("anybot", "/publications/", True),
        ("anybot", "/publications/a.gif.html", True),
        ("anybot", "/publications/a.gif", True),
        ("anybot", "/a.gif", False),
        ("anybot", "/a.gifs", True),
        ("anybot", "/example/", False),
        ("anybot", "/example/page.html", False),
        ("anybot", "/", True),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/", False),
        ("foobot", "/publications/", False),
        ("barbot", "/example/page.html", False),
        ("barbot", "/example/page.html?a", False),
        ("barbot", "/example/other.html", True),
        ("bazbot", "/example/page.html", False),
        ("bazbot", "/a.gif", True),
        ("quxbot", "/example/page.html", True),
        ("quxbot", "/a.gif", True),
    ],
)
def test_5_1_simple_example(agent: str, path: str, *, expected: bool) -> None:
    assert allowed(SIMPLE_EXAMPLE, path, agent) is expected


def test_5_2_longest_match() -> None:
    text = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    assert not allowed(text, "/example/page/disallowed.gif", "foobot")
    assert allowed(text, "/example/page/allowed.gif", "foobot")
