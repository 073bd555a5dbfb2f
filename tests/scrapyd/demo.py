"""Start a Scrapyd, deploy the project to it, and crawl a small shop there on two days.

Run it as `make scrapyd`. Scrapyd and the shop are on loopback and end with the program, which exits
with 0 only when the jobs told what the shop changed. It runs from `.venv-scrapyd`, as Scrapyd does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.demo import ENDS, EXPECTED, changes, pottery
from tests.scrapyd.node import PROJECT, Node, clone
from tests.world import World

if TYPE_CHECKING:
    from tests.world import Site


def crawl(node: Node, site: Site) -> list[dict[str, Any]]:
    """The rows of one job, whose log is shown."""
    print(f"  curl {node.url}/schedule.json -d project={PROJECT} -d spider=sitemon \\")
    print(f"    -d sites={site.url}\n")
    job = node.schedule(sites=site.url)
    node.wait(job)
    print(node.log(job))
    return node.rows(job)


def main() -> int:
    """Run both days; 0 when they told what they should."""
    with tempfile.TemporaryDirectory() as name, World(pottery()) as world:
        folder, site = Path(name), world.sites[0]
        with Node(folder / "node") as node:
            print(f"Scrapyd runs on {node.url}, a small shop on {site.url}.\n")
            print("  scrapyd-deploy\n")
            print(node.deploy(clone(folder / "clone")))
            print("Day 1: what the shop lists is saved, and nothing is reported.\n")
            first = crawl(node, site)
            world.day(2)
            print("Day 2: two pages are new, one is gone and one was revised.\n")
            second = crawl(node, site)
    told = changes(site, second)
    print("The change rows of day 2 in items_dir:\n")
    for kind, path, before, after in told:
        print(f"  {kind:<16} {path:<24} {before or '-':<10} -> {after or '-'}")
    print("\nScrapyd was stopped.")
    ends = [(row["status"], row["baseline"]) for row in first + second if row["type"] == "site"]
    if (ends, changes(site, first), told) == (ENDS, [], EXPECTED):
        return 0
    print("These are not the changes that the shop made.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
