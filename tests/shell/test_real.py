"""Sitemaps as real sites published them, version by version, against changes told independently.

`data/real/README.md` says where they come from and how the truth was made.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from tests.crawl import Monitor
from tests.world import XML, Page, Site, World, robots

DATA = Path(__file__).parents[1] / "data" / "real"
CHANGES = ("added", "removed", "lastmod_changed")
Told = dict[str, set[str]]


@dataclass(frozen=True)
class Version:
    """One published sitemap.xml, how many URLs it lists, and what it changed (a first: nothing)."""

    page: Page
    urls: int
    changes: dict[str, list[str]]

    def resolved(self, address: str) -> Told:
        """The changes by kind; the truth holds locs as listed, and trueblocks lists paths."""
        return {kind: {urljoin(address, loc) for loc in self.changes[kind]} for kind in CHANGES}


@dataclass(frozen=True)
class Step:
    """A crawled version: its truth, the change rows by kind, their number, and the site row."""

    truth: Told
    told: Told
    rows: int
    site: dict[str, Any]


def history(folder: str) -> list[Version]:
    """The versions of one site in their order."""
    versions = []
    for line in gzip.decompress((DATA / folder / "truth.jsonl.gz").read_bytes()).splitlines():
        truth = json.loads(line)
        body = gzip.decompress((DATA / folder / truth["file"]).read_bytes())
        changes = {kind: truth.get(kind, []) for kind in CHANGES}
        versions.append(Version(Page(body, content_type=XML), truth["urls"], changes))
    return versions


HISTORIES = {name: history(name) for name in ("boxofficeindia", "trueblocks", "xposedornot")}


WINDOW = 6
"""Versions in one crawled piece of a history; the next piece begins with the last of this one."""

STEPS = [(name, n) for name, versions in HISTORIES.items() for n in range(1, len(versions))]


def windows() -> dict[tuple[str, int], range]:
    """The pieces of all histories by site and number of their first version.

    Each is served as a site of its own, so that few runs see every step.
    """
    return {
        (name, start): range(start, min(start + WINDOW, len(versions)))
        for name, versions in HISTORIES.items()
        for start in range(0, len(versions) - 1, WINDOW - 1)
    }


def replay(folder: Path, **options: Any) -> dict[tuple[str, int], Step]:
    """Serve all histories over HTTP and crawl them version by version: the steps by site."""
    sites = []
    for (name, start), numbers in windows().items():
        first, *later = ({"/sitemap.xml": HISTORIES[name][n].page} for n in numbers)
        named = first | {"/robots.txt": robots(["/sitemap.xml"])}
        sites.append(Site(named, later=later, name=f"{name} {start}"))
    steps: dict[tuple[str, int], Step] = {}
    with World(*sites) as world:
        job = Monitor(folder, sites=[site.url for site in sites], **options)
        for day in range(WINDOW):
            world.day(day + 1)
            run = job.run()
            assert run.exit_code == 0, run.log
            for (name, start), numbers in windows().items():
                if day < len(numbers):
                    url = world[f"{name} {start}"].url
                    version = HISTORIES[name][start + day]
                    rows = [row for row in run.changes if row["site"] == url]
                    (site,) = [row for row in run.sites if row["site"] == url]
                    assert (site["status"], site["urlsFound"]) == ("ok", version.urls), run.log
                    assert day or (site["baseline"], rows) == ("created", [])
                    if day:
                        told = {
                            k: {r["url"] for r in rows if r["changeType"] == k} for k in CHANGES
                        }
                        truth = version.resolved(f"{url}/sitemap.xml")
                        steps[name, start + day] = Step(truth, told, len(rows), site)
    return steps


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Step]:
    """Every step with the guards off, so that whatever changed is told."""
    return replay(
        tmp_path_factory.mktemp("unguarded"),
        holdBackShare=0,
        ignoreSiteWideStamps=False,
        changeTypes=list(CHANGES),
    )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Step]:
    """Every step as a user sees it who sets nothing."""
    return replay(tmp_path_factory.mktemp("guarded"))


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_the_rows_are_the_published_changes(
    name: str, number: int, unguarded: dict[tuple[str, int], Step]
) -> None:
    """Each change once and nothing else: there is no difference to explain.

    The truth compares lastmods as texts and sitemon as moments [C4]; in these histories no
    notation and no precision changes, so the two agree.
    """
    step = unguarded[name, number]
    assert step.told == step.truth
    assert step.rows == sum(len(urls) for urls in step.truth.values())


STAMPED = {
    ("boxofficeindia", 1): "all 3,030 URLs carry the moment at which the site was generated",
    ("boxofficeindia", 2): "all 3,064 URLs carry the moment at which the site was generated",
    ("boxofficeindia", 3): "all 3,088 URLs carry the moment at which the site was generated",
    ("xposedornot", 11): "all 33 URLs changed at once, to a few days",
    ("xposedornot", 16): "39 of 42 URLs changed at once, which is more than 90 %",
}
"""Where the defaults hold lastmod changes back as site-wide stamps, and why [C8]."""


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_the_defaults_hold_back_site_wide_stamps_and_nothing_else(
    name: str, number: int, guarded: dict[tuple[str, int], Step]
) -> None:
    """[C8]: suppressed values are learnt, so the step after a stamp tells its own changes alone."""
    step = guarded[name, number]
    stamped = (name, number) in STAMPED
    assert step.told == step.truth | ({"lastmod_changed": set()} if stamped else {})
    assert step.site["lastmodUniform"] is stamped
    assert step.site["removalsHeld"] == step.site["removalsWithheld"] == 0


@pytest.mark.parametrize(
    ("name", "number", "kind", "changed", "listed_before"),
    [
        ("trueblocks", 9, "lastmod_changed", 59, 91),  # two thirds at once, to one moment
        ("xposedornot", 17, "lastmod_changed", 24, 42),
        ("xposedornot", 5, "removed", 24, 37),  # two thirds of the addresses lost their .html
    ],
)
def test_a_large_change_below_the_thresholds_is_told(
    name: str,
    number: int,
    kind: str,
    changed: int,
    listed_before: int,
    guarded: dict[tuple[str, int], Step],
) -> None:
    """[C8] begins at 90 %; [C7] at half of the URLs, but at no fewer than 50."""
    assert HISTORIES[name][number - 1].urls == listed_before
    assert len(guarded[name, number].told[kind]) == changed
