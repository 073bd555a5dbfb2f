"""Rows kept in a list: the port's shipped fake, with a budget to try out limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemon_spider.core.reasons import StopReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from sitemon_spider.core.prepared import Prepared
    from sitemon_spider.items import ChangeRow, UrlRow


class MemorySink:
    """Accepts `budget` rows (None = all) and keeps them."""

    durable = True
    full: StopReason | None = None

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget
        self.rows: list[ChangeRow | UrlRow] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> MemorySink:
        """Build it with the budget that `SITEMON_SINK_BUDGET` gives."""
        budget = crawler.settings.get("SITEMON_SINK_BUDGET")
        return cls(None if budget is None else int(budget))

    def position(self) -> dict[str, Any] | None:
        return None

    async def arrived(self, position: dict[str, Any] | None, prepared: Prepared) -> int | None:
        return None

    async def deliver(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        """Keep as many rows as the budget allows."""
        room = len(rows) if self.budget is None else max(self.budget - len(self.rows), 0)
        accepted = rows[:room]
        self.rows.extend(accepted)
        if len(accepted) < len(rows):
            self.full = StopReason.CHARGE_LIMIT
        return len(accepted)
