"""`python -m benchmarks.run [FILES …]`: what sitemon costs, stage by stage and as a whole run.

CPU seconds are user + system time of the crawl's process, peak is its greatest resident memory. The
zero line is a crawl of a site with one URL: what Scrapy and Python cost before any work.
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
from typing import Any

from benchmarks import corpus

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / ".bench"


def measured(command: list[str]) -> dict[str, float]:
    """Run a command: its CPU seconds, wall seconds and peak megabytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:6]} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "cpu": round(cpu, 2),
        "wall": round(time.perf_counter() - start, 2),
        "peak": round(usage.ru_maxrss / 1024),
    }


def crawl(port: str, state: Path) -> list[str]:
    """The command of one run."""
    return [
        sys.executable, "-m", "scrapy", "crawl", "sitemon",
        "-a", f"sites=http://127.0.0.1:{port}", "-a", "maxUrlsPerSite=5000000",
        "-a", "ownSite=true", "-a", "delayPerHost=0", "-a", "requestsPerSecond=50",
        "-s", "SITEMON_ALLOW_PRIVATE=True", "-s", f"SITEMON_STATE={state}", "-L", "ERROR",
    ]  # fmt: skip


class Server:
    """A corpus folder served in a process of its own, always at the same port."""

    def __init__(self, folder: Path, files: int) -> None:
        command = [sys.executable, "-m", "benchmarks.server", str(folder), str(files)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = self.process.stdout.readline().strip()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *args: object) -> None:
        self.process.communicate("")


def whole_runs(files: int) -> dict[str, dict[str, float]]:
    """First run, every file changed, nothing changed; one state folder a site's address."""
    corpus.site(CORPUS, files)
    results = {}
    with tempfile.TemporaryDirectory() as folder, Server(CORPUS / "day1", files) as first:
        state = Path(folder)
        results["first run"] = measured(crawl(first.port, state))
        results["nothing changed"] = measured(crawl(first.port, state))
        # Day 2 has another port, so the snapshot is told to be of that address.
        with Server(CORPUS / "day2", files) as second:
            _move(state, first.port, second.port)
            results["every file changed"] = measured(crawl(second.port, state))
        size = sum(path.stat().st_size for path in state.rglob("*.parquet"))
    results["first run"]["bytes a URL"] = round(size / (2 * files * corpus.URLS), 1)
    return results


def _move(state: Path, old: str, new: str) -> None:
    """Give a snapshot another site's address: the same files at another port."""
    from sitemon_spider.run import site_name

    sites = state / "default" / "sites"
    before, after = (site_name(f"http://127.0.0.1:{port}") for port in (old, new))
    manifest = sites / before / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}"))
    (sites / before).rename(sites / after)


def stages() -> dict[str, float]:
    """CPU milliseconds a file of 50,000 URLs, the median of seven."""
    import numpy as np

    from sitemon_spider.core.columns import Listing, UrlColumns, encode
    from sitemon_spider.core.lastmod import moments
    from sitemon_spider.core.sitemap import parse_sitemap
    from sitemon_spider.core.unpack import unpack
    from sitemon_spider.core.urls import normalize

    corpus.site(CORPUS, 1)
    packed = (CORPUS / "day1" / "s0000.xml.gz").read_bytes()
    data = unpack(packed).data
    strict = data.replace(b"</urlset>", b"<!-- not plain --></urlset>")
    parsed = parse_sitemap(data)
    base = "https://www.example-shop.com/s0000.xml"
    normal = normalize(parsed.locs, base)
    dated = moments(parsed.lastmods)
    columns = UrlColumns(normal.locs, parsed.lastmods, Listing(normal.keys, dated))
    seen = np.zeros(len(columns), np.int64)
    work: dict[str, Any] = {
        "unpack": lambda: unpack(packed),
        "parse": lambda: parse_sitemap(data),
        "parse, strict parser": lambda: parse_sitemap(strict),
        "normalize": lambda: normalize(parsed.locs, base),
        "moments": lambda: moments(parsed.lastmods),
        "segment": lambda: encode(columns.segment(seen)),
    }
    return {name: round(median(_cpu(step) for _ in range(7)), 1) for name, step in work.items()}


def _cpu(step: Any) -> float:
    start = time.process_time()
    step()
    return (time.process_time() - start) * 1000


def zero_line() -> dict[str, float]:
    """A crawl of a site with one URL, the least CPU of three."""
    folder = CORPUS / "tiny"
    if not (folder / "day1" / "s0000.xml.gz").exists():
        corpus.site(folder, 1, urls=1)
    with tempfile.TemporaryDirectory() as state, Server(folder / "day1", 1) as server:
        runs = [measured(crawl(server.port, Path(state))) for _ in range(3)]
    return min(runs, key=lambda run: run["cpu"])


def main(sizes: list[int]) -> None:
    """Print all as JSON lines."""
    print(json.dumps({"stages, ms a file": stages()}))
    print(json.dumps({"zero line": zero_line()}))
    for files in sizes:
        print(json.dumps({f"{files} files, {files * corpus.URLS:,} URLs": whole_runs(files)}))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1, 4, 20])
