"""The corpus: sites of gzipped sitemap files, day 1 and day 2, the same for everybody.

A file has 50,000 URLs of about 88 bytes; lastmods in five notations; one entry in ten with images,
one in fifty with hreflang links; a few CDATA sections, entities and padded locs. On day 2 of a site
0.4 % of the lastmods of every file changed, 0.1 % of its URLs are new and 0.1 % are gone.
"""

from __future__ import annotations

import gzip
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

URLS = 50_000
EPOCH = datetime(2024, 11, 1, tzinfo=UTC)
SECTIONS = [
    "electronics",
    "home-garden",
    "fashion",
    "books",
    "toys",
    "sports",
    "automotive",
    "beauty",
    "health",
    "music",
]
THINGS = [
    "headphones",
    "backpack",
    "keyboard",
    "bottle",
    "blanket",
    "speaker",
    "charger",
    "notebook",
    "monitor",
    "kettle",
]
KINDS = [
    "wireless",
    "compact",
    "premium",
    "ergonomic",
    "vintage",
    "modern",
    "classic",
    "portable",
    "organic",
    "foldable",
]
LANGUAGES = ("en", "de", "fr", "es", "it")
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)


def records(number: int, urls: int = URLS) -> list[tuple[str, str]]:
    """The (loc, lastmod) pairs of one file on day 1."""
    choose = random.Random(1000 + number)
    return [(_loc(choose, number * URLS + row), _lastmod(choose)) for row in range(urls)]


def next_day(day_one: list[tuple[str, str]], number: int) -> list[tuple[str, str]]:
    """The same file on day 2."""
    choose = random.Random(5000 + number)
    rows = []
    for loc, lastmod in day_one:
        fate = choose.random()
        if fate < 0.001:
            continue
        rows.append((loc, "2026-11-29T08:00:00+00:00" if fate < 0.005 else lastmod))
        if fate > 0.999:
            rows.append((loc.replace("/en/", "/en/new-"), "2026-11-29T09:00:00Z"))
    return rows


def document(rows: list[tuple[str, str]], number: int) -> bytes:
    """A urlset of some rows; what surrounds loc and lastmod depends on the loc alone."""
    return (HEAD + "".join(_entry(loc, lastmod) for loc, lastmod in rows) + "</urlset>\n").encode()


def _loc(choose: random.Random, item: int) -> str:
    path = "/".join((choose.choice(SECTIONS), choose.choice(THINGS), choose.choice(KINDS)))
    loc = f"https://www.example-shop.com/en/{path}-{choose.choice(THINGS)}-{item:08}"
    fate = choose.random()
    if fate < 0.05:
        return f"{loc}?color={item % 17}&size={item % 5}"
    return f"{loc}.html" if fate < 0.8 else f"{loc}/"


def _lastmod(choose: random.Random) -> str:
    moment = EPOCH + timedelta(seconds=choose.randrange(63_072_000))
    fate = choose.random()
    if fate < 0.70:
        return f"{moment:%Y-%m-%dT%H:%M:%S}+00:00"
    if fate < 0.85:
        return f"{moment:%Y-%m-%dT%H:%M:%S}Z"
    if fate < 0.92:
        return f"{moment:%Y-%m-%dT%H:%M:%S}+02:00"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.123Z" if fate < 0.96 else f"{moment:%Y-%m-%d}"


def _entry(loc: str, lastmod: str) -> str:
    dice = random.Random(loc).random()
    text = loc.replace("&", "&amp;")
    if dice < 0.01:
        text = f"<![CDATA[{loc}]]>"
    elif dice < 0.02:
        text = f"\n      {text}\n    "
    entry = f"  <url>\n    <loc>{text}</loc>\n    <lastmod>{lastmod}</lastmod>\n"
    if dice > 0.7:
        entry += "    <changefreq>weekly</changefreq>\n    <priority>0.5</priority>\n"
    if dice > 0.98:
        entry += "".join(
            f'    <xhtml:link rel="alternate" hreflang="{language}" '
            f'href="{loc.replace("&", "&amp;").replace("/en/", f"/{language}/")}"/>\n'
            for language in LANGUAGES
        )
    if 0.5 < dice < 0.6:
        image = f"https://cdn.example-shop.com/{loc[-20:].strip('/').replace('&', '-')}.jpg"
        entry += f"    <image:image><image:loc>{image}</image:loc></image:image>\n"
    return entry + "  </url>\n"


def site(folder: Path, files: int, urls: int = URLS) -> None:
    """Write `day1/` and `day2/`, each with that many files, unless they are there."""
    for number in range(files):
        name = f"s{number:04}.xml.gz"
        if (folder / "day2" / name).exists():
            continue
        first = records(number, urls)
        for day, rows in {"day1": first, "day2": next_day(first, number)}.items():
            (folder / day).mkdir(parents=True, exist_ok=True)
            packed = gzip.compress(document(rows, number), 6, mtime=0)
            (folder / day / name).write_bytes(packed)


if __name__ == "__main__":
    site(Path(sys.argv[1]), int(sys.argv[2]))
