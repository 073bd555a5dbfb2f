"""Serve a small shop on loopback, crawl it on two days, and show what sitemon says has changed.

Run it from a checkout as `python -m tests.demo`; it exits with 0 only when the changes told are
those that the shop made.
"""

from __future__ import annotations

import json
import os
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
ENDS = [("ok", "created"), ("ok", "compared")]


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


def command(site: Site) -> list[str]:
    """What a day runs; private addresses are allowed because the shop is on this machine."""
    options = ["-a", f"sites={site.url}", "-s", "SITEMON_ALLOW_PRIVATE=True"]
    return ["scrapy", "crawl", "sitemon", *options, "-O", "changes.jsonl"]


def crawl(site: Site, folder: str) -> list[dict[str, Any]]:
    """The rows of one run of the command, whose log is shown."""
    settings = {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "sitemon_spider.settings"}
    run = subprocess.run(
        [sys.executable, "-m", *command(site)],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    feed = Path(folder) / "changes.jsonl"
    if run.returncode or not feed.exists():
        sys.exit(f"The crawl ended with exit code {run.returncode}.\n{run.stdout}{run.stderr}")
    print(run.stderr)
    return [json.loads(line) for line in feed.read_text("utf-8").splitlines()]


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
        print(f"A small shop is served on {site.url}. Each day this runs:\n")
        print(f"  {' '.join(command(site))}\n")
        print("Day 1: what the shop lists is saved, and nothing is reported.\n")
        first = crawl(site, folder)
        world.day(2)
        print("Day 2: two pages are new, one is gone and one was revised.\n")
        second = crawl(site, folder)
    told = changes(site, second)
    print("The change rows of day 2 in changes.jsonl:\n")
    for kind, path, before, after in told:
        print(f"  {kind:<16} {path:<24} {before or '-':<10} -> {after or '-'}")
    ends = [(row["status"], row["baseline"]) for row in first + second if row["type"] == "site"]
    if (ends, changes(site, first), told) == (ENDS, [], EXPECTED):
        return 0
    print("These are not the changes that the shop made.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
