"""What a crawl logs of items: nothing a row, because a site's row line says it all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.logformatter import LogFormatter

if TYPE_CHECKING:
    from scrapy.logformatter import LogFormatterResult


class QuietLogFormatter(LogFormatter):
    """Scrapy's formatter without a line a scraped row, and without the text of dropped columns."""

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """No line: rows are in the feeds."""
        return None

    def dropped(self, item: Any, exception: Any, response: Any, spider: Any) -> LogFormatterResult:
        """The reason alone: the item may hold thousands of URLs."""
        level = getattr(exception, "log_level", None) or logging.WARNING
        if isinstance(level, str):
            level = logging.getLevelNamesMapping()[level]
        return {"level": level, "msg": "Dropped: %(exception)s", "args": {"exception": exception}}
