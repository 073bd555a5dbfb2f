"""What a crawl logs: a line a site, nothing a row, little of Scrapy; warnings and errors all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.logformatter import LogFormatter

if TYPE_CHECKING:
    from scrapy.logformatter import LogFormatterResult
    from scrapy.settings import BaseSettings


def set_log_levels(settings: BaseSettings) -> None:
    """Give the loggers of `SITEMON_LOG_LEVELS` their levels; at LOG_LEVEL DEBUG all are logged.

    Raises ValueError on a level that does not exist. Scrapy's set-up of logging resets levels, so
    this comes after it.
    """
    if settings["LOG_LEVEL"] in {"DEBUG", logging.DEBUG}:
        return
    for name, level in settings.getdict("SITEMON_LOG_LEVELS").items():
        logging.getLogger(name).setLevel(level)


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
