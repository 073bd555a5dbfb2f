"""Every option in every form it can be given, and one clear sentence for every wrong one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic.alias_generators import to_camel

from sitemon_spider.core.reasons import ChangeType
from sitemon_spider.options import InputError, Options
from tests.world import World, blog

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeMonitor

SITE = {"sites": ["https://a.example"]}

GIVEN: dict[str, tuple[str, Any]] = {
    "sites": ("https://a.example, https://b.example", ("https://a.example", "https://b.example")),
    "sitemap_urls": ("https://a.example/s", ("https://a.example/s",)),
    "output_mode": ("urls_only", "urls_only"),
    "change_types": ("added,removed", (ChangeType.ADDED, ChangeType.REMOVED)),
    "first_run": ("report", "report"),
    "detect_lastmod_changes": ("false", False),
    "max_urls_per_site": ("5000000", 5_000_000),
    "max_urls": ("10", 10),
    "max_sitemaps_per_site": ("50000", 50_000),
    "max_sitemap_depth": ("0", 0),
    "try_common_paths": ("no", False),
    "include_regex": ("/blog/", "/blog/"),
    "exclude_regex": ("/tag/", "/tag/"),
    "sitemap_include_regex": ("posts", "posts"),
    "sitemap_exclude_regex": ("images", "images"),
    "requests_per_second": ("0.1", 0.1),
    "delay_per_host": ("60", 60.0),
    "max_concurrent_sites": ("64", 64),
    "max_retries": ("0", 0),
    "request_timeout": ("120", 120.0),
    "user_agent_contact": ("mailto:me@a.example", "mailto:me@a.example"),
    "monitor": ("shop-1", "shop-1"),
    "start_over": ("1", True),
    "max_failed_sitemaps_percent": ("12.5", 12.5),
    "hold_back_share": ("0", 0),
    "ignore_site_wide_stamps": ("False", False),
}
"""Options as spider arguments, which are texts, and what they mean."""


@pytest.mark.parametrize("name", GIVEN)
def test_an_option_is_an_argument_in_either_spelling(name: str) -> None:
    text, meant = GIVEN[name]
    for spelling in (name, to_camel(name)):
        options = Options.from_arguments({**SITE, spelling: text})
        assert getattr(options, name) == meant
    assert Options.read({**SITE, to_camel(name): meant}) == options


def test_robots_can_be_lifted_together_with_own_site() -> None:
    given = {"respectRobotsTxt": "false", "ownSite": "true", "delayPerHost": "0"}
    options = Options.from_arguments(SITE | given)
    assert (options.respect_robots_txt, options.delay_per_host) == (False, 0)


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example,https://b.example/s.xml",
        "https://a.example\nhttps://b.example/s.xml\n",
        "  https://a.example , \n\n https://b.example/s.xml",
        '["https://a.example", "https://b.example/s.xml"]',
    ],
)
def test_a_list_is_json_or_separated_by_commas_or_line_ends(text: str) -> None:
    options = Options.from_arguments({"sites": text})
    assert options.sites == ("https://a.example", "https://b.example/s.xml")


def test_a_file_gives_options_and_arguments_win(tmp_path: Path) -> None:
    file = tmp_path / "input.json"
    file.write_text(json.dumps({**SITE, "maxUrlsPerSite": 5, "max_retries": 1, "monitor": "x"}))
    options = Options.from_arguments(
        {"input": str(file), "maxRetries": "2", "max_urls_per_site": 7}
    )
    assert options.sites == ("https://a.example",)
    assert (options.max_urls_per_site, options.max_retries, options.monitor) == (7, 2, "x")


def test_arguments_that_begin_with_an_underscore_are_no_options() -> None:
    assert Options.from_arguments({**SITE, "_job": "7", "_version": "1"}) == Options.read(SITE)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no site": ({}, "sites: at least one site or sitemap address is needed"),
    "an empty list": ({"sites": " ,\n"}, "sites: at least one site or sitemap address is needed"),
    "a number too small": (
        {"maxUrlsPerSite": "0"},
        "maxUrlsPerSite: should be greater than or equal to 1, got '0'",
    ),
    "a number too large": (
        {"max_urls_per_site": "5000001"},
        "maxUrlsPerSite: should be less than or equal to 5000000, got '5000001'",
    ),
    "no number": (
        {"maxRetries": "many"},
        "maxRetries: should be a valid integer, unable to parse string as an integer, got 'many'",
    ),
    "a fraction": (
        {"maxRetries": 1.5},
        "maxRetries: should be a valid integer, got a number with a fractional part, got 1.5",
    ),
    "not a number": (
        {"requestsPerSecond": "nan"},
        "requestsPerSecond: should be less than or equal to 50, got 'nan'",
    ),
    "no truth": (
        {"startOver": "perhaps"},
        "startOver: should be a valid boolean, unable to interpret input, got 'perhaps'",
    ),
    "no choice": (
        {"outputMode": "everything"},
        "outputMode: should be 'changes_only', 'urls_and_changes' or 'urls_only', got 'everything'",
    ),
    "a wrong element": (
        {"changeTypes": "added,gone"},
        "changeTypes: should be 'added', 'removed'",
    ),
    "a list that is no list": ({"sites": 5}, "sites: should be a valid tuple, got 5"),
    "an element that is no text": ({"sites": [5]}, "sites: should be a valid string, got 5"),
    "a torn JSON list": (
        {"sites": '["https://a.example'},
        "sites: should be a valid tuple, got '[\"https://a.example'",
    ),
    "too many sites": (
        {"sites": "a.example," * 1_001},
        "sites: tuple should have at most 1000 items after validation, not 1001",
    ),
    "no expression": (
        {"includeRegex": "("},
        "includeRegex: not a regular expression: missing ): (, got '('",
    ),
    "a name that is no name": ({"monitor": "My Shop"}, "monitor: "),
    "a header that is more": ({"userAgentContact": "me\r\nX: y"}, "userAgentContact: "),
    "robots of others": (
        {"respectRobotsTxt": "false"},
        "respectRobotsTxt: robots.txt may be ignored only with ownSite=true",
    ),
    "haste on others": (
        {"delayPerHost": "0.2"},
        "delayPerHost: below 0.25 seconds only with ownSite=true, got 0.2",
    ),
    "a misspelt name": (
        {"maxUrlPerSite": "5"},
        "maxUrlPerSite: there is no option of this name; did you mean maxUrlsPerSite?",
    ),
    "a misspelt snake": (
        {"max_retry": "5"},
        "max_retry: there is no option of this name; did you mean max_retries?",
    ),
    "both spellings": (
        {"maxRetries": "1", "max_retries": "2"},
        "maxRetries: given twice, as maxRetries and as max_retries",
    ),
    "a name unlike all": ({"zzz": "5"}, "zzz: there is no option of this name"),
    "no such file": ({"input": "/nowhere/x.json"}, "input: the file '/nowhere/x.json' cannot be "),
    "a list in the file": ({"input": "LIST"}, "input: the file "),
    "no JSON in the file": ({"input": "TORN"}, "input: the file "),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_input_is_one_sentence_with_field_rule_and_value(case: str, tmp_path: Path) -> None:
    given, sentence = WRONG[case]
    for name, text in {"LIST": "[]", "TORN": "{"}.items():
        (tmp_path / name).write_text(text)
        given = {k: str(tmp_path / name) if v == name else v for k, v in given.items()}
    with pytest.raises(InputError) as error:
        Options.from_arguments((SITE if given and "sites" not in given else {}) | given)
    told = str(error.value)
    assert told.startswith(sentence)
    assert "\n" not in told
    assert told.isprintable()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"maxRetries": 11}, "maxRetries: should be less than or equal to 10, got '11'"),
        ({"maxRetry": 1}, "maxRetry: there is no option of this name; did you mean maxRetries?"),
        ({"sites": "ftp://a.example"}, "sites: no entry can be read: only http and https are read"),
        ({"sites": None}, "sites: at least one site or sitemap address is needed"),
    ],
)
def test_wrong_input_ends_before_any_request_and_writes_nothing(
    monitor: MakeMonitor, given: dict[str, Any], sentence: str
) -> None:
    """Exit code 2, one sentence; no request, no state folder."""
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url])
        run = job.run(**given)
        assert world.sites[0].requests == []
    assert run.exit_code == 2
    assert sentence in run.log
    assert "Traceback" not in run.log
    assert not job.state.exists()
    assert run.feed is not None
    assert not run.feed.exists()


def test_an_unknown_spider_is_a_usage_error(monitor: MakeMonitor) -> None:
    run = monitor(sites=["https://a.example"]).run(arguments=["sitemap"])
    assert run.exit_code == 2
    assert "name one spider" in run.log


def test_options_of_a_run_are_in_its_record(monitor: MakeMonitor) -> None:
    """SPEC §3: OUTPUT names the options used, by their wire names."""
    with World(blog()) as world:
        site = world.sites[0].url
        run = monitor(sites=[site]).run(maxRetries=2, includeRegex="/posts/")
    options = run.records["OUTPUT.json"]["options"]
    assert (options["sites"], options["maxRetries"]) == ([site], 2)
    assert options["includeRegex"] == "/posts/"
    assert set(options) == {to_camel(name) for name in Options.model_fields}
