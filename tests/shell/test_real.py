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


def replay(
    folder: Path, windows: dict[str, tuple[str, range]], **options: Any
) -> dict[str, dict[int, Step]]:
    """Serve a window of each history over HTTP, crawl all sites once a version.

    Leaves the steps by window and version number; that of a window's first version is its baseline.
    """
    sites = []
    for name, (origin, numbers) in windows.items():
        first, *later = ({"/sitemap.xml": HISTORIES[origin][n].page} for n in numbers)
        sites.append(Site(first | {"/robots.txt": robots(["/sitemap.xml"])}, later=later, name=name))
    steps: dict[str, dict[int, Step]] = {name: {} for name in windows}
    with World(*sites) as world:
        job = Monitor(folder, sites=[site.url for site in world.sites], **options)
        for day in range(max(len(numbers) for _, numbers in windows.values())):
            world.day(day + 1)
            run = job.run()
            assert run.exit_code == 0, run.log
            for name, (origin, numbers) in windows.items():
                if day < len(numbers):
                    url = world[name].url
                    rows = [row for row in run.changes if row["site"] == url]
                    steps[name][numbers[day]] = Step(
                        HISTORIES[origin][numbers[day]].resolved(f"{url}/sitemap.xml"),
                        {k: {r["url"] for r in rows if r["changeType"] == k} for k in CHANGES},
                        len(rows),
                        next(row for row in run.sites if row["site"] == url),
                    )
    return steps
