"""Sink: where rows go (a port; its adapters stand beside it)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemon_spider.core.reasons import StopReason
    from sitemon_spider.items import ChangeRow, UrlRow


class Sink(Protocol):
    """Takes rows in order.

    `durable` says whether an accepted row is safe at once [D3]. `full` says why the sink takes no
    more rows of this run, once it does; without a reason, fewer rows end the delivery of one site.
    """

    durable: bool
    full: StopReason | None

    async def deliver(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        """Take rows: how many of them, from the first on, were accepted. Fewer ends delivery."""
