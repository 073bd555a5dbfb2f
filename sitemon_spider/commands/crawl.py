"""`scrapy crawl`, with a clear word on wrong input and an exit code that tells failure."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from sitemon_spider.core.reasons import Status
from sitemon_spider.engine import MonitorCrawler
from sitemon_spider.extensions.logging import set_log_levels
from sitemon_spider.options import InputError, Options
from sitemon_spider.spiders.sitemon import clock_of

if TYPE_CHECKING:
    import argparse

logger = logging.getLogger(__name__)


class Command(CrawlCommand):
    """Scrapy's command; wrong options end it before anything is requested or written."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the spider. Exit code 2: wrong input; 1: every site failed, or nothing was saved."""
        if len(args) != 1:
            raise UsageError("name one spider: scrapy crawl sitemon -a sites=…", print_help=False)
        assert self.settings is not None
        assert self.crawler_process is not None
        allow_private = self.settings.getbool("SITEMON_ALLOW_PRIVATE")
        try:
            options = Options.from_arguments(opts.spargs)
            options.require_target(allow_private=allow_private)
            clock_of(self.settings.get("SITEMON_NOW"))
            spider = self.crawler_process.spider_loader.load(args[0])
        except InputError as error:
            if self.settings["LOG_FILE"]:
                # Of a job of Scrapyd nobody sees what is printed.
                logger.error("%s", error)
            raise UsageError(str(error), print_help=False) from None
        except KeyError:
            msg = f"there is no spider {args[0]!r}"
            raise UsageError(msg, print_help=False) from None
        set_log_levels(self.settings)
        crawler = MonitorCrawler(spider, self.settings)
        crawler.signals.connect(self._warn_if_feeds_unused, signal=signals.engine_started)
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        result = crawler.stats.get_value("sitemon/result")
        if self.crawler_process.bootstrap_failed or result in {None, Status.FAILED}:
            self.exitcode = 1
