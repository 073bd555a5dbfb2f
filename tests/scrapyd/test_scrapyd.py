"""The third home: a real Scrapyd is sent the project and runs it as jobs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from sitemon_spider import settings
from sitemon_spider.options import Options
from tests.crawl import QUICK
from tests.scrapyd.node import PROJECT, ROOT, Node, clone
from tests.world import Site, World, index, robots, shop, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = (ROOT / "docs" / "scrapyd.md").read_text("utf-8")
PARAMETERS = {"project", "spider", "_version", "jobid", "priority", "setting"}
"""What schedule.json takes for itself; all else becomes a spider argument."""

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "
PARTS = range(20)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout as a clone has it, with a data file beside the modules."""
    copy = clone(tmp_path_factory.mktemp("deploy") / "clone")
    (copy / PROJECT / "commands" / "data.txt").write_text("Whatever a module reads.")
    return copy


@pytest.fixture(scope="module")
def node(project: Path) -> Iterator[Node]:
    """A Scrapyd that the project was deployed to. Builds `.venv-scrapyd` where it is missing."""
    build = ["make", "--silent", "scrapyd-venv", f"PYTHON={sys.executable}"]
    subprocess.run(build, cwd=ROOT, check=True)
    with Node(project.parent / "node") as node:
        node.deploy(project)
        yield node


def day(number: int) -> dict[str, str]:
    """The setting that makes a job's moment one of day `number`."""
    return {"SITEMON_NOW": f"2026-10-{number:02}T06:00:00+00:00"}


def told(node: Node, job: str) -> set[tuple[str, str]]:
    """The changes in a job's feed."""
    return {(row["changeType"], row["url"]) for row in node.rows(job) if row["type"] == "change"}


def ends(node: Node, job: str) -> dict[str, tuple[str, str | None, str | None]]:
    """How each site of a job ended: status, baseline and stopReason by key."""
    return {
        row["site"]: (row["status"], row["baseline"], row["stopReason"])
        for row in node.rows(job)
        if row["type"] == "site"
    }


def generations(node: Node, monitor: str) -> dict[str, int]:
    """The generation of each site's snapshot."""
    manifests = (node.state / monitor / "sites").glob("*/manifest.json")
    documents = [json.loads(path.read_text("utf-8")) for path in manifests]
    return {document["site"]: document["generation"] for document in documents}


def process(node: Node, job: str) -> str:
    """How Scrapyd saw a job's process end."""
    log = node.daemon_log()
    (ended,) = re.findall(rf"(Process (?:finished|died).*?) project=.* job='{job}'", log)
    return str(ended)


# --- deploying -----------------------------------------------------------------------------------


def test_the_egg_holds_every_file_of_the_package_and_nothing_else(
    node: Node, project: Path
) -> None:
    (egg,) = (node.folder / "eggs" / PROJECT).glob("*.egg")
    with ZipFile(egg) as archive:
        packed = {name for name in archive.namelist() if not name.startswith("EGG-INFO/")}
    files = [file for file in (project / PROJECT).rglob("*") if file.is_file()]
    package = {str(file.relative_to(project)) for file in files}
    assert {name for name in packed if not name.endswith(".pyc")} == package
    assert "sitemon_spider/commands/data.txt" in packed


def test_deploying_leaves_the_sources_alone(node: Node, project: Path) -> None:
    for name in ("setup.py", "scrapy.cfg", "pyproject.toml"):
        assert (project / name).read_text() == (ROOT / name).read_text()
    assert node.call("listspiders.json?project=sitemon_spider")["spiders"] == ["sitemon"]


# --- running -------------------------------------------------------------------------------------


def test_two_days_tell_the_changes_and_leave_everything_where_the_node_says(node: Node) -> None:
    with World(shop()) as world:
        site = world.sites[0]
        options = QUICK | {"sites": site.url, "monitor": "two-days"}
        first = node.schedule(settings=day(1), **options)
        node.wait(first)
        world.day(2)
        second = node.schedule(job="second.day", settings=day(2), **options)
        node.wait(second)
    assert [row["type"] for row in node.rows(first)] == ["site"]
    assert ends(node, second) == {site.url: ("ok", "compared", None)}
    assert told(node, second) == {
        ("added", site.address("/shelf-2/11")),
        ("removed", site.address("/shelf-2/1")),
        ("lastmod_changed", site.address("/shelf-2/2")),
    }
    moments = {row["detectedAt"] for row in node.rows(second) if row["type"] == "change"}
    assert moments == {"2026-10-02T06:00:00.000Z"}
    # Snapshots and records are in SITEMON_STATE of the node's settings, each run by its job's id.
    assert generations(node, "two-days") == {site.url: 2}
    runs = node.state / "two-days" / "runs"
    assert {run.name for run in runs.iterdir()} == {first, "second.day"}
    assert node.output(second, "two-days")["runId"] == "second.day"
    # The feed of items_dir replaces the default one [D8].
    assert not list(runs.glob("*/rows.jsonl"))
    # No queue is kept in jobs_dir: the snapshot is all that one run hands to the next.
    assert not list((node.folder / "jobs").rglob("*.*"))
    assert process(node, second) == "Process finished:"


def test_a_jobs_log_has_a_line_a_site_and_where_everything_is(node: Node) -> None:
    with World(shop()) as world:
        job = node.schedule(sites=world.sites[0].url, monitor="quiet", **QUICK)
        node.wait(job)
    lines = node.log(job).splitlines()
    assert all(re.match(STAMP, line) for line in lines)
    modules = [re.sub(STAMP, "", line).split()[0] for line in lines]
    assert modules == [
        "[scrapy.utils.log]",
        "[sitemon_spider.run]",
        "[scrapy.extensions.feedexport]",
        "[sitemon_spider.extensions.closing]",
    ]
    assert node.printed(job) == []


def parts() -> Site:
    """A site of several files that on day 2 are slow and list one page more each."""

    def files(names: str, delay: float = 0.0) -> dict[str, Any]:
        return {
            f"/part-{part}.xml": urlset([f"/{part}/{name}" for name in names]).but(delay=delay)
            for part in PARTS
        }

    first = files("ab")
    return Site(
        {"/robots.txt": robots(["/sitemap.xml"]), "/sitemap.xml": index(first), **first},
        later=[files("abc", delay=0.5), files("abc")],
    )


def test_a_cancelled_job_saves_what_it_told_and_the_next_one_tells_the_rest(node: Node) -> None:
    with World(shop(), parts()) as world:
        quick, slow = world.sites
        options = QUICK | {"sites": [quick.url, slow.url], "monitor": "cancelled"}
        node.wait(node.schedule(settings=day(1), **options))
        world.day(2)
        before = len(slow.requests)
        cut = node.schedule(settings=day(2), **options)
        node.until(lambda: len(slow.requests) >= before + 4, "the slow site to be asked")
        node.until(lambda: f"{quick.url!r}: ok" in node.log(cut), "the quick site to end")
        node.cancel(cut)
        node.wait(cut)
        asked = len(slow.requests) - before
        saved = generations(node, "cancelled")
        world.day(3)
        rest = node.schedule(settings=day(3), **options)
        node.wait(rest)
    assert asked < 2 + len(PARTS)
    assert ends(node, cut) == {
        quick.url: ("ok", "compared", None),
        slow.url: ("partial", None, "aborted"),
    }
    assert {url.removeprefix(quick.url) for _, url in told(node, cut)} == {
        "/shelf-2/1",
        "/shelf-2/2",
        "/shelf-2/11",
    }
    assert saved == {quick.url: 2, slow.url: 1}
    assert node.output(cut, "cancelled")["stopReason"] == "aborted"
    assert process(node, cut) == "Process finished:"
    assert told(node, rest) == {("added", slow.address(f"/{part}/c")) for part in PARTS}
    assert set(ends(node, rest).values()) == {("ok", "compared", None)}


# --- scheduling ----------------------------------------------------------------------------------


def test_every_option_is_an_argument_of_schedule_json(node: Node) -> None:
    with World(shop()) as world:
        defaults = Options(sites=("https://a.example",)).model_dump(mode="json", by_alias=True)
        values = defaults | QUICK
        values |= {
            "sites": [world.sites[0].url],
            "monitor": "every-option",
            "includeRegex": r"/shelf-[12]/\d+$",
            "excludeRegex": "[?&]a=1&b=2%20+,",
            "userAgentContact": "me@example.com",
        }
        arguments = {name: value for name, value in values.items() if value not in (None, [])}
        job = node.schedule(**arguments)
        node.wait(job)
    assert node.output(job, "every-option")["options"] == values
    assert not PARAMETERS & values.keys()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"sites": "a.example", "settings": {"SITEMON_NOW": "soon"}},
            "SITEMON_NOW: should be an ISO moment, got 'soon'",
        ),
        ({"sites": "a.example", "maxUrls": "many"}, "maxUrls: should be .*, got 'many'"),
        ({"sites": "a.example", "maxUrl": "1"}, "maxUrl: .*; did you mean maxUrls[?]"),
        ({}, "sites: at least one .* is needed.*"),
    ],
)
def test_wrong_input_is_one_sentence_in_the_jobs_log_and_a_failed_job(
    node: Node, arguments: dict[str, Any], sentence: str
) -> None:
    job = node.schedule(**arguments)
    node.wait(job)
    started, error = node.log(job).splitlines()
    assert "started" in started
    assert re.fullmatch(rf"{STAMP}\[sitemon_spider\.commands\.crawl\] ERROR: {sentence}", error)
    assert process(node, job) == "Process died: exitstatus=2"
    assert "Traceback" not in node.daemon_log()
    assert not (node.folder / "items" / PROJECT / "sitemon" / f"{job}.jl").exists()


# --- the page ------------------------------------------------------------------------------------


def calls() -> list[list[str]]:
    """The words of each call of schedule.json on the page."""
    joined = PAGE.replace("\\\n", " ")
    lines = re.findall(r"^.*?(curl .*schedule\.json.*?)(?: \||$)", joined, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("words", calls(), ids=range(len(calls())))
def test_a_call_on_the_page_names_options_and_settings_that_exist(words: list[str]) -> None:
    pairs = [b.split("=", 1) for a, b in pairwise(words) if a in {"-d", "--data-urlencode"}]
    names = {name for name, _ in pairs}
    assert {"project", "spider"} <= names
    assert {value.split("=")[0] for name, value in pairs if name == "setting"} <= vars(
        settings
    ).keys() | {"LOG_LEVEL"}
    arguments = {name: value for name, value in pairs if name not in PARAMETERS}
    if arguments.pop(Options.INPUT_FILE, None):
        arguments["sites"] = "https://in.the.file.example"
    Options.from_arguments(arguments)


def test_the_page_shows_calls() -> None:
    assert len(calls()) >= 4
