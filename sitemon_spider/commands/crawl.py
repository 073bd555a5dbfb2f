"""`scrapy crawl`, with a clear word on wrong input and an exit code that tells failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from sitemon_spider.core.reasons import Status
from sitemon_spider.extensions.logging import set_log_levels
from sitemon_spider.options import InputError, Options

if TYPE_CHECKING:
    import argparse


class Command(CrawlCommand):
    """Scrapy's command; wrong options end it before anything is requested or written."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the spider. Exit code 2: wrong input; 1: every site failed, or nothing was saved."""
        if len(args) != 1:
            raise UsageError("name one spider: scrapy crawl sitemon -a sites=…", print_help=False)
        try:
            Options.from_arguments(opts.spargs)
        except InputError as error:
            raise UsageError(str(error), print_help=False) from None
        assert self.settings is not None
        assert self.crawler_process is not None
        set_log_levels(self.settings)
        crawler = self._create_crawler(args[0])
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        result = crawler.stats.get_value("sitemon/result")
        if self.crawler_process.bootstrap_failed or result in {None, Status.FAILED}:
            self.exitcode = 1
