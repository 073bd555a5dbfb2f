"""`make bench-peers`: sitemon beside its peers, alternating runs in fresh processes, as ratios.

Peers live in a virtual environment of their own (`.venv-peers`); none is a dependency. `parse` reads
one plain file of 50,000 URLs that is in memory already; `site` reads a site of 1,000,000 URLs over
loopback. sitemon compares and stores as well there, the peers only collect.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.run import CORPUS, ROOT, Server, crawl, measured

PEERS = ROOT / ".venv-peers" / "bin" / "python"
ROUNDS = 3

PARSE = {
    "sitemon": "from sitemon_spider.core.sitemap import parse_sitemap as f\nwork = lambda: len(f(data).locs)",
    "Scrapy Sitemap": "from scrapy.utils.sitemap import Sitemap\nwork = lambda: len([(d['loc'], d.get('lastmod')) for d in Sitemap(data)])",
    "lxml iterparse": "import io\nfrom lxml import etree\nN = '{http://www.sitemaps.org/schemas/sitemap/0.9}'\n"
    "def work():\n    rows = []\n    for _, e in etree.iterparse(io.BytesIO(data), tag=N + 'url'):\n"
    "        rows.append((e.findtext(N + 'loc'), e.findtext(N + 'lastmod')))\n        e.clear()\n    return len(rows)",
    "lxml fromstring": "from lxml import etree\nN = '{http://www.sitemaps.org/schemas/sitemap/0.9}'\n"
    "def work():\n    root = etree.fromstring(data)\n    return len([(u.findtext(N + 'loc'), u.findtext(N + 'lastmod')) for u in root])",
    "ultimate-sitemap-parser": "from usp.tree import sitemap_from_str\ntext = data.decode()\nwork = lambda: sum(1 for _ in sitemap_from_str(text).all_pages())",
    "advertools": "from advertools import sitemap_to_df\nwork = lambda: len(sitemap_to_df('file://' + path))",
    "trafilatura": "from trafilatura.sitemaps import SitemapObject\ntext = data.decode()\n"
    "def work():\n    home = 'https://www.example-shop.com'\n"
    "    s = SitemapObject(home, 'example-shop.com', [home + '/s.xml'])\n"
    "    s.current_url, s.content = home + '/s.xml', text\n    s.process()\n    return len(s.urls)",
    "crawlee": "import asyncio\nfrom crawlee._utils.sitemap import parse_sitemap\ntext = data.decode()\n"
    "async def go():\n    return [u async for u in parse_sitemap([{'type': 'raw', 'content': text}])]\n"
    "work = lambda: len(asyncio.run(go()))",
}  # fmt: skip
TIMED = """
import json, logging, resource, sys, time
logging.disable(logging.CRITICAL)
path = sys.argv[1]
data = open(path, "rb").read()
{code}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
urls = work()
cpu = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps(dict(urls=urls, cpu=cpu, more=(peak - before) // 1024)))
"""

COLLECT = """
import sys, scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider
rows = []
class Collect(SitemapSpider):
    name = "collect"
    sitemap_urls = [f"http://127.0.0.1:{sys.argv[1]}/index.xml"]
    custom_settings = dict(LOG_ENABLED=False, TELNETCONSOLE_ENABLED=False)
    def sitemap_filter(self, entries):
        for entry in entries:
            if entry["loc"].endswith(".xml.gz"):
                yield entry
            else:
                rows.append((entry["loc"], entry.get("lastmod")))
process = CrawlerProcess()
process.crawl(Collect)
process.start()
assert len(rows) >= int(sys.argv[2]), len(rows)
"""


def parse() -> dict[str, dict[str, float]]:
    """CPU seconds and additional megabytes of each parser, medians of alternating runs."""
    corpus.site(CORPUS, 1)
    rows = corpus.records(0)
    file = CORPUS / "s0000.xml"
    file.write_bytes(corpus.document(rows, 0))
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in PARSE}
    for _ in range(ROUNDS):
        for name, code in PARSE.items():
            python = sys.executable if name == "sitemon" else str(PEERS)
            command = [python, "-W", "ignore", "-c", TIMED.format(code=code), str(file)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                seen[name].append(json.loads(done.stdout.splitlines()[-1]))
            else:
                print(f"{name}: {done.stderr.splitlines()[-1:]}", file=sys.stderr)
    ours = median(run["cpu"] for run in seen["sitemon"])
    return {
        name: {
            "urls": runs[0]["urls"],
            "cpu": round(median(run["cpu"] for run in runs), 3),
            "x sitemon": round(median(run["cpu"] for run in runs) / ours, 1),
            "MB more": round(median(run["more"] for run in runs)),
        }
        for name, runs in seen.items()
        if runs
    }


def site(files: int = 20) -> dict[str, dict[str, float]]:
    """A whole site: sitemon with comparison and store, Scrapy's SitemapSpider collecting."""
    corpus.site(CORPUS, files)
    seen: dict[str, list[dict[str, float]]] = {"sitemon, first run": [], "Scrapy SitemapSpider": []}
    with Server(CORPUS / "day1", files) as server:
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as state:
                seen["sitemon, first run"].append(measured(crawl(server.port, Path(state))))
            arguments = [server.port, str(files * corpus.URLS)]
            command = [str(PEERS), "-W", "ignore", "-c", COLLECT, *arguments]
            seen["Scrapy SitemapSpider"].append(measured(command))
    return {
        name: {key: median(run[key] for run in runs) for key in ("cpu", "wall", "peak")}
        for name, runs in seen.items()
    }


if __name__ == "__main__":
    print(json.dumps(parse(), indent=1))
    print(json.dumps(site(), indent=1))
