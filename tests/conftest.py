"""Fixtures for all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest
from hypothesis import settings

from tests.crawl import Monitor

if TYPE_CHECKING:
    from pathlib import Path

# A busy machine must not fail a property by its pace, nor chance a commit that did no harm.
settings.register_profile("steady", deadline=None, derandomize=True)
# For hunting: pytest --hypothesis-profile=long tests/core/test_tracking_machine.py
settings.register_profile("long", deadline=None, max_examples=10_000, print_blob=True)
settings.load_profile("steady")


class MakeMonitor(Protocol):
    def __call__(self, **options: Any) -> Monitor: ...


@pytest.fixture
def monitor(tmp_path: Path) -> MakeMonitor:
    """Make a monitor with a state folder of its own: `monitor(sites=[…]).run()` is a day."""

    def make(**options: Any) -> Monitor:
        folder = tmp_path / f"monitor-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        return Monitor(folder, **options)

    return make
