"""Serve a small shop on loopback, crawl it on two days, and show what sitemon says has changed.

Run it from a checkout as `python -m tests.demo`; it exits with 0 only when the changes told are
those that the shop made.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.world import Site, World, index, robots, urlset

ROOT = Path(__file__).resolve().parents[1]
MUGS = [
    ("/mugs/", "2026-08-30"),
    ("/mugs/blue-harbour", "2026-09-02"),
    ("/mugs/green-meadow", "2026-09-05"),
    ("/mugs/grey-pebble", "2026-09-07"),
    ("/mugs/white-birch", "2026-09-16"),
]
GUIDES = [
    ("/guides/", "2026-08-28"),
    ("/guides/choose-a-teapot", "2026-09-01"),
    ("/guides/care-for-stoneware", "2026-09-13"),
    ("/guides/gifts-under-thirty", "2026-09-18"),
    ("/guides/visit-the-workshop", "2026-09-22"),
]
SOLD_OUT = ("/mugs/red-lantern", "2026-09-11")
TEA, TEA_REVISED = (
    ("/guides/brew-green-tea", "2026-09-09"),
    ("/guides/brew-green-tea", "2026-10-01"),
)
NEW_MUG, NEW_GUIDE = ("/mugs/winter-forest", "2026-10-02"), ("/guides/set-a-table", "2026-10-03")

EXPECTED: list[tuple[str, str, str | None, str | None]] = [
    ("added", "/guides/set-a-table", None, "2026-10-03"),
    ("added", "/mugs/winter-forest", None, "2026-10-02"),
    ("lastmod_changed", "/guides/brew-green-tea", "2026-09-09", "2026-10-01"),
    ("removed", "/mugs/red-lantern", "2026-09-11", None),
]
"""What day 2 is to tell: change, path, lastmod before and after."""


def pottery() -> Site:
    """The shop: on day 2 two pages are new, one is gone and one was revised."""
    first = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": index(["/sitemap-mugs.xml", "/sitemap-guides.xml"]),
        "/sitemap-mugs.xml": urlset([*MUGS, SOLD_OUT]),
        "/sitemap-guides.xml": urlset([*GUIDES, TEA]),
    }
    second = {
        "/sitemap-mugs.xml": urlset([*MUGS, NEW_MUG]),
        "/sitemap-guides.xml": urlset([*GUIDES, TEA_REVISED, NEW_GUIDE]),
    }
    return Site(first, later=[second])


def crawl(site: Site, folder: str) -> list[dict[str, Any]]:
    """The rows of one run of the real command; its log is shown when it fails."""
    feed = Path(folder) / "changes.jsonl"
    command = [sys.executable, "-m", "scrapy", "crawl", "sitemon", "-a", f"sites={site.url}"]
    command += ["-a", "delayPerHost=0.25", "-s", "SITEMON_ALLOW_PRIVATE=True"]
    command += ["-s", f"SITEMON_STATE={folder}/state", "-O", f"{feed}:jsonlines"]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    if run.returncode or not feed.exists():
        sys.exit(f"The crawl ended with exit code {run.returncode}.\n{run.stdout}{run.stderr}")
    return [json.loads(line) for line in feed.read_text("utf-8").splitlines()]


def result(day: int, rows: list[dict[str, Any]]) -> str | None:
    """Print the site's result; what it was compared with, None when the run was not well."""
    for row in rows:
        if row["type"] == "site":
            print(f"Day {day}: {row['site']} is {row['status']}, baseline {row['baseline']}:")
            print(f"       {row['urlsFound']} URLs listed, {row['changesPushed']} changes told.")
            return str(row["baseline"]) if row["status"] == "ok" else None
    print(f"Day {day}: the run told nothing about the site.")
    return None


def changes(site: Site, rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The change rows as in EXPECTED, sorted by kind and path."""
    told = [
        (r["changeType"], r["url"].removeprefix(site.url), r["lastmodBefore"], r["lastmodAfter"])
        for r in rows
        if r["type"] == "change"
    ]
    return sorted(told, key=lambda change: change[:2])


def main() -> int:
    """Run both days; 0 when they told what they should."""
    with World(pottery()) as world, tempfile.TemporaryDirectory() as folder:
        site = world.sites[0]
        days = [crawl(site, folder)]
        world.day(2)
        days.append(crawl(site, folder))
    results = [result(day, rows) for day, rows in enumerate(days, 1)]
    first, second = (changes(site, rows) for rows in days)
    for kind, path, before, after in second:
        print(f"  {kind:<16} {path:<24} {before or '-':<10} -> {after or '-'}")
    if (results, first, second) == (["created", "compared"], [], EXPECTED):
        return 0
    print("These are not the changes that the shop made.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
