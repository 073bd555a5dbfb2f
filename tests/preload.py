"""What a crawl's process has imported before it is forked (never a reactor)."""

import scrapy.cmdline
import scrapy.commands.crawl
import scrapy.core.downloader.handlers
import scrapy.crawler
import scrapy.extensions.feedexport  # noqa: F401

import sitemon_spider.core.diff
import sitemon_spider.core.sitemap
import sitemon_spider.options
import sitemon_spider.pipelines.deliver  # noqa: F401
