"""The words of the tracking tests: sites of a few small files, and rows by their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.world import NOT_FOUND, Page, index, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.crawl import Crawl
    from tests.world import Answer, Entry, Site

DOWN = Page(b"busy", status=503)
"""A fault that may pass."""

MISSING = NOT_FOUND

BUDGET = {"SITEMON_SINK": "tests.crawl.BudgetSink"}


def budget(rows: int) -> dict[str, Any]:
    """Settings of a run whose sink takes only the first `rows` rows of a site."""
    return {**BUDGET, "SITEMON_SINK_BUDGET": rows}


def many(prefix: str, numbers: Iterable[int], lastmod: str | None = None) -> list[Entry]:
    """URLs that differ by a number, all with one lastmod."""
    return [(f"{prefix}{number}", lastmod) for number in numbers]


def tagged(page: Page) -> Page:
    """A page that answers conditional requests by a strong tag of its bytes, as good servers do."""
    return page.but(etag=True) if page.status == 200 else page


def serve(
    site: Site, listed: Iterable[str] | None = None, **files: Page | Iterable[Entry]
) -> dict[str, Answer]:
    """Serve robots.txt, an index, and `name=entries` (or a page) as the file `/name.xml`.

    The index lists all files, or those `listed`. Every page carries an ETag.
    """
    pages = {
        f"/{name}.xml": tagged(file if isinstance(file, Page) else urlset(file))
        for name, file in files.items()
    }
    children = pages if listed is None else [f"/{name}.xml" for name in listed]
    tree: dict[str, Answer] = {
        "/robots.txt": robots(["/sitemap.xml"]),
        "/sitemap.xml": tagged(index(children)),
        **pages,
    }
    site.serve(tree)
    return tree


def told(run: Crawl) -> list[str]:
    """The change rows as `changeType path`, sorted; a row told twice stands here twice."""
    return sorted(f"{row['changeType']} {path(row['url'])}" for row in run.changes)


def path(url: str) -> str:
    """An address without its origin."""
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def row(run: Crawl, change: str, where: str) -> dict[str, Any]:
    """The one row of a change of a path."""
    (found,) = [r for r in run.changes if (r["changeType"], path(r["url"])) == (change, where)]
    return found
