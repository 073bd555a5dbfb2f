"""Run the Actor on this machine on a small shop, two days in a row (`make actor`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.crawl import ROOT
from tests.demo import pottery
from tests.world import Site, World


def run(site: Site, folder: Path) -> list[dict[str, str]]:
    """One run of `python -m sitemon_spider`: the rows of its dataset."""
    store = folder / "storage/key_value_stores/default"
    store.mkdir(parents=True, exist_ok=True)
    (store / "INPUT.json").write_text(json.dumps({"sites": [site.url]}))
    settings = {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "tests.apify.settings"}
    command = [sys.executable, "-m", "sitemon_spider"]
    subprocess.run(command, cwd=folder, env=os.environ | settings, check=True, timeout=120)
    rows = sorted((folder / "storage/datasets/default").glob("0*.json"))
    return [json.loads(path.read_text("utf-8")) for path in rows]


def main() -> None:
    """Both days, and the dataset of the second one."""
    with World(pottery()) as world, tempfile.TemporaryDirectory() as name:
        run(world.sites[0], Path(name))
        world.day(2)
        for row in run(world.sites[0], Path(name)):
            print(json.dumps({n: v for n, v in row.items() if v not in (None, 0, False)}))


if __name__ == "__main__":
    main()
