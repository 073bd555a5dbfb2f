"""`python -m benchmarks.run [FILES …]`: what sitemon costs, stage by stage and as a whole run.

CPU seconds are user + system time of the crawl's process, peak is its greatest resident memory.
Two zero lines say what is there before any work: a crawl of a site with one URL by a plain Scrapy
spider, and by sitemon. Times depend on the machine; only ratios of one session can be compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks import corpus

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / ".bench"
ROUNDS = 3

COLLECT = """
import sys
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider
rows = []
class Collect(SitemapSpider):
    name = "collect"
    sitemap_urls = [f"http://127.0.0.1:{sys.argv[1]}/index.xml"]
    def sitemap_filter(self, entries):
        for entry in entries:
            if entry["loc"].endswith(".xml.gz"):
                yield entry
            else:
                rows.append((entry["loc"], entry.get("lastmod")))
process = CrawlerProcess({
    "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
})
process.crawl(Collect)
process.start()
assert len(rows) == int(sys.argv[2]), len(rows)
"""
"""A Scrapy spider that only collects (loc, lastmod) pairs: no comparison, no store, no robots.txt,
and nothing of politeness either."""


def measured(command: list[str]) -> dict[str, float]:
    """Run a command: its CPU seconds, wall seconds and peak megabytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:6]} ended with {process.returncode}")
    return {
        "cpu": round(usage.ru_utime + usage.ru_stime, 2),
        "wall": round(time.perf_counter() - start, 2),
        "peak": round(usage.ru_maxrss / 1024),
    }


def crawl(port: str, state: Path) -> list[str]:
    """The command of one run of sitemon."""
    return [
        sys.executable, "-m", "scrapy", "crawl", "sitemon",
        "-a", f"sites=http://127.0.0.1:{port}", "-a", "maxUrlsPerSite=5000000",
        "-a", "maxSitemapsPerSite=50000", "-a", "ownSite=true", "-a", "delayPerHost=0",
        "-a", "requestsPerSecond=50", "-s", "SITEMON_ALLOW_PRIVATE=True",
        "-s", f"SITEMON_STATE={state}", "-L", "ERROR",
    ]  # fmt: skip


def collect(port: str, urls: int, python: str = sys.executable) -> list[str]:
    """The command of a Scrapy spider that collects as many URLs."""
    return [python, "-W", "ignore", "-c", COLLECT, port, str(urls)]


class Server:
    """A corpus folder served in a process of its own."""

    def __init__(self, folder: Path, files: int) -> None:
        command = [sys.executable, "-m", "benchmarks.server", str(folder), str(files)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self.port = self._said()

    def switch(self, day: str) -> None:
        """Serve `day1`, `day2`, or `day1 bare`, without validators, from now on."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{day}\n")
        self.process.stdin.flush()
        self._said()

    def _said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *args: object) -> None:
        self.process.communicate("")


DAYS = {
    "first run": "day1",
    "nothing changed, 304": "day1",
    "nothing changed, no validators": "day1 bare",
    "every file changed": "day2",
}
"""The runs of one site, one after the other: what the server answers to each."""


def whole_runs(folder: Path, files: int, urls: int = corpus.URLS) -> dict[str, dict[str, float]]:
    """What each run of `DAYS` costs, and what the snapshot then takes."""
    corpus.site(folder, files, urls)
    results = {}
    with tempfile.TemporaryDirectory() as home, Server(folder, files) as server:
        state = Path(home)
        for name, day in DAYS.items():
            server.switch(day)
            results[name] = measured(crawl(server.port, state))
            results[name]["stored, bytes a URL"] = round(_stored(state) / (files * urls), 1)
    return results


def _stored(state: Path) -> int:
    """Bytes of all generations kept."""
    sites = state / "default" / "sites"
    return sum(path.stat().st_size for path in sites.rglob("*") if path.is_file())


def stages() -> dict[str, float]:
    """CPU milliseconds a file of 50,000 URLs, each the median of seven."""
    import numpy as np

    from sitemon_spider.core.columns import Listing, UrlColumns, decode, encode, read_listing
    from sitemon_spider.core.lastmod import moments
    from sitemon_spider.core.sitemap import parse_sitemap
    from sitemon_spider.core.unpack import unpack
    from sitemon_spider.core.urls import normalize

    corpus.site(CORPUS, 1)
    packed = (CORPUS / "day1" / "s0000.xml.gz").read_bytes()
    data = unpack(packed).data
    parsed = parse_sitemap(data)
    base = "https://www.example-shop.com/s0000.xml"
    normal = normalize(parsed.locs, base)
    columns = UrlColumns(
        normal.locs, parsed.lastmods, Listing(normal.keys, moments(parsed.lastmods))
    )
    seen = np.zeros(len(columns), np.int64)
    stored = encode(columns.segment(seen))
    with_doctype = data.replace(b"<urlset", b"<!DOCTYPE urlset><urlset", 1)
    work: dict[str, Callable[[], Any]] = {
        "unpack": lambda: unpack(packed),
        "parse": lambda: parse_sitemap(data),
        "parse, strict parser": lambda: parse_sitemap(with_doctype),
        "normalize": lambda: normalize(parsed.locs, base),
        "moments": lambda: moments(parsed.lastmods),
        "once each": columns.once_each,
        "segment, encode": lambda: encode(columns.segment(seen)),
        "segment, its listing": lambda: read_listing(decode(stored, ["key", "lastmod"])),
    }
    return {name: round(median(_cpu(step) for _ in range(7)), 1) for name, step in work.items()}


def _cpu(step: Callable[[], Any]) -> float:
    start = time.process_time()
    step()
    return (time.process_time() - start) * 1000


def zero_lines() -> dict[str, dict[str, float]]:
    """A crawl of a site with one URL: the least CPU of some runs."""
    corpus.site(CORPUS / "tiny", 1, urls=1)
    scrapy, ours = [], []
    with Server(CORPUS / "tiny", 1) as server:
        for _ in range(ROUNDS):
            scrapy.append(measured(collect(server.port, 1)))
            with tempfile.TemporaryDirectory() as state:
                ours.append(measured(crawl(server.port, Path(state))))
    return {
        "a Scrapy spider": min(scrapy, key=lambda run: run["cpu"]),
        "sitemon": min(ours, key=lambda run: run["cpu"]),
    }


def main(sizes: list[int]) -> None:
    """Print all as JSON."""
    print(json.dumps({"stages, ms CPU a file of 50,000 URLs": stages()}, indent=1))
    print(json.dumps({"a site with one URL": zero_lines()}, indent=1))
    for files in sizes:
        runs = whole_runs(CORPUS, files)
        print(json.dumps({f"{files} files, {files * corpus.URLS:,} URLs": runs}, indent=1))
    small = whole_runs(CORPUS / "small", 5_000, urls=20)
    print(json.dumps({"5,000 files of 20 URLs": small}, indent=1))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1, 20])
