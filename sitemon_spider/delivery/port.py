"""Sink: where rows go (a port; its adapters stand beside it)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemon_spider.core.prepared import Prepared
    from sitemon_spider.core.reasons import StopReason
    from sitemon_spider.items import ChangeRow, UrlRow


class Sink(Protocol):
    """Takes rows in order.

    `durable` says whether an accepted row is safe at once [D3]. `full` says why the sink takes no
    more rows of this run, once it does; without a reason, fewer rows end the delivery of one site.
    """

    durable: bool
    full: StopReason | None

    def position(self) -> dict[str, Any] | None:
        """Where the rows of the next delivery will begin, for `arrived`; None if it cannot tell."""

    async def arrived(self, position: dict[str, Any] | None, prepared: Prepared) -> int | None:
        """How many rows of a killed run's delivery arrived; None = unknown [D5]."""

    async def deliver(self, rows: Sequence[ChangeRow | UrlRow]) -> int:
        """Take rows: how many of them, from the first on, were accepted. Fewer ends delivery."""
