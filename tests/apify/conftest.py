"""A site whose baseline is known: each test gets a copy of the storages after the first run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.apify.home import Home, pages
from tests.world import Site, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    folder = tmp_path_factory.mktemp("baseline")
    with World(Site(pages(3))) as world:
        (site,) = world.sites
        run = Home(folder, sites=[site.url]).run()
        assert (run.exit_code, run.site["baseline"], run.told()) == (0, "created", [])
        yield site, folder


@pytest.fixture
def site(baseline: tuple[Site, Path]) -> Site:
    """A site of three pages; what it serves is set anew for each test."""
    site, _ = baseline
    site.serve(pages(3))
    return site


@pytest.fixture
def home(baseline: tuple[Site, Path], tmp_path: Path) -> Home:
    """The storages that know the baseline of that site."""
    site, folder = baseline
    shutil.copytree(folder / "storage", tmp_path / "storage")
    home = Home(tmp_path, sites=[site.url])
    home.runs = 1
    return home
