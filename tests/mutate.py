"""The law of the fast reader, tried on damaged files: what it accepts, the strict one reads alike.

`python -m tests.mutate N SEED` tries N mutations of plain sitemaps and says how many were accepted.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass

from sitemon_spider.core.reasons import Kind
from sitemon_spider.core.sitemap.charset import to_utf8
from sitemon_spider.core.sitemap.document import read_document
from sitemon_spider.core.sitemap.parsed import NotASitemap, Rows
from sitemon_spider.core.sitemap.scanner import scan
from sitemon_spider.core.sitemap.sniff import find_root

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
DECLARED = (
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:mobile="urn:mobile"'
)

LOCS = [
    "https://e.com/{n}",
    "https://e.com/?a={n}&amp;b=2",
    "<![CDATA[https://e.com/{n}?a&b]]>",
    "\n      https://e.com/{n}\n    ",
    "https://e.com/{n}/&#233;&lt;&quot;&#x20;",
    "https://e.com/\u00fc/{n}/\u00e9",
    "\u00a0https://e.com/{n}\u200b",
    "\r\n  https://e.com/{n}\r\n",
    "https://e.com/<![CDATA[{n}&]]>/&amp;<![CDATA[]]>",
    " " * 70 + "https://e.com/{n}",
    "/{n}",
]
LASTMODS = [
    "2026-01-{n:02}",
    "",
    " 2026 ",
    "<![CDATA[2026]]>",
    "2026&amp;1",
    "2026-01-01T00:00:00Z",
]
EXTENSIONS = [
    "<changefreq>daily</changefreq>",
    "<priority>0.5</priority>",
    "<image:image><image:loc>https://i.com/{n}</image:loc></image:image>",
    "<image:image>\n<image:loc><![CDATA[a&b]]></image:loc><image:title>t</image:title></image:image>",
    '<xhtml:link rel="alternate" hreflang="de" href="https://e.com/de/{n}"/>',
    '<xhtml:link hreflang="de" href="https://e.com/?a&amp;b={n}" rel="alternate" />',
    '<xhtml:link rel="alternate" hreflang="de" href="https://e.com/{n}"></xhtml:link>',
    '<xhtml:link rel="canonical" hreflang="de" href="https://e.com/{n}"/>',
    "".join(f'<xhtml:link rel="alternate" hreflang="{x}" href="{x}"/>' for x in "zabz"),
    "<news:news><news:publication><news:name>n</news:name></news:publication></news:news>",
    "<news:news><news:title>t</news:title><news:language>en</news:language></news:news>",
    "".join(f"<image:image><image:loc>{x}</image:loc></image:image>" for x in "zabz"),
    "<video:video><video:title>a &lt; b</video:title></video:video>",
    "<mobile:mobile/>",
    '<PageMap><DataObject type="x" id="y"><Attribute name="a">b</Attribute></DataObject></PageMap>',
]
PUT = [
    *("<url>", "</url>", "<loc>", "</loc>", "<lastmod>", "</lastmod>", "</urlset>", "<a>", "</a>"),
    *("<loc/>", "<url/>", "<url a=''>", "<image:loc>", "</image:image>", "<x:y/>", "<news:news/>"),
    *("<!--", "-->", "<!-- a -->", "<![CDATA[", "]]>", "<?a?>", "<!DOCTYPE a>", "<urlset>"),
    *("&", "&amp;", "&amp;lt;", "&lt;", "&nbsp;", "&#0;", "&#1;", "&#65;", "&#xD800;", "&#xfffe;"),
    *("<", ">", '"', "'", "/", "=", " ", "\n", "\r", "\t", "\0", "\x01", "\x0b", "\x1f", "\x7f"),
    *("\ufeff", "\ufffe", "\uffff", "\u00a0", "\u0085", "\u200b", "\u3000", "é", "\U0001f600"),
    *(' a=""', ' rel="x"', " a='b'", " a=b", ' xmlns="urn:x"', ' xmlns:image="urn:x"'),
    *("<sitemap>", ' xml:lang="de"'),
    *("<loc>https://e.com/x</loc>", "<lastmod>2020</lastmod>", "<url><loc>x</loc></url>"),
    *("</url >", "<url >", "<priority>1</priority>", "<changefreq/>", "<news:title>t</news:title>"),
    *("<image:image/>", "<image:image><image:loc>x</image:loc></image:image>", "<video:video/>"),
    *('rel="ALTERNATE"', 'hreflang=""', ' href="x"', "<news:news></news:news>", "<xhtml:link/>"),
]  # fmt: skip


def plain(rng: random.Random, size: int) -> str:
    """A sitemap that the fast reader accepts."""
    end = rng.choice(["", "\n", "\n  ", "\r\n\t"])
    kinds = rng.sample(LOCS, rng.randint(1, len(LOCS)))
    extras = rng.sample(EXTENSIONS, rng.randint(0, 4))
    entries: list[str] = []
    while sum(map(len, entries)) < size:
        n = len(entries) % 28 + 1
        fields = [f"<loc>{rng.choice(kinds)}</loc>"]
        if rng.random() < 0.8:
            fields.append(f"<lastmod>{rng.choice(LASTMODS)}</lastmod>")
        fields += [extra for extra in extras if rng.random() < 0.5]
        rng.shuffle(fields)
        entry = f"{end}<url>{end}{end.join(fields)}{end}</url>"
        entries.append(entry.replace("{n}", str(n)).replace("{n:02}", f"{n:02}"))
    namespace = rng.choice([SITEMAP, SITEMAP, SITEMAP + "/", "", "urn:x"])
    own = f' xmlns="{namespace}"' if namespace else ""
    tail = rng.choice(["", "\n", "\n<!-- 0.1 s -->\n"])
    return f"<urlset{own}{DECLARED}>{''.join(entries)}{end}</urlset>{tail}"


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The data with one to three stretches dropped, doubled, moved, overwritten or put in."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(data))
        end = min(len(data), start + rng.choice([0, 1, 1, 2, 4, 8, 30, 200]))
        other = rng.randrange(len(data))
        put = rng.choice(
            [
                b"",
                rng.choice(PUT).encode(),
                rng.choice(PUT).encode(),
                rng.choice(PUT).encode(),
                bytes([rng.randrange(256)]),
                data[other : other + rng.choice([1, 5, 20, 100])],
            ]
        )
        data = data[:start] + put + data[end:]
    return data


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutation: whether the fast reader accepted it, and whether the two readers differ."""

    accepted: bool
    differs: bool


def tried(data: bytes, *, metadata: bool) -> Trial:
    """Read a file by both readers."""
    try:
        document = to_utf8(data, None, Counter())
        root = find_root(document, Counter())
    except NotASitemap:
        root = None
    if root is None or root.kind is not Kind.URLSET:
        return Trial(accepted=False, differs=False)
    fast = Rows(Counter(), metadata=metadata)
    if not scan(document, root.position, fast):
        return Trial(accepted=False, differs=len(fast) > 0)
    strict, is_whole = read_document(document, root, Counter(), metadata=metadata)
    left, right = fast.parsed(Kind.URLSET, None), strict.parsed(Kind.URLSET, None)
    same = (
        is_whole
        and not strict.lost
        and fast.news == strict.news
        and left.locs.equals(right.locs)
        and left.lastmods.equals(right.lastmods)
        and left.children == right.children
        and left.notes == right.notes
        and (not metadata or left.metadata.equals(right.metadata))
    )
    return Trial(accepted=True, differs=not same)


def run(count: int, seed: int) -> tuple[int, list[bytes]]:
    """Try mutations: how many were accepted, and the files on which the readers differ."""
    rng = random.Random(seed)
    accepted, differing = 0, []
    for _ in range(count):
        data = plain(rng, rng.choice([200, 1000, 9000])).encode()
        data = mutated(rng, data) if rng.random() < 0.9 else data
        trial = tried(data, metadata=rng.random() < 0.5)
        accepted += trial.accepted
        if trial.differs:
            differing.append(data)
    return accepted, differing


def main(count: str, seed: str) -> int:
    accepted, differing = run(int(count), int(seed))
    print(f"{count} files from seed {seed}: {accepted} accepted, {len(differing)} read differently")
    for data in differing[:3]:
        print(data)
    return len(differing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
